//! The usage reported by a part of a stream, parsed from its frames as the vendor documents them.

use super::script::Billed;
use super::wire::{Frame, Wire};
use serde_json::{Map, Value};

impl Wire {
    /// The counts reported by these frames: the last value of each field. `None` if no frame reports any.
    pub fn reported(self, frames: &[Frame]) -> Option<Billed> {
        let mut told = Map::new();
        for frame in frames {
            let Ok(frame) = serde_json::from_str::<Value>(&frame.data) else {
                continue;
            };
            let places = [
                &frame["usage"], &frame["message"]["usage"], &frame["response"]["usage"], &frame["usageMetadata"],
            ];
            for usage in places.into_iter().filter_map(Value::as_object) {
                told.extend(usage.clone());
            }
        }
        (!told.is_empty()).then(|| self.counts(&Value::Object(told)))
    }

    fn counts(self, told: &Value) -> Billed {
        let count = |path: &str| told.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        let including = |prompt: &str, cached: &str| Billed {
            fresh: count(prompt) - count(cached),
            cache_read: count(cached),
            ..Billed::default()
        };
        match self {
            Wire::Anthropic => Billed {
                fresh: count("/input_tokens"),
                cache_read: count("/cache_read_input_tokens"),
                write_5m: count("/cache_creation_input_tokens") - count("/cache_creation/ephemeral_1h_input_tokens"),
                write_1h: count("/cache_creation/ephemeral_1h_input_tokens"),
                output: count("/output_tokens"),
                reasoning: 0,
            },
            Wire::Chat => Billed {
                output: count("/completion_tokens"),
                reasoning: count("/completion_tokens_details/reasoning_tokens"),
                ..including("/prompt_tokens", "/prompt_tokens_details/cached_tokens")
            },
            Wire::Responses => Billed {
                output: count("/output_tokens"),
                reasoning: count("/output_tokens_details/reasoning_tokens"),
                ..including("/input_tokens", "/input_tokens_details/cached_tokens")
            },
            Wire::Gemini => Billed {
                output: count("/candidatesTokenCount") + count("/thoughtsTokenCount"),
                reasoning: count("/thoughtsTokenCount"),
                ..including("/promptTokenCount", "/cachedContentTokenCount")
            },
        }
    }
}
