//! Anchors: the turns and steps that finished something.
//!
//! A change is finished where the next test run succeeds. That is often a turn of its own ("now run the tests"), so the
//! changes of turns in which nothing was tested after them wait for the next test run, and the turn that holds it is the
//! anchor, however much was said, read or built in between. A test run that fails ends the wait: what passes after it owes
//! that to newer changes.

mod came;
mod describe;
mod search;
#[cfg(test)]
mod tests;

pub(crate) use describe::names;

use crate::exchange::Exchanges;
use crate::ledger::{Before, Ran};
use crate::message::{Message, Role, ToolCall, ToolResult};
use crate::tokens::{self, Tokens};
use crate::turn::Turn;
use came::Event;
use search::Search;
use std::ops::Range;
use std::sync::Arc;

/// Below this confidence nothing is an anchor.
pub(crate) const LEAST_CONFIDENCE: f64 = 0.9;

/// A turn that weighs more than this is too long to be kept whole, so its steps are looked at: a fifth of the windows
/// that are usual, which is more than a compaction leaves for a single turn.
pub const LONG_TURN: Tokens = 40_000;

/// What an anchor finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AnchorKind {
    /// Something had failed, files were changed, and then the tests passed.
    ErrorResolution,
    /// Files were changed and then the tests passed.
    TaskCompletion,
    /// The user pinned it.
    UserCheckpoint,
}

impl AnchorKind {
    /// The kind's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            AnchorKind::ErrorResolution => "error resolution",
            AnchorKind::TaskCompletion => "task completion",
            AnchorKind::UserCheckpoint => "user checkpoint",
        }
    }

    /// How sure an anchor of this kind is, 0 to 1.
    pub fn confidence(self) -> f64 {
        match self {
            AnchorKind::ErrorResolution => 0.95,
            AnchorKind::TaskCompletion => 0.92,
            AnchorKind::UserCheckpoint => 1.0,
        }
    }

    /// How much an anchor of this kind matters, 0 to 1.
    pub fn weight(self) -> f64 {
        match self {
            AnchorKind::ErrorResolution => 0.9,
            AnchorKind::TaskCompletion => 0.8,
            AnchorKind::UserCheckpoint => 0.7,
        }
    }
}

/// A turn, or inside a long turn a step, that finished something.
#[derive(Clone, PartialEq, Debug)]
pub struct Anchor {
    /// What it finished.
    pub kind: AnchorKind,
    /// Which turn, counted from 0.
    pub turn: usize,
    /// The messages of the turn or step.
    pub range: Range<usize>,
    /// How sure this is, 0 to 1; below 0.9 nothing is an anchor.
    pub confidence: f64,
    /// How much it matters, 0 to 1.
    pub weight: f64,
    /// One line that names the files.
    pub description: String,
}

impl Anchor {
    fn new(kind: AnchorKind, turn: usize, range: Range<usize>, description: String) -> Self {
        Anchor {
            kind,
            turn,
            range,
            confidence: kind.confidence(),
            weight: kind.weight(),
            description,
        }
    }
}

/// The anchors of a conversation, in its order.
///
/// A turn is an anchor if files were changed in it and the last test run after that succeeded. In a turn that weighs more
/// than `long` ([`LONG_TURN`] where nothing else is known), each step is one whose test run succeeded after a change.
/// It resolved an error if, before the change, the step or turn before had ended in a failure. `pins` are the indices of
/// messages that the user pinned; the turn that holds one, or the step of a long turn, is a checkpoint.
pub fn find(messages: &[Arc<Message>], turns: &[Turn], pins: &[usize], long: Tokens) -> Vec<Anchor> {
    let mut outcomes = Outcomes::new();
    for message in messages {
        outcomes.append(message);
    }
    outcomes.find(messages, turns, pins, long)
}

/// What the calls of a conversation came to, as far as anchors need it. Commands and outputs are read once, when their
/// message is appended; finding anchors then costs little.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    exchanges: Exchanges,
    before: Before,
    /// With the index of the message that holds the result.
    events: Vec<(usize, Event)>,
    /// What the messages up to each one weigh together.
    weights: Vec<Tokens>,
    /// Where each step begins, and whether the message taken in last is of a reply.
    steps: Vec<usize>,
    is_reply: bool,
    /// What is found of turns and steps that will not change any more.
    settled: Settled,
}

/// How far a conversation is read for anchors.
#[derive(Clone, Debug, Default)]
struct Settled {
    /// What a turn weighs that is long.
    long: Tokens,
    /// The turns that are read.
    turns: Vec<Turn>,
    /// Of a long turn behind them that is read in part: where it begins, and up to where.
    under_way: Option<Range<usize>>,
    search: Search,
    anchors: Vec<Anchor>,
}

impl Settled {
    /// Nothing is read yet.
    fn new(long: Tokens) -> Self {
        Settled {
            long,
            ..Settled::default()
        }
    }
}

impl Outcomes {
    /// Nothing appended yet.
    pub fn new() -> Self {
        Outcomes::default()
    }

    /// Takes the next message of the conversation.
    pub fn append(&mut self, message: &Arc<Message>) {
        let mut exchanges = std::mem::take(&mut self.exchanges);
        for (call, result) in self.before.next(message) {
            let ran = Ran::of(&call, &result, &mut self.before);
            self.take(&call, &result, ran.as_ref());
        }
        exchanges.next(message, |call, result| {
            let ran = Ran::of(call, result, &mut self.before);
            self.take(call, result, ran.as_ref());
        });
        self.exchanges = exchanges;
        self.end_message(message);
    }

    /// Takes a call with its answer in the message that is being read, and what was run if it ran a command.
    pub(crate) fn take(&mut self, call: &ToolCall, result: &ToolResult, ran: Option<&Ran>) {
        let index = self.weights.len();
        let events = came::weigh(call, result, ran).into_iter().flatten();
        self.events.extend(events.map(|event| (index, event)));
    }

    /// The message that was being read is at its end.
    pub(crate) fn end_message(&mut self, message: &Message) {
        let before = self.weights.last().copied().unwrap_or_default();
        let was_reply = std::mem::replace(&mut self.is_reply, message.role == Role::Assistant);
        if self.is_reply && !was_reply {
            self.steps.push(self.weights.len());
        }
        self.weights.push(before + tokens::estimate_message(message));
    }

    /// The turns are these now. Reads those that have come to their end, and the finished steps of one that is long.
    pub fn settle(&mut self, turns: &[Turn], long: Tokens) {
        let mut settled = std::mem::take(&mut self.settled);
        let last = settled.turns.len().checked_sub(1);
        let is_other = last.is_some_and(|last| turns.get(last) != settled.turns.last());
        if is_other || settled.long != long || !self.goes_on(&settled, turns) {
            settled = Settled::new(long);
        }
        self.read(&mut settled, &[], turns, &[], false);
        self.settled = settled;
    }

    /// Whether what was read in part is a long turn among these, as far as it was read.
    fn goes_on(&self, settled: &Settled, turns: &[Turn]) -> bool {
        let Some(under_way) = &settled.under_way else {
            return true;
        };
        let turn = turns.get(settled.turns.len()).map(|turn| self.within(turn));
        turn.is_some_and(|turn| {
            turn.start == under_way.start && turn.end >= under_way.end && self.weight(&turn) > settled.long
        })
    }

    /// The messages of a turn, of those that there are.
    fn within(&self, turn: &Turn) -> Range<usize> {
        turn.0.start.min(self.weights.len())..turn.0.end.min(self.weights.len())
    }

    fn weight(&self, range: &Range<usize>) -> Tokens {
        self.weight_before(range.end) - self.weight_before(range.start)
    }

    /// What the first messages weigh together.
    fn weight_before(&self, end: usize) -> Tokens {
        let last = end.min(self.weights.len()).checked_sub(1);
        last.map_or(0, |last| self.weights[last])
    }

    /// The anchors of the conversation that was appended, see [`find`].
    pub fn find(&self, messages: &[Arc<Message>], turns: &[Turn], pins: &[usize], long: Tokens) -> Vec<Anchor> {
        let is_known = pins.is_empty()
            && long == self.settled.long
            && turns.starts_with(&self.settled.turns)
            && self.goes_on(&self.settled, turns);
        let mut settled = match is_known {
            true => self.settled.clone(),
            false => Settled::new(long),
        };
        self.read(&mut settled, messages, turns, pins, true);
        let mut anchors = settled.anchors;
        anchors.retain(|anchor| anchor.confidence >= LEAST_CONFIDENCE);
        anchors
    }

    /// Reads on; to the end if nothing follows, else as far as nothing changes any more by what follows.
    fn read(&self, settled: &mut Settled, messages: &[Arc<Message>], turns: &[Turn], pins: &[usize], is_over: bool) {
        for number in settled.turns.len()..turns.len() {
            let range = self.within(&turns[number]);
            let is_long = self.weight(&range) > settled.long;
            let is_open = !is_over && number + 1 == turns.len();
            if is_open && !is_long {
                return;
            }
            let Settled {
                under_way,
                search,
                anchors,
                ..
            } = &mut *settled;
            let read = under_way.get_or_insert_with(|| {
                search.read_to(&self.events, range.start);
                search.begin_turn();
                range.start..range.start
            });
            while let Some(span) = self.span(&range, read.end, is_long) {
                if is_open && span.end == range.end {
                    return;
                }
                search.read_to(&self.events, span.end);
                if let Some((kind, description)) = search.finished() {
                    anchors.push(Anchor::new(kind, number, span.clone(), description));
                }
                read.end = span.end;
                if pins.iter().any(|pin| span.contains(pin)) {
                    let description = describe::checkpoint(&messages[range.clone()]);
                    anchors.push(Anchor::new(AnchorKind::UserCheckpoint, number, span, description));
                }
            }
            settled.under_way = None;
            settled.turns.push(turns[number].clone());
        }
    }

    /// What is read at once of a turn, from this message of it on: all, or of a long one its prompt or the next step.
    fn span(&self, turn: &Range<usize>, from: usize, is_long: bool) -> Option<Range<usize>> {
        if from >= turn.end {
            return None;
        }
        let next = self.steps[self.steps.partition_point(|&step| step <= from)..].first();
        let end = next.filter(|_| is_long).map_or(turn.end, |&next| next.min(turn.end));
        Some(from..end)
    }
}
