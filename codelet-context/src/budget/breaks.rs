//! Breaks of the cache prefix: the cause of each, its predicted cost and saving, and its actual cost.

use crate::budget::policy::Reason;
use crate::message::tokens::Tokens;

/// The reason why a provider could not read earlier input from its cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cause {
    /// An edit, with its reason.
    Edit(Reason),
    /// The user undid an edit that had already been sent.
    Undone,
    /// The user started over: the earlier conversation is not sent again.
    Cleared,
    /// Another model is in use, which has its own cache.
    Model,
    /// The tools changed; their definitions precede all messages.
    Tools,
    /// The cache had expired, and nothing was edited.
    Expired,
    /// No known cause: the cache was warm, and the request extended its cached prefix.
    #[default]
    Unplanned,
}

impl Cause {
    /// The cause's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Edit(reason) => reason.name(),
            Cause::Undone => "undone",
            Cause::Cleared => "cleared",
            Cause::Model => "model",
            Cause::Tools => "tools",
            Cause::Expired => "expired",
            Cause::Unplanned => "unplanned",
        }
    }

    /// Returns whether nothing sent earlier can be read again, whatever is edited.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Cause::Model | Cause::Tools)
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A break of the cache prefix.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Break {
    /// The number of the request after the break, counted from 1.
    pub request: u64,
    /// The cause.
    pub cause: Cause,
    /// Tokens removed from the request by all edits before it together.
    pub removed: Tokens,
    /// Tokens restored to the request instead, because edits were undone.
    pub restored: Tokens,
    /// Tokens expected to be written to the cache although they had been sent before.
    pub rewritten: Tokens,
    /// The expected cost of writing those tokens instead of reading them, in US dollars.
    pub predicted: f64,
    /// The expected saving per later request, in US dollars; negative if tokens were restored.
    pub saving: f64,
    /// The actual cost, from the report of the next request; `None` until that arrives.
    pub actual: Option<f64>,
    /// True if the cache had expired, so that nothing could have been read, whatever was edited.
    pub is_cold: bool,
}

impl Break {
    /// The expected and the actual cost of the edit, in US dollars: zero if the cache had expired, since everything had
    /// to be written again without the edit too.
    pub fn of_edit(&self) -> (f64, Option<f64>) {
        match self.is_cold {
            true => (0.0, self.actual.map(|_| 0.0)),
            false => (self.predicted, self.actual),
        }
    }

    /// Returns whether this is an edit or the undoing of one.
    pub fn is_edit(&self) -> bool {
        matches!(self.cause, Cause::Edit(_) | Cause::Undone)
    }
}
