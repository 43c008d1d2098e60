//! Measures how much of a file's content was understood, in bytes. Readers only report entries they could not read.

use crate::take::Fields;
use crate::{Format, ReadError, Warning};
use serde_json::Value;

/// At most one in this many bytes of content may be missed.
const MOST_MISSED: usize = 10;
/// The maximum depth in an entry at which text is looked for.
const DEPTH: usize = 6;

/// The bytes of entries with content.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Share {
    /// All of them.
    pub(crate) all: usize,
    /// Those that were not understood.
    pub(crate) missed: usize,
}

impl Share {
    pub(crate) fn warning(self) -> Option<Warning> {
        let Share { all, missed } = self;
        (missed > 0).then_some(Warning::Missed { missed, all })
    }

    /// Checks that enough was understood.
    ///
    /// # Errors
    /// If too much was missed.
    pub(crate) fn check(self, format: Format) -> Result<(), ReadError> {
        let Share { all, missed } = self;
        match missed.saturating_mul(MOST_MISSED) > all {
            true => Err(ReadError::TooLittle { format, missed, all }),
            false => Ok(()),
        }
    }
}

/// Returns whether an entry has content, whatever its kind: it has one of the fields in which agents store text.
pub(crate) fn speaks(fields: &Fields) -> bool {
    fn within(fields: &Fields, depth: usize) -> bool {
        fields.iter().any(|(name, value)| match value {
            Value::String(text) => is_words(name) && !text.is_empty(),
            Value::Array(items) => {
                let inner = || items.iter().filter_map(Value::as_object);
                is_words(name) && !items.is_empty() || depth > 1 && inner().any(|fields| within(fields, depth - 1))
            }
            Value::Object(inner) => depth > 1 && within(inner, depth - 1),
            _ => false,
        })
    }
    within(fields, DEPTH)
}

/// Returns the total length of all texts in an object, in bytes.
pub(crate) fn size(fields: &Fields) -> usize {
    fields.values().map(of_value).sum()
}

fn of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(fields) => size(fields),
        _ => 0,
    }
}

fn is_words(name: &str) -> bool {
    matches!(
        name,
        "content" | "text" | "parts" | "message" | "output" | "thinking" | "arguments" | "summary"
    )
}
