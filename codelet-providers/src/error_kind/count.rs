//! The token count of a prompt, parsed from messages that reject it as too long.

use super::limit::{WINDOWS, number};
use codelet_context::tokens::Tokens;
use serde_json::Value;

/// Error fields that contain the count.
const FIELDS: &[&str] = &["n_prompt_tokens", "prompt_tokens", "input_tokens"];

/// Words directly after the count.
const BEHIND: &[&str] = &[
    "tokens in the messages", "tokens in your messages", "tokens in the prompt", "tokens in your prompt",
    "in the messages", "in your messages", "in the prompt", "in your prompt", "of text input", "in the input",
    "of the input", "input tokens", "prompt tokens", "`inputs` tokens", "tokens from the input", "tokens > ",
];

/// Words directly before the count.
const BEFORE: &[&str] = &[
    "messages resulted in",
    "input resulted in",
    "prompt resulted in",
    "input token count of",
    "input token count",
    "prompt token count of",
    "prompt token count",
    "the request contains",
    "prompt contains",
    "prompt has",
    "input has",
    "input length",
    "the input",
    "the prompt",
    "decoder prompt (length",
    "prompt too long:",
    "prompt is too long:",
    "context limit:",
    "context size of the request is",
    "request (",
];

/// Returns the count of the prompt, without the requested output; `None` if only their sum is reported. `limit` is the
/// exceeded limit, which is not a count.
pub(super) fn of_prompt(lower: &str, error: &Value, limit: Option<Tokens>) -> Option<Tokens> {
    let is_count = |count: &Tokens| WINDOWS.contains(count) && Some(*count) != limit;
    FIELDS
        .iter()
        .find_map(|name| error.get(name)?.as_u64())
        .filter(is_count)
        .or_else(|| {
            BEHIND
                .iter()
                .find_map(|phrase| ending_before(lower, phrase))
                .filter(is_count)
        })
        .or_else(|| {
            BEFORE
                .iter()
                .find_map(|phrase| beginning_after(lower, phrase))
                .filter(is_count)
        })
}

/// Returns the number directly before these words.
fn ending_before(lower: &str, phrase: &str) -> Option<Tokens> {
    lower.match_indices(phrase).find_map(|(at, _)| {
        let head = lower[..at].trim_end();
        let head = head.strip_suffix("tokens").unwrap_or(head).trim_end();
        let begin = head
            .rfind(|c: char| !is_of_number(c))
            .map_or(0, |last| last + head[last..].chars().next().map_or(1, char::len_utf8));
        number(&head[begin..])
    })
}

/// Returns the number directly after these words, with or without brackets, if its unit is tokens or missing.
fn beginning_after(lower: &str, phrase: &str) -> Option<Tokens> {
    lower.match_indices(phrase).find_map(|(at, _)| {
        let rest = lower[at + phrase.len()..].trim_start_matches([' ', '(', ':', '=']);
        let rest = rest.strip_prefix("of ").unwrap_or(rest);
        let count = number(rest)?;
        let behind = rest.trim_start_matches(is_of_number);
        if rest[..rest.len() - behind.len()].ends_with(',') {
            // The sentence continues with something else.
            return Some(count);
        }
        let behind = behind.trim_start();
        // A word for another unit, or for the output that is included.
        let is_of_tokens = behind.starts_with("token") || !behind.starts_with(|c: char| c.is_alphabetic() || c == '%');
        let is_told = is_of_tokens || ["exceed", "is ", "but "].iter().any(|word| behind.starts_with(word));
        is_told.then_some(count)
    })
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ',' | '_')
}

#[cfg(test)]
mod tests {
    use crate::error_kind::tests::{message, sorted};
    use codelet_agent::model::ModelError;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn counted(body: Value) -> Option<u64> {
        match sorted(400, body.clone()) {
            ModelError::TooLong { counted, .. } => counted,
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn the_count_of_the_prompt_is_told_in_many_words() {
        for (said, expected) in [
            ("prompt is too long: 213462 tokens > 200000 maximum", Some(213_462)),
            ("prompt is too long: 205,000 tokens > 200,000 maximum", Some(205_000)),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
                Some(188_240),
            ),
            (
                "This model's maximum context length is 131072 tokens. However, you requested 134694 tokens (102694 in the messages, \
                 32000 in the completion). Please reduce the length of the messages or completion.",
                Some(102_694),
            ),
            (
                "This endpoint's maximum context length is 131072 tokens. However, you requested about 134694 tokens (102694 of text \
                 input, 32000 in the output).",
                Some(102_694),
            ),
            (
                "This model's maximum context length is 128,000 tokens. However, your messages resulted in 140,000 tokens.",
                Some(140_000),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_200_000),
            ),
            (
                "request (40030 tokens) exceeds the available context size (16384 tokens), try increasing it",
                Some(40_030),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
                Some(537_812),
            ),
            (
                "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
                Some(9_000),
            ),
            ("prompt token count of 140000 exceeds the limit of 8192", Some(140_000)),
            (
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 1000 \
                 `max_new_tokens`",
                Some(9_000),
            ),
            (
                "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
                Some(131_393),
            ),
            (
                "Prompt has 32,769 tokens, but the configured context size is 32,768 tokens",
                Some(32_769),
            ),
            (
                "You passed 8193 input tokens and requested 0 output tokens. However, the model's context length is only 8192 tokens",
                Some(8_193),
            ),
            (
                "'max_tokens' is too large: 32000. This model's maximum context length is 8192 tokens and your request has 1400 input \
                 tokens (32000 > 8192 - 1400).",
                Some(1_400),
            ),
            (
                "Prompt contains 65536 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                Some(65_536),
            ),
            (
                "The prompt is too long: 9000, model maximum context length: 8192",
                Some(9_000),
            ),
        ] {
            assert_eq!(counted(message(said)), expected, "{said}");
            assert_eq!(counted(json!({"error": said})), expected, "{said}");
        }
        let llama = json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the available context size", "n_prompt_tokens": 40030, "n_ctx": 16384}});
        assert_eq!(counted(llama), Some(40_030));
    }

    #[test]
    fn what_counts_the_answer_in_or_counts_something_else_is_no_count_of_the_prompt() {
        for said in [
            "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
            "This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens",
            "prompt too long; exceeded max context length by 4 tokens",
            "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.",
            "Range of input length should be [1, 8192]",
            "Your input exceeds the context window of this model.",
            "Prompt exceeds max length",
            "invalid params, context window exceeds limit (2013)",
        ] {
            assert_eq!(counted(message(said)), None, "{said}");
        }
    }

    proptest! {
        #[test]
        fn the_count_is_told_from_the_limit(
            count in 1_000u64..2_000_000,
            limit in 1_000u64..1_000_000,
            given in "(The prompt|The input|Prompt token count|Input length|The request)",
            exceeds in "(exceeds|is longer than|is larger than)",
            bound in "(the context limit of|a maximum context window of|the maximum context length of)",
        ) {
            prop_assume!(count != limit);
            let said = format!("{given} ({count} tokens) {exceeds} {bound} {limit} tokens");
            if let ModelError::TooLong { counted, .. } = sorted(400, message(&said)) {
                prop_assert_eq!(counted, Some(count), "{}", said);
            }
        }
    }
}
