//! Entries of a recording that is written one a line, or as one list of them.

use crate::lines::{Entry, Lines};
use crate::source::Source;
use crate::{ReadError, Warning};
use serde_json::Value;

const EXPECTED: &str = "a list of JSON objects, or one a line";

/// What is odd about entries.
pub(crate) enum Notes<'a, 'b> {
    Lines(&'a mut Lines<'b>),
    List(&'a mut Vec<Warning>),
}

impl Notes<'_, '_> {
    /// Notes an entry of a kind that this version does not know.
    pub(crate) fn unknown(&mut self, line: usize, kind: &str) {
        match self {
            Notes::Lines(lines) => lines.note_unknown(line, kind),
            Notes::List(warnings) => note_unknown(warnings, line, kind),
        }
    }

    /// Notes an entry that should hold something that was said and does not.
    pub(crate) fn unread(&mut self, line: usize, kind: &str) {
        match self {
            Notes::Lines(lines) => lines.note_unread(line, kind),
            Notes::List(warnings) => {
                let kind: String = kind.chars().take(80).collect();
                for warning in warnings.iter_mut() {
                    if let Warning::UnreadEntry { count, .. } = warning {
                        *count += 1;
                        return;
                    }
                }
                warnings.push(Warning::UnreadEntry { line, kind, count: 1 });
            }
        }
    }
}

/// Notes something of a kind that this version does not know; each kind is mentioned once.
pub(crate) fn note_unknown(warnings: &mut Vec<Warning>, line: usize, kind: &str) {
    // A hostile file may call everything something else.
    const MOST: usize = 100;
    let kind: String = kind.chars().take(80).collect();
    let is_it = |told: &Warning| matches!(told, Warning::UnknownEntry { kind: other, .. } if *other == kind);
    if warnings.len() < MOST && !warnings.iter().any(is_it) {
        warnings.push(Warning::UnknownEntry { line, kind });
    }
}

/// Hands over each entry, with where what is odd about it is noted. In a list the entries are counted in place of the lines.
pub(crate) fn each(bytes: &[u8], mut take: impl FnMut(Entry, &mut Notes)) -> Result<Vec<Warning>, ReadError> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if !start.starts_with(b"[") {
        let mut lines = Lines::new(bytes)?;
        while let Some(entry) = lines.next()? {
            take(entry, &mut Notes::Lines(&mut lines));
        }
        return Ok(lines.into_warnings());
    }
    let mut source = Source::new(bytes, EXPECTED)?;
    let parsed = source.parse(EXPECTED)?;
    let mut warnings = std::mem::take(&mut source.warnings);
    let Value::Array(entries) = parsed else {
        return Ok(warnings);
    };
    for (at, value) in entries.into_iter().enumerate() {
        let line = at + 1;
        match value {
            Value::Object(fields) => take(Entry::of_list(line, fields), &mut Notes::List(&mut warnings)),
            _ => Notes::List(&mut warnings).unread(line, "no object"),
        }
    }
    Ok(warnings)
}
