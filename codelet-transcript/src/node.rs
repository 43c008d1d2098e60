//! JSON on its way out: a tree that borrows the texts of a conversation, so that writing does not copy them twice.

use serde_json::{Map, Value};
use std::borrow::Cow;

/// Why writing cannot fail.
const TAKES_ALL: &str = "a vector takes every byte, and every key is a string";

/// A JSON value, mostly borrowed.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// A value that was kept as it came.
    Json(&'a Value),
    /// An object that was kept as it came.
    Map(&'a Map<String, Value>),
    /// A value made for the occasion.
    Made(Value),
    /// Text that is JSON already.
    Raw(&'a str),
    /// A list.
    List(Vec<Node<'a>>),
    /// An object, in the order in which it is to be written.
    Object(Vec<(&'a str, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// A borrowed string.
    pub(crate) fn str(text: &'a str) -> Self {
        Node::Text(Cow::Borrowed(text))
    }

    /// The compact JSON text.
    pub(crate) fn to_json(&self) -> String {
        let mut out = Vec::with_capacity(self.weight() + self.weight() / 8);
        self.write(&mut out);
        String::from_utf8(out).expect("every piece written is UTF-8")
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Node::Text(text) => serde_json::to_writer(&mut *out, text.as_ref()).expect(TAKES_ALL),
            Node::Json(value) => serde_json::to_writer(&mut *out, value).expect(TAKES_ALL),
            Node::Map(map) => serde_json::to_writer(&mut *out, map).expect(TAKES_ALL),
            Node::Made(value) => serde_json::to_writer(&mut *out, value).expect(TAKES_ALL),
            Node::Raw(json) => out.extend_from_slice(json.as_bytes()),
            Node::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Node::Object(fields) => {
                out.push(b'{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    Node::str(name).write(out);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    /// About how many bytes the JSON takes: enough to allocate once in most cases.
    fn weight(&self) -> usize {
        match self {
            Node::Text(text) => text.len() + 2,
            Node::Json(_) | Node::Map(_) | Node::Made(_) => 128,
            Node::Raw(json) => json.len(),
            Node::List(items) => items.iter().map(|item| item.weight() + 1).sum::<usize>() + 2,
            Node::Object(fields) => {
                fields
                    .iter()
                    .map(|(name, value)| name.len() + value.weight() + 4)
                    .sum::<usize>()
                    + 2
            }
        }
    }
}

impl From<Value> for Node<'_> {
    fn from(value: Value) -> Self {
        Node::Made(value)
    }
}

impl From<String> for Node<'_> {
    fn from(text: String) -> Self {
        Node::Text(Cow::Owned(text))
    }
}
