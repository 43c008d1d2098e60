//! Converts rig's messages to the engine's.

use super::field::{CITATIONS, Fields, ID, INVALID, JSON, LOCAL, NAME, ORIGIN, REDACTED, STOP, UNSENT};
use super::{Actions, media};
use codelet_context::message::{
    Message, Nature, Opaque, Origin, Parameters, Part, Role, Text, Thinking, ToolCall, ToolResult,
};
use rig_core::message::{self as rig, AssistantContent, CallId, ToolResultContent, UserContent};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Converts a message of rig to one of the engine; `actions` gives the effects of its calls.
pub fn read(message: &rig::Message, actions: &Actions) -> Message {
    match message {
        rig::Message::System { content } => Message::system(content.as_str()),
        rig::Message::User { content } => Message::new(Role::User, content.iter().map(said).collect()),
        rig::Message::Assistant(turn) => reply(turn, actions),
    }
}

fn said(content: &UserContent) -> Part {
    match content {
        UserContent::Text(text) => Part::Text(read_text(text)),
        UserContent::ToolResult(result) => Part::ToolResult(read_result(result)),
        UserContent::Image(image) => media::read_image(image),
        UserContent::Audio(audio) => media::read_audio(audio),
        UserContent::Video(video) => media::read_video(video),
        UserContent::Document(document) => media::read_document(document),
    }
}

fn read_text(text: &rig::Text) -> Text {
    let mut extra = Fields::default();
    // Only rig's own store can take citations apart and put them together again.
    if !text.citations().is_empty()
        && let Ok(stored) = serde_json::to_value(text)
        && let Some(citations) = stored.get(CITATIONS)
    {
        extra.put(CITATIONS, citations);
    }
    Text {
        extra: extra.around(&text.native, text.text.len()),
        ..Text::new(text.text.as_str(), Origin::Own)
    }
}

fn read_result(result: &rig::ToolResult) -> ToolResult {
    let output = result.content.iter().map(|content| match content {
        ToolResultContent::Text(text) => Part::Text(read_text(text)),
        ToolResultContent::Image(image) => media::read_image(image),
        ToolResultContent::Json { value } => {
            let mut extra = Fields::default();
            extra.mark(JSON, true);
            Part::Text(Text {
                extra: extra.gathered(),
                ..Text::new(value.to_string(), Origin::Own)
            })
        }
    });
    let mut extra = Fields::default();
    extra.put(NAME, &result.name);
    extra.mark(LOCAL, result.call.is_local());
    ToolResult {
        output: output.collect(),
        bare: false,
        extra: extra.gathered(),
        ..ToolResult::new(id(&result.call), Some(!result.is_error), "")
    }
}

fn id(call: &CallId) -> Arc<str> {
    Arc::from(&*call.wire())
}

fn reply(turn: &rig::AssistantMessage, actions: &Actions) -> Message {
    let mut parts = Vec::with_capacity(turn.content.len());
    let mut unsent = Vec::new();
    for (at, content) in turn.content.iter().enumerate() {
        match content {
            // It takes nothing of a window, and nothing may stand in its place.
            AssistantContent::Opaque(opaque) if !opaque.replay => unsent.push(json!([at, opaque.item])),
            content => parts.push(replied(content, actions)),
        }
    }
    mark_pending(&mut parts);
    let mut extra = Fields::default();
    extra.put(ORIGIN, &turn.origin);
    extra.put(STOP, &turn.stop);
    if !unsent.is_empty() {
        extra.put(UNSENT, &unsent);
    }
    Message {
        extra: extra.gathered(),
        ..Message::new(Role::Assistant, parts)
    }
}

fn replied(content: &AssistantContent, actions: &Actions) -> Part {
    match content {
        AssistantContent::Text(text) => Part::Text(read_text(text)),
        AssistantContent::ToolCall(call) => Part::ToolCall(read_call(call, actions)),
        AssistantContent::Reasoning(reasoning) => Part::Thinking(read_reasoning(reasoning, content.native_item())),
        AssistantContent::Image(image) => media::read_image(image),
        AssistantContent::Opaque(opaque) => {
            Part::Opaque(Opaque::new(opaque.kind().unwrap_or("item"), opaque.item.clone()))
        }
        // What a later version of rig may say: as it is stored.
        other => Part::Opaque(Opaque::new(STORED, serde_json::to_value(other).unwrap_or_default())),
    }
}

/// The kind of a block that only rig knows.
pub(super) const STORED: &str = "rig";

fn read_call(call: &rig::ToolCall, actions: &Actions) -> ToolCall {
    let rig::ToolFunction {
        name,
        arguments,
        invalid_arguments,
    } = &call.function;
    let mut extra = Fields::default();
    extra.mark(LOCAL, call.id.is_local());
    extra.put(INVALID, invalid_arguments);
    let parameters = Parameters::new(arguments.clone());
    let read = name.len() + parameters.json().len();
    ToolCall {
        id: id(&call.id),
        tool: Arc::from(name.as_str()),
        action: actions.of(name.as_str(), arguments),
        parameters,
        cut: None,
        is_spoken: false,
        extra: extra.around(&call.native, read),
    }
}

/// Reasoning, bound to its provider as the readers of the vendors' own forms do it: by a signature, encrypted thinking, an id that
/// later items refer to, or a field that a chat must send back. `item` is the provider's item if it is still valid; without one,
/// nothing is bound.
fn read_reasoning(reasoning: &rig::Reasoning, item: Option<&Value>) -> Thinking {
    let field = |names: [&str; 2]| {
        let mut found = names.into_iter().filter_map(|name| item?.get(name)?.as_str());
        found.find(|text| !text.is_empty()).map(Arc::from)
    };
    let is_wanted_back = item.is_some_and(|item| {
        ["reasoning_content", "reasoning"]
            .iter()
            .any(|name| item.get(name).is_some())
    });
    let mut extra = Fields::default();
    extra.mark(REDACTED, reasoning.redacted);
    extra.put(ID, &item.and_then(|item| item.get(ID)).filter(|id| id.is_string()));
    let redacted: Option<Arc<str>> = field(["data", "encrypted_content"]);
    let read = reasoning.text.len() + redacted.as_ref().map_or(0, |data| data.len());
    Thinking {
        body: reasoning.text.as_str().into(),
        signature: field(["signature", "thoughtSignature"]),
        redacted,
        is_wanted_back,
        extra: extra.around(&reasoning.native, read),
    }
}

/// Marks a call of a provider's own tool that a reply has begun and not finished: only its continuation may follow.
fn mark_pending(parts: &mut [Part]) {
    let text = |opaque: &Opaque, name: &str| opaque.value.get(name).and_then(Value::as_str).map(str::to_owned);
    let opaques = parts.iter().filter_map(|part| match part {
        Part::Opaque(opaque) => text(opaque, "tool_use_id"),
        _ => None,
    });
    let answered: HashSet<String> = opaques.collect();
    for part in parts {
        if let Part::Opaque(opaque) = part
            && matches!(&*opaque.kind, "server_tool_use" | "mcp_tool_use")
            && text(opaque, ID).is_some_and(|id| !answered.contains(&id))
        {
            opaque.nature = Nature::Pending;
        }
    }
}
