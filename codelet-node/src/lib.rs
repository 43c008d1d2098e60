//! The engine for JavaScript, as an addon of Node's. Text and JSON cross the border; what JavaScript's callers see is made of them in
//! `js`. Nothing works on JavaScript's own thread, and nothing throws: an outcome is a result, or a code with a sentence.

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

/// A number of tokens or of items.
fn count(number: i64) -> Result<u64, Wrong> {
    u64::try_from(number).map_err(|_| Wrong::argument(format!("{number} is less than nothing")))
}

/// How a conversation is read, in the words of JavaScript's callers.
fn reading(form: &str, force: bool) -> Result<Reading, OptionsError> {
    Reading::new(form, force, "force: true")
}

/// What left a conversation.
#[napi(object, object_from_js = false)]
pub struct Removed {
    /// What stands in its place.
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

/// What `compact` is asked for.
#[napi(object, object_to_js = false)]
pub struct CompactOptions {
    /// How many tokens there may be.
    pub budget: Option<i64>,
    /// The context window of a session that would compact it.
    pub window: Option<i64>,
    /// The form of the input, or `auto`.
    pub form: String,
    /// That of the result.
    pub to: Option<String>,
    /// Whether what can be read is enough.
    pub force: bool,
    /// A sentence of the summary.
    pub reading_back: String,
}

/// What `compact` returns.
#[napi(object, object_from_js = false)]
pub struct Compacted {
    /// The conversation.
    pub text: String,
    /// What was done, as JSON.
    pub report: String,
    /// What left it.
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

/// How a conversation is fitted.
#[napi(object, object_to_js = false)]
pub struct FitOptions {
    /// The form of its items.
    pub form: String,
    /// The model's context window in tokens, less what its reply may take.
    pub window: i64,
    /// What a request holds beside the conversation, in tokens.
    pub overhead: i64,
    /// The model has a tool `recall`.
    pub offers_recall: bool,
    /// Edit now, however full the window is.
    pub is_due: bool,
}

/// A part of what is sent: items from one number to another, or one that was made, as JSON.
#[napi(object, object_from_js = false)]
pub struct Part {
    /// The first item that is sent as it came.
    pub start: u32,
    /// The first that is not.
    pub end: u32,
    /// The item that was made.
    pub made: Option<String>,
}

/// What `fit` returns.
#[napi(object, object_from_js = false)]
pub struct Fitted {
    /// What is sent, in order.
    pub shown: Vec<Part>,
    /// What is not sent.
    pub removed: Vec<Removed>,
    /// How often it was edited.
    pub edits: u32,
}

/// What is sent of a conversation that comes whole before each request: its items, one a line.
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

/// What fills a conversation, as JSON.
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

/// Where a request breaks its vendor's rules.
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

/// What `replay` is asked for.
#[napi(object, object_to_js = false)]
pub struct ReplayOptions {
    /// The model's context window in tokens.
    pub window: i64,
    /// A model whose prices count.
    pub prices: Option<String>,
    /// The ways of editing; none stands for the usual ones.
    pub policies: Vec<String>,
    /// The form of the input, or `auto`.
    pub form: String,
    /// Whether what can be read is enough.
    pub force: bool,
}

/// What a conversation would have cost under other ways of editing its history, as JSON.
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

/// The text of a handle, or of a marker that names one, in lines of JSON as `codelet compact --removed` writes them.
#[napi]
pub fn restore(lines: &[u8], asked: String) -> Promised<Option<String>> {
    let lines = lines.to_vec();
    promise(move || removed::restore(&lines, &asked).map_err(|broken| Wrong::unreadable(broken.to_string())))
}

/// The conversations of a file that holds more than one; the file itself where it holds one.
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
    /// Whether it is written.
    pub is_written: bool,
    /// What it is.
    pub description: &'static str,
}

/// The forms that are read.
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
