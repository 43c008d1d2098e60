//! Determines whether calls succeeded, if recorded: from an error flag, an exit status in a field, or a status that the
//! harness writes around an output. The file's own value is written back unchanged. See
//! `docs/decisions/0020-statuses-in-text.md`.

use crate::extra::marked;
use crate::format::Format;
use crate::objects;
use crate::refused;
use crate::status::{Frame, above, frame, of_object, tells};
use codelet_context::exchange::Calls;
use codelet_context::message::{Action, ActionKind, Message, Part, ToolResult};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// On a result whose success is known from elsewhere: the value of its own field.
const SAID: &str = "codelet.said";

/// Completes the results that a reader found.
pub(crate) fn tell(messages: &mut [Message], format: Format) {
    // In other formats, success already comes from a status, and only missing values are looked for.
    let flags = matches!(format, Format::Anthropic | Format::QwenCode | Format::Corpus).then(|| Flags::of(messages));
    let has_objects = matches!(
        format,
        Format::Anthropic | Format::Openai | Format::Responses | Format::Codex
    );
    let mut calls: Calls<Arc<str>, Action> = Calls::default();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            Part::ToolCall(call) => calls.called(call.id.clone(), call.action.clone()),
            Part::ToolResult(result) => {
                let action = calls.of(result).cloned().unwrap_or_default();
                if let Some(flags) = &flags {
                    flags.weigh(result, action.kind == ActionKind::Command, format);
                }
                let object = if has_objects { objects::of(result) } else { None };
                let is_open = flags.is_some() && result.success == Some(true) || result.success.is_none();
                if is_open {
                    match stated(result, &action, object.as_ref()) {
                        Some(Frame::Ended(status)) => note(result, Some(status == 0)),
                        Some(Frame::Runs) => note(result, None),
                        None => {}
                    }
                }
                if let Some(object) = &object {
                    objects::take_apart(result, object, of_object(object).is_some());
                }
            }
            _ => {}
        }
    }
}

/// Returns the outcome that a result's content states. The text of a file and search results say nothing about it.
fn stated(result: &ToolResult, action: &Action, object: Option<&Map<String, Value>>) -> Option<Frame> {
    match (action.kind, object) {
        (ActionKind::Read | ActionKind::Search, _) => None,
        (ActionKind::Command, Some(object)) => of_object(object).map(Frame::Ended),
        (_, Some(object)) => tells(object).map(|success| Frame::Ended(i64::from(!success))),
        (ActionKind::Command, None) => {
            let command = action.command.as_deref().unwrap_or_default();
            let mut texts = result.texts().map(|text| frame(text.body.as_str(), command));
            texts.next().flatten().or_else(|| texts.last().flatten())
        }
        // What is typed into a program that runs is no command, and Codex frames the answer like a command's.
        (ActionKind::Other, None) => {
            let text = result.texts().next()?.body.as_str();
            let is_codex = ["Chunk ID: ", "Wall time: "].iter().any(|head| text.starts_with(head));
            is_codex.then(|| above(text)).flatten()
        }
        _ => None,
    }
}

/// The meaning of the error flags in a file.
struct Flags {
    /// Some result has one.
    are_used: bool,
    /// Some command is flagged as failed whose result could not be a refusal as well. If there is none, the harness may
    /// send the same flag with every result.
    tell_commands: bool,
}

impl Flags {
    fn of(messages: &[Message]) -> Flags {
        let calls = messages.iter().flat_map(Message::calls);
        let commands: HashSet<&str> = calls
            .filter(|call| call.action.kind == ActionKind::Command)
            .map(|call| &*call.id)
            .collect();
        let mut flags = Flags {
            are_used: false,
            tell_commands: false,
        };
        for result in messages.iter().flat_map(Message::tool_results) {
            flags.are_used |= result.success.is_some();
            flags.tell_commands |= result.success == Some(false)
                && commands.contains(&*result.call_id)
                && refused::by_user(result).is_none();
        }
        flags
    }

    /// Interprets a flag: a missing one means "no error" if other results have one, and "no error" says nothing about
    /// commands unless some command is flagged as failed.
    fn weigh(&self, result: &mut ToolResult, is_command: bool, format: Format) {
        let counts = self.are_used && (!is_command || self.tell_commands);
        let is_left_out = || format == Format::Anthropic && result.extra.get("is_error").is_none_or(Value::is_null);
        match result.success {
            Some(true) if !counts => note(result, None),
            None if counts && is_left_out() => note(result, Some(true)),
            _ => {}
        }
    }
}

/// Sets the success, and keeps the value of the result's own field.
fn note(result: &mut ToolResult, success: Option<bool>) {
    if success != result.success && result.extra.get(SAID).is_none() {
        let said = result.success.map_or(Value::Null, Value::Bool);
        result.extra = marked(std::mem::take(&mut result.extra), SAID, said);
    }
    result.success = success;
}

/// Returns the value of the result's own field, as it was read and is written.
pub(crate) fn said(result: &ToolResult) -> Option<bool> {
    match result.extra.get(SAID) {
        Some(said) => said.as_bool(),
        None => result.success,
    }
}

#[cfg(test)]
#[path = "success/tests.rs"]
mod tests;
