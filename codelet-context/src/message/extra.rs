//! Provider fields that the engine does not read.

use serde_json::{Map, Value};
use std::sync::Arc;

/// Fields of a provider that the engine does not read and must not lose, in order. Usually empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extra(Option<Arc<Unread>>);

#[derive(PartialEq, Eq, Debug)]
struct Unread {
    map: Map<String, Value>,
    /// The approximate size of names and values.
    bytes: usize,
}

impl Extra {
    /// Wraps fields; an empty map costs nothing.
    pub fn new(fields: Map<String, Value>) -> Self {
        let fields = (!fields.is_empty()).then(|| Unread {
            bytes: weigh_fields(&fields, 0),
            map: fields,
        });
        Extra(fields.map(Arc::new))
    }

    /// Wraps fields of which at most this many bytes are sent in addition to the read content, for example only the
    /// excess length if a provider takes the fields instead of that content.
    pub fn weighing(fields: Map<String, Value>, bytes: usize) -> Self {
        let fields = (!fields.is_empty()).then(|| Arc::new(Unread { bytes, map: fields }));
        Extra(fields)
    }

    /// The field of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_map()?.get(name)
    }

    /// The fields, unless there are none.
    pub fn as_map(&self) -> Option<&Map<String, Value>> {
        self.0.as_ref().map(|fields| &fields.map)
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.as_map().into_iter().flatten()
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The approximate bytes on the wire: names, strings, and four bytes for any other value.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |fields| fields.bytes)
    }
}

/// The maximum depth of values examined; parsers refuse deeper ones anyway.
const DEPTH: usize = 128;

fn weigh_fields(fields: &Map<String, Value>, depth: usize) -> usize {
    fields
        .iter()
        .map(|(name, value)| name.len() + 4 + weigh(value, depth + 1))
        .sum()
}

fn weigh(value: &Value, depth: usize) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) if depth < DEPTH => items.iter().map(|item| 1 + weigh(item, depth + 1)).sum(),
        Value::Object(fields) if depth < DEPTH => weigh_fields(fields, depth),
        _ => 4,
    }
}
