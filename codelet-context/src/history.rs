//! The history: every message of the conversation, in order. It only grows.

mod lazy_index;
pub(crate) mod turn_index;
use crate::evidence::Evidence;
use crate::evidence::anchor::{self, Anchor, LONG_TURN};
use crate::evidence::facts::Facts;
use crate::history::lazy_index::LazyIndex;
use crate::history::turn_index::TurnIndex;
pub(crate) use crate::history::turn_index::stands;
use crate::message::Message;
use crate::message::tokens::{self, Tokens};
use crate::message::turn::Turn;
use crate::ranking::{self, RankingIndex, Sample};
use std::sync::Arc;

/// The append-only conversation. Derived data about a message is computed once: when it is appended, or, what only an
/// edit asks for, when it is first asked for.
#[derive(Clone, Default)]
pub struct History {
    messages: Vec<Arc<Message>>,
    estimates: Vec<Tokens>,
    ranking: LazyIndex,
    course: TurnIndex,
    evidence: Evidence,
}

impl History {
    /// Creates an empty history.
    pub fn new() -> Self {
        History::default()
    }

    /// Appends a message. Takes time proportional to its bytes, however long the history is.
    pub fn append(&mut self, message: impl Into<Arc<Message>>) {
        let message = message.into();
        self.ranking.append(message.clone());
        self.evidence.append(&message);
        let estimate = tokens::estimate_message(&message);
        self.course.append(&message, estimate);
        self.estimates.push(estimate);
        self.messages.push(message);
    }

    /// Puts messages without texts in place of those from `from` on, and drops what only a compaction asks of any.
    pub(crate) fn drop_texts(&mut self, from: usize, bare: Vec<Arc<Message>>) {
        let places = from..from + bare.len();
        self.messages.splice(places, bare);
        self.ranking = LazyIndex::default();
        self.evidence = Evidence::default();
    }

    /// The same with messages that have no outputs in place of those that `bare` returns one for, and without what is known
    /// of the outputs that do not stay.
    pub(crate) fn drop_outputs(
        &mut self,
        bare: impl Fn(&Arc<Message>) -> Option<Arc<Message>>,
        stays: impl Fn((u32, u32)) -> bool,
    ) {
        for message in &mut self.messages {
            if let Some(bare) = bare(message) {
                *message = bare;
            }
        }
        self.ranking.get_mut().drop_outputs(stays);
        self.evidence = Evidence::default();
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The estimate of each message, in tokens.
    pub fn estimates(&self) -> &[Tokens] {
        &self.estimates
    }

    /// The facts about files, checks, errors and plans.
    pub(crate) fn facts(&self) -> &Facts {
        &self.evidence.facts
    }

    /// The sentences and lines of the history with their features, oldest first: the training data for weights.
    pub fn samples(&self) -> Vec<Sample> {
        ranking::samples(self.ranking())
    }

    /// The index of all messages. Takes time proportional to the bytes appended since it was last asked for.
    pub(crate) fn ranking(&self) -> &RankingIndex {
        self.ranking.get()
    }

    pub(crate) fn course(&self) -> &TurnIndex {
        &self.course
    }

    /// The turns and steps that finished something; `pins` are message indices.
    pub fn anchors(&self, turns: &[Turn], pins: &[usize]) -> Vec<Anchor> {
        let (events, messages) = (&self.evidence.events, &self.messages);
        anchor::find(events, messages, &self.estimates, turns, pins, LONG_TURN)
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("messages", &self.messages)
            .finish_non_exhaustive()
    }
}

impl FromIterator<Message> for History {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let mut history = History::new();
        for message in messages {
            history.append(message);
        }
        history
    }
}
