//! Messages in the style of Chat Completions, as the agents of the SWE family record them in one JSON document.

use crate::ReadError;
use crate::attachment;
use crate::gather;
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part};
use serde_json::Value;

pub(crate) fn messages(file: &mut Fields, name: &str) -> Result<impl Iterator<Item = Fields> + use<>, ReadError> {
    if !file.get(name).is_some_and(Value::is_array) {
        return Err(ReadError::Unexpected {
            line: 1,
            place: String::from(name),
            found: String::from(if file.contains_key(name) { "no list" } else { "missing" }),
            expected: "a list of messages",
        });
    }
    let messages: Vec<Fields> = take::objects(file, name).collect();
    Ok(messages.into_iter())
}

/// Reads content: a string, or a list of texts, images and files.
pub(crate) fn content(value: Value, origin: Origin) -> Vec<Part> {
    let part = |value| match value {
        Value::String(text) => gather::text(origin, text),
        Value::Object(mut block) => match take::string(&mut block, "text") {
            Some(text) => gather::text(origin, text),
            None if !block.contains_key("image_url") => {
                let kind = take::str(&block, "type").to_owned();
                attachment::file(&kind, Value::Object(block))
            }
            None => {
                let mut url = take::value(&mut block, "image_url");
                let url = url
                    .as_object_mut()
                    .and_then(|image| take::string(image, "url"))
                    .or(match url {
                        Value::String(url) => Some(url),
                        _ => None,
                    });
                url.map(gather::image_at)
            }
        },
        _ => None,
    };
    match value {
        Value::Array(items) => items.into_iter().filter_map(part).collect(),
        other => part(other).into_iter().collect(),
    }
}

/// Returns content as one text.
pub(crate) fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Array(items) => {
            let text = |value| match value {
                Value::String(text) => Some(text),
                Value::Object(mut block) => take::string(&mut block, "text"),
                _ => None,
            };
            items.into_iter().filter_map(text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

pub(crate) fn calls(message: &mut Fields) -> Vec<Part> {
    let call = |mut call: Fields| {
        let id = take::string(&mut call, "id").unwrap_or_default();
        let mut function = take::object(&mut call, "function")?;
        let tool = take::string(&mut function, "name").unwrap_or_default();
        let parameters = take::parameters(take::value(&mut function, "arguments"));
        Some(gather::call(id, tool, parameters))
    };
    take::objects(message, "tool_calls").filter_map(call).collect()
}

/// Takes the thinking that is sent back with a reply.
pub(crate) fn thoughts(message: &mut Fields) -> Vec<Part> {
    let block = |mut block: Fields| {
        let words = take::string(&mut block, "thinking").unwrap_or_default();
        let signature = take::string(&mut block, "signature");
        gather::thinking(words, signature, take::string(&mut block, "data"), Some("anthropic"))
    };
    let mut parts: Vec<Part> = take::objects(message, "thinking_blocks").filter_map(block).collect();
    if parts.is_empty() {
        let words = take::string(message, "reasoning_content").unwrap_or_default();
        parts.extend(gather::thinking(words, None, None, None));
    }
    parts
}
