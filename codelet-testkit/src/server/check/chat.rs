//! The request rules of OpenAI Chat Completions.

use super::openai::{call, kind, tool};
use super::{Broken, twice, word};
use crate::server::view::list;
use serde_json::Value;

pub(super) fn check(body: &Value, broken: &mut Broken) {
    broken.unless(!word(body, "model").is_empty(), || {
        "you must provide a model parameter".to_owned()
    });
    broken.unless(body["stream"] == true || body["stream_options"].is_null(), || {
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned()
    });
    for (index, definition) in list(&body["tools"]).iter().enumerate() {
        tool(&format!("tools[{index}].function"), &definition["function"], broken);
    }
    let messages = list(&body["messages"]);
    let Some(last) = messages.last() else {
        return broken.add("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array with length 0 instead.");
    };
    broken.unless(last["role"] != "assistant", || {
        "Cannot continue from an assistant message: the last message must be the user's or a tool's.".to_owned()
    });
    for (index, message) in messages.iter().enumerate() {
        one(index, message, broken);
    }
    answers(messages, broken);
    let ids = messages.iter().flat_map(|message| list(&message["tool_calls"]));
    if let Some(id) = twice(ids.map(|call| word(call, "id"))) {
        broken.add(format!("Duplicate value for 'tool_call_id' of '{id}'"));
    }
}

fn one(index: usize, message: &Value, broken: &mut Broken) {
    let role = word(message, "role");
    broken.unless(matches!(role, "system" | "developer" | "user" | "assistant" | "tool"), || {
        format!("Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.")
    });
    let calls = list(&message["tool_calls"]);
    broken.unless(!message["tool_calls"].is_array() || !calls.is_empty(), || {
        format!("Invalid 'messages[{index}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array with length 0 instead.")
    });
    broken.unless(calls.is_empty() || role == "assistant", || {
        format!("Unrecognized request argument supplied: messages[{index}].tool_calls")
    });
    let content = &message["content"];
    let may_be_empty = role == "tool" || !calls.is_empty() || !word(message, "refusal").is_empty();
    match content {
        Value::String(text) => broken.unless(may_be_empty || !text.trim().is_empty(), || {
            format!("Invalid 'messages[{index}].content': string too short.")
        }),
        Value::Array(blocks) => {
            broken.unless(may_be_empty || !blocks.is_empty(), || {
                format!("Invalid 'messages[{index}].content': empty array.")
            });
            for block in blocks.iter().filter(|block| block["type"] == "text") {
                broken.unless(role == "tool" || !word(block, "text").trim().is_empty(), || {
                    format!("Invalid 'messages[{index}].content': a text part is empty.")
                });
            }
        }
        _ => broken.unless(may_be_empty && role == "assistant", || {
            format!("Invalid value for 'content': expected a string, got {}.", kind(content))
        }),
    }
    for (at, made) in calls.iter().enumerate() {
        let at = format!("messages[{index}].tool_calls[{at}]");
        let id = word(made, "id");
        broken.unless(!id.is_empty(), || format!("Missing required parameter: '{at}.id'."));
        broken.unless(id.chars().count() <= 40, || {
            format!(
                "Invalid '{at}.id': string too long. Expected a string with maximum length 40, but got a string with length {} instead.",
                id.chars().count()
            )
        });
        call(&format!("{at}.function"), &made["function"], broken);
    }
}

/// Each call is answered once by the tool messages directly after it, and there are no others.
fn answers(messages: &[Value], broken: &mut Broken) {
    let mut open: Vec<&str> = Vec::new();
    let close = |open: &mut Vec<&str>, broken: &mut Broken| {
        broken.unless(open.is_empty(), || {
            format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                open.join(", ")
            )
        });
        open.clear();
    };
    for message in messages {
        if message["role"] == "tool" {
            let id = word(message, "tool_call_id");
            match open.iter().position(|call| *call == id) {
                Some(at) => {
                    open.remove(at);
                }
                None => broken.add(format!("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls' ({id}).")),
            }
        } else {
            close(&mut open, broken);
            open = list(&message["tool_calls"])
                .iter()
                .map(|call| word(call, "id"))
                .collect();
        }
    }
    close(&mut open, broken);
}
