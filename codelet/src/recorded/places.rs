//! The table of where agents keep their sessions. To add an agent: a row.

use super::{base, variable};

/// An agent whose sessions are read.
pub struct Agent {
    /// Its name: that of the form that its sessions have.
    pub name: &'static str,
    pub places: &'static [Place],
}

/// Where sessions lie.
pub struct Place {
    pub base: Base,
    /// The way from there, with `*` for any piece of a name.
    pub pattern: &'static str,
}

/// A folder that an environment variable may name.
pub struct Base {
    pub variable: Option<&'static str>,
    /// The way from the folder that the variable names.
    pub within: &'static str,
    /// The way from the home folder where the variable names none.
    pub usual: &'static str,
}

const fn at(variable: &'static str, usual: &'static str, pattern: &'static str) -> Place {
    let variable = Some(variable);
    let base = Base {
        variable,
        within: "",
        usual,
    };
    Place { base, pattern }
}

const fn home(usual: &'static str, pattern: &'static str) -> Place {
    let base = Base {
        variable: None,
        within: "",
        usual,
    };
    Place { base, pattern }
}

/// The settings of editors like VS Code, on Linux and on a Mac.
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
pub const AGENTS: &[Agent] = &[
    Agent { name: "claude-code", places: &[at("CLAUDE_CONFIG_DIR", ".claude", "projects/*/*.jsonl")] },
    Agent { name: "codex", places: &[
        at("CODEX_HOME", ".codex", "sessions/*/*/*/rollout-*.jsonl"),
        at("CODEX_HOME", ".codex", "archived_sessions/rollout-*.jsonl"),
    ] },
    Agent { name: "gemini-cli", places: &[
        Place { base: Base { variable: Some("GEMINI_CLI_HOME"), within: ".gemini", usual: ".gemini" }, pattern: "tmp/*/chats/session-*" },
    ] },
    Agent { name: "qwen-code", places: &[home(".qwen", "projects/*/chats/*.jsonl")] },
    Agent { name: "pi", places: &[at("PI_CODING_AGENT_DIR", ".pi/agent", "sessions/*/*.jsonl")] },
    Agent { name: "copilot", places: &[
        home(".copilot", "session-state/*/events.jsonl"),
        home(".copilot", "session-state/*.jsonl"),
    ] },
    Agent { name: "cursor", places: &[
        home(".cursor", "projects/*/agent-transcripts/*/*.jsonl"),
        home(".cursor", "projects/*/agent-transcripts/*.jsonl"),
    ] },
    Agent { name: "droid", places: &[home(".factory", "sessions/*/*.jsonl"), home(".factory", "sessions/*.jsonl")] },
    Agent { name: "kimi", places: &[at("KIMI_SHARE_DIR", ".kimi", "sessions/*/*/wire.jsonl")] },
    Agent { name: "continue", places: &[at("CONTINUE_GLOBAL_DIR", ".continue", "sessions/*-*.json")] },
    Agent { name: "amp", places: &[at("XDG_DATA_HOME", ".local/share", "amp/threads/T-*.json")] },
    Agent { name: "vscode-chat", places: in_editors![
        "workspaceStorage/*/chatSessions/*.json", "workspaceStorage/*/chatSessions/*.jsonl",
        "globalStorage/emptyWindowChatSessions/*.json", "globalStorage/emptyWindowChatSessions/*.jsonl"
    ] },
    Agent { name: "cline", places: in_editors![
        "globalStorage/saoudrizwan.claude-dev/tasks/*/api_conversation_history.json",
        "globalStorage/rooveterinaryinc.roo-cline/tasks/*/api_conversation_history.json",
        "globalStorage/kilocode.kilo-code/tasks/*/api_conversation_history.json"
    ] },
];

/// A store that is no file of one conversation.
struct Store {
    agent: &'static str,
    place: Place,
    export: &'static str,
}

#[rustfmt::skip]
const STORES: &[Store] = &[
    Store { agent: "OpenCode", place: at("XDG_DATA_HOME", ".local/share", "opencode/opencode.db"),
        export: "`opencode export ID > session.json` gives a file that is read" },
    Store { agent: "Goose", place: at("XDG_DATA_HOME", ".local/share", "goose/sessions/sessions.db"),
        export: "`goose session export --session-id ID --format json > session.json` gives a file that is read" },
    Store { agent: "Cursor", place: at("XDG_CONFIG_HOME", ".config", "Cursor/User/globalStorage/state.vscdb"),
        export: "its newer transcripts are read" },
    Store { agent: "Zed", place: at("XDG_DATA_HOME", ".local/share", "zed/threads/threads.db"),
        export: "Zed can open a thread as Markdown" },
];

/// What is known of stores on this machine that are databases, a sentence each.
pub fn unreadable() -> Vec<String> {
    let here = |store: &Store| {
        let file = base(&store.place.base, &variable)?.join(store.place.pattern);
        let Store { agent, export, .. } = store;
        let told = || {
            format!(
                "{agent} keeps its sessions in a database ({}), which is not read: {export}",
                file.display()
            )
        };
        file.is_file().then(told)
    };
    STORES.iter().filter_map(here).collect()
}
