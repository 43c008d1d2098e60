//! Errors about a file, worded for the person who has it. The caller adds the file's name.

use crate::Format;
use std::fmt;

/// The reason why bytes could not be read as a conversation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is only white space.
    #[error("line 1: the file is empty, expected {expected}")]
    Empty {
        /// The beginning of a file of this format.
        expected: &'static str,
    },
    /// The bytes are not text.
    #[error("line {line}: byte {offset} is not text, expected JSON")]
    Binary {
        /// Counted from 1.
        line: usize,
        /// Counted from 0, within the file.
        offset: usize,
    },
    /// The text is not JSON, or is truncated.
    #[error("line {line}, column {column}: {problem}, expected {expected}")]
    Json {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
        /// The parser's message.
        problem: String,
        /// The expected value.
        expected: &'static str,
    },
    /// The JSON does not fit the format at this place.
    #[error("line {line}: {place} is {found}, expected {expected}")]
    Unexpected {
        /// Counted from 1.
        line: usize,
        /// The place within the document, such as `messages[3].content`.
        place: String,
        /// The value found.
        found: String,
        /// The expected value.
        expected: &'static str,
    },
    /// Nothing in the structure identifies the format.
    #[error("expected a conversation in a supported format")]
    UnknownFormat,
    /// The file cannot be read in the specified format, or most of it has no content in that format.
    #[error("this is not {asked}; it looks like {found}")]
    OtherForm {
        /// The specified format, or the one that the fields around the messages have.
        asked: Format,
        /// The format that the file has.
        found: Format,
    },
    /// Nothing in the file has the specified format.
    #[error("not in the format {0}")]
    NothingFound(Format),
    /// There are entries, but none of them has content in the format that the file seems to have.
    #[error("this looks like {0}, but nothing in it can be read")]
    NothingRead(Format),
    /// Less than nine tenths of the content was understood, by bytes.
    #[error("this looks like {format}, but {missed} of {all} bytes of its content could not be read")]
    TooLittle {
        /// The format that the file seems to have.
        format: Format,
        /// Bytes that could not be read.
        missed: usize,
        /// Bytes of all content.
        all: usize,
    },
    /// The format is for people and cannot be read.
    #[error("{0} can be written, but not read")]
    NotReadable(Format),
}

/// The reason why a conversation could not be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The format is read-only.
    #[error("{0} can be read, but not written; expected {forms}", forms = OneOf(Format::is_written))]
    NotWritable(Format),
}

/// Displays the names of the expected formats.
struct OneOf(fn(Format) -> bool);

impl fmt::Display for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = Format::ALL.iter().filter(|form| self.0(**form));
        for (at, form) in forms.enumerate() {
            write!(f, "{}{form}", if at == 0 { "one of " } else { ", " })?;
        }
        Ok(())
    }
}

impl ReadError {
    /// Returns whether the format is the likely cause: the file may be a valid one of another format, or of none that
    /// is supported. A program can add how its user specifies a format.
    pub fn is_of_form(&self) -> bool {
        match self {
            ReadError::UnknownFormat
            | ReadError::OtherForm { .. }
            | ReadError::NothingFound(_)
            | ReadError::NothingRead(_)
            | ReadError::TooLittle { .. }
            | ReadError::NotReadable(_) => true,
            ReadError::Empty { .. }
            | ReadError::Binary { .. }
            | ReadError::Json { .. }
            | ReadError::Unexpected { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_form_name_no_option_of_any_program() {
        let form = Format::Codex;
        let found = Format::Pi;
        let errors = [
            ReadError::UnknownFormat,
            ReadError::OtherForm { asked: form, found },
            ReadError::NothingFound(form),
            ReadError::NothingRead(form),
            ReadError::NotReadable(Format::Shape),
        ];
        for error in &errors {
            let said = error.to_string();
            assert!(!said.contains("--") && !said.contains('`'), "{said}");
            assert!(error.is_of_form(), "{said}");
        }
        let said = WriteError::NotWritable(form).to_string();
        assert_eq!(
            said,
            "codex can be read, but not written; expected one of anthropic, openai, responses, gemini, atif, shape"
        );
    }
}
