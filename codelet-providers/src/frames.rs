//! What comes back, frame by frame: each wire puts the vendor's own message together again, as it would have come in one
//! piece, so that it can go back as it came.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod responses;

use codelet_agent::model::{Billed, Delta, Stop};
use serde_json::{Map, Value};

/// Why no more frames are read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Trouble {
    /// The vendor reports an error; the frame as it came.
    Reported(String),
    /// A frame makes no sense.
    Garbled(String),
}

/// What comes of a frame beside the message that it is a part of.
pub(crate) type Deltas = Vec<Delta>;

/// Puts one reply together.
pub(crate) trait Frames: Send {
    /// Takes the data of one frame; `true` when the reply is complete.
    fn take(&mut self, frame: &str, deltas: &mut Deltas) -> Result<bool, Trouble>;

    /// What was reported so far.
    fn billed(&self) -> Billed;

    /// The whole reply; none while the end is missing.
    fn finish(&mut self) -> Option<Whole>;
}

/// A reply in the vendor's own form.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Whole {
    /// The messages or items of the reply, as a request lists them.
    pub list: Vec<Value>,
    /// Which of its calls, in order, have parameters that were no whole JSON object.
    pub broken: Vec<usize>,
    /// Why it ended.
    pub stop: Option<Stop>,
}

/// A frame as JSON.
pub(crate) fn parse(frame: &str) -> Result<Value, Trouble> {
    serde_json::from_str(frame).map_err(|error| {
        let beginning: String = frame.chars().take(80).collect();
        let dots = if frame.chars().nth(80).is_some() { "…" } else { "" };
        Trouble::Garbled(format!("a frame is no JSON ({error}): {beginning}{dots}"))
    })
}

/// A string field that is not empty.
pub(crate) fn str<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Appends to a string field, making it where there is none.
pub(crate) fn append(fields: &mut Map<String, Value>, name: &str, more: &str) {
    match fields.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            fields.insert(name.to_owned(), Value::from(more));
        }
    }
}

/// The parameters of a call from their text: an object; none where it is no whole one. No text is an empty object.
pub(crate) fn parameters(text: &str) -> Option<Map<String, Value>> {
    if matches!(text.trim(), "" | "null") {
        return Some(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

/// Tells of new counts, once.
#[derive(Default)]
pub(crate) struct Told(Option<Billed>);

impl Told {
    pub(crate) fn tell(&mut self, billed: Billed, deltas: &mut Deltas) {
        if self.0 != Some(billed) {
            self.0 = Some(billed);
            deltas.push(Delta::Billed(billed));
        }
    }
}

/// A vendor's reason for saying nothing, in words.
pub(crate) fn declined(reason: &str, words: Option<&str>) -> Stop {
    Stop::Declined(match words {
        Some(words) => format!("{words} ({reason})"),
        None => reason.to_owned(),
    })
}
