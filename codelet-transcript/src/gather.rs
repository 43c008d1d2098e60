//! Gathers messages from the entries of a session file, in which one message may be spread over several entries.

use crate::extra::VENDOR;
use crate::take::Fields;
use crate::{Document, Format, Warning, actions};
use codelet_context::body::Body;
use codelet_context::message::{Extra, Image, Message, Origin, Part, Role, Thinking, ToolCall, ToolResult};
use serde_json::Value;
use std::sync::Arc;

/// Reads content that many agents store as one text or as a list, each item of which gives zero or more parts.
pub(crate) fn content<P>(value: Value, origin: Origin, item: impl FnMut(Value) -> P) -> Vec<Part>
where
    P: IntoIterator<Item = Part>,
{
    match value {
        Value::String(text) => self::text(origin, text).into_iter().collect(),
        Value::Array(items) => items.into_iter().flat_map(item).collect(),
        _ => Vec::new(),
    }
}

#[derive(Default)]
pub(crate) struct Gather {
    system: Option<Message>,
    messages: Vec<Message>,
    open: Open,
}

/// The message that the next entry may still join.
#[derive(Default, PartialEq)]
pub(crate) enum Open {
    #[default]
    Nothing,
    Reply,
    Results,
}

impl Gather {
    /// Sets the system prompt. An agent that rebuilds it for each request sends only the latest.
    pub(crate) fn system(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.system = Some(Message::system(text));
        }
    }

    /// Adds a separate message, unless it has no parts.
    pub(crate) fn message(&mut self, role: Role, parts: Vec<Part>) {
        self.open = Open::Nothing;
        if !parts.is_empty() {
            self.messages.push(Message::new(role, parts));
        }
    }

    /// Adds parts of a reply: joins the current reply.
    pub(crate) fn reply(&mut self, parts: Vec<Part>) {
        match self.messages.last_mut() {
            Some(last) if self.open == Open::Reply => last.parts.extend(parts),
            _ if parts.is_empty() => {}
            _ => {
                self.messages.push(Message::new(Role::Assistant, parts));
                self.open = Open::Reply;
            }
        }
    }

    /// Makes the next entry start a new message.
    pub(crate) fn close(&mut self) {
        self.open = Open::Nothing;
    }

    /// Adds a tool result: consecutive results form one message.
    pub(crate) fn result(&mut self, result: ToolResult) {
        let part = Part::ToolResult(result);
        match self.messages.last_mut() {
            Some(last) if self.open == Open::Results => last.parts.push(part),
            _ => self.messages.push(Message::new(Role::User, vec![part])),
        }
        self.open = Open::Results;
    }

    /// The number of messages, without the system prompt.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// The messages so far, without the system prompt.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns whether there is a system prompt, which comes before all messages in the document.
    pub(crate) fn has_system(&self) -> bool {
        self.system.is_some()
    }

    pub(crate) fn message_mut(&mut self, index: usize) -> Option<&mut Message> {
        self.messages.get_mut(index)
    }

    /// Drops the messages from this index on: the user rewound to before it.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.messages.truncate(length);
        self.open = Open::Nothing;
    }

    pub(crate) fn finish(mut self, format: Format, warnings: Vec<Warning>) -> Document {
        self.messages.splice(0..0, self.system);
        Document {
            format,
            messages: self.messages,
            envelope: Fields::new(),
            warnings,
        }
    }
}

/// Returns a call with its action.
pub(crate) fn call(id: impl Into<Arc<str>>, tool: impl Into<Arc<str>>, parameters: Fields) -> Part {
    let tool = tool.into();
    let action = actions::action(&tool, &parameters);
    Part::ToolCall(ToolCall::new(id, tool, parameters).doing(action))
}

/// Returns a text, or `None` if it is empty.
pub(crate) fn text(origin: Origin, text: String) -> Option<Part> {
    (!text.is_empty()).then(|| Part::text_from(origin, text))
}

/// Returns thinking in the form that its provider expects, or `None` if it is empty. The signature is kept only if the
/// provider is known.
pub(crate) fn thinking(
    words: String,
    signature: Option<String>,
    redacted: Option<String>,
    vendor: Option<&str>,
) -> Option<Part> {
    let kept = |proof: Option<String>| {
        proof
            .filter(|proof| !proof.is_empty() && vendor.is_some())
            .map(Arc::from)
    };
    let (signature, redacted): (Option<Arc<str>>, Option<Arc<str>>) = (kept(signature), kept(redacted));
    if words.is_empty() && signature.is_none() && redacted.is_none() {
        return None;
    }
    let mark = vendor.map(|vendor| (String::from(VENDOR), Value::from(vendor)));
    Some(Part::Thinking(Thinking {
        body: Body::new(words),
        signature,
        redacted,
        is_wanted_back: false,
        extra: Extra::new(mark.into_iter().collect()),
    }))
}

/// Returns an image from its type and base64 data.
pub(crate) fn image(media_type: &str, data: String) -> Part {
    Part::Image(Image {
        media_type: Arc::from(media_type),
        data: Body::new(data),
        is_url: false,
        extra: Extra::default(),
    })
}

/// Returns an image from its URL, which may hold the data itself (`data:image/png;base64,…`).
pub(crate) fn image_at(url: String) -> Part {
    if let Some((head, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(','))
        && let Some(media_type) = head.strip_suffix(";base64")
    {
        return image(media_type, String::from(data));
    }
    Part::Image(Image {
        media_type: Arc::from(""),
        data: Body::new(url),
        is_url: true,
        extra: Extra::default(),
    })
}

/// Returns a tool result that consists of parts.
pub(crate) fn result(id: impl Into<Arc<str>>, success: Option<bool>, output: Vec<Part>) -> ToolResult {
    ToolResult {
        output,
        bare: false,
        ..ToolResult::new(id, success, "")
    }
}
