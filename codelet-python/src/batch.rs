//! Columns of conversations: each row by itself, on several threads, and none of them holds the interpreter's lock. A bad row says what is
//! wrong with it and fails nothing else.

use crate::column::{Column, Rows};
use crate::{failed, reading};
use codelet_offline::options::{self, Compactor};
use codelet_offline::removed;
use codelet_replay::options::Replay;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};
use serde_json::{Value, json};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes the conversation of each row smaller.
#[pyfunction]
#[pyo3(signature = (column, threads, budget, window, form, to, force, with_removed, with_report))]
#[expect(clippy::too_many_arguments, reason = "they are named on Python's side")]
pub fn compact_rows<'py>(
    column: &Bound<'py, Column>,
    threads: Option<usize>,
    budget: Option<u64>,
    window: Option<u64>,
    form: &str,
    to: Option<&str>,
    force: bool,
    with_removed: bool,
    with_report: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let reading = reading(form, force).map_err(failed)?;
    let compactor = Compactor::new(reading, budget, window, to, "").map_err(failed)?;
    let work = |input: &[u8]| {
        let smaller = compactor.compact(input.to_vec())?;
        let report = with_report.then(|| smaller.report());
        let mut row = vec![
            Cell::Text(smaller.text),
            Cell::Number(smaller.compacted.done.before.tokens),
            Cell::Number(smaller.compacted.done.after.tokens),
        ];
        if with_removed {
            let mut lines = Vec::new();
            removed::write(smaller.compacted.archive(), &mut lines).map_err(|error| error.to_string())?;
            row.push(Cell::Text(String::from_utf8_lossy(&lines).into_owned()));
        }
        row.extend(report.map(Cell::Text));
        Ok(row)
    };
    let mut names = vec![
        ("compacted", Kind::Text),
        ("tokens_before", Kind::Number),
        ("tokens_after", Kind::Number),
    ];
    names.extend(with_removed.then_some(("removed", Kind::Text)));
    names.extend(with_report.then_some(("report", Kind::Text)));
    columns(column, threads, &names, work)
}

/// Tells what fills the conversation of each row.
#[pyfunction]
#[pyo3(signature = (column, threads, form, force, largest))]
pub fn inspect_rows<'py>(
    column: &Bound<'py, Column>,
    threads: Option<usize>,
    form: &str,
    force: bool,
    largest: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let reading = reading(form, force).map_err(failed)?;
    let work = |input: &[u8]| {
        let (inspected, report) = reading.inspect(input, largest)?;
        Ok(vec![
            Cell::Number(inspected.found.tokens),
            Cell::Number(inspected.found.messages as u64),
            Cell::Text(report),
        ])
    };
    let names = [
        ("tokens", Kind::Number),
        ("message_count", Kind::Number),
        ("inspection", Kind::Text),
    ];
    columns(column, threads, &names, work)
}

/// Looks where the request of each row breaks its vendor's rules.
#[pyfunction]
#[pyo3(signature = (column, threads, vendor))]
pub fn check_rows<'py>(
    column: &Bound<'py, Column>,
    threads: Option<usize>,
    vendor: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let vendor = options::vendor_or_auto(vendor).map_err(failed)?;
    let work = |input: &[u8]| {
        let faults = options::check_as(input, vendor)?;
        let list = faults
            .iter()
            .map(|fault| json!({"place": fault.place, "sentence": fault.sentence}));
        let list: Vec<Value> = list.collect();
        Ok(vec![
            Cell::Number(faults.len() as u64),
            Cell::Text(Value::from(list).to_string()),
        ])
    };
    columns(
        column,
        threads,
        &[("fault_count", Kind::Number), ("faults", Kind::Text)],
        work,
    )
}

/// Plays the session of each row under other ways of editing its history.
#[pyfunction]
#[pyo3(signature = (column, threads, window, prices, policies, form, force))]
pub fn replay_rows<'py>(
    column: &Bound<'py, Column>,
    threads: Option<usize>,
    window: u64,
    prices: Option<&str>,
    policies: Vec<String>,
    form: &str,
    force: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let reading = reading(form, force).map_err(failed)?;
    let replay = Replay::new(window, prices, &policies).map_err(failed)?;
    let work = |input: &[u8]| Ok(vec![Cell::Text(replay.play(reading.read(input)?)?)]);
    columns(column, threads, &[("replay", Kind::Text)], work)
}

/// A value of a column of the result.
enum Cell {
    Text(String),
    Number(u64),
}

impl Cell {
    fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            Cell::Number(_) => None,
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Cell::Number(number) => Some(*number),
            Cell::Text(_) => None,
        }
    }
}

/// The type of a column's values.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
}

type Row = Result<Vec<Cell>, String>;
/// A bit for each row that is not null; the offsets of texts; the texts or numbers.
type Buffers<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Bound<'py, PyBytes>);

/// The results of all rows, as buffers of Arrow by column name. The last column is `error`: it has the reason where a row has no
/// result.
fn columns<'py>(
    column: &Bound<'py, Column>,
    threads: Option<usize>,
    names: &[(&str, Kind)],
    work: impl Fn(&[u8]) -> Row + Sync,
) -> PyResult<Bound<'py, PyDict>> {
    let (py, rows) = (column.py(), column.get().rows());
    let done = py.detach(|| side_by_side(&rows, threads, &work));
    let result = PyDict::new(py);
    for (place, (name, kind)) in names.iter().enumerate() {
        let cells = done
            .iter()
            .map(|row| row.as_ref().ok().and_then(|cells| cells.get(place)));
        let buffers = match kind {
            Kind::Text => texts(py, cells.map(|cell| cell.and_then(Cell::text)))?,
            Kind::Number => numbers(py, cells.map(|cell| cell.and_then(Cell::number)))?,
        };
        result.set_item(name, buffers)?;
    }
    result.set_item(
        "error",
        texts(py, done.iter().map(|row| row.as_ref().err().map(String::as_str)))?,
    )?;
    Ok(result)
}

fn texts<'py, 'a>(
    py: Python<'py>,
    texts: impl ExactSizeIterator<Item = Option<&'a str>> + Clone,
) -> PyResult<Buffers<'py>> {
    let valid = bits(py, texts.clone().map(|text| text.is_some()))?;
    let mut end = 0_i64;
    let length = |text: Option<&str>| i64::try_from(text.map_or(0, str::len)).unwrap_or(i64::MAX);
    let ends = texts.clone().map(|text| {
        end = end.saturating_add(length(text));
        end
    });
    let offsets: Vec<u8> = std::iter::once(0).chain(ends).flat_map(i64::to_ne_bytes).collect();
    let data = PyBytes::new_with(py, usize::try_from(end).unwrap_or(0), |mut data| {
        for text in texts.flatten() {
            let (first, rest) = std::mem::take(&mut data).split_at_mut(text.len());
            first.copy_from_slice(text.as_bytes());
            data = rest;
        }
        Ok(())
    })?;
    Ok((valid, Some(PyBytes::new(py, &offsets)), data))
}

fn numbers<'py>(
    py: Python<'py>,
    numbers: impl ExactSizeIterator<Item = Option<u64>> + Clone,
) -> PyResult<Buffers<'py>> {
    let valid = bits(py, numbers.clone().map(|number| number.is_some()))?;
    let values = numbers.map(|number| i64::try_from(number.unwrap_or(0)).unwrap_or(i64::MAX));
    let values: Vec<u8> = values.flat_map(i64::to_ne_bytes).collect();
    Ok((valid, None, PyBytes::new(py, &values)))
}

fn bits<'py>(py: Python<'py>, all: impl ExactSizeIterator<Item = bool>) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, all.len().div_ceil(8), |bytes| {
        for (at, is_set) in all.enumerate() {
            bytes[at / 8] |= u8::from(is_set) << (at % 8);
        }
        Ok(())
    })
}

/// Works on each row, on this many threads or one for each core.
fn side_by_side(rows: &Rows, threads: Option<usize>, work: impl Fn(&[u8]) -> Row + Sync) -> Vec<Row> {
    let row = |at| {
        // A fault in one row must not end the work on a million others.
        let row = catch_unwind(AssertUnwindSafe(|| match rows.get(at) {
            Some(input) => work(&input),
            None => Err("the row is null".to_owned()),
        }));
        row.unwrap_or_else(|_| Err("internal error: this row could not be processed".to_owned()))
    };
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.unwrap_or_else(cores).clamp(1, rows.len().max(1));
    match ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(threads) => threads.install(|| (0..rows.len()).into_par_iter().with_max_len(1).map(row).collect()),
        // Without threads of its own, the work is done on this one.
        Err(_) => (0..rows.len()).map(row).collect(),
    }
}
