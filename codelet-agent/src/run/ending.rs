//! How a run ends.

use crate::model::ModelError;
use crate::model::bill::Spent;
use crate::run::loop_guard;
use std::fmt;
use std::sync::Arc;

/// How a run ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Ending {
    /// With the model's last words.
    Answered(String),
    /// The model declined, in its words or the vendor's.
    Declined(String),
    /// The most steps were made.
    StepLimit(u32),
    /// The most dollars were spent.
    CostLimit(Spent),
    /// The same call failed again and again.
    Loop {
        /// The tool.
        tool: Arc<str>,
        /// How often.
        count: u32,
    },
    /// The same calls were made again and again, and came to the same.
    Stale {
        /// The tool of the last of them.
        tool: Arc<str>,
        /// How many in a row.
        count: u32,
    },
    /// No final answer passed the check, however often the model was asked again.
    Unfit {
        /// What was wrong with the last one.
        why: String,
        /// How many there were.
        count: u32,
    },
    /// Whether the final answer passes the check is not known, for this reason.
    Unchecked(String),
    /// The model said nothing, or its answer did not end, however often it was asked.
    NoAnswer(String),
    /// The provider gave no answer.
    Provider(ModelError),
    /// The conversation cannot be made to fit.
    TooLong(String),
    /// A hook has refused the prompt, for this reason; nobody was asked, and nothing was said.
    Blocked(String),
    /// The user interrupted.
    Interrupted,
}

impl Ending {
    /// Whether what was said would be refused again: the model declined to answer it, or the provider does not take it.
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
            Ending::StepLimit(steps) => write!(f, "stopped: step limit reached ({steps} steps)"),
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
