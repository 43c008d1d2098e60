//! The engine for Python, as `codelet._codelet`. Text and JSON cross the border; what Python's callers see is made of them in
//! `python/codelet`. No function holds the interpreter's lock while it works.

use codelet_context::compact::Target;
use codelet_context::price;
use codelet_offline::compact::Compact;
use codelet_offline::fit::{Fit, Shown};
use codelet_offline::{check, compact, fit, inspect, removed};
use codelet_replay::json;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::session::Session;
use codelet_replay::totals::Played;
use codelet_transcript::{Document, Format, ReadError, Recording};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

create_exception!(
    codelet,
    CodeletError,
    PyValueError,
    "A conversation that cannot be read, written or played; the message says why."
);

fn failed(problem: String) -> PyErr {
    CodeletError::new_err(problem)
}

/// The form of that name.
fn form_of(name: &str) -> Result<Format, String> {
    Format::from_name(name).ok_or_else(|| format!("{name:?} is no format; formats() lists them"))
}

/// The form of that name; none for `auto`.
fn asked(name: &str) -> Result<Option<Format>, String> {
    match name {
        "auto" => Ok(None),
        name => form_of(name).map(Some),
    }
}

fn read(input: &[u8], form: &str, force: bool) -> Result<Recording, String> {
    let form = asked(form)?;
    let read = match force {
        true => codelet_transcript::record_anyway(input, form),
        false => codelet_transcript::record(input, form),
    };
    read.map_err(|error| unread(input, &error))
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

fn odd(document: &Document) -> Vec<String> {
    document.warnings.iter().map(ToString::to_string).collect()
}

/// What `compact` returns: the text, the report as JSON, and what was removed, each with its handle.
type Compacted = (String, String, Vec<(String, String)>);

/// Makes a conversation smaller.
#[pyfunction(name = "compact")]
#[pyo3(signature = (input, budget, window, form, to, force, reading_back))]
#[expect(clippy::too_many_arguments, reason = "they are named on Python's side")]
fn compacted(
    py: Python<'_>,
    input: &[u8],
    budget: Option<u64>,
    window: Option<u64>,
    form: &str,
    to: Option<&str>,
    force: bool,
    reading_back: &str,
) -> PyResult<Compacted> {
    let target = match (budget, window) {
        (Some(_), Some(_)) => return Err(failed("budget and window exclude each other".to_owned())),
        (Some(tokens), None) => Target::Budget(tokens),
        (None, Some(tokens)) => Target::Window(tokens),
        (None, None) => Target::Select,
    };
    let work = || {
        let to = to.map(form_of).transpose()?;
        let document = read(input, form, force)?.document;
        let mut warnings = odd(&document);
        let how = Compact {
            target,
            to,
            reading_back,
        };
        let mut done = compact::compact(input.to_vec(), document, &how);
        let written = done.write().map_err(|error| error.to_string())?;
        warnings.extend(done.warnings(&written));
        let removed = done.archive().iter();
        let removed = removed.map(|(handle, removed)| (handle.as_str().to_owned(), removed.body.as_str().to_owned()));
        let report = done.report(&warnings, None).to_string();
        let text = String::from_utf8_lossy(written.bytes()).into_owned();
        Ok((text, report, removed.collect()))
    };
    py.detach(work).map_err(failed)
}

/// What `fit` returns: the numbers of items, from one to another, or one that was made; what was removed; how many edits.
type Fitted = (Vec<(usize, usize, Option<String>)>, Vec<(String, String)>, usize);

/// What is sent of a conversation that comes whole before each request.
#[pyfunction(name = "fit")]
fn fitted(
    py: Python<'_>,
    items: Vec<PyBackedBytes>,
    form: &str,
    window: u64,
    overhead: u64,
    offers_recall: bool,
    is_due: bool,
) -> PyResult<Fitted> {
    let work = || {
        let how = Fit {
            form: form_of(form)?,
            window,
            overhead,
            offers_recall,
            is_due,
        };
        let items: Vec<&[u8]> = items.iter().map(|item| &**item).collect();
        let fitted = fit::fit(&items, &how).map_err(|error| error.to_string())?;
        let shown = fitted.shown.into_iter().map(|shown| match shown {
            Shown::AsSaid(items) => (items.start, items.end, None),
            Shown::Made(json) => (0, 0, Some(json)),
        });
        let removed = fitted.archive.iter();
        let removed = removed.map(|(handle, removed)| (handle.as_str().to_owned(), removed.body.as_str().to_owned()));
        Ok((shown.collect(), removed.collect(), fitted.edits))
    };
    py.detach(work).map_err(failed)
}

/// What fills a conversation, as JSON.
#[pyfunction(name = "inspect")]
fn inspected(py: Python<'_>, input: &[u8], form: &str, force: bool, largest: usize) -> PyResult<String> {
    let work = || {
        let document = read(input, form, force)?.document;
        let warnings = odd(&document);
        Ok(inspect::inspect(document, largest).report(&warnings).to_string())
    };
    py.detach(work).map_err(failed)
}

/// Where a request breaks its vendor's rules: places, each with a sentence.
#[pyfunction(name = "check")]
fn checked(py: Python<'_>, input: &[u8], vendor: &str) -> PyResult<Vec<(String, String)>> {
    let work = || {
        let faults = check::check(input, asked(vendor)?)?;
        Ok(faults.into_iter().map(|fault| (fault.place, fault.sentence)).collect())
    };
    py.detach(work).map_err(failed)
}

/// What a conversation would have cost under other ways of editing its history, as JSON.
#[pyfunction]
#[pyo3(signature = (input, window, prices, policies, form, force))]
fn replay(
    py: Python<'_>,
    input: &[u8],
    window: u64,
    prices: Option<&str>,
    policies: Vec<String>,
    form: &str,
    force: bool,
) -> PyResult<String> {
    let work = || {
        let card = match prices {
            None => price::usual(),
            Some(model) => price::find(model)
                .cloned()
                .ok_or_else(|| format!("the prices of {model:?} are not known"))?,
        };
        let mut asked = vec![Policy::Never];
        for name in &policies {
            let policy = Policy::from_name(name).ok_or_else(|| {
                let known: Vec<_> = Policy::ALL.iter().map(|policy| policy.name()).collect();
                format!("{name:?} is no policy; known: {}", known.join(", "))
            })?;
            if !asked.contains(&policy) {
                asked.push(policy);
            }
        }
        if policies.is_empty() {
            asked = Policy::USUAL.to_vec();
        }
        let recording = read(input, form, force)?;
        let format = recording.document.format;
        let session = Session::new("", recording);
        if session.requests.is_empty() {
            return Err("contains no model reply, so there is nothing to replay".to_owned());
        }
        let played = Played::new(&session, format.name().to_owned(), &asked, &Settings::new(window, card));
        Ok(json::played(&played).to_string())
    };
    py.detach(work).map_err(failed)
}

/// The text of a handle, or of a marker that names one, in lines of JSON as `codelet compact --removed` writes them.
#[pyfunction]
fn restore(py: Python<'_>, lines: &[u8], asked: &str) -> PyResult<Option<String>> {
    let work = || {
        let (entries, broken) = removed::entries(lines);
        match (removed::find(&entries, asked), broken) {
            (Some(text), _) => Ok(Some(text.to_owned())),
            (None, Some(broken)) => Err(format!("line {}: {}", broken.line, broken.problem)),
            (None, None) => Ok(None),
        }
    };
    py.detach(work).map_err(failed)
}

/// The conversations of a file that holds more than one; the file itself where it holds one.
#[pyfunction]
fn conversations(py: Python<'_>, input: &[u8]) -> Vec<Vec<u8>> {
    py.detach(|| match codelet_transcript::conversations(input) {
        Some(all) => all.into_iter().map(<[u8]>::to_vec).collect(),
        None => vec![input.to_vec()],
    })
}

/// The forms: name, whether it is written, description.
#[pyfunction]
fn formats() -> Vec<(&'static str, bool, &'static str)> {
    let all = Format::ALL.iter();
    all.map(|format| (format.name(), format.is_written(), format.describe()))
        .collect()
}

#[pymodule]
fn _codelet(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CodeletError", module.py().get_type::<CodeletError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(compacted, module)?)?;
    module.add_function(wrap_pyfunction!(fitted, module)?)?;
    module.add_function(wrap_pyfunction!(inspected, module)?)?;
    module.add_function(wrap_pyfunction!(checked, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(restore, module)?)?;
    module.add_function(wrap_pyfunction!(conversations, module)?)?;
    module.add_function(wrap_pyfunction!(formats, module)?)
}
