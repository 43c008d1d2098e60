//! The light edit, which replaces results with markers and changes nothing else.

use super::Conversation;
use super::edits::Refusal;
use super::undo::Snapshot;
use crate::budget::economy::TrimPlan;
use crate::budget::policy::Reason;
use crate::compact::notice::Notice;
use crate::compact::trim;
use crate::message::Part;
use crate::message::tokens;
use crate::message::view::View;
use crate::strategy::thinking_prune;
use std::sync::Arc;

impl Conversation {
    /// Makes a light edit: from the cut on, replaces removable results with markers and the lines most likely to be
    /// referred to again, and drops the thinking of finished turns. Calls, prompts and other text stay, and so does
    /// everything before the cut.
    pub(super) fn trim(&mut self, reason: Reason, mut cut: TrimPlan) -> Result<Notice, Refusal> {
        // The view may have become shorter than the cut since the decision.
        cut.from = cut.from.min(self.view.messages.len());
        let open = self.open_calls();
        if open > 0 {
            return Err(Refusal::OpenCalls(open));
        }
        let candidates = self.economy.from(cut.from, &self.pins.messages());
        let excerpts = self.economy.excerpts(&candidates, self.history.ranking());
        let old = self.view.messages.clone();
        let number = self.edits.len();
        let kept = self.view.archive.len();
        let mut masked = 0;
        for candidate in &candidates {
            let item = self.economy.bulk.item(candidate);
            let part = item.part as usize;
            let Some(Part::ToolResult(result)) = self.view.messages[candidate.at].parts.get(part) else {
                continue;
            };
            if item.call != result.call_id {
                continue;
            }
            let left = excerpts.get(&item.place).map_or("", String::as_str);
            let mask = trim::masked(result, &item.tool, left, &mut self.view.archive);
            let call = result.call_id.clone();
            self.economy.bulk.remove(candidate.item);
            if let Some(mask) = mask {
                self.masks.insert(call, mask.clone());
                self.view.messages[candidate.at] = trim::replaced(&self.view.messages[candidate.at], part, mask);
                masked += 1;
            }
        }
        let under_way = self.view.messages.iter().rposition(|message| message.is_prompt());
        let finished = cut.from..under_way.unwrap_or(0).max(cut.from);
        thinking_prune::drop_thinking(&mut self.view, finished, &mut Default::default());
        self.note_removed(number, kept);
        let before = self.occupancy.next_request();
        let changed = old.iter().zip(&self.view.messages);
        let mut changed = changed.filter(|(old, now)| !Arc::ptr_eq(old, now)).peekable();
        if changed.peek().is_none() {
            // Nothing could be removed after all: the prefix is unchanged, and this cut is not tried again.
            self.economy.give_up_cut();
            return Ok(Notice::trimmed(0, before, before, false));
        }
        for (old, now) in changed {
            self.shown = self.shown.with(old, now);
        }
        let removed = self.economy.trimmed(reason, &cut, &self.view.messages);
        self.occupancy.removed(removed);
        let after = self.occupancy.next_request();
        self.tracker.rebuilt(after);
        self.snapshots.push(Snapshot {
            end: old.len(),
            messages: Arc::new(old),
            edit: number,
            is_light: true,
        });
        self.revision += 1;
        self.edits.push(self.edit_now(reason, before, after));
        Ok(Notice::trimmed(masked, before, after, true))
    }

    /// Applies the masks of earlier light edits to a rebuilt view.
    pub(super) fn mask_again(&self, view: &mut View) {
        if self.masks.is_empty() {
            return;
        }
        for at in 0..view.messages.len() {
            for part in 0..view.messages[at].parts.len() {
                let Part::ToolResult(result) = &view.messages[at].parts[part] else {
                    continue;
                };
                let Some(mask) = self.masks.get(&result.call_id) else {
                    continue;
                };
                // Some agents reuse ids.
                if !trim::is_mask_of(mask, result, &view.archive) {
                    continue;
                }
                if tokens::estimate_result(mask) < tokens::estimate_result(result) {
                    view.messages[at] = trim::replaced(&view.messages[at], part, mask.clone());
                }
            }
        }
    }
}
