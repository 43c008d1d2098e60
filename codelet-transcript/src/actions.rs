//! Classifies tool calls as the engine's actions, from a table of tool names, or from the parameter names if the tool
//! is not in the table. See `docs/decisions/0021-tools-that-nobody-knows.md`.
//!
//! Name lookup ignores case and word separators. It tries the full name first, then the name without the prefix of an
//! MCP server or namespace.

use crate::program;
use codelet_context::message::{Action, ActionKind, ChangeKind};
use codelet_text::shell;
use serde_json::{Map, Value};

/// The effect of a tool in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Read,
    Change,
    /// Affects whole files in this way.
    Whole(ChangeKind),
    /// The parameter `command` says whether the call reads or edits.
    Editor,
    Command,
    Search,
    Todo,
    Note,
    /// Asks the user.
    Ask,
    /// Has no counterpart in the engine, regardless of its parameters.
    Other,
}

/// Known tools by effect, names in lowercase.
#[rustfmt::skip]
const TOOLS: &[(Does, &str)] = &[
    (Does::Read, "read notebookread view_image read_file view read_many_files view_file open open_file goto scroll_up scroll_down \
        read_text_file read_multiple_files fs_read"),
    (Does::Change, "edit write multiedit notebookedit apply_patch patch create create_file insert_edit_into_file write_file \
        replace_string_in_file multi_replace_string_in_file replace edit_file search_replace edit_notebook reapply \
        write_to_file replace_file_content replace_in_file apply_diff insert_content search_and_replace replace_lines insert \
        append str_replace fs_write fs_append fs_replace edit_existing_file single_find_and_replace save_file edit_block \
        replace_symbol_body insert_after_symbol insert_before_symbol replace_regex edit_files modify_file update_file \
        create_new_file append_to_file append_file"),
    (Does::Whole(ChangeKind::Removes), "delete_file delete_files delete remove_file remove_files"),
    (Does::Whole(ChangeKind::Moves), "move_file rename_file"),
    (Does::Whole(ChangeKind::Undoes), "undo_edit"),
    (Does::Editor, "text_editor str_replace_editor str_replace_based_edit_tool file_editor edit_anthropic \
        text_editor_code_execution"),
    (Does::Command, "bash powershell exec_command shell shell_command local_shell container.exec unified_exec exec \
        run_in_terminal run_shell_command run_terminal_cmd run_terminal_command run_command execute_command execute_bash \
        execute_shell terminal launch_process start_process execute_shell_command bash_code_execution run_bash"),
    (Does::Search, "grep glob ls lsp list find list_dir grep_files rg semantic_search search_file_content list_directory \
        grep_search file_search codebase_search find_by_name list_files search_files list_code_definition_names find_file \
        search_dir search_file search_code"),
    (Does::Todo, "todo todoread todowrite taskcreate taskupdate taskget tasklist update_plan manage_todo_list write_todos \
        update_todo_list task_tracker todos set_plan"),
    (Does::Note, "note"),
    (Does::Ask, "askuserquestion exitplanmode question request_user_input ask_user ask_human human ask_followup_question \
        attempt_completion plan_mode_respond interactive_feedback"),
    (Does::Other, "bashoutput killshell killbash task agent skill slashcommand recall download write_stdin read_bash \
        write_bash stop_bash list_bash query sql execute_sql"),
];

/// Names of the parameter that holds a file path, most likely first.
const PATHS: &str = "file_path path file_name target_file target_file_path absolute_path notebook_path target_notebook \
    relative_workspace_path relative_path file";
/// Names of parameters that hold several paths: strings, or objects with a path field.
const PATH_LISTS: &str = "paths files file file_paths edits replacements operations include";
const COMMANDS: &str = "command cmd commands script command_line";
/// Names of the parameter that holds the working directory of a command.
const FOLDERS: &str = "workdir cwd working_directory working_dir work_dir dir_path directory";
const PATCHES: &str = "input patch patch_text diff command";
/// Names of parameters that hold the text that an edit replaces.
const OLD: &str =
    "old_string old_str old_text old_content old_code original original_code original_text target_content";
const REPLACEMENTS: &str = "replace replacement after";
/// Names of parameters that hold the new content of a file.
const NEW: &str = "content contents file_text file_content new_content new_string new_str new_text code_edit repl data text \
    body";
const SEARCHES: &str = "pattern regex query";
/// Names of parameters that mark a remote file, whose path is not in the project.
const ELSEWHERE: &str = "owner repo repository url bucket project_id file_id";
/// Values of an editor tool's `command` parameter.
const EDITS: &str = "view create str_replace insert undo_edit";
/// Words in the names of tools that neither read nor edit a file, whatever their parameters are called.
const NEITHER: &str = "check commit commits compare delete diff explain format history info lint list preview remove review run \
    search stat test tests tree undo upload validate";

/// Names of parameters for the old and the new path of a moved file.
const FROM: &str = "source source_path src from old_path file_path path";
const TO: &str = "destination destination_path dest dst to target new_path";

/// The maximum number of paths taken from one call.
const MOST_PATHS: usize = 200;
/// The maximum length of a tool name that is looked up, in bytes.
const LONGEST_NAME: usize = 100;

/// Returns the action of a call of this tool with these parameters.
pub fn action(tool: &str, parameters: &Map<String, Value>) -> Action {
    // The end of a longer name may be a common word, so it counts only if the parameters fit.
    let fitting = || ends(tool).filter_map(row).find(|does| fits(*does, parameters));
    match row(tool).or_else(fitting) {
        Some(does) => does.action(parameters),
        None => by_parameters(tool, parameters).unwrap_or_default(),
    }
}

impl Does {
    fn action(self, parameters: &Map<String, Value>) -> Action {
        match self {
            Does::Read => on(ActionKind::Read, parameters),
            Does::Change => change(parameters),
            Does::Whole(_) if is_tried(parameters) => Action::default(),
            Does::Whole(ChangeKind::Moves) => moved(parameters).unwrap_or_default(),
            Does::Whole(_) if paths(parameters).is_empty() => Action::default(),
            // Numbers select a part of the file.
            Does::Whole(_) if parameters.values().any(Value::is_number) => change(parameters),
            Does::Whole(kind) => on(ActionKind::Change, parameters).changing(kind),
            Does::Editor => edit(parameters),
            Does::Command => run(parameters)
                .or_else(|| of_program(parameter(parameters, "input")?.as_str()?))
                .unwrap_or_else(|| of(ActionKind::Command)),
            Does::Search => of(ActionKind::Search),
            Does::Todo => of(ActionKind::Todo),
            Does::Note => of(ActionKind::Note),
            Does::Ask => of(ActionKind::Ask),
            Does::Other => Action::default(),
        }
    }
}

/// Returns whether a known agent has a tool of this name.
pub(crate) fn is_own(tool: &str) -> bool {
    row(tool).is_some()
}

/// Returns whether the name has a server prefix.
pub(crate) fn is_of_server(tool: &str) -> bool {
    short(tool) != tool
}

/// Returns whether a known agent has a tool of this name that asks the user, either as its purpose or before it acts,
/// and writes the result itself: no program, page or server influences that text.
pub(crate) fn asks_and_prints_nothing(tool: &str) -> bool {
    use Does::{Ask, Change, Editor, Whole};
    matches!(row(tool), Some(Change | Whole(_) | Editor | Ask))
}

/// Derives the action from the parameters if the table does not list the tool.
fn by_parameters(tool: &str, parameters: &Map<String, Value>) -> Option<Action> {
    if has(parameters, ELSEWHERE) || is_tried(parameters) {
        return None;
    }
    let has_path = !paths(parameters).is_empty();
    let command = parameter(parameters, "command").and_then(Value::as_str);
    if has_path && command.is_some_and(|word| EDITS.split(' ').any(|edit| edit == word)) {
        return Some(edit(parameters));
    }
    let is_of_file = !spaced(short(tool))
        .split(' ')
        .any(|word| NEITHER.split(' ').any(|other| other == word));
    let has_text = [OLD, NEW, REPLACEMENTS].iter().any(|names| has(parameters, names));
    if patch(parameters).is_some() || has_path && has_text && is_of_file {
        return Some(change(parameters));
    }
    let searches = || has(parameters, SEARCHES).then(|| of(ActionKind::Search));
    let reads = || (has_path && !has_text && is_of_file).then(|| on(ActionKind::Read, parameters));
    run(parameters).or_else(searches).or_else(reads)
}

/// Returns whether the parameters fit the effect that the table gives for the end of a prefixed name.
fn fits(does: Does, parameters: &Map<String, Value>) -> bool {
    let has_path = || !paths(parameters).is_empty() && !has(parameters, ELSEWHERE);
    match does {
        Does::Read | Does::Editor => has_path(),
        Does::Change => has_path() || patch(parameters).is_some(),
        // A server may keep an index, secrets or a store under such paths, and its notes are not in the conversation.
        Does::Whole(_) | Does::Note => false,
        Does::Command => command(parameters).is_some(),
        Does::Search => has(parameters, SEARCHES) || has(parameters, "path glob"),
        Does::Todo => each(parameters, "todos plan tasks items").any(Value::is_array),
        // A server's tool of that name asks somebody else, except the one that shows the user the project directory.
        Does::Ask => has(parameters, "project_directory"),
        Does::Other => true,
    }
}

fn row(name: &str) -> Option<Does> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let knows = |names: &str| names.split_ascii_whitespace().any(|known| is_same(known, name));
    TOOLS.iter().find(|(_, names)| knows(names)).map(|(does, _)| *does)
}

/// Strips server and namespace from a name: `mcp__files__read_file`, `developer__shell`, `functions.exec_command`.
fn short(name: &str) -> &str {
    let name = name.rsplit("__").next().unwrap_or(name);
    name.rsplit(['.', ':', '/']).next().unwrap_or(name)
}

/// Returns the name without its server, then each suffix of at least two words, since a server prefix may have any
/// length: `serena_replace_regex`.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices(['_', '-']).map(|(at, _)| &name[at + 1..]);
    std::iter::once(short(name)).chain(ends.filter(|end| end.contains(['_', '-'])))
}

/// Returns whether two names differ at most in case and word separators: `file_path`, `filePath`, `file-path`.
fn is_same(one: &str, other: &str) -> bool {
    let letters = |name| {
        str::bytes(name)
            .filter(|b| !matches!(b, b'_' | b'-'))
            .map(|b| b.to_ascii_lowercase())
    };
    letters(one).eq(letters(other))
}

/// Returns a name in lowercase with spaces between its words: `getFileHistory`, `get_file_history`.
fn spaced(name: &str) -> String {
    let mut spaced = String::new();
    let mut was_small = false;
    for c in name.chars() {
        if was_small && c.is_ascii_uppercase() || !c.is_ascii_alphabetic() {
            spaced.push(' ');
        }
        spaced.extend(c.is_ascii_alphabetic().then(|| c.to_ascii_lowercase()));
        was_small = c.is_ascii_lowercase();
    }
    spaced
}

/// Returns a parameter by name, ignoring case and word separators.
fn parameter<'a>(parameters: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let any = || parameters.iter().find(|(own, _)| is_same(own, name));
    parameters.get(name).or_else(|| any().map(|(_, value)| value))
}

/// Returns the parameters of these names, in the order of the names.
fn each<'a>(parameters: &'a Map<String, Value>, names: &'static str) -> impl Iterator<Item = &'a Value> {
    names.split(' ').filter_map(|name| parameter(parameters, name))
}

fn has(parameters: &Map<String, Value>, names: &'static str) -> bool {
    each(parameters, names).next().is_some()
}

fn of(kind: ActionKind) -> Action {
    Action {
        kind,
        ..Action::default()
    }
}

fn on(kind: ActionKind, parameters: &Map<String, Value>) -> Action {
    Action::on(kind, paths(parameters))
}

fn is_tried(parameters: &Map<String, Value>) -> bool {
    parameter(parameters, "dry_run") == Some(&Value::Bool(true))
}

/// Returns the action of an editor tool, selected by its `command` parameter.
fn edit(parameters: &Map<String, Value>) -> Action {
    match parameter(parameters, "command").and_then(Value::as_str) {
        Some("view" | "read") => on(ActionKind::Read, parameters),
        Some("undo_edit" | "undo") => on(ActionKind::Change, parameters).changing(ChangeKind::Undoes),
        _ => change(parameters),
    }
}

fn change(parameters: &Map<String, Value>) -> Action {
    match patch(parameters) {
        Some(patch) => Action::patch(patch),
        None => on(ActionKind::Change, parameters),
    }
}

fn moved(parameters: &Map<String, Value>) -> Option<Action> {
    let from = each(parameters, FROM).find_map(Value::as_str)?;
    let to = each(parameters, TO).find_map(Value::as_str)?;
    Some(Action::on(ActionKind::Change, [from, to]).changing(ChangeKind::Moves))
}

fn paths(parameters: &Map<String, Value>) -> Vec<&str> {
    let path = |fields| {
        each(fields, PATHS)
            .find_map(Value::as_str)
            .filter(|path| !path.trim().is_empty())
    };
    if let Some(path) = path(parameters) {
        return vec![path];
    }
    // Some tools nest all parameters in one.
    let inner = parameter(parameters, "args").and_then(Value::as_object);
    let lists = std::iter::once(parameters)
        .chain(inner)
        .flat_map(|fields| each(fields, PATH_LISTS));
    let items = lists.flat_map(|list| match list {
        Value::Array(items) => items.as_slice(),
        Value::Object(_) => std::slice::from_ref(list),
        _ => &[],
    });
    let mut found: Vec<&str> = Vec::new();
    for path in items.filter_map(|item| item.as_str().or_else(|| path(item.as_object()?))) {
        let is_path = !path.trim().is_empty() && !path.contains(['*', '?']);
        if is_path && found.len() < MOST_PATHS && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn patch(parameters: &Map<String, Value>) -> Option<&str> {
    let texts = each(parameters, PATCHES).filter_map(|value| match value {
        // The command and its argument, as a list of words.
        Value::Array(words) if words.len() == 2 => words[1].as_str(),
        value => value.as_str(),
    });
    texts.into_iter().find(|text| {
        let text = text.trim_start();
        let is_diff = text.starts_with("diff --git ") || text.starts_with("--- ") && text.contains("\n+++ ");
        is_diff || text.starts_with("*** Begin Patch")
    })
}

/// Returns the action of a command line, run in the directory that the call names; `None` if there is no command.
fn run(parameters: &Map<String, Value>) -> Option<Action> {
    if patch(parameters).is_some() {
        return Some(change(parameters));
    }
    let line = command(parameters)?;
    let is_on = |value: &Value| value.to_string().trim_matches('"').eq_ignore_ascii_case("true");
    if is_key(&line) || parameter(parameters, "is_input").is_some_and(is_on) {
        return Some(of(ActionKind::Command));
    }
    let folder = each(parameters, FOLDERS).find_map(Value::as_str).map(str::trim);
    Some(Action::command(&match folder {
        None | Some("" | "." | "./") => line,
        Some(folder) => format!("cd {} && {line}", shell::word(folder)),
    }))
}

/// Returns whether a text is a key in the notation of harnesses that send keys to a running program.
fn is_key(text: &str) -> bool {
    const KEYS: &str = "C-c C-d C-z C-\\ ^C ^D ^Z \u{3} \u{4} \u{1a}";
    KEYS.split(' ').any(|key| key == text.trim_matches([' ', '\n']))
}

fn command(parameters: &Map<String, Value>) -> Option<String> {
    each(parameters, COMMANDS).find_map(|value| match value {
        Value::String(line) => Some(line.clone()).filter(|line| !line.trim().is_empty()),
        Value::Array(words) => line_of(words),
        _ => None,
    })
}

/// Joins a list of words into one command line; `bash -lc LINE` becomes LINE.
fn line_of(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    let shell = words.first()?.rsplit('/').next().unwrap_or_default();
    match words.as_slice() {
        [_, "-c" | "-lc", line] if matches!(shell, "bash" | "sh" | "zsh" | "dash") => Some((*line).to_owned()),
        words => Some(words.iter().map(|word| shell::word(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// Returns the action of a program, from the calls that can be read in it; `None` if there are none.
fn of_program(program: &str) -> Option<Action> {
    let actions: Vec<Action> = program::calls(program)
        .iter()
        .map(|(tool, parameters)| action(tool, parameters))
        .collect();
    let lines = actions.iter().filter_map(|action| action.command.as_deref());
    let lines: Vec<&str> = lines.collect();
    let changed = || actions.iter().flat_map(|action| action.changed().iter().cloned());
    if !lines.is_empty() {
        let mut all = Action::command(&lines.join("\n"));
        all.paths = changed().collect();
        return Some(all);
    }
    match actions.iter().any(|action| action.kind == ActionKind::Change) {
        true => Some(Action {
            kind: ActionKind::Change,
            paths: changed().collect(),
            ..Action::default()
        }),
        false => actions.into_iter().find(|action| action.kind != ActionKind::Other),
    }
}
