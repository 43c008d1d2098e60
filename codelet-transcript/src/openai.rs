//! OpenAI Chat Completions requests.

use crate::document::Document;
use crate::error::ReadError;
use crate::extra::{
    Fields, Kept, is_usual, kept, kept_in, marked, note, text_with, thinking_with, was_null, was_taken, weave,
};
use crate::format::Format;
use crate::gather::picture;
use crate::node::Node;
use crate::request;
use crate::skim::Step;
use crate::source::Misfit;
use crate::{arguments, attachment, objects};
use codelet_context::message::{Image, Message, Opaque, Part, Role, Thinking, ToolCall, ToolResult};
use serde_json::{Map, Value};

/// The fields in which servers return unencrypted thinking.
const THINKING: [&str; 2] = ["reasoning_content", "reasoning"];

/// Reads a request, or a bare list of messages. The results of one reply's calls become one message.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    request::read(bytes, Format::Openai, "messages", |request| {
        let list = request
            .list("messages")
            .ok_or_else(|| Misfit::new([Step::Key("messages")], request.0.get("messages"), "a list of messages"))?;
        items(list, 0).map(|(messages, _)| messages)
    })
}

/// Reads list items; `first` items precede them. Returns the messages, and for each item the index of its message.
pub(crate) fn items(list: Vec<Value>, first: usize) -> Result<(Vec<Message>, Vec<usize>), Misfit> {
    let mut reader = Reader {
        messages: Vec::with_capacity(list.len()),
        legacy: first,
        after_result: false,
    };
    let mut places = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        reader.message(value, index)?;
        places.push(reader.messages.len() - 1);
    }
    Ok((reader.messages, places))
}

struct Reader {
    messages: Vec<Message>,
    /// The number of calls without an id so far (`function_call`, the predecessor of `tool_calls`).
    legacy: usize,
    after_result: bool,
}

impl Reader {
    fn message(&mut self, value: Value, index: usize) -> Result<(), Misfit> {
        let mut fields = request::message_fields(value, index)?;
        let at = |key| request::way(index, key);
        let role = match fields.peek("role") {
            Some("system" | "developer") => Role::System,
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool" | "function") => return self.result(fields, at("content")),
            _ => {
                let expected = "system, developer, user, assistant or tool";
                return Err(Misfit::new(at("role"), fields.0.get("role"), expected));
            }
        };
        // In other formats, the kept role name marks an inline system message; here all system messages are inline.
        if fields.peek("role") != Some("developer") {
            fields.string("role");
        }
        let mut parts: Vec<Part> = thinking(&mut fields).into_iter().collect();
        let (content, bare) = content(&mut fields, at("content"))?;
        parts.extend(content);
        if role == Role::Assistant {
            parts.extend(refusal(&mut fields));
            parts.extend(sound(&mut fields));
            self.calls(&mut fields, &mut parts);
        }
        let extra = fields.rest(&["role", "content", "tool_calls?"]);
        self.messages.push(Message {
            role,
            parts,
            bare,
            extra,
        });
        self.after_result = false;
        Ok(())
    }

    fn result(&mut self, mut fields: Fields, place: Vec<Step>) -> Result<(), Misfit> {
        let call_id = match fields.peek("role") {
            Some("function") => format!("function_call_{}", self.legacy),
            _ => {
                fields.string("role");
                fields.string("tool_call_id").unwrap_or_default()
            }
        };
        let (output, bare) = content(&mut fields, place)?;
        let extra = fields.rest(&["role", "tool_call_id", "content"]);
        let result = ToolResult {
            output,
            bare,
            extra,
            ..ToolResult::new(call_id, None, "")
        };
        match self.messages.last_mut() {
            Some(last) if self.after_result => last.parts.push(Part::ToolResult(result)),
            _ => self.messages.push(Message::results(vec![result])),
        }
        self.after_result = true;
        Ok(())
    }

    fn calls(&mut self, fields: &mut Fields, parts: &mut Vec<Part>) {
        if fields.0.get("tool_calls").is_some_and(is_list_of_calls) {
            for value in fields.list("tool_calls").unwrap_or_default() {
                parts.extend(call(value));
            }
        }
        if let Some(Value::Object(function)) = fields.0.get("function_call")
            && function.get("name").is_some_and(Value::is_string)
        {
            let mut function = Fields::new(fields.object("function_call").unwrap_or_default());
            let tool = function.string("name").unwrap_or_default();
            let parameters = arguments::take(&mut function, "arguments");
            self.legacy += 1;
            let extra = Fields(Map::from_iter([(
                "function_call".to_owned(),
                Value::Object(function.0),
            )]));
            let id = format!("function_call_{}", self.legacy);
            parts.push(request::call(id, tool, parameters, extra.rest(&[])));
        }
    }
}

fn thinking(fields: &mut Fields) -> Option<Part> {
    let name = THINKING
        .into_iter()
        .find(|name| fields.peek(name).is_some_and(|text| !text.is_empty()))?;
    let body = fields.string(name)?;
    Some(Part::Thinking(Thinking {
        is_wanted_back: true,
        ..thinking_with(body, None, None, Default::default())
    }))
}

/// On a text: it is the message's refusal, which is stored next to its content.
const REFUSAL: &str = "codelet.refusal";

fn refusal(fields: &mut Fields) -> Option<Part> {
    fields.peek("refusal").filter(|words| !words.trim().is_empty())?;
    let words = fields.string("refusal")?;
    Some(Part::Text(text_with(words, marked(Default::default(), REFUSAL, true))))
}

/// Takes out a spoken reply, which is stored next to the content: a block that holds the field.
fn sound(fields: &mut Fields) -> Option<Part> {
    let audio = fields.object(AUDIO)?;
    let block = Map::from_iter([(AUDIO.to_owned(), Value::Object(audio))]);
    Some(Part::Opaque(Opaque::new(AUDIO, Value::Object(block))))
}

const AUDIO: &str = "audio";

/// Returns the spoken reply of a block; an audio block among the content parts has a type.
fn spoken(opaque: &Opaque) -> Option<&Value> {
    let is_field = &*opaque.kind == AUDIO && opaque.value.get("type").is_none();
    opaque.value.get(AUDIO).filter(|_| is_field)
}

/// Reads the content. `null`, a missing content and an empty list leave a note in the message.
fn content(fields: &mut Fields, place: Vec<Step>) -> Result<(Vec<Part>, bool), Misfit> {
    if let Some(text) = fields.string("content") {
        let parts = if text.is_empty() {
            Vec::new()
        } else {
            vec![Part::text(text)]
        };
        return Ok((parts, true));
    }
    if let Some(parts) = fields.list("content") {
        return Ok((parts.into_iter().map(part).collect(), false));
    }
    match fields.0.get("content") {
        None | Some(Value::Null) => Ok((Vec::new(), false)),
        other => Err(Misfit::new(place, other, "a string, null or a list of parts")),
    }
}

fn part(value: Value) -> Part {
    let Value::Object(fields) = value else {
        return attachment::part("", value);
    };
    let mut fields = Fields::new(fields);
    match fields.peek("type").unwrap_or_default() {
        "text" if fields.has_string("text") => {
            fields.string("type");
            let body = fields.string("text").unwrap_or_default();
            Part::Text(text_with(body, fields.rest(&["type", "text"])))
        }
        "image_url"
            if fields
                .0
                .get("image_url")
                .and_then(|image| image.get("url"))
                .is_some_and(Value::is_string) =>
        {
            fields.string("type");
            let mut image = Fields::new(fields.object("image_url").unwrap_or_default());
            let url = image.string("url").unwrap_or_default();
            if !is_usual(&image.0, &["url"]) {
                fields.note("image_url", image.0);
            }
            picture(url, fields.rest(&["type", "image_url"]))
        }
        kind => {
            let kind = kind.to_owned();
            attachment::part(&kind, fields.untouched())
        }
    }
}

/// Returns an image as one URL.
pub(crate) fn data_url(image: &Image) -> Node<'_> {
    if image.is_url {
        Node::Body(&image.data)
    } else {
        format!("data:{};base64,{}", image.media_type, image.data.as_str()).into()
    }
}

fn is_list_of_calls(value: &Value) -> bool {
    let is_call = |call: &Value| call.get("id").is_some_and(Value::is_string) && kind_of(call).is_some();
    value
        .as_array()
        .is_some_and(|calls| !calls.is_empty() && calls.iter().all(is_call))
}

/// Returns the field that describes the call: `function`, or `custom` for a tool with plain text input.
fn kind_of(call: &Value) -> Option<&'static str> {
    ["function", "custom"].into_iter().find(|kind| {
        let named = call.get(kind).and_then(|inner| inner.get("name"));
        named.is_some_and(Value::is_string)
    })
}

fn call(value: Value) -> Option<Part> {
    let kind = kind_of(&value)?;
    let Value::Object(fields) = value else { return None };
    let mut fields = Fields::new(fields);
    let id = fields.string("id")?;
    if fields.peek("type") == Some("function") {
        fields.string("type");
    }
    let mut inner = Fields::new(fields.object(kind)?);
    let tool = inner.string("name")?;
    let is_function = kind == "function";
    let parameters = match is_function {
        true => arguments::take(&mut inner, "arguments"),
        false => arguments::take_text(&mut inner, "input"),
    };
    let is_plain = is_function && is_usual(&inner.0, &["name", "arguments"]);
    if !is_plain {
        fields.note(kind, inner.0);
    }
    let extra = fields.rest(&["id", "type", "function"]);
    Some(request::call(id, tool, parameters, extra))
}

pub(crate) fn write<T>(document: &Document, encode: impl FnOnce(&Node) -> T) -> T {
    let messages = document.messages.iter().flat_map(message_items).collect();
    request::write(
        document,
        "messages",
        vec![("messages", Some(Node::List(messages)))],
        encode,
    )
}

/// Returns the items of a message: one for each tool result.
pub(crate) fn message_items(message: &Message) -> Vec<Node<'_>> {
    if message.role != Role::User {
        return vec![message_node(message, message.parts.iter().collect())];
    }
    let mut items: Vec<Node> = message.tool_results().map(result_node).collect();
    let is_other = |part: &&Part| !matches!(part, Part::ToolResult(_));
    let others: Vec<&Part> = message.parts.iter().filter(is_other).collect();
    if !others.is_empty() || message.parts.is_empty() {
        items.push(message_node(message, others));
    }
    items
}

fn message_node<'a>(message: &'a Message, parts: Vec<&'a Part>) -> Node<'a> {
    let kept = kept(&message.extra);
    let role = match message.role {
        Role::System => note(kept, "role")
            .filter(|role| *role == "developer")
            .unwrap_or("system"),
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut thoughts = Vec::new();
    let mut content = Vec::new();
    let mut calls = Vec::new();
    let mut legacy = None;
    let mut refusal = None;
    let mut audio = None;
    for part in parts {
        match part {
            Part::Text(text) if message.role == Role::Assistant && text.extra.get(REFUSAL).is_some() => {
                refusal = Some(Node::Body(&text.body));
            }
            Part::Opaque(opaque) if message.role == Role::Assistant && spoken(opaque).is_some() => {
                audio = spoken(opaque).map(Node::Json);
            }
            Part::Thinking(thinking) => thoughts.push(thinking.body.as_str()),
            Part::ToolCall(call) => match call.extra.get("function_call") {
                Some(Value::Object(function)) => legacy = Some(legacy_node(call, function)),
                _ => calls.push(call_node(call)),
            },
            other => content.push(other),
        }
    }
    let says_more = !calls.is_empty() || legacy.is_some() || refusal.is_some() || audio.is_some();
    let content = content_node(kept, &content, message.bare, says_more);
    let mut fields = vec![("role", Some(Node::str(role))), ("content", content)];
    if message.role == Role::Assistant {
        let place = |name: &&str| kept.is_some_and(|kept| kept.get(*name).is_some_and(Value::is_null));
        let name = THINKING
            .into_iter()
            .find(|name| place(name) && !was_null(kept, name))
            .unwrap_or(THINKING[0]);
        let thinking = match thoughts.as_slice() {
            [] => None,
            [one] => Some(Node::str(one)),
            many => Some(many.join("\n\n").into()),
        };
        fields.push((name, thinking));
        fields.push(("refusal", refusal));
        fields.push((AUDIO, audio));
        // A value that is not a list of calls (such as an empty list) was not taken.
        let odd = kept
            .and_then(|kept| kept.get("tool_calls"))
            .filter(|odd| !odd.is_null());
        fields.push((
            "tool_calls",
            if calls.is_empty() {
                odd.map(Node::Json)
            } else {
                Some(Node::List(calls))
            },
        ));
        let odd = kept
            .and_then(|kept| kept.get("function_call"))
            .filter(|odd| !odd.is_null());
        fields.push(("function_call", legacy.or(odd.map(Node::Json))));
    }
    weave(kept, fields)
}

fn content_node<'a>(kept: Option<&'a Kept>, parts: &[&'a Part], bare: bool, says_more: bool) -> Option<Node<'a>> {
    match parts {
        [] if bare => Some(Node::str("")),
        [Part::Text(text)] if bare => Some(Node::Body(&text.body)),
        [] => match kept {
            Some(kept) if kept.get("content").is_none() => None,
            Some(kept) if was_null(Some(kept), "content") => Some(Value::Null.into()),
            Some(_) => Some(Node::List(Vec::new())),
            None if says_more => Some(Value::Null.into()),
            None => Some(Node::List(Vec::new())),
        },
        parts => Some(Node::List(parts.iter().map(|part| part_node(part)).collect())),
    }
}

fn part_node(part: &Part) -> Node<'_> {
    match part {
        Part::Text(text) => {
            let fields = vec![
                ("type", Some(Node::str("text"))),
                ("text", Some(Node::Body(&text.body))),
            ];
            weave(kept(&text.extra), fields)
        }
        Part::Image(image) => {
            let kept = kept(&image.extra);
            let inner = weave(kept_in(kept, "image_url"), vec![("url", Some(data_url(image)))]);
            weave(
                kept,
                vec![("type", Some(Node::str("image_url"))), ("image_url", Some(inner))],
            )
        }
        Part::Opaque(opaque) => Node::Json(&opaque.value),
        // Calls, results and thinking have separate fields.
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => Node::Object(vec![]),
    }
}

fn call_node(call: &ToolCall) -> Node<'_> {
    let kept = kept(&call.extra);
    let mut fields = vec![("id", Some(Node::str(&call.id)))];
    if let Some(custom) = kept_in(kept, "custom") {
        let inner = vec![
            ("name", Some(Node::str(&call.tool))),
            ("input", arguments::write_text(&call.parameters)),
        ];
        fields.push(("custom", Some(weave(Some(custom), inner))));
        return weave(kept, fields);
    }
    let function = kept_in(kept, "function");
    let inner = vec![
        ("name", Some(Node::str(&call.tool))),
        ("arguments", arguments::write(function, "arguments", &call.parameters)),
    ];
    // Some servers omit the type; it is written if it was read.
    fields.push(("type", was_taken(kept, "type").then(|| Node::str("function"))));
    fields.push(("function", Some(weave(function, inner))));
    weave(kept, fields)
}

fn legacy_node<'a>(call: &'a ToolCall, function: &'a Map<String, Value>) -> Node<'a> {
    let inner = vec![
        ("name", Some(Node::str(&call.tool))),
        (
            "arguments",
            arguments::write(Some(function), "arguments", &call.parameters),
        ),
    ];
    weave(Some(function), inner)
}

fn result_node(result: &ToolResult) -> Node<'_> {
    let kept = kept(&result.extra);
    let parts: Vec<&Part> = result.output.iter().collect();
    let content = match result.error.as_ref().filter(|error| !error.is_blank()) {
        None => objects::node(result, "text").or_else(|| content_node(kept, &parts, result.bare, false)),
        Some(error) => {
            let texts = result.texts().map(|text| text.body.as_str()).chain([error.as_str()]);
            Some(texts.collect::<Vec<_>>().join("\n").into())
        }
    };
    if note(kept, "role") == Some("function") {
        return weave(kept, vec![("role", Some(Node::str("function"))), ("content", content)]);
    }
    let has_id = !result.call_id.is_empty() || was_taken(kept, "tool_call_id");
    let id = has_id.then(|| Node::str(&result.call_id));
    weave(
        kept,
        vec![
            ("role", Some(Node::str("tool"))),
            ("tool_call_id", id),
            ("content", content),
        ],
    )
}
