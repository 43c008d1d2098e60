//! What a compaction came to: the view, how much smaller it is, what became of each message, and what the user should know.

use super::{Archived, Cut};
use crate::evidence::anchor::Anchor;
use crate::history::History;
use crate::history::turn_index::Size;
use crate::message::cut;
use crate::message::tokens::Tokens;
use crate::message::view::View;
use crate::strategy::StrategyStats;
use crate::summary::summary_request::Failure;
use std::borrow::Cow;

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

impl TurnCount {
    /// The share of the turns that is summarised, which estimates how much a compaction saves; zero of none.
    pub fn compression_estimate(&self) -> f64 {
        self.summarised as f64 / self.total.max(1) as f64
    }
}

/// What became of one message of the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fate {
    /// What was done.
    pub kind: FateKind,
    /// Why, in a few words for a person.
    pub why: Cow<'static, str>,
    /// Which of its parts stand as they were where others do not, ascending.
    pub whole: Vec<usize>,
}

impl Fate {
    /// Of all of a message alike.
    pub(super) fn new(kind: FateKind, why: impl Into<Cow<'static, str>>) -> Self {
        Fate {
            kind,
            why: why.into(),
            whole: Vec::new(),
        }
    }

    /// What becomes of one part of the message.
    pub fn of_part(&self, part: usize) -> FateKind {
        match self.whole.contains(&part) {
            true => FateKind::Kept,
            false => self.kind,
        }
    }
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
    /// It is a reminder, and a later one of its kind stands in its place.
    Superseded,
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
    /// The conversation is still close to the occupancy at which the next compaction is due.
    StillClose {
        /// Tokens after.
        after: Tokens,
        /// The occupancy that triggers a compaction.
        trigger: Tokens,
    },
    /// Prompts of the user were shortened, because there was no room for all of them.
    PromptsCut {
        /// How many.
        prompts: usize,
    },
    /// The system prompt or reminders, such as the project's instructions, were shortened for want of room.
    InstructionsCut,
    /// The summary is the template's, because the model's is none.
    NotWritten(Failure),
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
    /// Whether it was made smaller, and not only mended where it was not valid.
    pub compacted: bool,
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
    /// Which messages of this history the view's archive keeps all of, where that is known.
    pub(crate) archived: Option<Archived>,
    /// How what stands was cut, if later compactions are to cut it alike.
    pub(crate) cut: Option<Cut>,
    /// What the history became before it was compacted, if it was not valid.
    pub(crate) valid: Option<History>,
}

impl Warning {
    /// Whether it says what the notice says already, in other words: of use where somebody has chosen how small the
    /// conversation was to become, and nothing to act upon elsewhere.
    pub fn repeats_the_notice(&self) -> bool {
        matches!(self, Warning::SmallSaving { .. })
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |number: u64| cut::grouped(number);
        match self {
            Warning::SmallSaving { before, after } => write!(
                f,
                "only {} → {} tokens: less than 60% smaller",
                shown(*before),
                shown(*after)
            ),
            Warning::OverBudget { budget, smallest } => write!(
                f,
                "a budget of {} cannot hold what must be kept; the smallest possible budget is {}",
                shown(*budget),
                shown(*smallest)
            ),
            Warning::StillClose { after, trigger } => write!(
                f,
                "{} tokens are left, and the next compaction comes at {}: a larger window, fewer pins or a new session would give more room",
                shown(*after),
                shown(*trigger)
            ),
            Warning::PromptsCut { prompts: 1 } => {
                f.write_str("one of your prompts was too long and was shortened; the model can recall the rest")
            }
            Warning::PromptsCut { prompts } => write!(
                f,
                "{} of your prompts were too long and were shortened; the model can recall the rest",
                shown(*prompts as u64)
            ),
            Warning::InstructionsCut => {
                f.write_str("instructions were too long and were shortened; the model can recall the rest")
            }
            Warning::NotWritten(failure) => write!(f, "{failure}; the summary is made without a model"),
            Warning::Mended { places: 1 } => write!(f, "repaired 1 invalid place in the conversation"),
            Warning::Mended { places } => write!(f, "repaired {} invalid places in the conversation", shown(*places)),
        }
    }
}
