//! The engine for Python, as `codelet._codelet`. Text and JSON cross the border; what Python's callers see is made of them in
//! `python/codelet`. No function holds the interpreter's lock while it works.

mod batch;
mod column;
mod one;

use codelet_offline::fit::{Fit, Shown};
use codelet_offline::{check, fit, inspect, removed};
use codelet_transcript::Format;
use one::{Play, Reading, Smaller};
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
    let work = || {
        let smaller = Smaller::new(Reading::new(form, force)?, budget, window, to, reading_back)?;
        let (done, written, warnings) = smaller.compact(input)?;
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
            form: one::form_of(form)?,
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
        let document = Reading::new(form, force)?.read(input)?.document;
        let warnings = one::odd(&document);
        Ok(inspect::inspect(document, largest).report(&warnings).to_string())
    };
    py.detach(work).map_err(failed)
}

/// Where a request breaks its vendor's rules: places, each with a sentence.
#[pyfunction(name = "check")]
fn checked(py: Python<'_>, input: &[u8], vendor: &str) -> PyResult<Vec<(String, String)>> {
    let work = || {
        let faults = check::check(input, one::asked(vendor)?)?;
        Ok(faults.into_iter().map(|fault| (fault.place, fault.sentence)).collect())
    };
    py.detach(work).map_err(failed)
}

/// What a conversation would have cost under other ways of editing its history, as JSON.
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
    let work = || {
        let reading = Reading::new(form, force)?;
        Play::new(reading, window, prices, &policies)?.play(input)
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
