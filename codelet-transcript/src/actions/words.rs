//! What the words in names of unknown tools and parameters say. Second to what their values say: words keep a tool from
//! being taken for what it is not, and break ties.

use super::names::{NEW, OLD, SOUGHT, by_words, is_text, only_looks, short, words};
use super::wholes::REMOVES;
use super::{CONTENTS, Does, PATHS, is_same};
use codelet_context::message::{ActionKind, ChangeKind};

/// What a tool does that says something to somebody, or asks for something elsewhere.
const SAYS: &[&str] = &[
    "agent",
    "ask",
    "browse",
    "browser",
    "chat",
    "comment",
    "delegate",
    "describe",
    "email",
    "embed",
    "explain",
    "fetch",
    "http",
    "issue",
    "label",
    "log",
    "lookup",
    "mail",
    "memory",
    "memorize",
    "message",
    "note",
    "notify",
    "post",
    "prompt",
    "publish",
    "query",
    "reason",
    "remember",
    "reply",
    "request",
    "review",
    "say",
    "search",
    "send",
    "speak",
    "sql",
    "suggest",
    "summarize",
    "task",
    "think",
    "thought",
    "ticket",
    "translate",
    "url",
    "web",
    "click",
    "key",
    "keys",
    "press",
    "question",
    "type",
];
/// … unless it is about programs.
const PROGRAMS: &[&str] = &[
    "bash", "cmd", "command", "commands", "exec", "execute", "process", "run", "shell", "terminal",
];
/// What a tool or a parameter has in its name that is about programs, beside these.
const LINES: &[&str] = &[
    "argv",
    "cli",
    "cmdline",
    "commandline",
    "console",
    "launch",
    "line",
    "program",
    "script",
    "sh",
    "spawn",
    "zsh",
];
/// What is said of a file in place of what it holds.
const NOT_READ: &[&str] = &[
    "analyse",
    "analyze",
    "audit",
    "blame",
    "build",
    "check",
    "compare",
    "compile",
    "complexity",
    "coverage",
    "definition",
    "definitions",
    "delete",
    "dependencies",
    "describe",
    "diagnose",
    "diagnostics",
    "diff",
    "dir",
    "directory",
    "errors",
    "execute",
    "exists",
    "explain",
    "find",
    "folder",
    "format",
    "git",
    "hash",
    "history",
    "hover",
    "imports",
    "info",
    "inspect",
    "lint",
    "list",
    "log",
    "metadata",
    "outline",
    "problems",
    "references",
    "remove",
    "review",
    "run",
    "scan",
    "search",
    "stat",
    "stats",
    "status",
    "structure",
    "summarize",
    "summary",
    "symbol",
    "symbols",
    "test",
    "tests",
    "tree",
    "upload",
    "usages",
    "validate",
    "verify",
    "warnings",
];
const PLANS: &[&str] = &[
    "agenda",
    "board",
    "card",
    "cards",
    "checklist",
    "goals",
    "milestones",
    "plan",
    "planner",
    "planning",
    "plans",
    "progress",
    "roadmap",
    "step",
    "steps",
    "task",
    "tasks",
    "todo",
    "todos",
];
/// What asks, and whom.
const ASKS: &[&str] = &[
    "approval",
    "ask",
    "clarification",
    "clarify",
    "confirm",
    "confirmation",
    "consult",
    "feedback",
    "input",
    "prompt",
    "question",
    "request",
];
const USERS: &[&str] = &["human", "operator", "user"];
/// What does something else with what users have said.
const NOT_ASKED: &[&str] = &[
    "count", "create", "delete", "find", "list", "log", "read", "save", "search", "store", "update",
];
/// Names of parameters that hold what is written, beside those that all know.
const WRITTEN: &[&str] = &["body", "text", "data", "source", "code", "value", "lines"];
/// Names of parameters that only a tool of somewhere else has.
const ELSEWHERE: &[&str] = &[
    "headers",
    "endpoint",
    "host",
    "recipient",
    "recipients",
    "subject",
    "channel",
];

fn has(name: &str, list: &[&str]) -> bool {
    words(name).iter().any(|word| list.contains(&word.as_str()))
}

/// Whether a tool of this name says or asks for something, so that its texts are neither commands nor contents.
pub(crate) fn speaks(name: &str) -> bool {
    let name = short(name);
    has(name, SAYS) && !has(name, PROGRAMS) || has(name, &["explain", "suggest", "describe", "translate"])
}

/// Whether a name is about programs, so that a single text of that name can be shown to be a command.
pub(crate) fn is_about_programs(name: &str) -> bool {
    has(name, PROGRAMS) || has(name, LINES)
}

/// Whether a tool of this name may change a file.
pub(crate) fn may_change(name: &str) -> bool {
    !only_looks(short(name)) && !speaks(name)
}

/// Whether a tool of this name may show what a file holds.
pub(crate) fn may_read(name: &str) -> bool {
    !has(short(name), NOT_READ) && !speaks(name)
}

/// Whether a tool of this name removes what it is given.
pub(crate) fn removes(name: &str) -> bool {
    has(short(name), REMOVES)
}

/// What the words of a name say that a tool does with a file.
pub(crate) fn file_words(name: &str) -> Option<ActionKind> {
    match by_words(short(name))? {
        Does::Read => Some(ActionKind::Read),
        Does::Change | Does::Whole(ChangeKind::Removes) => Some(ActionKind::Change),
        _ => None,
    }
}

/// Whether a name of a tool or a parameter is that of a list of what is to be done.
pub(crate) fn names_a_plan(name: &str) -> bool {
    name == short(name) && has(name, PLANS)
}

/// Whether an agent's own tool of this name asks the user.
pub(crate) fn asks_a_user(name: &str) -> bool {
    name == short(name) && has(name, ASKS) && has(name, USERS) && !has(name, NOT_ASKED)
}

/// Whether a parameter of this name holds the path of a file.
pub(crate) fn is_path_name(name: &str) -> bool {
    PATHS.iter().any(|known| is_same(known, name))
}

/// Whether a parameter of this name may hold what is written.
pub(crate) fn is_content_name(name: &str) -> bool {
    CONTENTS.iter().chain(WRITTEN).any(|known| is_same(known, name))
}

/// Whether parameters of these names hold what is replaced, and by what.
pub(crate) fn is_replaced_by(old: &str, new: &str) -> bool {
    let is = |name: &str, list: &[&str]| is_text(name, list);
    is(old, OLD) || is(new, NEW) && is(old, SOUGHT) || is(old, &["from"]) && is(new, &["to", "into", "with"])
}

/// Whether parameters of these names are of something that is here.
pub(crate) fn is_here<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut elsewhere = names.filter(|name| {
        super::ELSEWHERE
            .iter()
            .chain(ELSEWHERE)
            .any(|other| is_same(other, name))
    });
    elsewhere.next().is_none()
}
