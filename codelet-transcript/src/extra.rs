//! Preserves unread fields: keeps an object without its read fields, so that a writer can put each back in its place.
//!
//! A reader takes the fields that it understands out of an object and keeps the rest as [`Extra`], with `null` (or a
//! note about the original shape) in place of each taken field. An object with exactly the usual fields in the usual
//! order keeps nothing. A writer names the fields that it writes; those go to their original places, with the unread
//! ones between them.

use crate::node::Node;
use codelet_context::message::{Extra, Message, Text, Thinking};
use serde_json::{Map, Value};

/// The prefix of marks: notes from a reader to a writer among the unread fields, never written out.
const MARK: &str = "codelet.";

/// The provider that produced a part's thinking, if the format alone does not tell: `anthropic`, `openai` or `gemini`.
/// Writers send thinking only to the provider that produced it, and drop thinking of unknown origin.
pub(crate) const VENDOR: &str = "codelet.vendor";

/// On a message: the one before it has the same role, and the two were separate.
pub(crate) const APART: &str = "codelet.apart";

/// In an envelope: the request was a bare list of messages.
pub(crate) const LIST: &str = "codelet.list";

/// Names of the fields that were `null` in the source, to distinguish them from taken ones.
const NULLS: &str = "codelet.nulls";

/// An object that is being read.
pub(crate) struct Fields(pub(crate) Map<String, Value>);

impl Fields {
    /// Starts reading an object.
    pub(crate) fn new(mut map: Map<String, Value>) -> Self {
        if map.values().any(Value::is_null) {
            let nulls = map
                .iter()
                .filter(|(_, value)| value.is_null())
                .map(|(name, _)| Value::from(name.as_str()));
            let nulls = nulls.collect();
            map.insert(NULLS.to_owned(), Value::Array(nulls));
        }
        Fields(map)
    }

    /// Returns the object unchanged, as long as nothing was taken.
    pub(crate) fn untouched(mut self) -> Value {
        self.0.shift_remove(NULLS);
        Value::Object(self.0)
    }

    /// Takes out a value of this kind. An object has few fields, so a scan is faster than a lookup.
    fn take(&mut self, name: &str, is_kind: impl Fn(&Value) -> bool) -> Option<Value> {
        let (_, value) = self.0.iter_mut().find(|(other, _)| *other == name)?;
        is_kind(value).then(|| value.take())
    }

    /// Takes out a string; any other kind of value stays.
    pub(crate) fn string(&mut self, name: &str) -> Option<String> {
        match self.take(name, Value::is_string)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&mut self, name: &str) -> Option<Vec<Value>> {
        match self.take(name, Value::is_array)? {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take(name, Value::is_object)? {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        self.take(name, Value::is_boolean)?.as_bool()
    }

    /// Returns a string without taking it.
    pub(crate) fn peek(&self, name: &str) -> Option<&str> {
        let mut fields = self.0.iter();
        fields.find(|(other, _)| *other == name)?.1.as_str()
    }

    pub(crate) fn has_string(&self, name: &str) -> bool {
        self.peek(name).is_some()
    }

    /// Replaces a field with a note.
    pub(crate) fn note(&mut self, name: &str, note: impl Into<Value>) {
        self.0.insert(name.to_owned(), note.into());
    }

    /// Returns the remaining fields. Empty if the object had exactly the usual fields in the usual order and all were
    /// taken; a usual name that ends in `?` may be missing.
    pub(crate) fn rest(self, usual: &[&str]) -> Extra {
        if is_usual(&self.0, usual) {
            Extra::default()
        } else {
            Extra::new(self.0)
        }
    }
}

/// Returns whether an object holds only the emptied placeholders of these fields, in this order.
pub(crate) fn is_usual(map: &Map<String, Value>, usual: &[&str]) -> bool {
    let mut fields = map.iter().peekable();
    for name in usual {
        let (name, optional) = match name.strip_suffix('?') {
            Some(name) => (name, true),
            None => (*name, false),
        };
        match fields.peek() {
            Some((field, Value::Null)) if *field == name => {
                fields.next();
            }
            _ if optional => {}
            _ => return false,
        }
    }
    fields.next().is_none()
}

/// The fields of an object as a reader left them.
pub(crate) type Kept = Map<String, Value>;

/// Assembles an object: the kept fields in their order, and the written ones in their old places or else at the end. A
/// field of `None` is left out if it was taken.
pub(crate) fn weave<'a>(kept: Option<&'a Kept>, made: Vec<(&'a str, Option<Node<'a>>)>) -> Node<'a> {
    let Some(kept) = kept else {
        return Node::Object(
            made.into_iter()
                .filter_map(|(name, node)| Some((name, node?)))
                .collect(),
        );
    };
    let mut made: Vec<(&str, Option<Node>, bool)> = made.into_iter().map(|(name, node)| (name, node, false)).collect();
    let mut fields = Vec::new();
    for (name, value) in kept.iter() {
        if is_note(name) {
            continue;
        }
        match made.iter_mut().find(|(own, ..)| own == name) {
            Some((_, node, placed)) => {
                // A field that a reader did not take is unusual, and is passed on unchanged.
                let odd = || !value.is_null() || was_null(Some(kept), name);
                match node.take() {
                    Some(node) => fields.push((name.as_str(), node)),
                    None if odd() => fields.push((name.as_str(), Node::Json(value))),
                    None => {}
                }
                *placed = true;
            }
            None => fields.push((name.as_str(), Node::Json(value))),
        }
    }
    for (name, node, placed) in made {
        if let (Some(node), false) = (node, placed) {
            fields.push((name, node));
        }
    }
    Node::Object(fields)
}

/// Returns the kept fields of a part or message; `None`, for the usual order of fields, if there are only marks.
pub(crate) fn kept(extra: &Extra) -> Option<&Kept> {
    extra.as_map().filter(|fields| !fields.keys().all(|name| is_note(name)))
}

/// Returns an object within the kept fields.
pub(crate) fn kept_in<'a>(kept: Option<&'a Kept>, name: &str) -> Option<&'a Kept> {
    match kept?.get(name)? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// Returns whether a name is that of a mark, which is never written out.
pub(crate) fn is_note(name: &str) -> bool {
    name.starts_with(MARK)
}

/// Returns whether a field was `null` in the source.
pub(crate) fn was_null(kept: Option<&Kept>, name: &str) -> bool {
    let nulls = kept.and_then(|kept| kept.get(NULLS)).and_then(Value::as_array);
    nulls.is_some_and(|nulls| nulls.iter().any(|null| null == name))
}

/// Returns whether a field was taken by the reader, or belongs to a new part: then it is written, empty or not.
pub(crate) fn was_taken(kept: Option<&Kept>, name: &str) -> bool {
    kept.is_none_or(|kept| kept.get(name).is_some_and(Value::is_null) && !was_null(Some(kept), name))
}

/// Returns the note in place of a field.
pub(crate) fn note<'a>(kept: Option<&'a Kept>, name: &str) -> Option<&'a str> {
    kept?.get(name)?.as_str()
}

pub(crate) fn marked(extra: Extra, mark: &str, value: impl Into<Value>) -> Extra {
    let mut fields: Map<String, Value> = extra.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    fields.insert(mark.to_owned(), value.into());
    Extra::new(fields)
}

/// Marks each message that follows one of the same role, so that a writer does not merge the two.
pub(crate) fn mark_apart(messages: &mut [Message]) {
    for index in 1..messages.len() {
        if messages[index].role == messages[index - 1].role {
            let extra = std::mem::take(&mut messages[index].extra);
            messages[index].extra = marked(extra, APART, true);
        }
    }
}

pub(crate) fn text_with(body: String, extra: Extra) -> Text {
    Text {
        extra,
        ..Text::new(body, Default::default())
    }
}

pub(crate) fn thinking_with(
    body: String,
    signature: Option<String>,
    redacted: Option<String>,
    extra: Extra,
) -> Thinking {
    Thinking {
        body: body.into(),
        signature: signature.map(Into::into),
        redacted: redacted.map(Into::into),
        is_wanted_back: false,
        extra,
    }
}
