//! Tools that do something to files as wholes: they take them away, give them another name, or take back what was done to
//! them.

use super::names::{short, words};
use super::{CONTENTS, ELSEWHERE, PIECES, REPLACED, change, has_any, parameter, patch, paths};
use codelet_context::message::{Action, ActionKind, ChangeKind};
use serde_json::{Map, Value};

/// What a tool does with a file that it takes away, …
pub(super) const REMOVES: &[&str] = &["delete", "erase", "remove", "rm", "unlink"];
/// … to which it gives another name, …
const MOVES: &[&str] = &["move", "mv", "rename"];
/// … or of which it takes back what was done.
const UNDOES: &[&str] = &["undo"];
/// What it does that to.
const FILES: &[&str] = &["file", "files", "path", "paths"];
const CHANGES: &[&str] = &["change", "changes", "edit", "edits", "write"];
/// Words beside these that leave it at that. Any other (`lines`, `symbol`, `from`) may say that it is about a part of a file.
const BESIDE: &[&str] = &[
    "a",
    "all",
    "and",
    "directory",
    "disk",
    "existing",
    "folder",
    "fs",
    "last",
    "latest",
    "local",
    "many",
    "multiple",
    "one",
    "or",
    "project",
    "repo",
    "single",
    "the",
    "tool",
    "workspace",
];
/// Of what the name of a server is made whose files are those that are here. Any other may keep an index, secrets or a store
/// under paths that look the same.
const HERE: &[&str] = &[
    "acp",
    "commander",
    "default",
    "desktop",
    "developer",
    "edit",
    "editor",
    "file",
    "files",
    "filesystem",
    "fs",
    "functions",
    "ide",
    "jetbrains",
    "local",
    "mcp",
    "serena",
    "server",
    "system",
    "text",
    "tools",
    "vscode",
];
/// What begins the name of a parameter for the name that a file has, …
const FROM: &[&str] = &["from", "old", "original", "source", "src"];
/// … and of one for the name that it gets.
const TO: &[&str] = &["dest", "destination", "dst", "new", "target", "to"];
/// What else may be said there.
const NAMES: &[&str] = &["file", "filename", "filepath", "name", "path"];

/// What the name of a tool says that it does to files as wholes.
pub(super) fn by_words(name: &str) -> Option<ChangeKind> {
    let words = words(name);
    let is_one = |lists: &[&[&str]]| {
        let is_in = |word: &String| lists.iter().any(|list| list.contains(&word.as_str()));
        words.iter().all(is_in)
    };
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    // One that only removes or undoes needs no noun.
    let is_bare = words.len() == 1;
    if has(REMOVES) && (is_bare || has(FILES)) && is_one(&[REMOVES, FILES, BESIDE]) {
        return Some(ChangeKind::Removes);
    }
    if has(MOVES) && has(FILES) && is_one(&[MOVES, FILES, BESIDE]) {
        return Some(ChangeKind::Moves);
    }
    let is_undo = has(UNDOES) && (is_bare || has(CHANGES)) && is_one(&[UNDOES, CHANGES, FILES, BESIDE]);
    is_undo.then_some(ChangeKind::Undoes)
}

/// Whether a tool that is [named for it](by_words) does that to the files that are here: it is of no server, or of one for
/// files, and then it says itself that it is about such.
pub(super) fn is_here(tool: &str) -> bool {
    let own = words(short(tool));
    let is_of = |word: &String, lists: &[&[&str]]| lists.iter().any(|list| list.contains(&word.as_str()));
    let is_own = |word: &String| is_of(word, &[REMOVES, MOVES, UNDOES, FILES, CHANGES, BESIDE, HERE]);
    is_served_here(tool) && (own.len() > 1 || short(tool) == tool) && own.iter().all(is_own)
}

/// Whether a tool is of no server, or of one for files.
pub(super) fn is_served_here(tool: &str) -> bool {
    let server = &tool[..tool.len() - short(tool).len()];
    words(server).iter().all(|word| HERE.contains(&word.as_str()))
}

/// What a tool that is named for this does with these parameters. Where they speak of a part of a file it is a change like any
/// other, and where they speak of a file that is not here, none.
pub(super) fn action(kind: ChangeKind, parameters: &Map<String, Value>) -> Action {
    if has_any(parameters, ELSEWHERE) || is_tried(parameters) {
        return Action::default();
    }
    match kind {
        ChangeKind::Moves => moved(parameters).unwrap_or_default(),
        ChangeKind::Removes | ChangeKind::Undoes if is_of_all(parameters) => {
            Action::on(ActionKind::Change, paths(parameters)).changing(kind)
        }
        _ => change(parameters),
    }
}

/// Whether parameters are of files and of no part of them.
pub(super) fn is_of_all(parameters: &Map<String, Value>) -> bool {
    let of_part = [PIECES, REPLACED, CONTENTS]
        .iter()
        .any(|names| has_any(parameters, names));
    !of_part && patch(parameters).is_none() && !parameters.values().any(Value::is_number)
}

/// Whether nothing is to be done yet.
fn is_tried(parameters: &Map<String, Value>) -> bool {
    parameter(parameters, "dry_run") == Some(&Value::Bool(true))
}

/// A file that gets another name.
pub(super) fn moved(parameters: &Map<String, Value>) -> Option<Action> {
    let named = |which: &[&str]| {
        let texts = parameters.iter().filter_map(move |(name, value)| {
            let words = words(name);
            let (first, rest) = words.split_first()?;
            let is_name = rest.iter().all(|word| NAMES.contains(&word.as_str()));
            let is_it = is_name && which.contains(&first.as_str());
            let text = value
                .as_str()
                .filter(|text| !text.trim().is_empty() && !text.contains('\n'))?;
            is_it.then_some((words.last().is_some_and(|last| last == "name"), text))
        });
        texts.collect::<Vec<(bool, &str)>>()
    };
    let from = match named(FROM)[..] {
        [(_, from)] => from,
        [] => match paths(parameters)[..] {
            [path] => path,
            _ => return None,
        },
        _ => return None,
    };
    let mut to = named(TO);
    to.retain(|(_, to)| *to != from);
    let [(is_name, to)] = to[..] else {
        return None;
    };
    // A name alone is one in the same folder.
    let folder = from.rfind(['/', '\\']).filter(|_| is_name && !to.contains(['/', '\\']));
    let to = folder.map_or_else(|| to.to_owned(), |end| format!("{}{to}", &from[..=end]));
    Some(Action::on(ActionKind::Change, [from, &to]).changing(ChangeKind::Moves))
}
