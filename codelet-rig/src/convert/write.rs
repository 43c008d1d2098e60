//! Converts the engine's messages to rig's.

use super::field::{CITATIONS, INVALID, JSON, LOCAL, NAME, NATIVE, ORIGIN, REDACTED, STOP, UNSENT, get, is_marked};
use super::media;
use super::read::STORED;
use codelet_context::message::{Extra, Message, Nature, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult};
use rig_core::message::{
    self as rig, AssistantContent, AssistantMessage, CallId, Native, ProviderCallId, Reasoning, StopReason,
    ToolFunction, ToolName, ToolResultContent, UserContent,
};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Converts messages of the engine to rig's, in order. They are converted together because a result that the engine has added, such
/// as that of an interrupted call, has to name the tool of its call.
pub fn write<M: AsRef<Message>>(messages: &[M]) -> Vec<rig::Message> {
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut out = Vec::with_capacity(messages.len());
    for message in messages.iter().map(AsRef::as_ref) {
        calls.extend(message.calls().map(|call| (&*call.id, call)));
        out.push(match message.role {
            Role::System => rig::Message::System {
                content: words(message),
            },
            Role::User => rig::Message::User {
                content: message.parts.iter().filter_map(|part| say(part, &calls)).collect(),
            },
            Role::Assistant => rig::Message::Assistant(reply(message)),
        });
    }
    out
}

fn words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn say(part: &Part, calls: &HashMap<&str, &ToolCall>) -> Option<UserContent> {
    Some(match part {
        Part::Text(text) => UserContent::Text(write_text(text)),
        Part::Image(image) => UserContent::Image(media::write_image(image)),
        Part::ToolResult(result) => UserContent::ToolResult(write_result(result, calls)),
        Part::Opaque(opaque) => match &*opaque.kind {
            media::IMAGE => UserContent::Image(media::unfile(opaque)?),
            media::AUDIO => UserContent::Audio(media::unfile(opaque)?),
            media::VIDEO => UserContent::Video(media::unfile(opaque)?),
            media::DOCUMENT => UserContent::Document(media::unfile(opaque)?),
            _ => UserContent::text(opaque.json().as_str()),
        },
        // The model's alone.
        Part::Thinking(_) | Part::ToolCall(_) => return None,
    })
}

fn write_text(text: &Text) -> rig::Text {
    let plain = || rig::Text::new(text.body.as_str());
    // What the engine has shortened is no longer what the provider has said.
    if text.cut.is_some() || text.extra.is_empty() {
        return plain();
    }
    if let Some(citations) = text.extra.get(CITATIONS) {
        let stored = json!({"text": text.body.as_str(), CITATIONS: citations, NATIVE: text.extra.get(NATIVE)});
        if let Ok(text) = serde_json::from_value(stored) {
            return text;
        }
    }
    let mut plain = plain();
    plain.native = native(&text.extra);
    plain
}

fn native(extra: &Extra) -> Option<Native> {
    get(extra, NATIVE)
}

fn write_result(result: &ToolResult, calls: &HashMap<&str, &ToolCall>) -> rig::ToolResult {
    let call = calls.get(&*result.call_id);
    let name = result.extra.get(NAME).and_then(Value::as_str);
    let name = name.or(call.map(|call| &*call.tool)).unwrap_or_default();
    let is_local = is_marked(&result.extra, LOCAL) || call.is_some_and(|call| is_marked(&call.extra, LOCAL));
    let error = result.error.iter().map(|error| ToolResultContent::text(error.as_str()));
    rig::ToolResult {
        call: call_id(&result.call_id, is_local),
        name: tool_name(name),
        content: result.output.iter().filter_map(output).chain(error).collect(),
        is_error: result.success == Some(false),
    }
}

fn output(part: &Part) -> Option<ToolResultContent> {
    Some(match part {
        Part::Text(text) if text.cut.is_none() && is_marked(&text.extra, JSON) => {
            match serde_json::from_str(text.body.as_str()) {
                Ok(value) => ToolResultContent::Json { value },
                Err(_) => ToolResultContent::text(text.body.as_str()),
            }
        }
        Part::Text(text) => ToolResultContent::Text(write_text(text)),
        Part::Image(image) => ToolResultContent::Image(media::write_image(image)),
        Part::Opaque(opaque) if &*opaque.kind == media::IMAGE => ToolResultContent::Image(media::unfile(opaque)?),
        Part::Opaque(opaque) => ToolResultContent::text(opaque.json().as_str()),
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => return None,
    })
}

/// The id of a call. One that rig has made is a UUID, unless the engine had to change it.
fn call_id(id: &str, is_local: bool) -> CallId {
    let local = || serde_json::from_value(json!({ "local": id })).ok();
    let provided = || ProviderCallId::new(id).map(CallId::Provider);
    let found = if is_local {
        local().or_else(provided)
    } else {
        provided()
    };
    found.unwrap_or_else(|| CallId::from_wire("unnamed"))
}

fn tool_name(name: &str) -> ToolName {
    let named = ToolName::new(name).or_else(|_| ToolName::new("tool"));
    named.expect("the name is not empty")
}

fn reply(message: &Message) -> AssistantMessage {
    let mut content: Vec<AssistantContent> = message.parts.iter().filter_map(replied).collect();
    let unsent: Vec<(usize, Value)> = get(&message.extra, UNSENT).unwrap_or_default();
    for (at, item) in unsent {
        let opaque = AssistantContent::Opaque(rig::Opaque { item, replay: false });
        content.insert(at.min(content.len()), opaque);
    }
    AssistantMessage::new(content)
        .with_origin(get::<rig::Origin>(&message.extra, ORIGIN))
        .with_stop(get::<StopReason>(&message.extra, STOP))
}

fn replied(part: &Part) -> Option<AssistantContent> {
    Some(match part {
        Part::Text(text) => AssistantContent::Text(write_text(text)),
        Part::ToolCall(call) => AssistantContent::ToolCall(write_call(call)),
        Part::Thinking(thinking) => AssistantContent::Reasoning(write_reasoning(thinking)),
        Part::Image(image) => AssistantContent::Image(media::write_image(image)),
        Part::Opaque(opaque) => write_opaque(opaque)?,
        Part::ToolResult(_) => return None,
    })
}

fn write_call(call: &ToolCall) -> rig::ToolCall {
    let is_whole = call.cut.is_none();
    let arguments: Map<String, Value> = call.parameters.as_map().clone();
    rig::ToolCall {
        id: call_id(&call.id, is_marked(&call.extra, LOCAL)),
        function: ToolFunction {
            name: tool_name(&call.tool),
            arguments,
            invalid_arguments: get(&call.extra, INVALID).filter(|_| is_whole),
        },
        native: native(&call.extra).filter(|_| is_whole),
    }
}

fn write_reasoning(thinking: &Thinking) -> Reasoning {
    Reasoning {
        text: thinking.body.as_str().to_owned(),
        redacted: is_marked(&thinking.extra, REDACTED),
        native: native(&thinking.extra),
    }
}

fn write_opaque(opaque: &Opaque) -> Option<AssistantContent> {
    if &*opaque.kind == STORED {
        return serde_json::from_value(Value::clone(&opaque.value)).ok();
    }
    if matches!(opaque.nature, Nature::File { .. }) && &*opaque.kind == media::IMAGE {
        return media::unfile(opaque).map(AssistantContent::Image);
    }
    let item = Value::clone(&opaque.value);
    Some(AssistantContent::Opaque(rig::Opaque { item, replay: true }))
}
