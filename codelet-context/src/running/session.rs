//! Which shell a call is carried out in, as far as its harness tells one from another.

use super::name_in;
use crate::message::ToolCall;
use std::sync::Arc;

/// What parameters are called that name a shell, or the machine that it is on.
const SHELLS: &[&str] = &[
    "session",
    "shell",
    "terminal",
    "tab",
    "pane",
    "window",
    "host",
    "hostname",
    "server",
    "machine",
    "container",
    "vm",
    "node",
    "pod",
    "sandbox",
    "connection",
];

/// The shell of a tool, or one of its shells where calls name them: what is done in one moves no other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Session {
    /// The tool that it belongs to.
    pub tool: Arc<str>,
    /// As calls name it; empty where they do not.
    name: String,
}

impl Session {
    /// That of a call.
    pub fn of(call: &ToolCall) -> Session {
        let named = call.parameters.as_map().iter().filter(|(key, _)| names_shell(key));
        let mut names: Vec<String> = named
            .filter_map(|(key, value)| Some(format!("{key}={}", name_in(value)?)))
            .collect();
        names.sort_unstable();
        Session {
            tool: call.tool.clone(),
            name: names.join(" "),
        }
    }
}

/// Whether a parameter names a shell: `id`, `session`, `shell_id`, `hostName`.
fn names_shell(key: &str) -> bool {
    let key: String = key.chars().filter(|c| c.is_alphanumeric()).collect();
    let key = key.to_ascii_lowercase();
    let stem = key.strip_suffix("id").or_else(|| key.strip_suffix("name"));
    key == "id" || SHELLS.contains(&key.as_str()) || stem.is_some_and(|stem| SHELLS.contains(&stem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn session(tool: &str, parameters: Value) -> Session {
        let Value::Object(parameters) = parameters else {
            return Session::default();
        };
        Session::of(&ToolCall::new("c", tool, parameters))
    }

    #[test]
    fn shells_are_told_from_one_another_by_tool_and_name() {
        let bash = session("bash", json!({"command": "ls", "timeout": 5, "task": "look"}));
        assert_eq!(bash, session("bash", json!({"command": "cd a", "description": "go"})));
        for other in [
            session("mcp__ssh__exec", json!({"command": "ls"})),
            session("bash", json!({"command": "ls", "id": "s1"})),
            session("bash", json!({"command": "ls", "session_id": 2})),
            session("bash", json!({"command": "ls", "terminalId": "t"})),
            session("bash", json!({"command": "ls", "hostname": "prod"})),
            session("bash", json!({"command": "ls", "container_name": "web"})),
        ] {
            assert_ne!(bash, other);
        }
        let both = |a: &str, b: &str| session("bash", json!({"host": a, "id": b}));
        assert_eq!(both("a", "1"), both("a", "1"));
        assert_ne!(both("a", "1"), both("a", "2"));
    }
}
