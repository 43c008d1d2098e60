//! Gemini `generateContent` requests.
//!
//! Gemini matches calls by order and name; ids are rare. Calls without an id get one here, which is not written back.

pub(crate) mod answer;

use crate::document::Document;
use crate::error::ReadError;
use crate::extra::{
    Fields, Kept, is_usual, kept, kept_in, mark_apart, note, text_with, thinking_with, was_null, weave,
};
use crate::format::Format;
use crate::node::Node;
use crate::request;
use crate::skim::Step;
use crate::source::Misfit;
use crate::{arguments, attachment};
use codelet_context::exchange::Calls;
use codelet_context::message::{Image, Message, Part, Role, Text, ToolCall, ToolResult};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// The two spellings of a field that the API accepts.
const SYSTEM: [&str; 2] = ["systemInstruction", "system_instruction"];
const CALL: [&str; 2] = ["functionCall", "function_call"];
const RESPONSE: [&str; 2] = ["functionResponse", "function_response"];
const INLINE: [&str; 2] = ["inlineData", "inline_data"];
const FILE: [&str; 2] = ["fileData", "file_data"];
const SIGNATURE: [&str; 2] = ["thoughtSignature", "thought_signature"];
const MEDIA_TYPE: [&str; 2] = ["mimeType", "mime_type"];

fn spelled(map: &Map<String, Value>, names: [&'static str; 2]) -> Option<&'static str> {
    names.into_iter().find(|name| map.contains_key(*name))
}

/// Returns the spelling that was read, or else the usual one.
fn spelling(kept: Option<&Kept>, names: [&'static str; 2]) -> &'static str {
    names
        .into_iter()
        .find(|name| kept.is_some_and(|kept| kept.contains_key(*name)))
        .unwrap_or(names[0])
}

/// Reads a request, or a bare list of contents. A single object is accepted in place of a list.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    request::read(bytes, Format::Gemini, "contents", |request| {
        let mut messages = Vec::new();
        messages.extend(system(request)?);
        let list = match request.0.get("contents") {
            Some(Value::Array(_)) => request.list("contents").unwrap_or_default(),
            Some(Value::Object(_)) => one(request, "contents"),
            other => return Err(Misfit::new([Step::Key("contents")], other, "a list of contents")),
        };
        messages.extend(items(list, 0)?);
        mark_apart(&mut messages);
        Ok(messages)
    })
}

/// Reads list items, each as one message; `first` items precede them.
pub(crate) fn items(list: Vec<Value>, first: usize) -> Result<Vec<Message>, Misfit> {
    let mut reader = Reader {
        first,
        ..Reader::default()
    };
    let messages = list
        .into_iter()
        .enumerate()
        .map(|(index, value)| reader.content(value, index));
    let mut messages = messages.collect::<Result<Vec<Message>, Misfit>>()?;
    mark_apart(&mut messages);
    Ok(messages)
}

/// The note in place of a list that was a single object, which the API takes as a list of one.
const ALONE: &str = "one";

fn list_or_one(fields: &mut Fields, name: &str) -> Option<Vec<Value>> {
    match fields.0.get(name)? {
        Value::Object(_) => Some(one(fields, name)),
        _ => fields.list(name),
    }
}

fn one(fields: &mut Fields, name: &str) -> Vec<Value> {
    let object = fields.object(name).map(Value::Object);
    fields.note(name, ALONE);
    object.into_iter().collect()
}

/// Writes a list in the shape it was read in: a single object if it was one and still has one item.
fn as_read<'a>(kept: Option<&Kept>, name: &str, mut items: Vec<Node<'a>>) -> Node<'a> {
    match items.pop() {
        Some(only) if items.is_empty() && note(kept, name) == Some(ALONE) => only,
        last => {
            items.extend(last);
            Node::List(items)
        }
    }
}

fn system(request: &mut Fields) -> Result<Option<Message>, Misfit> {
    let Some(name) = spelled(&request.0, SYSTEM) else {
        return Ok(None);
    };
    if let Some(text) = request.string(name) {
        let mut message = Message::system(text);
        message.bare = true;
        return Ok(Some(message));
    }
    let Some(content) = request.object(name) else {
        return Ok(None);
    };
    let mut content = Fields::new(content);
    let Some(parts) = list_or_one(&mut content, "parts") else {
        return Err(Misfit::new(
            [Step::Key(name), Step::Key("parts")],
            content.0.get("parts"),
            "a list of parts",
        ));
    };
    let mut reader = Reader::default();
    let parts = parts.into_iter().map(|value| reader.part(value)).collect();
    if !is_usual(&content.0, &["parts"]) {
        request.note(name, content.0);
    }
    Ok(Some(Message::new(Role::System, parts)))
}

/// Assigns ids to calls and finds the calls that results belong to.
#[derive(Default)]
struct Reader {
    used: HashSet<Arc<str>>,
    count: usize,
    /// The number of items before the first one that is read, so that generated ids differ from theirs.
    first: usize,
    /// Calls without a result yet, by tool.
    open: HashMap<Arc<str>, VecDeque<Open>>,
}

/// A call without a result yet.
struct Open {
    id: Arc<str>,
    /// True if the id is from the provider.
    is_own: bool,
    /// The number of calls before it.
    place: usize,
}

impl Reader {
    fn content(&mut self, value: Value, index: usize) -> Result<Message, Misfit> {
        let at = |key: Option<&'static str>| {
            let mut path = vec![Step::Key("contents"), Step::Index(index)];
            path.extend(key.map(Step::Key));
            path
        };
        let Value::Object(fields) = value else {
            return Err(Misfit::new(at(None), Some(&value), "an object with role and parts"));
        };
        let mut fields = Fields::new(fields);
        let role = match fields.0.get("role").map(Value::as_str) {
            Some(Some("user")) | None => Role::User,
            // Tool results used to have a role of their own; its name is kept.
            Some(Some("function" | "tool")) => Role::User,
            Some(Some("model")) => Role::Assistant,
            _ => return Err(Misfit::new(at(Some("role")), fields.0.get("role"), "user or model")),
        };
        if matches!(fields.peek("role"), Some("user" | "model")) {
            fields.string("role");
        }
        let Some(parts) = list_or_one(&mut fields, "parts") else {
            return Err(Misfit::new(at(Some("parts")), fields.0.get("parts"), "a list of parts"));
        };
        if role == Role::Assistant {
            // Calls still open here can no longer be matched by order.
            self.open.clear();
        }
        let parts = parts.into_iter().map(|value| self.part(value)).collect();
        Ok(Message {
            role,
            parts,
            bare: false,
            extra: fields.rest(&["role", "parts"]),
        })
    }

    fn part(&mut self, value: Value) -> Part {
        let Value::Object(fields) = value else {
            return attachment::part("", value);
        };
        let fields = Fields::new(fields);
        let named = |name: Option<&'static str>| {
            let name = name?;
            fields.0.get(name)?.get("name")?.as_str().map(|_| name)
        };
        if fields.has_string("text") {
            return words(fields);
        }
        if let Some(name) = named(spelled(&fields.0, CALL)) {
            return self.call(fields, name);
        }
        if let Some(name) = named(spelled(&fields.0, RESPONSE)) {
            return self.response(fields, name);
        }
        file(fields)
    }

    fn call(&mut self, mut fields: Fields, name: &'static str) -> Part {
        let mut inner = Fields::new(fields.object(name).unwrap_or_default());
        let tool: Arc<str> = inner.string("name").unwrap_or_default().into();
        let own_id = own_id(&mut inner);
        let is_own = own_id.is_some();
        let id = own_id.map_or_else(|| self.invent(&tool), Arc::from);
        self.used.insert(id.clone());
        let open = Open {
            id: id.clone(),
            is_own,
            place: self.used.len(),
        };
        self.open.entry(tool.clone()).or_default().push_back(open);
        let parameters = inner.object("args").unwrap_or_default();
        if !is_usual(&inner.0, &["name", "args"]) {
            fields.note(name, inner.0);
        }
        request::call(id, tool, parameters, fields.rest(&["functionCall"]))
    }

    fn invent(&mut self, tool: &str) -> Arc<str> {
        loop {
            self.count += 1;
            let id: Arc<str> = match self.first {
                0 => format!("{tool}-{}", self.count).into(),
                first => format!("{tool}-{first}-{}", self.count).into(),
            };
            if !self.used.contains(&id) {
                return id;
            }
        }
    }

    /// Takes the open call that a result without an id answers: the first one of its tool, or else the first one without
    /// an id, which the provider matches by its place alone. The flag says whether the tool is the same.
    fn answered(&mut self, tool: &str) -> Option<(Open, bool)> {
        if let Some(open) = self.open.get_mut(tool).and_then(VecDeque::pop_front) {
            return Some((open, true));
        }
        let queues = self.open.values_mut();
        let queues = queues.filter(|queue| queue.front().is_some_and(|open| !open.is_own));
        let first = queues.min_by_key(|queue| queue.front().map(|open| open.place));
        first.and_then(VecDeque::pop_front).map(|open| (open, false))
    }

    fn response(&mut self, mut fields: Fields, name: &'static str) -> Part {
        let mut inner = Fields::new(fields.object(name).unwrap_or_default());
        let tool = inner.peek("name").unwrap_or_default().to_owned();
        let own_id: Option<Arc<str>> = own_id(&mut inner).map(Arc::from);
        // A result without the id that its call has.
        let mut bears_none = false;
        let call_id = match own_id {
            Some(id) => {
                let open = self.open.get_mut(tool.as_str());
                if let Some(open) = open
                    && let Some(index) = open.iter().position(|other| other.id == id)
                {
                    open.remove(index);
                    inner.string("name");
                }
                id
            }
            None => match self.answered(&tool) {
                Some((open, is_same)) => {
                    if is_same {
                        inner.string("name");
                    }
                    bears_none = open.is_own;
                    open.id
                }
                None => self.invent(&tool),
            },
        };
        let mut output = Vec::new();
        let mut success = None;
        let mut shown = None;
        if let Some(response) = inner.object("response") {
            let answer = answer::read(response);
            (success, shown, output) = (answer.success, answer.shown, answer.output);
            if let Some(kept) = answer.kept {
                inner.note("response", kept);
            }
        }
        // Text in these parts would not be a field of the response, so only images are read.
        output.extend(
            inner
                .list("parts")
                .unwrap_or_default()
                .into_iter()
                .map(|value| match value {
                    Value::Object(fields) => file(Fields::new(fields)),
                    value => attachment::part("", value),
                }),
        );
        if bears_none || !is_usual(&inner.0, &["name", "response"]) {
            fields.note(name, inner.0);
        }
        if let Some(shown) = shown {
            fields.note(answer::SHOWN, shown);
        }
        let extra = fields.rest(&["functionResponse"]);
        Part::ToolResult(ToolResult {
            output,
            extra,
            ..ToolResult::new(call_id, success, "")
        })
    }
}

fn own_id(inner: &mut Fields) -> Option<String> {
    inner.peek("id").filter(|id| !id.is_empty())?;
    inner.string("id")
}

fn words(mut fields: Fields) -> Part {
    if fields.0.get("thought") == Some(&Value::Bool(true)) {
        let body = fields.string("text").unwrap_or_default();
        fields.flag("thought");
        let signature = spelled(&fields.0, SIGNATURE).and_then(|name| fields.string(name));
        let extra = fields.rest(&["text", "thought", "thoughtSignature?"]);
        return Part::Thinking(thinking_with(body, signature, None, extra));
    }
    let body = fields.string("text").unwrap_or_default();
    Part::Text(text_with(body, fields.rest(&["text"])))
}

/// Reads an image or any other file.
fn file(mut fields: Fields) -> Part {
    if let Some(image) = image(&mut fields) {
        return image;
    }
    let kind = fields.0.keys().next().map_or("", |name| name.as_str()).to_owned();
    attachment::part(&kind, fields.untouched())
}

fn image(fields: &mut Fields) -> Option<Part> {
    let (names, data, usual) = match (spelled(&fields.0, INLINE), spelled(&fields.0, FILE)) {
        (Some(name), _) => (name, "data", ["mimeType", "data"]),
        (None, Some(name)) => (name, "fileUri", ["mimeType", "fileUri"]),
        (None, None) => return None,
    };
    let inner = fields.0.get(names)?.as_object()?;
    let media = spelled(inner, MEDIA_TYPE)?;
    // Audio, video and documents use the same fields.
    if !inner.get(media)?.as_str()?.starts_with("image/") || !inner.get(data)?.is_string() {
        return None;
    }
    let mut inner = Fields::new(fields.object(names)?);
    let media_type = inner.string(media)?;
    let body = inner.string(data)?;
    if !is_usual(&inner.0, &usual) {
        fields.note(names, inner.0);
    }
    let taken = std::mem::take(&mut fields.0);
    let extra = Fields(taken).rest(if data == "data" { &["inlineData"] } else { &["fileData"] });
    Some(Part::Image(Image {
        media_type: media_type.into(),
        data: body.into(),
        is_url: data != "data",
        extra,
    }))
}

/// Writes adjacent messages of one role as one item; `tools` are the calls before it.
fn content_node<'a>(group: &'a [Message], tools: &mut Calls<&'a str, &'a ToolCall>) -> Node<'a> {
    for call in group.iter().flat_map(Message::calls) {
        tools.called(&call.id, call);
    }
    let kept = kept(&group[0].extra);
    let role = match group[0].role {
        Role::Assistant => "model",
        Role::User | Role::System => "user",
    };
    let role = note(kept, "role")
        .filter(|_| group[0].role == Role::User)
        .unwrap_or(role);
    // A content without a role is the user's; one that was read without a role is written without.
    let has_role = kept.is_none_or(|kept| kept.get("role").is_some());
    let parts = request::parts_of(group)
        .into_iter()
        .filter_map(|part| part_node(part, tools))
        .collect();
    weave(
        kept,
        vec![
            ("role", has_role.then(|| Node::str(role))),
            ("parts", Some(as_read(kept, "parts", parts))),
        ],
    )
}

pub(crate) fn message_items(messages: &[Message]) -> Vec<Vec<Node<'_>>> {
    let mut tools: Calls<&str, &ToolCall> = Calls::default();
    let groups = messages.chunks(1);
    groups.map(|group| vec![content_node(group, &mut tools)]).collect()
}

pub(crate) fn write<T>(document: &Document, encode: impl FnOnce(&Node) -> T) -> T {
    let (system, messages) = request::split_system(document);
    let envelope = Some(&document.envelope);
    let system_name = spelling(envelope, SYSTEM);
    let mut tools: Calls<&str, &ToolCall> = Calls::default();
    let system = system.map(|message| match request::bare_text(std::slice::from_ref(message)) {
        Some(text) => match document.envelope.contains_key(system_name) {
            true => Node::str(text),
            false => Node::Object(vec![(
                "parts",
                Node::List(vec![Node::Object(vec![("text", Node::str(text))])]),
            )]),
        },
        None => {
            let parts = message
                .parts
                .iter()
                .filter_map(|part| part_node(part, &tools))
                .collect();
            let kept = kept_in(envelope, system_name);
            weave(kept, vec![("parts", Some(as_read(kept, "parts", parts)))])
        }
    });
    let contents = request::groups(messages)
        .map(|group| content_node(group, &mut tools))
        .collect();
    request::write(
        document,
        "contents",
        vec![
            (system_name, system),
            ("contents", Some(as_read(envelope, "contents", contents))),
        ],
        encode,
    )
}

fn part_node<'a>(part: &'a Part, tools: &Calls<&'a str, &'a ToolCall>) -> Option<Node<'a>> {
    Some(match part {
        Part::Text(text) => text_node(text),
        Part::Thinking(thinking) => {
            let kept = kept(&thinking.extra);
            let signature = thinking.signature.as_deref().map(Node::str);
            let fields = vec![
                ("text", Some(Node::Body(&thinking.body))),
                ("thought", Some(Value::Bool(true).into())),
                (spelling(kept, SIGNATURE), signature),
            ];
            weave(kept, fields)
        }
        Part::Image(image) => {
            let kept = kept(&image.extra);
            let (name, data) = match image.is_url {
                true => (spelling(kept, FILE), "fileUri"),
                false => (spelling(kept, INLINE), "data"),
            };
            let inner = kept_in(kept, name);
            let media_type = Some(Node::str(&image.media_type)).filter(|_| !image.media_type.is_empty());
            let fields = vec![
                (spelling(inner, MEDIA_TYPE), media_type),
                (data, Some(Node::Body(&image.data))),
            ];
            weave(kept, vec![(name, Some(weave(inner, fields)))])
        }
        Part::ToolCall(call) => {
            let kept = kept(&call.extra);
            let name = spelling(kept, CALL);
            let inner = kept_in(kept, name);
            let mut fields = id_field(inner, &call.id);
            fields.push(("name", Some(Node::str(&call.tool))));
            fields.push(("args", arguments::write_object(inner, "args", &call.parameters)));
            weave(kept, vec![(name, Some(weave(inner, fields)))])
        }
        Part::ToolResult(result) => result_node(result, tools),
        Part::Opaque(opaque) => Node::Json(&opaque.value),
    })
}

fn text_node(text: &Text) -> Node<'_> {
    weave(kept(&text.extra), vec![("text", Some(Node::Body(&text.body)))])
}

fn call_fields(call: &ToolCall) -> Option<&Kept> {
    let kept = kept(&call.extra);
    kept_in(kept, spelling(kept, CALL))
}

/// Returns the id field, if an id was read.
fn id_field<'a>(inner: Option<&'a Kept>, id: &'a str) -> Vec<(&'a str, Option<Node<'a>>)> {
    match inner.and_then(|inner| inner.get("id")) {
        Some(Value::Null) if !was_null(inner, "id") => vec![("id", Some(Node::str(id)))],
        _ => Vec::new(),
    }
}

/// Returns the kept fields of a function's response object.
fn kept_response(result: &ToolResult) -> Option<&Kept> {
    let kept = kept(&result.extra);
    kept_in(kept_in(kept, spelling(kept, RESPONSE)), "response")
}

fn result_node<'a>(result: &'a ToolResult, tools: &Calls<&'a str, &'a ToolCall>) -> Node<'a> {
    let kept = kept(&result.extra);
    let name = spelling(kept, RESPONSE);
    let inner = kept_in(kept, name);
    let call = tools.of(result).copied();
    let tool = note(inner, "name")
        .or(call.map(|call| &*call.tool))
        .unwrap_or("unknown");
    let error = result
        .error
        .as_ref()
        .filter(|error| !error.is_blank())
        .map(|error| error.as_str());
    let others: Vec<Node> = result
        .output
        .iter()
        .filter(|part| !matches!(part, Part::Text(_)))
        .filter_map(|part| part_node(part, tools))
        .collect();
    let response = answer::write(result, kept_in(inner, "response"), error);
    let says = result.texts().next().is_some() || error.is_some();
    // A response that is not an object was not taken.
    let was_taken = inner.is_none_or(|inner| match inner.get("response") {
        Some(Value::Null) => !was_null(Some(inner), "response"),
        Some(response) => response.is_object(),
        None => false,
    });
    // A result created after reading has an id if its call does.
    let mut fields = match (kept, call) {
        (None, Some(call)) => id_field(call_fields(call), &result.call_id),
        _ => id_field(inner, &result.call_id),
    };
    fields.push(("name", Some(Node::str(tool))));
    fields.push(("response", (was_taken || says).then_some(response)));
    let has_parts = !others.is_empty() || inner.is_some_and(|inner| inner.get("parts").is_some());
    fields.push(("parts", has_parts.then_some(Node::List(others))));
    weave(kept, vec![(name, Some(weave(inner, fields)))])
}
