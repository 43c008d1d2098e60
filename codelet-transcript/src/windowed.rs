//! Editors that show a file through a window: one call opens a file, and those that follow edit or scroll it without naming
//! it. Which file is open is recorded beside an answer or stands below it, `(Open file: /work/a.py)` above the folder that the
//! shell is in. Here such calls are given the file that they mean; `edit 5:7` is a call of such an editor, too, where it is sent as
//! a command line.

use crate::extra::OPEN;
use codelet_context::exchange::Calls;
use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall};
use std::sync::Arc;

/// How the state below an answer begins, and the line under it.
const STATE: &str = "(Open file: ";
const FOLDER: &str = "(Current directory: ";
/// What stands there of no file.
const NONE: &str = "n/a";
/// Lines from the end of a text among which its state stands: the two lines of it and the shell's prompt.
const LAST: usize = 6;

/// Gives the calls of a conversation that leave out their file the one that is open.
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

/// Gives a call the file that it means, and a command line that is a call of the editor what that does.
fn complete(call: &mut ToolCall, open: Option<&str>) {
    if let Some(kind) = call.action.command.as_ref().and_then(|line| editor(line.as_str())) {
        call.action = Action::on(kind, open);
    }
    let is_open = |path: &str| open.is_some_and(|open| open.ends_with(path.trim_start_matches("./")));
    let is_looked_at = matches!(call.action.kind, ActionKind::Read | ActionKind::Change);
    // Below it stands the whole path, and a file is told of by one name.
    if is_looked_at && call.action.command.is_none() && call.action.paths.iter().all(|path| is_open(path)) {
        call.action.paths = open.map(Arc::from).into_iter().collect();
    }
}

/// What a command line does that is a call of the editor.
fn editor(line: &str) -> Option<ActionKind> {
    match line.split_whitespace().next()? {
        "open" | "goto" | "scroll_up" | "scroll_down" => Some(ActionKind::Read),
        "create" | "edit" | "insert" | "append" => Some(ActionKind::Change),
        _ => None,
    }
}

/// The file that is open behind an answer or a prompt, where it says so; `Some(None)` where none is.
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
