//! JSON lines as agents write them: one entry a line, perhaps with a byte order mark, CRLF, a cut end or broken UTF-8.

use crate::source;
use crate::take::Fields;
use crate::{ReadError, Warning};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;

/// One entry of a session file.
pub(crate) struct Entry {
    /// The line, counted from 1.
    pub line: usize,
    /// The entry itself; always an object.
    pub fields: Fields,
}

/// Reads a session file entry by entry, so that only what a reader keeps stays in memory.
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    warnings: Vec<Warning>,
    unknown: HashSet<String>,
}

const ENTRY: &str = "a session entry as one JSON object a line";

impl<'a> Lines<'a> {
    /// Starts at the first line.
    ///
    /// # Errors
    /// When there is nothing but white space.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let at = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        if is_blank(&bytes[at..]) {
            return Err(ReadError::Empty { expected: ENTRY });
        }
        Ok(Lines {
            bytes,
            at,
            line: 0,
            warnings: Vec::new(),
            unknown: HashSet::new(),
        })
    }

    /// The next entry, or `None` at the end. An end that breaks off is a warning: the file is still being written.
    ///
    /// # Errors
    /// When a line is no JSON object.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, ReadError> {
        while self.at < self.bytes.len() {
            let start = self.at;
            let rest = &self.bytes[start..];
            let length = memchr(b'\n', rest).unwrap_or(rest.len());
            self.at = (start + length + 1).min(self.bytes.len());
            self.line += 1;
            let line = &rest[..length];
            if is_blank(line) {
                continue;
            }
            if let Some(entry) = self.entry(start, line)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn entry(&mut self, start: usize, line: &[u8]) -> Result<Option<Entry>, ReadError> {
        let (text, broken) = decode(line);
        let problem = match source::parse(&text) {
            Ok((Value::Object(fields), half)) => {
                self.note_utf8(broken.map(|offset| start + offset));
                self.note_half(half.map(|offset| start + offset));
                let line = self.line;
                return Ok(Some(Entry { line, fields }));
            }
            Ok((other, _)) => {
                return Err(ReadError::Unexpected {
                    line: self.line,
                    place: String::from("the entry"),
                    found: String::from(kind_of(&other)),
                    expected: ENTRY,
                });
            }
            Err(problem) => problem,
        };
        if problem.is_eof() && is_blank(&self.bytes[self.at..]) {
            self.warnings.push(Warning::CutLastLine { line: self.line });
            return Ok(None);
        }
        Err(broken_json(self.line, line, start, &problem, ENTRY))
    }

    fn note_utf8(&mut self, offset: Option<usize>) {
        let noted = |warning: &Warning| matches!(warning, Warning::InvalidUtf8 { .. });
        if let Some(offset) = offset
            && !self.warnings.iter().any(noted)
        {
            self.warnings.push(Warning::InvalidUtf8 { offset });
        }
    }

    fn note_half(&mut self, offset: Option<usize>) {
        let noted = |warning: &Warning| matches!(warning, Warning::HalfCharacter { .. });
        if let Some(offset) = offset
            && !self.warnings.iter().any(noted)
        {
            self.warnings.push(Warning::HalfCharacter { offset });
        }
    }

    /// Notes an entry of a kind that this version does not know; each kind is mentioned once.
    pub(crate) fn note_unknown(&mut self, line: usize, kind: &str) {
        // A hostile file may call every line something else; nobody reads more than a few such warnings.
        const MOST: usize = 100;
        if self.unknown.len() < MOST && !self.unknown.contains(kind) {
            let short: String = kind.chars().take(80).collect();
            self.unknown.insert(String::from(kind));
            self.warnings.push(Warning::UnknownEntry { line, kind: short });
        }
    }

    /// Notes an entry that should hold something that was said and does not.
    pub(crate) fn note_unread(&mut self, line: usize, kind: &str) {
        for warning in &mut self.warnings {
            if let Warning::UnreadEntry { count, .. } = warning {
                *count += 1;
                return;
            }
        }
        let kind = kind.chars().take(80).collect();
        self.warnings.push(Warning::UnreadEntry { line, kind, count: 1 });
    }

    /// What was odd in the lines read so far.
    pub(crate) fn into_warnings(self) -> Vec<Warning> {
        self.warnings
    }
}

/// Reads a file that is one JSON object.
///
/// # Errors
/// When it is empty, breaks off, or is something else.
pub(crate) fn whole(bytes: &[u8], expected: &'static str) -> Result<(Fields, Vec<Warning>), ReadError> {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let bytes = &bytes[start..];
    if is_blank(bytes) {
        return Err(ReadError::Empty { expected });
    }
    let (text, broken) = decode(bytes);
    match source::parse(&text) {
        Ok((Value::Object(fields), half)) => {
            let broken = broken.map(|offset| Warning::InvalidUtf8 { offset: start + offset });
            let half = half.map(|offset| Warning::HalfCharacter { offset: start + offset });
            Ok((fields, broken.into_iter().chain(half).collect()))
        }
        Ok((other, _)) => Err(ReadError::Unexpected {
            line: 1,
            place: String::from("the file"),
            found: String::from(kind_of(&other)),
            expected,
        }),
        Err(problem) => Err(broken_json(1, bytes, start, &problem, expected)),
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// White space, and the zeros that a crash leaves at the end of a file.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0)
}

fn decode(bytes: &[u8]) -> (Cow<'_, str>, Option<usize>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), None),
        Err(problem) => (String::from_utf8_lossy(bytes), Some(problem.valid_up_to())),
    }
}

fn memchr(wanted: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == wanted)
}

fn broken_json(
    first: usize,
    bytes: &[u8],
    start: usize,
    problem: &serde_json::Error,
    expected: &'static str,
) -> ReadError {
    let line = first + problem.line().saturating_sub(1);
    if let Some(offset) = memchr(0, bytes) {
        let offset = start + offset;
        return ReadError::Binary { line, offset };
    }
    let text = problem.to_string();
    ReadError::Json {
        line,
        column: problem.column().max(1),
        // The parser counts lines within what it was given, so its own figures mislead.
        problem: String::from(text.rsplit_once(" at line ").map_or(text.as_str(), |(words, _)| words)),
        expected,
    }
}

/// What a JSON value is, for an error.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    type Seen = Vec<(usize, String)>;

    fn read(bytes: &[u8]) -> Result<(Seen, Vec<Warning>), ReadError> {
        let mut lines = Lines::new(bytes)?;
        let mut seen = Vec::new();
        while let Some(entry) = lines.next()? {
            seen.push((entry.line, Value::Object(entry.fields).to_string()));
        }
        Ok((seen, lines.into_warnings()))
    }

    #[test]
    fn a_byte_order_mark_blank_lines_and_crlf_are_no_part_of_an_entry() {
        let (seen, warnings) = read(b"\xef\xbb\xbf{\"a\":1}\r\n\r\n  \n{\"b\":2}\r\n").unwrap();
        assert_eq!(seen, [(1, r#"{"a":1}"#.into()), (4, r#"{"b":2}"#.into())]);
        assert_eq!(warnings, []);
    }

    #[test]
    fn a_cut_last_line_is_a_warning() {
        for cut in [
            "{\"a\":1}\n{\"b\":\"x",
            "{\"a\":1}\n{\"b\":\"x\n",
            "{\"a\":1}\n{\"b\":tru\n\n",
        ] {
            let (seen, warnings) = read(cut.as_bytes()).unwrap();
            assert_eq!(seen.len(), 1);
            assert_eq!(warnings, [Warning::CutLastLine { line: 2 }]);
        }
    }

    #[test]
    fn a_line_cut_inside_a_character_is_cut_and_not_badly_encoded() {
        let (_, warnings) = read("{\"a\":1}\n{\"b\":\"ü".as_bytes().split_last().unwrap().1).unwrap();
        assert_eq!(warnings, [Warning::CutLastLine { line: 2 }]);
    }

    #[test]
    fn zeros_after_a_crash_are_no_entry() {
        let (seen, warnings) = read(b"{\"a\":1}\n\0\0\0\0").unwrap();
        assert_eq!((seen.len(), warnings.len()), (1, 0));
    }

    #[test]
    fn a_broken_line_in_the_middle_is_named_with_its_place() {
        let error = read(b"{\"a\":1}\n{\"b\":}\n{\"c\":3}\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2, column 6: expected value, expected a session entry as one JSON object a line"
        );
    }

    #[test]
    fn a_line_that_is_no_object_is_named() {
        let error = read(b"{\"a\":1}\n[1]\n").unwrap_err();
        assert!(error.to_string().starts_with("line 2: the entry is a list"), "{error}");
    }

    #[test]
    fn broken_utf8_is_replaced_and_the_first_place_told() {
        let (seen, warnings) = read(b"{\"a\":1}\n{\"b\":\"x\xff\"}\n{\"c\":\"\xfe\"}\n").unwrap();
        assert_eq!(seen[1].1, "{\"b\":\"x\u{fffd}\"}");
        assert_eq!(warnings, [Warning::InvalidUtf8 { offset: 15 }]);
    }

    #[test]
    fn a_binary_and_an_empty_file_are_told_apart() {
        assert!(matches!(
            read(b"\x7fELF\0\0\0\x01\n"),
            Err(ReadError::Binary { line: 1, offset: 4 })
        ));
        assert!(matches!(read(b" \n\t\n"), Err(ReadError::Empty { .. })));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        let deep = format!("{{\"a\":{}1{}}}\n{{}}\n", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(read(deep.as_bytes()), Err(ReadError::Json { line: 1, .. })));
    }

    #[test]
    fn an_unknown_kind_is_mentioned_once() {
        let mut lines = Lines::new(b"{}").unwrap();
        lines.note_unknown(3, "novelty");
        lines.note_unknown(4, "novelty");
        let kind = String::from("novelty");
        assert_eq!(lines.into_warnings(), [Warning::UnknownEntry { line: 3, kind }]);
    }
}
