//! Entries of a recording that is written one per line, or as one list.

use crate::lines::{Entry, Lines};
use crate::notes::Notes;
use crate::source::Source;
use crate::{ReadError, Warning};
use serde_json::Value;

const EXPECTED: &str = "a list of JSON objects, or one a line";

/// Passes each entry to `take`, with the notes for its warnings. In a list, entries are counted instead of lines.
pub(crate) fn each(bytes: &[u8], mut take: impl FnMut(Entry, &mut Notes)) -> Result<Vec<Warning>, ReadError> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if !start.starts_with(b"[") {
        let mut lines = Lines::new(bytes)?;
        while let Some(entry) = lines.next()? {
            take(entry, lines.notes());
        }
        return Ok(lines.into_warnings());
    }
    let mut source = Source::new(bytes, EXPECTED)?;
    let parsed = source.parse(EXPECTED)?;
    let mut notes = Notes::new(std::mem::take(&mut source.warnings));
    let Value::Array(entries) = parsed else {
        return Ok(notes.into_warnings());
    };
    for (at, value) in entries.into_iter().enumerate() {
        let line = at + 1;
        match value {
            Value::Object(fields) => take(Entry::of_list(line, fields), &mut notes),
            _ => notes.unread(line, "no object"),
        }
    }
    Ok(notes.into_warnings())
}
