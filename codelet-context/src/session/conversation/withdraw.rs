//! What a provider refuses leaves the view.
//!
//! Every request sends the conversation again, so one part that the provider does not take has every later request refused
//! with it. Such a part leaves the view under a handle; the history keeps it as it was said. What compactions read is the
//! history without it, or the next one would quote it, or show it again.

use super::edits::Edit;
use super::undo::Before;
use super::{Conversation, Earlier};
use crate::budget::policy::Reason;
use crate::compact::draft;
use crate::compact::{Archived, Size};
use crate::history::History;
use crate::message::cut;
use crate::message::pending;
use crate::message::recall::{Archive, Handle};
use crate::message::tokens::Tokens;
use crate::message::{Message, Origin, Part, Role, Text};
use crate::text::body::Body;
use std::sync::Arc;

/// What markers say of it, and its reason in the archive.
const WHY: &str = "refused by the provider";
const REASON: &str = "rejected";

/// Where a part stands in the [view](crate::message::view::View).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Place {
    /// The message.
    pub message: usize,
    /// The part of it.
    pub part: usize,
    /// The part of that tool result's output, where it is one.
    pub within: Option<usize>,
}

/// Something that a provider has refused, and that has left the view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Withdrawn {
    /// What it is, such as `image` or `Read output`.
    pub label: String,
    /// The handle under which it can be read back.
    pub handle: Handle,
}

/// A part that was refused, and what stands in its place; nothing where the message goes on without it.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    part: Part,
    left: Option<Text>,
}

impl Refused {
    /// A picture is refused wherever it stands; words may be said again.
    fn is_everywhere(&self) -> bool {
        matches!(self.part, Part::Image(_))
    }

    /// A message without this part; `None` where it does not hold it.
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
        for part in &mut message.parts {
            match part {
                Part::ToolResult(result) => {
                    result.bare = false;
                    self.replace(&mut result.output);
                }
                part if *part == self.part => {
                    if let Some(left) = &self.left {
                        *part = Part::Text(left.clone());
                    }
                }
                _ => {}
            }
        }
        if self.left.is_none() {
            message.parts.retain(|part| *part != self.part);
        }
        Some(Arc::new(message))
    }

    fn replace(&self, output: &mut [Part]) {
        let Some(left) = &self.left else { return };
        for block in output.iter_mut().filter(|block| **block == self.part) {
            *block = Part::Text(left.clone());
        }
    }
}

impl Conversation {
    /// The history without what providers have refused: what compactions read. Its messages have the numbers that they have
    /// in the history; of a turn that was taken back, one holds the marker, and the others nothing.
    pub(super) fn standing(&self) -> &History {
        self.told.as_deref().unwrap_or(&self.history)
    }

    /// Takes parts that the provider has refused out of the view, each under a handle that stands in its place. A picture
    /// leaves wherever it is shown. It is an edit, and a break of the prefix on record; [`undo_compact`](Self::undo_compact)
    /// does not bring back what was refused. Says what has left: nothing for a place at which nothing can go.
    pub fn withdraw(&mut self, places: &[Place]) -> Vec<Withdrawn> {
        let before = self.view.messages.clone();
        let kept = self.view.archive.len();
        let mut withdrawn = Vec::new();
        for place in places {
            // A picture that is shown twice has left by now.
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

    /// Takes everything that was said since then out of the view: the prompt that a provider has refused to answer, and all
    /// steps of its turn. A marker with a handle stands in its place. Says no where nothing was said.
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
        let mut text = Text::new(cut::marker("turn", body.len(), WHY, &handle), Origin::Notice);
        text.cut = Some(handle.clone());
        let marker = Arc::new(Message::new(Role::User, vec![Part::Text(text)]));
        for (at, message) in (from..).zip(said) {
            self.withdrawn
                .insert(at, Arc::new(Message::new(message.role, Vec::new())));
        }
        self.withdrawn.insert(from, marker.clone());
        let rest = &earlier.rest;
        self.view.messages.clone_from(&rest.view.messages);
        // What has left since then does not come back.
        for refused in &self.refused {
            for message in &mut self.view.messages {
                if let Some(without) = refused.leaves(message) {
                    *message = without;
                }
            }
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

    /// A part of the view that can leave by itself, and its name. A call cannot, as its answer would be left.
    fn part_at(&self, place: Place) -> Option<(&Part, String)> {
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

    /// Puts the marker in the place of what is refused: in what is shown, in what is shown once an edit is taken back, and in
    /// what compactions read.
    fn leave(&mut self, refused: &Refused, at: usize) {
        let shown = |messages: &mut [Arc<Message>]| {
            for message in messages {
                if let Some(without) = refused.leaves(message) {
                    *message = without;
                }
            }
        };
        match refused.is_everywhere() {
            true => shown(&mut self.view.messages),
            false => shown(&mut self.view.messages[at..=at]),
        }
        for snapshot in &mut self.snapshots {
            match &mut snapshot.before {
                Before::Whole { messages, .. } => shown(&mut Arc::make_mut(messages)[..]),
                Before::Messages(messages) => messages
                    .iter_mut()
                    .for_each(|(_, message)| shown(std::slice::from_mut(message))),
            }
        }
        let most = if refused.is_everywhere() { usize::MAX } else { 1 };
        for number in (0..self.history.messages().len()).rev() {
            let message = self.withdrawn.get(&number).unwrap_or(&self.history.messages()[number]);
            if let Some(without) = refused.leaves(message) {
                self.withdrawn.insert(number, without);
                if most == 1 {
                    break;
                }
            }
        }
    }

    /// The message as it is shown: a picture that was refused once is not sent again.
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

    /// What compactions read, from the beginning.
    pub(super) fn tell_again(&mut self) {
        self.told = (!self.withdrawn.is_empty()).then(|| {
            let mut told = History::new();
            for (number, message) in self.history.messages().iter().enumerate() {
                told.append(self.withdrawn.get(&number).unwrap_or(message).clone());
            }
            Box::new(told)
        });
        self.archived = Archived::default();
        self.valid = None;
        self.cut = None;
    }

    /// The figures and the record of a view that something has left.
    fn stands_without(&mut self, old: &[Arc<Message>], kept: usize) {
        self.tell_again();
        let size = Size::of(&self.view.messages);
        let before = self.occupancy.next_request();
        let after = self.weigh(size.tokens).min(match size.tokens < self.shown.tokens {
            true => before.saturating_sub(1),
            false => Tokens::MAX,
        });
        self.edits.push(Edit {
            reason: Reason::Rejected,
            at: self.history.messages().len(),
            before,
            after,
            is_undone: false,
        });
        self.note_removed(self.edits.len() - 1, kept);
        self.resize(size, after);
        let pairs = old.iter().zip(&self.view.messages);
        let same = pairs.take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
        let removed = before as i64 - after as i64;
        self.economy.rebuilt(
            Some(Reason::Rejected),
            &self.view.messages,
            (same, removed),
            self.occupancy.slope(),
        );
        self.begin_attempts_anew();
    }
}

fn is_marker(text: &Text) -> bool {
    text.cut.is_some() && text.body.as_str().starts_with('[') && text.body.as_str().contains(WHY)
}

/// What stands in the place of a part, and the handle under which it is kept.
fn refuse(part: Part, label: &str, archive: &mut Archive) -> Option<(Refused, Handle)> {
    let (body, known) = match &part {
        Part::Image(image) => (&image.data, None),
        Part::Text(text) => (&text.body, text.cut.clone()),
        Part::Opaque(opaque) => (opaque.json(), None),
        Part::Thinking(thinking) => (&thinking.body, None),
        _ => return None,
    };
    // What is shown cut is kept whole already.
    let handle = known.unwrap_or_else(|| archive.keep(body, label, REASON));
    let left = match &part {
        Part::Thinking(_) => None,
        _ => {
            let mut text = Text::new(cut::marker(label, body.len(), WHY, &handle), Origin::Own);
            text.cut = Some(handle.clone());
            Some(text)
        }
    };
    Some((Refused { part, left }, handle))
}

/// A turn as it is read back: what was said, one thing after the other. Pictures are kept under handles of their own.
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
