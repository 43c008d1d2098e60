//! Errors as JavaScript sees them: a code to branch on, and a sentence to read.

use codelet_offline::options::OptionsError;
use napi_derive::napi;

/// An error.
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

    /// An argument has no valid value.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new("ERR_ARGUMENT", message)
    }

    /// The input cannot be read.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::new("ERR_UNREADABLE", message)
    }

    /// A fault of the engine.
    pub fn internal(message: &str) -> Self {
        let message = format!("internal error: {message}; please report it, with the conversation if you can");
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
