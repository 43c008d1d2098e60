//! The content of a request, in a form common to all wires.

use serde_json::Value;

/// The content of a request in a form common to all wires.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct View {
    /// The model.
    pub model: String,
    /// True if a stream is requested.
    pub streams: bool,
    /// The maximum output tokens, if the request sets them.
    pub max_output: Option<u64>,
    /// The texts of the system prompt.
    pub system: Vec<String>,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The conversation. Where a wire has calls and results as separate entries, each entry is a message.
    pub messages: Vec<Message>,
}

/// A message of a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// The speaker.
    pub speaker: Speaker,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// The speaker of a message. Tool results belong to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaker {
    /// The system, in the middle of a conversation, or at its beginning on wires that put it there.
    System,
    /// The user, or a tool.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// Text.
    Text(String),
    /// Thinking in plain text, with its signature.
    Thinking {
        /// The text.
        text: String,
        /// The signature.
        signature: Option<String>,
    },
    /// Encrypted thinking.
    Redacted(String),
    /// A tool call.
    Call {
        /// Its id; empty on a wire without ids.
        id: String,
        /// The tool.
        tool: String,
        /// The parameters. Text that is not JSON stays a string.
        parameters: Value,
        /// The signature of the thinking before it, on the wire that attaches it to calls.
        signature: Option<String>,
    },
    /// A tool result.
    Result {
        /// The call's id; the tool's name on a wire without ids.
        call: String,
        /// The texts of the output, joined by line ends.
        output: String,
        /// True if it is marked as failed.
        failed: bool,
    },
    /// Anything else, such as an image.
    Other(Value),
}

/// The texts of a content that is a string or a list of blocks with a `text`, joined by line ends.
pub(super) fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The string under a key, or an empty one.
pub(super) fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Arguments given as text: the parsed object, or the text if it is invalid.
pub(super) fn arguments(value: &Value) -> Value {
    match value {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
        _ => value.clone(),
    }
}

/// The elements of a list; empty for any other value.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
