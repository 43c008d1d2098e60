//! Bulk: the removable tool outputs, and how much rent each has cost since it became removable.

use crate::message::exchange::Calls;
use crate::message::tokens::{self, Tokens};
use crate::message::{ActionKind, Message, Part, ToolCall, ToolResult, files};
use crate::ranking::excerpt::PartIndex;
use crate::text::hash::{ByHash, QuickMap};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The estimated size of a marker in place of an output, in tokens.
pub(crate) const MARKER: Tokens = 28;
/// The minimum saving, in tokens, for which an output is removed.
const SMALLEST: Tokens = 64;

/// The period for which an output is kept whole. Both conditions must be met for it to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shelter {
    /// Tokens of conversation since the output was printed, or its file last read or changed.
    pub tokens: Tokens,
    /// Steps since then; `None` while nothing is removed for its price, and so no shelter has to end.
    pub steps: Option<u64>,
}

/// The state of an item.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// It may still be needed.
    Sheltered,
    /// It can be removed; holds the clock reading at which it became removable.
    Removable(f64),
    /// It has been removed.
    Removed,
    /// It stays, because the user undid its removal or its call id is ambiguous.
    Exempt,
}

/// The output of one call.
#[derive(Clone, Debug)]
pub(crate) struct RemovableOutput {
    /// Its place in the history.
    pub place: PartIndex,
    /// The index of its part in its message of the view.
    pub part: u32,
    /// The index of its message in the view, if it is shown.
    at: Option<u32>,
    /// The estimated tokens saved by removing it.
    saves: Tokens,
    /// The position of the conversation, in tokens and in steps, at which it was printed or last used.
    used: (Tokens, u64),
    state: State,
    /// The call id, for finding the output again in a rebuilt view.
    pub call: Arc<str>,
    pub tool: Arc<str>,
}

/// The tool outputs of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemovableOutputs {
    items: Vec<RemovableOutput>,
    by_place: QuickMap<PartIndex, u32>,
    by_call: QuickMap<Arc<str>, u32>,
    /// Calls without a result so far, and their actions.
    open: Calls<Arc<str>, OpenCall>,
    /// For each file, the results that show it.
    shows: ByHash<Vec<u32>>,
    /// Sheltered items, ordered by the position in tokens at which their shelter may end.
    waiting: BinaryHeap<Reverse<(Tokens, u32)>>,
    /// The estimated tokens of the conversation so far, and its steps with calls.
    pub(super) position: Tokens,
    pub(super) steps: u64,
    /// The estimated tokens saved by removing all removable items.
    pub(super) removable: Tokens,
}

#[derive(Clone, Debug)]
struct OpenCall {
    tool: Arc<str>,
    kind: ActionKind,
    /// The hash of the file that the call reads with a file-reading tool, or 0.
    reads: u64,
}

/// An item that can be removed now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Candidate {
    pub item: u32,
    /// The index of its message in the view.
    pub at: usize,
    /// The estimated tokens saved by removing it.
    pub saves: Tokens,
    /// The clock reading at which it became removable.
    pub since: f64,
}

impl RemovableOutputs {
    /// Adds the next message, at index `at` in the view; `clock` is the price that a token in the prefix has paid so
    /// far. Returns the estimated tokens that became removable.
    pub fn append(&mut self, message: &Message, (number, at): (u32, u32), shelter: Shelter, clock: f64) -> Tokens {
        let before = self.removable;
        self.steps += u64::from(message.calls().next().is_some());
        for (part, piece) in message.parts.iter().enumerate() {
            match piece {
                Part::ToolCall(call) => self.asked(call, shelter),
                Part::ToolResult(result) => self.answered(result, (number, part as u32), at, shelter),
                _ => {}
            }
        }
        self.position += tokens::estimate_message(message);
        self.expire(shelter, clock);
        self.removable.saturating_sub(before)
    }

    fn asked(&mut self, call: &ToolCall, shelter: Shelter) {
        let action = &call.action;
        let file = match (action.kind, action.paths.first()) {
            (ActionKind::Read | ActionKind::Change, Some(path)) => files::file(path),
            _ => 0,
        };
        // Reading or changing a file again uses what is known of it.
        for item in self.shows.get(&file).cloned().unwrap_or_default() {
            self.touch(item, shelter);
        }
        let asked = OpenCall {
            tool: call.tool.clone(),
            kind: action.kind,
            reads: if action.kind == ActionKind::Read { file } else { 0 },
        };
        self.open.called(call.id.clone(), asked);
    }

    fn answered(&mut self, result: &ToolResult, place: PartIndex, at: u32, shelter: Shelter) {
        let asked = self.open.answered(result);
        if asked
            .as_ref()
            .is_some_and(|asked| matches!(asked.kind, ActionKind::Todo | ActionKind::Note))
        {
            return;
        }
        let number = self.items.len() as u32;
        let saves = savings(result);
        self.items.push(RemovableOutput {
            place,
            part: place.1,
            at: Some(at),
            saves,
            used: (self.position, self.steps),
            state: State::Sheltered,
            call: result.call_id.clone(),
            tool: asked.as_ref().map_or_else(|| "tool".into(), |asked| asked.tool.clone()),
        });
        self.by_place.insert(place, number);
        if self.by_call.insert(result.call_id.clone(), number).is_some() {
            // A reused id no longer identifies one result.
            self.items[number as usize].state = State::Exempt;
        } else if saves > 0 {
            self.waiting.push(Reverse((self.position + shelter.tokens, number)));
        }
        let Some(asked) = asked.filter(|_| result.success != Some(false)) else {
            return;
        };
        if asked.reads != 0 {
            self.shows.entry(asked.reads).or_default().push(number);
        }
    }

    /// Marks an item as used, which shelters it again.
    fn touch(&mut self, item: u32, shelter: Shelter) {
        let Some(used) = self.items.get_mut(item as usize) else {
            return;
        };
        if matches!(used.state, State::Removed | State::Exempt) {
            return;
        }
        used.used = (self.position, self.steps);
        if let State::Removable(_) = used.state {
            used.state = State::Sheltered;
            self.removable -= used.saves;
            self.waiting.push(Reverse((self.position + shelter.tokens, item)));
        }
    }

    /// Ends the shelter of items that have been unused for long enough.
    fn expire(&mut self, shelter: Shelter, clock: f64) {
        let Some(steps) = shelter.steps else { return };
        let mut later = Vec::new();
        while let Some(&Reverse((due, number))) = self.waiting.peek() {
            if due > self.position {
                break;
            }
            self.waiting.pop();
            let position = self.position;
            let item = &mut self.items[number as usize];
            if item.state != State::Sheltered || item.at.is_none() || item.saves == 0 {
                continue;
            }
            let ends = (item.used.0 + shelter.tokens, item.used.1 + steps);
            if ends.0 > position {
                later.push(Reverse((ends.0, number)));
            } else if ends.1 > self.steps {
                later.push(Reverse((position + 1, number)));
            } else {
                item.state = State::Removable(clock);
                self.removable += item.saves;
            }
        }
        self.waiting.extend(later);
    }

    /// The items that can be removed now, newest first; `pinned` lists history messages that stay.
    pub fn candidates<'a>(&'a self, pinned: &'a [usize]) -> impl Iterator<Item = Candidate> + 'a {
        self.items.iter().enumerate().rev().filter_map(move |(number, item)| {
            let State::Removable(since) = item.state else {
                return None;
            };
            let at = item.at? as usize;
            (!pinned.contains(&(item.place.0 as usize))).then_some(Candidate {
                item: number as u32,
                at,
                saves: item.saves,
                since,
            })
        })
    }

    /// The output of a candidate.
    pub fn item(&self, candidate: &Candidate) -> &RemovableOutput {
        &self.items[candidate.item as usize]
    }

    /// Returns whether the given place in the history is an output that the view shows.
    pub fn is_shown(&self, place: PartIndex) -> bool {
        let item = self
            .by_place
            .get(&place)
            .and_then(|&item| self.items.get(item as usize));
        item.is_some_and(|item| item.at.is_some() && item.state != State::Removed)
    }

    /// Marks an item as removed.
    pub fn remove(&mut self, item: u32) {
        if let Some(item) = self.items.get_mut(item as usize) {
            if let State::Removable(_) = item.state {
                self.removable -= item.saves;
            }
            item.state = State::Removed;
        }
    }

    /// Exempts the result of a call whose removal was undone: it stays from now on.
    pub fn exempt(&mut self, call: &str) {
        if let Some(&number) = self.by_call.get(call) {
            self.items[number as usize].state = State::Exempt;
        }
    }

    /// Locates the items in a rebuilt view. Items that are no longer shown whole cannot be removed.
    pub fn rebuilt(&mut self, view: &[Arc<Message>], shelter: Shelter) {
        for item in &mut self.items {
            item.at = None;
            if let State::Removable(_) = item.state {
                item.state = State::Sheltered;
            }
        }
        self.removable = 0;
        self.waiting.clear();
        for (at, message) in view.iter().enumerate() {
            for (part, piece) in message.parts.iter().enumerate() {
                let Part::ToolResult(result) = piece else { continue };
                let Some(&number) = self.by_call.get(&result.call_id) else {
                    continue;
                };
                let item = &mut self.items[number as usize];
                item.at = Some(at as u32);
                item.part = part as u32;
                item.saves = savings(result);
                if item.state == State::Sheltered && item.saves > 0 {
                    self.waiting.push(Reverse((item.used.0 + shelter.tokens, number)));
                }
            }
        }
    }
}

/// The estimated tokens saved by replacing an output with a marker; 0 if below the minimum.
pub(crate) fn savings(result: &ToolResult) -> Tokens {
    let whole = tokens::estimate_result(result);
    let blocks = result.output.len().max(1) as Tokens;
    let saves = whole.saturating_sub(blocks * (MARKER + tokens::PART_TOKENS));
    if saves < SMALLEST { 0 } else { saves }
}
