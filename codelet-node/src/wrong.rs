//! What can go wrong, as JavaScript's callers see it: a code to branch on, and a sentence to read.

use codelet_transcript::{ReadError, WriteError};
use napi_derive::napi;

/// Why nothing came of a call.
#[napi(object, object_from_js = false)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// One of the codes of `CodeletError`.
    pub code: String,
    /// A sentence that names the place.
    pub message: String,
}

impl Wrong {
    fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
        }
    }

    /// What the caller asks for does not exist.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new("ERR_ARGUMENT", message)
    }

    /// What was given is nothing that can be read.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::new("ERR_UNREADABLE", message)
    }

    /// Why a conversation could not be read, and what can be done about it here.
    pub fn unread(input: &[u8], error: &ReadError) -> Self {
        match (codelet_transcript::conversations(input), error) {
            (Some(all), _) => Self::new(
                "ERR_SEVERAL",
                format!(
                    "holds {} conversations, expected one; conversations() splits it",
                    all.len()
                ),
            ),
            (None, ReadError::TooLittle { .. }) => {
                Self::unreadable(format!("{error}; force: true continues with the rest"))
            }
            (None, error) => Self::unreadable(error.to_string()),
        }
    }

    /// The form cannot hold it, or nobody writes that form.
    pub fn unwritable(error: &WriteError) -> Self {
        Self::new("ERR_UNWRITABLE", error.to_string())
    }

    /// The engine broke down, which it is not to do.
    pub fn internal(message: &str) -> Self {
        let message = format!("internal error: {message}; please report it with the conversation, if you can");
        Self::new("ERR_INTERNAL", message)
    }
}
