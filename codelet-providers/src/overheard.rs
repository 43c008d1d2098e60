//! Responses of vendors to other clients, read by a gateway between an agent and its provider.

use crate::error_kind::{Refusal, classify};
use crate::secret::Secrets;
use crate::usage::{AnthropicUsage, Inclusive};
use crate::wire::Wire;
pub use codelet_agent::model::Billed;
use codelet_agent::model::ModelError;
use codelet_context::tokens::Tokens;
use serde_json::Value;

/// A rejection of a request as too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// The limit in tokens, if the response contains it.
    pub limit: Option<Tokens>,
    /// The tokens of the prompt, if the response contains them.
    pub counted: Option<Tokens>,
}

/// Returns whether a response with this error status rejects a request as too long.
pub fn too_long(status: u16, body: &str) -> Option<TooLong> {
    let refusal = Refusal {
        status: Some(status),
        headers: None,
        body,
    };
    match classify(&refusal, &Secrets::default()) {
        ModelError::TooLong { limit, counted, .. } => Some(TooLong { limit, counted }),
        _ => None,
    }
}

/// A reader of a response's usage, event by event.
#[derive(Clone, Debug)]
pub struct Meter {
    wire: Wire,
    anthropic: AnthropicUsage,
    inclusive: Inclusive,
    has_read: bool,
}

impl Meter {
    /// Creates a reader for a response on this wire.
    pub fn new(wire: Wire) -> Self {
        Meter {
            wire,
            anthropic: AnthropicUsage::default(),
            inclusive: Inclusive::default(),
            has_read: false,
        }
    }

    /// Takes an event of a stream, or a whole response.
    pub fn read(&mut self, event: &Value) {
        let found = match self.wire {
            Wire::Gemini => event.get("usageMetadata"),
            Wire::Anthropic => event.get("usage").or_else(|| event.get("message")?.get("usage")),
            Wire::Chat => event.get("usage"),
            Wire::Responses => event.get("usage").or_else(|| event.get("response")?.get("usage")),
        };
        let Some(usage) = found.filter(|usage| usage.is_object()) else {
            return;
        };
        self.has_read = true;
        match self.wire {
            Wire::Anthropic => self.anthropic.update(usage),
            Wire::Chat => self.inclusive.chat(usage),
            Wire::Responses => self.inclusive.responses(usage),
            Wire::Gemini => self.inclusive.gemini(usage),
        }
    }

    /// Returns the usage read so far; `None` if none was reported.
    pub fn billed(&self) -> Option<Billed> {
        let billed = match self.wire {
            Wire::Anthropic => self.anthropic.billed(),
            Wire::Chat | Wire::Responses | Wire::Gemini => self.inclusive.billed(),
        };
        self.has_read.then_some(billed)
    }
}
