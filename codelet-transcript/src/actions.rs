//! What the tools of the known agents do, in the engine's notions: a table from names to actions.
//!
//! A name is looked up without regard to case and to how its words are joined, first as it stands, then without what a tool
//! server or namespace puts before it. What no row knows is judged by its parameters, and then by the words of its name.

mod names;
mod wholes;
mod words;

use codelet_context::command::is_key;
use codelet_context::message::{Action, ActionKind, ChangeKind};
use names::{Does, by_words, ends, is_same, row, short};
use serde_json::{Map, Value};
pub(crate) use words::*;

/// Whether a tool of this name takes away the files that these parameters name, and no part of them.
pub(crate) fn removes_wholes(name: &str, parameters: &Map<String, Value>) -> bool {
    wholes::by_words(short(name)) == Some(ChangeKind::Removes) && wholes::is_of_all(parameters)
}

/// Whether what a tool takes away by that name, or by this verb, are files that are here.
pub(crate) fn takes_from_here(tool: &str, name: &str) -> bool {
    wholes::is_served_here(tool) && wholes::is_here(name)
}

/// Names of the parameter that holds a file's path, the likeliest first. Names are the same however their words are joined.
const PATHS: &[&str] = &[
    "file_path",
    "path",
    "file_name",
    "target_file",
    "target_file_path",
    "absolute_path",
    "notebook_path",
    "target_notebook",
    "relative_workspace_path",
    "relative_path",
    "file",
];
/// Names of parameters that hold several paths: strings, or objects with a path of their own.
const PATH_LISTS: &[&str] = &[
    "paths",
    "files",
    "file",
    "file_paths",
    "edits",
    "replacements",
    "operations",
];
/// Names of the parameter that holds a command line.
const COMMANDS: &[&str] = &["command", "cmd", "commands", "script", "command_line"];
/// Names of the parameter that holds the folder which a command line is run in.
const FOLDERS: &[&str] = &[
    "workdir",
    "cwd",
    "working_directory",
    "working_dir",
    "work_dir",
    "dir_path",
    "directory",
];
/// Names of the parameter that says that the line is none, but what is typed into the program that runs.
const INPUTS: &[&str] = &["is_input", "as_input"];
/// Names of parameters that may hold a patch.
const PATCHES: &[&str] = &["input", "patch", "patch_text", "diff", "command"];
/// Names of parameters that only a tool which replaces text has.
const REPLACED: &[&str] = &[
    "old_string",
    "old_str",
    "old_text",
    "old_content",
    "new_str",
    "replacement",
    "repl",
    "code_edit",
];
/// Names of parameters that together say what is replaced by what.
const REPLACED_BY: &[[&str; 2]] = &[["find", "replace"], ["search", "replace"]];
/// Names of parameters that hold what a file is to contain.
const CONTENTS: &[&str] = &["content", "contents", "file_text", "file_content", "new_content"];
/// Names of parameters that say which piece of a file is wanted.
const PIECES: &[&str] = &["offset", "limit", "view_range", "start_line", "end_line", "line_count"];
/// Names of parameters of a file that is elsewhere: the path is none of the project's.
const ELSEWHERE: &[&str] = &["owner", "repo", "repository", "url", "bucket", "project_id", "file_id"];
/// What an editor is told to do in its parameter `command`.
const EDITS: &[&str] = &["view", "create", "str_replace", "insert", "undo_edit"];

/// Paths taken from one call at most.
const MOST_PATHS: usize = 200;

/// How the text begins that `apply_patch` takes.
const PATCH_HEAD: &str = "*** Begin Patch";

/// What a call of this tool with these parameters does. A name that no row knows is judged by its parameters.
pub fn action(tool: &str, parameters: &Map<String, Value>) -> Action {
    let does = row(tool).or_else(|| {
        // What is left of a longer name may be a common word, so it counts only with the parameters that go with it.
        let fitting = |does: &Does| fits(*does, parameters);
        row(short(tool)).filter(fitting).or_else(|| ends(tool).find(fitting))
    });
    match does {
        Some(Does::Read) => read(parameters),
        Some(Does::Change) => change(parameters),
        Some(Does::Whole(_)) if !wholes::is_here(tool) => Action::default(),
        Some(Does::Whole(kind)) => wholes::action(kind, parameters),
        Some(Does::Editor) => edit(parameters),
        Some(Does::Command) => run(parameters).unwrap_or_else(input),
        Some(Does::Search) => Action {
            kind: ActionKind::Search,
            ..Action::default()
        },
        Some(Does::Todo) => Action {
            kind: ActionKind::Todo,
            ..Action::default()
        },
        Some(Does::Ask | Does::HandOver) => Action {
            kind: ActionKind::Ask,
            ..Action::default()
        },
        Some(Does::Other) => Action::default(),
        None => by_shape(parameters)
            .filter(|action| goes_with(action.kind, tool, parameters))
            .or_else(|| by_name(tool, parameters))
            .unwrap_or_default(),
    }
}

/// Whether an agent is known that has a tool of this name.
pub(crate) fn is_own(tool: &str) -> bool {
    row(tool).is_some()
}

/// Whether a name stands behind that of a server.
pub(crate) fn is_of_server(tool: &str) -> bool {
    short(tool) != tool
}

/// Whether an agent is known that asks the user before its tool of this name does anything, or by it, and tells itself what came of
/// it: no program, page or server has a say in the answer.
pub(crate) fn asks_and_prints_nothing(tool: &str) -> bool {
    let does = [Does::Change, Does::Editor, Does::Ask, Does::HandOver];
    row(tool).is_some_and(|row| does.contains(&row) || matches!(row, Does::Whole(_)))
}

/// Whether it is known of a tool what it does, if only that the engine has no notion of it.
pub(crate) fn is_known(tool: &str) -> bool {
    row(tool).is_some() || row(short(tool)) == Some(Does::Other)
}

/// What a call does that is named by a word among its parameters, or whose parameters were wrapped: only where name and
/// parameters go together, since the word may be anything.
pub(crate) fn named(name: &str, parameters: &Map<String, Value>) -> Option<Action> {
    let file = format!("{name}_file");
    let is_of = |does: &Does| !matches!(does, Does::Ask | Does::HandOver | Does::Other) && fits(*does, parameters);
    if !is_here(parameters.keys().map(String::as_str)) {
        return None;
    }
    match row(name).or_else(|| row(short(name))).filter(is_of) {
        Some(_) => Some(action(name, parameters)),
        None => by_shape(parameters)
            .filter(|action| goes_with(action.kind, name, parameters))
            .or_else(|| by_name(name, parameters).or_else(|| by_name(&file, parameters))),
    }
}

/// Names of the parameters that hold what a change takes away.
pub(crate) fn replaced(parameters: &Map<String, Value>) -> Vec<&str> {
    names::replaced(parameters)
}

/// Whether a tool of this name may do what its parameters read like.
fn goes_with(kind: ActionKind, tool: &str, parameters: &Map<String, Value>) -> bool {
    match kind {
        ActionKind::Change => changes(tool, parameters),
        // Whoever deletes a piece of a file names it as others do that read one.
        ActionKind::Read => wholes::by_words(short(tool)).is_none(),
        _ => true,
    }
}

/// Whether a tool whose parameters read like those of a change makes one, of a file that is here.
fn changes(tool: &str, parameters: &Map<String, Value>) -> bool {
    let tries = parameters.get("dry_run").or_else(|| parameters.get("dryRun"));
    !names::only_looks(short(tool)) && !has_any(parameters, ELSEWHERE) && tries != Some(&Value::Bool(true))
}

fn fits(does: Does, parameters: &Map<String, Value>) -> bool {
    match does {
        Does::Read | Does::Editor => !paths(parameters).is_empty(),
        Does::Change => !paths(parameters).is_empty() || patch(parameters).is_some(),
        Does::Whole(ChangeKind::Moves) => wholes::moved(parameters).is_some(),
        Does::Whole(_) => !paths(parameters).is_empty(),
        Does::Command => command(parameters).is_some(),
        Does::Search => has_any(parameters, &["pattern", "query", "regex", "path", "glob"]),
        Does::Todo => has_any(parameters, &["todos", "plan", "tasks", "items"]),
        Does::Ask => false,
        // What a server of that name is told to show stands beside the folder that it is about.
        Does::HandOver => has_text(parameters, &["summary"]) && has_text(parameters, &["project_directory"]),
        Does::Other => true,
    }
}

/// What the parameters alone say.
fn by_shape(parameters: &Map<String, Value>) -> Option<Action> {
    let has_path = !paths(parameters).is_empty();
    let command = parameters.get("command").and_then(Value::as_str);
    if has_path && command.is_some_and(|command| EDITS.contains(&command)) {
        return Some(edit(parameters));
    }
    let replaces = || {
        let has_both = |names: &[&str; 2]| names.iter().all(|name| has_text(parameters, &[name]));
        has_any(parameters, REPLACED) || REPLACED_BY.iter().any(has_both)
    };
    if patch(parameters).is_some() || (has_path && (replaces() || has_text(parameters, CONTENTS))) {
        return Some(change(parameters));
    }
    if has_path && has_any(parameters, PIECES) {
        return Some(on(ActionKind::Read, parameters));
    }
    let is_line = |name: &str| matches!(name, "command" | "cmd");
    if COMMANDS
        .iter()
        .any(|name| is_line(name) && parameters.contains_key(*name))
        && let Some(action) = run(parameters)
    {
        return Some(action);
    }
    has_text(parameters, &["pattern", "regex"]).then(|| Action {
        kind: ActionKind::Search,
        ..Action::default()
    })
}

/// What the words of the name say, where the parameters go with it.
fn by_name(tool: &str, parameters: &Map<String, Value>) -> Option<Action> {
    let does = by_words(short(tool)).filter(|does| fits(*does, parameters) && !has_any(parameters, ELSEWHERE))?;
    match does {
        Does::Read => Some(on(ActionKind::Read, parameters)),
        Does::Change => Some(change(parameters)),
        Does::Whole(kind) => wholes::is_here(tool).then(|| wholes::action(kind, parameters)),
        Does::Command => run(parameters),
        _ => None,
    }
}

fn has_any(parameters: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| parameter(parameters, name).is_some())
}

fn has_text(parameters: &Map<String, Value>, names: &[&str]) -> bool {
    names
        .iter()
        .any(|name| parameter(parameters, name).is_some_and(Value::is_string))
}

/// One parameter, however the words of its name are joined.
fn parameter<'a>(parameters: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    parameters.get(name).or_else(|| {
        let mut fields = parameters.iter();
        fields.find_map(|(own, value)| is_same(own, name).then_some(value))
    })
}

/// Looks at files: those that are named, or that lists of what is to be taken in name.
fn read(parameters: &Map<String, Value>) -> Action {
    let action = on(ActionKind::Read, parameters);
    let is_path = |path: &&str| !path.trim().is_empty() && !path.contains(['*', '?']);
    match parameters.get("include") {
        Some(Value::Array(include)) if action.paths.is_empty() => {
            let include = include.iter().filter_map(Value::as_str).filter(is_path);
            Action::on(ActionKind::Read, include.take(MOST_PATHS))
        }
        _ => action,
    }
}

/// What an editor does that is told so by a parameter.
fn edit(parameters: &Map<String, Value>) -> Action {
    match parameters.get("command").and_then(Value::as_str) {
        Some("view" | "read") => on(ActionKind::Read, parameters),
        Some("undo_edit" | "undo") => wholes::action(ChangeKind::Undoes, parameters),
        _ => change(parameters),
    }
}

fn on(kind: ActionKind, parameters: &Map<String, Value>) -> Action {
    Action::on(kind, paths(parameters))
}

fn change(parameters: &Map<String, Value>) -> Action {
    match patch(parameters) {
        Some(patch) => Action::patch(patch),
        None => on(ActionKind::Change, parameters).replacing(names::replaced(parameters)),
    }
}

/// The paths that a call names.
fn paths(parameters: &Map<String, Value>) -> Vec<&str> {
    let is_path = |path: &&str| !path.trim().is_empty();
    if let Some(path) = path(parameters).filter(is_path) {
        return vec![path];
    }
    let mut found: Vec<&str> = Vec::new();
    // Some put all that they say into one parameter.
    let inner = parameters.get("args").and_then(Value::as_object);
    let lists = [Some(parameters), inner].into_iter().flatten().flat_map(|fields| {
        let lists = PATH_LISTS.iter().filter_map(|name| parameter(fields, name));
        lists.flat_map(|list| match list {
            Value::Array(items) => items.as_slice(),
            Value::Object(_) => std::slice::from_ref(list),
            _ => &[],
        })
    });
    for item in lists {
        let path = match item {
            Value::String(path) => Some(path.as_str()),
            Value::Object(fields) => path(fields),
            _ => None,
        };
        if let Some(path) = path.filter(|path| is_path(path) && found.len() < MOST_PATHS && !found.contains(path)) {
            found.push(path);
        }
    }
    found
}

/// The path of one file.
fn path(fields: &Map<String, Value>) -> Option<&str> {
    PATHS.iter().find_map(|name| parameter(fields, name)?.as_str())
}

/// The patch that a call brings.
fn patch(parameters: &Map<String, Value>) -> Option<&str> {
    PATCHES.iter().find_map(|name| match parameter(parameters, name)? {
        Value::String(text) => Some(text.as_str()).filter(|text| is_patch(text)),
        // The command and its argument, as a list of words.
        Value::Array(words) if words.len() == 2 => words[1].as_str().filter(|text| is_patch(text)),
        _ => None,
    })
}

/// Whether a text is a patch.
pub(crate) fn is_patch(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(PATCH_HEAD)
        || text.starts_with("diff --git ")
        || (text.starts_with("--- ") && text.contains("\n+++ "))
}

/// The command line that a call runs.
fn command(parameters: &Map<String, Value>) -> Option<String> {
    COMMANDS.iter().find_map(|name| match parameter(parameters, name)? {
        Value::String(line) => Some(line.clone()).filter(|line| !line.trim().is_empty()),
        Value::Array(words) => line_of(words),
        _ => None,
    })
}

/// A list of words as one line; `bash -lc LINE` is that line.
pub(crate) fn line_of(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    let shell = words.first()?.rsplit('/').next().unwrap_or_default();
    if let [_, flag, line] = words.as_slice()
        && matches!(shell, "bash" | "sh" | "zsh" | "dash")
        && flag.starts_with('-')
        && flag.ends_with('c')
    {
        return Some((*line).to_owned());
    }
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    Some(quoted.join(" "))
}

fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn run(parameters: &Map<String, Value>) -> Option<Action> {
    if patch(parameters).is_some() {
        return Some(change(parameters));
    }
    let line = command(parameters);
    if is_input(line.as_deref().unwrap_or_default(), |name| parameter(parameters, name)) {
        return Some(input());
    }
    let text = |name: &str| parameter(parameters, name)?.as_str();
    Some(Action::command(&in_its_folder(line?, text)))
}

/// A call of a tool for commands that runs none.
pub(crate) fn input() -> Action {
    Action {
        kind: ActionKind::Command,
        ..Action::default()
    }
}

/// Whether what stands where a command does is none: keys, or what is typed into the program that runs. `field` finds a parameter.
pub(crate) fn is_input<'a>(line: &str, field: impl Fn(&str) -> Option<&'a Value>) -> bool {
    let is_on = |value: &Value| match value {
        Value::Bool(is_on) => *is_on,
        Value::String(word) => word.eq_ignore_ascii_case("true"),
        _ => false,
    };
    is_key(line) || INPUTS.iter().any(|name| field(name).is_some_and(is_on))
}

/// A line as it would be written without a parameter for its folder: what it runs, it runs there. `text` finds a parameter.
pub(crate) fn in_its_folder<'a>(line: String, text: impl Fn(&str) -> Option<&'a str>) -> String {
    match FOLDERS.iter().find_map(|name| text(name)).map(str::trim) {
        None | Some("" | "." | "./") => line,
        Some(folder) => format!("cd {} && {line}", quote(folder)),
    }
}
