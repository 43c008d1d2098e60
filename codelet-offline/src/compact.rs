//! Compacts a conversation, in the format it was read in or in another one.

use crate::{report, tool_definitions};
use codelet_context::compact::{Compaction, Options, Size, Target, Warning, compact_with};
use codelet_context::history::History;
use codelet_context::message::{Message, Part, Role};
use codelet_context::recall::Archive;
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::validate::validate;
use codelet_context::view::View;
use codelet_text::short::{clip, grouped};
use codelet_transcript::{Document, Format, Warning as DocumentWarning, WriteError, vendor};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The maximum length of a quoted problem with a conversation, in characters.
const SENTENCE: usize = 120;
/// The maximum number of kinds of problems that are reported.
const KINDS: usize = 4;
/// Not worth preserving.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Options of a compaction.
#[derive(Clone, Copy, Debug)]
pub struct Compact<'a> {
    /// The target size.
    pub target: Target,
    /// The output format. With `None` that of the input, or Anthropic's if the input format is read-only.
    pub to: Option<Format>,
    /// A sentence for the summary that says how the model reads back removed content; empty if it cannot.
    pub reading_back: &'a str,
    /// What earlier compactions of the conversation removed: new handles differ from those.
    pub earlier: Option<&'a Archive>,
}

impl Default for Compact<'_> {
    fn default() -> Self {
        Compact {
            target: Target::Select,
            to: None,
            reading_back: "",
            earlier: None,
        }
    }
}

/// A compacted conversation.
#[derive(Debug)]
pub struct Compacted {
    /// The format it was read in.
    pub format: Format,
    /// The whole conversation.
    pub history: History,
    /// The remaining conversation, and all figures.
    pub done: Compaction,
    /// Anomalies in the file.
    pub odd: Vec<DocumentWarning>,
    /// The size of its tool definitions, in tokens.
    overhead: Tokens,
    target: Target,
    to: Format,
    /// The input, as long as it may still be returned unchanged.
    original: Option<Vec<u8>>,
    document: Document,
}

/// The output.
#[derive(Debug)]
pub enum Written {
    /// The input, byte for byte.
    Original(Vec<u8>),
    /// A text, with warnings about content that its format cannot represent.
    New(codelet_transcript::Written),
}

impl Written {
    /// Returns the output, as it is to be stored.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Written::Original(bytes) => bytes,
            Written::New(written) => written.text.as_bytes(),
        }
    }

    /// Returns warnings about content that the output format cannot represent.
    pub fn warnings(&self) -> &[DocumentWarning] {
        match self {
            Written::Original(_) => &[],
            Written::New(written) => &written.warnings,
        }
    }
}

/// Compacts a conversation. `input` is what the document was read from: if there is nothing to do, it is the output.
pub fn compact(input: Vec<u8>, mut document: Document, how: &Compact<'_>) -> Compacted {
    let format = document.format;
    let own = Some(format).filter(|format| format.is_written());
    let to = how.to.or(own).unwrap_or(Format::Anthropic);
    // If the conversation is unchanged, the input is returned byte for byte; otherwise it need not stay in memory next
    // to the document.
    let is_plain = !input.starts_with(BYTE_ORDER_MARK) && !document.warnings.iter().any(DocumentWarning::is_altered);
    let original = (to == format && is_plain && may_stay(&document.messages, how.target)).then_some(input);
    let history: History = std::mem::take(&mut document.messages).into_iter().collect();
    let overhead = tool_definitions(&document);
    let pins = vendor::loaders(history.messages());
    let is_request = !vendor::list_of(format).is_empty();
    let options = Options {
        overhead,
        pins: &pins,
        archive: how.earlier,
        reading_back: Some(how.reading_back),
        ..Options::new(how.target)
    };
    let mut done = compact_with(&history, &options);
    if let Some(earlier) = how.earlier {
        done.view.archive = done.view.archive.without(earlier);
    }
    if is_request && to == format {
        end_with_reply(&history, &mut done);
    }
    if !is_request {
        // Blank texts, and prompts between a call and its output, come from the way an agent writes its file; the
        // provider accepted the actual requests, as the later replies show. Only a request shows what a provider would
        // see.
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
    /// Writes the remaining conversation.
    ///
    /// # Errors
    /// If the output format cannot represent some content.
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

    /// Returns the removed content, by the handles in its place.
    pub fn archive(&self) -> &Archive {
        &self.done.view.archive
    }

    /// Returns warnings about the compaction and its output, one sentence each.
    pub fn warnings(&self, written: &Written) -> Vec<String> {
        let told = self.done.warnings.iter().map(|warning| words(warning, &self.history));
        let left_out = written.warnings().iter().map(DocumentWarning::to_string);
        let closed = (self.done.is_closed() && matches!(written, Written::New(_))).then(|| {
            "added a placeholder prompt at the end, since providers require a last message from the user".to_owned()
        });
        let files = match removed_files(&self.history, &self.done.view) {
            0 => None,
            1 => Some("removed 1 image or file of a prompt".to_owned()),
            count => Some(format!("removed {} images and files of prompts", grouped(count))),
        };
        told.chain(left_out)
            .chain(closed)
            .chain(files)
            .chain(crowded(self.target, self.overhead))
            .collect()
    }

    /// Returns whether something was repaired that a provider would have refused.
    pub fn is_mended(&self) -> bool {
        self.done.warnings.iter().any(is_mended)
    }

    /// Returns all results, with the warnings, as JSON for programs. `elapsed` is the duration, if known.
    pub fn report(&self, warnings: &[String], elapsed: Option<Duration>) -> Value {
        report::compaction(self.format, &self.done, warnings, elapsed)
    }

    /// Returns whether the view is the history, message for message.
    fn shows_all(&self) -> bool {
        let (all, shown) = (self.history.messages(), &self.done.view.messages);
        all.len() == shown.len() && all.iter().zip(shown).all(|(old, new)| Arc::ptr_eq(old, new))
    }
}

/// Has the reply that a request ends with stay last: the model continues it.
fn end_with_reply(history: &History, done: &mut Compaction) {
    let is_reply = |message: &Arc<Message>| message.role == Role::Assistant && message.calls().next().is_none();
    let is_closed = done.is_closed();
    let messages = &mut done.view.messages;
    if history.messages().last().is_some_and(is_reply)
        && let Some(at) = messages.iter().rposition(is_reply)
        && messages[at + 1..].iter().all(|message| message.role == Role::User)
    {
        let reply = messages.remove(at);
        messages.truncate(messages.len() - usize::from(is_closed));
        messages.push(reply);
        done.after = Size::of(messages);
    }
}

/// Returns the number of images and files of the user that only a marker is left of.
fn removed_files(history: &History, view: &View) -> usize {
    let count = |messages: &[Arc<Message>]| {
        let parts = messages.iter().filter(|message| message.role == Role::User);
        let parts = parts.flat_map(|message| &message.parts);
        parts
            .filter(|part| matches!(part, Part::Image(_) | Part::Opaque(_)))
            .count()
    };
    count(history.messages()).saturating_sub(count(&view.messages))
}

fn is_mended(warning: &Warning) -> bool {
    matches!(warning, Warning::Mended { .. })
}

/// Returns whether a conversation may be left unchanged. One that is several times its target size never is.
fn may_stay(messages: &[Message], target: Target) -> bool {
    const FAR_TOO_LARGE: u64 = 4;
    let whole: u64 = messages.iter().map(estimate_message).sum();
    match target {
        Target::Select => true,
        Target::Budget(most) | Target::Window(most) => whole <= most.saturating_mul(FAR_TOO_LARGE),
    }
}

/// Returns a warning if tool definitions, which no compaction changes, take most of a context window.
fn crowded(target: Target, overhead: Tokens) -> Option<String> {
    let Target::Window(window) = target else { return None };
    (overhead > window / 2).then(|| {
        let (taken, window) = (grouped(overhead), grouped(window));
        format!("tool definitions alone take {taken} tokens of a context window of {window}; use fewer tools")
    })
}

/// Returns a warning as text; if the conversation was repaired, with the problems.
fn words(warning: &Warning, history: &History) -> String {
    match warning {
        Warning::Mended { .. } => format!("{warning}{}", what_was_wrong(history)),
        _ => warning.to_string(),
    }
}

/// Lists the problems for which some provider would have refused the conversation, with one example of each kind.
fn what_was_wrong(history: &History) -> String {
    let view = View {
        messages: history.messages().to_vec(),
        archive: Archive::default(),
    };
    let mut kinds: Vec<(String, BTreeSet<usize>, String)> = Vec::new();
    for found in validate(&view) {
        // Sentences of one kind differ in quoted text and numbers.
        let quotes = found.sentence.split('"').step_by(2);
        let kind: String = quotes.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect();
        match kinds.iter_mut().find(|(other, ..)| *other == kind) {
            Some((_, places, _)) => drop(places.insert(found.message)),
            None => kinds.push((kind, BTreeSet::from([found.message]), found.sentence)),
        }
    }
    // If nothing else is wrong, an invalid end is repaired silently.
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
