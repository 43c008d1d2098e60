//! Which form a file has, from its structure.

use crate::Format;

/// The form of a conversation, or `None` where nothing in the structure shows one.
pub fn detect(_bytes: &[u8]) -> Option<Format> {
    None
}
