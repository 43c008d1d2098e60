//! OpenAI Responses.

use super::{Faults, parts, text};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Items that are calls for the client.
const CALLS: &[&str] = &[
    "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call",
    "tool_search_call",
];

/// The types of parts in a message ("Create a response", developers.openai.com, November 2026).
const PARTS: &[&str] = &[
    "input_text", "input_image", "input_file", "input_audio", "output_text", "refusal",
];

/// The types of items besides other calls and their outputs, and those of MCP servers; the last three are Codex's.
const ITEMS: &[&str] = &[
    "message", "function_call", "function_call_output", "reasoning", "item_reference", "program", "additional_tools",
    "compaction", "compaction_trigger", "compaction_summary", "context_compaction", "agent_message",
];

pub(super) fn check(request: &Value, items: &[Value], faults: &mut Faults) {
    let named = |name: &str| request.get(name).is_some_and(|value| !value.is_null());
    let is_reference = |item: &Value| kind(item) == "item_reference";
    // Missing items may be stored by the provider.
    let is_apart = named("previous_response_id") || named("conversation") || items.iter().any(is_reference);
    let mut check = ResponsesCheck {
        is_apart,
        ..ResponsesCheck::default()
    };
    for (at, item) in items.iter().enumerate() {
        check.item(at, item, faults);
        if kind(item) == "reasoning" {
            let next = items.get(at + 1);
            let leads = next.is_some_and(|next| text(next, "role") != "user" && !kind(next).ends_with("_output"));
            if !leads {
                faults.add(at.to_string(), "The item that should follow this reasoning is missing.");
            }
        }
    }
    let mut open: Vec<(&usize, &&str)> = check.open.iter().map(|(id, (_, at))| (at, id)).collect();
    open.sort_unstable();
    for (at, id) in open {
        faults.add(at.to_string(), format!("Call {id:?} has no output."));
    }
}

fn kind(item: &Value) -> &str {
    match text(item, "type") {
        "" if item.get("role").is_some() => "message",
        kind => kind,
    }
}

#[derive(Default)]
struct ResponsesCheck<'a> {
    is_apart: bool,
    /// The kinds and indices of calls without an output.
    open: HashMap<&'a str, (&'a str, usize)>,
    ids: HashSet<&'a str>,
    programs: HashSet<&'a str>,
}

impl<'a> ResponsesCheck<'a> {
    fn item(&mut self, at: usize, item: &'a Value, faults: &mut Faults) {
        let (kind, id) = (kind(item), text(item, "call_id"));
        let is_server_search = kind.starts_with("tool_search") && text(item, "execution") != "client";
        match kind {
            "" => faults.add(at.to_string(), "The item has neither type nor role."),
            "message" => message(at, item, faults),
            "program" => drop(self.programs.insert(id)),
            "program_output" if !self.programs.contains(id) && !self.is_apart => {
                faults.add(at.to_string(), format!("The output has no program before it: {id:?}."));
            }
            _ if is_server_search => {}
            _ if CALLS.contains(&kind) => {
                if !self.ids.insert(id) {
                    faults.add(at.to_string(), format!("The id {id:?} was used before."));
                }
                self.open.insert(id, (kind, at));
            }
            _ if kind.ends_with("_output") && kind != "program_output" => self.output(at, kind, id, faults),
            _ if ["_call", "_output"].iter().any(|end| kind.ends_with(end)) || kind.starts_with("mcp_") => {}
            _ => faults.type_of(at.to_string(), kind, ITEMS),
        }
        let caller = item
            .get("caller")
            .map(|caller| text(caller, "caller_id"))
            .unwrap_or_default();
        if !caller.is_empty() && !self.programs.contains(caller) && !self.is_apart {
            faults.add(
                at.to_string(),
                format!("The program that made this call is missing: {caller:?}."),
            );
        }
    }

    fn output(&mut self, at: usize, kind: &str, id: &str, faults: &mut Faults) {
        let stem = kind.trim_end_matches("_output").trim_end_matches("_call");
        match self.open.remove(id) {
            Some((call, _)) if call.trim_end_matches("_call") != stem => {
                faults.add(
                    at.to_string(),
                    format!("A {kind} cannot be the output of a {call}: {id:?}."),
                );
            }
            Some(_) => {}
            None if self.is_apart => {}
            None => faults.add(at.to_string(), format!("The output has no call before it: {id:?}.")),
        }
    }
}

fn message(at: usize, item: &Value, faults: &mut Faults) {
    let role = text(item, "role");
    if !matches!(role, "user" | "assistant" | "system" | "developer") {
        faults.add(format!("{at}.role"), format!("Unknown role {role:?}."));
    }
    for (number, part) in parts(item) {
        let kind = text(part, "type");
        if !PARTS.contains(&kind) {
            faults.type_of(format!("{at}.content.{number}"), kind, PARTS);
        } else if (role == "assistant") != matches!(kind, "output_text" | "refusal") {
            faults.add(
                format!("{at}.content.{number}"),
                format!("{kind:?} is not allowed in a message of the role {role:?}."),
            );
        }
    }
}
