//! Breaks of the prefix: each with its reason, what it was expected to cost and save, and what it did cost.

use crate::budget::policy::Reason;
use crate::message::tokens::Tokens;

/// Why a provider could not read from its cache what it had been sent before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// An edit, for this reason.
    Edit(Reason),
    /// The user took an edit back that had been sent.
    Undone,
    /// The user began anew: what was said is not sent again.
    Cleared,
    /// Another model is asked, which has a cache of its own.
    Model,
    /// The tools changed, whose definitions stand before all messages.
    Tools,
    /// The cache had expired, and nothing was edited.
    Expired,
    /// Nobody knows: the cache was warm, and what was sent extended what it held.
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

    /// Whether nothing of what was sent before can be read again, whatever is edited.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Cause::Model | Cause::Tools)
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A break of the prefix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Break {
    /// Before which request, counted from 1.
    pub request: u64,
    /// Why.
    pub cause: Cause,
    /// Tokens that went from what is sent, all that was edited before this request taken together.
    pub removed: Tokens,
    /// Tokens that came back into it instead, because edits were taken back.
    pub restored: Tokens,
    /// Tokens that were expected to be written although they had been sent before.
    pub rewritten: Tokens,
    /// What writing them instead of reading them was expected to cost, in US dollars.
    pub predicted: f64,
    /// What each later request was expected to cost less, in US dollars; below zero where tokens came back.
    pub saving: f64,
    /// What it did cost, by the report of the request after it; none before that came.
    pub actual: Option<f64>,
    /// The cache had expired, so that nothing could have been read, whatever was edited.
    pub is_cold: bool,
}

impl Break {
    /// What the edit was expected to cost and did cost, in US dollars: nothing where the cache had expired, since all that was
    /// sent had to be written again without it too.
    pub fn of_edit(&self) -> (f64, Option<f64>) {
        match self.is_cold {
            true => (0.0, self.actual.map(|_| 0.0)),
            false => (self.predicted, self.actual),
        }
    }

    /// Whether it is an edit, or one that was taken back.
    pub fn is_edit(&self) -> bool {
        matches!(self.cause, Cause::Edit(_) | Cause::Undone)
    }
}
