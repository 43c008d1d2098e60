//! What is known of the success of tools when a whole conversation has been read.
//!
//! A flag says that the tool worked, and for a command that is not whether the program did: many harnesses send the same
//! flag with every result, and the exit status in the text. What the file said is written back as it was.

use crate::exit_status::exit_status;
use crate::extra::marked;
use crate::format::Format;
use codelet_context::message::{Action, ActionKind, Message, Part, ToolResult};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// On an answer whose success is known from elsewhere: what its own field said.
const SAID: &str = "codelet.said";

/// Completes what a reader has found.
pub(crate) fn tell(messages: &mut [Message], format: Format) {
    if format == Format::Anthropic {
        fill_flags(messages);
    }
    // Elsewhere what is known comes from a status already, and only what is missing is looked for.
    let is_flag = matches!(format, Format::Anthropic | Format::QwenCode | Format::Corpus);
    let mut calls: HashMap<Arc<str>, Action> = HashMap::new();
    for message in messages {
        for part in &mut message.parts {
            match part {
                Part::ToolCall(call) => drop(calls.insert(call.id.clone(), call.action.clone())),
                Part::ToolResult(result) if result.success.is_none() || is_flag && result.success == Some(true) => {
                    let stated = calls.get(&result.call_id).and_then(|action| stated(result, action));
                    learn(result, stated);
                }
                _ => {}
            }
        }
    }
}

/// The flag may be left out where it is false. A file that has it anywhere is by somebody who knows it.
fn fill_flags(messages: &mut [Message]) {
    let is_known = messages
        .iter()
        .flat_map(Message::tool_results)
        .any(|result| result.success.is_some());
    let results = messages.iter_mut().flat_map(|message| &mut message.parts);
    for part in results.filter(|_| is_known) {
        if let Part::ToolResult(result) = part
            && result.success.is_none()
            && result.extra.get("is_error").is_none_or(Value::is_null)
        {
            learn(result, Some(true));
        }
    }
}

/// What the harness states in the text of a command's result.
fn stated(result: &ToolResult, action: &Action) -> Option<bool> {
    if action.kind != ActionKind::Command {
        return None;
    }
    let command = action.command.as_deref().unwrap_or_default();
    let mut texts = result.texts().map(|text| text.body.as_str());
    let first = texts.next()?;
    let status = exit_status(first, command).or_else(|| exit_status(texts.last()?, command));
    status.map(|status| status == 0)
}

fn learn(result: &mut ToolResult, success: Option<bool>) {
    if success.is_none() || success == result.success {
        return;
    }
    if result.extra.get(SAID).is_none() {
        let said = result.success.map_or(Value::Null, Value::Bool);
        result.extra = marked(std::mem::take(&mut result.extra), SAID, said);
    }
    result.success = success;
}

/// The success of an answer as its own field said it, and says again when it is written.
pub(crate) fn said(result: &ToolResult) -> Option<bool> {
    match result.extra.get(SAID) {
        Some(said) => said.as_bool(),
        None => result.success,
    }
}

#[cfg(test)]
#[path = "success/tests.rs"]
mod tests;
