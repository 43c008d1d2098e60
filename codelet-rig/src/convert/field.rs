//! The fields in which travels what the engine does not read.

use codelet_context::message::Extra;
use rig_core::message::Native;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The provider item that a block was decoded from.
pub(super) const NATIVE: &str = "native";
/// What supports a text.
pub(super) const CITATIONS: &str = "citations";
/// The id of a call was made by rig, not by the provider.
pub(super) const LOCAL: &str = "local";
/// The tool that a result is of.
pub(super) const NAME: &str = "name";
/// Arguments as the model has sent them, where they were no object.
pub(super) const INVALID: &str = "invalid_arguments";
/// A text is the JSON of a structured result.
pub(super) const JSON: &str = "json";
/// A picture came as bytes.
pub(super) const RAW: &str = "raw";
/// In which detail a picture is wanted.
pub(super) const DETAIL: &str = "detail";
/// The provider has withheld what was thought.
pub(super) const REDACTED: &str = "redacted";
/// What the provider calls an item that others rest on.
pub(super) const ID: &str = "id";
/// Who has produced a turn.
pub(super) const ORIGIN: &str = "origin";
/// How a turn ended.
pub(super) const STOP: &str = "stop";
/// Items that are kept and never sent, each with its place.
pub(super) const UNSENT: &str = "unsent";

/// Gathers fields.
#[derive(Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// A field with this value; none for what has none, which is `null`.
    pub fn put(&mut self, name: &str, value: &impl Serialize) {
        // Messages of rig always serialize; of one that did not, this field would be missing.
        if let Ok(value) = serde_json::to_value(value)
            && !value.is_null()
        {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// A field that is there or not.
    pub fn mark(&mut self, name: &str, is_so: bool) {
        if is_so {
            self.0.insert(name.to_owned(), Value::Bool(true));
        }
    }

    /// All of them.
    pub fn gathered(self) -> Extra {
        Extra::new(self.0)
    }

    /// All of them, and the provider's item of a block whose other `read` bytes the engine weighs itself: the item goes in their
    /// place, so only what it has more of weighs.
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

/// A field as it was put, if it was.
pub(super) fn get<T: DeserializeOwned>(extra: &Extra, name: &str) -> Option<T> {
    serde_json::from_value(extra.get(name)?.clone()).ok()
}

/// Whether a field is there.
pub(super) fn is_marked(extra: &Extra, name: &str) -> bool {
    extra.get(name).is_some()
}
