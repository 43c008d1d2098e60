//! The engine as a Node addon. Only text and JSON cross the border; `js` has the functions that callers see. Nothing runs on
//! JavaScript's own thread, and nothing throws: an outcome is a result, or a code with a sentence.

mod job;
mod wrong;

pub use job::{Job, Outcome, Promised, promise};
pub use wrong::Wrong;

use codelet_offline::fit::{Fit, Shown};
use codelet_offline::options::{self, Compactor, OptionsError, Reading};
use codelet_offline::removed::Entry;
use codelet_offline::{fit, removed};
use codelet_replay::options::Replay;
use codelet_transcript::Format;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

/// A number of tokens or items.
fn count(number: i64) -> Result<u64, Wrong> {
    u64::try_from(number).map_err(|_| Wrong::argument(format!("{number} is negative")))
}

/// The options for reading a conversation; errors name `force: true`.
fn reading(form: &str, force: bool) -> Result<Reading, OptionsError> {
    Reading::new(form, force, "force: true")
}

/// A text that was removed from a conversation.
#[napi(object, object_from_js = false)]
pub struct Removed {
    /// The handle that stands in its place.
    pub handle: String,
    /// The text.
    pub content: String,
}

fn removed_from(entries: Vec<Entry>) -> Vec<Removed> {
    let removed = entries
        .into_iter()
        .map(|Entry { handle, content }| Removed { handle, content });
    removed.collect()
}

/// The options of `compact`.
#[napi(object, object_to_js = false)]
pub struct CompactOptions {
    /// The target size in tokens.
    pub budget: Option<i64>,
    /// The context window in tokens of a session that would compact it.
    pub window: Option<i64>,
    /// The form of the input, or `auto`.
    pub form: String,
    /// The form of the result.
    pub to: Option<String>,
    /// Continue although less than nine tenths of the messages can be read.
    pub force: bool,
    /// A sentence for the summary on how to read back what a handle stands for.
    pub reading_back: String,
}

/// The result of `compact`.
#[napi(object, object_from_js = false)]
pub struct Compacted {
    /// The conversation.
    pub text: String,
    /// The report, as JSON.
    pub report: String,
    /// The removed texts.
    pub removed: Vec<Removed>,
}

/// Makes a conversation smaller.
#[napi(js_name = "compact")]
pub fn compacted(input: &[u8], options: CompactOptions) -> Promised<Compacted> {
    let input = input.to_vec();
    promise(move || {
        let (budget, window) = (options.budget.map(count), options.window.map(count));
        let compactor = Compactor::new(
            reading(&options.form, options.force)?,
            budget.transpose()?,
            window.transpose()?,
            options.to.as_deref(),
            &options.reading_back,
        )?;
        let smaller = compactor.compact(input)?;
        Ok(Compacted {
            report: smaller.report(),
            removed: removed_from(removed::of(smaller.compacted.archive())),
            text: smaller.text,
        })
    })
}

/// The options of `fit`.
#[napi(object, object_to_js = false)]
pub struct FitOptions {
    /// The form of its items.
    pub form: String,
    /// The model's context window in tokens, less what its reply may take.
    pub window: i64,
    /// An estimate in tokens of what each request holds beside the conversation.
    pub overhead: i64,
    /// The model has a tool `recall`.
    pub offers_recall: bool,
    /// Edit now, however full the window is.
    pub is_due: bool,
}

/// A part of the request: a range of items, or a new one as JSON.
#[napi(object, object_from_js = false)]
pub struct Part {
    /// The first item that is sent unchanged.
    pub start: u32,
    /// The first item after the range.
    pub end: u32,
    /// The new item.
    pub made: Option<String>,
}

/// The result of `fit`.
#[napi(object, object_from_js = false)]
pub struct Fitted {
    /// The parts to send, in order.
    pub shown: Vec<Part>,
    /// The removed texts.
    pub removed: Vec<Removed>,
    /// The number of edits.
    pub edits: u32,
}

/// The messages to send, from a conversation that is given whole before each request: its items, one a line.
#[napi(js_name = "fit")]
pub fn fitted(lines: &[u8], options: FitOptions) -> Promised<Fitted> {
    let lines = lines.to_vec();
    promise(move || {
        let how = Fit {
            form: options::form(&options.form)?,
            window: count(options.window)?,
            overhead: count(options.overhead)?,
            offers_recall: options.offers_recall,
            is_due: options.is_due,
        };
        let items: Vec<&[u8]> = lines
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .collect();
        let fitted = fit::fit(&items, &how).map_err(|error| Wrong::unreadable(error.to_string()))?;
        let shown = fitted.shown.into_iter().map(|shown| match shown {
            Shown::AsSaid(items) => Part {
                start: items.start as u32,
                end: items.end as u32,
                made: None,
            },
            Shown::Made(json) => Part {
                start: 0,
                end: 0,
                made: Some(json),
            },
        });
        Ok(Fitted {
            shown: shown.collect(),
            removed: removed_from(removed::of(&fitted.archive)),
            edits: fitted.edits as u32,
        })
    })
}

/// Reports what fills a conversation, as JSON.
#[napi(js_name = "inspect")]
pub fn inspected(input: &[u8], form: String, force: bool, largest: i64) -> Promised<String> {
    let input = input.to_vec();
    promise(move || {
        let largest = usize::try_from(count(largest)?).unwrap_or(usize::MAX);
        let (_, report) = reading(&form, force)?.inspect(&input, largest)?;
        Ok(report)
    })
}

/// A place of a request, and the rule that it breaks.
#[napi(object, object_from_js = false)]
pub struct Fault {
    /// The place.
    pub place: String,
    /// The rule.
    pub sentence: String,
}

/// Finds the places where a request breaks its vendor's rules.
#[napi(js_name = "check")]
pub fn checked(input: &[u8], vendor: String) -> Promised<Vec<Fault>> {
    let input = input.to_vec();
    promise(move || {
        let faults = options::check(&input, &vendor)?;
        let faults = faults.into_iter().map(|fault| Fault {
            place: fault.place,
            sentence: fault.sentence,
        });
        Ok(faults.collect())
    })
}

/// The options of `replay`.
#[napi(object, object_to_js = false)]
pub struct ReplayOptions {
    /// The model's context window in tokens.
    pub window: i64,
    /// The model whose prices to use.
    pub prices: Option<String>,
    /// The policies to compare; if empty, the usual ones.
    pub policies: Vec<String>,
    /// The form of the input, or `auto`.
    pub form: String,
    /// Continue although less than nine tenths of the messages can be read.
    pub force: bool,
}

/// Computes what a conversation would have cost under other policies, as JSON.
#[napi]
pub fn replay(input: &[u8], options: ReplayOptions) -> Promised<String> {
    let input = input.to_vec();
    promise(move || {
        let replay = Replay::new(count(options.window)?, options.prices.as_deref(), &options.policies);
        let replay = replay.map_err(Wrong::argument)?;
        let recording = reading(&options.form, options.force)?.read(&input)?;
        replay.play(recording).map_err(Wrong::unreadable)
    })
}

/// Finds the text of a handle, or of a marker with one, in lines of JSON as `codelet compact --removed` writes them.
#[napi]
pub fn restore(lines: &[u8], asked: String) -> Promised<Option<String>> {
    let lines = lines.to_vec();
    promise(move || removed::restore(&lines, &asked).map_err(|broken| Wrong::unreadable(broken.to_string())))
}

/// Splits a file with several conversations; returns the file itself if it holds one.
#[napi]
pub fn conversations(input: &[u8]) -> Promised<Vec<Buffer>> {
    let input = input.to_vec();
    promise(move || {
        let all = options::conversations(&input).into_iter();
        Ok(all.map(|one| one.to_vec().into()).collect())
    })
}

/// A form of conversations.
#[napi(object, object_from_js = false)]
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// True if it can be written.
    pub is_written: bool,
    /// A description.
    pub description: &'static str,
}

/// Lists the forms that can be read.
#[napi]
pub fn formats() -> Vec<Form> {
    let all = Format::ALL.iter().map(|format| Form {
        name: format.name(),
        is_written: format.is_written(),
        description: format.describe(),
    });
    all.collect()
}

/// The version of the addon.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
