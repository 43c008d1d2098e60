//! RemovableOutputs: the outputs of tools that could be removed, and since when each has been paid for in vain.

use crate::message::exchange::Calls;
use crate::message::tokens::{self, Tokens};
use crate::message::{ActionKind, Message, Part, ToolCall, ToolResult, files};
use crate::ranking::RankingIndex;
use crate::ranking::excerpt::Place;
use crate::text::hash::{ByHash, QuickMap};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What a marker in place of an output weighs, in tokens.
pub(crate) const MARKER: Tokens = 28;
/// An output that would not save this many tokens is left alone.
const SMALLEST: Tokens = 64;
/// So many things of an output must be said again for it to count as used; see [`RankingIndex::used`].
const USED: u32 = 3;

/// How long an output that nobody uses is kept whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shelter {
    /// So many tokens of the conversation since it was printed or last used.
    pub tokens: Tokens,
    /// And so many steps.
    pub steps: u64,
}

/// Where an item stands in its life.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// It may still be needed.
    Sheltered,
    /// It could go; this is what the clock showed when that began.
    Removable(f64),
    /// It was removed.
    Removed,
    /// It stays, because the user took its removal back.
    Exempt,
}

/// The output of one call.
#[derive(Clone, Debug)]
struct Item {
    /// Its place in the history.
    place: Place,
    /// Its part of its message in the view.
    part: u32,
    /// Its message in the view, if it is shown.
    at: Option<u32>,
    /// What removing it saves, as an estimate.
    saves: Tokens,
    /// Where the conversation was when it was printed or last used, in tokens and in steps.
    used: (Tokens, u64),
    state: State,
    /// The call, to find the output again in a view that was rebuilt.
    call: Arc<str>,
    tool: Arc<str>,
}

/// The outputs of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemovableOutputs {
    items: Vec<Item>,
    by_place: QuickMap<Place, u32>,
    by_call: QuickMap<Arc<str>, u32>,
    /// Calls that have no answer yet: what they do.
    open: Calls<Arc<str>, Asked>,
    /// For each file: the answers that show it.
    shows: ByHash<Vec<u32>>,
    /// Sheltered items by the position in tokens at which their shelter may end.
    waiting: BinaryHeap<Reverse<(Tokens, u32)>>,
    /// Tokens and steps of the conversation so far.
    position: Tokens,
    steps: u64,
    /// What all removable items would save together.
    removable: Tokens,
}

#[derive(Clone, Debug)]
struct Asked {
    tool: Arc<str>,
    kind: ActionKind,
    /// The file that it reads with a tool for that, or 0.
    reads: u64,
}

/// An item that could be removed now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Candidate {
    pub item: u32,
    /// Its message in the view.
    pub at: usize,
    /// What removing it saves, as an estimate.
    pub saves: Tokens,
    /// What the clock showed when it became removable.
    pub since: f64,
}

impl RemovableOutputs {
    /// Takes in the next message, which stands at `at` in the view; `clock` is the price that a token has paid so far.
    /// Returns what became removable with it, in estimated tokens.
    pub fn append(
        &mut self,
        message: &Message,
        (number, at): (u32, u32),
        index: &RankingIndex,
        shelter: Shelter,
        clock: f64,
    ) -> Tokens {
        let before = self.removable;
        self.steps += u64::from(message.calls().next().is_some());
        for (place, count) in index.used() {
            if *count >= USED
                && let Some(&item) = self.by_place.get(place)
            {
                self.touch(item, shelter);
            }
        }
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
        // Whoever reads or changes a file again works with what is known of it.
        for item in self.shows.get(&file).cloned().unwrap_or_default() {
            self.touch(item, shelter);
        }
        let asked = Asked {
            tool: call.tool.clone(),
            kind: action.kind,
            reads: if action.kind == ActionKind::Read { file } else { 0 },
        };
        self.open.called(call.id.clone(), asked);
    }

    fn answered(&mut self, result: &ToolResult, place: Place, at: u32, shelter: Shelter) {
        let asked = self.open.answered(result);
        if asked
            .as_ref()
            .is_some_and(|asked| matches!(asked.kind, ActionKind::Todo | ActionKind::Note))
        {
            return;
        }
        let number = self.items.len() as u32;
        let saves = savings(result);
        self.items.push(Item {
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
            // An id that is used again says no longer which answer is meant.
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

    /// An item was used: it is sheltered again.
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

    /// Ends the shelter of what was not used for long enough.
    fn expire(&mut self, shelter: Shelter, clock: f64) {
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
            let ends = (item.used.0 + shelter.tokens, item.used.1 + shelter.steps);
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

    /// What could be removed, in estimated tokens.
    pub fn removable(&self) -> Tokens {
        self.removable
    }

    /// Steps with calls so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Tokens of the conversation so far, as an estimate.
    pub fn position(&self) -> Tokens {
        self.position
    }

    /// What could be removed now, newest first; `pinned` are messages of the history that stay.
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

    /// The part of its message that an item is.
    pub fn part(&self, item: u32) -> usize {
        self.items.get(item as usize).map_or(0, |item| item.part as usize)
    }

    /// The call that an item answers.
    pub fn call(&self, item: u32) -> Option<&Arc<str>> {
        self.items.get(item as usize).map(|item| &item.call)
    }

    /// The tool that printed an item.
    pub fn tool(&self, item: u32) -> &str {
        self.items.get(item as usize).map_or("tool", |item| &item.tool)
    }

    /// Where an item stands in the history.
    pub fn place(&self, item: u32) -> Place {
        self.items.get(item as usize).map_or((u32::MAX, 0), |item| item.place)
    }

    /// Whether what stands at this place of the history is an output that the view shows.
    pub fn is_shown(&self, place: Place) -> bool {
        let item = self
            .by_place
            .get(&place)
            .and_then(|&item| self.items.get(item as usize));
        item.is_some_and(|item| item.at.is_some() && item.state != State::Removed)
    }

    /// An item was removed.
    pub fn remove(&mut self, item: u32) {
        if let Some(item) = self.items.get_mut(item as usize) {
            if let State::Removable(_) = item.state {
                self.removable -= item.saves;
            }
            item.state = State::Removed;
        }
    }

    /// The removal of what answers this call was taken back: it stays from here on.
    pub fn exempt(&mut self, call: &str) {
        if let Some(&number) = self.by_call.get(call) {
            self.items[number as usize].state = State::Exempt;
        }
    }

    /// The view was rebuilt: finds the items in it again. What is not shown whole any more cannot be removed.
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

/// What a marker in place of an output saves, as an estimate.
pub(crate) fn savings(result: &ToolResult) -> Tokens {
    let whole = tokens::estimate_result(result);
    let blocks = result.output.len().max(1) as Tokens;
    let saves = whole.saturating_sub(blocks * (MARKER + tokens::PART_TOKENS));
    if saves < SMALLEST { 0 } else { saves }
}
