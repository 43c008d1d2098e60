//! Records which model produced a reply, and removes what another model cannot use.
//!
//! A reply holds data that only its own provider can verify: signatures, encrypted thinking, fields that the provider
//! wants back. To continue the conversation with another model, these are dropped, and text and calls are kept
//! unchanged.

use crate::convert::said;
use crate::extra::marked;
use crate::format::Format;
use crate::ids::{name_for_all, spelled_for_all};
use codelet_context::message::{Extra, Message, Part, Role, Text, ToolCall};
use std::collections::HashMap;
use std::sync::Arc;

/// On a reply: its format and the model that produced it, separated by a space.
const MAKER: &str = "codelet.maker";

/// The model that produced a reply, and the reply's format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Maker {
    /// The format.
    pub form: Format,
    /// The model, as `vendor/model`.
    pub model: String,
}

impl Maker {
    /// Returns the producer of this reply; `None` if it was not recorded.
    fn of(reply: &Message) -> Option<Maker> {
        let (form, model) = reply.extra.get(MAKER)?.as_str()?.split_once(' ')?;
        Some(Maker {
            form: Format::from_name(form)?,
            model: model.to_owned(),
        })
    }

    /// Records that this model produced a reply. The note is never written out.
    pub fn sign(&self, reply: &mut Message) {
        let extra = std::mem::take(&mut reply.extra);
        reply.extra = marked(extra, MAKER, format!("{} {}", self.form, self.model));
    }
}

/// Adapts the messages of a conversation, in order, for a model that did not produce all of them.
pub struct Retelling<F> {
    is_own: F,
    /// New ids of calls by their old ones.
    ids: HashMap<Arc<str>, Arc<str>>,
    /// The last recorded producer, as it is written, and whether its replies stay unchanged. Most replies of a
    /// conversation have one producer.
    last: Option<(String, bool)>,
}

impl<F: Fn(&Maker) -> bool> Retelling<F> {
    /// `is_own` returns whether replies of a model stay unchanged; so do those of unknown origin.
    pub fn new(is_own: F) -> Self {
        Retelling {
            is_own,
            ids: HashMap::new(),
            last: None,
        }
    }

    /// Returns the next message as it may be sent; `None` if nothing is left of it.
    pub fn message(&mut self, mut message: Message) -> Option<Message> {
        if message.role == Role::Assistant {
            return if self.is_own(&message) {
                Some(message)
            } else {
                self.reply(&message)
            };
        }
        if !self.ids.is_empty() {
            for part in &mut message.parts {
                if let Part::ToolResult(result) = part
                    && let Some(id) = self.ids.get(&result.call_id)
                {
                    result.call_id = id.clone();
                }
            }
        }
        Some(message)
    }

    fn is_own(&mut self, reply: &Message) -> bool {
        let Some(maker) = reply.extra.get(MAKER).and_then(|maker| maker.as_str()) else {
            return true;
        };
        if let Some((last, is_own)) = &self.last
            && last == maker
        {
            return *is_own;
        }
        let is_own = Maker::of(reply).is_none_or(|maker| (self.is_own)(&maker));
        self.last = Some((maker.to_owned(), is_own));
        is_own
    }

    fn reply(&mut self, message: &Message) -> Option<Message> {
        let mut parts: Vec<Part> = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            match part {
                Part::Text(text) if !text.body.is_blank() => words(&mut parts, text.clone()),
                Part::ToolCall(call) => parts.push(Part::ToolCall(self.call(call))),
                Part::Opaque(opaque) => {
                    if let Some(text) = said(&opaque.value) {
                        words(&mut parts, Text::new(text, Default::default()));
                    }
                }
                // Only its producer can use thinking, and no provider accepts images or results in a reply.
                Part::Text(_) | Part::Thinking(_) | Part::Image(_) | Part::ToolResult(_) => {}
            }
        }
        let texts = parts.iter().filter(|part| matches!(part, Part::Text(_))).count();
        // Compatible servers may support nothing but a plain string.
        let bare = texts == 1;
        (!parts.is_empty()).then(|| Message {
            bare,
            ..Message::new(Role::Assistant, parts)
        })
    }

    fn call(&mut self, call: &ToolCall) -> ToolCall {
        let id = match spelled_for_all(&call.id) {
            Some(spelled) => {
                let id: Arc<str> = spelled.into();
                self.ids.insert(call.id.clone(), id.clone());
                id
            }
            None => call.id.clone(),
        };
        ToolCall {
            id,
            tool: name_for_all(&call.tool),
            extra: Extra::default(),
            ..call.clone()
        }
    }
}

/// Adds text; adjacent texts are joined, as not every provider accepts several.
fn words(parts: &mut Vec<Part>, text: Text) {
    if let Some(Part::Text(last)) = parts.last_mut()
        && last.origin == text.origin
    {
        last.body = format!("{}\n\n{}", last.body.as_str(), text.body.as_str()).into();
        return;
    }
    parts.push(Part::Text(Text {
        extra: Extra::default(),
        ..text
    }));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use codelet_context::message::{Opaque, ToolResult};
    use serde_json::json;

    fn maker(form: Format, model: &str) -> Maker {
        Maker {
            form,
            model: model.to_owned(),
        }
    }

    fn reply(parts: Vec<Part>) -> Message {
        let mut reply = Message::new(Role::Assistant, parts);
        maker(Format::Openai, "moonshot/kimi").sign(&mut reply);
        reply
    }

    #[test]
    fn a_note_of_the_maker_is_read_again_and_never_written() {
        let made = maker(Format::Openai, "ollama/a b/c");
        let mut reply = Message::assistant("hello");
        assert_eq!(Maker::of(&reply), None);
        made.sign(&mut reply);
        assert_eq!(Maker::of(&reply), Some(made));
        let document = crate::Document {
            format: Format::Openai,
            messages: vec![Message::user("hi"), reply],
            envelope: [("messages".to_owned(), serde_json::Value::Null)].into_iter().collect(),
            warnings: Vec::new(),
        };
        let text = crate::write(&document, Format::Openai).unwrap();
        assert!(!text.contains("codelet"), "{text}");
    }

    #[test]
    fn ids_that_others_do_not_take_are_spelled_anew_with_their_answers_and_stay_apart() {
        let call = |id: &str| Part::ToolCall(ToolCall::new(id, "Bash", Default::default()));
        let long = "x".repeat(60);
        let ids = ["functions.Bash:0", "functions.Bash;0", "call_1", &long];
        let mut retelling = Retelling::new(|_: &Maker| false);
        let told = retelling.message(reply(ids.map(call).to_vec())).unwrap();
        let answers = Message::results(ids.map(|id| ToolResult::new(id, Some(true), "x")).to_vec());
        let answers = retelling.message(answers).unwrap();
        let new: Vec<&str> = told.calls().map(|call| &*call.id).collect();
        let answered: Vec<&str> = answers.tool_results().map(|result| &*result.call_id).collect();
        assert_eq!(new, answered);
        assert_eq!(new[2], "call_1");
        let is_plain = |id: &&str| id.len() <= 40 && id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        assert!(new.iter().all(is_plain), "{new:?}");
        let distinct: std::collections::HashSet<_> = new.iter().collect();
        assert_eq!(distinct.len(), 4);
    }

    #[test]
    fn words_of_unknown_blocks_are_told_and_a_reply_of_nothing_else_is_left_out() {
        let block = |value: serde_json::Value| Part::Opaque(Opaque::new("block", value));
        let mut retelling = Retelling::new(|_: &Maker| false);
        let refusal = block(json!({"type": "refusal", "refusal": "I will not."}));
        let told = retelling.message(reply(vec![Part::text("No."), refusal])).unwrap();
        assert_eq!(told.parts, [Part::text("No.\n\nI will not.")]);
        let search = block(json!({"type": "server_tool_use", "id": "s"}));
        assert_eq!(retelling.message(reply(vec![search])), None);
    }
}
