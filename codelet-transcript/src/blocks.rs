//! Content blocks in Anthropic's format, which the sessions of several agents use.

use crate::anthropic;
use crate::gather;
use crate::take;
use codelet_context::message::{Origin, Part, Text};
use serde_json::Value;

/// Reads the content of a message: a text, or blocks.
pub(crate) fn content(value: Value, origin: Origin) -> Vec<Part> {
    match value {
        Value::Array(items) => items.into_iter().filter_map(|item| block(item, origin)).collect(),
        one => block(one, origin).into_iter().collect(),
    }
}

fn block(value: Value, origin: Origin) -> Option<Part> {
    let mut fields = match value {
        Value::String(text) => return gather::text(origin, text),
        Value::Object(fields) => fields,
        _ => return None,
    };
    if take::str(&fields, "type") == "tool_use" {
        // Some agents record no ids, and some record the input as text.
        fields.entry("id").or_insert_with(|| Value::from(""));
        let input = fields.entry("input").or_insert(Value::Null);
        *input = Value::Object(take::parameters(input.take()));
    }
    let is_empty = |part: &Part| matches!(part, Part::Text(text) if text.body.is_empty());
    Some(match anthropic::block(Value::Object(fields)) {
        part if is_empty(&part) => return None,
        Part::Text(text) => Part::Text(Text { origin, ..text }),
        Part::Thinking(thinking) => {
            let proof = |proof: Option<std::sync::Arc<str>>| proof.map(|proof| proof.to_string());
            let (signature, redacted) = (proof(thinking.signature), proof(thinking.redacted));
            let words = thinking.body.as_str().to_owned();
            return gather::thinking(words, signature, redacted, Some("anthropic"));
        }
        Part::ToolResult(mut result) => {
            let is_output = |part: &Part| matches!(part, Part::Text(_) | Part::Image(_) | Part::Opaque(_));
            result.output.retain(|part| is_output(part) && !is_empty(part));
            Part::ToolResult(result)
        }
        part => part,
    })
}
