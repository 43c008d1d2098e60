//! How small conversations are kept.

use crate::convert::Actions;
use codelet_context::economics::{Economics, Preset};
use codelet_context::policy::CompactionConfig;
use codelet_context::price;
use codelet_context::tokens::Tokens;

/// Tokens that a model counts for each estimated one, where no bill says otherwise: four bytes are one estimated token, and
/// bills of recorded sessions show 1.3 to 1.45 of a vendor's.
const DENSITY: f64 = 1.4;
/// What a reply may have where nobody says.
const REPLY: Tokens = 4_096;

/// How small conversations are kept, and what their tools do.
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

    /// The same with so many tokens kept free for a reply, at most a quarter of the window. Otherwise it is what the request
    /// allows its reply, where that is known, or 4,096.
    pub fn reserving(mut self, tokens: Tokens) -> Self {
        self.reserved = Some(tokens);
        self
    }

    /// The same with so many tokens sent beside the messages: preamble, documents, definitions of tools.
    /// [`CompactionHook`](crate::CompactionHook) sees them and adds them up itself.
    pub fn beside(mut self, tokens: Tokens) -> Self {
        self.overhead = tokens;
        self
    }

    /// The same for a model that counts so many tokens for four bytes of text: 1.4 unless set. Languages that are not written
    /// in Latin letters need more. [`CompactionHook`](crate::CompactionHook) learns it from what the provider reports.
    pub fn tokens_per_four_bytes(mut self, tokens: f64) -> Self {
        if tokens.is_finite() && tokens > 0.0 {
            self.density = tokens;
        }
        self
    }

    /// The same with this said of what tools do.
    pub fn actions(mut self, actions: Actions) -> Self {
        self.actions = actions;
        self
    }

    /// When a conversation is compacted whose requests allow replies of so many tokens.
    pub(crate) fn config(&self, reply: Option<Tokens>) -> CompactionConfig {
        CompactionConfig::new(self.window).reserving(self.reserved.or(reply).unwrap_or(REPLY))
    }

    /// When the window is full and never before: under which prices, nobody has said.
    pub(crate) fn economics() -> Economics {
        Economics::new(price::usual()).preset(Preset::Off)
    }

    pub(crate) fn scale(&self, estimate: Tokens) -> Tokens {
        (estimate as f64 * self.density).round() as Tokens
    }
}
