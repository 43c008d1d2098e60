//! What can be wrong with a file, in the words of the person who holds it. Whoever opened it adds its name.

use crate::Format;

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
    #[error("byte {offset} of line {line} belongs to no text file, expected JSON")]
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
    #[error("line 1: no known conversation, expected one of the forms that `codelet formats` lists")]
    UnknownFormat,
    /// In the form that was asked for the file cannot be read, or most of it says nothing.
    #[error("line 1: this does not read as {asked}: it looks like {found}, expected --from {found}")]
    OtherForm {
        /// The form that was asked for.
        asked: Format,
        /// The form that the file has.
        found: Format,
    },
    /// Nothing in the file is of the form that was asked for.
    #[error("line 1: nothing in this file reads as {0}, expected one of the forms that `codelet formats` lists")]
    NothingFound(Format),
    /// There are entries, and in the form that the file seems to have, none of them says anything.
    #[error(
        "line 1: this looks like {0}, but nothing in it can be read, expected one of the forms that `codelet formats` lists"
    )]
    NothingRead(Format),
    /// There are more entries that could not be read than messages.
    #[error(
        "line 1: this looks like {format}, but most of what is said in it cannot be read ({unread} entries), expected one of the forms that `codelet formats` lists"
    )]
    MostUnread {
        /// The form that the file seems to have.
        format: Format,
        /// Entries, or messages, that could not be read.
        unread: usize,
    },
    /// The messages are in the words of a program or vendor that is not read.
    #[error(
        "line 1: the messages are those of {of}, which are not read, expected one of the forms that `codelet formats` lists"
    )]
    Foreign {
        /// Whose words they are.
        of: &'static str,
    },
    /// The form is for people and is not read.
    #[error("{0} is written only, expected one of the forms that `codelet formats` lists as read")]
    NotReadable(Format),
}

/// Why a conversation could not be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The form is read only.
    #[error("{0} is read only, expected one of the forms that `codelet formats` lists as written")]
    NotWritable(Format),
}
