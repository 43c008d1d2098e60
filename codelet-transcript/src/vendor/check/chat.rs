//! OpenAI Chat Completions.

use super::{Faults, is_blank, parts, text};
use serde_json::Value;

/// The types of content parts ("Create chat completion", developers.openai.com, November 2026).
const PARTS: &[&str] = &["text", "image_url", "input_audio", "file", "refusal"];

pub(super) fn check(_: &Value, messages: &[Value], faults: &mut Faults) {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        for (number, part) in parts(message) {
            faults.type_of(format!("{at}.content.{number}"), text(part, "type"), PARTS);
        }
        if role == "tool" {
            let id = text(message, "tool_call_id");
            match open.iter().position(|open| *open == id) {
                Some(answered) => drop(open.remove(answered)),
                None => faults.add(
                    at.to_string(),
                    format!("The result answers no call directly before it: {id:?}."),
                ),
            }
            continue;
        }
        faults.unanswered(at, std::mem::take(&mut open));
        let says_nothing = is_blank(message.get("content"));
        match role {
            "assistant" => {
                let calls = message
                    .get("tool_calls")
                    .and_then(Value::as_array)
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                for (number, call) in calls.iter().enumerate() {
                    let id = text(call, "id");
                    if open.contains(&id) {
                        faults.add(
                            format!("{at}.tool_calls.{number}"),
                            format!("The id {id:?} was used before."),
                        );
                    }
                    open.push(id);
                }
                let others = ["function_call", "refusal", "audio"];
                if says_nothing && calls.is_empty() && others.iter().all(|name| is_blank(message.get(*name))) {
                    faults.add(at.to_string(), "The message is empty.");
                }
            }
            "user" | "system" | "developer" | "function" if says_nothing => {
                faults.add(format!("{at}.content"), "The message is empty.");
            }
            "user" | "system" | "developer" | "function" => {}
            other => faults.add(format!("{at}.role"), format!("Unknown role {other:?}.")),
        }
    }
    faults.unanswered(messages.len() - 1, open);
}
