//! What is done with one conversation, in bytes and errors that are sentences. Nothing here knows of Python.

use codelet_context::compact::Target;
use codelet_context::price::{self, PriceCard};
use codelet_offline::compact::{self, Compact, Compacted, Written};
use codelet_replay::json;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::session::Session;
use codelet_replay::totals::Played;
use codelet_transcript::{Document, Format, ReadError, Recording};

/// The form of that name.
pub fn form_of(name: &str) -> Result<Format, String> {
    Format::from_name(name).ok_or_else(|| format!("{name:?} is no format; formats() lists them"))
}

/// The form of that name; none for `auto`.
pub fn asked(name: &str) -> Result<Option<Format>, String> {
    match name {
        "auto" => Ok(None),
        name => form_of(name).map(Some),
    }
}

/// How a conversation is read.
#[derive(Clone, Copy)]
pub struct Reading {
    form: Option<Format>,
    force: bool,
}

impl Reading {
    /// In the form of that name, or `auto`; with `force`, however little of it is understood.
    pub fn new(form: &str, force: bool) -> Result<Self, String> {
        let form = asked(form)?;
        Ok(Reading { form, force })
    }

    /// Reads it.
    pub fn read(self, input: &[u8]) -> Result<Recording, String> {
        let read = match self.force {
            true => codelet_transcript::record_anyway(input, self.form),
            false => codelet_transcript::record(input, self.form),
        };
        read.map_err(|error| unread(input, &error))
    }
}

/// Why nothing could be read, and what can be done about it here.
fn unread(input: &[u8], error: &ReadError) -> String {
    match (codelet_transcript::conversations(input), error) {
        (Some(all), _) => format!(
            "holds {} conversations, expected one; conversations() splits it",
            all.len()
        ),
        (None, ReadError::TooLittle { .. }) => format!("{error}; force=True continues with the rest"),
        (None, error) => error.to_string(),
    }
}

/// What was odd in a conversation.
pub fn odd(document: &Document) -> Vec<String> {
    document.warnings.iter().map(ToString::to_string).collect()
}

/// How conversations are made smaller.
pub struct Smaller<'a> {
    reading: Reading,
    how: Compact<'a>,
}

impl<'a> Smaller<'a> {
    /// To a budget, or as in a session with a window.
    pub fn new(
        reading: Reading,
        budget: Option<u64>,
        window: Option<u64>,
        to: Option<&str>,
        reading_back: &'a str,
    ) -> Result<Self, String> {
        let target = match (budget, window) {
            (Some(_), Some(_)) => return Err("budget and window exclude each other".to_owned()),
            (Some(tokens), None) => Target::Budget(tokens),
            (None, Some(tokens)) => Target::Window(tokens),
            (None, None) => Target::Select,
        };
        let to = to.map(form_of).transpose()?;
        let how = Compact {
            target,
            to,
            reading_back,
        };
        Ok(Smaller { reading, how })
    }

    /// Makes one smaller: what became of it, the result, and what was odd.
    pub fn compact(&self, input: &[u8]) -> Result<(Compacted, Written, Vec<String>), String> {
        let document = self.reading.read(input)?.document;
        let mut warnings = odd(&document);
        let mut done = compact::compact(input.to_vec(), document, &self.how);
        let written = done.write().map_err(|error| error.to_string())?;
        warnings.extend(done.warnings(&written));
        Ok((done, written, warnings))
    }
}

/// How conversations are played.
pub struct Play {
    reading: Reading,
    policies: Vec<Policy>,
    settings: Settings,
}

impl Play {
    /// In a window of so many tokens, for the prices of a model, under the policies of these names.
    pub fn new(reading: Reading, window: u64, prices: Option<&str>, policies: &[String]) -> Result<Self, String> {
        let card: PriceCard = match prices {
            None => price::usual(),
            Some(model) => price::find(model)
                .cloned()
                .ok_or_else(|| format!("the prices of {model:?} are not known"))?,
        };
        Ok(Play {
            reading,
            policies: Policy::played(&Policy::from_names(policies)?),
            settings: Settings::new(window, card),
        })
    }

    /// Plays one: what it would have cost, as JSON.
    pub fn play(&self, input: &[u8]) -> Result<String, String> {
        let recording = self.reading.read(input)?;
        let format = recording.document.format;
        let session = Session::new("", recording);
        if session.requests.is_empty() {
            return Err("contains no model reply, so there is nothing to replay".to_owned());
        }
        let played = Played::new(&session, format.name().to_owned(), &self.policies, &self.settings);
        Ok(json::played(&played).to_string())
    }
}
