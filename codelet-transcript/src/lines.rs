//! JSON Lines as agents write them, possibly with a byte order mark, CRLF, a truncated end or invalid UTF-8.

use crate::notes::Notes;
use crate::source::{self, Misfit, Source};
use crate::take::Fields;
use crate::{ReadError, Warning};
use serde_json::Value;
use std::borrow::Cow;

pub(crate) struct Entry {
    /// The line, counted from 1.
    pub line: usize,
    /// The entry itself; always an object.
    pub fields: Fields,
    /// Its length in bytes in the file.
    pub bytes: usize,
}

impl Entry {
    /// Returns an entry of a list: `line` is its number there, from 1.
    pub(crate) fn of_list(line: usize, fields: Fields) -> Self {
        Entry { line, fields, bytes: 0 }
    }
}

/// Reads a session file entry by entry, so that only what a reader keeps stays in memory.
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    broken: Broken,
    /// The error in the first line, until there is an entry.
    problem: Option<ReadError>,
    has_entry: bool,
    notes: Notes,
}

/// Lines that do not hold exactly one whole entry.
#[derive(Default)]
struct Broken {
    /// The first of them, counted from 1.
    first: usize,
    count: usize,
    /// Their bytes.
    lost: usize,
}

const ENTRY: &str = "a session entry as one JSON object a line";

impl<'a> Lines<'a> {
    /// Starts at the first line.
    ///
    /// # Errors
    /// If there is only white space.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let at = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        if is_blank(&bytes[at..]) {
            return Err(ReadError::Empty { expected: ENTRY });
        }
        Ok(Lines {
            bytes,
            at,
            line: 0,
            broken: Broken::default(),
            problem: None,
            has_entry: false,
            notes: Notes::default(),
        })
    }

    /// Returns the next entry, or `None` at the end. A line that is not exactly one entry is skipped and counted.
    ///
    /// # Errors
    /// If no line is an entry, the error of the first line.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            if self.at >= self.bytes.len() {
                // For a file without any entry, the error of its first line is the most useful.
                return self.problem.take().map_or(Ok(None), Err);
            }
            let start = self.at;
            let rest = &self.bytes[start..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.at = (start + length + 1).min(self.bytes.len());
            self.line += 1;
            let line = trim_zeros(&rest[..length]);
            if is_blank(line) {
                continue;
            }
            if let Some(entry) = self.entry(start, line) {
                return Ok(Some(self.given(entry)));
            }
        }
    }

    fn given(&mut self, entry: Entry) -> Entry {
        self.has_entry = true;
        self.problem = None;
        self.notes.given(&entry.fields, entry.bytes);
        entry
    }

    fn entry(&mut self, start: usize, line: &[u8]) -> Option<Entry> {
        let (text, wrong) = decode(line);
        let is_last = is_blank(&self.bytes[self.at..]);
        let (problem, breaks_off) = match source::parse(&text) {
            Ok((Value::Object(fields), half)) => {
                let wrong = wrong.map(|offset| Warning::InvalidUtf8 { offset: start + offset });
                let half = half.map(|offset| Warning::HalfCharacter { offset: start + offset });
                wrong.into_iter().chain(half).for_each(|odd| self.notes.warn_once(odd));
                let (line, bytes) = (self.line, line.len());
                return Some(Entry { line, fields, bytes });
            }
            Ok((other, _)) => {
                let problem = ReadError::Unexpected {
                    line: self.line,
                    place: String::from("the entry"),
                    found: Misfit::new([], Some(&other), ENTRY).found,
                    expected: ENTRY,
                };
                (problem, false)
            }
            Err(problem) => {
                let breaks_off = problem.is_eof();
                (broken_json(self.line, line, start, &problem, ENTRY), breaks_off)
            }
        };
        if breaks_off && is_last {
            self.notes.warn_once(Warning::CutLastLine { line: self.line });
            return None;
        }
        if !self.has_entry {
            self.problem.get_or_insert(problem);
        }
        // It may have had content.
        let lost = line.len();
        self.notes.lost(lost);
        if self.broken.count == 0 {
            self.broken.first = self.line;
        }
        self.broken.count += 1;
        self.broken.lost += lost;
        None
    }

    /// Records an entry of a kind unknown to this version; each kind is reported once.
    pub(crate) fn note_unknown(&mut self, line: usize, kind: &str) {
        self.notes.unknown(line, kind);
    }

    /// Records an entry that should have content but has none that can be read.
    pub(crate) fn note_unread(&mut self, line: usize, kind: &str) {
        self.notes.unread(line, kind);
    }

    /// The notes from which the warnings about entries are made.
    pub(crate) fn notes(&mut self) -> &mut Notes {
        &mut self.notes
    }

    /// Returns the warnings about the lines read so far.
    pub(crate) fn into_warnings(mut self) -> Vec<Warning> {
        let Broken { first, count, lost } = self.broken;
        if count > 0 {
            self.notes.warn_once(Warning::BrokenLines { first, count, lost });
        }
        self.notes.into_warnings()
    }
}

/// Reads a file that is one JSON object.
///
/// # Errors
/// If it is empty, truncated, or something else.
pub(crate) fn whole(bytes: &[u8], expected: &'static str) -> Result<(Fields, Vec<Warning>), ReadError> {
    let mut source = Source::new(bytes, expected)?;
    match source.parse(expected)? {
        Value::Object(fields) => Ok((fields, source.warnings)),
        other => Err(source.refuse(Misfit::new([], Some(&other), expected))),
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Strips the zero bytes that a crash leaves where a program had not written yet.
pub(crate) fn trim_zeros(line: &[u8]) -> &[u8] {
    let is_said = |byte: &u8| *byte != 0;
    let first = line.iter().position(is_said).unwrap_or(line.len());
    let end = line.iter().rposition(is_said).map_or(first, |last| last + 1);
    &line[first..end]
}

/// Returns whether there is only white space and zero bytes, as a crash leaves them at the end of a file.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0)
}

fn decode(bytes: &[u8]) -> (Cow<'_, str>, Option<usize>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), None),
        Err(problem) => (String::from_utf8_lossy(bytes), Some(problem.valid_up_to())),
    }
}

fn broken_json(
    first: usize,
    bytes: &[u8],
    start: usize,
    problem: &serde_json::Error,
    expected: &'static str,
) -> ReadError {
    let line = first + problem.line().saturating_sub(1);
    if let Some(offset) = memchr::memchr(0, bytes) {
        let offset = start + offset;
        return ReadError::Binary { line, offset };
    }
    ReadError::Json {
        line,
        column: problem.column().max(1),
        // The parser counts lines within its input, so its own line numbers are misleading.
        problem: source::problem_of(problem),
        expected,
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
            "{\"a\":1}\n{\"b\":\"x", "{\"a\":1}\n{\"b\":\"x\n", "{\"a\":1}\n{\"b\":tru\n\n",
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

    fn broken(first: usize, count: usize, lost: usize) -> Warning {
        Warning::BrokenLines { first, count, lost }
    }

    #[test]
    fn lines_that_are_no_entries_are_passed_over_and_told_of_once() {
        let (seen, warnings) = read(b"{\"a\":1}\n{\"b\":}\n[1]\nnothing\n{\"c\":3}\n").unwrap();
        assert_eq!(seen, [(1, r#"{"a":1}"#.into()), (5, r#"{"c":3}"#.into())]);
        assert_eq!(warnings[0], broken(2, 3, 16));
    }

    #[test]
    fn a_line_of_two_entries_or_of_one_that_was_never_finished_is_passed_over() {
        let (seen, warnings) = read(b"{\"a\":1}{\"a\":2}\n\0\0{\"a\":3}\0\n{\"a\":\"cut{\"a\":4}\n{\"a\":5").unwrap();
        assert_eq!(seen, [(2, r#"{"a":3}"#.into())]);
        let cut = Warning::CutLastLine { line: 4 };
        let missed = Warning::Missed { missed: 30, all: 30 };
        assert_eq!(warnings, [cut, broken(1, 2, 30), missed]);
    }

    #[test]
    fn of_a_file_without_an_entry_the_first_line_is_named_with_its_place() {
        let error = read(b"{\"b\":}\n{\"c\":\n[1]\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1, column 6: not JSON, expected a session entry as one JSON object a line"
        );
        let error = read(b"[1]\n[2]\n").unwrap_err();
        assert!(error.to_string().starts_with("line 1: the entry is a list"), "{error}");
    }

    #[test]
    fn what_is_said_in_entries_that_nobody_understands_is_counted() {
        let mut lines = Lines::new(b"{\"content\":\"a\"}\n{\"text\":\"bc\"}\n{\"n\":1}\n").unwrap();
        for kind in ["", "novelty", "count"] {
            let entry = lines.next().unwrap().unwrap();
            if !kind.is_empty() {
                lines.note_unknown(entry.line, kind);
            }
        }
        let missed = Warning::Missed { missed: 13, all: 28 };
        assert_eq!(lines.into_warnings().last(), Some(&missed));
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
        let deep = format!("{{\"a\":{}1{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
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
