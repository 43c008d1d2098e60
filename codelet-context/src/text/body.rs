//! An immutable, shared text whose properties are computed once.

use crate::text::hash;
use std::sync::{Arc, OnceLock};

/// An immutable text. Clones share the bytes and everything computed from them, so a conversation can be viewed,
/// compacted and undone without copying its content.
#[derive(Clone)]
pub struct Body(Arc<Inner>);

struct Inner {
    text: Box<str>,
    hash: OnceLock<u64>,
    squeezed: OnceLock<Option<Body>>,
}

impl Body {
    /// Wraps a text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Body(Arc::new(Inner {
            text: text.into(),
            hash: OnceLock::new(),
            squeezed: OnceLock::new(),
        }))
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.0.text.len()
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.text.is_empty()
    }

    /// Returns whether the text is empty or only white space; providers refuse such a text.
    pub fn is_blank(&self) -> bool {
        self.0.text.trim_start().is_empty()
    }

    /// A 64-bit hash of the bytes, the same on every machine.
    pub fn hash(&self) -> u64 {
        *self.0.hash.get_or_init(|| hash::bytes(self.0.text.as_bytes()))
    }

    /// An empty text that still has the hash of this one.
    pub(crate) fn emptied(&self) -> Body {
        Body(Arc::new(Inner {
            text: Box::default(),
            hash: OnceLock::from(self.hash()),
            squeezed: OnceLock::new(),
        }))
    }

    /// The text as shortened by `squeeze`, or `None` if it cannot be; cached, so all callers must pass the same
    /// function.
    pub(crate) fn squeezed(&self, squeeze: impl FnOnce(&str) -> Option<String>) -> Option<&Body> {
        self.0
            .squeezed
            .get_or_init(|| squeeze(&self.0.text).map(Body::new))
            .as_ref()
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.len() == other.len() && self.hash() == other.hash() && self.as_str() == other.as_str())
    }
}

impl Eq for Body {}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.text.fmt(f)
    }
}

impl std::fmt::Display for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Body::new(text)
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Body::new(text)
    }
}
