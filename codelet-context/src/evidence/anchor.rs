//! Anchors: the turns and steps that finished something.
//!
//! A change is finished when the next test run succeeds. That is often in a later turn ("now run the tests"), so the
//! changes of turns without a subsequent test run wait for the next one, and the turn of that run is the anchor,
//! however much was said, read or built in between. A failed test run ends the wait: later success is due to newer
//! changes.

mod describe;
mod event;
mod search;
#[cfg(test)]
mod tests;

use crate::message::Message;
use crate::message::tokens::Tokens;
use crate::message::turn::{self, Turn};
pub(crate) use event::{Event, weigh};
use search::Search;
use std::ops::Range;
use std::sync::Arc;

/// A turn with more tokens than this is too long to be kept whole, so its steps are examined: a fifth of common
/// windows, which is more than a compaction leaves for a single turn.
pub const LONG_TURN: Tokens = 40_000;

/// The kind of achievement of an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AnchorKind {
    /// Something had failed, files were changed, and then the tests passed.
    ErrorResolution,
    /// Files were changed, and then the tests passed.
    TaskCompletion,
    /// The user pinned it.
    UserCheckpoint,
}

codelet_text::named! {
    AnchorKind {
        ErrorResolution = "error resolution",
        TaskCompletion = "task completion",
        UserCheckpoint = "user checkpoint",
    }
}

impl AnchorKind {
    /// The confidence of an anchor of this kind, 0 to 1; at least 0.9.
    pub fn confidence(self) -> f64 {
        match self {
            AnchorKind::ErrorResolution => 0.95,
            AnchorKind::TaskCompletion => 0.92,
            AnchorKind::UserCheckpoint => 1.0,
        }
    }

    /// The importance of an anchor of this kind, 0 to 1.
    pub fn weight(self) -> f64 {
        match self {
            AnchorKind::ErrorResolution => 0.9,
            AnchorKind::TaskCompletion => 0.8,
            AnchorKind::UserCheckpoint => 0.7,
        }
    }
}

/// A turn, or a step of a long turn, that finished something.
#[derive(Clone, PartialEq, Debug)]
pub struct Anchor {
    /// The kind of achievement.
    pub kind: AnchorKind,
    /// The index of the turn, from 0.
    pub turn: usize,
    /// The messages of the turn or step.
    pub range: Range<usize>,
    /// A one-line description that names the files.
    pub description: String,
}

/// Finds the anchors of a conversation, in order, given the effects of its calls and the estimate of each message.
///
/// A turn is an anchor if files were changed in it and the last test run after that succeeded. In a turn with more than
/// `long` tokens ([`LONG_TURN`]), each step whose test run succeeded after a change is one. It resolved an error if,
/// before the change, the step or turn before had ended in a failure. `pins` are the indices of messages that the user
/// pinned; the turn with a pin, or the step of a long turn, is a checkpoint.
pub(crate) fn find(
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
            let is_pinned = pins.iter().any(|pin| span.contains(pin));
            let checkpoint = is_pinned.then(|| {
                (
                    AnchorKind::UserCheckpoint,
                    describe::checkpoint(&messages[range.clone()]),
                )
            });
            let found = search.finished().into_iter().chain(checkpoint);
            anchors.extend(found.map(|(kind, description)| Anchor {
                kind,
                turn: number,
                range: span.clone(),
                description,
            }));
        }
    }
    anchors
}

/// The ranges of a turn that are examined: the whole turn, or the prompt and each step of a long one.
fn spans(messages: &[Arc<Message>], turn: &Range<usize>, is_long: bool) -> Vec<Range<usize>> {
    let mut ends = vec![turn.start];
    if is_long {
        let steps = turn::steps(messages, turn.clone());
        ends.extend(
            steps
                .iter()
                .map(|step| step.0.start)
                .filter(|&start| start > turn.start),
        );
    }
    ends.push(turn.end);
    let spans = ends.windows(2).map(|ends| ends[0]..ends[1]);
    spans.filter(|span| !span.is_empty()).collect()
}
