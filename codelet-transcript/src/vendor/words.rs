//! Extracts readable text from the blocks of server tools: their inputs and outputs. The blocks are sent back unchanged
//! or not at all; the text can be quoted and searched.

use super::blocks::{is_server_call, is_server_result};
use codelet_context::message::BlockText;
use serde_json::Value;

/// The maximum depth to which a block is read.
const DEEPEST: usize = 16;

/// OpenAI's items that hold both a call and its output ("Responses", developers.openai.com, November 2026).
const BOTH: &[&str] = &[
    "web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "program_output",
];

/// Returns the text of a block, if it belongs to a server tool.
pub(crate) fn of(kind: &str, block: &Value) -> Option<BlockText> {
    let is_call = is_server_call(kind) || kind == "program";
    if !is_call && !is_server_result(kind) && !BOTH.contains(&kind) {
        return None;
    }
    let name = block.get("name").and_then(Value::as_str).unwrap_or(kind);
    let fields = ["input", "code", "arguments"];
    let body = match is_call {
        true => {
            let fields = fields.iter().filter_map(|field| block.get(*field));
            fields.map(joined).collect::<Vec<_>>().join("\n")
        }
        false => joined(block),
    };
    if body.trim().is_empty() {
        return None;
    }
    Some(match is_call {
        true => BlockText::Call {
            tool: name.into(),
            body: body.into(),
        },
        false => BlockText::Output(body.into()),
    })
}

/// Returns all readable texts of a value, on one or more lines each.
fn joined(value: &Value) -> String {
    let mut lines = Vec::new();
    gather(value, DEEPEST, &mut lines);
    lines.join("\n")
}

fn gather<'a>(value: &'a Value, depth: usize, lines: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => lines.push(text),
        Value::Array(items) if depth > 0 => items.iter().for_each(|item| gather(item, depth - 1, lines)),
        Value::Object(fields) if depth > 0 => {
            let told = fields.iter().filter(|(name, _)| is_told(name));
            told.for_each(|(_, value)| gather(value, depth - 1, lines));
        }
        _ => {}
    }
}

/// Returns whether a field is readable: not an id, encrypted data or a category.
fn is_told(name: &str) -> bool {
    let is_name = name == "id" || name.ends_with("_id");
    let is_sealed = name.starts_with("encrypted") || matches!(name, "signature" | "fingerprint" | "data");
    let is_sort = matches!(
        name,
        "type" | "status" | "caller" | "cache_control" | "server_label" | "page_age"
    );
    !is_name && !is_sealed && !is_sort
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(block: Value, expected: Option<BlockText>) {
        let kind = block["type"].as_str().unwrap_or_default();
        assert_eq!(of(kind, &block), expected, "{block}");
    }

    #[test]
    fn calls_say_what_they_are_called_with_and_results_what_they_gave() {
        let call = |tool: &str, body: &str| {
            Some(BlockText::Call {
                tool: tool.into(),
                body: body.into(),
            })
        };
        let output = |body: &str| Some(BlockText::Output(body.into()));
        check(
            json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "kettles"}}),
            call("web_search", "kettles"),
        );
        check(
            json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": [
                {"type": "web_search_result", "url": "https://a.example", "title": "Kettles", "encrypted_content": "Eo8B"}]}),
            output("https://a.example\nKettles"),
        );
        check(
            json!({"type": "mcp_tool_result", "tool_use_id": "m", "is_error": false,
                "content": [{"type": "text", "text": "MPL-2.0"}, {"type": "text", "text": "2 files"}]}),
            output("MPL-2.0\n2 files"),
        );
        check(
            json!({"type": "code_execution_tool_result", "tool_use_id": "s",
                "content": {"type": "code_execution_result", "stdout": "7\n", "stderr": "", "return_code": 0}}),
            output("7\n"),
        );
        check(
            json!({"type": "program", "id": "p", "call_id": "c", "code": "await tools.stock()", "fingerprint": "x"}),
            call("program", "await tools.stock()"),
        );
        check(
            json!({"type": "mcp_call", "id": "m", "server_label": "shop", "name": "find", "arguments": "{\"q\":1}", "output": "3 cups"}),
            output("find\n{\"q\":1}\n3 cups"),
        );
    }

    #[test]
    fn sealed_blocks_and_those_of_other_kinds_say_nothing() {
        check(
            json!({"type": "advisor_tool_result", "tool_use_id": "s", "content": {"type": "advisor_redacted_result", "encrypted_content": "Eo"}}),
            None,
        );
        check(
            json!({"type": "server_tool_use", "id": "s", "name": "advisor", "input": {}}),
            None,
        );
        check(json!({"type": "compaction", "content": "So far."}), None);
    }
}
