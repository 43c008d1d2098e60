//! Gemini `generateContent`.

use super::{Envelope, Frame, UNSEEN, Wire};
use crate::server::fault::{Refusal, RetryAfter, Trouble};
use crate::server::script::{Reply, Said, Stop, fragments};
use crate::server::view::{Message, Part, Speaker, View, list, string};
use serde_json::{Value, json};

/// The model in a path, if the method generates content.
pub(super) fn model(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/v1beta/models/")?;
    let (model, method) = rest.split_once(':')?;
    matches!(method, "streamGenerateContent" | "generateContent").then_some(model)
}

pub(super) fn view(path: &str, body: &Value) -> View {
    let bare = path.split('?').next().unwrap_or_default();
    let system = either(body, "systemInstruction", "system_instruction");
    let tools = list(&body["tools"]).iter();
    let declared = tools.flat_map(|tool| list(either(tool, "functionDeclarations", "function_declarations")));
    View {
        model: model(bare).unwrap_or_default().to_owned(),
        streams: bare.ends_with(":streamGenerateContent"),
        max_output: either(body, "generationConfig", "generation_config")["maxOutputTokens"].as_u64(),
        system: list(&system["parts"]).iter().map(|part| string(part, "text")).collect(),
        tools: declared.map(|tool| string(tool, "name")).collect(),
        messages: list(&body["contents"]).iter().map(message).collect(),
    }
}

/// Reads a field in either spelling, as the vendor does.
pub(in crate::server) fn either<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a Value {
    match &value[camel] {
        Value::Null => &value[snake],
        found => found,
    }
}

fn message(content: &Value) -> Message {
    let speaker = match content["role"].as_str() {
        Some("model") => Speaker::Assistant,
        _ => Speaker::User,
    };
    let parts = list(&content["parts"]).iter().map(part).collect();
    Message { speaker, parts }
}

fn part(part: &Value) -> Part {
    let signature = either(part, "thoughtSignature", "thought_signature")
        .as_str()
        .map(str::to_owned);
    let call = either(part, "functionCall", "function_call");
    if call.is_object() {
        return Part::Call {
            id: string(call, "id"),
            tool: string(call, "name"),
            parameters: call.get("args").cloned().unwrap_or_else(|| json!({})),
            signature,
        };
    }
    let result = either(part, "functionResponse", "function_response");
    if result.is_object() {
        let response = &result["response"];
        let texts = response.as_object().into_iter().flat_map(|fields| fields.values());
        let output: Vec<String> = texts
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        return Part::Result {
            call: result["id"]
                .as_str()
                .map_or_else(|| string(result, "name"), str::to_owned),
            output: output.join("\n"),
            failed: !response["error"].is_null(),
        };
    }
    match part["text"].as_str() {
        Some(text) if part["thought"] == true || signature.is_some() => Part::Thinking {
            text: text.to_owned(),
            signature,
        },
        Some(text) => Part::Text(text.to_owned()),
        None => Part::Other(part.clone()),
    }
}

pub(super) fn frames(reply: &Reply, envelope: &Envelope) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (kind, part) in parts(reply, envelope) {
        frames.push(Frame::plain(kind, chunk(envelope, vec![part], None)));
    }
    frames.push(Frame::plain(
        "finishReason",
        chunk(envelope, last_parts(reply, envelope), Some(reply)),
    ));
    frames
}

pub(super) fn whole(reply: &Reply, envelope: &Envelope) -> Value {
    let reply = Reply {
        fragment: usize::MAX,
        ..reply.clone()
    };
    let said = parts(&reply, envelope).into_iter().map(|(_, part)| part);
    chunk(
        envelope,
        said.chain(last_parts(&reply, envelope)).collect(),
        Some(&reply),
    )
}

/// The parts with their kinds. The first call carries the signature of the thinking before it.
fn parts(reply: &Reply, envelope: &Envelope) -> Vec<(&'static str, Value)> {
    let mut parts = Vec::new();
    let mut seals = seal(reply, envelope);
    for (index, said) in reply.parts.iter().enumerate() {
        match said {
            Said::Text(text) => {
                let pieces = fragments(text, reply.fragment).into_iter();
                parts.extend(pieces.map(|piece| ("text", json!({ "text": piece }))));
            }
            Said::Thinking(text) => {
                let pieces = fragments(text, reply.fragment).into_iter();
                parts.extend(pieces.map(|piece| ("thought", json!({ "text": piece, "thought": true }))));
            }
            Said::Redacted | Said::Own(_) => {}
            Said::Call { tool, arguments, .. } => {
                // A call is sent whole. Invalid JSON never reaches the client: the reply ends as malformed.
                let Ok(args) = serde_json::from_str::<Value>(arguments) else {
                    continue;
                };
                let mut call = json!({ "functionCall": { "name": tool, "args": args } });
                if envelope.model.starts_with("gemini-3") || matches!(said, Said::Call { id: Some(_), .. }) {
                    call["functionCall"]["id"] = envelope.call_id(Wire::Gemini, index, said).into();
                }
                if let Some(seal) = seals.take() {
                    call["thoughtSignature"] = seal.into();
                }
                parts.push(("functionCall", call));
            }
        }
    }
    parts
}

/// The signature of a reply with thinking.
pub(in crate::server) fn seal(reply: &Reply, envelope: &Envelope) -> Option<String> {
    let thinks = |said: &Said| matches!(said, Said::Thinking(_) | Said::Redacted);
    let index = reply.parts.iter().position(thinks)?;
    Some(envelope.sign(index, UNSEEN))
}

/// The parts of the last chunk: the signature if no call carries it, otherwise an empty text.
fn last_parts(reply: &Reply, envelope: &Envelope) -> Vec<Value> {
    let called = reply.parts.iter().any(|said| matches!(said, Said::Call { .. }));
    match seal(reply, envelope) {
        Some(seal) if !called => vec![json!({ "text": "", "thoughtSignature": seal })],
        _ if reply.parts.is_empty() => Vec::new(),
        _ => vec![json!({ "text": "" })],
    }
}

fn chunk(envelope: &Envelope, parts: Vec<Value>, last: Option<&Reply>) -> Value {
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" } });
    if candidate["content"]["parts"] == json!([]) {
        // An empty answer has a role and no parts.
        candidate["content"] = json!({ "role": "model" });
    }
    if let Some(reply) = last {
        candidate["finishReason"] = finish_reason(reply).into();
    }
    candidate["index"] = 0.into();
    json!({
        "candidates": [candidate], "usageMetadata": usage(envelope, last.is_some()),
        "modelVersion": envelope.model, "responseId": envelope.id("", 0),
    })
}

fn finish_reason(reply: &Reply) -> &'static str {
    let broken = |said: &Said| match said {
        Said::Call { arguments, .. } => serde_json::from_str::<Value>(arguments).is_err(),
        _ => false,
    };
    match reply.stop {
        Stop::Length | Stop::WindowFull => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
        Stop::Complete | Stop::Pause if reply.parts.iter().any(broken) => "MALFORMED_FUNCTION_CALL",
        Stop::Complete | Stop::Pause => "STOP",
    }
}

/// The usage so far: output tokens are only in the last report. `candidatesTokenCount` excludes thinking.
fn usage(envelope: &Envelope, last: bool) -> Value {
    let usage = envelope.usage;
    let mut report = json!({ "promptTokenCount": usage.prompt() });
    if last {
        report["candidatesTokenCount"] = usage.output.saturating_sub(usage.reasoning).into();
    }
    let said = if last { usage.output } else { 0 };
    report["totalTokenCount"] = (usage.prompt() + said).into();
    if usage.cache_read > 0 {
        report["cachedContentTokenCount"] = usage.cache_read.into();
    }
    report["promptTokensDetails"] = json!([{ "modality": "TEXT", "tokenCount": usage.prompt() }]);
    if usage.cache_read > 0 {
        report["cacheTokensDetails"] = json!([{ "modality": "TEXT", "tokenCount": usage.cache_read }]);
    }
    if last && usage.reasoning > 0 {
        report["thoughtsTokenCount"] = usage.reasoning.into();
    }
    report
}

pub(super) fn trouble(trouble: Trouble) -> Frame {
    let status = match trouble {
        Trouble::Overloaded => 503,
        Trouble::Internal => 500,
        Trouble::RateLimited => 429,
        Trouble::TooLong => 400,
    };
    let says =
        (trouble == Trouble::TooLong).then_some("The input token count exceeds the maximum number of tokens allowed.");
    Frame::plain("error", refusal(&Refusal::status(status), "", says))
}

pub(super) fn refusal(refusal: &Refusal, model: &str, says: Option<&str>) -> Value {
    let not_found = format!(
        "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."
    );
    let (name, usual) = match refusal.status {
        400 => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
        401 => ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
        403 => ("PERMISSION_DENIED", "The caller does not have permission"),
        404 => ("NOT_FOUND", not_found.as_str()),
        429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        503 | 529 => ("UNAVAILABLE", "The model is overloaded. Please try again later."),
        504 => ("DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
        _ => ("INTERNAL", "An internal error has occurred. Please retry."),
    };
    let mut error = json!({ "code": refusal.status, "message": says.unwrap_or(usual), "status": name });
    // This vendor also gives the retry time in the body.
    if let Some(RetryAfter::Seconds(seconds)) = refusal.retry {
        error["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s"),
        }]);
    }
    json!({ "error": error })
}
