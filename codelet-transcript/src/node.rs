//! JSON output: a tree that borrows the texts of a conversation, so that writing does not copy them twice.

use crate::encoded::{Encoded, LEAST};
use bytes::Bytes;
use codelet_context::body::Body;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The reason why writing cannot fail.
const TAKES_ALL: &str = "a vector takes every byte, and every key is a string";

/// A JSON value, mostly borrowed.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    Text(Cow<'a, str>),
    /// A text of the conversation.
    Body(&'a Body),
    /// A kept value, unchanged.
    Json(&'a Value),
    /// A kept object, unchanged.
    Map(&'a Map<String, Value>),
    /// A newly created value.
    Made(Value),
    /// A text that is already JSON.
    Raw(&'a str),
    List(Vec<Node<'a>>),
    /// An object, in output order.
    Object(Vec<(&'a str, Node<'a>)>),
}

impl<'a> Node<'a> {
    pub(crate) fn str(text: &'a str) -> Self {
        Node::Text(Cow::Borrowed(text))
    }

    pub(crate) fn to_json(&self) -> String {
        let mut out = Out {
            open: Vec::with_capacity(self.weight() + self.weight() / 8),
            ..Out::default()
        };
        self.write(&mut out);
        String::from_utf8(out.open).expect("every piece written is UTF-8")
    }

    /// Returns the JSON in slices: each long text has its own, shared with earlier output. The field `list` goes on with
    /// `more` items, in the form that [`to_more`](Self::to_more) returns.
    pub(crate) fn to_slices(&self, list: &str, more: &[Bytes], encoded: &mut Encoded) -> Vec<Bytes> {
        let mut out = Out::sharing(encoded);
        match self {
            Node::Object(fields) => write_object(fields, &mut out, |name, value, out| {
                if name == list && !more.is_empty() {
                    value.write_longer(more, out);
                } else {
                    value.write(out);
                }
            }),
            list => list.write_longer(more, &mut out),
        }
        out.into_slices()
    }

    /// Returns the items of a list in slices, as more of another list: with a comma before each, and no brackets.
    pub(crate) fn to_more(&self, encoded: &mut Encoded) -> Vec<Bytes> {
        let mut out = Out::sharing(encoded);
        for item in self.items() {
            out.open.push(b',');
            item.write(&mut out);
        }
        out.into_slices()
    }

    fn items(&self) -> &[Node<'a>] {
        match self {
            Node::List(items) => items,
            one => std::slice::from_ref(one),
        }
    }

    fn write_longer(&self, more: &[Bytes], out: &mut Out) {
        let items = self.items();
        out.open.push(b'[');
        write_items(items, out);
        let mut more = more.iter().cloned();
        if items.is_empty()
            && let Some(first) = more.next()
        {
            // Its comma is for an item before it.
            out.shared.push((out.open.len(), first.slice(1..)));
        }
        let end = out.open.len();
        out.shared.extend(more.map(|slice| (end, slice)));
        out.open.push(b']');
    }

    fn write(&self, out: &mut Out) {
        match self {
            Node::Text(text) => quote(text, &mut out.open),
            Node::Body(body) => out.body(body),
            Node::Json(value) => serde_json::to_writer(&mut out.open, value).expect(TAKES_ALL),
            Node::Map(map) => serde_json::to_writer(&mut out.open, map).expect(TAKES_ALL),
            Node::Made(value) => serde_json::to_writer(&mut out.open, value).expect(TAKES_ALL),
            Node::Raw(json) => out.open.extend_from_slice(json.as_bytes()),
            Node::List(items) => {
                out.open.push(b'[');
                write_items(items, out);
                out.open.push(b']');
            }
            Node::Object(fields) => write_object(fields, out, |_, value, out| value.write(out)),
        }
    }

    /// Estimates the length of the JSON in bytes, to allocate once in most cases.
    fn weight(&self) -> usize {
        match self {
            Node::Text(text) => text.len() + 2,
            Node::Body(body) => body.len() + 2,
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

fn write_items(items: &[Node], out: &mut Out) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.open.push(b',');
        }
        item.write(out);
    }
}

fn write_object(fields: &[(&str, Node)], out: &mut Out, write: impl Fn(&str, &Node, &mut Out)) {
    out.open.push(b'{');
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.open.push(b',');
        }
        quote(name, &mut out.open);
        out.open.push(b':');
        write(name, value, out);
    }
    out.open.push(b'}');
}

/// The output so far.
#[derive(Default)]
struct Out<'a> {
    /// Everything but the shared slices, in one buffer: most of what stands between two of them is short.
    open: Vec<u8>,
    /// The shared slices, each with the length of `open` before it.
    shared: Vec<(usize, Bytes)>,
    /// The cache of encoded texts; `None` if all is written as one text.
    encoded: Option<&'a mut Encoded>,
}

impl<'a> Out<'a> {
    fn sharing(encoded: &'a mut Encoded) -> Self {
        Out {
            encoded: Some(encoded),
            ..Out::default()
        }
    }

    fn body(&mut self, body: &Body) {
        let encoded = self.encoded.as_mut().filter(|_| body.len() >= LEAST);
        let slice = encoded.map(|encoded| {
            encoded.json(body, |text| {
                let mut quoted = Vec::with_capacity(text.len() + text.len() / 8);
                quote(text, &mut quoted);
                quoted.shrink_to_fit();
                quoted
            })
        });
        match slice {
            Some(slice) => self.shared.push((self.open.len(), slice)),
            None => quote(body.as_str(), &mut self.open),
        }
    }

    fn into_slices(self) -> Vec<Bytes> {
        let own = Bytes::from(self.open);
        let mut slices = Vec::with_capacity(2 * self.shared.len() + 1);
        let mut from = 0;
        for (at, shared) in self.shared {
            slices.extend([own.slice(from..at), shared]);
            from = at;
        }
        slices.push(own.slice(from..));
        slices.retain(|slice| !slice.is_empty());
        slices
    }
}

/// Writes a string as JSON. Histories are megabytes of text with few bytes to escape, so it scans eight at a time.
fn quote(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let (mut from, mut at) = (0, 0);
    out.push(b'"');
    while at < bytes.len() {
        if let Some(eight) = bytes[at..].first_chunk::<8>() {
            let found = to_escape(u64::from_le_bytes(*eight));
            at += found.trailing_zeros() as usize / 8;
            if found == 0 {
                continue;
            }
        } else if !matches!(bytes[at], 0..0x20 | b'"' | b'\\') {
            at += 1;
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        escape(bytes[at], out);
        at += 1;
        from = at;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Sets the high bit of each byte that is a control character, quote or backslash. Exact up to the lowest one found.
fn to_escape(eight: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = eight.wrapping_sub(ONES * 0x20) & !eight;
    (control | is_zero(eight ^ (ONES * b'"' as u64)) | is_zero(eight ^ (ONES * b'\\' as u64))) & HIGH
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |value: u8| char::from_digit(u32::from(value), 16).map_or(b'0', |digit| digit as u8);
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quoted(text: &str) -> String {
        Node::str(text).to_json()
    }

    #[test]
    fn every_byte_is_escaped_as_everybody_does_wherever_it_stands() {
        for character in (0..0x100).filter_map(char::from_u32) {
            for before in 0..10 {
                let text = format!("{}{character}\u{e9}\"tail of it", "x".repeat(before));
                assert_eq!(quoted(&text), serde_json::to_string(&text).unwrap());
            }
        }
    }

    proptest! {
        #[test]
        fn a_text_is_written_as_the_json_library_writes_it(text in "[\\PC\\x00-\\x1f\"\\\\]{0,60}") {
            prop_assert_eq!(quoted(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
