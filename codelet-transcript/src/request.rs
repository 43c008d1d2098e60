//! Code shared by the four request formats: the object around the messages, the separate system prompt, and the
//! grouping of messages that are written as one.

use crate::actions;
use crate::document::{Document, Warning};
use crate::error::ReadError;
use crate::extra::{APART, Fields, LIST, weave};
use crate::format::Format;
use crate::node::Node;
use crate::skim::Step;
use crate::source::{Misfit, Source};
use codelet_context::message::{Extra, Message, Part, Role, ToolCall};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Reads a request: an object from which `conversation` takes the messages, or a bare list of messages, which is passed
/// to it as the field `list`.
pub(crate) fn read(
    bytes: &[u8],
    format: Format,
    list: &'static str,
    conversation: fn(&mut Fields) -> Result<Vec<Message>, Misfit>,
) -> Result<Document, ReadError> {
    let expected = "a JSON object or a list of messages";
    let mut source = Source::new(bytes, expected)?;
    let parsed = source.parse(expected)?;
    let warnings: Vec<Warning> = std::mem::take(&mut source.warnings);
    let (mut request, is_list) = match parsed {
        Value::Object(request) => (Fields::new(request), false),
        Value::Array(messages) => (
            Fields(Map::from_iter([(list.to_owned(), Value::Array(messages))])),
            true,
        ),
        other => return Err(source.refuse(Misfit::new([], Some(&other), expected))),
    };
    let messages = conversation(&mut request).map_err(|mut misfit| {
        if is_list && misfit.path.first() == Some(&Step::Key(list)) {
            misfit.path.remove(0);
        }
        source.refuse(misfit)
    })?;
    if is_list {
        request.note(LIST, true);
    }
    Ok(Document {
        format,
        messages,
        envelope: request.0,
        warnings,
    })
}

/// Returns the path to a field of the message at this index, for errors.
pub(crate) fn way(message: usize, field: &'static str) -> Vec<Step> {
    vec![Step::Key("messages"), Step::Index(message), Step::Key(field)]
}

pub(crate) fn message_fields(value: Value, message: usize) -> Result<Fields, Misfit> {
    match value {
        Value::Object(fields) => Ok(Fields::new(fields)),
        other => {
            let way = [Step::Key("messages"), Step::Index(message)];
            Err(Misfit::new(way, Some(&other), "an object with role and content"))
        }
    }
}

/// Returns a call with its action and its unread fields.
pub(crate) fn call(
    id: impl Into<Arc<str>>,
    tool: impl Into<Arc<str>>,
    parameters: Map<String, Value>,
    extra: Extra,
) -> Part {
    let tool = tool.into();
    let action = actions::action(&tool, &parameters);
    Part::ToolCall(ToolCall {
        extra,
        ..ToolCall::new(id, tool, parameters).doing(action)
    })
}

/// Reads a call's output from this field, a text or a list of blocks read by `block`; and returns whether it is a text.
pub(crate) fn output(fields: &mut Fields, field: &str, block: impl FnMut(Value) -> Part) -> (Vec<Part>, bool) {
    match fields.string(field) {
        Some(text) if text.is_empty() => (Vec::new(), true),
        Some(text) => (vec![Part::text(text)], true),
        None => {
            let blocks = fields.list(field).unwrap_or_default();
            (blocks.into_iter().map(block).collect(), false)
        }
    }
}

/// Returns the newest reply, if it is followed by nothing but tool results.
pub(crate) fn newest_reply(messages: &mut [Message]) -> Option<&mut Message> {
    let answers = |message: &Message| message.parts.iter().all(|part| matches!(part, Part::ToolResult(_)));
    let mut newest = messages
        .iter_mut()
        .rev()
        .skip_while(|message| message.role == Role::User && answers(message));
    newest.next().filter(|last| last.role == Role::Assistant)
}

/// Writes a request: the other fields in their order, and the messages as the field `list`. `encode` converts the tree.
pub(crate) fn write<'a, T>(
    document: &'a Document,
    list: &'static str,
    made: Vec<(&'a str, Option<Node<'a>>)>,
    encode: impl FnOnce(&Node) -> T,
) -> T {
    if document.envelope.contains_key(LIST) {
        let messages = made.into_iter().find(|(name, _)| *name == list);
        let messages = messages.and_then(|(_, node)| node);
        return encode(&messages.unwrap_or(Node::List(Vec::new())));
    }
    encode(&weave(Some(&document.envelope), made))
}

/// Returns whether a system message is inline among the others, not in the format's separate field: an inline one keeps
/// the name of its role.
pub(crate) fn is_inline(message: &Message) -> bool {
    message.extra.get("role").is_some_and(Value::is_string)
}

/// Splits off the system prompt that belongs in the separate field. A bare list has no such field.
pub(crate) fn split_system(document: &Document) -> (Option<&Message>, &[Message]) {
    match document.messages.split_first() {
        Some((first, rest))
            if first.role == Role::System && !is_inline(first) && !document.envelope.contains_key(LIST) =>
        {
            (Some(first), rest)
        }
        _ => (None, &document.messages),
    }
}

/// Groups the messages that are written as one: neighbors of one role that were not separate in the source. The engine
/// may have placed them side by side.
pub(crate) fn groups(messages: &[Message]) -> impl Iterator<Item = &[Message]> {
    messages.chunk_by(|a, b| a.role == b.role && a.role != Role::System && b.extra.get(APART).is_none())
}

/// Returns the parts of a group. If it has several messages, tool results come first, as every provider requires.
pub(crate) fn parts_of(group: &[Message]) -> Vec<&Part> {
    let mut parts: Vec<&Part> = group.iter().flat_map(|message| &message.parts).collect();
    if group.len() > 1 {
        parts.sort_by_key(|part| !matches!(part, Part::ToolResult(_)));
    }
    parts
}

/// Returns the text of a message that was a plain string and still can be.
pub(crate) fn bare_text(group: &[Message]) -> Option<&str> {
    match group {
        [message] if message.bare => match message.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text.body.as_str()),
            _ => None,
        },
        _ => None,
    }
}
