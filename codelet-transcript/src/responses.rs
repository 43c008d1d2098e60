//! OpenAI Responses requests: a flat list of items instead of messages.
//!
//! The items of one reply become one message, and results become one message after it. For writing, a message is split
//! into its items again.

use crate::attachment;
use crate::convert::{NAMESPACE, in_namespace, plain_name};
use crate::document::{Document, Warning};
use crate::error::ReadError;
use crate::extra::{Fields, LIST, kept, marked, note, text_with, thinking_with, was_null, was_taken, weave};
use crate::format::Format;
use crate::gather::{Open, picture};
use crate::node::Node;
use crate::openai::data_url;
use crate::request;
use crate::skim::Step;
use crate::source::Misfit;
use crate::vendor::shell;
use crate::{arguments, objects, vendor};
use codelet_context::message::{Extra, Message, Nature, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// On a text of a reply: the fields of the item that begins with it.
const ITEM: &str = "codelet.item";
/// On a text of a reply: it belongs to the same item as the text before it.
const JOINED: &str = "codelet.joined";

/// The calls of built-in tools: the item's type, and the field that holds the tool's input.
const BUILT_IN: &[(&str, &str)] = &[
    ("local_shell_call", "action"),
    ("shell_call", "action"),
    ("apply_patch_call", "operation"),
    ("computer_call", "action"),
];

/// Reads a request, or a bare list of items.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    request::read(bytes, Format::Responses, "input", |request| {
        let mut reader = Reader::default();
        if let Some(text) = request.string("instructions") {
            let mut system = Message::system(text);
            system.bare = true;
            reader.messages.push(system);
        }
        if let Some(text) = request.string("input") {
            let mut prompt = Message::user(text);
            prompt.bare = true;
            reader.messages.push(prompt);
            request.note("input", "text");
            return Ok(reader.messages);
        }
        let list = request.list("input").ok_or_else(|| {
            Misfit::new(
                [Step::Key("input")],
                request.0.get("input"),
                "a string or a list of items",
            )
        })?;
        for (index, item) in list.into_iter().enumerate() {
            reader.item(item, index)?;
        }
        mark_waiting(&mut reader.messages);
        let is_set = |name: &str| request.0.get(name).is_some_and(|value| !value.is_null());
        if let Some(by) = kept_by_vendor(is_set, || reader.refers) {
            request.note(KEPT, by);
            mark_calls_elsewhere(&mut reader.messages);
        }
        Ok(reader.messages)
    })
    .map(|mut document| {
        if let Some(Value::String(by)) = document.envelope.shift_remove(KEPT) {
            let by = KEPT_ELSEWHERE.into_iter().chain([REFERENCE]).find(|mark| *mark == by);
            document.warnings.extend(by.map(|by| Warning::KeptByVendor { by }));
        }
        document
    })
}

/// Reads list items. Returns the messages, and for each item the index of its message.
pub(crate) fn items(list: Vec<Value>) -> Result<(Vec<Message>, Vec<usize>), Misfit> {
    let mut reader = Reader::default();
    let mut places = Vec::with_capacity(list.len());
    for (index, item) in list.into_iter().enumerate() {
        reader.item(item, index)?;
        places.push(reader.messages.len().saturating_sub(1));
    }
    mark_waiting(&mut reader.messages);
    Ok((reader.messages, places))
}

/// Marks an unfinished program in the newest reply: the provider resumes it once it has the outputs of its calls, and
/// nothing else may follow it. ("Programmatic tool calling", OpenAI, November 2026.)
fn mark_waiting(messages: &mut [Message]) {
    let Some(last) = request::newest_reply(messages) else {
        return;
    };
    let kind = |part: &Part| match part {
        Part::Opaque(opaque) => Some(opaque.kind.clone()),
        _ => None,
    };
    let ended = last
        .parts
        .iter()
        .rposition(|part| kind(part).as_deref() == Some("program_output"));
    for part in last.parts.iter_mut().skip(ended.map_or(0, |at| at + 1)) {
        if let Part::Opaque(opaque) = part
            && &*opaque.kind == "program"
        {
            opaque.nature = Nature::Pending;
        }
    }
}

/// A note from reader to writer: the field or item that says that the provider stores a part of the conversation.
const KEPT: &str = "codelet.kept";
/// The fields that may say so.
const KEPT_ELSEWHERE: [&str; 2] = ["previous_response_id", "conversation"];
/// The item that refers to one that the provider stores.
const REFERENCE: &str = "item_reference";

/// Returns the field or item that says that the provider stores a part of the conversation, if there is one. `is_set` is asked whether
/// a field has a value, `refers` whether an item [is a reference](is_reference).
pub(crate) fn kept_by_vendor(is_set: impl Fn(&str) -> bool, refers: impl FnOnce() -> bool) -> Option<&'static str> {
    let field = KEPT_ELSEWHERE.into_iter().find(|name| is_set(name));
    field.or_else(|| refers().then_some(REFERENCE))
}

/// Returns whether an item with this type and role refers to one that the provider stores; such an item may consist of its id alone.
pub(crate) fn is_reference(kind: Option<&str>, role: Option<&str>, has_id: bool) -> bool {
    kind == Some(REFERENCE) || (kind, role, has_id) == (None, None, true)
}

/// Marks the results of calls that are not among the messages: the provider stores those calls.
fn mark_calls_elsewhere(messages: &mut [Message]) {
    let mut calls: HashSet<Arc<str>> = HashSet::new();
    for message in messages {
        for part in &mut message.parts {
            match part {
                Part::ToolCall(call) => drop(calls.insert(call.id.clone())),
                Part::ToolResult(result) => result.is_apart = !calls.contains(&result.call_id),
                _ => {}
            }
        }
    }
}

#[derive(Default)]
struct Reader {
    messages: Vec<Message>,
    open: Open,
    /// An item refers to one that the provider stores.
    refers: bool,
}

impl Reader {
    fn item(&mut self, value: Value, index: usize) -> Result<(), Misfit> {
        let Value::Object(fields) = value else {
            let path = [Step::Key("input"), Step::Index(index)];
            return Err(Misfit::new(path, Some(&value), "an object with type or role"));
        };
        let fields = Fields::new(fields);
        if is_reference(fields.peek("type"), fields.peek("role"), fields.has_string("id")) {
            self.refers = true;
            self.reply(opaque(REFERENCE, fields));
            return Ok(());
        }
        let kind = fields.peek("type").unwrap_or("message").to_owned();
        match (kind.as_str(), fields.peek("role")) {
            ("message", Some("assistant")) => self.spoken(fields),
            ("message", Some("user" | "system" | "developer")) => self.message(fields, index)?,
            ("message", _) => {
                let path = [Step::Key("input"), Step::Index(index), Step::Key("role")];
                return Err(Misfit::new(
                    path,
                    fields.0.get("role"),
                    "user, assistant, system or developer",
                ));
            }
            // Tools are defined by developers, not by the model.
            ("additional_tools", _) => {
                let mut message = Message::new(Role::System, vec![opaque(&kind, fields)]);
                message.extra = Extra::new(Map::from_iter([("role".to_owned(), Value::from("developer"))]));
                self.messages.push(message);
                self.open = Open::Nothing;
            }
            ("reasoning", _) => self.reply(reasoning(fields)),
            ("function_call" | "custom_tool_call", _) if fields.has_string("call_id") && fields.has_string("name") => {
                self.reply(call(fields, &kind));
            }
            (_, _) if kind.ends_with("_call_output") && fields.has_string("call_id") => self.result(fields, &kind),
            (_, _) => match BUILT_IN.iter().find(|(name, _)| *name == kind) {
                Some((_, field))
                    if fields.has_string("call_id") && fields.0.get(*field).is_some_and(Value::is_object) =>
                {
                    self.reply(built_in(fields, &kind, field));
                }
                _ => self.reply(opaque(&kind, fields)),
            },
        }
        Ok(())
    }

    fn reply(&mut self, part: Part) {
        match self.messages.last_mut() {
            Some(last) if self.open == Open::Reply => last.parts.push(part),
            _ => self.messages.push(Message::new(Role::Assistant, vec![part])),
        }
        self.open = Open::Reply;
    }

    fn result(&mut self, mut fields: Fields, kind: &str) {
        let call_id = fields.string("call_id").unwrap_or_default();
        if kind == "function_call_output" {
            fields.string("type");
        }
        let printed = match kind == shell::OUTPUT {
            true => fields.list("output").map(|list| shell::take_apart(Value::Array(list))),
            false => None,
        };
        let mut frame = None;
        let mut success = None;
        let (output, bare) = match printed {
            Some(Ok((texts, around, ended))) => {
                (frame, success) = (Some(around), ended);
                (texts, false)
            }
            Some(Err(other)) => {
                let blocks = other.as_array().cloned().unwrap_or_default();
                (
                    blocks.into_iter().map(|value| part(value, "input_text")).collect(),
                    false,
                )
            }
            None => request::output(&mut fields, "output", |value| part(value, "input_text")),
        };
        let extra = fields.rest(&["type", "call_id", "output"]);
        let mut result = ToolResult {
            output,
            bare,
            extra,
            ..ToolResult::new(call_id, success, "")
        };
        if let Some(frame) = frame {
            shell::keep_frame(&mut result, frame);
        }
        match self.messages.last_mut() {
            Some(last) if self.open == Open::Results => last.parts.push(Part::ToolResult(result)),
            _ => self.messages.push(Message::results(vec![result])),
        }
        self.open = Open::Results;
    }

    /// Adds the model's text. An item that is not all text is passed on untouched.
    fn spoken(&mut self, mut fields: Fields) {
        let is_words = |value: &Value| {
            matches!(
                value.get("type").and_then(Value::as_str),
                Some("output_text" | "input_text" | "text")
            ) && value.get("text").is_some_and(Value::is_string)
        };
        let is_known = match fields.0.get("content") {
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(parts)) => !parts.is_empty() && parts.iter().all(is_words),
            _ => false,
        };
        if !is_known {
            return self.reply(opaque("message", fields));
        }
        fields.string("type");
        fields.string("role");
        let mut texts: Vec<Text> = Vec::new();
        if let Some(text) = fields.string("content") {
            fields.note("content", "text");
            texts.push(Text::new(text, Default::default()));
        } else {
            for value in fields.list("content").unwrap_or_default() {
                if let Part::Text(text) = part(value, "output_text") {
                    texts.push(text);
                }
            }
        }
        let item = fields.rest(&["type", "role", "content"]);
        for (index, mut text) in texts.into_iter().enumerate() {
            if index > 0 {
                text.extra = marked(text.extra, JOINED, true);
            } else if !item.is_empty() {
                let item: Map<String, Value> = item.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                text.extra = marked(text.extra, ITEM, item);
            }
            self.reply(Part::Text(text));
        }
    }

    fn message(&mut self, mut fields: Fields, index: usize) -> Result<(), Misfit> {
        // The name of a system message's role stays, see `request::is_inline`.
        let role = match fields.peek("role") {
            Some("user") => Role::User,
            _ => Role::System,
        };
        if role == Role::User {
            fields.string("role");
        }
        let (parts, bare) = match fields.string("content") {
            Some(text) if text.is_empty() => (Vec::new(), true),
            Some(text) => (vec![Part::text(text)], true),
            None => match fields.list("content") {
                Some(parts) => (
                    parts.into_iter().map(|value| part(value, "input_text")).collect(),
                    false,
                ),
                None => {
                    let path = [Step::Key("input"), Step::Index(index), Step::Key("content")];
                    return Err(Misfit::new(
                        path,
                        fields.0.get("content"),
                        "a string or a list of parts",
                    ));
                }
            },
        };
        self.messages.push(Message {
            role,
            parts,
            bare,
            extra: fields.rest(&["role", "content"]),
        });
        self.open = Open::Nothing;
        Ok(())
    }
}

fn opaque(kind: &str, fields: Fields) -> Part {
    match kind {
        REFERENCE => Part::Opaque(Opaque::new(kind, fields.untouched()).that_is(Nature::Reference)),
        _ => attachment::part(kind, fields.untouched()),
    }
}

/// Reads one part of an item's content; `usual` is the usual type of text in this position.
fn part(value: Value, usual: &str) -> Part {
    let Value::Object(fields) = value else {
        return attachment::part("", value);
    };
    let mut fields = Fields::new(fields);
    match fields.peek("type").unwrap_or_default() {
        kind @ ("input_text" | "output_text" | "text") if fields.has_string("text") => {
            if kind == usual {
                fields.string("type");
            }
            let body = fields.string("text").unwrap_or_default();
            Part::Text(text_with(body, fields.rest(&["type", "text"])))
        }
        "input_image" if fields.has_string("image_url") => {
            fields.string("type");
            let url = fields.string("image_url").unwrap_or_default();
            picture(url, fields.rest(&["type", "image_url"]))
        }
        kind => {
            let kind = kind.to_owned();
            opaque(&kind, fields)
        }
    }
}

/// Reads a reasoning item. The summary is the readable text; it also stays in the kept fields, since it has to be sent
/// back part by part.
fn reasoning(mut fields: Fields) -> Part {
    let texts = |name: &str| -> Vec<&str> {
        let parts = fields.0.get(name).and_then(Value::as_array).into_iter().flatten();
        parts
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect()
    };
    let mut words = texts("summary");
    words.extend(texts("content"));
    let body = words.join("\n\n");
    let encrypted = fields.string("encrypted_content");
    Part::Thinking(thinking_with(body, None, encrypted, Fields::rest(fields, &[])))
}

fn call(mut fields: Fields, kind: &str) -> Part {
    let is_function = kind == "function_call";
    if is_function {
        fields.string("type");
    }
    let id = fields.string("call_id").unwrap_or_default();
    let tool = fields.string("name").unwrap_or_default();
    let tool = in_namespace(fields.peek(NAMESPACE), tool);
    let parameters = match is_function {
        true => arguments::take(&mut fields, "arguments"),
        false => arguments::take_text(&mut fields, "input"),
    };
    let usual: &[&str] = if is_function {
        &["type", "call_id", "name", "arguments"]
    } else {
        &[]
    };
    request::call(id, tool, parameters, fields.rest(usual))
}

fn built_in(mut fields: Fields, kind: &str, field: &str) -> Part {
    let id = fields.string("call_id").unwrap_or_default();
    let tool = kind.strip_suffix("_call").unwrap_or(kind);
    let parameters = fields.object(field).unwrap_or_default();
    request::call(id, tool, parameters, fields.rest(&[]))
}

pub(crate) fn write<T>(document: &Document, encode: impl FnOnce(&Node) -> T) -> T {
    let (system, messages) = request::split_system(document);
    let instructions = system.map(|message| {
        let texts: Vec<&str> = message.parts.iter().filter_map(words).collect();
        match texts.as_slice() {
            [one] => Node::str(one),
            many => many.join("\n\n").into(),
        }
    });
    let is_text = !document.envelope.contains_key(LIST) && document.envelope.get("input").is_some_and(Value::is_string);
    let input = match messages {
        [
            Message {
                role: Role::User,
                parts,
                ..
            },
        ] if is_text && matches!(parts.as_slice(), [Part::Text(_)]) => parts.iter().find_map(words).map(Node::str),
        messages => Some(Node::List(message_items(messages).into_iter().flatten().collect())),
    };
    request::write(
        document,
        "input",
        vec![("instructions", instructions), ("input", input)],
        encode,
    )
}

pub(crate) fn message_items(messages: &[Message]) -> Vec<Vec<Node<'_>>> {
    let kinds = Kinds::of(messages);
    let mut all = Vec::with_capacity(messages.len());
    for message in messages {
        let mut items = Vec::new();
        match message.role {
            Role::Assistant => reply_items(message, &kinds, &mut items),
            Role::User | Role::System => said_items(message, &kinds, &mut items),
        }
        all.push(items);
    }
    all
}

fn words(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    }
}

/// Calls that are not function calls: their results have item types of their own.
#[derive(Default)]
struct Kinds<'a> {
    calls: HashMap<&'a str, &'a str>,
    /// Calls whose result would have to be a screenshot that does not exist.
    blind: HashSet<&'a str>,
}

impl<'a> Kinds<'a> {
    fn of(messages: &'a [Message]) -> Self {
        let mut kinds = Kinds::default();
        for call in messages.iter().flat_map(Message::calls) {
            if let Some(kind) = note(kept(&call.extra), "type") {
                kinds.calls.insert(&call.id, kind);
                if kind == SCREEN_CALL {
                    kinds.blind.insert(&call.id);
                }
            }
        }
        for result in messages.iter().flat_map(Message::tool_results) {
            if !is_made(result) {
                kinds.blind.remove(&*result.call_id);
            }
        }
        kinds
    }
}

/// The call whose result is a screenshot.
const SCREEN_CALL: &str = "computer_call";

/// Returns whether a result was created after reading: one that was read has a type, which for calls other than
/// function calls is among the kept fields.
fn is_made(result: &ToolResult) -> bool {
    note(kept(&result.extra), "type").is_none()
}

fn said_items<'a>(message: &'a Message, kinds: &Kinds<'a>, items: &mut Vec<Node<'a>>) {
    let seen = message
        .tool_results()
        .filter(|result| !kinds.blind.contains(&*result.call_id));
    items.extend(seen.map(|result| match kinds.calls.get(&*result.call_id) {
        Some(kind) if is_made(result) => made_answer(result, kind),
        _ => result_node(result),
    }));
    let item = |part: &&'a Part| match part {
        Part::Opaque(opaque) if vendor::is_item(&opaque.kind) => Some(Node::Json(&opaque.value)),
        _ => None,
    };
    items.extend(message.parts.iter().filter_map(|part| item(&part)));
    let others: Vec<&Part> = message
        .parts
        .iter()
        .filter(|part| !matches!(part, Part::ToolResult(_)) && item(part).is_none())
        .collect();
    if others.is_empty() && !message.parts.is_empty() {
        return;
    }
    let kept = kept(&message.extra);
    let role = match message.role {
        Role::System => note(kept, "role")
            .filter(|role| *role == "developer")
            .unwrap_or("system"),
        _ => "user",
    };
    let content = match others.as_slice() {
        [] if message.bare => Node::str(""),
        [Part::Text(text)] if message.bare => Node::Body(&text.body),
        others => Node::List(others.iter().map(|part| part_node(part, "input_text")).collect()),
    };
    items.push(weave(
        kept,
        vec![("role", Some(Node::str(role))), ("content", Some(content))],
    ));
}

/// Returns the new result of a call that is not a function call, in the form of its type.
fn made_answer<'a>(result: &'a ToolResult, call_kind: &str) -> Node<'a> {
    let texts = result.texts().map(|text| text.body.as_str());
    let words = texts.chain(result.error.as_ref().map(|error| error.as_str()));
    let words = words.collect::<Vec<_>>().join("\n");
    let done = result.success == Some(true);
    let (kind, fields) = match call_kind {
        "custom_tool_call" => ("custom_tool_call_output", json!({"output": words})),
        "local_shell_call" => ("local_shell_call_output", json!({"output": words})),
        "shell_call" => {
            let outcome = match done {
                true => json!({"type": "exit", "exit_code": 0}),
                false => json!({"type": "timeout"}),
            };
            let (stdout, stderr) = if done {
                (words.as_str(), "")
            } else {
                ("", words.as_str())
            };
            let output = json!([{"stdout": stdout, "stderr": stderr, "outcome": outcome}]);
            ("shell_call_output", json!({"output": output}))
        }
        "apply_patch_call" => {
            let status = if done { "completed" } else { "failed" };
            ("apply_patch_call_output", json!({"status": status, "output": words}))
        }
        _ => return result_node(result),
    };
    let mut made = vec![("type", Node::str(kind)), ("call_id", Node::str(&result.call_id))];
    for name in ["status", "output"] {
        made.extend(fields.get(name).map(|value| (name, Node::from(value.clone()))));
    }
    Node::Object(made)
}

fn reply_items<'a>(message: &'a Message, kinds: &Kinds<'a>, items: &mut Vec<Node<'a>>) {
    let first = items.len();
    // Thinking without the call that followed it is refused.
    let mut thoughts = 0;
    let mut is_left_out = false;
    let mut parts = message.parts.iter().peekable();
    while let Some(part) = parts.next() {
        let before = items.len();
        match part {
            Part::Text(text) => {
                let mut texts = vec![text];
                while let Some(Part::Text(next)) = parts.peek()
                    && next.extra.get(JOINED).is_some()
                {
                    texts.push(next);
                    parts.next();
                }
                items.push(spoken_node(&texts));
            }
            Part::Thinking(thinking) => {
                items.push(reasoning_node(thinking));
                thoughts += 1;
                continue;
            }
            Part::ToolCall(call) if kinds.blind.contains(&*call.id) => is_left_out = true,
            Part::ToolCall(call) => items.push(call_node(call)),
            Part::Opaque(opaque) => items.push(Node::Json(&opaque.value)),
            // No provider accepts images or results in a reply.
            Part::Image(_) | Part::ToolResult(_) => {}
        }
        if items.len() > before {
            thoughts = 0;
        }
    }
    if is_left_out {
        items.truncate((items.len() - thoughts).max(first));
    }
}

fn spoken_node<'a>(texts: &[&'a Text]) -> Node<'a> {
    let item = match texts[0].extra.get(ITEM) {
        Some(Value::Object(item)) => Some(item),
        _ => None,
    };
    // Optional in the provider's documentation, and not supported by every server; written only if it was read.
    let kind = was_taken(item, "type").then(|| Node::str("message"));
    let is_plain = note(item, "content") == Some("text");
    let content = match texts {
        [text] if is_plain => Node::Body(&text.body),
        texts => Node::List(texts.iter().map(|text| text_node(text, "output_text")).collect()),
    };
    weave(
        item,
        vec![
            ("type", kind),
            ("role", Some(Node::str("assistant"))),
            ("content", Some(content)),
        ],
    )
}

fn text_node<'a>(text: &'a Text, usual: &'static str) -> Node<'a> {
    let kept = kept(&text.extra);
    let kind = note(kept, "type").unwrap_or(usual);
    weave(
        kept,
        vec![("type", Some(Node::str(kind))), ("text", Some(Node::Body(&text.body)))],
    )
}

fn part_node<'a>(part: &'a Part, usual: &'static str) -> Node<'a> {
    match part {
        Part::Text(text) => text_node(text, usual),
        Part::Image(image) => {
            let fields = vec![
                ("type", Some(Node::str("input_image"))),
                ("image_url", Some(data_url(image))),
            ];
            weave(kept(&image.extra), fields)
        }
        Part::Opaque(opaque) => Node::Json(&opaque.value),
        // Calls, results and thinking are separate items.
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => Node::Object(vec![]),
    }
}

fn reasoning_node(thinking: &Thinking) -> Node<'_> {
    let kept = kept(&thinking.extra);
    let encrypted = thinking.redacted.as_deref().map(Node::str);
    let mut fields = vec![("type", Some(Node::str("reasoning")))];
    if kept.is_none() {
        fields.push(("summary", Some(Node::List(Vec::new()))));
    }
    fields.push(("encrypted_content", encrypted));
    weave(kept, fields)
}

fn call_node(call: &ToolCall) -> Node<'_> {
    let kept = kept(&call.extra);
    let kind = note(kept, "type").unwrap_or("function_call");
    let id = ("call_id", Some(Node::str(&call.id)));
    let mut fields = vec![("type", Some(Node::str(kind))), id];
    let name = plain_name(call).unwrap_or(&call.tool);
    match BUILT_IN.iter().find(|(name, _)| *name == kind) {
        Some((_, field)) => fields.push((field, Some(Node::Map(call.parameters.as_map())))),
        None if kind == "custom_tool_call" => {
            fields.push(("name", Some(Node::str(name))));
            fields.push(("input", arguments::write_text(&call.parameters)));
        }
        None => {
            fields.push(("name", Some(Node::str(name))));
            fields.push(("arguments", arguments::write(kept, "arguments", &call.parameters)));
        }
    }
    weave(kept, fields)
}

fn result_node(result: &ToolResult) -> Node<'_> {
    let kept = kept(&result.extra);
    let printed = shell::put_together(result).map(Node::from);
    let kind = note(kept, "type").unwrap_or("function_call_output");
    let odd = kept.and_then(|kept| kept.get("output"));
    let output = match (
        result.output.as_slice(),
        result.error.as_ref().filter(|error| !error.is_blank()),
    ) {
        ([], None) if result.bare => Some(Node::str("")),
        ([Part::Text(text)], None) if result.bare => Some(Node::Body(&text.body)),
        // A value that is not text or a list, or a missing one, was not taken.
        ([], None) if kept.is_some() && odd.is_none() => None,
        ([], None) if odd.is_some_and(|odd| !odd.is_null()) || was_null(kept, "output") => odd.map(Node::Json),
        (output, error) => {
            let mut parts: Vec<Node> = output.iter().map(|part| part_node(part, "input_text")).collect();
            let error = error.map(|error| vec![("type", Node::str("input_text")), ("text", Node::Body(error))]);
            parts.extend(error.map(Node::Object));
            Some(Node::List(parts))
        }
    };
    weave(
        kept,
        vec![
            ("type", Some(Node::str(kind))),
            ("call_id", Some(Node::str(&result.call_id))),
            (
                "output",
                printed.or_else(|| objects::node(result, "input_text")).or(output),
            ),
        ],
    )
}
