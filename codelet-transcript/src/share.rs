//! How much of what is said in a file was understood, in bytes. Readers only say which entries they could not read.

use crate::take::Fields;
use crate::{Format, ReadError, Warning};
use serde_json::Value;

/// Of the bytes of what is said, one in so many may be missed.
const MOST_MISSED: usize = 10;
/// How deep in an entry its words stand at most.
const DEPTH: usize = 6;

/// Bytes of entries that say something.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Share {
    /// All of them.
    pub(crate) all: usize,
    /// Those that were not understood.
    pub(crate) missed: usize,
}

impl Share {
    /// What there is to tell.
    pub(crate) fn warning(self) -> Option<Warning> {
        let Share { all, missed } = self;
        (missed > 0).then_some(Warning::Missed { missed, all })
    }

    /// Checks that enough of it was understood.
    ///
    /// # Errors
    /// When it was not.
    pub(crate) fn check(self, format: Format) -> Result<(), ReadError> {
        let Share { all, missed } = self;
        match missed.saturating_mul(MOST_MISSED) > all {
            true => Err(ReadError::TooLittle { format, missed, all }),
            false => Ok(()),
        }
    }
}

/// Whether something is said in an entry, whatever its kind: it has one of the fields in which agents keep words.
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

/// The bytes of all texts in an object.
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
