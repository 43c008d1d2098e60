//! Providers' blocks and items that something else depends on: they stay as long as the conversation continues.

use codelet_context::message::{Message, Part};
use serde_json::Value;
use std::collections::HashSet;

/// The output of a provider's own compaction: it alone holds the conversation before it. (Anthropic: "Compaction";
/// OpenAI: "Compaction", both read in November 2026; Codex records the third name.)
const COMPACTIONS: &[&str] = &["compaction", "compaction_summary", "context_compaction"];

/// OpenAI's items that define or load tools for later calls ("Tool search", "Programmatic tool calling", read in
/// November 2026); without them the provider does not know these tools.
const TOOLS: &[&str] = &["additional_tools", "tool_search_call", "tool_search_output"];

/// The result of a tool search within a reply of Anthropic's ("Tool search tool", November 2026), and the prefix of the
/// search tools' names.
const SEARCH_RESULT: &str = "tool_search_tool_result";
const SEARCH: &str = "tool_search_tool";

/// The block that names a found tool within a result.
const FOUND: &str = "tool_reference";

/// Returns whether a block of this kind stays in every view of the conversation.
pub(crate) fn stays(kind: &str, value: &Value) -> bool {
    let name = || value.get("name").and_then(Value::as_str).unwrap_or_default();
    COMPACTIONS.contains(&kind)
        || TOOLS.contains(&kind)
        || kind == SEARCH_RESULT
        || kind == "server_tool_use" && name().starts_with(SEARCH)
}

/// Returns whether it is a separate item in OpenAI's list, in a message of any role.
pub(crate) fn is_item(kind: &str) -> bool {
    COMPACTIONS.contains(&kind) || TOOLS.contains(&kind)
}

/// Returns the indices of messages whose results load tools that are called later. Without them the provider refuses to
/// offer these tools any more.
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

/// Returns the ids of server tool calls that have their result within a reply.
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

/// Returns whether a block of this kind is a call of a tool that the provider runs.
pub(crate) fn is_server_call(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use")
}

/// Returns whether a block of this kind is the result of such a call.
pub(crate) fn is_server_result(kind: &str) -> bool {
    kind.ends_with("_tool_result")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Format, read, write};
    use serde_json::json;

    fn written(text: &str, from: Format, to: Format) -> String {
        write(&read(text.as_bytes(), Some(from)).unwrap(), to).unwrap()
    }

    #[test]
    fn results_that_load_tools_are_those_whose_tools_are_called_later() {
        let found = |id: &str, tool: &str| {
            [
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "ToolSearch", "input": {}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id,
                    "content": [{"type": "tool_reference", "tool_name": tool}]}]}),
            ]
        };
        let mut messages = vec![json!({"role": "user", "content": "Post it."})];
        messages.extend(found("a", "post"));
        messages.extend(found("b", "file"));
        messages.push(
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "post", "input": {}}]}),
        );
        let request = json!({"messages": messages}).to_string();
        assert_eq!(loaders(&read(request.as_bytes(), None).unwrap().messages), [2]);
    }

    #[test]
    fn what_carries_an_earlier_part_or_loads_tools_stays_and_nothing_else_of_its_kind() {
        assert!(stays("compaction", &json!({})) && stays("additional_tools", &json!({})));
        assert!(stays("server_tool_use", &json!({"name": "tool_search_tool_regex"})));
        assert!(
            !stays("server_tool_use", &json!({"name": "web_search"})) && !stays("web_search_tool_result", &json!({}))
        );
    }

    #[test]
    fn items_that_define_tools_are_the_developer_s_and_come_back_where_they_stood() {
        let items = json!([{"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "stock"}]},
            {"role": "user", "content": "Check."}]);
        let request = json!({"input": items}).to_string();
        assert_eq!(written(&request, Format::Responses, Format::Responses), request);
        let elsewhere = written(&request, Format::Responses, Format::Anthropic);
        assert!(!elsewhere.contains("additional_tools"), "{elsewhere}");
    }

    #[test]
    fn a_pair_of_a_server_s_tool_goes_back_to_its_vendor_and_an_odd_one_does_not() {
        let blocks = json!([{"type": "server_tool_use", "id": "s", "name": "advisor", "input": {}},
            {"type": "advisor_tool_result", "tool_use_id": "s", "content": {"text": "A lock is needed."}},
            {"type": "server_tool_use", "id": "open", "name": "advisor", "input": {}}]);
        let line = |kind: &str, id: &str, parent: Value, content: Value| {
            json!({"type": kind, "uuid": id, "parentUuid": parent, "message": {"role": kind, "content": content}})
                .to_string()
        };
        let session = [
            line("user", "1", Value::Null, json!("Ask.")),
            line("assistant", "2", json!("1"), blocks),
        ]
        .join("\n");
        let text = written(&session, Format::ClaudeCode, Format::Anthropic);
        assert!(
            text.contains("A lock is needed.") && !text.contains("\"open\""),
            "{text}"
        );
    }

    #[test]
    fn calls_of_codex_keep_the_namespace_of_their_tools_for_every_vendor() {
        let call = |space: &str, id: &str| {
            json!({"type": "response_item", "payload": {"type": "function_call", "namespace": space, "name": "find", "arguments": "{}", "call_id": id}}).to_string()
        };
        let meta = json!({"type": "session_meta", "payload": {"id": "x"}}).to_string();
        let prompt = json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Find."}]}});
        let rollout = [
            meta,
            prompt.to_string(),
            call("mcp__wiki", "a"),
            call("mcp__shop__", "b"),
        ]
        .join("\n");
        let own = written(&rollout, Format::Codex, Format::Responses);
        assert!(
            own.contains(r#""namespace":"mcp__wiki""#) && own.contains(r#""name":"find""#),
            "{own}"
        );
        let other = written(&rollout, Format::Codex, Format::Openai);
        assert!(
            other.contains("mcp__wiki__find") && other.contains("mcp__shop__find"),
            "{other}"
        );
    }

    #[test]
    fn a_task_of_another_agent_is_a_prompt_and_so_are_those_that_a_sealed_compaction_holds() {
        let entry = |kind: &str, payload: Value| json!({"type": kind, "payload": payload}).to_string();
        let text = |text: &str| json!([{"type": "input_text", "text": text}]);
        let task = json!({"type": "agent_message", "author": "/root", "content": text("Message Type: NEW_TASK\nPayload:\nTest the timer.")});
        let news = json!({"type": "agent_message", "author": "/root", "content": text("Message Type: STATUS\nPayload:\nIt works.")});
        let meta = entry("session_meta", json!({"id": "x"}));
        let rollout = [meta.clone(), entry("response_item", task), entry("response_item", news)].join("\n");
        let document = read(rollout.as_bytes(), Some(Format::Codex)).unwrap();
        let prompts: Vec<bool> = document.messages.iter().map(Message::is_prompt).collect();
        assert_eq!(prompts.iter().filter(|it| **it).count(), 1, "{document:?}");
        let prompt = |words: &str| json!({"type": "message", "role": "user", "content": text(words)});
        let history =
            json!([prompt("No floats."), prompt("Stay green."), {"type": "compaction", "encrypted_content": "x"}]);
        let rollout = [
            meta,
            entry("compacted", json!({"message": "", "replacement_history": history})),
        ]
        .join("\n");
        let document = read(rollout.as_bytes(), Some(Format::Codex)).unwrap();
        let words: Vec<&Part> = document
            .messages
            .iter()
            .filter(|it| it.is_prompt())
            .flat_map(|it| &it.parts)
            .collect();
        assert_eq!(words, [&Part::text("No floats."), &Part::text("Stay green.")]);
        let request = write(&document, Format::Responses).unwrap();
        assert!(
            request.contains(r#"{"type":"compaction","encrypted_content":"x"}"#),
            "{request}"
        );
    }
}
