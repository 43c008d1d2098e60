//! Marks for the provider's cache, which a client moves from item to item as a conversation grows: an item with one says the same as
//! without.

use serde_json::Value;
use std::borrow::Cow;

const MARK: &str = "cache_control";

/// The item without its marks.
pub(super) fn without(item: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memmem::find(item, MARK.as_bytes()).is_none() {
        return Cow::Borrowed(item);
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(item) else {
        return Cow::Borrowed(item);
    };
    match take(&mut value) {
        true => serde_json::to_vec(&value).map_or(Cow::Borrowed(item), Cow::Owned),
        false => Cow::Borrowed(item),
    }
}

/// Takes the marks of an item and its blocks away; what a call was given is left alone.
fn take(value: &mut Value) -> bool {
    let Value::Object(fields) = value else { return false };
    let mut found = fields.shift_remove(MARK).is_some();
    if let Some(Value::Array(blocks)) = fields.get_mut("content") {
        for block in blocks {
            found |= take(block);
        }
    }
    found
}
