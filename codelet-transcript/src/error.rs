//! What can be wrong with a file, in the words of the person who holds it. Whoever opened it adds its name.

use crate::Format;
use std::fmt;

/// Why bytes could not be read as a conversation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is nothing but white space.
    #[error("line 1: the file is empty, expected {expected}")]
    Empty {
        /// What a file of this form begins with.
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
    /// The text is not JSON, or breaks off.
    #[error("line {line}, column {column}: {problem}, expected {expected}")]
    Json {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
        /// What the parser met.
        problem: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// The JSON is not what the form has in this place.
    #[error("line {line}: {place} is {found}, expected {expected}")]
    Unexpected {
        /// Counted from 1.
        line: usize,
        /// The place within the document, such as `messages[3].content`.
        place: String,
        /// What stands there.
        found: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// Nothing in the structure says which form this is.
    #[error("line 1: not a known conversation format, expected one of the forms that are read")]
    UnknownFormat,
    /// In the form that was asked for the file cannot be read, or most of it says nothing.
    #[error("line 1: this is not {asked}: it looks like {found}")]
    OtherForm {
        /// The form that was asked for.
        asked: Format,
        /// The form that the file has.
        found: Format,
    },
    /// Nothing in the file is of the form that was asked for.
    #[error("line 1: this file is not in the format {0}, expected one of the forms that are read")]
    NothingFound(Format),
    /// There are entries, and in the form that the file seems to have, none of them says anything.
    #[error("line 1: this looks like {0}, but nothing in it can be read, expected one of the forms that are read")]
    NothingRead(Format),
    /// There are more entries that could not be read than messages.
    #[error(
        "line 1: this looks like {format}, but most of what is said in it cannot be read ({unread} entries), expected one of the forms that are read"
    )]
    MostUnread {
        /// The form that the file seems to have.
        format: Format,
        /// Entries, or messages, that could not be read.
        unread: usize,
    },
    /// Less than nine tenths of what is said was understood, by bytes.
    #[error("this looks like {format}, but {missed} of {all} bytes of what is said in it could not be read")]
    TooLittle {
        /// The form that the file seems to have.
        format: Format,
        /// Bytes that could not be read.
        missed: usize,
        /// Bytes of all that is said.
        all: usize,
    },
    /// The messages are in the words of a program or vendor that is not read.
    #[error("line 1: the messages are those of {of}, which are not read, expected one of the forms that are read")]
    Foreign {
        /// Whose words they are.
        of: &'static str,
    },
    /// The form is for people and is not read.
    #[error("{0} is written only, expected one of the forms that are read")]
    NotReadable(Format),
}

/// Why a conversation could not be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The form is read only.
    #[error("{0} is read only, expected {forms}", forms = OneOf(Format::is_written))]
    NotWritable(Format),
}

/// The forms that can be what is expected, by their names.
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
    /// Whether the form is what is wrong, as far as can be told: the file may be a good one of another form, or of none that is
    /// read. A program can add how its user says which form a file has.
    pub fn is_of_form(&self) -> bool {
        match self {
            ReadError::UnknownFormat
            | ReadError::OtherForm { .. }
            | ReadError::NothingFound(_)
            | ReadError::NothingRead(_)
            | ReadError::MostUnread { .. }
            | ReadError::TooLittle { .. }
            | ReadError::Foreign { .. }
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
    fn errors_name_the_forms_and_no_option_of_any_program() {
        let form = Format::Codex;
        let (found, of) = (Format::Pi, "somebody");
        let errors = [
            ReadError::UnknownFormat,
            ReadError::OtherForm { asked: form, found },
            ReadError::NothingFound(form),
            ReadError::NothingRead(form),
            ReadError::MostUnread {
                format: form,
                unread: 9,
            },
            ReadError::Foreign { of },
            ReadError::NotReadable(Format::Shape),
        ];
        for error in &errors {
            let said = error.to_string();
            assert!(!said.contains("--") && !said.contains('`'), "{said}");
            let names =
                matches!(error, ReadError::OtherForm { .. }) || said.ends_with("one of the forms that are read");
            assert!(names && error.is_of_form(), "{said}");
        }
        let said = WriteError::NotWritable(form).to_string();
        assert_eq!(
            said,
            "codex is read only, expected one of anthropic, openai, responses, gemini, atif, shape"
        );
    }
}
