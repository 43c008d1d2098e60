//! Anthropic Messages requests.

use crate::document::Document;
use crate::error::ReadError;
use crate::extra::{Fields, is_usual, kept, kept_in, mark_apart, text_with, thinking_with, was_null, weave};
use crate::format::Format;
use crate::node::Node;
use crate::request;
use crate::skim::Step;
use crate::source::Misfit;
use crate::{arguments, attachment, objects, origin, success};
use codelet_context::message::{Extra, Image, Message, Nature, Opaque, Origin, Part, Role, Text, ToolResult};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The kind of the only part of a system message without text that only changes a setting, such as the effort of the
/// requests that follow.
pub(crate) const SETTING: &str = "output_config";

/// Reads a request, or a bare list of messages.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    request::read(bytes, Format::Anthropic, "messages", |request| {
        request.0.shift_remove(origin::SESSION);
        let mut messages = Vec::new();
        messages.extend(system(request)?);
        let list = request
            .list("messages")
            .ok_or_else(|| Misfit::new([Step::Key("messages")], request.0.get("messages"), "a list of messages"))?;
        messages.extend(items(list)?);
        mark_apart(&mut messages);
        Ok(messages)
    })
}

/// Reads list items, each as one message.
pub(crate) fn items(list: Vec<Value>) -> Result<Vec<Message>, Misfit> {
    let messages = list.into_iter().enumerate().map(|(index, value)| message(value, index));
    let mut messages = messages.collect::<Result<Vec<Message>, Misfit>>()?;
    mark_apart(&mut messages);
    mark_pending(&mut messages);
    Ok(messages)
}

/// Marks the server tool calls at the end of a paused reply. The provider resumes such a reply if it is sent back as
/// the last message, or followed only by the results that a program waits for; if user text follows, the provider
/// refuses it.
fn mark_pending(messages: &mut [Message]) {
    let Some(last) = request::newest_reply(messages) else {
        return;
    };
    let answered: HashSet<String> = last
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Opaque(opaque) => Some(opaque.value.get("tool_use_id")?.as_str()?.to_owned()),
            _ => None,
        })
        .collect();
    for part in &mut last.parts {
        if let Part::Opaque(opaque) = part
            && matches!(&*opaque.kind, "server_tool_use" | "mcp_tool_use")
            && let Some(id) = opaque.value.get("id").and_then(Value::as_str)
            && !answered.contains(id)
        {
            opaque.nature = Nature::Pending;
        }
    }
}

fn system(request: &mut Fields) -> Result<Option<Message>, Misfit> {
    if let Some(text) = request.string("system") {
        let mut message = Message::system(text);
        message.bare = true;
        return Ok(Some(message));
    }
    match request.0.get("system") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(_)) => {
            let blocks = request.list("system").unwrap_or_default();
            Ok(Some(Message::new(
                Role::System,
                blocks.into_iter().map(block).collect(),
            )))
        }
        other => Err(Misfit::new(
            [Step::Key("system")],
            other,
            "a string or a list of blocks",
        )),
    }
}

/// Reads one message; `index` is for errors.
pub(crate) fn message(value: Value, index: usize) -> Result<Message, Misfit> {
    let mut fields = request::message_fields(value, index)?;
    let at = |key| request::way(index, key);
    let role = match fields.peek("role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => return Err(Misfit::new(at("role"), fields.0.get("role"), "user or assistant")),
    };
    if role == Role::System && is_setting(&fields) {
        return Ok(setting(fields));
    }
    if role != Role::System {
        fields.string("role");
    }
    let (mut parts, bare) = match fields.string("content") {
        Some(text) if text.is_empty() => (Vec::new(), true),
        Some(text) => (vec![Part::text(text)], true),
        None => match fields.list("content") {
            Some(blocks) => (blocks.into_iter().map(block).collect(), false),
            None => {
                return Err(Misfit::new(
                    at("content"),
                    fields.0.get("content"),
                    "a string or a list of blocks",
                ));
            }
        },
    };
    if role == Role::Assistant {
        disown(&mut parts);
    }
    Ok(Message {
        role,
        parts,
        bare,
        extra: fields.rest(&["role", "content"]),
    })
}

/// Returns whether a system message has no text and changes a setting. ("Per-message effort", platform.claude.com,
/// November 2026.)
fn is_setting(fields: &Fields) -> bool {
    let is_empty = match fields.0.get("content") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(blocks)) => blocks.is_empty(),
        Some(_) => false,
    };
    is_empty && fields.0.get(SETTING).is_some_and(Value::is_object)
}

/// Keeps the message as its own only part, so that it is not taken for an empty one.
fn setting(fields: Fields) -> Message {
    let whole = Opaque::new(SETTING, fields.untouched()).that_is(Nature::Reference);
    let mut message = Message::new(Role::System, vec![Part::Opaque(whole)]);
    message.extra = Extra::new(Map::from_iter([("role".to_owned(), Value::from("system"))]));
    message
}

/// Resets the origins in a reply: it may hold a notice of the engine, and everything else is the model's own. Other
/// origins that the text claims are ignored.
fn disown(parts: &mut [Part]) {
    for part in parts {
        if let Part::Text(text) = part
            && text.origin != Origin::Notice
        {
            text.origin = Origin::Own;
        }
    }
}

/// Reads one content block. A block without the fields that its kind requires is passed on untouched.
pub(crate) fn block(value: Value) -> Part {
    let Value::Object(fields) = value else {
        return attachment::part("", value);
    };
    let mut fields = Fields::new(fields);
    match fields.peek("type").unwrap_or_default() {
        "text" if fields.has_string("text") => {
            fields.string("type");
            let origin = origin::take(&mut fields);
            let body = fields.string("text").unwrap_or_default();
            let text = text_with(body, fields.rest(&["type", "text"]));
            Part::Text(Text { origin, ..text })
        }
        "thinking" if fields.has_string("thinking") => {
            fields.string("type");
            let body = fields.string("thinking").unwrap_or_default();
            let signature = fields.string("signature");
            let extra = fields.rest(&["type", "thinking", "signature?"]);
            Part::Thinking(thinking_with(body, signature, None, extra))
        }
        "redacted_thinking" if fields.has_string("data") => {
            fields.string("type");
            let data = fields.string("data");
            Part::Thinking(thinking_with(String::new(), None, data, fields.rest(&["type", "data"])))
        }
        "image" => image(fields),
        "tool_use" if fields.has_string("id") && fields.has_string("name") => call(fields),
        "tool_result" if fields.has_string("tool_use_id") => result(fields),
        kind => {
            let kind = kind.to_owned();
            attachment::part(&kind, fields.untouched())
        }
    }
}

fn image(mut fields: Fields) -> Part {
    let source = fields.0.get("source");
    let data = |name| source.and_then(|source| source.get(name)).is_some_and(Value::is_string);
    let is_url = match source.and_then(|source| source.get("type")).and_then(Value::as_str) {
        Some("base64") if data("data") && data("media_type") => false,
        Some("url") if data("url") => true,
        _ => return attachment::part("image", fields.untouched()),
    };
    fields.string("type");
    let mut source = Fields::new(fields.object("source").unwrap_or_default());
    source.string("type");
    let media_type = if is_url {
        String::new()
    } else {
        source.string("media_type").unwrap_or_default()
    };
    let data = source.string(if is_url { "url" } else { "data" }).unwrap_or_default();
    let usual: &[&str] = if is_url {
        &["type", "url"]
    } else {
        &["type", "media_type", "data"]
    };
    if !is_usual(&source.0, usual) {
        fields.note("source", source.0);
    }
    let extra = fields.rest(&["type", "source"]);
    Part::Image(Image {
        media_type: media_type.into(),
        data: data.into(),
        is_url,
        extra,
    })
}

fn call(mut fields: Fields) -> Part {
    fields.string("type");
    let id = fields.string("id").unwrap_or_default();
    let tool = fields.string("name").unwrap_or_default();
    // An input that is not an object stays in the field, and the engine sees an empty one.
    let parameters = fields.object("input").unwrap_or_default();
    request::call(id, tool, parameters, fields.rest(&["type", "id", "name", "input"]))
}

fn result(mut fields: Fields) -> Part {
    fields.string("type");
    let call_id = fields.string("tool_use_id").unwrap_or_default();
    let (output, bare) = request::output(&mut fields, "content", block);
    let refusal = origin::take_refusal(&mut fields);
    let success = fields.flag("is_error").map(|is_error| !is_error);
    Part::ToolResult(ToolResult {
        output,
        bare,
        refusal,
        extra: fields.rest(&["type", "tool_use_id", "content", "is_error?"]),
        ..ToolResult::new(call_id, success, "")
    })
}

pub(crate) fn write<T>(document: &Document, encode: impl FnOnce(&Node) -> T) -> T {
    let (system, messages) = request::split_system(document);
    let system = system.map(|message| match request::bare_text(std::slice::from_ref(message)) {
        Some(text) => Node::str(text),
        None => Node::List(message.parts.iter().map(block_node).collect()),
    });
    let odd = document.envelope.get("system").filter(|odd| !odd.is_null());
    let system = system.or(odd.map(Node::Json));
    let messages = Node::List(request::groups(messages).map(message_node).collect());
    request::write(
        document,
        "messages",
        vec![("system", system), ("messages", Some(messages))],
        encode,
    )
}

/// Writes adjacent messages of one role as one item.
pub(crate) fn message_node(group: &[Message]) -> Node<'_> {
    if let [
        Message {
            role: Role::System,
            parts,
            ..
        },
    ] = group
        && let [Part::Opaque(setting)] = parts.as_slice()
        && &*setting.kind == SETTING
    {
        return Node::Json(&setting.value);
    }
    let role = match group[0].role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let content = match request::bare_text(group) {
        Some(text) => Node::str(text),
        None => Node::List(request::parts_of(group).into_iter().map(block_node).collect()),
    };
    weave(
        kept(&group[0].extra),
        vec![("role", Some(Node::str(role))), ("content", Some(content))],
    )
}

fn block_node(part: &Part) -> Node<'_> {
    match part {
        Part::Text(text) => text_node(text),
        Part::Thinking(thinking) => match &thinking.redacted {
            Some(data) => typed(
                "redacted_thinking",
                &thinking.extra,
                vec![("data", Some(Node::str(data)))],
            ),
            None => typed(
                "thinking",
                &thinking.extra,
                vec![
                    ("thinking", Some(Node::Body(&thinking.body))),
                    ("signature", thinking.signature.as_deref().map(Node::str)),
                ],
            ),
        },
        Part::Image(image) => {
            let source = kept_in(kept(&image.extra), "source");
            let data = Some(Node::Body(&image.data));
            let fields = if image.is_url {
                vec![("type", Some(Node::str("url"))), ("url", data)]
            } else {
                let media_type = Some(Node::str(&image.media_type));
                vec![
                    ("type", Some(Node::str("base64"))),
                    ("media_type", media_type),
                    ("data", data),
                ]
            };
            typed("image", &image.extra, vec![("source", Some(weave(source, fields)))])
        }
        Part::ToolCall(call) => {
            let input = arguments::write_object(kept(&call.extra), "input", &call.parameters);
            typed(
                "tool_use",
                &call.extra,
                vec![
                    ("id", Some(Node::str(&call.id))),
                    ("name", Some(Node::str(&call.tool))),
                    ("input", input),
                ],
            )
        }
        Part::ToolResult(result) => {
            let error = success::said(result).map(|success| Node::from(Value::Bool(!success)));
            typed(
                "tool_result",
                &result.extra,
                vec![
                    ("tool_use_id", Some(Node::str(&result.call_id))),
                    ("content", objects::node(result, "text").or_else(|| output_node(result))),
                    ("is_error", error),
                ],
            )
        }
        Part::Opaque(opaque) => Node::Json(&opaque.value),
    }
}

fn text_node(text: &Text) -> Node<'_> {
    typed("text", &text.extra, vec![("text", Some(Node::Body(&text.body)))])
}

fn typed<'a>(kind: &'static str, extra: &'a Extra, fields: Vec<(&'a str, Option<Node<'a>>)>) -> Node<'a> {
    let mut made = vec![("type", Some(Node::str(kind)))];
    made.extend(fields);
    weave(kept(extra), made)
}

fn output_node(result: &ToolResult) -> Option<Node<'_>> {
    let error = result.error.as_ref().filter(|error| !error.is_blank());
    match (result.output.as_slice(), error) {
        ([], None) if result.bare => Some(Node::str("")),
        ([Part::Text(text)], None) if result.bare => Some(Node::Body(&text.body)),
        // A result may have no content; it is written without content only if it was read without.
        ([], None) if kept(&result.extra).is_some() => result.extra.get("content").map(|content| match content {
            Value::Null if !was_null(kept(&result.extra), "content") => Node::List(Vec::new()),
            odd => Node::Json(odd),
        }),
        (output, error) => {
            let mut blocks: Vec<Node> = output.iter().map(block_node).collect();
            blocks.extend(
                error.map(|error| Node::Object(vec![("type", Node::str("text")), ("text", Node::Body(error))])),
            );
            Some(Node::List(blocks))
        }
    }
}
