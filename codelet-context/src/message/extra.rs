//! What a vendor has said beside what the engine reads.

use serde_json::{Map, Value};
use std::sync::Arc;

/// Fields of a vendor that the engine does not read and must not lose, in their order. Empty for most.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extra(Option<Arc<Unread>>);

#[derive(PartialEq, Eq, Debug)]
struct Unread {
    map: Map<String, Value>,
    /// What their names and values take, about.
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

    /// Wraps fields of which no more than so many bytes go with a request beside what is read: of what a vendor takes in place of that,
    /// for example, only what is longer.
    pub fn weighing(fields: Map<String, Value>, bytes: usize) -> Self {
        let fields = (!fields.is_empty()).then(|| Arc::new(Unread { bytes, map: fields }));
        Extra(fields)
    }

    /// One field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.as_ref()?.map.get(name)
    }

    /// All fields, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter().flat_map(|fields| fields.map.iter())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What they take on the wire, in bytes, about: names, strings, and a word for everything else.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |fields| fields.bytes)
    }
}

/// Values deeper than this are not looked at; a reader refuses them anyway.
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
