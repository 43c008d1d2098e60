//! Gathers messages from the entries of a session file, in which one message may be spread over several entries.

use crate::extra::VENDOR;
use crate::notes::note_unknown;
use crate::recording::{Billed, Recording, Requests};
use crate::take::{self, Fields};
use crate::{Document, Format, Warning, actions, attachment, request};
use codelet_context::body::Body;
use codelet_context::message::{ActionKind, Extra, Image, Message, Origin, Part, Role, Thinking, ToolResult};
use serde_json::Value;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Gather {
    system: Option<Message>,
    messages: Vec<Message>,
    open: Open,
    /// The requests of the replies, for readers that record them.
    pub(crate) requests: Requests,
    /// Anomalies in the file.
    pub(crate) warnings: Vec<Warning>,
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
    /// Starts with the warnings about the file as a whole.
    pub(crate) fn of(warnings: Vec<Warning>) -> Self {
        Gather {
            warnings,
            ..Gather::default()
        }
    }

    /// Sets the system prompt. An agent that rebuilds it for each request sends only the latest.
    pub(crate) fn system(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.system = Some(Message::system(text));
        }
    }

    /// Adds a separate message, unless it has no parts. Calls in a message of the user, as a damaged file may have them,
    /// are a reply behind it.
    pub(crate) fn message(&mut self, role: Role, parts: impl IntoIterator<Item = Part>) {
        self.open = Open::Nothing;
        let is_in_place = |part: &Part| role == Role::Assistant || !matches!(part, Part::ToolCall(_));
        let (parts, calls): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_in_place);
        let messages = [(role, parts), (Role::Assistant, calls)].into_iter();
        let messages = messages.filter(|(_, parts)| !parts.is_empty());
        self.messages
            .extend(messages.map(|(role, parts)| Message::new(role, parts)));
    }

    /// Adds what the user said, unless there is nothing: then the results before it stay open.
    pub(crate) fn prompt(&mut self, parts: Vec<Part>) {
        if !parts.is_empty() {
            self.message(Role::User, parts);
        }
    }

    /// Adds a reply with its request.
    pub(crate) fn replied(
        &mut self,
        parts: Vec<Part>,
        time: Option<u64>,
        model: Option<Arc<str>>,
        billed: Option<Billed>,
    ) {
        if !parts.is_empty() {
            self.requests.replied(self.messages.len(), time, model, billed);
        }
        self.message(Role::Assistant, parts);
    }

    /// Notes something of a kind unknown to this version, in a file that is one object.
    pub(crate) fn unknown(&mut self, kind: &str) {
        note_unknown(&mut self.warnings, 1, kind);
    }

    /// Adds parts of a reply: joins the current reply.
    pub(crate) fn reply(&mut self, parts: impl IntoIterator<Item = Part>) {
        let parts: Vec<Part> = parts.into_iter().collect();
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

    pub(crate) fn finish(mut self, format: Format) -> Recording {
        let mut requests = self.requests.into_list();
        if self.system.is_some() {
            requests.iter_mut().for_each(|request| request.reply += 1);
        }
        self.messages.splice(0..0, self.system);
        let document = Document {
            format,
            messages: self.messages,
            envelope: Fields::new(),
            warnings: self.warnings,
        };
        Recording { document, requests }
    }
}

/// Reads content: a text, a block, or a list of them.
pub(crate) fn content(value: Value, origin: Origin) -> Vec<Part> {
    match value {
        Value::Array(items) => items.into_iter().flat_map(|item| block(item, origin)).collect(),
        one => block(one, origin),
    }
}

/// Reads a block: a text, thinking, an image or a file, in the fields that agents have for them.
fn block(value: Value, origin: Origin) -> Vec<Part> {
    let mut fields = match value {
        Value::String(text) => return self::text(origin, text).into_iter().collect(),
        Value::Object(fields) => fields,
        _ => return Vec::new(),
    };
    let kind = take::str(&fields, "type").to_owned();
    let part = match kind.as_str() {
        "think" | "thinking" | "reasoning" => unsigned_thinking(&mut fields, &kind),
        "image" if fields.contains_key("image_urls") => {
            let urls = take::list(&mut fields, "image_urls").into_iter();
            let url = |url: Value| url.as_str().map(|url| image_at(url.to_owned()));
            return urls.filter_map(url).collect();
        }
        "image" if fields.contains_key("mimeType") => {
            take::string(&mut fields, "data").map(|data| image(take::str(&fields, "mimeType"), data))
        }
        _ if fields.contains_key("text") => text_in(&mut fields, "text", origin),
        _ => {
            let names = ["image_url", "imageUrl", "source"];
            let mut names = names.iter().filter(|name| **name != "source" || kind == "image");
            match names.find_map(|name| url_in(&mut fields, name)) {
                Some(url) => Some(image_at(url)),
                None => attachment::file(&kind, Value::Object(fields)),
            }
        }
    };
    part.into_iter().collect()
}

/// Takes an image's URL or path, itself or in an object.
fn url_in(fields: &mut Fields, name: &str) -> Option<String> {
    match fields.get_mut(name)? {
        Value::Object(image) => ["url", "path"].iter().find_map(|name| take::string(image, name)),
        _ => take::string(fields, name),
    }
}

/// Returns a tool's output as text: a string, or any other value as JSON.
pub(crate) fn printed(value: Value) -> Option<Part> {
    match value {
        Value::Null => None,
        Value::String(text) => self::text(Origin::Own, text),
        other => self::text(Origin::Own, other.to_string()),
    }
}

/// Returns what is told of a command that the user ran.
pub(crate) fn ran(command: &str, output: &str) -> Option<Part> {
    text(Origin::Injected, format!("The user ran `{command}`\n{output}"))
}

/// Returns whether a tool succeeded whose error flag does not cover the exit status of a command.
pub(crate) fn success_of(tool: &str, is_error: bool) -> Option<bool> {
    let is_command = actions::action(tool, &Fields::new()).kind == ActionKind::Command;
    match is_error {
        true => Some(false),
        false => (!is_command).then_some(true),
    }
}

/// Returns the texts among parts, on lines of their own.
pub(crate) fn words(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a call with its action.
pub(crate) fn call(id: impl Into<Arc<str>>, tool: impl Into<Arc<str>>, parameters: Fields) -> Part {
    request::call(id, tool, parameters, Extra::default())
}

/// Returns the call in an object, whose fields for the id, the tool and the parameters have these names.
pub(crate) fn call_in(fields: &mut Fields, [id, tool, parameters]: [&str; 3]) -> Part {
    let parameters = take::parameters(take::value(fields, parameters));
    let mut text = |name| take::string(fields, name).unwrap_or_default();
    call(text(id), text(tool), parameters)
}

/// Returns the call in an object in OpenAI's format.
pub(crate) fn function_call(mut fields: Fields) -> Part {
    let id = take::string(&mut fields, "id").unwrap_or_default();
    let mut function = take::object(&mut fields, "function").unwrap_or_default();
    function.insert("id".to_owned(), Value::from(id));
    call_in(&mut function, ["id", "name", "arguments"])
}

/// Returns the text of a field, or `None` if it is empty or no text.
pub(crate) fn text_in(fields: &mut Fields, name: &str, origin: Origin) -> Option<Part> {
    text(origin, take::string(fields, name)?)
}

/// Returns the thinking of a field, which no provider can verify, or `None` if it is empty.
pub(crate) fn unsigned_thinking(fields: &mut Fields, name: &str) -> Option<Part> {
    unsigned(take::string(fields, name)?)
}

/// Returns thinking that no provider can verify, or `None` if it is empty.
pub(crate) fn unsigned(words: String) -> Option<Part> {
    thinking(words, None, None, None)
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
    picture(url, Extra::default())
}

/// Returns the same with unread fields.
pub(crate) fn picture(url: String, extra: Extra) -> Part {
    // A type with parameters is no type of an image for the providers.
    let within = attachment::data_in(&url).filter(|(media_type, _)| !media_type.contains(';'));
    let (media_type, data, is_url) = match within {
        Some((media_type, data)) => (Arc::from(media_type), Body::new(data.to_owned()), false),
        None => (Arc::from(""), Body::new(url), true),
    };
    Part::Image(Image {
        media_type,
        data,
        is_url,
        extra,
    })
}

/// Returns a tool result that consists of parts.
pub(crate) fn result(
    id: impl Into<Arc<str>>,
    success: Option<bool>,
    output: impl IntoIterator<Item = Part>,
) -> ToolResult {
    ToolResult {
        output: output.into_iter().collect(),
        bare: false,
        ..ToolResult::new(id, success, "")
    }
}
