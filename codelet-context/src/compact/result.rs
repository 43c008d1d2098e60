//! The result of a compaction: the view, the saving, the fate of each message, and warnings for the user.

use super::StandingCut;
use crate::evidence::anchor::Anchor;
use crate::history::turn_index::Size;
use crate::message::cut;
use crate::message::tokens::Tokens;
use crate::message::view::View;
use crate::strategy::{StrategyStats, pairing};
use crate::summary::summary_request::Failure;
use std::borrow::Cow;

/// The number of turns, in total and by treatment.
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
    /// The share of turns that is summarised, which estimates the saving of a compaction; zero if there are none.
    pub fn compression_estimate(&self) -> f64 {
        self.summarised as f64 / self.total.max(1) as f64
    }
}

/// The fate of one message of the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fate {
    /// The kind of treatment.
    pub kind: FateKind,
    /// The reason, in a few words for a person.
    pub why: Cow<'static, str>,
    /// The indices of unchanged parts if others are changed, ascending.
    pub whole: Vec<usize>,
}

impl Fate {
    /// Creates a fate that applies to all parts of a message.
    pub(super) fn new(kind: FateKind, why: impl Into<Cow<'static, str>>) -> Self {
        Fate {
            kind,
            why: why.into(),
            whole: Vec::new(),
        }
    }

    /// The fate of one part of the message.
    pub fn of_part(&self, part: usize) -> FateKind {
        match self.whole.contains(&part) {
            true => FateKind::Kept,
            false => self.kind,
        }
    }
}

/// The kinds of treatment of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FateKind {
    /// It is unchanged.
    Kept,
    /// It is in the view, with cuts or pointers.
    Shortened,
    /// Lines of it are quoted in the summary.
    Excerpted,
    /// It is covered by the summary only.
    Summarised,
}

/// A warning to the user about a compaction that fell short of its aim.
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
    /// The budget is smaller than the content that must be kept.
    OverBudget {
        /// Tokens requested.
        budget: Tokens,
        /// The smallest possible number.
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
        /// The number of prompts.
        prompts: usize,
    },
    /// The system prompt or reminders, such as the project's instructions, were shortened for lack of room.
    InstructionsCut,
    /// The summary is the template's, because the model's is not usable.
    NotWritten(Failure),
    /// The conversation was invalid and was repaired (orphans, duplicate ids and the like).
    Mended {
        /// The number of places.
        places: u64,
    },
}

/// The result of a compaction.
#[derive(Clone, Debug, Default)]
pub struct Compaction {
    /// The new view, with everything that was removed.
    pub view: View,
    /// True if anything was done.
    pub changed: bool,
    /// True if it was made smaller, and not only repaired.
    pub compacted: bool,
    /// The size before.
    pub before: Size,
    /// The size after, on the same basis.
    pub after: Size,
    /// The turns.
    pub turns: TurnCount,
    /// The anchor that the kept part begins with; if the history was invalid, its range is one of the repaired messages.
    pub anchor: Option<Anchor>,
    /// The counts of the strategies.
    pub strategies: StrategyStats,
    /// The fate of each message of the history.
    pub fates: Vec<Fate>,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
    /// The cut of standing texts, if later compactions should repeat it.
    pub(crate) cut: Option<StandingCut>,
}

impl Compaction {
    /// Returns whether the view ends with a message that nobody wrote, since providers want the user to speak last.
    pub fn is_closed(&self) -> bool {
        self.view.messages.last().is_some_and(|last| pairing::is_closing(last))
    }
}

impl Warning {
    /// Returns whether the warning repeats the notice in other words: useful to a caller that has chosen the target
    /// size, and not actionable otherwise.
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
            Warning::PromptsCut { prompts: 1 } => f.write_str("one of your prompts was too long and was shortened"),
            Warning::PromptsCut { prompts } => write!(
                f,
                "{} of your prompts were too long and were shortened",
                shown(*prompts as u64)
            ),
            Warning::InstructionsCut => f.write_str("instructions were too long and were shortened"),
            Warning::NotWritten(failure) => write!(f, "{failure}; the summary is made without a model"),
            Warning::Mended { places } => {
                write!(
                    f,
                    "repaired {} in the conversation",
                    cut::counted(places, "invalid place")
                )
            }
        }
    }
}
