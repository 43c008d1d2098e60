//! What can go wrong, as JavaScript's callers see it: a code to branch on, and a sentence to read.

use codelet_offline::options::OptionsError;
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

    /// The engine broke down, which it is not to do.
    pub fn internal(message: &str) -> Self {
        let message = format!("internal error: {message}; please report it with the conversation, if you can");
        Self::new("ERR_INTERNAL", message)
    }
}

impl From<OptionsError> for Wrong {
    fn from(error: OptionsError) -> Self {
        let code = match &error {
            OptionsError::Argument(_) => "ERR_ARGUMENT",
            OptionsError::Unreadable(_) => "ERR_UNREADABLE",
            OptionsError::Several(_) => "ERR_SEVERAL",
            OptionsError::Unwritable(_) => "ERR_UNWRITABLE",
        };
        Self::new(code, error.to_string())
    }
}
