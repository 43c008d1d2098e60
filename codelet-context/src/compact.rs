//! The pipeline of a compaction: what is kept, what is summarised, and the view that results.

use crate::anchor::Anchor;
use crate::history::History;
use crate::strategy::StrategyStats;
use crate::tokens::{self, Tokens};
use crate::view::View;

/// How small a compaction is to make the conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Keep from the newest anchor on, summarise what is older, whatever that weighs.
    Select,
    /// Weigh at most this much.
    Budget(Tokens),
    /// As a session with a window of this size does: nothing before the trigger, then well below it.
    Window(Tokens),
}

/// How much there is of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Messages.
    pub messages: usize,
    /// Tokens, estimated.
    pub tokens: Tokens,
    /// Bytes of text, names and parameters.
    pub bytes: u64,
}

/// How many turns there are, and what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TurnCount {
    /// All turns.
    pub total: usize,
    /// Turns kept as messages, at least in part.
    pub kept: usize,
    /// Turns of which only prompts and lines of the summary are left.
    pub summarised: usize,
}

/// What became of one message of the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fate {
    /// What was done.
    pub kind: FateKind,
    /// Why, in a few words for a person.
    pub why: String,
}

/// The things that can become of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FateKind {
    /// It stands as it was.
    Kept,
    /// It stands, with cuts or pointers in it.
    Shortened,
    /// Lines of it stand in the summary.
    Excerpted,
    /// It is told of in the summary only.
    Summarised,
}

/// Something the user should know about a compaction that did not go as far as it should.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// The conversation became less than 60 % smaller.
    SmallSaving {
        /// Tokens before.
        before: Tokens,
        /// Tokens after.
        after: Tokens,
    },
    /// The budget is smaller than what must be kept.
    OverBudget {
        /// Tokens asked for.
        budget: Tokens,
        /// The least that is possible.
        smallest: Tokens,
    },
    /// The conversation was not valid, and was mended on the way (orphans, duplicate ids and the like).
    Mended {
        /// How many places.
        places: u64,
    },
}

/// What a compaction came to.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// What would be sent now, and what was removed.
    pub view: View,
    /// Whether anything was done.
    pub changed: bool,
    /// Before.
    pub before: Size,
    /// After, on the same basis.
    pub after: Size,
    /// The turns.
    pub turns: TurnCount,
    /// The anchor that the kept part begins with.
    pub anchor: Option<Anchor>,
    /// What the strategies did.
    pub strategies: StrategyStats,
    /// What became of each message of the history.
    pub fates: Vec<Fate>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Compacts a conversation. Deterministic, without a model, and it cannot fail: what could not be done is in the warnings.
pub fn compact(history: &History, _target: Target) -> Compaction {
    let view = View {
        messages: history.messages().to_vec(),
        ..View::default()
    };
    let size = Size {
        messages: view.messages.len(),
        tokens: view.messages.iter().map(|m| tokens::estimate_message(m)).sum(),
        bytes: 0,
    };
    Compaction {
        view,
        changed: false,
        before: size,
        after: size,
        turns: TurnCount::default(),
        anchor: None,
        strategies: StrategyStats::default(),
        fates: Vec::new(),
        warnings: Vec::new(),
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::SmallSaving { before, after } => {
                write!(f, "only {before} → {after} tokens: less than 60 % smaller")
            }
            Warning::OverBudget { budget, smallest } => {
                write!(
                    f,
                    "{budget} tokens cannot hold what must be kept; the smallest possible budget is {smallest}"
                )
            }
            Warning::Mended { places } => write!(f, "the conversation was not valid in {places} places and was mended"),
        }
    }
}
