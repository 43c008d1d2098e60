//! Hooks: programs that are told what happens in a session, and may object to it or add words for the model. The loop knows when
//! to tell them and what their words mean; whoever implements [`Hooks`] knows which there are and runs them.
//!
//! What a hook says never permits anything: it can refuse a call, or have a person asked about it, and no more. Its words are
//! marked as a program's, so that the model does not take them for the user's.

use crate::interrupt::Interrupt;
use crate::tool::output::Output;
use codelet_context::message::Parameters;
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use futures_util::future::BoxFuture;

/// Something that hooks are told of.
#[derive(Clone, Copy, Debug)]
pub enum Occasion<'a> {
    /// The first prompt of a conversation is about to be taken.
    SessionStart {
        /// How it came about: `startup`, `resume`, `clear`, or `compact` for one that goes on behind a compaction.
        source: &'static str,
    },
    /// A prompt is about to be taken.
    UserPromptSubmit {
        /// Its words, without keys.
        prompt: &'a str,
    },
    /// A call is about to be made, if it is permitted.
    PreToolUse {
        /// The tool.
        tool: &'a str,
        /// The call's id.
        id: &'a str,
        /// What it is called with.
        parameters: &'a Parameters,
    },
    /// A call has done what it was asked to.
    PostToolUse {
        /// The tool.
        tool: &'a str,
        /// The call's id.
        id: &'a str,
        /// What it was called with.
        parameters: &'a Parameters,
        /// Its answer.
        output: &'a Output,
    },
    /// The conversation is about to be compacted.
    PreCompact {
        /// Why.
        reason: Reason,
        /// What the user wants of the summary.
        instructions: Option<&'a str>,
    },
    /// It was compacted.
    PostCompact {
        /// Why.
        reason: Reason,
        /// The figures.
        notice: &'a Notice,
        /// The summary; empty where there is none.
        summary: &'a str,
        /// The handle under which the summary can be read back later.
        handle: Option<&'a str>,
    },
    /// The model has given its final answer.
    Stop {
        /// The answer.
        answer: &'a str,
        /// The model has gone on once already because of a hook.
        is_held: bool,
    },
    /// A person is asked.
    Notification {
        /// What about, in one line.
        message: &'a str,
    },
}

impl Occasion<'_> {
    /// The name in settings.
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

/// What a hook has against something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Objection {
    /// It must not be, for this reason.
    Deny(String),
    /// A person is to be asked, for this reason.
    Ask(String),
}

/// What hooks say of an occasion, all together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Said {
    /// The strongest objection of one of them.
    pub objection: Option<Objection>,
    /// Words for the model, bounded.
    pub context: Vec<String>,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// Whoever runs hooks.
pub trait Hooks: Send + Sync {
    /// Tells those that want to know, and returns what they say once all have ended, or soon after `interrupt` is thrown.
    fn tell<'a>(&'a self, occasion: Occasion<'a>, interrupt: &'a Interrupt) -> BoxFuture<'a, Said>;

    /// Tells those that want to know, and waits for none.
    fn notify(&self, occasion: Occasion<'_>);
}
