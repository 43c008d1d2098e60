//! Editors that show a file through a window: one call opens a file, and later calls edit or scroll it without naming
//! it. The open file is recorded next to a result or written below it, `(Open file: /work/a.py)` above the shell's
//! working directory. This module adds the file to such calls; `edit 5:7` is a call of such an editor, too, if it is
//! sent as a command line.

use crate::extra::OPEN;
use codelet_context::exchange::Calls;
use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall};
use std::sync::Arc;

/// The beginning of the state below a result, and of the line after it.
const STATE: &str = "(Open file: ";
const FOLDER: &str = "(Current directory: ";
/// The value if no file is open.
const NONE: &str = "n/a";
/// The number of lines from the end of a text that are searched for the state: its two lines and the shell's prompt.
const LAST: usize = 6;

/// Adds the open file to the calls of a conversation that do not name one.
pub(crate) fn name_files(messages: &mut [Message]) {
    let said = |message: &Message| message.parts.iter().any(|part| state(part, message.role).is_some());
    if !messages.iter().any(said) {
        return;
    }
    let mut open: Option<String> = None;
    let mut calls: Calls<Arc<str>, (usize, usize)> = Calls::default();
    for at in 0..messages.len() {
        for place in 0..messages[at].parts.len() {
            let part = &messages[at].parts[place];
            open = state(part, messages[at].role).unwrap_or(open);
            match part {
                Part::ToolCall(call) => calls.called(call.id.clone(), (at, place)),
                Part::ToolResult(result) => {
                    if let Some((at, place)) = calls.answered(result)
                        && let Part::ToolCall(call) = &mut messages[at].parts[place]
                    {
                        complete(call, open.as_deref());
                    }
                }
                _ => {}
            }
        }
    }
}

/// Adds the open file to a call, and sets the action of a command line that is a call of the editor.
fn complete(call: &mut ToolCall, open: Option<&str>) {
    if let Some(kind) = call.action.command.as_deref().and_then(editor) {
        call.action = Action::on(kind, open);
    }
    let is_open = |path: &str| open.is_some_and(|open| open.ends_with(path.trim_start_matches("./")));
    let is_looked_at = matches!(call.action.kind, ActionKind::Read | ActionKind::Change);
    // The state gives the whole path, and a file should have only one name.
    if is_looked_at && call.action.command.is_none() && call.action.paths.iter().all(|path| is_open(path)) {
        call.action.paths = open.map(Arc::from).into_iter().collect();
    }
}

/// Returns the action of a command line that is a call of the editor.
fn editor(line: &str) -> Option<ActionKind> {
    match line.split_whitespace().next()? {
        "open" | "goto" | "scroll_up" | "scroll_down" => Some(ActionKind::Read),
        "create" | "edit" | "insert" | "append" => Some(ActionKind::Change),
        _ => None,
    }
}

/// Returns the file open after a result or a prompt, if stated; `Some(None)` if no file is open.
fn state(part: &Part, role: Role) -> Option<Option<String>> {
    let (text, noted) = match part {
        Part::Text(text) if role == Role::User => (Some(text), None),
        Part::ToolResult(result) => (result.texts().last(), result.extra.get(OPEN)),
        _ => return None,
    };
    let file = |path: &str| (!path.is_empty() && path != NONE).then(|| path.to_owned());
    let mut below = "";
    for line in text
        .map_or("", |text| text.body.as_str())
        .trim_end()
        .lines()
        .rev()
        .take(LAST)
    {
        let path = line.strip_prefix(STATE).and_then(|rest| rest.strip_suffix(')'));
        if let Some(path) = path.filter(|_| below.starts_with(FOLDER)) {
            return Some(file(path.trim()));
        }
        below = line;
    }
    noted.and_then(|path| path.as_str()).map(file)
}

#[cfg(test)]
mod tests;
