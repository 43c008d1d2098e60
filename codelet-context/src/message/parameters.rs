//! The parameters of a call.

use crate::text::body::Body;
use crate::text::hash;
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// The parameters of a call: a JSON object, shared and immutable.
#[derive(Clone)]
pub struct Parameters(Arc<Fields>);

struct Fields {
    map: Map<String, Value>,
    json: OnceLock<Body>,
    canonical: OnceLock<u64>,
}

impl Parameters {
    /// Wraps an object.
    pub fn new(map: Map<String, Value>) -> Self {
        Parameters(Arc::new(Fields {
            // A map that grew field by field has room for three more, and there are as many as calls.
            map: map.into_iter().collect(),
            json: OnceLock::new(),
            canonical: OnceLock::new(),
        }))
    }

    /// The object.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0.map
    }

    /// A string parameter.
    pub fn str(&self, name: &str) -> Option<&str> {
        self.0.map.get(name)?.as_str()
    }

    /// The object as compact JSON with its keys in order.
    pub fn json(&self) -> &Body {
        self.0
            .json
            .get_or_init(|| Body::new(Value::Object(self.0.map.clone()).to_string()))
    }

    /// A hash that does not depend on the order of keys: equal parameters have equal hashes.
    pub fn canonical_hash(&self) -> u64 {
        *self
            .0
            .canonical
            .get_or_init(|| canonical(&self.0.map, hash::bytes(b"{}")))
    }
}

fn canonical(map: &Map<String, Value>, seed: u64) -> u64 {
    let mut keys: Vec<_> = map.iter().collect();
    keys.sort_unstable_by_key(|(key, _)| key.as_str());
    keys.into_iter().fold(seed, |hash, (key, value)| {
        hash::pair(hash, hash::pair(hash::bytes(key.as_bytes()), canonical_value(value)))
    })
}

fn canonical_value(value: &Value) -> u64 {
    match value {
        Value::Object(map) => canonical(map, hash::bytes(b"{}")),
        Value::Array(items) => items
            .iter()
            .fold(hash::bytes(b"[]"), |hash, item| hash::pair(hash, canonical_value(item))),
        other => hash::bytes(other.to_string().as_bytes()),
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.map == other.0.map
    }
}

impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map.fmt(f)
    }
}
