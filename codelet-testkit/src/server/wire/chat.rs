//! OpenAI Chat Completions, with `reasoning_content` as used by compatible vendors.

use super::{Envelope, Frame, Wire};
use crate::server::fault::Trouble;
use crate::server::script::{Reply, Said, Stop, fragments};
use crate::server::view::{Message, Part, Speaker, View, arguments, list, string, texts};
use serde_json::{Value, json};

/// The creation time of every reply, in seconds since 1970, so that replies are the same in each run.
pub(super) const CREATED: u64 = 1_763_769_600;

pub(super) fn view(body: &Value) -> View {
    let messages = list(&body["messages"]);
    let of_system = |message: &&Value| matches!(message["role"].as_str(), Some("system" | "developer"));
    View {
        model: string(body, "model"),
        streams: body["stream"] == true,
        max_output: body["max_completion_tokens"].as_u64().or(body["max_tokens"].as_u64()),
        system: messages
            .iter()
            .filter(of_system)
            .map(|message| texts(&message["content"]))
            .collect(),
        tools: list(&body["tools"])
            .iter()
            .map(|tool| string(&tool["function"], "name"))
            .collect(),
        messages: messages.iter().map(message).collect(),
    }
}

fn message(message: &Value) -> Message {
    let speaker = match message["role"].as_str() {
        Some("assistant") => Speaker::Assistant,
        Some("system" | "developer") => Speaker::System,
        _ => Speaker::User,
    };
    if message["role"] == "tool" {
        let result = Part::Result {
            call: string(message, "tool_call_id"),
            output: texts(&message["content"]),
            failed: false,
        };
        return Message {
            speaker,
            parts: vec![result],
        };
    }
    let mut parts = Vec::new();
    if let Some(text) = message["reasoning_content"].as_str() {
        parts.push(Part::Thinking {
            text: text.to_owned(),
            signature: None,
        });
    }
    match &message["content"] {
        Value::String(text) => parts.push(Part::Text(text.clone())),
        content => parts.extend(list(content).iter().map(|block| match block["text"].as_str() {
            Some(text) => Part::Text(text.to_owned()),
            None => Part::Other(block.clone()),
        })),
    }
    parts.extend(list(&message["tool_calls"]).iter().map(|call| Part::Call {
        id: string(call, "id"),
        tool: string(&call["function"], "name"),
        parameters: arguments(&call["function"]["arguments"]),
        signature: None,
    }));
    Message { speaker, parts }
}

pub(super) fn frames(reply: &Reply, envelope: &Envelope) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut push = |kind: &str, delta: Value| frames.push(Frame::plain(kind, chunk(envelope, delta, Value::Null)));
    let content = match reply.parts.iter().any(|said| matches!(said, Said::Text(_))) {
        true => json!(""),
        false => Value::Null,
    };
    push(
        "role",
        json!({ "role": "assistant", "content": content, "refusal": null }),
    );
    let mut calls = 0;
    for (index, said) in reply.parts.iter().enumerate() {
        match said {
            Said::Text(text) => {
                let key = if reply.stop == Stop::Refusal {
                    "refusal"
                } else {
                    "content"
                };
                for piece in fragments(text, reply.fragment) {
                    push(key, json!({ key: piece }));
                }
            }
            Said::Thinking(text) => {
                for piece in fragments(text, reply.fragment) {
                    push("reasoning_content", json!({ "reasoning_content": piece }));
                }
            }
            Said::Redacted | Said::Own(_) => {}
            Said::Call { tool, arguments, .. } => {
                let id = envelope.call_id(Wire::Chat, index, said);
                let function = json!({ "name": tool, "arguments": "" });
                push(
                    "tool_call",
                    json!({ "tool_calls": [{ "index": calls, "id": id, "type": "function", "function": function }] }),
                );
                for piece in fragments(arguments, reply.fragment) {
                    push(
                        "tool_call arguments",
                        json!({ "tool_calls": [{ "index": calls, "function": { "arguments": piece } }] }),
                    );
                }
                calls += 1;
            }
        }
    }
    frames.push(Frame::plain(
        "finish_reason",
        chunk(envelope, json!({}), finish_reason(reply).into()),
    ));
    if envelope.wants_usage {
        let mut last = chunk(envelope, json!({}), Value::Null);
        last["choices"] = json!([]);
        last["usage"] = usage(envelope);
        frames.push(Frame::plain("usage", last));
    }
    frames.push(Frame::plain("[DONE]", "[DONE]"));
    frames
}

fn chunk(envelope: &Envelope, delta: Value, finish: Value) -> Value {
    let mut chunk = json!({
        "id": envelope.id("chatcmpl-", 0), "object": "chat.completion.chunk", "created": CREATED,
        "model": envelope.model, "service_tier": "default", "system_fingerprint": "fp_560af6e559",
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }],
    });
    if envelope.wants_usage {
        chunk["usage"] = Value::Null;
    }
    chunk
}

pub(super) fn whole(reply: &Reply, envelope: &Envelope) -> Value {
    let mut message = json!({ "role": "assistant", "content": null, "refusal": null });
    let mut calls = Vec::new();
    for (index, said) in reply.parts.iter().enumerate() {
        let (key, text) = match said {
            Said::Text(text) if reply.stop == Stop::Refusal => ("refusal", text),
            Said::Text(text) => ("content", text),
            Said::Thinking(text) => ("reasoning_content", text),
            Said::Redacted | Said::Own(_) => continue,
            Said::Call { tool, arguments, .. } => {
                calls.push(json!({
                    "id": envelope.call_id(Wire::Chat, index, said), "type": "function",
                    "function": { "name": tool, "arguments": arguments },
                }));
                continue;
            }
        };
        let before = string(&message, key);
        message[key] = format!("{before}{text}").into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": envelope.id("chatcmpl-", 0), "object": "chat.completion", "created": CREATED, "model": envelope.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply) }],
        "usage": usage(envelope), "service_tier": "default", "system_fingerprint": "fp_560af6e559",
    })
}

fn finish_reason(reply: &Reply) -> &'static str {
    match reply.stop {
        Stop::Length | Stop::WindowFull => "length",
        Stop::Complete | Stop::Pause if reply.parts.iter().any(|said| matches!(said, Said::Call { .. })) => {
            "tool_calls"
        }
        Stop::Complete | Stop::Pause | Stop::Refusal => "stop",
    }
}

fn usage(envelope: &Envelope) -> Value {
    let usage = envelope.usage;
    let mut prompt = json!({ "cached_tokens": usage.cache_read, "audio_tokens": 0 });
    if usage.cache_write() > 0 {
        prompt["cache_write_tokens"] = usage.cache_write().into();
    }
    json!({
        "prompt_tokens": usage.prompt(), "completion_tokens": usage.output,
        "total_tokens": usage.prompt() + usage.output,
        "prompt_tokens_details": prompt,
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}

pub(super) fn trouble(trouble: Trouble) -> Frame {
    let (message, kind, code) = match trouble {
        Trouble::Overloaded => (OVERLOADED, "server_error", json!("server_is_overloaded")),
        Trouble::Internal => (INTERNAL, "server_error", Value::Null),
        Trouble::RateLimited => (
            "Rate limit reached. Please try again in 20s.",
            "tokens",
            json!("rate_limit_exceeded"),
        ),
        Trouble::TooLong => (TOO_LONG, "invalid_request_error", json!("context_length_exceeded")),
    };
    let error = json!({ "message": message, "type": kind, "param": null, "code": code });
    Frame::plain("error", json!({ "error": error }))
}

pub(super) const OVERLOADED: &str = "Our servers are currently overloaded. Please try again later.";
pub(super) const INTERNAL: &str = "The server had an error while processing your request. Sorry about that!";
pub(super) const TOO_LONG: &str =
    "Your input exceeds the context window of this model. Please adjust your input and try again.";

pub(super) fn refusal(status: u16, model: &str, says: Option<&str>) -> Value {
    let not_found = format!("The model `{model}` does not exist or you do not have access to it.");
    let rate = format!(
        "Rate limit reached for {model} in organization org-x on tokens per min (TPM): Limit 30000, Used 29500, Requested 1200."
    );
    let (usual, kind, code) = match status {
        400 => ("Invalid request.", "invalid_request_error", Value::Null),
        401 => (
            "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
            "invalid_request_error",
            json!("invalid_api_key"),
        ),
        403 => (
            "Country, region, or territory not supported",
            "request_forbidden",
            json!("unsupported_country_region_territory"),
        ),
        404 => (not_found.as_str(), "invalid_request_error", json!("model_not_found")),
        429 => (rate.as_str(), "tokens", json!("rate_limit_exceeded")),
        503 | 529 => (OVERLOADED, "server_error", json!("server_is_overloaded")),
        _ => (INTERNAL, "server_error", Value::Null),
    };
    json!({ "error": { "message": says.unwrap_or(usual), "type": kind, "param": null, "code": code } })
}
