//! Snapshots of the view before edits, and undo.

use super::edits::Edit;
use super::{Attempts, Conversation};
use crate::compact::Size;
use crate::compact::draft;
use crate::message::Message;
use crate::message::pending;
use crate::message::recall::Archive;
use crate::message::tokens::Tokens;
use crate::message::view::{View, alike};
use std::sync::Arc;

/// The view before an edit.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) messages: Arc<Vec<Arc<Message>>>,
    /// The length of the view that replaced it: later messages were appended since.
    pub(super) end: usize,
    /// The index of the edit.
    pub(super) edit: usize,
    pub(super) is_light: bool,
}

impl Conversation {
    /// The tokens after the last edit that rebuilt the whole view and was not undone.
    pub(super) fn last_built(&self) -> Option<Tokens> {
        let mut whole = self.snapshots.iter().rev();
        let whole = whole.find(|snapshot| !snapshot.is_light)?;
        Some(self.edits[whole.edit].after)
    }

    /// Replaces the view.
    pub(super) fn swap(&mut self, view: View, size: Size, edit: Edit) {
        let edit_number = self.edits.len();
        let messages = std::mem::take(&mut self.view.messages);
        let same = alike(&messages, &view.messages);
        let (reason, after) = (edit.reason, edit.after);
        let removed = edit.before as i64 - after as i64;
        self.snapshots.push(Snapshot {
            messages: Arc::new(messages),
            end: view.messages.len(),
            edit: edit_number,
            is_light: false,
        });
        let kept = self.view.archive.len();
        self.edits.push(edit);
        self.view = view;
        self.note_removed(edit_number, kept);
        self.resize(size, after);
        self.economy.rebuilt(
            Some(reason),
            &self.view.messages,
            (same, removed),
            self.occupancy.slope(),
        );
    }

    /// Undoes the last edit: restores the view before it, followed by everything appended since. Everything that was
    /// removed can still be read back. Returns false if there is none to undo.
    pub fn undo_compact(&mut self) -> bool {
        let Some(snapshot) = self.snapshots.pop() else {
            return false;
        };
        let old = self.view.messages.clone();
        self.view.messages = Arc::unwrap_or_clone(snapshot.messages);
        let (edited, since) = old.split_at(snapshot.end);
        if snapshot.is_light {
            let changed = self.view.messages.iter().zip(edited);
            let changed = changed.filter(|(before, after)| !Arc::ptr_eq(before, after));
            for result in changed.flat_map(|(before, _)| before.tool_results()) {
                // Results that the user restored are not removed again.
                if self.masks.remove(&result.call_id).is_some() {
                    self.economy.bulk.exempt(&result.call_id);
                }
            }
        }
        self.view.messages.extend_from_slice(since);
        // A reply that the provider could have continued at that time has messages after it now.
        pending::close_all(&mut self.view.messages, &mut self.view.archive);
        self.edits[snapshot.edit].is_undone = true;
        self.cut = None;
        let size = Size::of(&self.view.messages);
        let (now, undone) = (self.occupancy.next_request(), &self.edits[snapshot.edit]);
        let tokens = if self.occupancy.is_counted() {
            // The view grows, even if the scale yields no difference.
            let least = now.saturating_add(Tokens::from(size.tokens > self.shown.tokens));
            self.weigh(size.tokens).max(least)
        } else {
            // Without a count, add back what the edit removed.
            now.saturating_add(undone.before.saturating_sub(undone.after))
        };
        self.resize(size, tokens);
        let same = alike(&old, &self.view.messages);
        let removed = now as i64 - self.occupancy.next_request() as i64;
        self.economy
            .rebuilt(None, &self.view.messages, (same, removed), self.occupancy.slope());
        self.attempts = Attempts::default();
        true
    }

    /// Records what this edit removed: the archive's entries from number `kept` on, and what came back when another
    /// edit was undone and is now gone again.
    pub(super) fn note_removed(&mut self, edit: usize, kept: usize) {
        for handle in self.view.archive.since(kept) {
            self.removed_by.insert(handle.clone(), edit);
        }
        let is_undone = |edit: usize| self.edits.get(edit).is_some_and(|edit| edit.is_undone);
        // Undo is rare.
        if !self.edits.iter().any(|edit| edit.is_undone) || !self.removed_by.values().any(|&by| is_undone(by)) {
            return;
        }
        let mut shown = Archive::default();
        for part in self.view.messages.iter().flat_map(|message| &message.parts) {
            draft::archive_part(part, "", &mut shown);
        }
        for (handle, by) in &mut self.removed_by {
            let is_shown = shown.get(handle.as_str()).map(|shown| &shown.body)
                == self.view.archive.get(handle.as_str()).map(|removed| &removed.body);
            if self.edits.get(*by).is_some_and(|by| by.is_undone) && !is_shown {
                *by = edit;
            }
        }
    }

    /// Updates the figures for a rebuilt view.
    pub(super) fn resize(&mut self, size: Size, tokens: Tokens) {
        self.shown = size;
        self.revision += 1;
        self.occupancy
            .rebuilt_as(size.tokens.saturating_add(self.overhead), tokens);
        self.tracker.rebuilt(self.occupancy.next_request());
    }
}
