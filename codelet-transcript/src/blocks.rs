//! Content blocks in Anthropic's format, which the sessions of several agents use.

use crate::attachment;
use crate::gather;
use crate::take::{self, Fields};
use codelet_context::message::{Extra, Origin, Part, Text};
use serde_json::Value;

/// Reads the content of a message: a text, or blocks.
pub(crate) fn content(value: Value, origin: Origin) -> Vec<Part> {
    match value {
        Value::Array(items) => items.into_iter().filter_map(|item| block(item, origin)).collect(),
        one => block(one, origin).into_iter().collect(),
    }
}

fn block(value: Value, origin: Origin) -> Option<Part> {
    let Value::Object(mut fields) = value else {
        return value.as_str().and_then(|text| gather::text(origin, String::from(text)));
    };
    let kind = take::string(&mut fields, "type").unwrap_or_default();
    match kind.as_str() {
        "text" => {
            let body = take::string(&mut fields, "text").filter(|text| !text.is_empty())?;
            let extra = rest(fields, &["type", "text"]);
            Some(Part::Text(Text {
                extra,
                ..Text::new(body, origin)
            }))
        }
        "thinking" => {
            let words = take::string(&mut fields, "thinking").unwrap_or_default();
            let signature = take::string(&mut fields, "signature");
            gather::thinking(words, signature, None, Some("anthropic"))
        }
        "redacted_thinking" => {
            let data = take::string(&mut fields, "data");
            gather::thinking(String::new(), None, data, Some("anthropic"))
        }
        "tool_use" => {
            let id = take::string(&mut fields, "id").unwrap_or_default();
            let tool = take::string(&mut fields, "name").unwrap_or_default();
            let parameters = take::parameters(take::value(&mut fields, "input"));
            let mut part = gather::call(id, tool, parameters);
            if let Part::ToolCall(call) = &mut part {
                call.extra = rest(fields, &["type", "id", "name", "input"]);
            }
            Some(part)
        }
        "tool_result" => {
            let id = take::string(&mut fields, "tool_use_id").unwrap_or_default();
            let output = take::value(&mut fields, "content");
            let bare = output.is_string();
            let success = fields
                .get("is_error")
                .and_then(Value::as_bool)
                .map(|is_error| !is_error);
            let mut output = content(output, Origin::Own);
            output.retain(|part| matches!(part, Part::Text(_) | Part::Image(_) | Part::Opaque(_)));
            let mut result = gather::result(id, success, output);
            result.bare = bare;
            Some(Part::ToolResult(result))
        }
        "image" if is_picture(&fields) => {
            let mut source = take::object(&mut fields, "source").unwrap_or_default();
            Some(match take::string(&mut source, "url") {
                Some(url) => gather::image_at(url),
                None => {
                    let data = take::string(&mut source, "data")?;
                    gather::image(take::str(&source, "media_type"), data)
                }
            })
        }
        _ => {
            fields.insert(String::from("type"), Value::String(kind.clone()));
            Some(attachment::part(&kind, Value::Object(fields)))
        }
    }
}

fn is_picture(fields: &Fields) -> bool {
    let source = fields.get("source").and_then(Value::as_object);
    source.is_some_and(|source| !take::str(source, "data").is_empty() || !take::str(source, "url").is_empty())
}

fn rest(mut fields: Fields, read: &[&str]) -> Extra {
    fields.retain(|name, _| !read.contains(&name.as_str()));
    Extra::new(fields)
}
