//! The fields that carry what the engine does not read.

use codelet_context::message::Extra;
use rig_core::message::Native;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The provider item that a block was decoded from.
pub(super) const NATIVE: &str = "native";
/// The sources of a text.
pub(super) const CITATIONS: &str = "citations";
/// Mark: rig has made the id of the call, not the provider.
pub(super) const LOCAL: &str = "local";
/// The tool of a result.
pub(super) const NAME: &str = "name";
/// The arguments as the model sent them, if they are no object.
pub(super) const INVALID: &str = "invalid_arguments";
/// Mark: the text is the JSON of a structured result.
pub(super) const JSON: &str = "json";
/// Mark: the picture was given as bytes.
pub(super) const RAW: &str = "raw";
/// The requested detail of a picture.
pub(super) const DETAIL: &str = "detail";
/// Mark: the provider has redacted the reasoning.
pub(super) const REDACTED: &str = "redacted";
/// The provider's id of an item that others refer to.
pub(super) const ID: &str = "id";
/// The model and provider of a turn.
pub(super) const ORIGIN: &str = "origin";
/// The stop reason of a turn.
pub(super) const STOP: &str = "stop";
/// Items that are kept and never sent, each with its index.
pub(super) const UNSENT: &str = "unsent";

/// Collects fields.
#[derive(Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Adds a field, unless its value is `null`.
    pub fn put(&mut self, name: &str, value: &impl Serialize) {
        // Rig's messages always serialize; otherwise only this field would be missing.
        if let Ok(value) = serde_json::to_value(value)
            && !value.is_null()
        {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Adds a mark, if it is so.
    pub fn mark(&mut self, name: &str, is_so: bool) {
        if is_so {
            self.0.insert(name.to_owned(), Value::Bool(true));
        }
    }

    /// All fields.
    pub fn gathered(self) -> Extra {
        Extra::new(self.0)
    }

    /// All fields, with the provider's item of a block. The engine counts `read` bytes of the block itself; the item is sent in their
    /// place, so only its further bytes are counted here.
    pub fn around(mut self, native: &Option<Native>, read: usize) -> Extra {
        let Some(native) = native else {
            return self.gathered();
        };
        let more = native.item.to_string().len().saturating_sub(read);
        let others = Extra::new(self.0.clone()).bytes();
        self.put(NATIVE, native);
        Extra::weighing(self.0, others + more)
    }
}

/// The value of a field, if it is there.
pub(super) fn get<T: DeserializeOwned>(extra: &Extra, name: &str) -> Option<T> {
    serde_json::from_value(extra.get(name)?.clone()).ok()
}

/// Returns true if a field is there.
pub(super) fn is_marked(extra: &Extra, name: &str) -> bool {
    extra.get(name).is_some()
}
