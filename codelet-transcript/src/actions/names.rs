//! Names of tools: a table of those that are known, and what the words of any other say; and what the words of parameters
//! say of what is replaced.

use super::wholes;
use codelet_context::message::ChangeKind;
use serde_json::{Map, Value};

/// What a tool of the table does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Does {
    Read,
    Change,
    /// Does this to files as wholes, if its parameters are of such.
    Whole(ChangeKind),
    /// A parameter `command` says whether it looks or changes.
    Editor,
    Command,
    Search,
    Todo,
    /// Asks the user. Only under the name as it stands: a tool server's tool of that name asks somebody else.
    Ask,
    /// Hands over what was done, which the user may say something to.
    HandOver,
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
    ("human", Does::Ask),
    ("todo_write", Does::Todo),
    // Cursor
    ("edit_file", Does::Change),
    ("search_replace", Does::Change),
    ("delete_file", Does::Whole(ChangeKind::Removes)),
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
    ("attempt_completion", Does::HandOver),
    ("plan_mode_respond", Does::HandOver),
    // Aider, Amp
    ("replace_lines", Does::Change),
    ("undo_edit", Does::Whole(ChangeKind::Undoes)),
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
    ("move_file", Does::Whole(ChangeKind::Moves)),
    // Kiro, Amazon Q
    ("fs_append", Does::Change),
    ("fs_replace", Does::Change),
    // Continue, Augment, Desktop Commander
    ("edit_existing_file", Does::Change),
    ("single_find_and_replace", Does::Change),
    ("save_file", Does::Change),
    ("edit_block", Does::Change),
    ("launch_process", Does::Command),
    ("start_process", Does::Command),
    // Serena
    ("replace_symbol_body", Does::Change),
    ("insert_after_symbol", Does::Change),
    ("insert_before_symbol", Does::Change),
    ("replace_regex", Does::Change),
    ("execute_shell_command", Does::Command),
    // Warp, Crush
    ("edit_files", Does::Change),
    ("todos", Does::Todo),
    ("set_plan", Does::Todo),
    // Servers that ask the user
    ("interactive_feedback", Does::HandOver),
    // Tools that a vendor runs itself
    ("bash_code_execution", Does::Command),
    ("text_editor_code_execution", Does::Editor),
];

/// What the table says of a name, `_`, `-` and case aside.
pub(super) fn row(name: &str) -> Option<Does> {
    TOOLS
        .iter()
        .find(|(known, _)| is_same(known, name))
        .map(|(_, does)| *does)
}

/// Whether two names differ at most in how their words are joined: `file_path`, `filePath`, `file-path`.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let letters = |name| {
        str::bytes(name)
            .filter(|b| !matches!(b, b'_' | b'-'))
            .map(|b| b.to_ascii_lowercase())
    };
    letters(one).eq(letters(other))
}

/// A name without server and namespace: `mcp__files__read_file`, `developer__shell`, `functions.exec_command`.
pub(super) fn short(name: &str) -> &str {
    let name = name.rsplit("__").next().unwrap_or(name);
    name.rsplit(['.', ':', '/']).next().unwrap_or(name)
}

/// What the table says of the end of a name that a server's stands before: `serena_replace_regex`. One word alone is too
/// common for that.
pub(super) fn ends(name: &str) -> impl Iterator<Item = Does> {
    let ends = name.match_indices(['_', '-']).map(|(at, _)| &name[at + 1..]);
    ends.filter(|end| end.contains(['_', '-']))
        .filter_map(row)
        .filter(|does| {
            let is_work = matches!(does, Does::Read | Does::Change | Does::Editor | Does::Command);
            is_work || matches!(does, Does::Whole(_))
        })
}

const READ: &[&str] = &["read", "get", "load", "view", "open", "show"];
const CHANGE: &[&str] = &[
    "write",
    "save",
    "edit",
    "modify",
    "replace",
    "update",
    "patch",
    "create",
    "delete",
    "remove",
    "append",
    "overwrite",
    "insert",
];
const RUN: &[&str] = &["run", "exec", "execute", "launch"];
/// What is read and changed, and what is run.
const FILES: &[&str] = &["file", "files"];
const TEXTS: &[&str] = &["file", "files", "symbol", "code"];
const PROGRAMS: &[&str] = &[
    "command", "commands", "cmd", "shell", "terminal", "bash", "script", "process",
];
/// Words that change nothing in what a name says. With any other (`get_file_history`) it says something else.
const NEUTRAL: &[&str] = &[
    "content",
    "contents",
    "text",
    "body",
    "line",
    "lines",
    "range",
    "part",
    "block",
    "chunk",
    "section",
    "string",
    "str",
    "whole",
    "full",
    "all",
    "many",
    "multiple",
    "multi",
    "single",
    "new",
    "existing",
    "local",
    "source",
    "from",
    "to",
    "in",
    "into",
    "at",
    "by",
    "with",
    "on",
    "of",
    "a",
    "the",
    "and",
    "or",
    "find",
    "search",
    "fs",
    "path",
    "disk",
    "workspace",
    "project",
    "repo",
    "tool",
    "fast",
    "apply",
    "diff",
    "after",
    "before",
    "interactive",
    "sync",
    "async",
];

/// What the words of a name say, verb and noun.
pub(super) fn by_words(name: &str) -> Option<Does> {
    if let Some(kind) = wholes::by_words(name) {
        return Some(Does::Whole(kind));
    }
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let verbs = [
        (READ, Does::Read, FILES),
        (CHANGE, Does::Change, TEXTS),
        (RUN, Does::Command, PROGRAMS),
    ];
    let (does, nouns) = words.iter().find_map(|word| {
        let found = verbs.iter().find(|(verbs, ..)| verbs.contains(word));
        found.map(|(_, does, nouns)| (*does, *nouns))
    })?;
    let is_known = |word: &&str| {
        nouns.contains(word) || NEUTRAL.contains(word) || verbs.iter().any(|(verbs, ..)| verbs.contains(word))
    };
    (words.iter().any(|word| nouns.contains(word)) && words.iter().all(is_known)).then_some(does)
}

/// Whether a name begins with a word for looking at something, or trying it: `lint_file`, `preview_edit`.
pub(super) fn only_looks(name: &str) -> bool {
    const LOOKS: &[&str] = &[
        "analyse", "analyze", "ask", "check", "compare", "diff", "explain", "inspect", "lint", "preview", "review",
        "show", "simulate", "test", "upload", "validate", "verify",
    ];
    let words = words(name);
    let first = words.first().is_some_and(|word| LOOKS.contains(&word.as_str()));
    first || words.iter().any(|word| word == "preview")
}

/// Objects in objects are looked at this deep.
const DEEPEST: usize = 8;
/// What an edit calls the text that it takes away, and …
pub(super) const OLD: &[&str] = &["old", "original"];
/// … if it calls another text so …
pub(super) const NEW: &[&str] = &["new", "replace", "replacement", "repl", "after", "updated"];
/// … also so.
pub(super) const SOUGHT: &[&str] = &["find", "search", "target", "before", "match", "existing", "current"];
/// What may stand behind these words: with any other (`old_path`, `target_line`) it is no text of a file.
const TEXT: &[&str] = &[
    "string", "str", "text", "content", "contents", "code", "snippet", "block", "lines", "body", "value", "with",
];

/// The names of the parameters, at whatever depth, that hold what a change takes away.
pub(super) fn replaced(parameters: &Map<String, Value>) -> Vec<&str> {
    let mut found = Vec::new();
    add_replaced(parameters, 0, &mut found);
    found
}

fn add_replaced<'a>(fields: &'a Map<String, Value>, depth: usize, found: &mut Vec<&'a str>) {
    let mut texts = fields.iter().filter(|(_, value)| value.is_string());
    let replaces = texts.any(|(name, _)| is_text(name, NEW));
    for (name, value) in fields {
        let inner = match value {
            Value::String(_) if is_text(name, OLD) || replaces && is_text(name, SOUGHT) => {
                if !found.contains(&name.as_str()) {
                    found.push(name);
                }
                continue;
            }
            Value::Array(items) => items.as_slice(),
            Value::Object(_) => std::slice::from_ref(value),
            _ => &[],
        };
        if depth < DEEPEST {
            let objects = inner.iter().filter_map(Value::as_object);
            objects.for_each(|fields| add_replaced(fields, depth + 1, found));
        }
    }
}

/// Whether a parameter's name says that it is a text, and which: `old_string`, `TargetContent`, `find`.
pub(super) fn is_text(name: &str, which: &[&str]) -> bool {
    let words = words(name);
    let mut words = words.iter().map(String::as_str);
    words.next().is_some_and(|first| which.contains(&first)) && words.all(|word| TEXT.contains(&word))
}

/// The words of a name in small letters: `getFileContents`, `get_file_contents`, `get-file-contents`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_small = false;
    let mut is_open = false;
    for c in name.chars() {
        if !c.is_ascii_alphabetic() {
            is_open = false;
            continue;
        }
        match words
            .last_mut()
            .filter(|_| is_open && !(was_small && c.is_ascii_uppercase()))
        {
            Some(word) => word.push(c.to_ascii_lowercase()),
            None => words.push(c.to_ascii_lowercase().into()),
        }
        is_open = true;
        was_small = c.is_ascii_lowercase();
    }
    words
}
