//! Hooks: programs that receive events of a session, and may object to them or add text for the model. The loop decides
//! when to call them and what their answers mean; implementations of [`Hooks`] know which hooks exist and run them.
//!
//! Hooks never grant permission: a hook can only deny a call, or have the user asked about it. Its text is marked as a
//! program's, so that the model does not mistake it for the user's.

use crate::interrupt::Interrupt;
use crate::tool::output::Output;
use codelet_context::message::Parameters;
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use futures_util::future::BoxFuture;

/// An event that hooks receive.
#[derive(Clone, Copy, Debug)]
pub enum Occasion<'a> {
    /// The first prompt of a conversation is about to be taken.
    SessionStart {
        /// The way it started: `startup`, `resume`, `clear`, or `compact` if it continues after a compaction.
        source: &'static str,
    },
    /// A prompt is about to be taken.
    UserPromptSubmit {
        /// Its text, without API keys.
        prompt: &'a str,
    },
    /// A call is about to be made, if permitted.
    PreToolUse {
        /// The tool.
        tool: &'a str,
        /// The call's id.
        id: &'a str,
        /// The parameters.
        parameters: &'a Parameters,
    },
    /// A call succeeded.
    PostToolUse {
        /// The tool.
        tool: &'a str,
        /// The call's id.
        id: &'a str,
        /// The parameters.
        parameters: &'a Parameters,
        /// The output.
        output: &'a Output,
    },
    /// The conversation is about to be compacted.
    PreCompact {
        /// The reason.
        reason: Reason,
        /// The user's instructions for the summary.
        instructions: Option<&'a str>,
    },
    /// The conversation was compacted.
    PostCompact {
        /// The reason.
        reason: Reason,
        /// The figures.
        notice: &'a Notice,
        /// The summary; empty if there is none.
        summary: &'a str,
        /// The handle to read the summary back later.
        handle: Option<&'a str>,
    },
    /// The model gave its final answer.
    Stop {
        /// The answer.
        answer: &'a str,
        /// True if a hook has already made the model go on.
        is_held: bool,
    },
    /// The user is asked.
    Notification {
        /// The subject, in one line.
        message: &'a str,
    },
}

impl Occasion<'_> {
    /// Returns the event's name in settings.
    pub fn name(&self) -> &'static str {
        match self {
            Occasion::SessionStart { .. } => "SessionStart",
            Occasion::UserPromptSubmit { .. } => "UserPromptSubmit",
            Occasion::PreToolUse { .. } => "PreToolUse",
            Occasion::PostToolUse { .. } => "PostToolUse",
            Occasion::PreCompact { .. } => "PreCompact",
            Occasion::PostCompact { .. } => "PostCompact",
            Occasion::Stop { .. } => "Stop",
            Occasion::Notification { .. } => "Notification",
        }
    }
}

/// A hook's objection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Objection {
    /// Deny it, for this reason.
    Deny(String),
    /// Ask the user, for this reason.
    Ask(String),
}

/// The combined answers of all hooks to an event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Said {
    /// The strongest objection.
    pub objection: Option<Objection>,
    /// Text for the model, bounded.
    pub context: Vec<String>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// Runs hooks.
pub trait Hooks: Send + Sync {
    /// Calls the hooks for this event. Returns their answers once all have ended, or soon after `interrupt` is thrown.
    fn tell<'a>(&'a self, occasion: Occasion<'a>, interrupt: &'a Interrupt) -> BoxFuture<'a, Said>;

    /// Calls the hooks for this event without waiting for them.
    fn notify(&self, occasion: Occasion<'_>);
}
