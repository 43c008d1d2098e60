//! What is known of the success of tools when a whole conversation has been read.
//!
//! A flag says that the tool worked, and for a command that is not whether the program did: many harnesses send the same
//! flag with every result, and the exit status in the text. What the file said is written back as it was. What counts of a
//! text, and against a flag, is in `docs/decisions/0020-statuses-in-text.md`.
//!
//! Nor is it worth more of another call where the answer says of itself that the call was refused, or did nothing: there are
//! harnesses whose flag says that the tool has answered, whatever it did.

use crate::extra::marked;
use crate::format::Format;
use crate::manner::{Manner, manners};
use crate::objects;
use codelet_context::answer::denies;
use codelet_context::answer::object::{flag, has_error, tells};
use codelet_context::command::CommandLine;
use codelet_context::exchange::Calls;
use codelet_context::exit_status::of_object;
use codelet_context::message::{ActionKind, Message, Part, ToolCall, ToolResult};
use codelet_context::unstated;
use flags::Flags;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

mod flags;

/// On an answer whose success is known from elsewhere: what its own field said.
const SAID: &str = "codelet.said";

/// Completes what a reader has found.
pub(crate) fn tell(messages: &mut [Message], format: Format) {
    // Elsewhere what is known comes from a status already, and only what is missing is looked for.
    let is_flag = matches!(format, Format::Anthropic | Format::QwenCode | Format::Corpus);
    let is_in_text = matches!(
        format,
        Format::Anthropic | Format::Openai | Format::Responses | Format::Codex
    );
    let manners = manners(messages);
    let flags = is_flag.then(|| Flags::of(messages, |call| Called::of(call, &manners)));
    if format == Format::Anthropic {
        fill_flags(messages, flags.is_some_and(|flags| flags.are_left_out));
    }
    // Whose flags tell a command that failed from one that did not, says so by them.
    let are_statuses = flags.is_some_and(|flags| flags.are_statuses) && flags_a_command(messages);
    let mut calls: Calls<Arc<str>, Called> = Calls::default();
    for message in messages {
        for part in &mut message.parts {
            match part {
                Part::ToolCall(call) => calls.called(call.id.clone(), Called::of(call, &manners)),
                Part::ToolResult(result) => {
                    let called = calls.of(result);
                    // The form of Gemini has no flag: what is known of an answer says the answer itself.
                    if format != Format::Gemini && called.is_some_and(|called| denies(called.kind, result)) {
                        doubt(result);
                    }
                    let object = if is_in_text { objects::of(result) } else { None };
                    let success = match &object {
                        Some(object) => said_in(object, called),
                        None => called.and_then(|called| stated(result, called)),
                    };
                    let is_settled = are_statuses
                        && called
                            .is_some_and(|called| called.kind == ActionKind::Command && !called.manner.states_always());
                    if result.success.is_none() || is_flag && !is_settled && result.success == Some(true) {
                        learn(result, success);
                    }
                    let is_command = called.is_some_and(|called| called.kind == ActionKind::Command);
                    if is_command && success.is_none() && flags.is_some_and(|flags| !flags.are_statuses) {
                        doubt(result);
                    }
                    if result.success.is_none() && object.is_none() && called.is_some_and(|called| called.fails(result))
                    {
                        learn(result, Some(false));
                    }
                    if let Some(object) = &object {
                        let is_program =
                            called.is_some_and(|called| called.manner.in_objects) && of_object(object).is_some();
                        objects::take_apart(result, object, is_program);
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
    command: Option<CommandLine>,
    /// How its tool answers.
    manner: Manner,
}

impl Called {
    fn of(call: &ToolCall, manners: &HashMap<Arc<str>, Manner>) -> Self {
        Called {
            kind: call.action.kind,
            command: call.action.command.clone(),
            manner: manners.get(&call.tool).cloned().unwrap_or_default(),
        }
    }

    /// Whether it ran a command that says in its answer why it could not do what it was to do.
    fn fails(&self, result: &ToolResult) -> bool {
        let line = self.command.as_ref().filter(|_| self.kind == ActionKind::Command);
        let said = || result.texts().next().map_or("", |text| text.body.as_str());
        line.is_some_and(|line| unstated::has_failed(line, said()))
    }
}

/// Whether any command is flagged as failed.
fn flags_a_command(messages: &[Message]) -> bool {
    let calls = messages.iter().flat_map(Message::calls);
    let commands: HashSet<&str> = calls
        .filter(|call| call.action.kind == ActionKind::Command)
        .map(|call| &*call.id)
        .collect();
    let mut results = messages.iter().flat_map(Message::tool_results);
    results.any(|result| result.success == Some(false) && commands.contains(&*result.call_id))
}

/// What an object says that is a whole answer. It may be what was asked for, and then says nothing of the tool: what a
/// command has printed, or the text of a file.
fn said_in(object: &Map<String, Value>, called: Option<&Called>) -> Option<bool> {
    let called = called?;
    let in_objects = called.manner.in_objects;
    match called.kind {
        ActionKind::Command | ActionKind::Read | ActionKind::Search if !in_objects => None,
        ActionKind::Command => match (flag(object), of_object(object)) {
            (flag, Some(status)) => Some(flag != Some(false) && status == 0),
            (flag, None) => flag,
        },
        ActionKind::Read | ActionKind::Search if has_error(object) => Some(false),
        ActionKind::Read | ActionKind::Search => flag(object),
        // Whoever asks for a change is told of it, and of nothing else.
        ActionKind::Change => tells(object),
        _ if in_objects => tells(object),
        _ => None,
    }
}

/// The flag may be left out where it is false. A file that has it anywhere is by somebody who knows it; of commands, one that
/// has it on them.
fn fill_flags(messages: &mut [Message], of_commands: bool) {
    let is_known = messages
        .iter()
        .flat_map(Message::tool_results)
        .any(|result| result.success.is_some());
    if !is_known {
        return;
    }
    let mut calls: Calls<Arc<str>, bool> = Calls::default();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            Part::ToolCall(call) => calls.called(call.id.clone(), call.action.kind == ActionKind::Command),
            Part::ToolResult(result)
                if result.success.is_none()
                    && (of_commands || calls.of(result) != Some(&true))
                    && result.extra.get("is_error").is_none_or(Value::is_null) =>
            {
                learn(result, Some(true));
            }
            _ => {}
        }
    }
}

/// What the harness states in the text of a command's result.
fn stated(result: &ToolResult, called: &Called) -> Option<bool> {
    if called.kind != ActionKind::Command {
        return None;
    }
    let command = called.command.as_deref().unwrap_or_default();
    called.manner.status(result, command).map(|status| status == 0)
}

fn learn(result: &mut ToolResult, success: Option<bool>) {
    if success.is_some() && success != result.success {
        note(result, success);
    }
}

/// A flag that says that there was no error says nothing.
fn doubt(result: &mut ToolResult) {
    if result.success == Some(true) {
        note(result, None);
    }
}

/// Sets what is known of the success, and keeps what the field said.
fn note(result: &mut ToolResult, success: Option<bool>) {
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
