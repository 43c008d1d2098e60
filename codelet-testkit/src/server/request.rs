//! What was asked: the bytes as they came, and one view of them for all wires.

use super::wire::Wire;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// One request to the model, as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The wire that it came by.
    pub wire: Wire,
    /// How many requests to the model came before it, retries and refused ones included.
    pub number: usize,
    /// How many of those the script answered. Refusals by the server's own rules are not among them.
    pub answered: usize,
    /// Path and query.
    pub path: String,
    /// Headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte. Empty in the record where it was let go; see [`Record`](super::Record).
    pub body: Arc<[u8]>,
    pub(super) parsed: OnceLock<Box<Parsed>>,
}

/// A body, read.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub json: Value,
    pub view: View,
}

/// What a request says, in words that all wires share.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct View {
    /// The model.
    pub model: String,
    /// Whether the answer is to be a stream.
    pub streams: bool,
    /// The most tokens of the answer, where the request bounds it.
    pub max_output: Option<u64>,
    /// The system prompt's texts.
    pub system: Vec<String>,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The conversation. Where a wire has calls and results as entries of their own, an entry is a message.
    pub messages: Vec<Message>,
}

/// One message of a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// Who speaks.
    pub speaker: Speaker,
    /// What is said.
    pub parts: Vec<Part>,
}

/// Who speaks. Results of tools are the user's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaker {
    /// The system, in the middle of a conversation or at its head on wires that put it there.
    System,
    /// The user, or a tool.
    User,
    /// The model.
    Assistant,
}

/// One part of a message.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// Words.
    Text(String),
    /// Thinking in plain words, with its signature.
    Thinking {
        /// The words.
        text: String,
        /// The signature.
        signature: Option<String>,
    },
    /// Thinking as the vendor encrypted it.
    Redacted(String),
    /// A call.
    Call {
        /// Its id; empty on a wire that has none.
        id: String,
        /// The tool.
        tool: String,
        /// The parameters. A text that is not JSON stays a string.
        parameters: Value,
        /// The thinking that is sealed into it, on the wire that does so.
        signature: Option<String>,
    },
    /// A call's answer.
    Result {
        /// The call's id; the tool's name on a wire that has no ids.
        call: String,
        /// The output's texts, joined by line ends.
        output: String,
        /// Whether it is marked as failed.
        failed: bool,
    },
    /// Anything else, such as a picture.
    Other(Value),
}

impl Request {
    /// A header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` where it is none.
    pub fn json(&self) -> &Value {
        &self.parsed().json
    }

    /// The body in words that all wires share.
    pub fn view(&self) -> &View {
        &self.parsed().view
    }

    /// The conversation.
    pub fn messages(&self) -> &[Message] {
        &self.view().messages
    }

    /// Every text that a user's message holds, in order; results of tools are not among them.
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

    /// The last text that a user's message holds.
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

    /// Whether the bytes of a text stand anywhere in the body, as JSON writes them.
    pub fn holds(&self, text: &str) -> bool {
        let quoted = Value::from(text).to_string();
        // A JSON string has its two quotes.
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

    /// The same without what was read from the body, for the record: it is read again when asked for.
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

/// The texts in a content that is a string or a list of blocks with a `text`, joined by line ends.
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

/// A value's string under a key, or an empty one.
pub(super) fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Arguments that are written as a text: the object in it, or the text where there is none.
pub(super) fn arguments(value: &Value) -> Value {
    match value {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
        _ => value.clone(),
    }
}

/// The elements of a list; none where it is no list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
