//! The conversation as a file, where the user asks for it: everything that was said, as a request that `codelet compact` reads.
//!
//! The form is Anthropic's, whoever was asked: it has a place for whether a tool worked. Thinking and fields that only another
//! vendor could check are left out, and a text that is not the speaker's own says what it is.

use crate::exit::Failure;
use crate::output::{Access, Output, Pinned};
use crate::place::Place;
use crate::world;
use codelet_agent::session::Session;
use codelet_transcript::{Document, Format, Maker, Retelling, origin};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Finds the file before a run that may take hours, and before any command runs that could put something else in its
/// place.
///
/// # Errors
/// When its folder is missing or takes no file, it is no file, or a link leads there from where commands may write.
pub fn pin(path: &Path, place: &Place) -> Result<Pinned, Failure> {
    let pinned = Output::named(path).pin(Access::OwnerOnly, &world::written_by_commands(place))?;
    pinned.check()?;
    Ok(pinned)
}

/// Writes the whole history, fit to be sent: a call whose tool still runs is answered with a word about that.
///
/// # Errors
/// When the file cannot be written; nothing is left half-written then.
pub fn write(pinned: &Pinned, session: &Session) -> Result<(), Failure> {
    let mut envelope = Map::new();
    envelope.insert("model".to_owned(), json!(session.model().profile().name));
    envelope.insert("max_tokens".to_owned(), json!(session.most_output()));
    envelope.insert("system".to_owned(), Value::Null);
    envelope.insert("messages".to_owned(), Value::Null);
    let mut retelling = Retelling::new(|maker: &Maker| maker.form == Format::Anthropic);
    let said = session.said();
    let messages = said.iter().filter_map(|message| retelling.message((**message).clone()));
    let document = Document {
        format: Format::Anthropic,
        messages: messages.map(origin::noted).collect(),
        envelope,
        warnings: Vec::new(),
    };
    let text =
        codelet_transcript::write(&document, Format::Anthropic).map_err(|error| Failure::Told(error.to_string()))?;
    pinned.write(|out| out.write_all(text.as_bytes()))
}
