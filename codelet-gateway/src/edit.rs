//! A request made smaller: a pure function of the conversation that it brings.

use crate::Api;
use bytes::Bytes;
use codelet_context::economics::Preset;
use codelet_context::tokens::Tokens;

/// How requests are edited.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// How readily; `Off` edits nothing before the window is full.
    pub preset: Preset,
    /// The window in tokens; without it, the model's own.
    pub window: Option<Tokens>,
}

/// Edits requests. What it remembers of conversations makes the next request quick, and may be lost at any time: the same
/// request is edited to the same bytes by every editor with the same settings.
pub struct Editor {
    settings: Settings,
}

/// What became of a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Edited {
    /// The body to send, in slices that together are its bytes; `None` where the request goes on as it came.
    pub body: Option<Vec<Bytes>>,
    /// What is known of it, for the ledger and the page.
    pub facts: Facts,
}

/// What is known of a request that was looked at.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    /// Tells conversations apart: the same for all requests of one. None where the body is no conversation.
    pub conversation: Option<u64>,
    /// Requests of this conversation so far, as its replies tell.
    pub step: usize,
    /// What the conversation weighs as the agent sent it, in estimated tokens.
    pub before: Tokens,
    /// What it weighs as it is sent on, in estimated tokens.
    pub after: Tokens,
    /// Edits that were made in this conversation so far.
    pub edits: usize,
    /// Why this request changes what the one before it held, where it does.
    pub edit: Option<&'static str>,
    /// Why the request was not understood and goes on as it came.
    pub passed: Option<String>,
}

impl Editor {
    /// Remembers nothing yet.
    pub fn new(settings: Settings) -> Self {
        Editor { settings }
    }

    /// Under which settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Makes a request smaller, if that is due. `model` is the name in the path, where the interface has it there.
    pub fn edit(&self, _api: Api, _model: Option<&str>, _body: &Bytes) -> Edited {
        Edited {
            body: None,
            facts: Facts::default(),
        }
    }

    /// The same for a request that the provider has refused as too long, with the limit and the count that it names. None where it cannot be
    /// made smaller.
    pub fn edit_refused(
        &self,
        _api: Api,
        _model: Option<&str>,
        _body: &Bytes,
        _limit: Option<Tokens>,
        _counted: Option<Tokens>,
    ) -> Option<Edited> {
        None
    }
}
