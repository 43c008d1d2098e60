//! Messages in the style of Chat Completions, as the agents of the SWE family record them in one JSON document.

use crate::ReadError;
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

/// Returns content as one text.
pub(crate) fn plain(value: Value) -> String {
    gather::words(&gather::content(value, Origin::Own))
}

pub(crate) fn calls(message: &mut Fields) -> Vec<Part> {
    take::objects(message, "tool_calls")
        .map(gather::function_call)
        .collect()
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
        parts.extend(gather::unsigned_thinking(message, "reasoning_content"));
    }
    parts
}
