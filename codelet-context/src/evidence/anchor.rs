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

use super::Evidence;
use crate::message::Message;
use crate::message::tokens::{self, Tokens};
use crate::message::turn::{self, Turn};
pub(crate) use came::{Event, weigh};
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
    fn confidence(self) -> f64 {
        match self {
            AnchorKind::ErrorResolution => 0.95,
            AnchorKind::TaskCompletion => 0.92,
            AnchorKind::UserCheckpoint => 1.0,
        }
    }

    /// How much an anchor of this kind matters, 0 to 1.
    fn weight(self) -> f64 {
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
    let mut evidence = Evidence::default();
    messages.iter().for_each(|message| evidence.append(message));
    let estimates: Vec<Tokens> = messages
        .iter()
        .map(|message| tokens::estimate_message(message))
        .collect();
    find_among(&evidence.events, messages, &estimates, turns, pins, long)
}

/// The same where it is known what calls came to, and what each message weighs.
pub(crate) fn find_among(
    events: &[(usize, Event)],
    messages: &[Arc<Message>],
    estimates: &[Tokens],
    turns: &[Turn],
    pins: &[usize],
    long: Tokens,
) -> Vec<Anchor> {
    let mut search = Search::default();
    let mut anchors = Vec::new();
    for (number, Turn(range)) in turns.iter().enumerate() {
        let range = range.start..range.end.min(messages.len());
        search.read_to(events, range.start);
        search.begin_turn();
        let weight: Tokens = estimates[range.clone()].iter().sum();
        for span in spans(messages, &range, weight > long) {
            search.read_to(events, span.end);
            if let Some((kind, description)) = search.finished() {
                anchors.push(Anchor::new(kind, number, span.clone(), description));
            }
            if pins.iter().any(|pin| span.contains(pin)) {
                let description = describe::checkpoint(&messages[range.clone()]);
                anchors.push(Anchor::new(AnchorKind::UserCheckpoint, number, span, description));
            }
        }
    }
    anchors.retain(|anchor| anchor.confidence >= LEAST_CONFIDENCE);
    anchors
}

/// What is looked at together of a turn: all of it, or of a long one its prompt and each of its steps.
fn spans(messages: &[Arc<Message>], turn: &Range<usize>, is_long: bool) -> Vec<Range<usize>> {
    if turn.is_empty() {
        return Vec::new();
    }
    let steps = if is_long {
        turn::steps(messages, turn.clone())
    } else {
        Vec::new()
    };
    let starts = std::iter::once(turn.start).chain(
        steps
            .into_iter()
            .map(|step| step.0.start)
            .filter(|&start| start > turn.start),
    );
    let starts: Vec<usize> = starts.collect();
    let ends = starts[1..].iter().copied().chain([turn.end]);
    starts.iter().zip(ends).map(|(&start, end)| start..end).collect()
}
