//! Agents that the user or a project has defined for tasks: files `agents/NAME.md`; the model is told their names and
//! purposes. Such a file can restrict a task's tools, and add to its system prompt; it grants no permission.

use crate::environment::Surroundings;
use crate::environment::definitions::{Author, Definition, Kind};
use crate::permission::narrowed::names;
use crate::tool::Tool;
use codelet_context::reminder;
use codelet_text::short::{clip, on_one_line};
use serde_json::{Value, json};
use std::sync::Arc;

/// The layout of agents in their folders.
pub const AGENTS: Kind = Kind {
    folder: "agents",
    file: None,
    required: &["description"],
};

/// The maximum length of a purpose, in characters; `LIST`: that of the whole list for the model, in bytes.
const LONGEST: usize = 160;
const LIST: usize = 3_000;
/// Reads back what was removed from the conversation: available whatever tools a definition names.
const RECALL: &str = "Recall";
/// Names that stand for no defined agent.
const GENERAL: [&str; 3] = ["", "general", "general-purpose"];

/// The effect of a definition on a task.
pub(super) struct Agent {
    /// Text appended to the system prompt.
    pub behind: String,
    /// Another model, if it names one, with the author of the definition.
    pub model: Option<(String, Author)>,
    /// The tools that it names, if any.
    tools: Option<Vec<String>>,
    /// The tools that it excludes.
    without: Vec<String>,
}

impl Agent {
    /// Returns whether a task of this agent has a tool.
    pub(super) fn has(&self, tool: &Arc<dyn Tool>) -> bool {
        let name = &*tool.spec().name;
        let is_among = |names: &[String]| names.iter().any(|named| fits(named, name));
        let is_named = self
            .tools
            .as_ref()
            .is_none_or(|tools| is_among(tools) || name == RECALL && !tools.is_empty());
        // Excluding part of a tool is not supported, so the whole tool is excluded.
        let bare = |named: &String| named.split('(').next().unwrap_or_default().to_owned();
        let without: Vec<String> = self.without.iter().map(bare).collect();
        is_named && !is_among(&without)
    }
}

/// Returns whether a definition names this tool. Other agents prefix tools of servers with `mcp__`, and use other names
/// for some. A name with a pattern in parentheses means less than the whole tool, which is not supported, so it matches
/// nothing.
fn fits(named: &str, tool: &str) -> bool {
    let named = match named.trim() {
        "TodoWrite" => "Todo",
        "MultiEdit" => "Edit",
        named => named,
    };
    let server = named.strip_prefix("mcp__").unwrap_or(named);
    names(named, tool) || !server.contains("__") && tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"))
}

/// Returns the agent of a definition, from its file as it is now.
///
/// # Errors
/// Says to the model why there is none.
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
        // Nothing in it may look like one of our reminders.
        behind: reminder::escape(&body.text),
    }))
}

/// Returns the description of the agents for the model: a list, and the schema of the parameter that names one. `None`
/// if there are none.
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
