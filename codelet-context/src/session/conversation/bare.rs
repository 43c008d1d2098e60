//! A conversation without its texts: what is left decides when an edit is due, and nothing that an edit reads is.

use super::Conversation;
use super::undo::Before;
use crate::compact::Archived;
use crate::message::{Action, Extra, Message, Opaque, Parameters, Part, Role, Text, Thinking, ToolCall, ToolResult};
use crate::text::body::Body;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Messages that lost their texts, by what they were: a message that several lists show stays one.
#[derive(Default)]
struct Bare {
    known: HashMap<*const Message, Arc<Message>>,
    nothing: Nothing,
}

/// What stands in place of all that is alike, once.
struct Nothing {
    text: Body,
    parameters: Parameters,
}

impl Default for Nothing {
    fn default() -> Self {
        Nothing {
            text: Body::new(""),
            parameters: Parameters::new(Map::new()),
        }
    }
}

impl Bare {
    fn of(&mut self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let bare = |message: &Arc<Message>| {
            let bare = self.known.entry(Arc::as_ptr(message));
            bare.or_insert_with(|| Arc::new(self.nothing.but_for(message))).clone()
        };
        messages.iter().map(bare).collect()
    }
}

impl Conversation {
    /// Lets go of what was said before the last reply, of what was removed, and of what is known of the lines of both. That is nearly all that a
    /// conversation takes. It can go on: what is appended from here on is weighed as before, and it is [decided](Self::decide) as before
    /// whether an edit is due. To be edited, to go back or to read something back, it has to be told again from its beginning.
    pub fn drop_texts(&mut self) {
        // What a provider has refused is compared with what is said.
        if self.told.is_some() {
            return;
        }
        let last = |messages: &[Arc<Message>]| messages.iter().rposition(|message| message.role == Role::Assistant);
        let (said, shown) = (self.history.messages(), &mut self.view.messages);
        // What was appended since texts were dropped last stands at the end of both.
        let since = said.len() - self.bare_until;
        let until = last(said).unwrap_or(0).max(self.bare_until);
        let mut bare = Bare::default();
        let said = bare.of(&said[self.bare_until..until]);
        let first = if self.is_bare { shown.len().saturating_sub(since) } else { 0 };
        let places = first..last(shown).unwrap_or(0).max(first);
        let fresh = bare.of(&shown[places.clone()]);
        shown.splice(places, fresh);
        self.history.drop_texts(self.bare_until, said);
        self.economy.drop_texts();
        self.view.archive.forget_all();
        for snapshot in &mut self.snapshots {
            match &mut snapshot.before {
                Before::Whole { messages, .. } => *messages = Arc::default(),
                Before::Messages(messages) => *messages = Vec::new(),
            }
        }
        (self.masks, self.removed_by) = Default::default();
        (self.archived, self.valid) = (Archived::default(), None);
        (self.is_bare, self.bare_until) = (true, until);
    }

    /// How many different words were said, numbers among them: with the messages most of what is left without the texts.
    pub fn words(&self) -> usize {
        self.history.ranking().known.len()
    }

    /// Whether [texts were dropped](Self::drop_texts).
    pub fn is_bare(&self) -> bool {
        self.is_bare
    }
}

impl Nothing {
    /// A message that plays the same part in every decision. Of the user's own words it is asked whether the same are shown somewhere.
    fn but_for(&self, message: &Message) -> Message {
        let is_said = message.role == Role::User;
        let same = |body: &Body| match is_said && !body.is_blank() {
            true => Body::new(format!("{:016x}", body.hash())),
            false => self.text.clone(),
        };
        let bare = |part: &Part| match part {
            Part::Text(text) => {
                let is_own = part.is_own_words();
                let body = if is_own { same(&text.body) } else { self.text.clone() };
                Part::Text(Text::new(body, text.origin))
            }
            Part::Thinking(thinking) => Part::Thinking(Thinking {
                body: self.text.clone(),
                signature: None,
                redacted: None,
                is_wanted_back: thinking.is_wanted_back,
                extra: Extra::default(),
            }),
            Part::Image(image) => {
                let mut bare = image.clone();
                (bare.data, bare.extra) = (same(&image.data), Extra::default());
                Part::Image(bare)
            }
            Part::ToolCall(call) => Part::ToolCall(ToolCall {
                id: call.id.clone(),
                tool: call.tool.clone(),
                parameters: self.parameters.clone(),
                action: Action::default(),
                cut: None,
                spoken: None,
                extra: Extra::default(),
            }),
            Part::ToolResult(result) => Part::ToolResult(ToolResult {
                call_id: result.call_id.clone(),
                success: result.success,
                pipe: Box::default(),
                output: Vec::new(),
                bare: true,
                error: None,
                refusal: None,
                is_apart: result.is_apart,
                head: None,
                extra: Extra::default(),
            }),
            Part::Opaque(opaque) => {
                let json = same(opaque.json());
                let bare = Opaque::new(opaque.kind.clone(), Value::from(json.as_str()));
                Part::Opaque(bare.that_is(opaque.nature.clone()))
            }
        };
        Message {
            role: message.role,
            parts: message.parts.iter().map(bare).collect(),
            bare: message.bare,
            extra: Extra::default(),
        }
    }
}
