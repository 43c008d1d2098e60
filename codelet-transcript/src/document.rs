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
    /// For the four request formats: the request's other fields (model, tools, limits …) in their order. Where messages
    /// and system prompt stood, their fields stand empty, so that a writer puts them back there; a name that begins with
    /// `codelet.` is a note from reader to writer. Empty for everything else.
    pub envelope: Map<String, Value>,
    /// What was odd in the file.
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
    /// Escapes of half a character (`\ud83d`) were replaced: something cut a text in the middle of a character.
    HalfCharacter {
        /// The offset of the first one.
        offset: usize,
    },
    /// The vendor keeps a part of the conversation, which is not in the file.
    KeptByVendor {
        /// The field or item that says so.
        by: &'static str,
    },
    /// It was compacted before, so handles in it are those of another file.
    Compacted,
    /// The form it is written in has nothing like some blocks.
    LeftOut {
        /// That form.
        to: Format,
        /// Kinds of block, and how many of each.
        kinds: Vec<(String, usize)>,
    },
    /// Entries that should hold something that was said, and hold nothing that can be read as such, were passed over.
    UnreadEntry {
        /// The first of them, counted from 1.
        line: usize,
        /// What it calls itself.
        kind: String,
        /// How many there are, of all kinds.
        count: usize,
    },
    /// An entry of a kind that this version does not know was passed over.
    UnknownEntry {
        /// Counted from 1.
        line: usize,
        /// What the entry calls itself.
        kind: String,
    },
}

impl Warning {
    /// Whether what was read differs from what the file says, so that the two are not interchangeable.
    pub fn is_altered(&self) -> bool {
        !matches!(
            self,
            Warning::KeptByVendor { .. } | Warning::LeftOut { .. } | Warning::Compacted
        )
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::CutLastLine { line } => write!(f, "line {line} is cut and was left out: still being written?"),
            Warning::InvalidUtf8 { offset } => {
                write!(f, "bytes that are no UTF-8 were replaced, first at offset {offset}")
            }
            Warning::HalfCharacter { offset } => {
                write!(f, "escapes of half a character were replaced, first at offset {offset}")
            }
            Warning::KeptByVendor { by } => write!(
                f,
                "the vendor keeps an earlier part of this conversation ({by}), which is not seen here and not compacted"
            ),
            Warning::Compacted => f.write_str(
                "this conversation was compacted before; what the handles in it name is in the file that --removed wrote then, so keep that file",
            ),
            Warning::LeftOut { to, kinds } => {
                write!(f, "left out, since {to} has nothing like it: ")?;
                for (index, (kind, count)) in kinds.iter().enumerate() {
                    write!(f, "{}{count} × {kind}", if index > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Warning::UnreadEntry { line, kind, count } => write!(
                f,
                "line {line}: this entry of kind {kind:?} holds nothing that can be read and was left out; entries like it: {count}"
            ),
            Warning::UnknownEntry { line, kind } => {
                write!(f, "line {line}: an entry of unknown kind {kind:?} was left out")
            }
        }
    }
}
