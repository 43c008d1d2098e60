//! Converts a function's response object to the blocks of an output, and back.
//!
//! Gemini names two fields of it, `output` and `error`, and accepts any. Each text field becomes a separate text, so
//! that it is read, shortened and restored line by line like any output; the other fields become one JSON text after
//! them. Empty fields are not shown: they stay in the result's kept fields.

use crate::extra::{Fields, Kept, is_note, was_null};
use crate::node::Node;
use crate::objects::{self, TEXTS, field, is_others, is_text, of_field, others, others_text};
use crate::status::tells;
use crate::success::said;
use codelet_context::message::{Part, Text, ToolResult};
use serde_json::{Map, Value};

/// On a result: the field that holds its first text, or empty if that text is the whole object.
pub(super) const SHOWN: &str = "codelet.shown";
/// A response object that was read.
pub(super) struct Answer {
    /// Its own report of success: an error, or an exit status.
    pub success: Option<bool>,
    pub output: Vec<Part>,
    /// The note for [`SHOWN`]; `None` if the object has only the usual field.
    pub shown: Option<&'static str>,
    /// The fields, without those that became texts.
    pub kept: Option<Map<String, Value>>,
}

/// The name of a response's only field.
fn usual(success: Option<bool>) -> &'static str {
    match success {
        Some(false) => "error",
        _ => "output",
    }
}

pub(super) fn read(response: Map<String, Value>) -> Answer {
    let success = tells(&response);
    let mut fields = Fields::new(response);
    let is_said = |name: &&str| {
        let text = fields.peek(name);
        text.is_some_and(|text| !text.trim().is_empty() || fields.0.len() == 1)
    };
    let Some(first) = TEXTS.into_iter().find(is_said) else {
        return Answer {
            success,
            output: vec![Part::text(fields.untouched().to_string())],
            shown: Some(""),
            kept: None,
        };
    };
    if fields.0.len() == 1 && first == usual(success) {
        let text = fields.string(first).unwrap_or_default();
        return Answer {
            success,
            output: vec![Part::text(text)],
            shown: None,
            kept: None,
        };
    }
    let names: Vec<String> = fields.0.keys().filter(|name| *name != first).cloned().collect();
    let mut texts = vec![(first.to_owned(), fields.string(first).unwrap_or_default())];
    for name in names {
        if fields.peek(&name).is_some_and(|text| is_text(&name, text)) {
            let text = fields.string(&name).unwrap_or_default();
            texts.push((name, text));
        }
    }
    let others = others(&fields.0);
    let is_alone = texts.len() == 1 && others.is_empty();
    let mut output: Vec<Part> = texts
        .into_iter()
        .map(|(name, text)| match is_alone {
            true => Part::text(text),
            false => Part::Text(of_field(text, &name)),
        })
        .collect();
    if let Some(text) = others_text(&others) {
        for name in others.keys() {
            fields.note(name, Value::Null);
        }
        output.push(Part::Text(text));
    }
    Answer {
        success,
        output,
        shown: Some(first),
        kept: Some(fields.0),
    }
}

/// Writes the object with the current texts; `kept` are its kept fields, `also` is appended to its first text.
pub(super) fn write<'a>(result: &'a ToolResult, kept: Option<&'a Kept>, also: Option<&'a str>) -> Node<'a> {
    let usual = usual(said(result));
    let Some(first) = result.extra.get(SHOWN).and_then(Value::as_str) else {
        return Node::Object(vec![(usual, joined(result, also))]);
    };
    if first.is_empty() {
        // The text is the whole object, unless it was shortened since.
        let mut texts = result.texts();
        return match (texts.next(), texts.next(), also) {
            (Some(only), None, None) if objects::fields(only.body.as_str()).is_some() => Node::Raw(only.body.as_str()),
            _ => Node::Object(vec![(usual, joined(result, also))]),
        };
    }
    let mut words: Vec<&str> = Vec::new();
    let mut texts: Vec<(&str, &str)> = Vec::new();
    let mut others: Option<&Text> = None;
    for text in result.texts() {
        match field(text) {
            _ if is_others(text) => others = Some(text),
            Some(name) if name != first => texts.push((name, text.body.as_str())),
            // A marker that replaces the whole result belongs to no field.
            _ => words.push(text.body.as_str()),
        }
    }
    words.extend(also);
    let mut words = match words.as_slice() {
        [] => None,
        [one] => Some(Node::str(one)),
        many => Some(many.join("\n").into()),
    };
    let mut values = others.and_then(|text| objects::fields(text.body.as_str()));
    // Once shortened, it is no longer JSON, and is written in the first of the other fields.
    let cut = others.filter(|_| values.is_none());
    let mut object = Vec::new();
    for (name, value) in kept.into_iter().flatten() {
        let node = if is_note(name) {
            None
        } else if !value.is_null() || was_null(kept, name) {
            Some(Node::Json(value))
        } else if name == first {
            words.take()
        } else if let Some((_, text)) = texts.iter().find(|(own, _)| own == name) {
            Some(Node::str(text))
        } else if let Some(value) = values.as_mut().and_then(|values| values.remove(name)) {
            Some(value.into())
        } else {
            cut.filter(|text| field(text) == Some(name))
                .map(|text| Node::str(text.body.as_str()))
        };
        object.extend(node.map(|node| (name.as_str(), node)));
    }
    object.extend(words.map(|words| (first, words)));
    Node::Object(object)
}

/// Returns the whole text of a result whose fields are several texts: they need their field names.
pub(crate) fn whole(result: &ToolResult) -> Option<String> {
    if objects::is_apart(result) {
        return objects::whole(result);
    }
    let is_split = result.texts().any(|text| field(text).is_some());
    is_split.then(|| write(result, super::kept_response(result), None).to_json())
}

fn joined<'a>(result: &'a ToolResult, also: Option<&'a str>) -> Node<'a> {
    let mut texts = result.texts();
    if let (Some(only), None, None) = (texts.next(), texts.next(), also) {
        return Node::Body(&only.body);
    }
    let texts: Vec<&str> = result.texts().map(|text| text.body.as_str()).chain(also).collect();
    texts.join("\n").into()
}
