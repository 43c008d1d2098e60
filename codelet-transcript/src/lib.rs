//! Conversations as text: reads what coding agents record, writes what vendors accept. Takes bytes, opens nothing.
//!
//! Everything becomes a [`Document`]: messages that keep all that a vendor needs back, and the request's other fields.
//! Written in the form that it was read in, an untouched document is the same JSON again. Written in another form, it is
//! a request that the other vendor accepts: ids and names are mapped, and what only its own vendor can read is left out.
//!
//! Start with [`read`] and [`write()`]; [`record()`] also gives what was billed for each request. [`Format`] lists the forms, and
//! [`detect()`] tells them apart. The rest is for who writes requests of their own, as an agent or a gateway does: [`vendor`] for
//! what vendors demand, [`actions`] for what the tools of known agents do, [`Listed`] for requests that are not read whole.
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
//! What was never in a file, as an agent's own conversation, is written in the form of whichever vendor is asked:
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

/// What the package's page shows is run as the rest of the examples is.
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
mod glued;
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
mod windowed;
mod zed;

pub use attachment::file_tokens;
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
use node::Node;
use share::Share;
use std::borrow::Cow;

/// Reads a conversation, in the given form or, with `None`, in the one that its structure shows.
///
/// # Errors
/// When the bytes are no conversation of that form, or read so say much less than in the form that they have; the error
/// says where and what was expected.
pub fn read(bytes: &[u8], format: Option<Format>) -> Result<Document, ReadError> {
    record(bytes, format).map(|recording| recording.document)
}

/// Reads a conversation as [`read`] does, with what was recorded of its requests beside it. Only some forms record that.
///
/// # Errors
/// As for [`read`].
pub fn record(bytes: &[u8], format: Option<Format>) -> Result<Recording, ReadError> {
    record_whole(bytes, format).or_else(|error| {
        let (mut recording, lost) = as_far_as_it_goes(bytes, format, record_whole).ok_or(error)?;
        let share = Share {
            all: bytes.len(),
            missed: lost,
        };
        share.check(recording.document.format)?;
        recording.document.warnings.insert(0, Warning::BrokenOff { lost });
        Ok(recording)
    })
}

/// What stands before the place at which a file breaks off, and how many bytes are lost; none where it does not, or there is nothing.
fn as_far_as_it_goes(
    bytes: &[u8],
    format: Option<Format>,
    read: impl Fn(&[u8], Option<Format>) -> Result<Recording, ReadError>,
) -> Option<(Recording, usize)> {
    let (mended, lost) = broken_off::closed(bytes)?;
    Some((read(&mended, format).ok()?, lost))
}

fn record_whole(bytes: &[u8], format: Option<Format>) -> Result<Recording, ReadError> {
    match format {
        Some(format) => {
            let recording = record_as(bytes, format).map_err(|error| asked::blame(bytes, format, error))?;
            asked::check(bytes, format, &recording.document)?;
            Ok(recording)
        }
        None => record_as(bytes, detect(bytes).ok_or_else(|| source::unknown(bytes))?),
    }
}

/// Reads a conversation as [`record`] does, however little of it is understood: its warnings say how much is missing.
///
/// # Errors
/// When nothing can be read of it.
pub fn record_anyway(bytes: &[u8], format: Option<Format>) -> Result<Recording, ReadError> {
    record_all(bytes, format).or_else(|error| {
        let (mut recording, lost) = as_far_as_it_goes(bytes, format, record_all).ok_or(error)?;
        recording.document.warnings.insert(0, Warning::BrokenOff { lost });
        Ok(recording)
    })
}

fn record_all(bytes: &[u8], format: Option<Format>) -> Result<Recording, ReadError> {
    let found = || detect(bytes).ok_or_else(|| source::unknown(bytes));
    let format = format.map_or_else(found, Ok)?;
    let recording = read_as(bytes, format)?;
    unread::check_any(bytes, format, &recording.document)?;
    Ok(recording)
}

fn record_as(bytes: &[u8], format: Format) -> Result<Recording, ReadError> {
    let recording = read_as(bytes, format)?;
    unread::check(bytes, format, &recording.document)?;
    Ok(recording)
}

fn read_as(bytes: &[u8], format: Format) -> Result<Recording, ReadError> {
    let mut recording = read_form(bytes, format)?;
    if matches!(format, Format::Codex | Format::Responses) {
        program::follow(&mut recording.document.messages);
    }
    windowed::name_files(&mut recording.document.messages);
    refused::tell(&mut recording.document.messages, format);
    success::tell(&mut recording.document.messages, format);
    Ok(recording)
}

fn read_form(bytes: &[u8], format: Format) -> Result<Recording, ReadError> {
    let mut recording = (format.form().read)(bytes)?;
    let document = &mut recording.document;
    if format == Format::Corpus {
        told::mark_sentences(&mut document.messages);
    }
    if format.is_request() && told::mark(&mut document.messages) {
        document.warnings.push(Warning::Compacted);
    }
    Ok(recording)
}

/// Writes a conversation in one of the forms that are written. What is written follows the messages alone, so they may
/// have been altered since they were read.
///
/// # Errors
/// When the form is read only.
pub fn write(document: &Document, format: Format) -> Result<String, WriteError> {
    write_all(document, format).map(|written| written.text)
}

/// A conversation as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The text.
    pub text: String,
    /// What the form has no place for.
    pub warnings: Vec<Warning>,
}

/// Writes a conversation as [`write()`] does, and tells what the form has no place for.
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

/// Writes a request in its own form as [`write()`] does, in slices that together are its text. Those of long texts are made once
/// and kept in `encoded`, for the next request that holds them.
///
/// # Errors
/// When the document's form is read only.
pub fn write_slices(document: &Document, encoded: &mut Encoded) -> Result<Vec<Bytes>, WriteError> {
    let document = in_words(document);
    encode(&document, document.format, |node| node.to_slices(encoded))
}

/// The document with calls that stood in words in words again.
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
