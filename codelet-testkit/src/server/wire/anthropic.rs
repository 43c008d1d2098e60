//! Anthropic Messages.

use super::{Dialect, Envelope, Frame, UNSEEN, Wire};
use crate::server::fault::Trouble;
use crate::server::script::{Reply, Said, Stop, fragments};
use crate::server::view::{Message, Part, Speaker, View, list, string, texts};
use serde_json::{Value, json};

pub(super) fn view(body: &Value) -> View {
    View {
        model: string(body, "model"),
        streams: body["stream"] == true,
        max_output: body["max_tokens"].as_u64(),
        system: match &body["system"] {
            Value::Array(blocks) => blocks.iter().map(|block| string(block, "text")).collect(),
            Value::String(text) => vec![text.clone()],
            _ => Vec::new(),
        },
        tools: list(&body["tools"]).iter().map(|tool| string(tool, "name")).collect(),
        messages: list(&body["messages"]).iter().map(message).collect(),
    }
}

fn message(message: &Value) -> Message {
    let speaker = match message["role"].as_str() {
        Some("assistant") => Speaker::Assistant,
        Some("system") => Speaker::System,
        _ => Speaker::User,
    };
    let parts = match &message["content"] {
        Value::String(text) => vec![Part::Text(text.clone())],
        content => list(content).iter().map(part).collect(),
    };
    Message { speaker, parts }
}

fn part(block: &Value) -> Part {
    match block["type"].as_str() {
        Some("text") => Part::Text(string(block, "text")),
        Some("thinking") => Part::Thinking {
            text: string(block, "thinking"),
            signature: block["signature"].as_str().map(str::to_owned),
        },
        Some("redacted_thinking") => Part::Redacted(string(block, "data")),
        Some("tool_use") => Part::Call {
            id: string(block, "id"),
            tool: string(block, "name"),
            parameters: block["input"].clone(),
            signature: None,
        },
        Some("tool_result") => Part::Result {
            call: string(block, "tool_use_id"),
            output: texts(&block["content"]),
            failed: block["is_error"] == true,
        },
        _ => Part::Other(block.clone()),
    }
}

pub(super) fn frames(reply: &Reply, envelope: &Envelope) -> Vec<Frame> {
    let mut frames = vec![Frame::named(
        "message_start",
        &json!({ "type": "message_start", "message": head(envelope, Vec::new(), Value::Null, usage_at_start(envelope)) }),
    )];
    for (index, said) in reply.parts.iter().enumerate() {
        frames.push(named(
            "content_block_start",
            json!({ "type": "content_block_start", "index": index, "content_block": opening(said, index, envelope) }),
            kind_of(said),
        ));
        if index == 0 && envelope.dialect != Dialect::LlamaServer {
            frames.push(Frame::named("ping", &json!({ "type": "ping" })));
        }
        for delta in deltas(said, index, reply.fragment, envelope) {
            let kind = string(&delta, "type");
            frames.push(named(
                "content_block_delta",
                json!({ "type": "content_block_delta", "index": index, "delta": delta }),
                &kind,
            ));
        }
        frames.push(named(
            "content_block_stop",
            json!({ "type": "content_block_stop", "index": index }),
            kind_of(said),
        ));
    }
    frames.push(Frame::named(
        "message_delta",
        &json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop_reason(reply), "stop_sequence": null },
            "usage": usage_at_end(envelope),
        }),
    ));
    frames.push(Frame::named("message_stop", &json!({ "type": "message_stop" })));
    frames
}

pub(super) fn whole(reply: &Reply, envelope: &Envelope) -> Value {
    let content = reply
        .parts
        .iter()
        .enumerate()
        .map(|(index, said)| block(said, index, envelope));
    let mut usage = usage_at_start(envelope);
    usage["output_tokens"] = envelope.usage.output.into();
    head(envelope, content.collect(), stop_reason(reply).into(), usage)
}

fn named(event: &'static str, data: Value, detail: &str) -> Frame {
    Frame {
        kind: format!("{event} {detail}"),
        ..Frame::named(event, &data)
    }
}

fn head(envelope: &Envelope, content: Vec<Value>, stop: Value, usage: Value) -> Value {
    json!({
        "id": envelope.id("msg_01", 0), "type": "message", "role": "assistant", "model": envelope.model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage,
    })
}

fn kind_of(said: &Said) -> &'static str {
    match said {
        Said::Text(_) => "text",
        Said::Thinking(_) => "thinking",
        Said::Redacted => "redacted_thinking",
        Said::Call { .. } => "tool_use",
        Said::Own(block) if is_begun(block) => "server_tool_use",
        Said::Own(_) => "web_search_tool_result",
    }
}

/// Returns whether a call of the vendor's own tool begins here; otherwise it is a result.
fn is_begun(block: &Value) -> bool {
    block["type"] == "server_tool_use"
}

/// A block as it opens: empty, except for encrypted thinking, which has no deltas.
fn opening(said: &Said, index: usize, envelope: &Envelope) -> Value {
    match said {
        Said::Text(_) => json!({ "type": "text", "text": "" }),
        Said::Thinking(_) => json!({ "type": "thinking", "thinking": "", "signature": "" }),
        Said::Redacted => block(said, index, envelope),
        // A call's input is streamed like parameters; a result is sent whole.
        Said::Own(block) if is_begun(block) => {
            let mut block = block.clone();
            block["input"] = json!({});
            block
        }
        Said::Own(block) => block.clone(),
        Said::Call { tool, .. } => {
            let id = envelope.call_id(Wire::Anthropic, index, said);
            match envelope.dialect {
                Dialect::LlamaServer => json!({ "type": "tool_use", "id": id, "name": tool }),
                _ => json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }),
            }
        }
    }
}

fn deltas(said: &Said, index: usize, bytes: usize, envelope: &Envelope) -> Vec<Value> {
    match said {
        Said::Text(text) => pieces("text_delta", "text", text, bytes),
        Said::Thinking(text) => {
            let mut deltas = pieces("thinking_delta", "thinking", text, bytes);
            deltas.push(json!({ "type": "signature_delta", "signature": envelope.sign(index, text) }));
            deltas
        }
        Said::Redacted => Vec::new(),
        Said::Own(block) if is_begun(block) => {
            pieces("input_json_delta", "partial_json", &block["input"].to_string(), bytes)
        }
        Said::Own(_) => Vec::new(),
        Said::Call { arguments, .. } => {
            // The vendor begins with an empty fragment, and sends no other for an empty object.
            let mut deltas = vec![json!({ "type": "input_json_delta", "partial_json": "" })];
            if !matches!(arguments.as_str(), "{}" | "") {
                deltas.extend(pieces("input_json_delta", "partial_json", arguments, bytes));
            }
            deltas
        }
    }
}

fn pieces(kind: &str, key: &str, text: &str, bytes: usize) -> Vec<Value> {
    let delta = |piece: &str| {
        let mut delta = json!({ "type": kind });
        delta[key] = piece.into();
        delta
    };
    fragments(text, bytes).into_iter().map(delta).collect()
}

/// A complete block, which is also the form in which the client must return it.
pub(in crate::server) fn block(said: &Said, index: usize, envelope: &Envelope) -> Value {
    match said {
        Said::Text(text) => json!({ "type": "text", "text": text }),
        Said::Thinking(text) => {
            json!({ "type": "thinking", "thinking": text, "signature": envelope.sign(index, text) })
        }
        Said::Redacted => json!({ "type": "redacted_thinking", "data": envelope.sign(index, UNSEEN) }),
        Said::Own(block) => block.clone(),
        Said::Call { tool, arguments, .. } => {
            let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
            json!({
                "type": "tool_use", "id": envelope.call_id(Wire::Anthropic, index, said), "name": tool, "input": input,
            })
        }
    }
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.stop {
        Stop::Complete if reply.parts.iter().any(|said| matches!(said, Said::Call { .. })) => "tool_use",
        Stop::Complete => "end_turn",
        Stop::Length => "max_tokens",
        Stop::WindowFull => "model_context_window_exceeded",
        Stop::Pause => "pause_turn",
        Stop::Refusal => "refusal",
    }
}

fn usage_at_start(envelope: &Envelope) -> Value {
    let usage = envelope.usage;
    match envelope.dialect {
        Dialect::Vendor => json!({
            "input_tokens": usage.fresh,
            "cache_creation_input_tokens": usage.cache_write(),
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.write_5m, "ephemeral_1h_input_tokens": usage.write_1h,
            },
            "output_tokens": usage.output.min(1),
            "service_tier": "standard",
        }),
        Dialect::Gateway => json!({ "input_tokens": usage.prompt(), "output_tokens": 0 }),
        Dialect::LlamaServer => json!({
            "input_tokens": usage.prompt() - usage.cache_read, "cache_read_input_tokens": usage.cache_read,
            "output_tokens": 0,
        }),
    }
}

fn usage_at_end(envelope: &Envelope) -> Value {
    let usage = envelope.usage;
    match envelope.dialect {
        Dialect::Vendor => json!({
            "input_tokens": usage.fresh,
            "cache_creation_input_tokens": usage.cache_write(),
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": usage.output,
        }),
        Dialect::Gateway => json!({ "output_tokens": usage.output, "cache_read_input_tokens": usage.cache_read }),
        Dialect::LlamaServer => json!({ "output_tokens": usage.output }),
    }
}

pub(super) fn trouble(trouble: Trouble, envelope: &Envelope) -> Frame {
    let (kind, message) = match trouble {
        Trouble::Overloaded => ("overloaded_error", "Overloaded"),
        Trouble::Internal => ("api_error", "Internal server error"),
        Trouble::RateLimited => (
            "rate_limit_error",
            "This request would exceed your account's rate limit.",
        ),
        Trouble::TooLong => ("invalid_request_error", "prompt is too long"),
    };
    Frame::named(
        "error",
        &json!({
            "type": "error", "error": { "type": kind, "message": message },
            "request_id": envelope.id("req_01", 0),
        }),
    )
}

pub(super) fn refusal(status: u16, model: &str, says: Option<&str>) -> Value {
    let not_found = format!("model: {model}");
    let (kind, usual) = match status {
        400 => ("invalid_request_error", "invalid request"),
        401 => ("authentication_error", "invalid x-api-key"),
        403 => (
            "permission_error",
            "Your API key does not have permission to use the specified resource",
        ),
        404 => ("not_found_error", not_found.as_str()),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => (
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.",
        ),
        504 => ("timeout_error", "Request timed out"),
        529 => ("overloaded_error", "Overloaded"),
        _ => ("api_error", "Internal server error"),
    };
    json!({ "type": "error", "error": { "type": kind, "message": says.unwrap_or(usual) }, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy" })
}
