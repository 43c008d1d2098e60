//! What the answer to a call says of it, where no status is recorded: whether it was carried out, or stopped. Who has refused
//! it, no answer says: see [`crate::refusal`].
//!
//! Agents word this as they like, so it is not known by their sentences but by what their sentences are made of: the first
//! word that tells how it went decides. Words in quotation marks, names of files, and whatever is printed behind (a diff,
//! the lines of a file) are not the tool's own, and tell nothing.

pub mod object;
mod spared;
mod table;
mod words;

use crate::message::{Action, ActionKind, ChangeKind, ToolResult};
use crate::refusal::NOT_RUN;
use crate::verdict;
use serde_json::{Map, Value};
use words::Telling;

/// Bytes and lines from the beginning of an answer in which it says how it went.
pub(crate) const HEAD: usize = 240;
const LINES: usize = 6;
/// Bytes of an answer that holds nothing but such words.
const SHORT: usize = 300;
/// Lines of a complaint in place of a file.
const COMPLAINT: usize = 3;
/// Bytes of an object that is read: a larger one holds what was asked for.
const OBJECT: usize = 16 * 1024;
/// Objects within objects that are looked into.
const DEEPEST: usize = 2;
/// Fields of an object that hold what was printed, or another object.
pub(crate) const PRINTED: &[&str] = &["stderr", "stdout", "output", "result", "response", "content", "text"];

/// What an answer says of its call, in its own words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Told {
    /// How it went.
    pub done: Option<bool>,
    /// It was not carried out to its end: it was interrupted, or its answer is lost.
    pub stopped: bool,
    /// It had not begun when the user interrupted.
    pub is_unbegun: bool,
}

/// What a text says of the call that it answers. A [`crate::body::Body`] remembers it, so that it is read once.
pub(crate) fn told(text: &str) -> Told {
    Told {
        done: tells(text, 0),
        stopped: says_it_has_stopped(text.trim()),
        is_unbegun: text.trim() == NOT_RUN,
    }
}

/// Whether a call was carried out: by the tool's own word, or else unless its answer says that it was not.
///
/// What a command prints is for [`crate::verdict`] to judge; of the text of a file only the very beginning can be the tool's.
pub(crate) fn is_done(kind: ActionKind, result: &ToolResult) -> bool {
    result.success.unwrap_or_else(|| {
        if result.error.is_some() || was_refused(result) {
            return false;
        }
        let Some(text) = result.texts().next() else { return true };
        let told = || text.body.told().done != Some(false);
        let text = text.body.as_str();
        match kind {
            ActionKind::Command => true,
            ActionKind::Change | ActionKind::Todo | ActionKind::Ask => told(),
            _ if text.trim().len() <= SHORT && is_one_line_or_object(text) => told(),
            // What is longer is what was asked for, however it begins.
            _ => text.len() > SHORT || text.lines().count() > COMPLAINT || !begins_with_complaint(text),
        }
    })
}

/// Whether an [action was done](is_done), and has done to files what it was to do. Of one that takes them away, moves them or
/// takes back what was done to them, its answer may say that they stay as they are.
pub(crate) fn has_done(action: &Action, result: &ToolResult) -> bool {
    let is_whole = action.kind == ActionKind::Change && action.change != ChangeKind::Writes;
    let mut texts = result.texts().map(|text| text.body.as_str());
    is_done(action.kind, result) && !(is_whole && texts.next().is_some_and(spared::spares))
}

/// Whether a call that did not succeed was not carried out to its end: it was refused or interrupted, or its answer is lost.
pub fn was_refused(result: &ToolResult) -> bool {
    let told = || result.texts().next().map(|text| text.body.told());
    result.success != Some(true)
        && (result.refusal.is_some() || told().is_some_and(|told| told.stopped || told.is_unbegun))
}

/// Whether a call that [was refused](was_refused) may have begun: it was interrupted, or its answer is lost.
pub(crate) fn was_stopped(result: &ToolResult) -> bool {
    let mut texts = result.texts();
    result.refusal.is_none() && was_refused(result) && texts.next().is_some_and(|text| text.body.told().stopped)
}

/// Whether an answer says in its own words that the call has failed, whatever the flag beside it says. For calls whose answers
/// tell of them, and of nothing that was asked for.
pub fn denies(kind: ActionKind, result: &ToolResult) -> bool {
    let Some(text) = result.texts().next() else {
        return false;
    };
    let fails = || text.body.told().done == Some(false);
    match kind {
        ActionKind::Change => fails(),
        // What is to be done may tell of anything.
        ActionKind::Todo => text.body.len() <= SHORT && is_one_line_or_object(text.body.as_str()) && fails(),
        _ => false,
    }
}

/// Harnesses report as an error of the tool that it was stopped, in words of their own.
fn says_it_has_stopped(text: &str) -> bool {
    const REFUSALS: &[&str] = &[
        "[request interrupted",
        "[interrupted",
        "[no result",
        "[tool call interrupted",
        "[operation cancelled]",
        "command was cancelled",
    ];
    // What had begun is told so of behind what it had printed.
    const STOPPED: &[&str] = &["command aborted", "command cancelled", "operation aborted"];
    // It is all that a harness says then. A program can print the same before the rest of its output, which counts.
    if !text.contains('\n') && REFUSALS.iter().any(|with| begins(text, with)) {
        return true;
    }
    let (printed, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let ends = |with: &&str| last.trim_end_matches('.').eq_ignore_ascii_case(with);
    // A program that has failed may say the same at its end, and what failed is known all the same.
    STOPPED.iter().any(ends) && !verdict::counts_failures(printed)
}

fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(with))
}

fn is_one_line_or_object(text: &str) -> bool {
    let text = text.trim();
    !text.contains('\n') || text.starts_with('{')
}

/// Whether the text of a file is no such text.
fn begins_with_complaint(text: &str) -> bool {
    const COMPLAINTS: &[&str] = &[
        "error",
        "<tool_use_error",
        "<error",
        "failed",
        "failure",
        "invalid",
        "cannot",
        "could not",
        "no such",
    ];
    let text = text.trim_start();
    COMPLAINTS.iter().any(|with| {
        let behind = text.get(with.len()..).unwrap_or_default();
        begins(text, with) && behind.starts_with([' ', ':', '>', '\n'])
    })
}

/// The object that an answer consists of or begins with.
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim_start();
    if !text.starts_with('{') || text.len() > OBJECT {
        return None;
    }
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
    match first {
        Some(Ok(Value::Object(map))) => Some(map),
        _ => None,
    }
}

/// An answer without the lines before it in which a harness tells of a hook that runs after the call: by then it is carried
/// out, whatever the hook says.
fn behind_hooks(text: &str) -> &str {
    /// Words before the name: `Hook PostToolUse:Edit blocked: lint failed`.
    const BEFORE: usize = 2;
    let mut rest = text;
    loop {
        let line = rest.trim_start().lines().next().unwrap_or_default();
        let is_after = |word: &str| {
            let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
            ["PostToolUse", "post-tool-use", "post_tool_use"]
                .iter()
                .any(|name| word.starts_with(name))
        };
        if !line.split_whitespace().take(BEFORE + 1).any(is_after) {
            return rest;
        }
        rest = rest.trim_start()[line.len()..].trim_start_matches(['\r', '\n']);
    }
}

/// How it went, as an answer says that may be an object.
fn tells(text: &str, depth: usize) -> Option<bool> {
    let text = behind_hooks(text);
    match object(text) {
        Some(map) => object_tells(&map, depth),
        None => lines_tell(text),
    }
}

/// How it went, as the first lines say of which one does.
fn lines_tell(text: &str) -> Option<bool> {
    let mut end = text.len() - text.trim_start().len() + HEAD;
    end = text.floor_char_boundary(end.min(text.len()));
    let lines = text[..end].lines().filter(|line| !line.trim().is_empty());
    let mut words = Vec::new();
    let mut is_doubtful = false;
    for line in lines.take(LINES) {
        if is_printed(line) || begins_diagnostics(line) {
            break;
        }
        let line = line.trim();
        if line.starts_with(['❌', '✗', '✘', '✖', '⛔', '🚫']) || is_error_tag(line) {
            return Some(false);
        }
        if line.starts_with(['✅', '✓', '✔']) {
            return Some(true);
        }
        words::split(line, &mut words);
        match words::words_tell(&words) {
            Telling::Of(how) => return Some(how),
            Telling::Doubt => is_doubtful = true,
            Telling::Nothing => {}
        }
        // What stands below such a line is what the file says.
        if line.ends_with(':') {
            break;
        }
    }
    is_doubtful.then_some(false)
}

fn object_tells(map: &Map<String, Value>, depth: usize) -> Option<bool> {
    // What is said of a failure, or in what the answer is wrapped.
    object::tells(map).or_else(|| inner(map, depth))
}

/// What the first of the values says in which answers are wrapped.
fn inner(map: &Map<String, Value>, depth: usize) -> Option<bool> {
    if depth >= DEEPEST {
        return None;
    }
    let names = ["message"].iter().chain(PRINTED);
    names.filter_map(|name| map.get(*name)).find_map(|value| match value {
        Value::String(value) => tells(value, depth + 1),
        Value::Object(map) => object_tells(map, depth + 1),
        _ => None,
    })
}

/// Whether a line is no word of the tool: a diff, a fence, or a line of a file, with its number or indented.
fn is_printed(line: &str) -> bool {
    const HEADS: &[&str] = &[
        "```", "~~~", "@@", "diff ", "--- ", "+++ ", "Index: ", "*** ", "+", "|", "  ", "\t", "//", "/*", "#!", "<?",
        "<!",
    ];
    let trimmed = line.trim_end();
    let behind_number = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    HEADS.iter().any(|head| line.starts_with(head))
        || trimmed.ends_with(['{', '}', ';', ','])
        || behind_number.len() < trimmed.len() && behind_number.starts_with(['\t', '|', '→', ':'])
        || trimmed
            .strip_prefix('-')
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == ' '))
}

/// What a linter says of the file as it is now stands below.
fn begins_diagnostics(line: &str) -> bool {
    let is_tag = line.trim_start().starts_with('<');
    is_tag
        && ["diagnostic", "problem", "lint", "notice"]
            .iter()
            .any(|name| line.contains(name))
}

/// `<error>`, `<error_details>`, `<tool_use_error>` and the like.
fn is_error_tag(line: &str) -> bool {
    let name = line.strip_prefix('<').map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        rest[..end.unwrap_or(rest.len())].to_lowercase()
    });
    name.is_some_and(|name| {
        name == "error" || name.starts_with("error_") || name.ends_with("_error") || name.ends_with("-error")
    })
}

#[cfg(test)]
mod tests;
