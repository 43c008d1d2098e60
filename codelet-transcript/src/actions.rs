//! What the tools of the known agents do, in the engine's notions: a table from names to actions.
//!
//! A name is looked up without regard to case, first as it stands, then without what a tool server or namespace puts
//! before it. A name that no row knows is judged by its parameters.

use crate::shell;
use codelet_context::message::{Action, ActionKind};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a tool of the table does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Read,
    Change,
    /// A parameter `command` says whether it looks or changes.
    Editor,
    Command,
    Search,
    Todo,
    /// Asks the user. Only under the name as it stands: a tool server's tool of that name asks somebody else.
    Ask,
    /// Something that the engine has no notion of, whatever its parameters look like.
    Other,
}

/// Name in small letters, and what it does; in each group by agent.
const TOOLS: &[(&str, Does)] = &[
    // Claude Code, Codelet, OpenCode, pi, Crush
    ("read", Does::Read),
    ("edit", Does::Change),
    ("write", Does::Change),
    ("multiedit", Does::Change),
    ("notebookread", Does::Read),
    ("notebookedit", Does::Change),
    ("bash", Does::Command),
    ("powershell", Does::Command),
    ("bashoutput", Does::Other),
    ("killshell", Does::Other),
    ("killbash", Does::Other),
    ("grep", Does::Search),
    ("glob", Does::Search),
    ("ls", Does::Search),
    ("lsp", Does::Search),
    ("list", Does::Search),
    ("find", Does::Search),
    ("todo", Does::Todo),
    ("todoread", Does::Todo),
    ("todowrite", Does::Todo),
    ("taskcreate", Does::Todo),
    ("taskupdate", Does::Todo),
    ("taskget", Does::Todo),
    ("tasklist", Does::Todo),
    ("task", Does::Other),
    ("agent", Does::Other),
    ("skill", Does::Other),
    ("slashcommand", Does::Other),
    ("recall", Does::Other),
    ("download", Does::Other),
    ("askuserquestion", Does::Ask),
    ("exitplanmode", Does::Ask),
    ("exit_plan_mode", Does::Ask),
    ("question", Does::Ask),
    // Codex
    ("exec_command", Does::Command),
    ("shell", Does::Command),
    ("shell_command", Does::Command),
    ("local_shell", Does::Command),
    ("container.exec", Does::Command),
    ("unified_exec", Does::Command),
    ("exec", Does::Command),
    ("write_stdin", Does::Other),
    ("apply_patch", Does::Change),
    ("update_plan", Does::Todo),
    ("view_image", Does::Read),
    ("read_file", Does::Read),
    ("list_dir", Does::Search),
    ("grep_files", Does::Search),
    ("request_user_input", Does::Ask),
    // OpenCode, Crush
    ("patch", Does::Change),
    ("view", Does::Read),
    // Copilot CLI and the assistant of Visual Studio Code
    ("create", Does::Change),
    ("read_bash", Does::Other),
    ("write_bash", Does::Other),
    ("stop_bash", Does::Other),
    ("list_bash", Does::Other),
    ("rg", Does::Search),
    ("run_in_terminal", Does::Command),
    ("create_file", Does::Change),
    ("insert_edit_into_file", Does::Change),
    ("replace_string_in_file", Does::Change),
    ("multi_replace_string_in_file", Does::Change),
    ("manage_todo_list", Does::Todo),
    ("semantic_search", Does::Search),
    // Gemini CLI, Qwen
    ("replace", Does::Change),
    ("write_file", Does::Change),
    ("read_many_files", Does::Read),
    ("run_shell_command", Does::Command),
    ("search_file_content", Does::Search),
    ("list_directory", Does::Search),
    ("write_todos", Does::Todo),
    ("ask_user", Does::Ask),
    ("todo_write", Does::Todo),
    // Cursor
    ("edit_file", Does::Change),
    ("search_replace", Does::Change),
    ("delete_file", Does::Change),
    ("edit_notebook", Does::Change),
    ("reapply", Does::Change),
    ("run_terminal_cmd", Does::Command),
    ("run_terminal_command", Does::Command),
    ("grep_search", Does::Search),
    ("file_search", Does::Search),
    ("codebase_search", Does::Search),
    // Windsurf
    ("run_command", Does::Command),
    ("view_file", Does::Read),
    ("write_to_file", Does::Change),
    ("replace_file_content", Does::Change),
    ("find_by_name", Does::Search),
    // Cline, Roo
    ("execute_command", Does::Command),
    ("replace_in_file", Does::Change),
    ("apply_diff", Does::Change),
    ("insert_content", Does::Change),
    ("search_and_replace", Does::Change),
    ("list_files", Does::Search),
    ("search_files", Does::Search),
    ("list_code_definition_names", Does::Search),
    ("update_todo_list", Does::Todo),
    ("ask_followup_question", Does::Ask),
    // Aider, Amp
    ("replace_lines", Does::Change),
    ("undo_edit", Does::Change),
    ("todo_read", Does::Todo),
    // Goose, OpenHands, SWE-agent, and the editors that the vendors themselves define
    ("text_editor", Does::Editor),
    ("str_replace_editor", Does::Editor),
    ("str_replace_based_edit_tool", Does::Editor),
    ("file_editor", Does::Editor),
    ("edit_anthropic", Does::Editor),
    ("execute_bash", Does::Command),
    ("execute_shell", Does::Command),
    ("terminal", Does::Command),
    ("task_tracker", Does::Todo),
    // SWE-agent
    ("open", Does::Read),
    ("goto", Does::Read),
    ("scroll_up", Does::Read),
    ("scroll_down", Does::Read),
    ("find_file", Does::Search),
    ("search_dir", Does::Search),
    ("search_file", Does::Search),
    ("insert", Does::Change),
    ("append", Does::Change),
    ("str_replace", Does::Change),
    // Servers of file tools
    ("read_text_file", Does::Read),
    ("read_multiple_files", Does::Read),
    ("fs_read", Does::Read),
    ("fs_write", Does::Change),
    ("search_code", Does::Search),
];

/// Names of the parameter that holds a file's path, the likeliest first.
const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "filename",
    "file_name",
    "fileName",
    "target_file",
    "targetFile",
    "TargetFile",
    "absolute_path",
    "absolutePath",
    "AbsolutePath",
    "notebook_path",
    "notebookPath",
    "target_notebook",
    "relative_workspace_path",
    "relative_path",
    "file",
];
/// Names of parameters that hold several paths: strings, or objects with a path of their own.
const PATH_LISTS: &[&str] = &["paths", "files", "file_paths", "filePaths", "edits", "replacements"];
/// Names of the parameter that holds a command line.
const COMMANDS: &[&str] = &[
    "command",
    "cmd",
    "commands",
    "script",
    "CommandLine",
    "commandLine",
    "command_line",
];
/// Names of parameters that may hold a patch.
const PATCHES: &[&str] = &["input", "patch", "patchText", "patch_text", "diff", "command"];
/// Names of parameters that only a tool which replaces text has.
const REPLACED: &[&str] = &[
    "old_string",
    "oldString",
    "old_str",
    "oldText",
    "old_text",
    "oldContent",
    "old_content",
    "new_str",
    "replacement",
];
/// Names of parameters that hold what a file is to contain.
const CONTENTS: &[&str] = &["content", "contents", "file_text", "new_content", "newContent"];
/// Names of parameters that say which piece of a file is wanted.
const PIECES: &[&str] = &[
    "offset",
    "limit",
    "view_range",
    "start_line",
    "startLine",
    "end_line",
    "endLine",
    "line_count",
];

/// Paths taken from one call at most.
const MOST_PATHS: usize = 200;

/// How the text begins that `apply_patch` takes.
const PATCH_HEAD: &str = "*** Begin Patch";

/// What a call of this tool with these parameters does. A name that no row knows is judged by its parameters.
pub fn action(tool: &str, parameters: &Map<String, Value>) -> Action {
    let name = tool.to_ascii_lowercase();
    let does = match row(&name) {
        Some(does) => Some(does),
        // What is left of a longer name may be a common word, so it counts only with the parameters that go with it.
        None => row(short(&name)).filter(|does| fits(*does, parameters)),
    };
    match does {
        Some(Does::Read) => on(ActionKind::Read, parameters),
        Some(Does::Change) => change(parameters),
        Some(Does::Editor) => match parameters.get("command").and_then(Value::as_str) {
            Some("view" | "read") => on(ActionKind::Read, parameters),
            _ => change(parameters),
        },
        Some(Does::Command) => run(parameters).unwrap_or_else(|| Action {
            kind: ActionKind::Command,
            ..Action::default()
        }),
        Some(Does::Search) => Action {
            kind: ActionKind::Search,
            ..Action::default()
        },
        Some(Does::Todo) => Action {
            kind: ActionKind::Todo,
            ..Action::default()
        },
        Some(Does::Ask) => Action {
            kind: ActionKind::Ask,
            ..Action::default()
        },
        Some(Does::Other) => Action::default(),
        None => by_shape(parameters),
    }
}

fn row(name: &str) -> Option<Does> {
    TOOLS.iter().find(|(known, _)| *known == name).map(|(_, does)| *does)
}

/// A name without server and namespace: `mcp__files__read_file`, `developer__shell`, `functions.exec_command`.
fn short(name: &str) -> &str {
    let name = name.rsplit("__").next().unwrap_or(name);
    name.rsplit(['.', ':', '/']).next().unwrap_or(name)
}

fn fits(does: Does, parameters: &Map<String, Value>) -> bool {
    match does {
        Does::Read | Does::Editor => !paths(parameters).is_empty(),
        Does::Change => !paths(parameters).is_empty() || patch(parameters).is_some(),
        Does::Command => command(parameters).is_some(),
        Does::Search => has_any(parameters, &["pattern", "query", "regex", "path", "glob"]),
        Does::Todo => has_any(parameters, &["todos", "plan", "tasks", "items"]),
        Does::Ask => false,
        Does::Other => true,
    }
}

fn by_shape(parameters: &Map<String, Value>) -> Action {
    let has_path = !paths(parameters).is_empty();
    if patch(parameters).is_some() || (has_path && (has_any(parameters, REPLACED) || has_text(parameters, CONTENTS))) {
        return change(parameters);
    }
    if has_path && has_any(parameters, PIECES) {
        return on(ActionKind::Read, parameters);
    }
    let is_line = |name: &str| matches!(name, "command" | "cmd");
    if COMMANDS
        .iter()
        .any(|name| is_line(name) && parameters.contains_key(*name))
        && let Some(action) = run(parameters)
    {
        return action;
    }
    if has_text(parameters, &["pattern", "regex"]) {
        return Action {
            kind: ActionKind::Search,
            ..Action::default()
        };
    }
    Action::default()
}

fn has_any(parameters: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| parameters.contains_key(*name))
}

fn has_text(parameters: &Map<String, Value>, names: &[&str]) -> bool {
    names
        .iter()
        .any(|name| parameters.get(*name).is_some_and(Value::is_string))
}

fn on(kind: ActionKind, parameters: &Map<String, Value>) -> Action {
    Action::on(kind, paths(parameters))
}

fn change(parameters: &Map<String, Value>) -> Action {
    match patch(parameters) {
        Some(patch) => Action::on(ActionKind::Change, shell::patched(patch).iter().map(String::as_str)),
        None => on(ActionKind::Change, parameters),
    }
}

/// The paths that a call names.
fn paths(parameters: &Map<String, Value>) -> Vec<&str> {
    let is_path = |path: &&str| !path.trim().is_empty();
    if let Some(path) = PATHS
        .iter()
        .find_map(|name| parameters.get(*name)?.as_str())
        .filter(is_path)
    {
        return vec![path];
    }
    let mut found: Vec<&str> = Vec::new();
    for item in PATH_LISTS
        .iter()
        .filter_map(|name| parameters.get(*name)?.as_array())
        .flatten()
    {
        let path = match item {
            Value::String(path) => Some(path.as_str()),
            Value::Object(fields) => PATHS.iter().find_map(|name| fields.get(*name)?.as_str()),
            _ => None,
        };
        if let Some(path) = path.filter(|path| is_path(path) && found.len() < MOST_PATHS && !found.contains(path)) {
            found.push(path);
        }
    }
    found
}

/// The patch that a call brings.
fn patch(parameters: &Map<String, Value>) -> Option<&str> {
    let is_patch = |text: &&str| {
        let text = text.trim_start();
        text.starts_with(PATCH_HEAD)
            || text.starts_with("diff --git ")
            || (text.starts_with("--- ") && text.contains("\n+++ "))
    };
    PATCHES.iter().find_map(|name| match parameters.get(*name)? {
        Value::String(text) => Some(text.as_str()).filter(is_patch),
        // The command and its argument, as a list of words.
        Value::Array(words) if words.len() == 2 => words[1].as_str().filter(is_patch),
        _ => None,
    })
}

/// The command line that a call runs.
fn command(parameters: &Map<String, Value>) -> Option<String> {
    COMMANDS.iter().find_map(|name| match parameters.get(*name)? {
        Value::String(line) => Some(line.clone()).filter(|line| !line.trim().is_empty()),
        Value::Array(words) => line_of(words),
        _ => None,
    })
}

/// A list of words as one line; `bash -lc LINE` is that line.
fn line_of(words: &[Value]) -> Option<String> {
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
    let line = command(parameters)?;
    let mut action = Action::command(&line);
    action.paths = shell::written(&line).into_iter().map(Arc::from).collect();
    Some(action)
}
