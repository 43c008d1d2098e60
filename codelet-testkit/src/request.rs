//! A conversation as an Anthropic Messages request, for fixtures: deliberately simple, and independent of the writers
//! under test.

use codelet_context::message::{Message, Origin, Part, ReminderKind, Role};
use serde_json::{Value, json};

/// The request: model, limit, system prompt, messages. Reminders are written with their tags.
pub fn anthropic(messages: &[Message]) -> Value {
    let system: Vec<Value> = messages
        .iter()
        .filter(|message| message.role == Role::System)
        .flat_map(|message| message.parts.iter().map(block))
        .collect();
    let spoken = messages.iter().filter(|message| message.role != Role::System);
    let spoken: Vec<Value> = spoken
        .map(|message| json!({ "role": role(message.role), "content": content(message) }))
        .collect();
    json!({ "model": "claude-sonnet-4-5", "max_tokens": 8192, "system": system, "messages": spoken })
}

fn content(message: &Message) -> Value {
    message.parts.iter().map(block).collect()
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::User | Role::System => "user",
    }
}

fn block(part: &Part) -> Value {
    match part {
        Part::Text(text) => match text.origin {
            Origin::Reminder(kind) => {
                let tagged = format!(
                    "<system-reminder>\n# {}\n{}\n</system-reminder>",
                    reminder(kind),
                    text.body
                );
                json!({ "type": "text", "text": tagged })
            }
            _ => json!({ "type": "text", "text": text.body.as_str() }),
        },
        Part::Thinking(thinking) => match &thinking.redacted {
            Some(data) => json!({ "type": "redacted_thinking", "data": &**data }),
            None => json!({
                "type": "thinking", "thinking": thinking.body.as_str(), "signature": thinking.signature.as_deref(),
            }),
        },
        Part::Image(image) => json!({ "type": "image", "source": {
            "type": "base64", "media_type": &*image.media_type, "data": image.data.as_str(),
        }}),
        Part::ToolCall(call) => json!({
            "type": "tool_use", "id": &*call.id, "name": &*call.tool, "input": call.parameters.as_map(),
        }),
        Part::ToolResult(result) => {
            let text: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
            let mut block = json!({
                "type": "tool_result", "tool_use_id": &*result.call_id, "content": text.join("\n"),
            });
            if result.success == Some(false) {
                block["is_error"] = true.into();
            }
            block
        }
        Part::Opaque(opaque) => (*opaque.value).clone(),
    }
}

fn reminder(kind: ReminderKind) -> &'static str {
    match kind {
        ReminderKind::Instructions => "claudeMd",
        ReminderKind::Environment => "environment",
        ReminderKind::Skills => "skills",
        ReminderKind::GitStatus => "gitStatus",
        ReminderKind::TokenStatus => "tokenStatus",
    }
}
