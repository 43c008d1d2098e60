//! The engine for JavaScript, as an addon of Node's. Text and JSON cross the border; what JavaScript's callers see is made of them in
//! `js`. Nothing works on JavaScript's own thread, and nothing throws: an outcome is a result, or a code with a sentence.

mod job;
mod wrong;

pub use job::{Job, Outcome, Promised, promise};
pub use wrong::Wrong;

use codelet_context::compact::Target;
use codelet_context::price;
use codelet_context::recall::Archive;
use codelet_offline::compact::Compact;
use codelet_offline::fit::{Fit, Shown};
use codelet_offline::{check, compact, fit, inspect, removed};
use codelet_replay::json;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::session::Session;
use codelet_replay::totals::Played;
use codelet_transcript::{Document, Format, Recording};
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

/// The form of that name.
fn form_of(name: &str) -> Result<Format, Wrong> {
    Format::from_name(name).ok_or_else(|| Wrong::argument(format!("{name:?} is no format; formats() lists them")))
}

/// The form of that name; none for `auto`.
fn asked(name: &str) -> Result<Option<Format>, Wrong> {
    match name {
        "auto" => Ok(None),
        name => form_of(name).map(Some),
    }
}

/// A number of tokens or of items.
fn count(number: i64) -> Result<u64, Wrong> {
    u64::try_from(number).map_err(|_| Wrong::argument(format!("{number} is less than nothing")))
}

fn read(input: &[u8], form: &str, force: bool) -> Result<Recording, Wrong> {
    let form = asked(form)?;
    let read = match force {
        true => codelet_transcript::record_anyway(input, form),
        false => codelet_transcript::record(input, form),
    };
    read.map_err(|error| Wrong::unread(input, &error))
}

fn odd(document: &Document) -> Vec<String> {
    document.warnings.iter().map(ToString::to_string).collect()
}

/// What left a conversation.
#[napi(object, object_from_js = false)]
pub struct Removed {
    /// What stands in its place.
    pub handle: String,
    /// The text.
    pub content: String,
}

fn removed_from(archive: &Archive) -> Vec<Removed> {
    let entries = archive.iter().map(|(handle, removed)| Removed {
        handle: handle.as_str().to_owned(),
        content: removed.body.as_str().to_owned(),
    });
    entries.collect()
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
        let target = match (options.budget, options.window) {
            (Some(_), Some(_)) => return Err(Wrong::argument("budget and window exclude each other")),
            (Some(tokens), None) => Target::Budget(count(tokens)?),
            (None, Some(tokens)) => Target::Window(count(tokens)?),
            (None, None) => Target::Select,
        };
        let to = options.to.as_deref().map(form_of).transpose()?;
        let document = read(&input, &options.form, options.force)?.document;
        let mut warnings = odd(&document);
        let how = Compact {
            target,
            to,
            reading_back: &options.reading_back,
        };
        let mut done = compact::compact(input, document, &how);
        let written = done.write().map_err(|error| Wrong::unwritable(&error))?;
        warnings.extend(done.warnings(&written));
        Ok(Compacted {
            text: String::from_utf8_lossy(written.bytes()).into_owned(),
            report: done.report(&warnings, None).to_string(),
            removed: removed_from(done.archive()),
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
            form: form_of(&options.form)?,
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
            removed: removed_from(&fitted.archive),
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
        let document = read(&input, &form, force)?.document;
        let warnings = odd(&document);
        Ok(inspect::inspect(document, largest).report(&warnings).to_string())
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
        let faults = check::check(&input, asked(&vendor)?).map_err(Wrong::unreadable)?;
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
        let card = match &options.prices {
            None => price::usual(),
            Some(model) => price::find(model)
                .cloned()
                .ok_or_else(|| Wrong::argument(format!("the prices of {model:?} are not known")))?,
        };
        let policies = Policy::from_names(&options.policies).map_err(Wrong::argument)?;
        let policies = Policy::played(&policies);
        let window = count(options.window)?;
        let recording = read(&input, &options.form, options.force)?;
        let format = recording.document.format;
        let session = Session::new("", recording);
        if session.requests.is_empty() {
            let nothing = "contains no model reply, so there is nothing to replay";
            return Err(Wrong::unreadable(nothing));
        }
        let settings = Settings::new(window, card);
        let played = Played::new(&session, format.name().to_owned(), &policies, &settings);
        Ok(json::played(&played).to_string())
    })
}

/// The text of a handle, or of a marker that names one, in lines of JSON as `codelet compact --removed` writes them.
#[napi]
pub fn restore(lines: &[u8], asked: String) -> Promised<Option<String>> {
    let lines = lines.to_vec();
    promise(move || {
        let (entries, broken) = removed::entries(&lines);
        match (removed::find(&entries, &asked), broken) {
            (Some(text), _) => Ok(Some(text.to_owned())),
            (None, Some(broken)) => Err(Wrong::unreadable(format!("line {}: {}", broken.line, broken.problem))),
            (None, None) => Ok(None),
        }
    })
}

/// The conversations of a file that holds more than one; the file itself where it holds one.
#[napi]
pub fn conversations(input: &[u8]) -> Promised<Vec<Buffer>> {
    let input = input.to_vec();
    promise(move || match codelet_transcript::conversations(&input) {
        Some(all) => Ok(all.into_iter().map(|one| one.to_vec().into()).collect()),
        None => Ok(vec![input.into()]),
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
