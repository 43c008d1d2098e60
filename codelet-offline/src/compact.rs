//! A conversation made smaller, in the form that it was read in or in another one.

use crate::{report, tool_definitions};
use codelet_context::compact::{Compaction, Options, Size, Target, Warning, compact_with};
use codelet_context::history::History;
use codelet_context::message::Message;
use codelet_context::recall::Archive;
use codelet_context::tokens::Tokens;
use codelet_context::validate::{Vendor, validate};
use codelet_context::view::View;
use codelet_text::short::{clip, grouped};
use codelet_transcript::{Document, Format, Warning as DocumentWarning, WriteError, vendor};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How much is quoted of what is wrong with a conversation, in characters.
const SENTENCE: usize = 120;
/// Kinds of faults of a conversation that are told of.
const KINDS: usize = 4;
/// Nobody wants it back.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a conversation is made smaller.
#[derive(Clone, Copy, Debug)]
pub struct Compact<'a> {
    /// How small it is to be.
    pub target: Target,
    /// The form of the result. With `None` that of the input, or Anthropic's where that one is only read.
    pub to: Option<Format>,
    /// One sentence for the summary that says how whoever goes on reads back what was removed; empty where nobody can.
    pub reading_back: &'a str,
}

impl Default for Compact<'_> {
    fn default() -> Self {
        Compact {
            target: Target::Select,
            to: None,
            reading_back: "",
        }
    }
}

/// A conversation with what became of it.
#[derive(Debug)]
pub struct Compacted {
    /// The form that it was read in.
    pub format: Format,
    /// What was said.
    pub history: History,
    /// What is left of it, and all figures.
    pub done: Compaction,
    /// What was odd in the file.
    pub odd: Vec<DocumentWarning>,
    /// What its tools' definitions weigh, in tokens.
    overhead: Tokens,
    target: Target,
    to: Format,
    /// What it was read from, while it may still be given back as it is.
    original: Option<Vec<u8>>,
    document: Document,
}

/// What the result is.
#[derive(Debug)]
pub enum Written {
    /// The input, byte for byte.
    Original(Vec<u8>),
    /// A text, with what its form has no place for.
    New(codelet_transcript::Written),
}

impl Written {
    /// The result, as it is to be stored.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Written::Original(bytes) => bytes,
            Written::New(written) => written.text.as_bytes(),
        }
    }

    /// What the form of the result has no place for.
    pub fn warnings(&self) -> &[DocumentWarning] {
        match self {
            Written::Original(_) => &[],
            Written::New(written) => &written.warnings,
        }
    }
}

/// Makes a conversation smaller. `input` is what the document was read from: where nothing is to be done, it is the result.
pub fn compact(input: Vec<u8>, mut document: Document, how: &Compact<'_>) -> Compacted {
    let format = document.format;
    let own = Some(format).filter(|format| format.is_written());
    let to = how.to.or(own).unwrap_or(Format::Anthropic);
    // What is left as it is, is given back byte for byte; else the text need not stay beside what was read from it.
    let is_plain = !input.starts_with(BYTE_ORDER_MARK) && !document.warnings.iter().any(DocumentWarning::is_altered);
    let original = (to == format && is_plain).then_some(input);
    let history = History::of_recording(std::mem::take(&mut document.messages));
    let original = original.filter(|_| may_stay(&history, how.target));
    let overhead = tool_definitions(&document);
    let pins = vendor::loaders(history.messages());
    let options = Options {
        overhead,
        pins: &pins,
        reading_back: Some(how.reading_back),
        ..Options::new(how.target)
    };
    let mut done = compact_with(&history, &options);
    if vendor::list_of(format).is_empty() {
        // Blank texts, and prompts between a call and its output, are how an agent writes its file; what it sent was taken by its
        // vendor, as the replies behind it show. Only a request shows what a vendor would see.
        done.warnings.retain(|warning| !is_mended(warning));
    }
    if to == format && vendor::settle(format, &document.envelope, history.messages(), &mut done.view) {
        done.after = Size::of(&done.view.messages);
    }
    Compacted {
        format,
        history,
        done,
        odd: std::mem::take(&mut document.warnings),
        overhead,
        target: how.target,
        to,
        original,
        document,
    }
}

impl Compacted {
    /// Writes what is left.
    ///
    /// # Errors
    /// When the conversation has something that the form of the result cannot say.
    pub fn write(&mut self) -> Result<Written, WriteError> {
        if let Some(bytes) = self.original.take().filter(|_| self.shows_all()) {
            return Ok(Written::Original(bytes));
        }
        // Messages share their texts with the history, so this copies little.
        let shown = self.done.view.messages.iter().map(|message| {
            let mut message = Message::clone(message);
            codelet_transcript::ids::spell(&mut message, self.to);
            message
        });
        self.document.messages = shown.collect();
        codelet_transcript::write_all(&self.document, self.to).map(Written::New)
    }

    /// What left the conversation, by the handles that stand in its place.
    pub fn archive(&self) -> &Archive {
        &self.done.view.archive
    }

    /// What whoever asked should know of the compaction and of its result, a sentence each.
    pub fn warnings(&self, written: &Written) -> Vec<String> {
        let told = self.done.warnings.iter().map(|warning| words(warning, &self.history));
        let left_out = written.warnings().iter().map(DocumentWarning::to_string);
        told.chain(left_out)
            .chain(crowded(self.target, self.overhead))
            .collect()
    }

    /// Whether something was mended that a vendor would have refused.
    pub fn is_mended(&self) -> bool {
        self.done.warnings.iter().any(is_mended)
    }

    /// Everything that was found and done, with the warnings, for programs. `elapsed` is how long it took, where that is known.
    pub fn report(&self, warnings: &[String], elapsed: Option<Duration>) -> Value {
        report::compaction(self.format, &self.done, warnings, elapsed)
    }

    /// Whether the view is the history, message for message.
    fn shows_all(&self) -> bool {
        let (all, shown) = (self.history.messages(), &self.done.view.messages);
        all.len() == shown.len() && all.iter().zip(shown).all(|(old, new)| Arc::ptr_eq(old, new))
    }
}

fn is_mended(warning: &Warning) -> bool {
    matches!(warning, Warning::Mended { .. })
}

/// Whether a conversation may be left as it is. One that is several times as large as it is to be never is.
fn may_stay(history: &History, target: Target) -> bool {
    const FAR_TOO_LARGE: u64 = 4;
    let whole: u64 = history.estimates().iter().sum();
    match target {
        Target::Select => true,
        Target::Budget(most) | Target::Window(most) => whole <= most.saturating_mul(FAR_TOO_LARGE),
    }
}

/// Definitions of tools that leave little of a window, which no compaction changes.
fn crowded(target: Target, overhead: Tokens) -> Option<String> {
    let Target::Window(window) = target else { return None };
    (overhead > window / 2).then(|| {
        let (taken, window) = (grouped(overhead), grouped(window));
        format!("tool definitions alone take {taken} tokens of a context window of {window}; use fewer tools")
    })
}

/// A warning in words; where the conversation was mended, with what was wrong.
fn words(warning: &Warning, history: &History) -> String {
    match warning {
        Warning::Mended { .. } => format!("{warning}{}", what_was_wrong(history)),
        _ => warning.to_string(),
    }
}

/// What some vendor would have refused, one example of each kind.
fn what_was_wrong(history: &History) -> String {
    let view = View {
        messages: history.messages().to_vec(),
        archive: Archive::default(),
    };
    let mut kinds: Vec<(String, BTreeSet<usize>, String)> = Vec::new();
    for vendor in Vendor::ALL {
        for found in validate(&view, vendor) {
            // Sentences of a kind differ in what they quote and count.
            let quotes = found.sentence.split('"').step_by(2);
            let kind: String = quotes.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect();
            match kinds.iter_mut().find(|(other, ..)| *other == kind) {
                Some((_, places, _)) => drop(places.insert(found.message)),
                None => kinds.push((kind, BTreeSet::from([found.message]), found.sentence)),
            }
        }
    }
    // How it ends is mended without a word if nothing else is wrong.
    kinds.retain(|(_, _, sentence)| !sentence.starts_with("The conversation ends"));
    let shown = kinds.iter().take(KINDS).map(|(_, places, sentence)| {
        let first = places.first().copied().unwrap_or(0);
        let more = match places.len() {
            0 | 1 => String::new(),
            count => format!(" (and {} more)", grouped(count - 1)),
        };
        let sentence = clip(sentence.trim_end_matches('.'), SENTENCE);
        format!("; message {}: {sentence}{more}", grouped(first))
    });
    shown.collect()
}
