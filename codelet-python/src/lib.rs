//! The engine for Python, as `codelet._codelet`. Only text and JSON cross the border; `python/codelet` has the functions that callers
//! see. No function holds the interpreter's lock while it works.

mod batch;
mod column;

use codelet_offline::fit::{Fit, Shown};
use codelet_offline::options::{self, Compactor, OptionsError, Reading};
use codelet_offline::removed::Entry;
use codelet_offline::{fit, removed};
use codelet_replay::options::Replay;
use codelet_transcript::Format;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::fmt::Display;

create_exception!(
    codelet,
    CodeletError,
    PyValueError,
    "A conversation that cannot be read, written or replayed; the message says why."
);

fn failed(problem: impl Display) -> PyErr {
    CodeletError::new_err(problem.to_string())
}

/// The options for reading a conversation; errors name `force=True`.
fn reading(form: &str, force: bool) -> Result<Reading, OptionsError> {
    Reading::new(form, force, "force=True")
}

/// Handles, each with the text that was removed.
type Removed = Vec<(String, String)>;

fn pairs(entries: Vec<Entry>) -> Removed {
    let pairs = entries.into_iter().map(|entry| (entry.handle, entry.content));
    pairs.collect()
}

/// The result of `compact`: the text, the report as JSON, and the removed texts.
type Compacted = (String, String, Removed);

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
    let work = || -> Result<_, OptionsError> {
        let compactor = Compactor::new(reading(form, force)?, budget, window, to, reading_back)?;
        let smaller = compactor.compact(input.to_vec())?;
        let report = smaller.report();
        let removed = pairs(removed::of(smaller.compacted.archive()));
        Ok((smaller.text, report, removed))
    };
    py.detach(work).map_err(failed)
}

/// The result of `fit`: ranges of items, or a new one as JSON; the removed texts; the number of edits.
type Fitted = (Vec<(usize, usize, Option<String>)>, Removed, usize);

/// The messages to send, from a conversation that is given whole before each request.
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
    let work = || -> Result<_, String> {
        let how = Fit {
            form: options::form(form)?,
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
        Ok((shown.collect(), pairs(removed::of(&fitted.archive)), fitted.edits))
    };
    py.detach(work).map_err(failed)
}

/// Reports what fills a conversation, as JSON.
#[pyfunction(name = "inspect")]
fn inspected(py: Python<'_>, input: &[u8], form: &str, force: bool, largest: usize) -> PyResult<String> {
    let work = || -> Result<_, OptionsError> {
        let (_, report) = reading(form, force)?.inspect(input, largest)?;
        Ok(report)
    };
    py.detach(work).map_err(failed)
}

/// Finds the places where a request breaks its vendor's rules, each with a sentence.
#[pyfunction(name = "check")]
fn checked(py: Python<'_>, input: &[u8], vendor: &str) -> PyResult<Vec<(String, String)>> {
    let work = || -> Result<_, OptionsError> {
        let faults = options::check(input, vendor)?;
        Ok(faults.into_iter().map(|fault| (fault.place, fault.sentence)).collect())
    };
    py.detach(work).map_err(failed)
}

/// Computes what a conversation would have cost under other policies, as JSON.
#[pyfunction(name = "replay")]
#[pyo3(signature = (input, window, prices, policies, form, force))]
fn replayed(
    py: Python<'_>,
    input: &[u8],
    window: u64,
    prices: Option<&str>,
    policies: Vec<String>,
    form: &str,
    force: bool,
) -> PyResult<String> {
    let work = || -> Result<_, String> {
        let replay = Replay::new(window, prices, &policies)?;
        replay.play(reading(form, force)?.read(input)?)
    };
    py.detach(work).map_err(failed)
}

/// The text of a handle, or of a marker that names one, in lines of JSON as `codelet compact --removed` writes them.
#[pyfunction]
fn restore(py: Python<'_>, lines: &[u8], asked: &str) -> PyResult<Option<String>> {
    py.detach(|| removed::restore(lines, asked)).map_err(failed)
}

/// The conversations of a file that holds more than one; the file itself where it holds one.
#[pyfunction]
fn conversations(py: Python<'_>, input: &[u8]) -> Vec<Vec<u8>> {
    py.detach(|| options::conversations(input).into_iter().map(<[u8]>::to_vec).collect())
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
    module.add_function(wrap_pyfunction!(replayed, module)?)?;
    module.add_function(wrap_pyfunction!(restore, module)?)?;
    module.add_function(wrap_pyfunction!(conversations, module)?)?;
    module.add_function(wrap_pyfunction!(formats, module)?)?;
    module.add_class::<column::Column>()?;
    module.add_function(wrap_pyfunction!(batch::compact_rows, module)?)?;
    module.add_function(wrap_pyfunction!(batch::inspect_rows, module)?)?;
    module.add_function(wrap_pyfunction!(batch::check_rows, module)?)?;
    module.add_function(wrap_pyfunction!(batch::replay_rows, module)?)
}
