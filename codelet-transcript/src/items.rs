//! Reads and writes single items of a request's list, for callers that see a conversation grow request by request: each
//! request holds all of it, and only the new items have to be read.

use crate::error::ReadError;
use crate::format::Format;
use crate::node::Node;
use crate::skim::Skim;
use crate::source::Source;
use crate::vendor::list_of;
use crate::{anthropic, gemini, openai, program, refused, responses, success, told};
use codelet_context::message::Message;
use serde_json::Value;
use std::ops::Range;

/// Reads consecutive items of a request's list: returns the messages in order, each with the number of items it was
/// read from. `first` items of the list precede these. References between calls and results are resolved within these
/// items alone.
///
/// # Errors
/// If an item does not fit the format, or the format is not a request format.
pub fn read_items(items: &[&[u8]], first: usize, format: Format) -> Result<Vec<(Message, usize)>, ReadError> {
    let expected = "an item of a request";
    // The joined items are the text that an error's line number refers to.
    let list = [b"[", items.join(&b",\n"[..]).as_slice(), b"]"].concat();
    let mut source = Source::new(&list, expected)?;
    let Value::Array(values) = source.parse(expected)? else {
        return Ok(Vec::new());
    };
    let one_each = |messages: Vec<Message>| {
        let places = (0..messages.len()).collect();
        (messages, places)
    };
    let read = match format {
        Format::Anthropic => anthropic::items(values).map(one_each),
        Format::Openai => openai::items(values, first),
        Format::Responses => responses::items(values),
        Format::Gemini => gemini::items(values, first).map(one_each),
        other => return Err(ReadError::NotReadable(other)),
    };
    let (mut messages, places) = read.map_err(|misfit| source.refuse(misfit))?;
    if format == Format::Responses {
        program::follow(&mut messages);
    }
    refused::tell(&mut messages, format);
    success::tell(&mut messages, format);
    told::mark_behind(&mut messages, first > 0);
    let mut counts = vec![0; messages.len()];
    for place in places {
        counts[place] += 1;
    }
    Ok(messages.into_iter().zip(counts).collect())
}

/// Writes messages as items of a request's list: for each message the JSON of its items, in order. Each is written
/// separately, even if the one before it has the same role. Returns nothing for a format that is not a request format.
pub fn write_items(messages: &[Message], format: Format) -> Vec<Vec<String>> {
    let items = match format {
        Format::Anthropic => messages
            .chunks(1)
            .map(|one| vec![anthropic::message_node(one)])
            .collect(),
        Format::Openai => messages.iter().map(openai::message_items).collect(),
        Format::Responses => responses::message_items(messages),
        Format::Gemini => gemini::message_items(messages),
        _ => Vec::new(),
    };
    let json = |items: Vec<Node>| items.iter().map(Node::to_json).collect();
    items.into_iter().map(json).collect()
}

/// Returns whether an item belongs to the model's reply: text, thinking or calls.
pub fn is_reply_item(item: &[u8], format: Format) -> bool {
    let (mut role, mut kind) = (None, None);
    for (name, value) in Skim::new(item).members() {
        match name {
            "role" => role = value.string(),
            "type" => kind = value.string(),
            _ => {}
        }
    }
    match (format, role, kind) {
        (Format::Gemini, role, _) => role == Some("model"),
        (Format::Responses, role, None | Some("message")) => role.is_none_or(|role| role == "assistant"),
        (Format::Responses, _, Some(kind)) => kind != "additional_tools" && !kind.ends_with("_call_output"),
        (_, role, _) => role == Some("assistant"),
    }
}

/// Returns the ranges of the items of the list that begins here, and the rest after it; `None` if there is no list.
fn items_of<'a>(list: Skim<'a>) -> Option<(Vec<Range<usize>>, Skim<'a>)> {
    let mut items = Vec::new();
    let mut item = list.inside(b'[')?;
    loop {
        if matches!(item.first()?, b']' | b'}' | b',' | b':') {
            return None;
        }
        let bytes = item.slice()?.len();
        items.push(item.offset()..item.offset() + bytes);
        let after = item.ahead(bytes);
        match after.over_comma() {
            Some(next) => item = next,
            None if after.first() == Some(b']') => return Some((items, after.ahead(1))),
            None => return None,
        }
    }
}

/// A request split into its fields and items without parsing their content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed<'a> {
    /// The other fields: the name, and the JSON of the value.
    pub fields: Vec<(&'a str, &'a [u8])>,
    /// The byte range of the list's items, from the first to the last, without the brackets.
    pub list: Range<usize>,
    /// The byte range of each item.
    pub items: Vec<Range<usize>>,
}

impl<'a> Listed<'a> {
    /// Splits a request. `None` if it is not an object with a non-empty list of items, or if the list is ambiguous.
    pub fn of(request: &'a [u8], format: Format) -> Option<Self> {
        let name = list_of(format);
        let (mut fields, mut list) = (Vec::new(), None);
        let mut here = Skim::new(request).inside(b'{')?;
        loop {
            let (key, value) = here.member()?;
            let after = if key == name {
                let (items, after) = items_of(value)?;
                if list.replace(items).is_some() {
                    return None;
                }
                after
            } else {
                let bytes = value.slice()?;
                fields.push((key, bytes));
                value.ahead(bytes.len())
            };
            match after.over_comma() {
                Some(next) => here = next,
                None if after.first() == Some(b'}') && after.ahead(1).rest().is_empty() => break,
                None => return None,
            }
        }
        let items = list?;
        Some(Listed {
            fields,
            list: items[0].start..items[items.len() - 1].end,
            items,
        })
    }

    /// Returns a field that is a string, without decoding escapes.
    pub fn string(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.fields.iter().find(|(key, _)| *key == name)?;
        Skim::new(value).string()
    }

    /// Returns a field's value, if it exists and is JSON.
    pub fn json(&self, name: &str) -> Option<Value> {
        let (_, value) = self.fields.iter().find(|(key, _)| *key == name)?;
        serde_json::from_slice(value).ok()
    }

    /// Returns the field or item that says that the provider stores a part of the conversation, if there is one; `request` is what was
    /// [split](Self::of).
    pub fn kept_by_vendor(&self, request: &[u8]) -> Option<&'static str> {
        let is_set = |name: &str| self.fields.iter().any(|(key, value)| *key == name && *value != b"null");
        let refers = |item: &Range<usize>| {
            let (mut role, mut kind, mut has_id) = (None, None, false);
            for (name, value) in Skim::new(&request[item.clone()]).members() {
                match name {
                    "type" => kind = value.string(),
                    "role" => role = value.string(),
                    "id" => has_id = value.string().is_some(),
                    _ => {}
                }
            }
            responses::is_reference(kind, role, has_id)
        };
        responses::kept_by_vendor(is_set, || self.items.iter().any(refers))
    }
}
