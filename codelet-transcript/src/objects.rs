//! Tool results that are one JSON object: `{"ok": true, "content": "…"}`.
//!
//! As text, such an object is one line, in which nothing can be found, quoted or cut. So its text fields become texts
//! of the result, as for the response object of a Gemini function; the JSON around them is kept and written back around
//! them, byte for byte. An object that cannot be restored exactly stays plain text.

use crate::extra::{is_note, kept, marked, text_with};
use crate::node::Node;
use crate::skim::Skim;
use crate::source;
use codelet_context::message::{Extra, Origin, Part, Text, ToolResult};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::fmt::Write;

/// On a text: its field; for the JSON of the other fields, the first of them.
const FIELD: &str = "codelet.field";
/// On a text: it is the JSON of the fields that are not separate texts.
const OTHERS: &str = "codelet.others";

/// Fields that hold a tool's text, most likely first.
pub(crate) const TEXTS: [&str; 7] = ["output", "result", "error", "content", "llmContent", "stdout", "text"];

/// On a result: the JSON before, between and after its texts, and whether they escape all non-ASCII characters.
const FRAME: &str = "codelet.frame";

/// The maximum length of the JSON around the texts, in bytes. It stays with a result whose texts are cut.
const LONGEST_FRAME: usize = 600;

/// Returns the object that a result consists of, if it does.
pub(crate) fn of(result: &ToolResult) -> Option<Map<String, Value>> {
    let raw = only_text(result)?;
    let is_one = raw.trim().starts_with('{') && raw.trim().ends_with('}');
    is_one.then(|| fields(raw))?
}

pub(crate) fn fields(text: &str) -> Option<Map<String, Value>> {
    match source::embedded(text)? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// Returns the only text of a result, if it has no other content.
fn only_text(result: &ToolResult) -> Option<&str> {
    match result.output.as_slice() {
        [Part::Text(text)] if result.error.is_none() && text.origin == Origin::Own && kept(&text.extra).is_none() => {
            Some(text.body.as_str())
        }
        _ => None,
    }
}

/// Splits the object of a result into its texts, if it has a multi-line text or is the result of a program.
pub(crate) fn take_apart(result: &mut ToolResult, object: &Map<String, Value>, is_program: bool) {
    let Some((frame, names)) = only_text(result).and_then(|raw| frame(raw, object)) else {
        return;
    };
    let texts = || names.iter().filter_map(|name| object.get(name)?.as_str());
    if !is_program && !texts().any(|text| text.trim().contains('\n')) {
        return;
    }
    let texts = names.iter().zip(texts());
    let mut output: Vec<Part> = texts
        .map(|(name, text)| Part::Text(of_field(text.to_owned(), name)))
        .collect();
    let mut rest = object.clone();
    rest.retain(|name, _| !names.contains(name));
    output.extend(others_text(&others(&rest)).map(Part::Text));
    result.output = output;
    result.extra = marked(std::mem::take(&mut result.extra), FRAME, frame);
}

/// Returns the JSON around the texts of an object, and the names of their fields, in order.
fn frame(raw: &str, object: &Map<String, Value>) -> Option<(Value, Vec<String>)> {
    let fields = Skim::new(raw.as_bytes()).members();
    let literals = fields.filter_map(|(name, value)| Some((name, object.get(name)?.as_str()?, value.string()?)));
    let taken: Vec<(&str, &str, &str)> = literals.filter(|(name, text, _)| is_text(name, text)).collect();
    let mut seen = HashSet::new();
    // Of duplicate fields, only one is read.
    if taken.is_empty() || !taken.iter().all(|(name, ..)| seen.insert(*name)) {
        return None;
    }
    let is_so = |escapes: &bool| {
        taken
            .iter()
            .all(|(_, text, literal)| escaped(text, *escapes) == **literal)
    };
    let escapes = [false, true].into_iter().find(is_so)?;
    let (mut pieces, mut at) = (Vec::new(), 0);
    for (.., literal) in &taken {
        let start = literal.as_ptr() as usize - raw.as_ptr() as usize;
        pieces.push(&raw[at..start]);
        at = start + literal.len();
    }
    pieces.push(&raw[at..]);
    let names: Vec<String> = taken.iter().map(|(name, ..)| String::from(*name)).collect();
    let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
    (bytes <= LONGEST_FRAME).then(|| (json!({"escapes": escapes, "pieces": pieces, "names": names}), names))
}

/// Escapes a text for a JSON string, with non-ASCII characters unchanged or, as Python writes them, escaped.
fn escaped(text: &str, escapes: bool) -> String {
    let quoted = Value::from(text).to_string();
    let plain = &quoted[1..quoted.len() - 1];
    if !escapes {
        return plain.to_owned();
    }
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            ..='~' => out.push(c),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                write!(out, "\\u{unit:04x}").expect("a string takes every text");
            }),
        }
    }
    out
}

/// Returns the whole object of a split result, with the current state of its texts; `None` if it was not split, or its
/// texts no longer match its fields (such as when a marker replaced all of them).
pub(crate) fn whole(result: &ToolResult) -> Option<String> {
    let frame = result.extra.get(FRAME)?;
    let escapes = frame.get("escapes")?.as_bool()?;
    let list = |name: &str| Some(frame.get(name)?.as_array()?.iter().filter_map(Value::as_str));
    let (mut pieces, names) = (list("pieces")?, list("names")?);
    let says_more = result.error.as_ref().is_some_and(|error| !error.is_blank());
    let is_field = |part: &Part| matches!(part, Part::Text(text) if field(text).is_some());
    if says_more || !result.output.iter().all(is_field) {
        return None;
    }
    // Fields that are not separate texts are part of the frame.
    let mut texts = result.texts().filter(|text| !is_others(text));
    let mut out = String::from(pieces.next()?);
    for name in names {
        let text = texts.next().filter(|text| field(text) == Some(name))?;
        out.push_str(&escaped(text.body.as_str(), escapes));
        out.push_str(pieces.next()?);
    }
    texts.next().is_none().then_some(out)
}

/// Returns whether a result was split.
pub(crate) fn is_apart(result: &ToolResult) -> bool {
    result.extra.get(FRAME).is_some()
}

/// Returns the result for a format that writes it as a plain string, or as a list of blocks of this type.
pub(crate) fn node<'a>(result: &ToolResult, block: &'static str) -> Option<Node<'a>> {
    let whole: Node = whole(result)?.into();
    Some(match result.bare {
        true => whole,
        false => Node::List(vec![Node::Object(vec![("type", Node::str(block)), ("text", whole)])]),
    })
}

/// Returns the fields that are not separate texts as one text; `None` if there are none.
pub(crate) fn others_text(others: &Map<String, Value>) -> Option<Text> {
    let name = others.keys().next()?;
    let json = serde_json::to_string(others).expect("every key is a string");
    let text = of_field(json, name);
    Some(Text {
        extra: marked(text.extra.clone(), OTHERS, true),
        ..text
    })
}

/// Returns whether a text was made by [`others_text`].
pub(crate) fn is_others(text: &Text) -> bool {
    text.extra.get(OTHERS).is_some()
}

/// Returns whether a field is text that stands on its own: a one-line name or number needs its field name.
pub(crate) fn is_text(name: &str, text: &str) -> bool {
    !text.trim().is_empty() && (TEXTS.contains(&name) || name == "stderr" || text.contains('\n'))
}

/// Returns the non-empty fields that were not taken.
pub(crate) fn others(fields: &Map<String, Value>) -> Map<String, Value> {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let fields = fields.iter().filter(|(name, value)| !is_note(name) && says(value));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub(crate) fn of_field(text: String, name: &str) -> Text {
    text_with(text, marked(Extra::default(), FIELD, name))
}

/// Returns the field that a text comes from.
pub(crate) fn field(text: &Text) -> Option<&str> {
    text.extra.get(FIELD)?.as_str()
}
