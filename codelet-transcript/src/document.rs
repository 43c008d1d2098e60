//! A conversation as stored in a file: the messages and the fields around them.

use crate::Format;
use codelet_context::message::Message;
use serde_json::{Map, Value};

/// A conversation that was read from a file, or is to be written to one.
#[derive(Clone, PartialEq, Debug)]
pub struct Document {
    /// The format it was read in. In this format, messages are written unchanged; only for other formats are ids and
    /// tool names rewritten to what the provider accepts, and [`validate`](codelet_context::validate) does not check
    /// their spelling. So set a provider's format only for what was read in it; [`Document::new`] sets none.
    pub format: Format,
    /// The system prompt first, if there is one, then the conversation in order.
    pub messages: Vec<Message>,
    /// For the four request formats: the other fields of the request (model, tools, limits …) in order. The fields of
    /// the messages and the system prompt stay as empty placeholders, so that a writer puts them back there; a name
    /// that begins with `codelet.` is a note from reader to writer. For an ATIF trajectory: the fields around the
    /// steps. Empty for all other formats.
    pub envelope: Map<String, Value>,
    /// Anomalies in the file.
    pub warnings: Vec<Warning>,
}

impl Document {
    /// Returns a document of messages that were not read from a file, such as those of a
    /// [view](codelet_context::view::View). It can be written in any format; ids and names are rewritten to what the
    /// provider accepts.
    pub fn new(messages: impl IntoIterator<Item = impl AsRef<Message>>) -> Self {
        Document {
            format: Format::Corpus,
            messages: messages.into_iter().map(|message| message.as_ref().clone()).collect(),
            envelope: Map::new(),
            warnings: Vec::new(),
        }
    }
}

/// An anomaly in a file that could still be read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// The last line is truncated: the file is still being written.
    CutLastLine {
        /// Counted from 1.
        line: usize,
    },
    /// The file is truncated.
    BrokenOff {
        /// Bytes after the last complete entry.
        lost: usize,
    },
    /// Lines that do not hold exactly one entry: several entries on a line, or fragments.
    BrokenLines {
        /// The first of them, counted from 1.
        first: usize,
        /// The number of such lines.
        count: usize,
        /// Bytes in them that could not be read.
        lost: usize,
    },
    /// Not all content of the file was understood.
    Missed {
        /// Bytes of entries that were not understood.
        missed: usize,
        /// Bytes of all entries with content.
        all: usize,
    },
    /// An entry says that it has no predecessor, so the entries before it in the file were left out.
    BegunAnew {
        /// The number of left out entries with content.
        left: usize,
    },
    /// Entries name a parent that is not in the file; they were taken to follow the entry before them.
    ParentGuessed {
        /// The number of such entries.
        count: usize,
    },
    /// Invalid UTF-8 was replaced.
    InvalidUtf8 {
        /// The offset of the first one.
        offset: usize,
    },
    /// Unpaired surrogate escapes (`\ud83d`) were replaced: something cut a text in the middle of a character.
    HalfCharacter {
        /// The offset of the first one.
        offset: usize,
    },
    /// The provider stores a part of the conversation, which is not in the file.
    KeptByVendor {
        /// The field or item that says so.
        by: &'static str,
    },
    /// An earlier part of the conversation is in another file.
    EarlierElsewhere {
        /// The path or id of that file; empty if unknown.
        at: String,
    },
    /// It was compacted before, so handles in it belong to another file.
    Compacted,
    /// The output format cannot represent some blocks.
    LeftOut {
        /// The output format.
        to: Format,
        /// The kinds of those blocks, and the number of each.
        kinds: Vec<(String, usize)>,
    },
    /// Entries that should have content but have none that can be read were skipped.
    UnreadEntry {
        /// The first of them, counted from 1.
        line: usize,
        /// Its kind, as the entry names it.
        kind: String,
        /// The number of such entries, of all kinds.
        count: usize,
    },
    /// An entry of a kind unknown to this version was skipped.
    UnknownEntry {
        /// Counted from 1.
        line: usize,
        /// The kind, as the entry names it.
        kind: String,
    },
}

impl Warning {
    /// Returns whether a part of the file's content could not be read.
    pub fn is_partly_read(&self) -> bool {
        matches!(
            self,
            Warning::CutLastLine { .. }
                | Warning::BrokenOff { .. }
                | Warning::BrokenLines { lost: 1.., .. }
                | Warning::Missed { .. }
        )
    }

    /// Returns whether the document differs from the file, so that the two are not interchangeable.
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
            Warning::CutLastLine { line } => write!(f, "line {line} is incomplete and was skipped (still being written?)"),
            Warning::BrokenOff { lost } => write!(f, "the file breaks off; its last {lost} bytes could not be read"),
            Warning::BrokenLines { first, count: 1, lost } => {
                write!(f, "line {first} is not a complete entry; {}", Lost(*lost))
            }
            Warning::BrokenLines { first, count, lost } => {
                write!(f, "{count} lines are not complete entries, the first is line {first}; {}", Lost(*lost))
            }
            Warning::Missed { missed, all } => {
                write!(f, "{missed} of {all} bytes of what is said in this file could not be read")
            }
            Warning::BegunAnew { left } => write!(
                f,
                "the conversation starts over in this file: {left} earlier entries are left out"
            ),
            Warning::ParentGuessed { count } => write!(
                f,
                "{count} entries continue an entry that is not in this file; they are assumed to follow the entry before them"
            ),
            Warning::InvalidUtf8 { offset } => {
                write!(f, "replaced invalid UTF-8, first at byte {offset}")
            }
            Warning::HalfCharacter { offset } => {
                write!(f, "escapes of half a character were replaced, first at offset {offset}")
            }
            Warning::KeptByVendor { by } => write!(
                f,
                "the provider stores an earlier part of this conversation ({by}), which cannot be compacted here"
            ),
            Warning::EarlierElsewhere { at } if at.is_empty() => {
                f.write_str("an earlier part of this conversation is in another file, which is not read here")
            }
            Warning::EarlierElsewhere { at } => {
                write!(f, "an earlier part of this conversation is elsewhere ({at}) and is not read here")
            }
            Warning::Compacted => f.write_str(
                "this conversation was compacted before; keep the file that --removed wrote then, which contains the texts of its handles",
            ),
            Warning::LeftOut { to, kinds } => {
                write!(f, "left out, not supported by {to}: ")?;
                for (index, (kind, count)) in kinds.iter().enumerate() {
                    write!(f, "{}{count} × {kind}", if index > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Warning::UnreadEntry { line, kind, count } => write!(
                f,
                "line {line}: skipped an unreadable entry of kind {kind:?}; entries like it: {count}"
            ),
            Warning::UnknownEntry { line, kind } => {
                write!(f, "line {line}: an entry of unknown kind {kind:?} was left out")
            }
        }
    }
}

struct Lost(usize);

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => f.write_str("nothing is lost"),
            bytes => write!(f, "{bytes} bytes could not be read"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{read, write};
    use codelet_context::message::{Part, Role, ToolCall, ToolResult};
    use codelet_context::view::View;

    #[test]
    fn what_was_in_no_file_is_written_with_ids_and_names_that_each_vendor_takes() {
        let call = |id: &str| Part::ToolCall(ToolCall::new(id, "my tool", Map::new()));
        let view = View::new([
            Message::system("Be brief."),
            Message::user("Look at both."),
            Message::new(Role::Assistant, vec![call("my id/1"), call("my id/2")]),
            Message::results(
                ["my id/1", "my id/2"]
                    .map(|id| ToolResult::new(id, Some(true), "seen"))
                    .into(),
            ),
        ]);
        let document = Document::new(&view.messages);
        assert_eq!(
            document,
            Document::new(view.messages.iter().map(|message| Message::clone(message)))
        );
        for form in [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini] {
            let text = write(&document, form).unwrap();
            assert!(!text.contains("my id/") && !text.contains("my tool"), "{form}: {text}");
            let again = read(text.as_bytes(), Some(form)).unwrap();
            let ids = |of: fn(&Message) -> Vec<String>| again.messages.iter().flat_map(of).collect::<Vec<_>>();
            let called = ids(|message| message.calls().map(|call| call.id.to_string()).collect());
            let answered = ids(|message| message.tool_results().map(|it| it.call_id.to_string()).collect());
            assert_eq!(called, answered, "{form}");
            assert_eq!(called.len(), 2, "{form}");
        }
    }
}
