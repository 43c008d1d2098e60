//! A received request: its bytes, and what they say.

use super::view::{Message, Part, Speaker, View};
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
