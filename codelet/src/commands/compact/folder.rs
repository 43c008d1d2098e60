//! `codelet compact DIR --out DIR`: compacts every conversation below a folder to a file of the same name below another
//! one.

use super::{compacted, total, write_line, write_written};
use crate::args::Compact;
use crate::commands::warn;
use crate::exit::{Exit, Failure, words};
use crate::input::{Input, InputContent};
use crate::output::{Output, resolve};
use crate::paint::{Ink, Look, clean, count, number};
use crate::progress::Progress;
use crate::side_by_side::{cores, side_by_side};
use codelet_context::tokens::Tokens;
use codelet_offline::compact::Written;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use walkdir::WalkDir;

/// File name suffixes that agents and data sets use.
const ENDINGS: [&str; 5] = [".json", ".jsonl", ".ndjson", ".traj", ".aider.chat.history.md"];

/// The files below a folder.
#[derive(Default)]
struct FolderFiles {
    /// The conversation files, relative to the folder, sorted.
    wanted: Vec<PathBuf>,
    /// The number of other files.
    others: usize,
    /// The number of links, which are not followed.
    links: usize,
    /// Folders that cannot be read, with the reasons.
    closed: Vec<String>,
}

/// The outcome of one or more files.
#[derive(Default)]
struct Sum {
    files: usize,
    conversations: usize,
    before: Tokens,
    after: Tokens,
    warnings: Vec<String>,
    /// The reasons why conversations could not be compacted.
    failed: Vec<String>,
}

/// Compacts everything below the folder, and reports failures.
///
/// # Errors
/// If a folder cannot be used.
pub fn run(args: &Compact, out: &Path) -> Result<Exit, Failure> {
    let folder = args.file.as_deref().filter(|path| *path != Path::new("-"));
    let folder = folder.ok_or_else(|| {
        Failure::Told("--out needs a folder of conversations: codelet compact FOLDER --out DIR".to_owned())
    })?;
    if folder.is_file() {
        let problem = "is a file, but --out needs a folder; -o FILE writes one file";
        return Err(Failure::at(folder.display(), problem));
    }
    apart(folder, out)?;
    let progress = Progress::start("looking for files");
    let found = find(folder)?;
    let is_there = |file: &PathBuf| out.join(file).symlink_metadata().is_ok();
    let (there, files): (Vec<PathBuf>, Vec<PathBuf>) = found.wanted.into_iter().partition(is_there);
    let done = AtomicU64::new(0);
    let sums = side_by_side(files.len(), args.jobs.map_or_else(cores, usize::from), |at| {
        let sum = file(args, &folder.join(&files[at]), &out.join(&files[at]));
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let bar = Look::stderr().bar(done, files.len() as u64, 30);
        progress.tell(&format!("{bar} {} of {}", number(done), count(files.len(), "file")));
        sum
    });
    drop(progress);
    let mut sum = Sum {
        failed: found.closed,
        ..Sum::default()
    };
    sums.into_iter().for_each(|one| sum.add(one));
    tell(&sum, there.len(), (found.others, found.links));
    Ok(if sum.failed.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Checks that neither folder contains the other.
fn apart(folder: &Path, out: &Path) -> Result<(), Failure> {
    let real = |path: &Path| resolve(path, &[]).map_err(|error| Failure::io(path, &error));
    let (from, to) = (real(folder)?, real(out)?);
    if to.starts_with(&from) || from.starts_with(&to) {
        let folder = clean(&folder.display().to_string());
        let problem = format!("must be neither inside nor above {folder}; name another folder");
        return Err(Failure::at(out.display(), problem));
    }
    Ok(())
}

/// Finds the files below the folder.
fn find(folder: &Path) -> Result<FolderFiles, Failure> {
    std::fs::read_dir(folder).map_err(|error| Failure::io(folder, &error))?;
    let mut found = FolderFiles::default();
    for entry in WalkDir::new(folder).min_depth(1).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) if entry.path_is_symlink() => found.links += 1,
            Ok(entry) if entry.file_type().is_file() && is_wanted(entry.path()) => {
                let below = entry.path().strip_prefix(folder);
                found.wanted.extend(below.ok().map(Path::to_owned));
            }
            Ok(_) => found.others += 1,
            Err(error) => {
                let path = error.path().unwrap_or(folder).display().to_string();
                let why = error.io_error().map_or_else(|| error.to_string(), words);
                found.closed.push(clean(&format!("{path}: {why}")));
            }
        }
    }
    Ok(found)
}

fn is_wanted(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Compacts a file, a data set line by line.
fn file(args: &Compact, from: &Path, to: &Path) -> Sum {
    let mut sum = Sum::default();
    if let Err(failure) = sum.file(args, from, to) {
        sum.conversations = 0;
        sum.failed.push(failure.words());
    }
    sum
}

impl Sum {
    fn file(&mut self, args: &Compact, from: &Path, to: &Path) -> Result<(), Failure> {
        let mut text = Vec::new();
        match Input::read_any(Some(from))?.conversations(None)? {
            InputContent::One(input) => {
                let written = self.compact(args, input)?;
                // Writing to a `Vec` cannot fail.
                let _ = write_written(&written, &mut text);
            }
            InputContent::Many(input) => {
                let rows = codelet_transcript::conversations(&input.bytes).unwrap_or_default();
                for (at, row) in rows.into_iter().enumerate() {
                    match self.compact(args, Input::of(format!("{}#{at}", input.name), row.to_vec())) {
                        Ok(written) => drop(write_line(&written, &mut text)),
                        Err(failure) => self.failed.push(failure.words()),
                    }
                }
            }
        }
        if self.conversations == 0 {
            return Ok(());
        }
        let parent = to.parent().unwrap_or(to);
        std::fs::create_dir_all(parent).map_err(|error| Failure::io(parent, &error))?;
        Output::File(to.to_owned()).write(|out| out.write_all(&text))?;
        self.files = 1;
        Ok(())
    }

    fn compact(&mut self, args: &Compact, input: Input) -> Result<Written, Failure> {
        let name = input.name.clone();
        // One unforeseen conversation must not end the processing of a million others.
        let done = catch_unwind(AssertUnwindSafe(|| compacted(args, None, input, None)));
        let unforeseen = || Failure::at(&name, "internal error: the conversation could not be compacted");
        let outcome = done.unwrap_or_else(|_| Err(unforeseen()))?;
        self.conversations += 1;
        self.before += outcome.compacted.done.before.tokens;
        self.after += outcome.compacted.done.after.tokens;
        self.warnings.extend(outcome.warnings.into_iter().next());
        Ok(outcome.written)
    }

    fn add(&mut self, other: Sum) {
        self.files += other.files;
        self.conversations += other.conversations;
        self.before += other.before;
        self.after += other.after;
        self.warnings.extend(other.warnings);
        self.failed.extend(other.failed);
    }
}

fn tell(sum: &Sum, there: usize, (others, links): (usize, usize)) {
    let look = Look::stderr();
    let mut lines = vec![match sum.conversations {
        0 => format!("{} no new conversation", look.ink(Ink::Green, super::NOTHING)),
        all => {
            let within = format!("{} of {}", count(all, "conversation"), count(sum.files, "file"));
            total(&look, sum.before, sum.after, &within)
        }
    }];
    let skipped = [
        (there, "file", "already in the output folder"),
        (others, "file", "of another file type"),
        (links, "link", "not followed"),
    ];
    let skipped = skipped.into_iter().filter(|(all, ..)| *all > 0);
    lines.extend(skipped.map(|(all, what, why)| format!("Skipped {}: {why}", count(all, what))));
    for line in lines {
        let _ = writeln!(io::stderr(), "{line}");
    }
    warn(&look, &sum.warnings);
    for why in &sum.failed {
        crate::tell("error", Ink::Red, why);
    }
}
