//! The ways in which a run ends.

use crate::model::ModelError;
use crate::model::bill::Spent;
use crate::run::loop_guard;
use codelet_text::short::counted;
use std::fmt;
use std::sync::Arc;

/// The way in which a run ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Ending {
    /// With the model's final answer.
    Answered(String),
    /// The model declined, with its or the provider's explanation.
    Declined(String),
    /// It reached the step limit.
    StepLimit(u32),
    /// It reached the cost limit.
    CostLimit(Spent),
    /// The same call kept failing.
    Loop {
        /// The tool.
        tool: Arc<str>,
        /// The number of failures.
        count: u32,
    },
    /// The same calls were repeated with the same results.
    Stale {
        /// The tool of the last of them.
        tool: Arc<str>,
        /// The number of consecutive repeated calls.
        count: u32,
    },
    /// No final answer passed the check, after repeated tries.
    Unfit {
        /// The reason why the last one failed.
        why: String,
        /// The number of answers.
        count: u32,
    },
    /// The final answer could not be checked, for this reason.
    Unchecked(String),
    /// The model gave no answer, or none that ended, after repeated tries.
    NoAnswer(String),
    /// The provider failed.
    Provider(ModelError),
    /// The conversation cannot be made to fit.
    TooLong(String),
    /// A hook denied the prompt, for this reason; no request was made and nothing was appended.
    Blocked(String),
    /// The user interrupted.
    Interrupted,
}

impl Ending {
    /// Returns whether the same conversation would be refused again: the model declined, or the provider rejected part
    /// of it.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Ending::Declined(_) | Ending::Provider(ModelError::Rejected { .. })
        )
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Answered(_) => f.write_str("answered"),
            Ending::Declined(said) => write!(f, "the model declined to answer: {said}"),
            Ending::StepLimit(steps) => write!(f, "stopped: step limit reached ({})", counted(steps, "step")),
            Ending::CostLimit(Spent { dollars, is_estimated }) => {
                let (about, estimated) = if *is_estimated {
                    ("about ", ", estimated")
                } else {
                    ("", "")
                };
                write!(f, "stopped: cost limit reached ({about}${dollars:.4}{estimated})")
            }
            Ending::Loop { tool, count } if *count >= loop_guard::MOST => {
                write!(f, "stopped: the same call of {tool} failed {count} times")
            }
            Ending::Loop { tool, count } => {
                write!(
                    f,
                    "stopped: the same {tool} call failed {count} times, and nothing was done in between to fix it"
                )
            }
            Ending::Stale { tool, count } => write!(
                f,
                "stopped: the last {count} tool calls (the last one {tool}) repeated earlier ones with the same results"
            ),
            Ending::Unfit { why, count } => {
                write!(f, "none of {count} answers fits the schema; the last one: {why}")
            }
            Ending::Unchecked(why) => write!(f, "could not check the answer against the schema: {why}"),
            Ending::NoAnswer(why) => write!(f, "the model gave no answer: {why}"),
            Ending::Provider(error) => error.fmt(f),
            Ending::TooLong(why) => f.write_str(why),
            Ending::Blocked(why) => write!(f, "a UserPromptSubmit hook blocked the prompt: {why}"),
            Ending::Interrupted => f.write_str("interrupted"),
        }
    }
}
