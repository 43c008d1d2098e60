//! Limits that a request exceeded, parsed from messages of vendors and self-hosted servers.

use super::Words;
use crate::suspects::is_about_pictures;
use codelet_context::tokens::Tokens;
use serde_json::Value;

/// The plausible range of a context window, in tokens.
pub(super) const WINDOWS: std::ops::RangeInclusive<Tokens> = 64..=1_000_000_000;

/// Words used only for a request that is too long for the model.
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the context window",
    "context window exceed",
    "context_length_exceeded",
    "exceeds the maximum number of tokens allowed",
    "exceeds the available context size",
    "exceed_context_size_error",
    "configured context size is",
    "context length is only",
    "maximum prompt length",
    "exceeded model token limit",
    "input is too long",
    "input length exceeds the context length",
    "range of input length should be",
    "greater than the context length",
    "reduce the length of the messages",
    "too many tokens: size limit",
    "long context request",
    "string_above_max_length",
    "request_too_large",
    "request entity too large",
    "too large for model with",
    "exceeds max length",
    "exceed max length",
    "context_overflow",
    "context overflow",
    "context_window_exceeded",
    "prompt_too_long",
    "prompt_tokens_exceeded",
    "prompt token count of",
    "context size has been exceeded",
    "context length of only",
    "longer than the maximum model length",
    "longer than the model's context length",
    "maximum allowed input length",
    "`inputs` tokens + `max_new_tokens` must be",
    "`inputs` must have less than",
];
/// Error numbers with the same meaning, whatever the message: Z.AI's for a prompt that exceeds the maximum.
const TOO_LONG_CODES: [u64; 1] = [1261];

/// Words before the limit.
const BEFORE_LIMIT: &[&str] = &[
    "maximum context length is",
    "maximum context length of",
    "tokens allowed",
    "available context size",
    "configured context size is",
    "maximum prompt length is",
    "exceeded model token limit:",
    "context length of only",
    "context length of",
    "context length is only",
    "context window of",
    "range of input length should be [1,",
    "too large for model with",
    "tokens per min (tpm): limit",
    "context length:",
    "while limit is",
    "maximum model length of",
    "model's context length",
    "maximum allowed input length of",
    "exceeds the limit of",
    "configured limit of",
    "`max_new_tokens` must be <=",
    "`inputs` must have less than",
];

/// Returns whether a request was too long, and the limit, if the response contains it.
pub(super) fn too_long(status: u16, words: &Words, error: &Value) -> Option<Option<Tokens>> {
    // A single request above a rate limit never passes, however long one waits.
    let is_above_rate = words.lower.contains("request too large") && words.lower.contains("tokens per min");
    if is_above_rate {
        return Some(limit_in(&words.lower));
    }
    if matches!(status, 401 | 403) {
        return None;
    }
    let code = error.get("code").and_then(|code| match code {
        Value::String(code) => code.parse().ok(),
        code => code.as_u64(),
    });
    let is_coded = code.is_some_and(|code| TOO_LONG_CODES.contains(&code));
    // Of a single picture that is too large, a server may say the same.
    let is_by_status = status == 413 && !is_about_pictures(&words.lower);
    if !is_by_status && !is_coded && !words.says(TOO_LONG) {
        return None;
    }
    // A limit on tokens per minute has the same words as one on tokens per request.
    if status == 429 && words.says(&["per minute", "per min"]) {
        return None;
    }
    let field = ["n_ctx", "context_length", "max_context_length"]
        .iter()
        .find_map(|name| error.get(name)?.as_u64());
    Some(
        field
            .filter(|limit| WINDOWS.contains(limit))
            .or_else(|| limit_in(&words.lower)),
    )
}

/// Names of the output limit in requests and error messages.
const OUTPUT: &[&str] = &[
    "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxoutputtokens", "max tokens",
    "maximum tokens", "output tokens", "completion tokens",
];
/// Words before the output limit; the first match counts.
const BEFORE_OUTPUT: &[&str] = &[
    "supports at most", "at most", "less than or equal to", "<=", "[1,", "(inclusive) to", "range from 1 to",
    "between 1 and", "model limit of", "limit of", "maximum value of", "maximum of", "maximum is",
    "maximum allowed is", "limit is", "lower than", "must be less than", "cannot exceed", "must not exceed",
    "exceeds the maximum", " > ",
];
/// Words for a request of too much output, without a limit after them.
const ASKS_TOO_MUCH: &[&str] = &[
    "too large", "too high", "too big", "above the maximum", "above maximum", "above_max", "exceed",
    "greater than the maximum", "maximum allowed",
];

/// Returns whether a request asked for more output than the model supports, and the limit, if the response contains it.
/// For errors that are not [too long](too_long) themselves.
pub(super) fn output(status: u16, words: &Words) -> Option<Option<Tokens>> {
    // Rate limits and vendor failures do not concern a single request.
    if !matches!(status, 0 | 400 | 413 | 422) || words.says(&["rate limit", "rate_limit", "per min", "quota"]) {
        return None;
    }
    let lower = &words.lower;
    words.says(OUTPUT).then_some(())?;
    let named = BEFORE_OUTPUT.iter().find_map(|phrase| {
        let at = lower.find(phrase)? + phrase.len();
        let rest = lower[at..].trim_start_matches([' ', '`', '\'', '"', '(', ':', '=']);
        let limit = number(rest).filter(|limit| WINDOWS.contains(limit))?;
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '_'))
            .unwrap_or(rest.len());
        let is_outside = rest[digits..].trim_start().starts_with("(exclusive)")
            || matches!(*phrase, "must be less than" | "lower than");
        Some(limit - Tokens::from(is_outside))
    });
    match named {
        Some(limit) => Some(Some(limit)),
        None => words.says(ASKS_TOO_MUCH).then_some(None),
    }
}

fn limit_in(lower: &str) -> Option<Tokens> {
    let after = |phrase: &str| {
        let at = lower.find(phrase)? + phrase.len();
        number(lower[at..].trim_start_matches([' ', '(', ':', '=']))
    };
    // `213462 tokens > 200000 maximum`, `188240 + 21333 > 200000`
    let greater = || number(lower.split_once(" > ")?.1.trim_start());
    BEFORE_LIMIT
        .iter()
        .find_map(|phrase| after(phrase))
        .or_else(greater)
        .filter(|limit| WINDOWS.contains(limit))
}

/// Parses the number at the beginning of a text, with thousands separators.
pub(super) fn number(text: &str) -> Option<Tokens> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '_'))
        .unwrap_or(text.len());
    let digits: String = text[..end].chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::error_kind::tests::{message, sorted};
    use codelet_agent::model::ModelError;
    use serde_json::json;

    #[test]
    fn a_request_that_is_too_long_tells_the_limit_in_every_vendors_words() {
        for (status, body, expected) in [
            (
                400,
                message("prompt is too long: 213462 tokens > 200000 maximum"),
                Some(200_000),
            ),
            (
                400,
                message(
                    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
                ),
                Some(200_000),
            ),
            (
                413,
                json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
                None,
            ),
            (
                400,
                json!({"error": {"code": "context_length_exceeded", "message": "This model's maximum context length is 128,000 tokens. However, your messages resulted in 140000 tokens."}}),
                Some(128_000),
            ),
            (
                400,
                json!({"error": {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model. Please adjust your input and try again."}}),
                None,
            ),
            (
                400,
                json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}),
                Some(1_048_576),
            ),
            (
                400,
                json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "request (40030 tokens) exceeds the available context size (16384 tokens), try increasing it", "n_prompt_tokens": 40030, "n_ctx": 16384}}),
                Some(16_384),
            ),
            (
                400,
                json!({"error": {"code": 400, "message": "This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens"}}),
                Some(163_840),
            ),
            (
                400,
                message("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
                Some(131_072),
            ),
            (
                400,
                message("Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)"),
                Some(262_144),
            ),
            (413, json!("<html>Payload Too Large</html>"), None),
            (
                400,
                json!({"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
                None,
            ),
            (400, json!({"error": {"code": 1261, "message": "提示词超长"}}), None),
            (
                400,
                json!({"error": {"type": "context_overflow", "message": "The request does not fit"}}),
                None,
            ),
            (400, message("model_context_window_exceeded"), None),
            (
                429,
                message(
                    "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 41000.",
                ),
                Some(30_000),
            ),
        ] {
            match sorted(status, body.clone()) {
                ModelError::TooLong { limit, .. } => assert_eq!(limit, expected, "{body}"),
                other => panic!("{body}: {other:?}"),
            }
        }
    }

    /// Messages of servers about a request that does not fit, with the status and the limit that they contain.
    #[test]
    fn what_self_hosted_servers_say_of_a_prompt_that_is_too_long_is_known() {
        for (status, said, expected) in [
            (500, "Context size has been exceeded.", None),
            (400, "prompt too long; exceeded max context length by 4 tokens", None),
            (
                400,
                "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
                Some(8_192),
            ),
            (
                400,
                "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of \
                 only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input",
                Some(4_096),
            ),
            (
                400,
                "prompt token count of 140000 exceeds the limit of 8192",
                Some(8_192),
            ),
            (
                400,
                "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 8192]",
                Some(8_192),
            ),
            (
                422,
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 1000 \
                 `max_new_tokens`",
                Some(8_193),
            ),
            (
                422,
                "Input validation error: `inputs` must have less than 4095 tokens. Given: 5012",
                Some(4_095),
            ),
            (400, "Prompt exceeds max length", None),
            (
                400,
                "decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that max_model_len is no \
                 smaller than the number of text tokens.",
                Some(8_192),
            ),
            (
                400,
                "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
                Some(131_040),
            ),
            (
                400,
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce \
                 the length of the messages.",
                Some(272_000),
            ),
            (
                400,
                "Prompt has 32,769 tokens, but the configured context size is 32,768 tokens",
                Some(32_768),
            ),
            (
                400,
                "Prompt too long: 9000 tokens exceeds max context window of 8192 tokens",
                Some(8_192),
            ),
            (
                400,
                "You passed 8193 input tokens and requested 0 output tokens. However, the model's context length is only 8192 tokens",
                Some(8_192),
            ),
            (
                400,
                "The prompt is too long: 9000, model maximum context length: 8192",
                Some(8_192),
            ),
            (400, "invalid params, context window exceeds limit (2013)", None),
            (
                400,
                "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.",
                None,
            ),
            (400, "Prompt too long for this model", None),
            (400, "model_context_window_exceeded", None),
        ] {
            for (status, body) in [
                (
                    Some(status),
                    json!({"error": {"message": said, "type": "server_error", "code": status}}),
                ),
                (Some(status), json!({"error": said})),
                (Some(status), json!({"detail": said})),
                (None, json!({"error": {"message": said, "type": "server_error"}})),
            ] {
                match sorted(status, body.clone()) {
                    ModelError::TooLong { limit, .. } => assert_eq!(limit, expected, "{body}"),
                    other => panic!("{body}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_picture_that_is_too_large_does_not_make_the_conversation_too_long() {
        let whole = json!({"error": {"message": "Request Entity Too Large: prompt and images"}});
        assert!(matches!(sorted(413, whole), ModelError::TooLong { .. }));
        let picture = message("messages.0.content.1: image exceeds 5 MB maximum");
        assert!(matches!(sorted(413, picture), ModelError::Rejected { .. }));
    }

    #[test]
    fn a_number_among_the_codes_is_no_limit() {
        let body = json!({"error": {"code": "1261", "message": "Prompt exceeds max length"}});
        match sorted(400, body) {
            ModelError::TooLong { limit, .. } => assert_eq!(limit, None),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_speaks_of_other_limits_is_not_too_long() {
        for (status, said) in [
            (
                429,
                "Rate limit reached for model on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.",
            ),
            (
                429,
                "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
            ),
            (429, "Number of request tokens has exceeded your per-minute rate limit"),
            (429, "Too many tokens, please wait before trying again."),
            (429, "Quota exceeded for input token count, limit: 250000"),
            (429, "You have exceeded the daily limit of prompt tokens"),
            (
                400,
                "max_tokens is too large: 32000. This model supports at most 4096 completion tokens, whereas you provided 32000.",
            ),
            (
                400,
                "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for this model",
            ),
            (400, "`max_tokens` must be greater than `thinking.budget_tokens`"),
            (
                400,
                "messages.0.content.1: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
            ),
            (
                400,
                "The file in the prompt is too large: it exceeds the length of 10 pages",
            ),
            (400, "tools.3.name: the name is longer than 64"),
            (
                400,
                "Invalid 'messages[3].name': string too long. Expected a string with maximum length 64",
            ),
            (
                400,
                "Invalid 'tools': array too long. Expected an array with maximum length 128",
            ),
            (400, "messages: at least one message is required"),
            (
                400,
                "A maximum of 4 blocks with cache_control may be provided. Found 5.",
            ),
            (500, "context deadline exceeded"),
            (500, "the operation exceeded its time in this context"),
            (503, "the input queue is too long"),
            (400, "Your access token has exceeded its lifetime: input a new one"),
            (400, "The conversation exceeds what the policy of content allows"),
            (400, "unsupported parameter: context_length"),
        ] {
            let sorted = sorted(status, json!({"error": {"message": said}}));
            assert!(!matches!(sorted, ModelError::TooLong { .. }), "{said}: {sorted:?}");
        }
    }

    #[test]
    fn an_answer_that_is_asked_to_be_too_long_tells_how_long_it_may_be() {
        for (said, expected) in [
            (
                "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307",
                Some(4_096),
            ),
            (
                "max_tokens is too large: 32000. This model supports at most 4096 completion tokens, whereas you provided 32000.",
                Some(4_096),
            ),
            (
                "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
                Some(8_192),
            ),
            (
                "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]",
                Some(8_192),
            ),
            (
                "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 \
                 (inclusive) to 8193 (exclusive). Update the value and try again.",
                Some(8_192),
            ),
            (
                "`max_tokens` must be less than or equal to `8,192`, the maximum value for `max_tokens` is less than the \
                 `context_window` for this model",
                Some(8_192),
            ),
            (
                "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is \
                 lower than 4096.",
                Some(4_096),
            ),
            (
                "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 16384, but got 32000 instead.",
                Some(16_384),
            ),
            ("max_completion_tokens cannot exceed 8192", Some(8_192)),
            ("max_tokens is too large for this model", None),
            ("max_output_tokens exceeds what this deployment allows", None),
        ] {
            for status in [Some(400), Some(422), None] {
                let body = json!({"error": {"type": "invalid_request_error", "message": said, "param": "max_tokens"}});
                match sorted(status, body) {
                    ModelError::OutputLimit { limit, .. } => assert_eq!(limit, expected, "{said}"),
                    other => panic!("{said}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn what_else_is_said_of_the_length_of_an_answer_is_no_limit_of_it() {
        for (status, said) in [
            (400, "`max_tokens` must be greater than `thinking.budget_tokens`"),
            (
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            ),
            (400, "max_tokens: must be at least 1"),
            (
                400,
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`",
            ),
            (
                400,
                "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 8192 tokens and \
                 your request has 1400 input tokens (32000 > 8192 - 1400).",
            ),
            (
                429,
                "This request would exceed the rate limit of 8,000 output tokens per minute",
            ),
            (500, "max_tokens could not be read: at most 100 requests run at once"),
            (400, "temperature: 3 > 2, which is the maximum"),
        ] {
            let sorted = sorted(status, message(said));
            assert!(!matches!(sorted, ModelError::OutputLimit { .. }), "{said}: {sorted:?}");
        }
    }
}
