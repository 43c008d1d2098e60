//! One JSON document as bytes: text at last, parsed, and errors that say where.

use crate::document::Warning;
use crate::error::ReadError;
use crate::skim::Skim;
use serde_json::Value;
use std::borrow::Cow;

/// One step of the way to a place within a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Into an object.
    Key(&'static str),
    /// Into a list.
    Index(usize),
}

/// A value that is not what the form has in its place.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// The way to it.
    pub(crate) path: Vec<Step>,
    /// What stands there.
    pub(crate) found: &'static str,
    /// What should.
    pub(crate) expected: &'static str,
}

impl Misfit {
    /// A misfit at this place.
    pub(crate) fn new(path: impl Into<Vec<Step>>, found: Option<&Value>, expected: &'static str) -> Self {
        Misfit {
            path: path.into(),
            found: kind(found),
            expected,
        }
    }
}

fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None => "missing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// Bytes as text.
pub(crate) struct Source<'a> {
    text: Cow<'a, str>,
    /// What was odd about the bytes.
    pub(crate) warnings: Vec<Warning>,
}

/// Bytes looked at to tell a binary file from text; the same as what version control systems look at.
const PROBE: usize = 8_000;

impl<'a> Source<'a> {
    /// Makes text of bytes: skips a byte order mark, replaces what is no UTF-8.
    pub(crate) fn new(bytes: &'a [u8], expected: &'static str) -> Result<Self, ReadError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
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

    /// The whole text as one JSON value.
    pub(crate) fn parse(&self, expected: &'static str) -> Result<Value, ReadError> {
        serde_json::from_str(&self.text).map_err(|error| {
            let text = error.to_string();
            let problem = text.split(" at line ").next().unwrap_or(&text);
            let problem = match problem.strip_prefix("EOF while parsing") {
                Some(what) => format!("the file breaks off in{}", what.replacen(" a ", " a ", 1)),
                None => problem.to_owned(),
            };
            let expected = match error.classify() {
                serde_json::error::Category::Eof => "the rest of the document",
                _ if problem == "trailing characters" => "the end of the file",
                _ if problem.starts_with("recursion limit") => "at most 127 levels",
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

    /// The error for a misfit, with the line found again.
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
            found: misfit.found.to_owned(),
            expected: misfit.expected,
        }
    }
}
