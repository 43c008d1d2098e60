//! Editors that show a file through a window: one call opens a file, and those that follow edit or scroll it without naming
//! it. Which file is open is said below every answer, `(Open file: /work/a.py)` above the folder that the shell is in, or in
//! the head of what is shown, `[File: a.py (94 lines total)]`.
//!
//! Here such calls are given the file that they mean. Some agents send the editor's words as a command line, `edit 5:7` with
//! the new lines below it; where such an editor is seen at work, that line is the call of it.

use crate::extra::OPEN;
use codelet_context::exchange::Calls;
use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
use std::collections::HashMap;
use std::sync::Arc;

/// How the state below an answer begins, and the line under it.
const STATE: &str = "(Open file: ";
const FOLDER: &str = "(Current directory: ";
/// What stands there of no file.
const NONE: &str = "n/a";
/// How the head of a window begins, and how it ends behind the number of lines.
const HEAD: &str = "[File: ";
const TOTAL: &str = " lines total)]";
/// Lines from the end of a text among which its state stands: the two lines of it and the shell's prompt.
const LAST: usize = 6;

/// Gives the calls of a conversation that leave out their file the one that is open.
pub(crate) fn name_files(messages: &mut [Message]) {
    let is_windowed = messages.iter().any(tells_state);
    let (mut open, mut spelled): (Option<String>, HashMap<String, Arc<str>>) = Default::default();
    let mut calls: Calls<Arc<str>, (usize, usize)> = Calls::default();
    for at in 0..messages.len() {
        for place in 0..messages[at].parts.len() {
            match &messages[at].parts[place] {
                Part::ToolCall(call) => calls.called(call.id.clone(), (at, place)),
                Part::Text(text) if messages[at].role == Role::User => {
                    open = state(text.body.as_str()).unwrap_or(open);
                }
                Part::ToolResult(result) => {
                    let (called, said, shown) = (calls.answered(result), said(result), shown(result));
                    let noted = noted(result);
                    let call = called.and_then(|(at, place)| match &mut messages[at].parts[place] {
                        Part::ToolCall(call) => Some(call),
                        _ => None,
                    });
                    // What a program prints may look like the head of a window.
                    let shown = shown.filter(|_| call.as_deref().is_some_and(|call| looks_or_edits(call, is_windowed)));
                    let is_noted = said.is_none() && noted.is_some();
                    open = said.or(shown.map(Some)).unwrap_or(open);
                    if let Some(call) = call {
                        // An edit leaves the file open that it was made in.
                        let file = if is_noted { noted } else { open.clone() };
                        let path = file.as_deref().map(|path| spelled.get(path).map_or(path, |path| path));
                        complete(call, path, is_windowed);
                        spell(&call.action, open.as_deref(), &mut spelled);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether a message says which file is open, if any.
fn tells_state(message: &Message) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text(text) => message.role == Role::User && state(text.body.as_str()).is_some(),
        Part::ToolResult(result) => said(result).is_some() || result.extra.get(OPEN).is_some(),
        _ => false,
    })
}

/// Notes how the call names the file that it opens: below it stands the whole path, and a file is told of by one name.
fn spell(action: &Action, open: Option<&str>, spelled: &mut HashMap<String, Arc<str>>) {
    if let (Some(open), [path]) = (open, action.paths.as_slice())
        && open
            .strip_suffix(path.trim_start_matches("./"))
            .is_some_and(|folder| folder.ends_with('/'))
    {
        spelled.entry(open.to_owned()).or_insert_with(|| path.clone());
    }
}

fn looks_or_edits(call: &ToolCall, is_windowed: bool) -> bool {
    match call.action.kind {
        ActionKind::Read | ActionKind::Change => true,
        _ => is_windowed && edits(call, None).is_some(),
    }
}

/// Gives a call the file that it means, and a command line that is a call of the editor what that does.
fn complete(call: &mut ToolCall, open: Option<&str>, is_windowed: bool) {
    match call.action.kind {
        ActionKind::Read | ActionKind::Change if call.action.paths.is_empty() => {
            call.action.paths = open.map(Arc::from).into_iter().collect();
        }
        ActionKind::Command if is_windowed => {
            if let Some(action) = edits(call, open) {
                call.action = action;
            }
        }
        _ => {}
    }
}

/// What a command line does that is a call of the editor.
fn edits(call: &ToolCall, open: Option<&str>) -> Option<Action> {
    let head = call
        .action
        .command
        .as_ref()?
        .as_str()
        .trim_start()
        .lines()
        .next()?
        .trim_end();
    let (word, rest) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
    let on_open = |kind| Action::on(kind, open);
    match word {
        "open" => named(rest).map(|path| Action::on(ActionKind::Read, [path])),
        "create" => named(rest).map(|path| Action::on(ActionKind::Change, [path])),
        "goto" | "scroll_up" | "scroll_down" => Some(on_open(ActionKind::Read)),
        "edit" | "insert" | "append" => Some(on_open(ActionKind::Change)),
        _ => None,
    }
}

/// The file that is named first.
fn named(words: &str) -> Option<&str> {
    let words = words.trim_start();
    let quote = words.chars().next().filter(|c| matches!(c, '"' | '\''));
    let path = match quote {
        Some(quote) => words[1..].split(quote).next()?,
        None => words.split_whitespace().next()?,
    };
    (!path.is_empty()).then_some(path)
}

/// The file that is open behind an answer, where the state below it says so; `Some(None)` where none is.
fn said(result: &ToolResult) -> Option<Option<String>> {
    state(result.texts().last()?.body.as_str())
}

/// The file that was open when the call was made, or behind it: recorders differ in when they note it. What edits and
/// scrolls leaves the same file open.
fn noted(result: &ToolResult) -> Option<String> {
    file(result.extra.get(OPEN)?.as_str()?)
}

/// The file that an answer shows through a window.
fn shown(result: &ToolResult) -> Option<String> {
    result.texts().last().and_then(|text| file(window(text.body.as_str())?))
}

/// What the lines at the end of a text say.
fn state(text: &str) -> Option<Option<String>> {
    let mut below = "";
    for line in text.trim_end().lines().rev().take(LAST) {
        if let Some(path) = line.strip_prefix(STATE).and_then(|rest| rest.strip_suffix(')'))
            && below.starts_with(FOLDER)
        {
            return Some(file(path));
        }
        below = line;
    }
    None
}

/// The file of a window that is all of an answer, or all but a sentence above it.
fn window(text: &str) -> Option<&str> {
    let is_below = |line: &str| {
        line.strip_prefix(HEAD)?
            .strip_suffix(TOTAL)?
            .rsplit_once(" (")
            .map(|(path, _)| path.len())
    };
    let line = text.lines().take(LAST).find(|line| is_below(line).is_some())?;
    line.get(HEAD.len()..HEAD.len() + is_below(line)?)
}

fn file(path: &str) -> Option<String> {
    let path = path.trim();
    (!path.is_empty() && path != NONE).then(|| path.to_owned())
}

#[cfg(test)]
mod tests;
