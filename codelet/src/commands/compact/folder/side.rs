//! Metadata in the output folder: the options of the run, and the failures.

use crate::args::Compact;
use crate::beneath::Beneath;
use crate::exit::words;
use crate::paint::clean;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file that records the options of the run. It is locked by the process that writes to the folder.
pub const HELD: &str = "codelet-compact.json";
/// The file that lists failures, one per line.
pub const FAILED: &str = "codelet-failed.jsonl";
/// The maximum number of bytes read from either file.
const MOST: u64 = 256 << 20;

/// A conversation that could not be compacted, or a file without one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bad {
    file: String,
    /// Its index in a data set, counted from 0.
    index: Option<usize>,
    reason: String,
}

impl Bad {
    /// Creates an entry; the file is named relative to the folder.
    pub fn new(file: &Path, index: Option<usize>, reason: String) -> Self {
        let file = file.to_string_lossy().into_owned();
        Bad { file, index, reason }
    }

    /// Formats the entry for a person.
    pub fn words(&self) -> String {
        let index = self.index.map_or(String::new(), |at| format!("#{at}"));
        clean(&format!("{}{index}: {}", self.file, self.reason))
    }

    fn line(&self) -> String {
        format!(
            "{}\n",
            json!({"file": self.file, "index": self.index, "reason": self.reason})
        )
    }

    fn of_line(line: &[u8]) -> Option<Bad> {
        let entry: Value = serde_json::from_slice(line).ok()?;
        let text = |name: &str| entry.get(name)?.as_str().map(str::to_owned);
        Some(Bad {
            file: text("file")?,
            index: entry
                .get("index")
                .and_then(Value::as_u64)
                .and_then(|at| usize::try_from(at).ok()),
            reason: text("reason")?,
        })
    }
}

/// Locks the output folder and records the options there.
///
/// # Errors
/// If another process holds the lock, or the content was created with other options; the message says what to do.
pub fn hold(to: &Beneath, args: &Compact) -> Result<File, String> {
    let is_new = to.is_empty_but_for(&[HELD]).map_err(|error| words(&error))?;
    if !is_new && to.read(Path::new(HELD)).is_err() {
        return Err("contains files that `codelet compact` did not write; use a new folder".to_owned());
    }
    let mut held = to.own(HELD).map_err(|error| format!("{HELD}: {}", words(&error)))?;
    // Not every file system supports locks.
    if flock(&held, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Err("is in use by another `codelet compact`; wait until it ends".to_owned());
    }
    let how = json!({
        "budget": args.budget,
        "window": args.window,
        "from": args.conversations.reading.from.0.map(|form| form.name()),
        "to": args.to.map(|form| form.name()),
        "force": args.conversations.reading.force,
    });
    let mut text = Vec::new();
    let read = (&mut held).take(MOST).read_to_end(&mut text);
    read.map_err(|error| format!("{HELD}: {}", words(&error)))?;
    match serde_json::from_slice::<Value>(&text) {
        Ok(before) if before == how => {}
        Ok(before) => {
            return Err(format!(
                "has results with other options ({}); use these options, or a new folder",
                clean(&before.to_string())
            ));
        }
        // An earlier process ended before it recorded the options.
        Err(_) if is_new => {
            let written = held.set_len(0).and_then(|()| writeln!(held, "{how}"));
            written.map_err(|error| format!("{HELD}: {}", words(&error)))?;
        }
        Err(_) => {
            return Err(format!(
                "its {HELD} was not written by `codelet compact`; use a new folder"
            ));
        }
    }
    Ok(held)
}

/// The record of failures during a run.
pub struct Side<'a> {
    to: &'a Beneath,
    _held: File,
    noted: Mutex<(Vec<Bad>, Option<File>)>,
}

impl<'a> Side<'a> {
    /// Continues the list of an earlier run, except for files that are processed again.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(to: &'a Beneath, held: File, there: &HashSet<PathBuf>) -> io::Result<Self> {
        let before = to.read(Path::new(FAILED)).ok();
        let lines = before.and_then(|(file, found)| crate::input::all_of(file, &found, MOST));
        let entries = lines.iter().flat_map(|lines| lines.split(|byte| *byte == b'\n'));
        let entries = entries.filter_map(Bad::of_line);
        let kept: Vec<Bad> = entries.filter(|bad| there.contains(Path::new(&bad.file))).collect();
        let side = Side {
            to,
            _held: held,
            noted: Mutex::new((Vec::new(), None)),
        };
        kept.iter().try_for_each(|bad| side.note(bad))?;
        if kept.is_empty() && lines.is_some() {
            to.remove(FAILED)?;
        }
        Ok(side)
    }

    /// Records a failure, in the file too, so that it remains however this process ends.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note(&self, bad: &Bad) -> io::Result<()> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, file) = &mut *noted;
        all.push(bad.clone());
        match file {
            Some(file) => file.write_all(bad.line().as_bytes()),
            None => {
                *file = Some(self.to.replace(FAILED, bad.line().as_bytes())?);
                Ok(())
            }
        }
    }

    /// Sorts the list and returns it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(self) -> io::Result<Vec<Bad>> {
        let (mut all, file) = self.noted.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_unstable();
        all.dedup();
        if file.is_some() {
            let lines: String = all.iter().map(Bad::line).collect();
            self.to.replace(FAILED, lines.as_bytes())?;
        }
        Ok(all)
    }
}
