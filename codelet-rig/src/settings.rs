//! The size of the context window, and what tools do.

use crate::convert::Actions;
use codelet_context::economics::{Economics, Preset};
use codelet_context::policy::CompactionConfig;
use codelet_context::price;
use codelet_context::tokens::Tokens;

/// The tokens that a model counts for four bytes of text, until a provider reports usage. Bills of recorded sessions show 1.3 to 1.45.
const DENSITY: f64 = 1.4;
/// The tokens reserved for a reply by default.
const REPLY: Tokens = 4_096;

/// The size of the context window, and what tools do.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) window: Tokens,
    pub(crate) reserved: Option<Tokens>,
    pub(crate) overhead: Tokens,
    pub(crate) density: f64,
    pub(crate) actions: Actions,
}

impl Settings {
    /// The usual settings for a model with this context window, in tokens.
    pub fn window(tokens: Tokens) -> Self {
        Settings {
            window: tokens,
            reserved: None,
            overhead: 0,
            density: DENSITY,
            actions: Actions::default(),
        }
    }

    /// Reserves so many tokens for a reply, at most a quarter of the window. The default is the limit in the request if it has
    /// one, or 4,096.
    pub fn reserving(mut self, tokens: Tokens) -> Self {
        self.reserved = Some(tokens);
        self
    }

    /// Sets the tokens that are sent beside the messages: preamble, documents, tool definitions.
    /// [`CompactionHook`](crate::CompactionHook) counts them itself.
    pub fn beside(mut self, tokens: Tokens) -> Self {
        self.overhead = tokens;
        self
    }

    /// Sets how many tokens the model counts for four bytes of text, 1.4 by default. Languages that are not written in Latin letters
    /// need more. [`CompactionHook`](crate::CompactionHook) learns it from the reported usage.
    pub fn tokens_per_four_bytes(mut self, tokens: f64) -> Self {
        if tokens.is_finite() && tokens > 0.0 {
            self.density = tokens;
        }
        self
    }

    /// Sets what tools do.
    pub fn actions(mut self, actions: Actions) -> Self {
        self.actions = actions;
        self
    }

    /// The policy for conversations whose requests allow replies of so many tokens.
    pub(crate) fn config(&self, reply: Option<Tokens>) -> CompactionConfig {
        CompactionConfig::new(self.window).reserving(self.reserved.or(reply).unwrap_or(REPLY))
    }

    /// Edits only if the window is full: rig does not know the prices.
    pub(crate) fn economics() -> Economics {
        Economics::new(price::usual()).preset(Preset::Off)
    }

    pub(crate) fn scale(&self, estimate: Tokens) -> Tokens {
        (estimate as f64 * self.density).round() as Tokens
    }
}
