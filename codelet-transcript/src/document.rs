//! A conversation as a file holds it: the messages, and what stands around them.

use crate::Format;
use codelet_context::message::Message;
use serde_json::{Map, Value};

/// What was read from a file, or is to be written to one.
#[derive(Clone, Debug)]
pub struct Document {
    /// The form it was read in.
    pub format: Format,
    /// System prompt first where there is one, then the conversation in order.
    pub messages: Vec<Message>,
    /// For the four request formats: the request's other fields (model, tools, limits …) in their order. Empty for the
    /// session files of agents.
    pub envelope: Map<String, Value>,
    /// When the source has times: one per message, as it writes them.
    pub warnings: Vec<Warning>,
}

/// Something odd in a file that could be read all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// The last line is cut: the file is still being written.
    CutLastLine {
        /// Counted from 1.
        line: usize,
    },
    /// Bytes that are no UTF-8 were replaced.
    InvalidUtf8 {
        /// The offset of the first one.
        offset: usize,
    },
    /// An entry of a kind that this version does not know was passed over.
    UnknownEntry {
        /// Counted from 1.
        line: usize,
        /// What the entry calls itself.
        kind: String,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::CutLastLine { line } => write!(f, "line {line} is cut and was left out: still being written?"),
            Warning::InvalidUtf8 { offset } => {
                write!(f, "bytes that are no UTF-8 were replaced, first at offset {offset}")
            }
            Warning::UnknownEntry { line, kind } => {
                write!(f, "line {line}: an entry of unknown kind {kind:?} was left out")
            }
        }
    }
}
