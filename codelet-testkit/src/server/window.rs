//! The context window that the server enforces, and the vendors' messages for prompts that exceed it.

use super::wire::{Dialect, Wire};
use serde_json::json;

/// The limits of a context window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Maximum tokens of a prompt, by the server's own count.
    pub tokens: u64,
    /// True if refusals name the numbers.
    pub tells: bool,
    /// True if the requested maximum output must fit as well, as for some models.
    pub with_output: bool,
}

impl Window {
    /// A window of this many tokens, with refusals that name it.
    pub fn of(tokens: u64) -> Self {
        Window {
            tokens,
            tells: true,
            with_output: false,
        }
    }

    /// Makes refusals name no number.
    pub fn untold(mut self) -> Self {
        self.tells = false;
        self
    }

    /// Makes the requested maximum output count as well.
    pub fn with_output(mut self) -> Self {
        self.with_output = true;
        self
    }

    /// The body of the refusal, if the prompt does not fit.
    pub(super) fn refusal(self, wire: Wire, dialect: Dialect, prompt: u64, output: u64) -> Option<String> {
        let output = if self.with_output { output } else { 0 };
        if prompt + output <= self.tokens {
            return None;
        }
        let limit = self.tokens;
        if dialect == Dialect::LlamaServer {
            let message = format!(
                "request ({prompt} tokens) exceeds the available context size ({limit} tokens), try increasing it"
            );
            let mut error = json!({ "code": 400, "message": message, "type": "exceed_context_size_error" });
            if self.tells {
                error["n_prompt_tokens"] = prompt.into();
                error["n_ctx"] = limit.into();
            } else {
                error["message"] = "the request exceeds the available context size, try increasing it".into();
            }
            return Some(json!({ "error": error }).to_string());
        }
        let body = match wire {
            Wire::Anthropic => {
                let message = match (self.tells, output) {
                    (false, _) => "prompt is too long".to_owned(),
                    (true, 0) => format!("prompt is too long: {prompt} tokens > {limit} maximum"),
                    (true, _) => format!(
                        "input length and `max_tokens` exceed context limit: {prompt} + {output} > {limit}, decrease input length or `max_tokens` and try again"
                    ),
                };
                json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } })
            }
            Wire::Chat => {
                let message = match self.tells {
                    true => format!(
                        "This model's maximum context length is {limit} tokens. However, your messages resulted in {} tokens. Please reduce the length of the messages.",
                        prompt + output
                    ),
                    false => {
                        "Your input exceeds the context window of this model. Please adjust your input and try again."
                            .to_owned()
                    }
                };
                openai(&message, "messages")
            }
            Wire::Responses => {
                let message = match self.tells {
                    true => format!(
                        "This model's maximum context length is {limit} tokens. However, your messages resulted in {} tokens. Please reduce the length of the messages.",
                        prompt + output
                    ),
                    false => {
                        "Your input exceeds the context window of this model. Please adjust your input and try again."
                            .to_owned()
                    }
                };
                openai(&message, "input")
            }
            Wire::Gemini => {
                let message = match self.tells {
                    true => format!(
                        "The input token count ({}) exceeds the maximum number of tokens allowed ({limit}).",
                        prompt + output
                    ),
                    false => "The input token count exceeds the maximum number of tokens allowed.".to_owned(),
                };
                json!({ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } })
            }
        };
        Some(body.to_string())
    }
}

fn openai(message: &str, param: &str) -> serde_json::Value {
    json!({ "error": {
        "message": message, "type": "invalid_request_error", "param": param, "code": "context_length_exceeded",
    }})
}

/// The tokens of this many bytes of text: one per four bytes, times the factor, rounded up.
pub(super) fn tokens(bytes: u64, factor: f64) -> u64 {
    (bytes as f64 * factor / 4.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vendor_says_too_long_in_its_own_words() {
        let said = |wire, window: Window| window.refusal(wire, Dialect::Vendor, 210_000, 0).unwrap();
        let window = Window::of(200_000);
        assert!(said(Wire::Anthropic, window).contains("prompt is too long: 210000 tokens > 200000 maximum"));
        assert!(said(Wire::Chat, window).contains(
            "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens."
        ));
        assert!(said(Wire::Responses, window).contains("context_length_exceeded"));
        assert!(
            said(Wire::Gemini, window)
                .contains("The input token count (210000) exceeds the maximum number of tokens allowed (200000).")
        );
        for wire in Wire::ALL {
            let untold = said(wire, window.untold());
            assert!(!untold.contains("200000") && !untold.contains("210000"), "{untold}");
        }
        let llama = window.refusal(Wire::Chat, Dialect::LlamaServer, 210_000, 0).unwrap();
        assert!(
            llama.contains("exceed_context_size_error") && llama.contains("\"n_ctx\":200000"),
            "{llama}"
        );
    }

    #[test]
    fn a_window_is_full_at_its_last_token_and_not_before() {
        for wire in Wire::ALL {
            assert_eq!(Window::of(100).refusal(wire, Dialect::Vendor, 100, 50), None);
            assert!(Window::of(100).refusal(wire, Dialect::Vendor, 101, 0).is_some());
            assert!(
                Window::of(100)
                    .with_output()
                    .refusal(wire, Dialect::Vendor, 60, 50)
                    .is_some()
            );
        }
    }

    #[test]
    fn four_bytes_are_a_token() {
        assert_eq!([0, 1, 4, 5].map(|bytes| tokens(bytes, 1.0)), [0, 1, 1, 2]);
        assert_eq!(tokens(400, 1.4), 140);
    }
}
