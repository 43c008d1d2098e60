//! Conversations as text: reads what coding agents record and writes what providers accept. Takes bytes and opens no
//! files.
//!
//! Every format is read into a [`Document`]: messages that keep all data that a provider needs back, and the other
//! fields of the request. Written in the format it was read in, an untouched document gives the same JSON. Written in
//! another format, it is a request that the other provider accepts: ids and names are mapped, and data that only its
//! own provider can read is left out.
//!
//! Start with [`read`] and [`write()`]; [`record()`] also returns each request's usage. [`Format`] lists the formats,
//! and [`detect()`] identifies them. The rest is for programs that write requests, such as an agent or a gateway:
//! [`vendor`] for the rules of the providers, [`actions`] for the effects of known agents' tools, [`Listed`] for
//! requests that are not parsed in full.
//!
//! ```
//! use codelet_transcript::{Format, read, write};
//!
//! let request = br#"{"messages":[{"role":"user","content":"hello"}],"system":"Be brief."}"#;
//! let document = read(request, None)?;
//! assert_eq!(document.format, Format::Anthropic);
//! assert_eq!(write(&document, Format::Anthropic)?.as_bytes(), request);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A conversation that was never in a file, such as an agent's own, is written in the format of any provider:
//!
//! ```
//! use codelet_context::message::Message;
//! use codelet_context::view::View;
//! use codelet_transcript::{Document, Format, write};
//!
//! let view = View::new([Message::system("Be brief."), Message::user("hello")]);
//! let request = write(&Document::new(&view.messages), Format::Openai)?;
//! assert!(request.contains(r#"{"role":"user","content":"hello"}"#), "{request}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

/// Runs the examples of the package's README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod actions;
mod aider;
mod amp;
mod anthropic;
mod arguments;
mod asked;
mod atif;
mod attachment;
mod blocks;
mod branch;
mod broken_off;
mod claude_code;
mod claude_stream;
mod cline;
mod codex;
mod codex_exec;
mod continue_dev;
mod continued;
mod convert;
mod copilot;
mod corpus;
mod crush;
mod cursor;
mod cursor_stream;
mod dataset;
mod detect;
mod document;
mod droid;
mod encoded;
mod envelope;
mod error;
mod events;
mod extra;
mod format;
mod gather;
mod gemini;
mod gemini_cli;
mod gemini_stream;
mod goose;
mod harness;
pub mod ids;
mod items;
mod kimi;
mod kiro;
mod langchain;
mod lines;
mod maker;
mod marked;
mod mini_swe_agent;
mod node;
mod notes;
mod objects;
mod observations;
mod openai;
mod opencode;
mod opencode2;
mod openhands;
mod opening;
pub mod origin;
mod otel;
mod pi;
pub mod pictures;
mod program;
mod qwen_code;
mod recording;
mod refused;
mod request;
mod responses;
mod session_trace;
pub mod shape;
mod share;
mod sharegpt;
#[cfg(test)]
mod sketch;
mod skim;
mod source;
mod status;
mod success;
mod swe_agent;
mod take;
mod text_tool_calls;
mod told;
mod tools;
mod trajectory;
mod ui_message;
mod unread;
pub mod vendor;
mod vscode_chat;
mod zed;

pub use attachment::{file_tokens, part as opaque_part};
pub use continued::{Earlier, earlier};
pub use dataset::conversations;
pub use detect::detect;
pub use document::{Document, Warning};
pub use encoded::Encoded;
pub use error::{ReadError, WriteError};
pub use format::Format;
pub use items::{Listed, is_reply_item, read_items, write_items};
pub use maker::{Maker, Retelling};
pub use marked::mark_last_block;
pub use recording::{Billed, Recorded, Recording};

use bytes::Bytes;
use codelet_context::message::Message;
use node::Node;
use serde_json::{Map, Value};
use share::Share;
use std::borrow::Cow;

/// Reads a conversation, in the given format or, with `None`, in the one that its structure identifies.
///
/// # Errors
/// If the bytes are not a conversation in that format, or read that way hold much less than in their actual format; the
/// error gives the place and the expected value.
pub fn read(bytes: &[u8], format: Option<Format>) -> Result<Document, ReadError> {
    record(bytes, format).map(|recording| recording.document)
}

/// Reads a conversation like [`read`], with the recorded information about its requests. Only some formats record that.
///
/// # Errors
/// As for [`read`].
pub fn record(bytes: &[u8], format: Option<Format>) -> Result<Recording, ReadError> {
    record_part(bytes, format, false)
}

/// Reads a conversation like [`record`], however little of it is understood: its warnings say how much is missing.
///
/// # Errors
/// If nothing in it can be read.
pub fn record_anyway(bytes: &[u8], format: Option<Format>) -> Result<Recording, ReadError> {
    record_part(bytes, format, true)
}

/// Reads a file, or the part of a truncated one before the truncation; `anyway` is whether any part of it is enough.
fn record_part(bytes: &[u8], format: Option<Format>, anyway: bool) -> Result<Recording, ReadError> {
    record_whole(bytes, format, anyway).or_else(|error| {
        let (mended, lost) = broken_off::closed(bytes).ok_or_else(|| error.clone())?;
        let mut recording = record_whole(&mended, format, anyway).map_err(|_| error)?;
        if !anyway {
            let all = bytes.len();
            Share { all, missed: lost }.check(recording.document.format)?;
        }
        recording.document.warnings.insert(0, Warning::BrokenOff { lost });
        Ok(recording)
    })
}

fn record_whole(bytes: &[u8], asked: Option<Format>, anyway: bool) -> Result<Recording, ReadError> {
    let found = || detect(bytes).ok_or_else(|| source::unknown(bytes));
    let format = asked.map_or_else(found, Ok)?;
    if anyway {
        let recording = read_form(bytes, format)?;
        unread::check_any(bytes, format, &recording.document)?;
        return Ok(recording);
    }
    let recording = record_as(bytes, format);
    if asked.is_none() {
        return recording;
    }
    let recording = recording.map_err(|error| asked::blame(bytes, format, error))?;
    asked::check(bytes, format, &recording.document)?;
    Ok(recording)
}

fn record_as(bytes: &[u8], format: Format) -> Result<Recording, ReadError> {
    let recording = read_form(bytes, format)?;
    unread::check(bytes, format, &recording.document)?;
    Ok(recording)
}

fn read_form(bytes: &[u8], format: Format) -> Result<Recording, ReadError> {
    let mut recording = (format.form().read)(bytes)?;
    let document = &mut recording.document;
    if format == Format::Corpus {
        told::mark_sentences(&mut document.messages);
    }
    if format.is_request() {
        told::mark(&mut document.messages);
    }
    if told::is_compacted(&document.messages) {
        document.warnings.push(Warning::Compacted);
    }
    if matches!(format, Format::Codex | Format::Responses) {
        program::follow(&mut document.messages);
    }
    refused::tell(&mut document.messages, format);
    success::tell(&mut document.messages, format);
    Ok(recording)
}

/// Writes a conversation in one of the writable formats. The output depends on the messages alone, so they may have
/// been altered since they were read.
///
/// # Errors
/// If the format is read-only.
pub fn write(document: &Document, format: Format) -> Result<String, WriteError> {
    write_all(document, format).map(|written| written.text)
}

/// A conversation as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The text.
    pub text: String,
    /// Content that the format cannot represent.
    pub warnings: Vec<Warning>,
}

/// Writes a conversation like [`write()`], and reports content that the format cannot represent.
///
/// # Errors
/// As for [`write()`].
pub fn write_all(document: &Document, format: Format) -> Result<Written, WriteError> {
    if format == Format::Shape {
        return Ok(Written::whole(shape::write(&document.messages)));
    }
    let document = in_words(document);
    if format == Format::Atif {
        let (text, warnings) = atif::write(&document);
        return Ok(Written { text, warnings });
    }
    if document.format == format {
        return encode(&document, format, |node| node.to_json()).map(Written::whole);
    }
    if !format.is_written() {
        return Err(WriteError::NotWritable(format));
    }
    let (converted, warning) = convert::convert(&document, format);
    Ok(Written {
        text: encode(&converted, format, |node| node.to_json())?,
        warnings: warning.into_iter().collect(),
    })
}

/// Writes a request in its own format like [`write()`], in slices that concatenate to its text. Its list of messages goes
/// on with `more`, from [`write_more`]. Slices of long texts are encoded once and kept in `encoded`, which is to
/// [begin](Encoded::begin) before each request, for the next request that holds them.
///
/// # Errors
/// If the document's format is read-only.
pub fn write_slices(document: &Document, more: &[Bytes], encoded: &mut Encoded) -> Result<Vec<Bytes>, WriteError> {
    let document = in_words(document);
    let list = vendor::list_of(document.format);
    encode(&document, document.format, |node| node.to_slices(list, more, encoded))
}

/// Writes messages that continue the list of a request, for [`write_slices`]. What precedes them has to end with another
/// role, and to hold neither calls nor results of theirs: then the request is the same as if it were written at once.
///
/// # Errors
/// If the format is read-only.
pub fn write_more(messages: Vec<Message>, format: Format, encoded: &mut Encoded) -> Result<Vec<Bytes>, WriteError> {
    let document = Document {
        format,
        messages,
        envelope: Map::from_iter([(extra::LIST.to_owned(), Value::Bool(true))]),
        warnings: Vec::new(),
    };
    let document = in_words(&document);
    encode(&document, format, |node| node.to_more(encoded))
}

/// Returns the document with calls that were parsed from text turned back into text.
fn in_words(document: &Document) -> Cow<'_, Document> {
    match text_tool_calls::put_back(&document.messages) {
        Cow::Borrowed(_) => Cow::Borrowed(document),
        Cow::Owned(messages) => Cow::Owned(Document {
            format: document.format,
            messages,
            envelope: document.envelope.clone(),
            warnings: document.warnings.clone(),
        }),
    }
}

fn encode<T>(document: &Document, format: Format, encode: impl FnOnce(&Node) -> T) -> Result<T, WriteError> {
    Ok(match format {
        Format::Anthropic => anthropic::write(document, encode),
        Format::Openai => openai::write(document, encode),
        Format::Responses => responses::write(document, encode),
        Format::Gemini => gemini::write(document, encode),
        other => return Err(WriteError::NotWritable(other)),
    })
}

impl Written {
    fn whole(text: String) -> Self {
        Written {
            text,
            warnings: Vec::new(),
        }
    }
}
