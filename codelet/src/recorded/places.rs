//! The table of locations in which agents keep their sessions. To support another agent, add a row.

use super::base;
use crate::input;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// An agent whose sessions are found.
pub struct RecordedAgent {
    /// Its name, the same as the name of its sessions' format.
    pub name: &'static str,
    pub kept: Storage,
    pub places: &'static [SessionPlace],
}

/// The kind of storage that an agent uses.
#[derive(Clone, Copy)]
pub enum Storage {
    /// One file per session.
    Files,
    /// Databases that can be read.
    Store,
    /// A database that cannot be read, with the reason.
    Unread(&'static str),
}

/// A location of sessions.
pub struct SessionPlace {
    pub base: Base,
    /// The path pattern below the base, with `*` for any part of a name.
    pub pattern: &'static str,
}

/// A base folder, which an environment variable may name.
pub struct Base {
    pub variable: Option<&'static str>,
    /// The path below the folder that the variable names.
    pub within: &'static str,
    /// The path below the home folder if the variable is not set.
    pub usual: &'static str,
}

const fn at(variable: &'static str, usual: &'static str, pattern: &'static str) -> SessionPlace {
    let variable = Some(variable);
    let base = Base {
        variable,
        within: "",
        usual,
    };
    SessionPlace { base, pattern }
}

const fn home(usual: &'static str, pattern: &'static str) -> SessionPlace {
    let base = Base {
        variable: None,
        within: "",
        usual,
    };
    SessionPlace { base, pattern }
}

/// The user data folders of VS Code and similar editors, on Linux and macOS.
macro_rules! in_editors {
    ($($pattern:literal),*) => {
        &[$(
            at("XDG_CONFIG_HOME", ".config", concat!("*/User/", $pattern)),
            home("Library/Application Support", concat!("*/User/", $pattern)),
            home(".vscode-server/data", concat!("User/", $pattern)),
        )*]
    };
}

#[rustfmt::skip]
pub const AGENTS: &[RecordedAgent] = &[
    RecordedAgent { kept: Storage::Files, name: "claude-code", places: &[at("CLAUDE_CONFIG_DIR", ".claude", "projects/*/*.jsonl")] },
    RecordedAgent { kept: Storage::Files, name: "codex", places: &[
        at("CODEX_HOME", ".codex", "sessions/*/*/*/rollout-*.jsonl"),
        at("CODEX_HOME", ".codex", "archived_sessions/rollout-*.jsonl"),
    ] },
    RecordedAgent { kept: Storage::Files, name: "gemini-cli", places: &[
        SessionPlace { base: Base { variable: Some("GEMINI_CLI_HOME"), within: ".gemini", usual: ".gemini" }, pattern: "tmp/*/chats/session-*" },
    ] },
    RecordedAgent { kept: Storage::Files, name: "qwen-code", places: &[home(".qwen", "projects/*/chats/*.jsonl")] },
    RecordedAgent { kept: Storage::Files, name: "pi", places: &[at("PI_CODING_AGENT_DIR", ".pi/agent", "sessions/*/*.jsonl")] },
    RecordedAgent { kept: Storage::Files, name: "copilot", places: &[
        home(".copilot", "session-state/*/events.jsonl"),
        home(".copilot", "session-state/*.jsonl"),
    ] },
    RecordedAgent { kept: Storage::Files, name: "cursor", places: &[
        home(".cursor", "projects/*/agent-transcripts/*/*.jsonl"),
        home(".cursor", "projects/*/agent-transcripts/*.jsonl"),
    ] },
    RecordedAgent { kept: Storage::Files, name: "droid", places: &[home(".factory", "sessions/*/*.jsonl"), home(".factory", "sessions/*.jsonl")] },
    RecordedAgent { kept: Storage::Files, name: "kimi", places: &[at("KIMI_SHARE_DIR", ".kimi", "sessions/*/*/wire.jsonl")] },
    RecordedAgent { kept: Storage::Files, name: "continue", places: &[at("CONTINUE_GLOBAL_DIR", ".continue", "sessions/*-*.json")] },
    RecordedAgent { kept: Storage::Files, name: "amp", places: &[at("XDG_DATA_HOME", ".local/share", "amp/threads/T-*.json")] },
    RecordedAgent { kept: Storage::Files, name: "vscode-chat", places: in_editors![
        "workspaceStorage/*/chatSessions/*.json", "workspaceStorage/*/chatSessions/*.jsonl",
        "globalStorage/emptyWindowChatSessions/*.json", "globalStorage/emptyWindowChatSessions/*.jsonl"
    ] },
    RecordedAgent { kept: Storage::Files, name: "cline", places: in_editors![
        "globalStorage/saoudrizwan.claude-dev/tasks/*/api_conversation_history.json",
        "globalStorage/rooveterinaryinc.roo-cline/tasks/*/api_conversation_history.json",
        "globalStorage/kilocode.kilo-code/tasks/*/api_conversation_history.json"
    ] },
    RecordedAgent { kept: Storage::Store, name: "opencode", places: &[
        at("XDG_DATA_HOME", ".local/share", "opencode/opencode*.db"),
        at("XDG_DATA_HOME", ".local/share", "kilo/kilo*.db"),
    ] },
    RecordedAgent { kept: Storage::Store, name: "goose", places: &[
        SessionPlace { base: Base { variable: Some("GOOSE_PATH_ROOT"), within: "data", usual: ".local/share/goose" }, pattern: "sessions/sessions.db" },
        at("XDG_DATA_HOME", ".local/share", "goose/sessions/sessions.db"),
        home("Library/Application Support", "Block.goose/sessions/sessions.db"),
    ] },
    // One database in each project (`of_projects`).
    RecordedAgent { kept: Storage::Store, name: "crush", places: &[] },
    RecordedAgent { kept: Storage::Store, name: "zed", places: &[
        at("XDG_DATA_HOME", ".local/share", "zed/threads/threads.db"),
        home("Library/Application Support", "Zed/threads/threads.db"),
    ] },
    RecordedAgent { kept: Storage::Store, name: "kiro", places: &[
        at("XDG_DATA_HOME", ".local/share", "kiro-cli/data.sqlite3"),
        at("XDG_DATA_HOME", ".local/share", "amazon-q/data.sqlite3"),
        home("Library/Application Support", "kiro-cli/data.sqlite3"),
        home("Library/Application Support", "amazon-q/data.sqlite3"),
    ] },
    RecordedAgent { kept: Storage::Unread("its newer transcripts are read"), name: "cursor", places: &[
        at("XDG_CONFIG_HOME", ".config", "Cursor/User/globalStorage/state.vscdb"),
        home("Library/Application Support", "Cursor/User/globalStorage/state.vscdb"),
    ] },
];

/// Returns the databases of agents that keep one per project: those of the projects that the agents have registered,
/// and of the current one.
pub fn of_projects(variable: &impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    // Crush registers the folders where it was started.
    let noted = match variable("CRUSH_GLOBAL_DATA").filter(|path| path.is_absolute()) {
        Some(folder) => Some(folder),
        None => base(&at("XDG_DATA_HOME", ".local/share", "").base, variable).map(|base| base.join("crush")),
    };
    let noted = noted.and_then(|folder| input::regular(&folder.join("projects.json"), MAX_NOTED).ok());
    let noted: Value = serde_json::from_slice(&noted.unwrap_or_default()).unwrap_or_default();
    let project = |project: &Value| {
        let place = |name| project.get(name).and_then(Value::as_str).map(Path::new);
        let folder = place("path")?.join(place("data_dir").unwrap_or(Path::new(".crush")));
        folder.is_absolute().then(|| folder.join("crush.db"))
    };
    let projects = noted.get("projects").and_then(Value::as_array);
    let mut files: Vec<PathBuf> = projects
        .into_iter()
        .flatten()
        .take(MAX_PROJECTS)
        .filter_map(project)
        .collect();
    files.extend(variable("PWD").map(|here| here.join(".crush/crush.db")));
    files.retain(|file| file.symlink_metadata().is_ok_and(|data| data.is_file()));
    files.sort();
    files.dedup();
    files
}

/// The size limit of a list of projects, in bytes, and the maximum number of projects.
const MAX_NOTED: u64 = 1024 * 1024;
const MAX_PROJECTS: usize = 1_000;
