//! A received request: its bytes, and a view of them common to all wires.

use super::wire::Wire;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// A received request to the model.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its wire.
    pub wire: Wire,
    /// The number of earlier requests to the model, including retries and refused ones.
    pub number: usize,
    /// The number of those that the script answered, that is, without refusals by the server's own rules.
    pub answered: usize,
    /// Path and query.
    pub path: String,
    /// Headers in order, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte. Empty in the record if it was dropped; see [`Record`](super::Record).
    pub body: Arc<[u8]>,
    pub(super) parsed: OnceLock<Box<Parsed>>,
}

/// A parsed body.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub json: Value,
    pub view: View,
}

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

impl Request {
    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` if it is invalid.
    pub fn json(&self) -> &Value {
        &self.parsed().json
    }

    /// The content in a form common to all wires.
    pub fn view(&self) -> &View {
        &self.parsed().view
    }

    /// The conversation.
    pub fn messages(&self) -> &[Message] {
        &self.view().messages
    }

    /// Every text of the user's messages, in order, without tool results.
    pub fn user_texts(&self) -> Vec<&str> {
        let of_user = self
            .messages()
            .iter()
            .filter(|message| message.speaker == Speaker::User);
        of_user
            .flat_map(|message| &message.parts)
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The last text of the user's messages.
    pub fn last_user_text(&self) -> Option<&str> {
        self.user_texts().pop()
    }

    /// Every result, oldest first: call id and output.
    pub fn results(&self) -> Vec<(&str, &str)> {
        let parts = self.messages().iter().flat_map(|message| &message.parts);
        parts
            .filter_map(|part| match part {
                Part::Result { call, output, .. } => Some((call.as_str(), output.as_str())),
                _ => None,
            })
            .collect()
    }

    /// Every call, oldest first: id, tool and parameters.
    pub fn calls(&self) -> Vec<(&str, &str, &Value)> {
        let parts = self.messages().iter().flat_map(|message| &message.parts);
        parts
            .filter_map(|part| match part {
                Part::Call {
                    id, tool, parameters, ..
                } => Some((id.as_str(), tool.as_str(), parameters)),
                _ => None,
            })
            .collect()
    }

    /// Returns whether a text occurs anywhere in the body, in its JSON form.
    pub fn holds(&self, text: &str) -> bool {
        let quoted = Value::from(text).to_string();
        // Without the quotes of the JSON string.
        let inner = &quoted[1..quoted.len() - 1];
        std::str::from_utf8(&self.body).is_ok_and(|body| body.contains(inner))
    }

    fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| {
            let json: Value = serde_json::from_slice(&self.body).unwrap_or_default();
            let view = self.wire.view(&self.path, &json);
            Box::new(Parsed { json, view })
        })
    }

    /// A copy without the parsed body, for the record: it is parsed again on demand.
    pub(super) fn light(&self) -> Request {
        Request {
            wire: self.wire,
            number: self.number,
            answered: self.answered,
            path: self.path.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            parsed: OnceLock::new(),
        }
    }
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
