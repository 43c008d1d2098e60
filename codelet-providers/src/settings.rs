//! The settings of requests.

use crate::cache_control::Lifetime;
use crate::catalogue::Thinks;
use crate::host::Host;
use crate::ways::Ways;
use crate::wire::Wire;
use codelet_context::tokens::Tokens;
use std::sync::Arc;

/// The minimum output limit that every vendor accepts, in tokens.
const LEAST_OUTPUT: Tokens = 16;

/// The amount of thinking.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Thinking {
    /// The vendor's default; a model that adapts its thinking may do so.
    #[default]
    Usual,
    /// None, if the model supports that.
    Off,
    /// An effort by the vendor's name: `low`, `medium`, `high` and others.
    Effort(String),
    /// At most this many tokens.
    Budget(Tokens),
}

/// Everything in a request other than the conversation; constant for a session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub wire: Wire,
    /// The cloud that serves the model, if it is not the vendor itself.
    pub host: Option<Host>,
    /// The provider and model name used in requests; for a cloud, the cloud's.
    pub asked: ModelId,
    /// The vendor's own name of the model, whose rules apply in clouds too.
    pub model: String,
    pub vendor: &'static str,
    pub max_output: Tokens,
    pub sees_images: bool,
    /// True if the catalogue lists the model; otherwise its way of thinking is a guess.
    pub is_listed: bool,
    pub thinks: Thinks,
    pub thinking: Thinking,
    pub shows_thinking: bool,
    pub lifetime: Lifetime,
    /// The server's deviations from the wire, as far as they have been learned.
    pub ways: Arc<Ways>,
}

/// The provider and its model name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ModelId {
    pub vendor: &'static str,
    pub model: String,
}

impl Settings {
    /// Returns the output limit for a request of which only the usage is needed, on wires that send usage last; `None`
    /// if it must not be reduced. A thinking budget must be below the limit, and other thinking settings miss
    /// Anthropic's cache.
    pub(crate) fn idle_output(&self) -> Option<Tokens> {
        let has_budget = self.vendor == "openrouter" && !matches!(self.thinking, Thinking::Usual | Thinking::Off);
        match self.wire {
            Wire::Chat if has_budget => None,
            Wire::Chat | Wire::Responses => Some(LEAST_OUTPUT),
            // These report usage in the first event.
            Wire::Anthropic | Wire::Gemini => None,
        }
    }

    /// Returns whether the model may think: because it is asked to, or because nothing prevents it.
    pub(crate) fn lets_think(&self) -> bool {
        match (&self.thinking, self.thinks) {
            (_, Thinks::Never) => false,
            // It cannot be turned off.
            (_, Thinks::Level) => true,
            (Thinking::Off, _) => false,
            // On this wire it thinks only with an explicit budget.
            (Thinking::Usual, Thinks::Budget) => self.wire != Wire::Anthropic,
            _ => true,
        }
    }
}
