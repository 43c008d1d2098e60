//! Removes content that a provider refuses from the view.
//!
//! Every request contains the whole conversation, so a part that the provider does not accept fails every later request
//! as well. A marker with a handle replaces such a part in the view; the history keeps the original. Compactions read
//! the history without these parts; otherwise the next one would quote or show them again.

use super::{Attempts, Conversation, Earlier};
use crate::budget::policy::Reason;
use crate::compact::Size;
use crate::compact::draft;
use crate::history::History;
use crate::message::cut;
use crate::message::pending;
use crate::message::recall::{Archive, Handle};
use crate::message::tokens::Tokens;
use crate::message::view::alike;
use crate::message::{Message, Origin, Part, Role, Text};
use crate::text::body::Body;
use std::sync::Arc;

/// The reason in markers, and that in the archive.
const WHY: &str = "refused by the provider";
const REASON: &str = "rejected";

/// The position of a part in the [view](crate::message::view::View).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct PartPosition {
    /// The index of the message.
    pub message: usize,
    /// The index of the part in it.
    pub part: usize,
    /// The index of the part in that tool result's output, if it is in one.
    pub within: Option<usize>,
}

/// Content that a provider refused and that was removed from the view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Withdrawn {
    /// The kind of content, such as `image` or `Read output`.
    pub label: String,
    /// The handle for reading it back.
    pub handle: Handle,
}

/// A refused part, and the text that replaces it; `None` if it is simply removed.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    part: Part,
    left: Option<Text>,
}

impl Refused {
    /// Returns whether the part is refused everywhere. A picture is; the same text may be sent again elsewhere.
    fn is_everywhere(&self) -> bool {
        matches!(self.part, Part::Image(_))
    }

    /// The message without this part; `None` if the message does not contain it.
    fn leaves(&self, message: &Message) -> Option<Arc<Message>> {
        let is_within = |part: &Part| match part {
            Part::ToolResult(result) => result.output.contains(&self.part),
            part => *part == self.part,
        };
        if !message.parts.iter().any(is_within) {
            return None;
        }
        let mut message = message.clone();
        message.bare = false;
        self.leave_in(&mut message.parts);
        for part in &mut message.parts {
            if let Part::ToolResult(result) = part {
                result.bare = false;
                self.leave_in(&mut result.output);
            }
        }
        Some(Arc::new(message))
    }

    fn leave_in(&self, parts: &mut Vec<Part>) {
        let Some(left) = &self.left else {
            return parts.retain(|part| *part != self.part);
        };
        for part in parts.iter_mut().filter(|part| **part == self.part) {
            *part = Part::Text(left.clone());
        }
    }

    /// Replaces the messages that contain this part.
    fn leave(&self, messages: &mut [Arc<Message>]) {
        for message in messages {
            if let Some(without) = self.leaves(message) {
                *message = without;
            }
        }
    }
}

impl Conversation {
    /// The history without the content that providers refused, as compactions read it. Its messages have the same
    /// indexes as in the history; of a withdrawn turn, one message holds the marker, and the others are empty.
    pub(super) fn standing(&self) -> &History {
        self.told.as_deref().unwrap_or(&self.history)
    }

    /// Returns whether this message of the history, by its index, left the view with a [withdrawn
    /// turn](Self::withdraw_since).
    pub fn is_withdrawn(&self, message: usize) -> bool {
        let is_of_turn =
            |part: &Part| matches!(part, Part::Text(text) if text.origin == Origin::Notice && is_marker(text));
        let left = self.withdrawn.get(&message);
        left.is_some_and(|left| left.parts.iter().all(is_of_turn))
    }

    /// The history without the turns and parts that providers refused; a marker stands in place of such a part.
    pub fn accepted(&self) -> impl Iterator<Item = &Arc<Message>> {
        let all = self.history.messages().iter().enumerate();
        all.filter(|(at, _)| !self.is_withdrawn(*at))
            .map(|(at, message)| self.withdrawn.get(&at).unwrap_or(message))
    }

    /// Removes parts that the provider refused from the view, leaving a marker with a handle for each (none for
    /// thinking). A picture is removed wherever it occurs. This is an edit and a recorded break of the prefix;
    /// [`undo_compact`](Self::undo_compact) does not restore refused parts. Returns the removed parts, without the
    /// positions at which nothing can be removed.
    pub fn withdraw(&mut self, places: &[PartPosition]) -> Vec<Withdrawn> {
        let before = self.view.messages.clone();
        let kept = self.view.archive.len();
        let mut withdrawn = Vec::new();
        for place in places {
            // The second copy of a picture is already gone.
            let Some((part, label)) = self.part_at(*place) else {
                continue;
            };
            let Some((refused, handle)) = refuse(part.clone(), &label, &mut self.view.archive) else {
                continue;
            };
            self.leave(&refused, place.message);
            withdrawn.push(Withdrawn { label, handle });
            if refused.is_everywhere() {
                self.refused.push(refused);
            }
        }
        if !withdrawn.is_empty() {
            self.stands_without(&before, kept);
        }
        withdrawn
    }

    /// Removes everything appended since `earlier` from the view: the prompt that a provider refused to answer, and all
    /// steps of its turn. A marker with a handle replaces it. `None` if nothing was appended.
    pub fn withdraw_since(&mut self, earlier: &Earlier) -> Option<Withdrawn> {
        let from = earlier.messages.len();
        let said = self.history.messages().get(from..).filter(|said| !said.is_empty())?;
        let before = self.view.messages.clone();
        let kept = self.view.archive.len();
        let body = Body::new(in_words(said));
        for part in said.iter().flat_map(|message| &message.parts) {
            draft::archive_part(part, "", &mut self.view.archive);
        }
        let handle = self.view.archive.keep(&body, "turn", REASON);
        let text = Text::marker(Origin::Notice, "turn", body.len(), WHY, handle.clone());
        let marker = Arc::new(Message::new(Role::User, vec![Part::Text(text)]));
        for (at, message) in (from..).zip(said) {
            self.withdrawn
                .insert(at, Arc::new(Message::new(message.role, Vec::new())));
        }
        self.withdrawn.insert(from, marker.clone());
        let rest = &earlier.rest;
        self.view.messages.clone_from(&rest.view.messages);
        // Parts refused since then do not come back.
        for refused in &self.refused {
            refused.leave(&mut self.view.messages);
        }
        self.view.messages.push(marker);
        pending::close_all(&mut self.view.messages, &mut self.view.archive);
        (self.newest_prompt, self.reminders) = (rest.newest_prompt, rest.reminders);
        self.snapshots.truncate(rest.snapshots.len());
        for edit in self.edits.iter_mut().skip(rest.edits.len()) {
            edit.is_undone = true;
        }
        self.stands_without(&before, kept);
        Some(Withdrawn {
            label: "turn".to_owned(),
            handle,
        })
    }

    /// A part of the view that can be removed alone, and its name. A call cannot, since its result would remain.
    fn part_at(&self, place: PartPosition) -> Option<(&Part, String)> {
        let message = self.view.messages.get(place.message)?;
        let part = message.parts.get(place.part)?;
        if let (Part::ToolResult(result), Some(within)) = (part, place.within) {
            let calls = self.view.messages[..place.message].iter().rev().flat_map(|m| m.calls());
            let mut tools = calls.filter(|call| call.id == result.call_id).map(|call| &*call.tool);
            let tool = cut::plain_name(tools.next().unwrap_or("tool"));
            let block = result.output.get(within)?;
            let what = match block {
                Part::Image(_) => "image",
                _ => "output",
            };
            return Some((block, format!("{tool} {what}")));
        }
        let label = match part {
            Part::Image(_) => "image".to_owned(),
            Part::Opaque(opaque) if opaque.is_file() => opaque.label(),
            Part::Thinking(_) if message.parts.len() > 1 => "thinking".to_owned(),
            Part::Text(text) if message.role != Role::System && !is_marker(text) => "text".to_owned(),
            _ => return None,
        };
        Some((part, label))
    }

    /// Replaces a refused part with its marker: in the view, in the snapshots for undo, and in the history that
    /// compactions read.
    fn leave(&mut self, refused: &Refused, at: usize) {
        match refused.is_everywhere() {
            true => refused.leave(&mut self.view.messages),
            false => refused.leave(&mut self.view.messages[at..=at]),
        }
        for snapshot in &mut self.snapshots {
            refused.leave(&mut Arc::make_mut(&mut snapshot.messages)[..]);
        }
        for number in (0..self.history.messages().len()).rev() {
            let message = self.withdrawn.get(&number).unwrap_or(&self.history.messages()[number]);
            if let Some(without) = refused.leaves(message) {
                self.withdrawn.insert(number, without);
                if !refused.is_everywhere() {
                    break;
                }
            }
        }
    }

    /// Removes pictures that the model has refused since the state that was restored, which still shows them.
    pub(super) fn leave_refused(&mut self, refused: Vec<Refused>) {
        let before = self.view.messages.clone();
        let kept = self.view.archive.len();
        refused.iter().for_each(|refused| self.leave(refused, 0));
        self.refused = refused;
        if self.view.messages != before {
            self.stands_without(&before, kept);
        }
    }

    /// The message to show: without pictures that were refused before.
    pub(super) fn without_refused(&mut self, message: Arc<Message>, number: usize) -> Arc<Message> {
        let mut shown = message.clone();
        for refused in &self.refused {
            shown = refused.leaves(&shown).unwrap_or(shown);
        }
        if !Arc::ptr_eq(&shown, &message) {
            self.withdrawn.insert(number, shown.clone());
            if self.told.is_none() {
                self.tell_again();
            }
        }
        shown
    }

    /// Rebuilds the history that compactions read.
    pub(super) fn tell_again(&mut self) {
        self.told = (!self.withdrawn.is_empty()).then(|| {
            let mut told = History::new();
            for (number, message) in self.history.messages().iter().enumerate() {
                told.append(self.withdrawn.get(&number).unwrap_or(message).clone());
            }
            Arc::new(told)
        });
        self.cut = None;
    }

    /// Updates the figures and the record after a removal from the view.
    fn stands_without(&mut self, old: &[Arc<Message>], kept: usize) {
        self.tell_again();
        let size = Size::of(&self.view.messages);
        let before = self.occupancy.next_request();
        let after = self.weigh(size.tokens).min(match size.tokens < self.shown.tokens {
            true => before.saturating_sub(1),
            false => Tokens::MAX,
        });
        self.edits.push(self.edit_now(Reason::Rejected, before, after));
        self.note_removed(self.edits.len() - 1, kept);
        self.resize(size, after);
        let same = alike(old, &self.view.messages);
        let removed = before as i64 - after as i64;
        self.economy.rebuilt(
            Some(Reason::Rejected),
            &self.view.messages,
            (same, removed),
            self.occupancy.slope(),
        );
        self.attempts = Attempts::default();
    }
}

fn is_marker(text: &Text) -> bool {
    text.cut.is_some() && text.body.as_str().starts_with('[') && text.body.as_str().contains(WHY)
}

/// The replacement for a part, and the handle that restores it.
fn refuse(part: Part, label: &str, archive: &mut Archive) -> Option<(Refused, Handle)> {
    let (body, known) = match &part {
        Part::Image(image) => (&image.data, None),
        Part::Text(text) => (&text.body, text.cut.clone()),
        Part::Opaque(opaque) => (opaque.json(), None),
        Part::Thinking(thinking) => (&thinking.body, None),
        _ => return None,
    };
    // The whole of a cut text is already archived.
    let handle = known.unwrap_or_else(|| archive.keep(body, label, REASON));
    let left = match &part {
        Part::Thinking(_) => None,
        _ => Some(Text::marker(Origin::Own, label, body.len(), WHY, handle.clone())),
    };
    Some((Refused { part, left }, handle))
}

/// The text of a turn for reading it back: its messages one after the other. Pictures are archived under separate
/// handles.
fn in_words(messages: &[Arc<Message>]) -> String {
    let mut words = String::new();
    let mut say = |who: &str, what: &str| {
        if !what.trim().is_empty() {
            words.push_str(&format!("{who}: {}\n", what.trim_end()));
        }
    };
    for message in messages {
        let who = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        for part in &message.parts {
            match part {
                Part::Text(text) if matches!(text.origin, Origin::Reminder(_)) => {}
                Part::Text(text) => say(who, text.body.as_str()),
                Part::Thinking(_) => {}
                Part::Image(_) => say(who, "[image]"),
                Part::ToolCall(call) => say(&format!("call {}", call.tool), call.parameters.json().as_str()),
                Part::ToolResult(result) => {
                    result.texts().for_each(|text| say("result", text.body.as_str()));
                }
                Part::Opaque(opaque) => say(who, &format!("[{}]", opaque.label())),
            }
        }
    }
    words
}
