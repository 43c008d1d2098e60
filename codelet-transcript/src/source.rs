//! A JSON document in bytes: decoding, parsing, and errors with their location.

use crate::document::Warning;
use crate::error::ReadError;
use crate::skim::{Skim, Step};
use codelet_text::json::{has_more_values, replace_halves};
use serde_json::Value;
use std::borrow::Cow;

/// A value that does not fit the format at its place.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// The path to it.
    pub(crate) path: Vec<Step>,
    /// The value found.
    pub(crate) found: String,
    /// The expected value.
    pub(crate) expected: &'static str,
}

impl Misfit {
    pub(crate) fn new(path: impl Into<Vec<Step>>, found: Option<&Value>, expected: &'static str) -> Self {
        Misfit {
            path: path.into(),
            found: kind(found),
            expected,
        }
    }
}

/// The maximum number of values in a document, or a line of one: ten times that of the longest recorded conversations.
/// Each takes up to 460 bytes.
pub(crate) const MOST_VALUES: usize = 2_000_000;
/// The maximum number of values of JSON in a string.
const MOST_EMBEDDED: usize = 200_000;

/// The maximum length of a string that is quoted in an error, in bytes.
const QUOTED: usize = 40;

fn kind(value: Option<&Value>) -> String {
    let kind = match value {
        Some(Value::String(text)) if text.len() <= QUOTED => return format!("{text:?}"),
        None => "missing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    };
    kind.to_owned()
}

/// Decoded bytes.
pub(crate) struct Source<'a> {
    text: Cow<'a, str>,
    /// Anomalies in the bytes.
    pub(crate) warnings: Vec<Warning>,
}

/// The number of bytes checked to distinguish a binary file from text; the same as in version control systems.
const PROBE: usize = 8_000;

impl<'a> Source<'a> {
    /// Decodes bytes: skips a byte order mark, replaces invalid UTF-8.
    pub(crate) fn new(bytes: &'a [u8], expected: &'static str) -> Result<Self, ReadError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        // A crash leaves zero bytes after the end.
        let end = bytes.iter().rposition(|byte| *byte != 0);
        let bytes = end.map_or(bytes, |end| &bytes[..=end]);
        if let Some(offset) = bytes.iter().take(PROBE).position(|byte| *byte == 0) {
            let line = 1 + bytes[..offset].iter().filter(|byte| **byte == b'\n').count();
            return Err(ReadError::Binary { line, offset });
        }
        if bytes.trim_ascii().is_empty() {
            return Err(ReadError::Empty { expected });
        }
        let (text, warnings) = match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), Vec::new()),
            Err(error) => {
                let offset = error.valid_up_to();
                (String::from_utf8_lossy(bytes), vec![Warning::InvalidUtf8 { offset }])
            }
        };
        Ok(Source { text, warnings })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Parses the whole text as one JSON value, with a warning if unpaired surrogates were replaced.
    pub(crate) fn parse(&mut self, expected: &'static str) -> Result<Value, ReadError> {
        let parsed = parse(&self.text);
        if let Ok((_, Some(offset))) = &parsed {
            self.warnings.push(Warning::HalfCharacter { offset: *offset });
        }
        parsed.map(|(value, _)| value).map_err(|error| {
            let problem = problem_of(&error);
            let problem = match problem.strip_prefix("EOF while parsing") {
                Some(what) => format!("unexpected end of file in{what}"),
                None => problem,
            };
            let expected = match error.classify() {
                serde_json::error::Category::Eof => "the rest of the document",
                _ if problem == "trailing characters" => "the end of the file",
                _ if problem.starts_with("recursion limit") => "at most 127 levels",
                _ if problem == TOO_MANY => "at most 2,000,000",
                _ => expected,
            };
            ReadError::Json {
                line: error.line().max(1),
                column: error.column().max(1),
                problem,
                expected,
            }
        })
    }

    /// Returns the error for a misfit, with its line number.
    pub(crate) fn refuse(&self, misfit: Misfit) -> ReadError {
        let offset = Skim::new(self.text.as_bytes()).find(&misfit.path);
        let line = 1 + self.text.as_bytes()[..offset]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        let mut place = String::new();
        for step in &misfit.path {
            match step {
                Step::Key(key) if place.is_empty() => place.push_str(key),
                Step::Key(key) => {
                    place.push('.');
                    place.push_str(key);
                }
                Step::Index(index) => place.push_str(&format!("[{index}]")),
            }
        }
        if place.is_empty() {
            place.push_str("the document");
        }
        ReadError::Unexpected {
            line,
            place,
            found: misfit.found,
            expected: misfit.expected,
        }
    }
}

/// Parses JSON in which a text may have been cut in the middle of a character, as by programs that count in UTF-16:
/// they write an unpaired surrogate (`\ud83d`). Returns the offset of the first one.
///
/// # Errors
/// If it is invalid JSON for another reason, or holds more than [`MOST_VALUES`] values.
pub(crate) fn parse(text: &str) -> Result<(Value, Option<usize>), serde_json::Error> {
    if has_more_values(text.as_bytes(), MOST_VALUES) {
        return Err(serde::de::Error::custom(TOO_MANY));
    }
    match serde_json::from_str(text) {
        Ok(value) => Ok((value, None)),
        // The replacement keeps the length, and with it the places that an error names.
        Err(error) => match replace_halves(text, |_, mended| mended.push_str("\\ufffd")) {
            Some((mended, offset)) => Ok((serde_json::from_str(&mended)?, Some(offset))),
            None => Err(error),
        },
    }
}

const TOO_MANY: &str = "too many values";

/// What the parser says of a text, without the place: what it expected, a value or a comma, tells a reader less than that
/// the text is not JSON.
pub(crate) fn problem_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let words = text.rsplit_once(" at line ").map_or(text.as_str(), |(words, _)| words);
    if words.starts_with("expected ") {
        "not JSON"
    } else {
        words
    }
    .to_owned()
}

/// Parses JSON in a string, such as a program's output; `None` if it is not JSON, or has too many values.
pub(crate) fn embedded(text: &str) -> Option<Value> {
    let is_read = !has_more_values(text.as_bytes(), MOST_EMBEDDED);
    is_read.then(|| serde_json::from_str(text).ok())?
}

/// Returns why the format of a file is unknown: it is empty, binary or broken JSON, or else JSON of another kind.
pub(crate) fn unknown(bytes: &[u8]) -> ReadError {
    let expected = "a JSON object or a list";
    match Source::new(bytes, expected).and_then(|mut source| source.parse(expected)) {
        // Something follows the first value: not broken, but one value per line.
        Err(ReadError::Json { problem, .. }) if problem == "trailing characters" => ReadError::UnknownFormat,
        Err(error) => error,
        Ok(_) => ReadError::UnknownFormat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(json: &str, expected: &str) {
        let (value, offset) = parse(json).unwrap();
        assert_eq!(value, Value::from(expected), "{json}");
        assert_eq!(offset.is_some(), expected.contains('\u{fffd}'), "{json}");
    }

    #[test]
    fn half_a_character_is_replaced_wherever_it_stands() {
        check(r#""cut \ud83d""#, "cut \u{fffd}");
        check(r#""\ud83d cut""#, "\u{fffd} cut");
        check(r#""\ud83d\u0041""#, "\u{fffd}A");
        check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀");
        check(r#""\ude00\ud83d\n""#, "\u{fffd}\u{fffd}\n");
        check(r#""\ud83d\\""#, "\u{fffd}\\");
        check(r#""\ud83d\ude00""#, "😀");
        // An escaped backslash, and four letters.
        check(r#""\\ud83d""#, "\\ud83d");
    }

    #[test]
    fn what_is_broken_otherwise_stays_broken() {
        for broken in [r#""\ud83d"#, r#""\ud8""#, r#"{"a":"\ud83d",}"#, r#""\"#] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn every_text_in_units_of_utf_16_is_read_as_others_read_it(units in prop::collection::vec(prop_oneof![any::<u16>(), 0xd7fe_u16..0xe002, 0x20_u16..0x7f], 0..30)) {
            let json: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let (value, _) = parse(&format!("\"{json}\"")).unwrap();
            prop_assert_eq!(value, Value::from(String::from_utf16_lossy(&units)));
        }

        #[test]
        fn no_text_makes_it_fall_over(text in "[\\\\u dD8cf0\"é{}]{0,40}") {
            let _ = parse(&text);
        }
    }
}
