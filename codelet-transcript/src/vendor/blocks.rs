//! Blocks and items of vendors that something else rests on: they stay as long as the conversation goes on.

use codelet_context::message::{Message, Part};
use serde_json::Value;
use std::collections::HashSet;

/// What a vendor's own compaction left: the only carrier of all that stood before it. (Anthropic: "Compaction"; OpenAI:
/// "Compaction", both read in November 2026; Codex records the third name.)
const COMPACTIONS: &[&str] = &["compaction", "compaction_summary", "context_compaction"];

/// Items of OpenAI's that define or load tools which later calls use ("Tool search", "Programmatic tool calling", read in November
/// 2026); without them the vendor knows no such tools.
const TOOLS: &[&str] = &["additional_tools", "tool_search_call", "tool_search_output"];

/// What finds tools within a reply of Anthropic's ("Tool search tool", November 2026), and how the names of these tools begin.
const SEARCH_RESULT: &str = "tool_search_tool_result";
const SEARCH: &str = "tool_search_tool";

/// What names a found tool within a result.
const FOUND: &str = "tool_reference";

/// Whether a block of this kind stays in every view of the conversation.
pub(crate) fn stays(kind: &str, value: &Value) -> bool {
    let name = || value.get("name").and_then(Value::as_str).unwrap_or_default();
    COMPACTIONS.contains(&kind)
        || TOOLS.contains(&kind)
        || kind == SEARCH_RESULT
        || kind == "server_tool_use" && name().starts_with(SEARCH)
}

/// Whether it is an item of its own in OpenAI's list, whoever's message it stands in.
pub(crate) fn is_item(kind: &str) -> bool {
    COMPACTIONS.contains(&kind) || TOOLS.contains(&kind)
}

/// The messages whose results load tools that are called later. Without them the vendor refuses to offer these any more.
pub fn loaders(messages: &[impl AsRef<Message>]) -> Vec<usize> {
    let mut called: HashSet<&str> = HashSet::new();
    let mut loaders = Vec::new();
    for (index, message) in messages.iter().enumerate().rev() {
        let message = message.as_ref();
        let found = message.tool_results().flat_map(|result| &result.output).any(|part| {
            let name = match part {
                Part::Opaque(opaque) if &*opaque.kind == FOUND => opaque.value.get("tool_name"),
                _ => None,
            };
            name.and_then(Value::as_str).is_some_and(|name| called.contains(name))
        });
        if found {
            loaders.push(index);
        }
        called.extend(message.calls().map(|call| &*call.tool));
    }
    loaders.reverse();
    loaders
}

/// The ids of calls that a vendor's own tools have made and answered within replies.
pub(crate) fn server_pairs(messages: &[Message]) -> HashSet<&str> {
    let blocks = messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Opaque(opaque) => Some(opaque),
            _ => None,
        });
    let text = |value: &'_ Value, name: &str| -> Option<String> { Some(value.get(name)?.as_str()?.to_owned()) };
    let answered: HashSet<String> = blocks.clone().filter_map(|it| text(&it.value, "tool_use_id")).collect();
    let ids = blocks
        .filter(|it| is_server_call(&it.kind))
        .filter_map(|it| it.value.get("id")?.as_str());
    ids.filter(|id| answered.contains(*id)).collect()
}

/// Whether a block of this kind is a call of a tool that the vendor runs itself.
pub(crate) fn is_server_call(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use")
}

/// Whether a block of this kind is what such a call has given.
pub(crate) fn is_server_result(kind: &str) -> bool {
    kind.ends_with("_tool_result")
}
