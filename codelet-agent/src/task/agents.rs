//! Agents that the user or a project has defined for tasks: files `agents/NAME.md`, of which the model is told the names and what each
//! is for. What such a file says can narrow a task's tools, and add to its system prompt; it permits nothing.

use crate::environment::Surroundings;
use crate::environment::definitions::{Author, Definition, Kind};
use crate::permission::narrowed::names;
use crate::tool::Tool;
use codelet_context::reminder;
use codelet_text::short::{clip, on_one_line};
use serde_json::{Value, json};
use std::sync::Arc;

/// How they lie in their folders.
pub const AGENTS: Kind = Kind {
    folder: "agents",
    file: None,
    required: &["description"],
};

/// Characters of what one is for, and bytes of the list, that the model is told.
const LONGEST: usize = 160;
const LIST: usize = 3_000;
/// Takes back what was removed from the conversation: it stays beside whatever a definition names.
const RECALL: &str = "Recall";
/// Names that mean no defined agent.
const GENERAL: [&str; 3] = ["", "general", "general-purpose"];

/// What a definition makes of a task.
pub(super) struct Agent {
    /// What stands behind the system prompt.
    pub behind: String,
    /// Another model, where it names one, and whose word that is.
    pub model: Option<(String, Author)>,
    /// The tools that it names, if it names any.
    tools: Option<Vec<String>>,
    /// Those that it does without.
    without: Vec<String>,
}

impl Agent {
    /// Whether a task of this agent has a tool.
    pub(super) fn has(&self, tool: &Arc<dyn Tool>) -> bool {
        let name = &*tool.spec().name;
        let is_among = |names: &[String]| names.iter().any(|named| fits(named, name));
        let is_named = self
            .tools
            .as_ref()
            .is_none_or(|tools| is_among(tools) || name == RECALL && !tools.is_empty());
        // Who takes a part of a tool away is not understood, so all of it goes.
        let bare = |named: &String| named.split('(').next().unwrap_or_default().to_owned();
        let without: Vec<String> = self.without.iter().map(bare).collect();
        is_named && !is_among(&without)
    }
}

/// Whether a definition names this tool. Other agents write `mcp__` before those of servers, and some names otherwise. With a pattern in
/// brackets less is meant than the tool, which cannot be given, so nothing is.
fn fits(named: &str, tool: &str) -> bool {
    let named = match named.trim() {
        "TodoWrite" => "Todo",
        "MultiEdit" => "Edit",
        named => named,
    };
    let server = named.strip_prefix("mcp__").unwrap_or(named);
    names(named, tool) || !server.contains("__") && tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"))
}

/// The agent of a definition, as its file stands now.
///
/// # Errors
/// Why there is none, for the model.
pub(super) fn named(wanted: &str, agents: &[Definition], world: &dyn Surroundings) -> Result<Option<Agent>, String> {
    let wanted = wanted.trim();
    let Some(found) = agents.iter().find(|agent| agent.name.eq_ignore_ascii_case(wanted)) else {
        return match GENERAL.contains(&wanted) || agents.is_empty() {
            true => Ok(None),
            false => {
                let names: Vec<&str> = agents.iter().map(|agent| &*agent.name).collect();
                Err(format!(
                    "there is no agent of that name. The agents are: {}; without `subagent_type` it is one for everything",
                    names.join(", ")
                ))
            }
        };
    };
    let body = found
        .body(world)
        .map_err(|why| format!("the file of the agent {} {why}", found.name))?;
    let list = |name: &str| body.front.list(name);
    let model = body
        .front
        .text("model")
        .filter(|model| !model.eq_ignore_ascii_case("inherit"));
    Ok(Some(Agent {
        model: model.map(|model| (model, found.author)),
        tools: list("tools"),
        without: list("disallowedtools").unwrap_or_default(),
        // Nothing in it may look like a reminder of ours.
        behind: reminder::escape(&body.text),
    }))
}

/// What the model is told of the agents: a list, and what it names one by. None where there are none.
pub(super) fn told(agents: &[Definition]) -> Option<(String, Value)> {
    let mut list = String::from("\n\nDefined agents, in their authors' words:");
    let mut names = Vec::new();
    for agent in agents {
        let for_what = agent.front.text("description").unwrap_or_default();
        let line: String = on_one_line(&for_what).take(LONGEST + 1).collect();
        let line = format!("\n- {}: {}", agent.name, reminder::escape(&clip(line.trim(), LONGEST)));
        if list.len() + line.len() > LIST {
            list.push_str(&format!("\n- {} more", agents.len() - names.len()));
            break;
        }
        list.push_str(&line);
        names.push(agent.name.as_str());
    }
    (!names.is_empty()).then(|| {
        (
            list,
            json!({"type": "string", "description": "a defined agent, or none"}),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_a_tool_or_all_of_a_server_or_of_all_servers() {
        for (entry, tool, is_named) in [
            ("Edit", "Edit", true),
            ("edit", "Edit", true),
            ("MultiEdit", "Edit", true),
            ("*", "Edit", true),
            ("mcp__*", "Edit", false),
            ("mcp__*", "files__write", true),
            ("mcp__files", "files__write", true),
            ("mcp__files__write", "files__write", true),
            ("mcp__files__read", "files__write", false),
            ("Bash(git *)", "Bash", false),
        ] {
            assert_eq!(fits(entry, tool), is_named, "{entry} {tool}");
        }
    }
}
