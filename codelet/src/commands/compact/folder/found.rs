//! The work of a run: the files below the folder, minus those done by an earlier run.

use super::rows::Rows;
use super::side::{self, Bad, Side};
use crate::args::Compact;
use crate::beneath::{Beneath, Listed};
use crate::exit::{Failure, words};
use crate::input::Input;
use crate::paint::number;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

/// File name suffixes that agents and data sets use.
const ENDINGS: [&str; 5] = [".json", ".jsonl", ".ndjson", ".traj", ".aider.chat.history.md"];

/// The work of a run.
pub struct FolderWork<'a> {
    /// The files to compact.
    pub files: Vec<PathBuf>,
    /// Files and folders that cannot be read or written.
    pub closed: Vec<Bad>,
    /// Skipped files, one line per kind.
    pub passed: Vec<String>,
    /// The number of files done by an earlier run.
    pub there: usize,
    /// The record of failures.
    pub side: Side<'a>,
}

/// Finds the files to compact.
///
/// # Errors
/// If the output folder's content is not from an earlier run with the same options; the message says so.
pub fn find<'a>(from: &Beneath, to: &'a Beneath, args: &Compact) -> Result<FolderWork<'a>, String> {
    let held = side::hold(to, args)?;
    let done = to.list(&|_| true);
    to.clear(&done);
    let done: HashSet<PathBuf> = done.files.into_iter().collect();
    let Listed {
        mut files,
        closed,
        others,
        links,
        ..
    } = from.list(&is_wanted);
    let mut bad: Vec<Bad> = closed
        .into_iter()
        .map(|(path, error)| Bad::new(&path, None, words(&error)))
        .collect();
    files.retain(|file| {
        let is_own = [side::HELD, side::FAILED].iter().any(|own| file == Path::new(own));
        if is_own {
            let why = "has a name that codelet uses in the output folder; rename it".to_owned();
            bad.push(Bad::new(file, None, why));
        }
        !is_own
    });
    let there: HashSet<PathBuf> = files.iter().filter(|file| done.contains(*file)).cloned().collect();
    files.retain(|file| !there.contains(file));
    let side = Side::begin(to, held, &there).map_err(|error| words(&error))?;
    let passed = [
        (others, "file of another kind", "files of other kinds"),
        (links, "link, which was not followed", "links, which were not followed"),
    ];
    let passed = passed.into_iter().filter(|(all, ..)| *all > 0);
    Ok(FolderWork {
        there: there.len(),
        files,
        closed: bad,
        passed: passed
            .map(|(all, one, many)| format!("Skipped {} {}", number(all as u64), if all == 1 { one } else { many }))
            .collect(),
        side,
    })
}

fn is_wanted(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The content of a file.
pub enum Content {
    /// One conversation.
    One(Input),
    /// A data set.
    Set(Rows),
}

/// Opens a file: a single conversation is read whole, a data set only as far as needed to recognize it.
///
/// # Errors
/// If it cannot be read, or is not text.
pub fn content(from: &Beneath, file: &Path, name: String) -> Result<Content, Failure> {
    let refused = |error: &std::io::Error| Failure::at(&name, words(error));
    let (opened, found) = from.read(file).map_err(|error| refused(&error))?;
    let (head, rest) = Rows::head(opened).map_err(|error| refused(&error))?;
    if Rows::is_set(&head) {
        return Ok(Content::Set(Rows::of_lines(head, rest)));
    }
    let mut input = Input::fill(name, Cursor::new(head).chain(rest), found.len())?;
    if let Some(items) = codelet_transcript::conversations(&input.bytes) {
        return Ok(Content::Set(Rows::of_items(items)));
    }
    input.with_earlier(file.file_name(), |most, is_it| from.beside(file, most, is_it));
    Ok(Content::One(input))
}
