//! Exact usage from the reports of each wire: the last value of each field wins, nothing is summed.

use codelet_agent::model::Billed;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Reported;
use serde_json::Value;

/// Returns a count at a path in an object. A fraction, as some gateways send, is rounded down; a negative number is
/// ignored.
fn count(value: &Value, path: &[&str]) -> Option<Tokens> {
    let value = path.iter().try_fold(value, |value, name| value.get(name))?;
    value.as_u64().or_else(|| {
        value
            .as_f64()
            .filter(|count| *count >= 0.0)
            .map(|count| count as Tokens)
    })
}

fn first(value: &Value, paths: &[&[&str]]) -> Option<Tokens> {
    paths.iter().find_map(|path| count(value, path))
}

/// The usage that the Anthropic wire has reported for one reply.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct AnthropicUsage {
    first: Option<Reported>,
    reported: Reported,
    write_1h: Option<Tokens>,
}

impl AnthropicUsage {
    /// Takes the `usage` of an event.
    pub(crate) fn update(&mut self, usage: &Value) {
        let write_5m = count(usage, &["cache_creation", "ephemeral_5m_input_tokens"]);
        let write_1h = count(usage, &["cache_creation", "ephemeral_1h_input_tokens"]);
        let split = match (write_5m, write_1h) {
            (None, None) => None,
            (five, hour) => Some(five.unwrap_or(0).saturating_add(hour.unwrap_or(0))),
        };
        let reported = Reported {
            prompt: count(usage, &["input_tokens"]),
            cache_read: count(usage, &["cache_read_input_tokens"]),
            cache_write: count(usage, &["cache_creation_input_tokens"]).or(split),
            output: count(usage, &["output_tokens"]),
            reasoning: first(
                usage,
                &[
                    &["output_tokens_details", "thinking_tokens"],
                    &["output_tokens_details", "reasoning_tokens"],
                ],
            ),
        };
        self.reported.update(reported);
        self.write_1h = write_1h.or(self.write_1h);
        self.first.get_or_insert(reported);
    }

    /// Returns the usage so far.
    pub(crate) fn billed(&self) -> Billed {
        let usage = match self.is_inclusive() {
            true => self.reported.inclusive(),
            false => self.reported.exclusive(),
        };
        Billed {
            usage,
            write_1h: self.write_1h.unwrap_or(0).min(usage.cache_write),
            reasoning: self.reported.reasoning.unwrap_or(0).min(usage.output),
        }
    }

    /// Returns whether `input_tokens` includes cached tokens: a family of gateways first reports the whole prompt in
    /// it, and its cached part only with the last event, while the vendor reports both at once and never counts a token
    /// twice.
    fn is_inclusive(&self) -> bool {
        let cached = |reported: &Reported| {
            let write = reported.cache_write.unwrap_or(0);
            reported.cache_read.unwrap_or(0).saturating_add(write)
        };
        let Some(first) = self.first else { return false };
        let (before, after) = (cached(&first), cached(&self.reported));
        let prompt = self.reported.prompt.unwrap_or(0);
        before == 0 && after > 0 && after <= prompt && first.prompt == self.reported.prompt
    }
}

/// The usage of a wire whose prompt count includes cached tokens.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Inclusive {
    reported: Reported,
    /// Thinking tokens, which some vendors count separately from the output.
    apart: Tokens,
}

impl Inclusive {
    /// Takes the `usage` of a Chat Completions chunk.
    pub(crate) fn chat(&mut self, usage: &Value) {
        let reported = Reported {
            prompt: count(usage, &["prompt_tokens"]),
            cache_read: first(
                usage,
                &[
                    &["prompt_tokens_details", "cached_tokens"],
                    &["prompt_cache_hit_tokens"],
                    &["cached_tokens"],
                ],
            ),
            cache_write: count(usage, &["prompt_tokens_details", "cache_write_tokens"]),
            output: count(usage, &["completion_tokens"]),
            reasoning: count(usage, &["completion_tokens_details", "reasoning_tokens"]),
        };
        self.reported.update(reported);
        // Thinking is added if the total shows that the output count excludes it.
        let sum = |other: Tokens| {
            let prompt = reported.prompt.unwrap_or(0);
            prompt
                .saturating_add(reported.output.unwrap_or(0))
                .saturating_add(other)
        };
        let reasoning = reported.reasoning.unwrap_or(0);
        if let Some(total) = count(usage, &["total_tokens"]) {
            self.apart = if reasoning > 0 && total == sum(reasoning) {
                reasoning
            } else {
                0
            };
        }
    }

    /// Takes the `usage` of a response.
    pub(crate) fn responses(&mut self, usage: &Value) {
        self.reported.update(Reported {
            prompt: count(usage, &["input_tokens"]),
            cache_read: count(usage, &["input_tokens_details", "cached_tokens"]),
            cache_write: count(usage, &["input_tokens_details", "cache_write_tokens"]),
            output: count(usage, &["output_tokens"]),
            reasoning: count(usage, &["output_tokens_details", "reasoning_tokens"]),
        });
    }

    /// Takes the `usageMetadata` of a chunk: thinking is counted separately from the output, and content from built-in
    /// tools separately from the prompt.
    pub(crate) fn gemini(&mut self, usage: &Value) {
        let prompt = count(usage, &["promptTokenCount"]);
        let brought = count(usage, &["toolUsePromptTokenCount"]).unwrap_or(0);
        let thoughts = count(usage, &["thoughtsTokenCount"]);
        self.reported.update(Reported {
            prompt: prompt.map(|prompt| prompt.saturating_add(brought)),
            cache_read: count(usage, &["cachedContentTokenCount"]),
            cache_write: None,
            output: count(usage, &["candidatesTokenCount"]),
            reasoning: thoughts,
        });
        self.apart = self.reported.reasoning.unwrap_or(0);
    }

    /// Returns the usage so far.
    pub(crate) fn billed(&self) -> Billed {
        let mut usage = self.reported.inclusive();
        usage.output = usage.output.saturating_add(self.apart);
        Billed {
            usage,
            write_1h: 0,
            reasoning: self.reported.reasoning.unwrap_or(0).min(usage.output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_context::usage::Usage;
    use serde_json::json;

    fn anthropic(events: &[Value]) -> Billed {
        let mut usage = AnthropicUsage::default();
        events.iter().for_each(|event| usage.update(event));
        usage.billed()
    }

    #[test]
    fn anthropic_counts_are_disjoint_and_the_hour_is_told_apart() {
        let start = json!({"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90,
            "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 60}, "output_tokens": 1});
        let billed = anthropic(&[start, json!({"output_tokens": 55})]);
        assert_eq!(billed.usage, Usage::from_exclusive(10, 90, 900, 55));
        assert_eq!(billed.write_1h, 60);
    }

    #[test]
    fn a_gateway_that_tells_the_cached_part_late_is_not_counted_twice() {
        let start = json!({"input_tokens": 1000, "cache_read_input_tokens": 0, "output_tokens": 0});
        let billed = anthropic(&[
            start.clone(),
            json!({"cache_read_input_tokens": 800, "output_tokens": 9}),
        ]);
        assert_eq!(billed.usage, Usage::from_inclusive(1000, 800, 9));
        let repeated = json!({"input_tokens": 1000, "cache_read_input_tokens": 800, "output_tokens": 9});
        assert_eq!(anthropic(&[start.clone(), repeated]).usage.prompt(), 1000);
        // A vendor that corrects its first count is believed.
        let corrected = json!({"input_tokens": 200, "cache_read_input_tokens": 800, "output_tokens": 9});
        assert_eq!(
            anthropic(&[start, corrected]).usage,
            Usage::from_exclusive(200, 0, 800, 9)
        );
    }

    #[test]
    fn a_repeated_report_of_the_vendor_changes_nothing() {
        let start =
            json!({"input_tokens": 2095, "cache_creation_input_tokens": 2051, "cache_read_input_tokens": 80000});
        let billed = anthropic(&[start.clone(), start]);
        assert_eq!(billed.usage.prompt(), 84_146);
    }

    #[test]
    fn chat_dialects_come_to_the_same() {
        let of = |usage: Value| {
            let mut inclusive = Inclusive::default();
            inclusive.chat(&usage);
            inclusive.billed()
        };
        let expected = Usage::from_inclusive(100, 60, 20);
        let openai = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 15}});
        assert_eq!((of(openai.clone()).usage, of(openai).reasoning), (expected, 15));
        let deepseek = json!({"prompt_tokens": 100, "prompt_cache_hit_tokens": 60, "completion_tokens": 20});
        assert_eq!(of(deepseek).usage, expected);
        let apart = json!({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 15}});
        assert_eq!(of(apart).usage, expected);
        let writing = json!({"prompt_tokens": 100, "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}});
        assert_eq!(
            (of(writing.clone()).usage.fresh, of(writing).usage.cache_write),
            (10, 30)
        );
    }

    #[test]
    fn gemini_counts_thinking_beside_the_answer() {
        let mut usage = Inclusive::default();
        usage.gemini(&json!({"promptTokenCount": 100, "cachedContentTokenCount": 40, "thoughtsTokenCount": 7}));
        assert_eq!(usage.billed().usage.output, 7);
        usage.gemini(&json!({"promptTokenCount": 100, "candidatesTokenCount": 5, "thoughtsTokenCount": 9}));
        assert_eq!(usage.billed().usage, Usage::from_inclusive(100, 40, 14));
        assert_eq!(usage.billed().reasoning, 9);
    }

    #[test]
    fn counts_that_are_no_counts_are_none() {
        let billed = anthropic(&[json!({"input_tokens": -3, "output_tokens": "many", "cache_read_input_tokens": 2.0})]);
        assert_eq!(billed.usage, Usage::from_exclusive(0, 0, 2, 0));
        assert_eq!(anthropic(&[json!(null), json!([1])]), Billed::default());
    }
}
