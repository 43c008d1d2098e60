//! What is known of the success of tools when a whole conversation has been read.
//!
//! A flag says that the tool worked, and for a command that is not whether the program did: many harnesses send the same
//! flag with every result, and the exit status in the text. What the file said is written back as it was.

use crate::exit_status::{exit_status, of_object};
use crate::extra::marked;
use crate::format::Format;
use crate::gemini::answer;
use crate::objects;
use codelet_context::message::{ActionKind, Message, Part, ToolCall, ToolResult};
use serde_json::{Map, Value};
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
    let is_in_text = matches!(format, Format::Anthropic | Format::Openai | Format::Responses);
    let tools = if is_in_text {
        answering_in_objects(messages)
    } else {
        HashMap::new()
    };
    let mut calls: HashMap<Arc<str>, Called> = HashMap::new();
    for message in messages {
        for part in &mut message.parts {
            match part {
                Part::ToolCall(call) => drop(calls.insert(call.id.clone(), Called::of(call, &tools))),
                Part::ToolResult(result) => {
                    let called = calls.get(&result.call_id);
                    let object = if is_in_text { objects::of(result) } else { None };
                    let success = match &object {
                        Some(object) => said_in(object, called),
                        None => called.and_then(|called| stated(result, called)),
                    };
                    if result.success.is_none() || is_flag && result.success == Some(true) {
                        learn(result, success);
                    }
                    if let Some(object) = &object {
                        objects::take_apart(result, object, of_object(object).is_some());
                    }
                }
                _ => {}
            }
        }
    }
}

/// A call that an answer belongs to.
struct Called {
    kind: ActionKind,
    command: Option<Arc<str>>,
    /// The tool mostly answers in objects, so they are the harness's and not what it was asked for.
    in_objects: bool,
}

impl Called {
    fn of(call: &ToolCall, tools: &HashMap<Arc<str>, bool>) -> Self {
        Called {
            kind: call.action.kind,
            command: call.action.command.clone(),
            in_objects: tools.get(&call.tool).copied().unwrap_or_default(),
        }
    }
}

/// Which tools answer in objects most of the time.
fn answering_in_objects(messages: &[Message]) -> HashMap<Arc<str>, bool> {
    let mut calls: HashMap<&str, &Arc<str>> = HashMap::new();
    let mut counts: HashMap<Arc<str>, (usize, usize)> = HashMap::new();
    for part in messages.iter().flat_map(|message| &message.parts) {
        match part {
            Part::ToolCall(call) => drop(calls.insert(&call.id, &call.tool)),
            Part::ToolResult(result) => {
                if let Some(tool) = calls.get(&*result.call_id) {
                    let (objects, all) = counts.entry((*tool).clone()).or_default();
                    *objects += usize::from(objects::looks_like_one(result));
                    *all += 1;
                }
            }
            _ => {}
        }
    }
    counts
        .into_iter()
        .map(|(tool, (objects, all))| (tool, objects * 2 > all))
        .collect()
}

/// What an object says that is a whole answer. It may be what was asked for, and then says nothing of the tool: what a
/// command has printed, or the text of a file.
fn said_in(object: &Map<String, Value>, called: Option<&Called>) -> Option<bool> {
    let called = called?;
    let flag = || answer::flag(object).filter(|_| called.in_objects);
    match called.kind {
        ActionKind::Command => match (flag(), of_object(object)) {
            (flag, Some(status)) => Some(flag != Some(false) && status == 0),
            (flag, None) => flag,
        },
        ActionKind::Read | ActionKind::Search if !called.in_objects => None,
        ActionKind::Read | ActionKind::Search if answer::has_error(object) => Some(false),
        ActionKind::Read | ActionKind::Search => flag(),
        // Whoever asks for a change is told of it, and of nothing else.
        ActionKind::Change => answer::success(object),
        _ if called.in_objects => answer::success(object),
        _ => None,
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
fn stated(result: &ToolResult, called: &Called) -> Option<bool> {
    if called.kind != ActionKind::Command {
        return None;
    }
    let command = called.command.as_deref().unwrap_or_default();
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
