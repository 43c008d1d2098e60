//! Classification of errors by what can be done about them, from vendors' statuses, codes and messages.

mod count;
mod limit;

use crate::secret::Secrets;
use crate::suspects::is_about_pictures;
use crate::wait::{self, Received};
use codelet_agent::model::{ModelError, Suspects};
use codelet_text::short::clip;
use serde_json::Value;

/// Words about the conversation.
const SAID: &[&str] = &[
    "messages.", "messages[", "messages:", "'messages", "`messages", "input[", "input.", "contents[", "contents.",
    "content policy", "content_policy", "content filter", "content_filter", "content management policy",
    "data_inspection_failed", "usage policy", "usage policies", "safety", "sensitive", "flagged", "prohibited",
    "invalid_prompt", "document", "pdf",
];
/// Words of a filter that has refused what was said, whatever the status or code: a gateway's may answer 403, or an
/// error within a stream.
const FILTERED: &[&str] = &[
    "content policy", "content_policy", "content filter", "content_filter", "usage policy", "usage policies",
    "moderation", "flagged",
];
/// Words about other parts of a request, whose errors do not depend on the conversation.
const SETTINGS: &[&str] = &[
    "model", "tool", "function", "schema", "parameter", "field", "property", "argument", "extra inputs", "max_tokens",
    "max_completion_tokens", "max_output_tokens", "temperature", "thinking", "reasoning", "effort", "stream",
    "api version", "api-version", "header", "account", "organization", "region", "location", "billing",
    "cache_control",
];

/// The maximum length of a quoted vendor message, in bytes.
const LONGEST: usize = 1_000;

/// The maximum length of a quoted web page, in characters.
const LONGEST_PAGE: usize = 200;

/// An error response: a status other than success, or an error event within a stream.
pub(crate) struct Refusal<'a> {
    /// The status; `None` within a stream.
    pub status: Option<u16>,
    /// The reply's headers; `None` within a stream.
    pub headers: Option<&'a Received>,
    /// The body, JSON or not.
    pub body: &'a str,
}

/// Classifies an error response. The result contains no secret.
pub(crate) fn classify(refusal: &Refusal, secrets: &Secrets) -> ModelError {
    let parsed = error_object(refusal.body);
    let words = Words::of(&parsed, refusal);
    let scrub = |text: &str| secrets.scrub(text);
    let said = scrub(&words.said);
    // A document that comes with a success status may name the real one.
    let is_document = refusal.status == Some(200);
    let status = refusal.status.filter(|_| !is_document).or(words.status).unwrap_or(0);
    if let Some(limit) = limit::too_long(status, &words, &parsed) {
        let counted = count::of_prompt(&words.lower, &parsed, limit);
        return ModelError::TooLong { limit, counted, said };
    }
    if let Some(limit) = limit::output(status, &words) {
        return ModelError::OutputLimit { limit, said };
    }
    let retry_after = wait::asked(refusal.headers, &parsed, &words.said);
    if words.is_quota(retry_after.is_some()) {
        return ModelError::Refused { said };
    }
    if status == 401 || words.is_about_the_key() {
        return ModelError::Credentials { said };
    }
    if matches!(status, 408 | 409 | 424 | 425 | 429 | 500..=599) || words.is_passing() {
        return ModelError::Busy { retry_after, said };
    }
    match status {
        0 | 403 if words.says(FILTERED) => ModelError::Rejected {
            said,
            suspects: Suspects::Unknown,
        },
        // The key is known, and may not do this.
        403 => ModelError::Refused { said },
        _ if words.has_code(&["permission_error", "PERMISSION_DENIED"]) => ModelError::Refused { said },
        // Such a document without a code says what is wrong, which the same request meets again.
        0 if is_document && !words.says(SAID) => ModelError::Refused { said },
        // Within a stream there is no status, and the request was accepted: the vendor failed.
        0 if !words.is_bad_request() => ModelError::Busy { retry_after, said },
        _ if words.is_about_what_was_said(status) => ModelError::Rejected {
            said,
            suspects: Suspects::Unknown,
        },
        // It is said of the model.
        _ if words.says(&["does not support tools"]) => ModelError::Refused {
            said: format!("{said} (--no-tools offers it none)"),
        },
        404 => ModelError::Refused {
            said: format!("{said} (check the model name and the API base URL)"),
        },
        _ => ModelError::Refused { said },
    }
}

/// Returns the object that describes the error, wherever the vendor puts it; null if there is none.
fn error_object(body: &str) -> Value {
    let Ok(mut value) = serde_json::from_str::<Value>(body) else {
        return Value::Null;
    };
    // Gemini wraps an error in a list in streaming mode.
    if let Value::Array(items) = &mut value {
        value = items.first_mut().map(Value::take).unwrap_or_default();
    }
    if let Some(response) = value
        .get_mut("response")
        .filter(|response| response["error"].is_object())
    {
        value = response.take();
    }
    match value.get_mut("error") {
        Some(error @ Value::Object(_)) => error.take(),
        _ => value,
    }
}

/// The texts of an error.
struct Words {
    said: String,
    /// Message, code and type in lower case, for searching.
    lower: String,
    /// Code, type and status, unchanged.
    codes: Vec<String>,
    status: Option<u16>,
}

impl Words {
    fn of(error: &Value, refusal: &Refusal) -> Self {
        let text = |name: &str| {
            error
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.trim().is_empty())
        };
        let message = text("message")
            .or_else(|| text("Message"))
            .or_else(|| text("error"))
            .or_else(|| text("detail"))
            .or_else(|| text("msg"));
        // A gateway may wrap its vendor's message.
        let raw = error.get("metadata").and_then(|metadata| metadata.get("raw"));
        let raw = raw.and_then(Value::as_str).filter(|raw| !raw.trim().is_empty());
        // AWS names the kind in a header, followed by a URL.
        let kind = refusal.headers.and_then(|headers| headers.header("x-amzn-errortype"));
        let kind = kind.and_then(|kind| kind.split([':', '#']).next()).map(str::trim);
        let codes: Vec<String> = ["code", "type", "status"]
            .iter()
            .filter_map(|name| text(name))
            .chain(kind.filter(|kind| !kind.is_empty()))
            .map(str::to_owned)
            .collect();
        let body = refusal.body.trim();
        let mut said = match (message, raw) {
            (Some(message), Some(raw)) => format!("{message}: {raw}"),
            (Some(message), None) => message.to_owned(),
            (None, _) if body.starts_with('<') => page(body).unwrap_or_else(|| "no reason was given".to_owned()),
            (None, _) if body.is_empty() => "no reason was given".to_owned(),
            (None, _) => body.to_owned(),
        };
        shorten(&mut said);
        // Some vendors name the location in a separate field.
        let place = text("param").filter(|place| place.contains(['.', '[']) && !said.contains(place));
        if let Some(place) = place {
            said = format!("{said} ({place})");
        }
        // One per line, so that a number among the codes is not read as part of the message.
        let lower = format!("{said}\n{}", codes.join("\n")).to_ascii_lowercase();
        let kind = codes.iter().find(|code| code.chars().any(char::is_alphabetic));
        said = match (refusal.status, kind) {
            (Some(status), Some(kind)) => format!("{said} ({status}, {kind})"),
            (Some(status), None) => format!("{said} ({status})"),
            (None, Some(kind)) => format!("{said} ({kind})"),
            (None, None) => said,
        };
        let number = error.get("code").and_then(|code| match code {
            Value::String(code) => code.parse().ok(),
            code => code.as_u64(),
        });
        Words {
            said,
            lower,
            codes,
            status: number.filter(|code| (100..600).contains(code)).map(|code| code as u16),
        }
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.codes
            .iter()
            .any(|own| codes.iter().any(|code| own.eq_ignore_ascii_case(code)))
    }

    fn says(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.lower.contains(phrase))
    }

    /// Returns whether credit or a quota is exhausted: retrying soon does not help.
    fn is_quota(&self, names_a_wait: bool) -> bool {
        self.has_code(&[
            "insufficient_quota", "billing_error", "billing_hard_limit_reached", "insufficient_balance",
        ]) || self.says(&[
            "insufficient balance", "insufficient credit", "credit balance is too low",
        ]) || (self.says(&["exceeded your current quota", "per day"]) && !names_a_wait)
    }

    fn is_about_the_key(&self) -> bool {
        self.has_code(&[
            "authentication_error",
            "invalid_api_key",
            "UNAUTHENTICATED",
            "UnrecognizedClientException",
            "ExpiredTokenException",
            "InvalidSignatureException",
            "MissingAuthenticationTokenException",
            "IncompleteSignatureException",
        ]) || self.says(&[
            "api key not valid", "api_key_invalid", "api key expired", "incorrect api key",
            // Of AWS, which answers 403.
            "request signature", "signature expired", "signature not yet current", "security token",
        ])
    }

    /// Returns whether the vendor describes it as its own failure, whatever the status.
    fn is_passing(&self) -> bool {
        let codes = [
            "overloaded_error", "api_error", "rate_limit_error", "rate_limit_exceeded", "server_error",
            "timeout_error", "unavailable_error", "internal_server_error", "RESOURCE_EXHAUSTED", "UNAVAILABLE",
            "INTERNAL", "DEADLINE_EXCEEDED", "engine_overloaded_error", "server_overloaded", "slow_down",
        ];
        self.has_code(&codes)
    }

    /// Returns whether it concerns the conversation, so that every later request would be rejected too; some gateways
    /// report a model that does not accept images as not found.
    fn is_about_what_was_said(&self, status: u16) -> bool {
        if is_about_pictures(&self.lower) && matches!(status, 0 | 400 | 404 | 413 | 415 | 422) {
            return true;
        }
        matches!(status, 0 | 400 | 422) && (self.says(SAID) || !self.says(SETTINGS))
    }

    fn is_bad_request(&self) -> bool {
        let codes = [
            "invalid_request_error", "invalid_prompt", "not_found_error", "model_not_found", "INVALID_ARGUMENT",
            "FAILED_PRECONDITION", "NOT_FOUND", "PERMISSION_DENIED",
        ];
        self.has_code(&codes)
    }
}

/// Returns the title of a web page, or else the beginning of its text; `None` if it has neither.
fn page(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|start| {
        let start = start + lower[start..].find('>')? + 1;
        Some(&html[start..start + lower[start..].find("</title")?])
    });
    let plain = |html: &str| {
        let texts = html.split('<').enumerate().map(|(at, piece)| match at {
            0 => piece,
            _ => piece.split_once('>').map_or("", |(_, text)| text),
        });
        let text = texts.collect::<Vec<_>>().join(" ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then(|| clip(&text, LONGEST_PAGE).into_owned())
    };
    title.and_then(plain).or_else(|| plain(html))
}

fn shorten(text: &mut String) {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use proptest::prelude::*;
    use serde_json::json;
    use std::time::Duration;

    pub(super) fn sorted(status: impl Into<Option<u16>>, body: Value) -> ModelError {
        let body = match body {
            Value::String(text) => text,
            body => body.to_string(),
        };
        let refusal = Refusal {
            status: status.into(),
            headers: None,
            body: &body,
        };
        classify(&refusal, &Secrets::default())
    }

    pub(super) fn message(text: &str) -> Value {
        json!({"error": {"type": "invalid_request_error", "message": text}})
    }

    #[test]
    fn what_is_busy_is_busy_with_and_without_a_status() {
        let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "Overloaded"}});
        for (status, body) in [
            (Some(429), error("rate_limit_error")),
            (Some(529), error("overloaded_error")),
            (Some(500), json!("")),
            (Some(502), json!("<html>Bad gateway</html>")),
            (
                Some(503),
                json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
            ),
            (Some(504), json!("upstream timed out")),
            (None, error("overloaded_error")),
            (None, error("api_error")),
            (
                None,
                json!({"error": {"code": 502, "message": "Provider returned error"}}),
            ),
            (
                None,
                json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}}),
            ),
            (
                Some(429),
                json!({"error": {"message": "Rate limit reached: 40000 tokens per min", "code": "rate_limit_exceeded"}}),
            ),
        ] {
            let sorted = sorted(status, body.clone());
            assert!(matches!(sorted, ModelError::Busy { .. }), "{body}: {sorted:?}");
        }
    }

    #[test]
    fn what_a_filter_refuses_is_rejected_whatever_the_status() {
        for (status, body) in [
            (
                Some(403),
                json!({"error": {"code": 403, "message": "m requires moderation. Your input was flagged for \"harassment\"."}}),
            ),
            (
                None,
                json!({"type": "response.failed", "response": {"error": {"code": "cyber_policy",
                    "message": "This content was flagged for possible cybersecurity risk."}}}),
            ),
        ] {
            let sorted = sorted(status, body.clone());
            assert!(matches!(sorted, ModelError::Rejected { .. }), "{body}: {sorted:?}");
        }
    }

    #[test]
    fn a_wait_in_the_body_of_a_gemini_error_is_found() {
        let body = json!([{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED",
            "message": "You exceeded your current quota, please check your plan", "details": [{"retryDelay": "17s"}]}}]);
        match sorted(429, body) {
            ModelError::Busy { retry_after, .. } => assert_eq!(retry_after, Some(Duration::from_secs(17))),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_quota_that_is_used_up_is_not_asked_again() {
        for (status, body) in [
            (
                429,
                json!({"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your current quota"}}),
            ),
            (
                402,
                json!({"error": {"message": "Insufficient Balance", "type": "unknown_error"}}),
            ),
            (
                402,
                json!({"error": {"code": 402, "message": "Insufficient credits. Add more"}}),
            ),
            (
                400,
                message("Your credit balance is too low to access the Anthropic API."),
            ),
        ] {
            assert!(
                matches!(sorted(status, body.clone()), ModelError::Refused { .. }),
                "{body}"
            );
        }
    }

    #[test]
    fn keys_models_and_bad_requests_are_told_apart() {
        let key = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
        assert!(matches!(sorted(401, key), ModelError::Credentials { .. }));
        let gemini = json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}});
        assert!(matches!(sorted(400, gemini), ModelError::Credentials { .. }));
        let expired =
            json!({"__type": "x", "code": "ExpiredTokenException", "message": "The security token has expired"});
        assert!(matches!(sorted(403, expired), ModelError::Credentials { .. }));
        let model = json!({"type": "error", "error": {"type": "permission_error", "message": "Your account may not use this model"}});
        for error in [sorted(403, model.clone()), sorted(None, model), sorted(403, json!(""))] {
            assert!(matches!(error, ModelError::Refused { .. }), "{error:?}");
        }
        let model = json!({"error": {"code": "model_not_found", "message": "The model `gpt-99` does not exist"}});
        match sorted(404, model) {
            ModelError::Refused { said } => assert!(
                said.contains("gpt-99") && said.contains("check the model name"),
                "{said}"
            ),
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            sorted(400, message("tools.0: bad")),
            ModelError::Refused { .. }
        ));
    }

    #[test]
    fn what_is_wrong_with_the_conversation_is_told_from_what_is_wrong_beside_it() {
        for (status, said) in [
            (400, "messages.1.content.1.image: Could not process image"),
            (400, "Invalid 'input[4].content[0].image_url'."),
            (404, "No endpoints found that support image input"),
            (
                400,
                "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            ),
            (400, "Unable to process input image. Please retry or report"),
            (422, "bad request"),
        ] {
            let error = sorted(status, message(said));
            assert!(matches!(error, ModelError::Rejected { .. }), "{said}: {error:?}");
        }
        for (status, said) in [
            (400, "nosuch/one is not a valid model ID"),
            (400, "tools.3.custom.input_schema: JSON schema is invalid"),
            (400, "Unsupported parameter: 'reasoning_effort'"),
            (404, "no such page"),
            (402, "pay first"),
        ] {
            let error = sorted(status, message(said));
            assert!(matches!(error, ModelError::Refused { .. }), "{said}: {error:?}");
        }
        let named =
            json!({"error": {"message": "Invalid value.", "param": "messages[3].content[0]", "code": "invalid_value"}});
        assert!(sorted(400, named).to_string().contains("messages[3].content[0]"));
    }

    #[test]
    fn what_azure_and_vertex_say_is_sorted_as_their_makers_words_are() {
        let azure = |code: &str, message: &str| json!({"error": {"code": code, "message": message}});
        let vertex = |code: u16, status: &str, message: &str| json!({"error": {"code": code, "message": message, "status": status}});
        for (status, body, kind) in [
            (
                429,
                azure(
                    "429",
                    "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 26 seconds.",
                ),
                "Busy",
            ),
            (
                404,
                azure(
                    "DeploymentNotFound",
                    "The API deployment for this resource does not exist.",
                ),
                "Refused",
            ),
            (
                401,
                azure(
                    "401",
                    "Access denied due to invalid subscription key or wrong API endpoint.",
                ),
                "Credentials",
            ),
            (
                400,
                azure(
                    "content_filter",
                    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
                ),
                "Rejected",
            ),
            (
                400,
                azure(
                    "context_length_exceeded",
                    "This model's maximum context length is 128000 tokens.",
                ),
                "TooLong",
            ),
            (
                429,
                vertex(
                    429,
                    "RESOURCE_EXHAUSTED",
                    "Quota exceeded for aiplatform.googleapis.com/online_prediction_input_tokens_per_minute_per_base_model with base model: anthropic-claude-opus-5-5. Please submit a quota increase request.",
                ),
                "Busy",
            ),
            (
                403,
                vertex(
                    403,
                    "PERMISSION_DENIED",
                    "Permission 'aiplatform.endpoints.predict' denied on resource",
                ),
                "Refused",
            ),
            (
                404,
                vertex(
                    404,
                    "NOT_FOUND",
                    "Publisher Model `projects/p/locations/l/publishers/anthropic/models/m` was not found or your project does not have access to it.",
                ),
                "Refused",
            ),
            (
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 209131 tokens > 200000 maximum"}}),
                "TooLong",
            ),
            (
                503,
                vertex(503, "UNAVAILABLE", "The service is currently unavailable."),
                "Busy",
            ),
        ] {
            let error = format!("{:?}", sorted(status, body.clone()));
            assert!(error.starts_with(kind), "{body}: {error}");
        }
    }

    #[test]
    fn the_words_of_a_web_page_are_shown_without_its_tags() {
        for (body, expected) in [
            ("<html><body><h1>400 Bad Request</h1></body></html>", "400 Bad Request"),
            (
                "<!DOCTYPE html><html><head><TITLE lang=en>Not\nallowed</TITLE></head><body>x</body>",
                "Not allowed",
            ),
            ("<html><", "no reason was given"),
        ] {
            let error = sorted(400, json!(body)).to_string();
            assert!(error.contains(expected) && !error.contains('<'), "{error}");
        }
        let page = format!("<p>{}", "ü ".repeat(2_000));
        assert!(sorted(400, json!(page)).to_string().len() < 700);
    }

    #[test]
    fn a_model_without_tools_can_be_used_without_them() {
        let error = sorted(
            400,
            json!({"error": "registry.ollama.ai/library/gemma:2b does not support tools"}),
        );
        assert!(
            matches!(&error, ModelError::Refused { said } if said.contains("--no-tools")),
            "{error:?}"
        );
    }

    #[test]
    fn the_key_is_in_no_error() {
        let key = Secret::new("sk-ant-0123456789abcdefghijklmnopqrstuvwxyz");
        let secrets = Secrets::of(Some(&key), [&"https://gate.example".parse().unwrap()]);
        let body = format!("{{\"error\":{{\"message\":\"no such key {}\"}}}}", key.reveal());
        for status in [400, 401, 403, 404, 413, 429, 500] {
            let refusal = Refusal {
                status: Some(status),
                headers: None,
                body: &body,
            };
            let error = classify(&refusal, &secrets);
            assert!(!format!("{error:?} {error}").contains("0123456789"), "{error:?}");
        }
    }

    #[test]
    fn a_page_of_words_is_cut() {
        match sorted(400, message(&"é".repeat(10_000))) {
            ModelError::Rejected { said, .. } => assert!(said.len() < 1_100),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(body in "\\PC{0,80}", status in 0u16..700, words in "(prompt is too long|maximum context length is|tokens allowed| > )[ (0-9,_]{0,12}\\PC{0,10}") {
            let _ = sorted(Some(status), json!(body.clone()));
            let _ = sorted(None, message(&words));
            let _ = sorted(Some(status), json!({"error": {"message": words, "code": body}}));
        }
    }
}
