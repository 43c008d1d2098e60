//! Builds JSON from database cells that hold JSON themselves: the cells are validated and copied, not re-encoded.

use crate::StoreError;
use crate::tables::MAX_BYTES;
use serde::de::IgnoredAny;

#[derive(Default)]
pub(crate) struct Json(Vec<u8>);

impl Json {
    /// Starts a text with `start`.
    pub(crate) fn new(start: &str) -> Self {
        Json(start.as_bytes().to_vec())
    }

    /// Appends text that needs no escaping.
    pub(crate) fn push(&mut self, raw: &str) -> &mut Self {
        self.0.extend_from_slice(raw.as_bytes());
        self
    }

    pub(crate) fn string(&mut self, text: &str) -> &mut Self {
        // Writing a string into memory does not fail.
        let _ = serde_json::to_writer(&mut self.0, text);
        self
    }

    /// Appends a comma, unless an object or list has just been opened.
    pub(crate) fn comma(&mut self) -> &mut Self {
        if !matches!(self.0.last(), Some(b'[' | b'{' | b':') | None) {
            self.0.push(b',');
        }
        self
    }

    /// Appends a cell that holds JSON, or `otherwise` if it does not.
    pub(crate) fn cell(&mut self, cell: &str, otherwise: &str) -> &mut Self {
        let is_whole = serde_json::from_str::<IgnoredAny>(cell).is_ok();
        self.push(if is_whole { cell.trim() } else { otherwise })
    }

    /// Appends the fields of a cell's object to the current object; returns false if the cell holds no object.
    pub(crate) fn fields(&mut self, cell: &str) -> bool {
        let inner = cell.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let Some(inner) = inner.filter(|_| serde_json::from_str::<IgnoredAny>(cell).is_ok()) else {
            return false;
        };
        if !inner.trim().is_empty() {
            self.comma().push(inner);
        }
        true
    }

    /// Checks the size limit.
    ///
    /// # Errors
    /// If the text exceeds it.
    pub(crate) fn bounded(&self) -> Result<(), StoreError> {
        match self.0.len() > MAX_BYTES {
            true => Err(StoreError::TooLarge),
            false => Ok(()),
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
