//! `codelet compact DIR --out DIR`: compacts every conversation below a folder to a file of the same name below another
//! one.

mod found;
mod rows;
mod side;

use super::{compacted, write_line, write_written};
use crate::args::Compact;
use crate::beneath::Beneath;
use crate::commands::warn;
use crate::exit::{Exit, Failure, words};
use crate::input::Input;
use crate::output::resolve;
use crate::paint::{Ink, Look, clean, count, number};
use crate::progress::Progress;
use crate::side_by_side::{cores, side_by_side};
use codelet_context::tokens::Tokens;
use codelet_offline::compact::Written;
use found::{Content, FolderWork};
use rows::Rows;
use side::{Bad, Side};
use std::io::{self, ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Counts of files and of their conversations.
#[derive(Default)]
struct Sum {
    files: usize,
    conversations: usize,
    before: Tokens,
    after: Tokens,
    warnings: Vec<String>,
}

/// A compacted conversation, reduced to what is still needed.
struct Small {
    written: Written,
    before: Tokens,
    after: Tokens,
    warning: Option<String>,
}

/// The outcome for one file.
enum FileOutcome {
    /// It was written.
    Written(Sum),
    /// It is a data set, which all workers process together.
    Set,
    /// It could not be compacted, which was recorded.
    Bad,
    /// Nothing more can be written.
    Stopped(Failure),
}

/// Compacts everything below the folder, and reports failures.
///
/// # Errors
/// If a folder cannot be used, or nothing more can be written.
pub fn run(args: &Compact, out: &Path) -> Result<Exit, Failure> {
    let folder = args.file.as_deref().filter(|path| *path != Path::new("-"));
    let folder = folder.ok_or_else(|| {
        Failure::Told("--out needs a folder of conversations: codelet compact FOLDER --out DIR".to_owned())
    })?;
    let progress = Progress::start("looking for files");
    let from = Beneath::open(folder).map_err(|error| match error.kind() {
        ErrorKind::NotADirectory => Failure::at(
            folder.display(),
            "is a file, but --out needs a folder; -o FILE writes one file",
        ),
        _ => Failure::io(folder, &error),
    })?;
    apart(folder, out)?;
    std::fs::create_dir_all(out).map_err(|error| Failure::io(out, &error))?;
    let to = Beneath::open(out).map_err(|error| Failure::io(out, &error))?;
    let FolderWork {
        files,
        closed,
        passed,
        there,
        side,
    } = found::find(&from, &to, args).map_err(|problem| Failure::at(out.display(), problem))?;
    let noted = closed.iter().try_for_each(|bad| side.note(bad));
    noted.map_err(|error| Failure::io(out, &error))?;
    let work = Work {
        args,
        from: &from,
        to: &to,
        folder,
        side: &side,
        progress: &progress,
        done: AtomicUsize::new(0),
        all: files.len(),
        is_stopped: AtomicBool::new(false),
    };
    let sum = work.all(&files)?;
    drop(progress);
    let bad = side.end().map_err(|error| Failure::io(out, &error))?;
    tell(&sum, &bad, there, &passed, out);
    Ok(if bad.is_empty() { Exit::Done } else { Exit::Failed })
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

/// State shared by all workers.
struct Work<'a> {
    args: &'a Compact,
    from: &'a Beneath,
    to: &'a Beneath,
    folder: &'a Path,
    side: &'a Side<'a>,
    progress: &'a Progress,
    done: AtomicUsize,
    all: usize,
    is_stopped: AtomicBool,
}

impl Work<'_> {
    /// Processes single conversations in parallel, then the data sets one by one, with the rows of each in parallel.
    fn all(&self, files: &[PathBuf]) -> Result<Sum, Failure> {
        let mut sum = Sum::default();
        let mut sets = Vec::new();
        let done = side_by_side(files.len(), self.jobs(), |at| {
            let done = match self.is_stopped.load(Ordering::Relaxed) {
                true => FileOutcome::Bad,
                false => self.file(&files[at]),
            };
            match &done {
                FileOutcome::Set => return done,
                FileOutcome::Stopped(_) => self.is_stopped.store(true, Ordering::Relaxed),
                FileOutcome::Written(_) | FileOutcome::Bad => {}
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            self.tell_progress("");
            done
        });
        for (file, done) in files.iter().zip(done) {
            match done {
                FileOutcome::Written(one) => sum.add(one),
                FileOutcome::Set => sets.push(file),
                FileOutcome::Bad => {}
                FileOutcome::Stopped(failure) => return Err(failure),
            }
        }
        for file in sets {
            match self.set(file) {
                FileOutcome::Written(one) => sum.add(one),
                FileOutcome::Stopped(failure) => return Err(failure),
                FileOutcome::Set | FileOutcome::Bad => {}
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            self.tell_progress("");
        }
        Ok(sum)
    }

    fn jobs(&self) -> usize {
        self.args.jobs.map_or_else(cores, usize::from)
    }

    fn tell_progress(&self, within: &str) {
        let done = self.done.load(Ordering::Relaxed) as u64;
        let bar = Look::stderr().bar(done, self.all as u64, 30);
        let all = count(self.all, "file");
        self.progress.tell(&format!("{bar} {} of {all}{within}", number(done)));
    }

    /// Compacts a file, unless it is a data set.
    fn file(&self, file: &Path) -> FileOutcome {
        let small = match self.content(file) {
            Ok(Content::One(input)) => self.compact(input),
            Ok(Content::Set(_)) => return FileOutcome::Set,
            Err(problem) => Err(problem),
        };
        let small = match small {
            Ok(small) => small,
            Err(problem) => return self.bad(file, problem),
        };
        let written = self.to.create(file, |out| {
            let mut out = io::BufWriter::new(out);
            write_written(&small.written, &mut out)?;
            out.flush()
        });
        let mut sum = Sum::default();
        sum.take(small);
        self.ended(file, sum, written)
    }

    /// Compacts the conversations of a data set in order, one per line.
    fn set(&self, file: &Path) -> FileOutcome {
        let mut rows = match self.content(file) {
            Ok(Content::Set(rows)) => rows,
            Ok(Content::One(_)) => return self.bad(file, "changed while it was read".to_owned()),
            Err(problem) => return self.bad(file, problem),
        };
        let mut sum = Sum::default();
        let mut unread = None;
        let written = self.to.create(file, |out| {
            let mut out = io::BufWriter::with_capacity(1 << 20, out);
            unread = self.each(file, &mut rows, &mut sum, &mut out)?;
            out.flush()?;
            match unread.is_some() || sum.conversations == 0 {
                // The error prevents creation of the file.
                true => Err(ErrorKind::InvalidData.into()),
                false => Ok(()),
            }
        });
        match (unread, sum.conversations) {
            (Some(problem), _) => self.bad(file, problem),
            // Each of its rows was recorded.
            (None, 0)
                if written
                    .as_ref()
                    .is_err_and(|error| error.kind() == ErrorKind::InvalidData) =>
            {
                FileOutcome::Bad
            }
            _ => self.ended(file, sum, written),
        }
    }

    /// Compacts the rows in blocks; returns the error that ended this early, if any.
    fn each(&self, file: &Path, rows: &mut Rows, sum: &mut Sum, out: &mut dyn Write) -> io::Result<Option<String>> {
        let name = self.name(file);
        let mut first = 0;
        loop {
            let block = match rows.next_block(self.jobs()) {
                Ok(block) if block.is_empty() => return Ok(None),
                Ok(block) => block,
                Err(error) => return Ok(Some(words(&error))),
            };
            let done = side_by_side(block.len(), self.jobs(), |at| {
                let name = format!("{name}#{}", first + at);
                self.compact(Input::of(name, block[at].clone()))
            });
            for (at, done) in done.into_iter().enumerate() {
                match done {
                    Ok(small) => {
                        write_line(&small.written, out)?;
                        sum.take(small);
                    }
                    Err(reason) => self.side.note(&Bad::new(file, Some(first + at), reason))?,
                }
            }
            first += block.len();
            self.tell_progress(&format!(", {}", count(first, "conversation")));
        }
    }

    fn content(&self, file: &Path) -> Result<Content, String> {
        let name = self.name(file);
        found::content(self.from, file, name.clone()).map_err(|failure| reason(&name, failure))
    }

    fn compact(&self, input: Input) -> Result<Small, String> {
        let name = input.name.clone();
        let small = || {
            compacted(self.args, None, input, None).map(|outcome| Small {
                written: outcome.written,
                before: outcome.compacted.done.before.tokens,
                after: outcome.compacted.done.after.tokens,
                warning: outcome.warnings.into_iter().next(),
            })
        };
        // One unforeseen conversation must not end the processing of a million others.
        match catch_unwind(AssertUnwindSafe(small)) {
            Ok(done) => done.map_err(|failure| reason(&name, failure)),
            Err(_) => Err("internal error: the conversation could not be compacted".to_owned()),
        }
    }

    fn name(&self, file: &Path) -> String {
        self.folder.join(file).display().to_string()
    }

    fn ended(&self, file: &Path, mut sum: Sum, written: io::Result<()>) -> FileOutcome {
        sum.files = 1;
        let Err(error) = written else {
            return FileOutcome::Written(sum);
        };
        match error.kind() {
            ErrorKind::AlreadyExists => {
                let problem = "cannot be written: the output folder has something else under this name";
                self.bad(file, problem.to_owned())
            }
            ErrorKind::NotADirectory => {
                let problem = "cannot be written: the output folder has a file or link in place of its folder";
                self.bad(file, problem.to_owned())
            }
            // The next file would fail too.
            _ => FileOutcome::Stopped(Failure::at(
                file.display(),
                format!("could not be written: {}", words(&error)),
            )),
        }
    }

    fn bad(&self, file: &Path, reason: String) -> FileOutcome {
        match self.side.note(&Bad::new(file, None, reason)) {
            Ok(()) => FileOutcome::Bad,
            Err(error) => FileOutcome::Stopped(Failure::at(side::FAILED, words(&error))),
        }
    }
}

/// Returns the message of a failure without the name, which is shown next to it.
fn reason(name: &str, failure: Failure) -> String {
    match failure {
        Failure::Told(words) => match words.strip_prefix(&format!("{}: ", clean(name))) {
            Some(reason) => reason.to_owned(),
            None => words,
        },
        Failure::PipeClosed => "could not be read".to_owned(),
    }
}

impl Sum {
    fn take(&mut self, small: Small) {
        self.conversations += 1;
        self.before += small.before;
        self.after += small.after;
        self.warnings.extend(small.warning);
    }

    fn add(&mut self, other: Sum) {
        self.files += other.files;
        self.conversations += other.conversations;
        self.before += other.before;
        self.after += other.after;
        self.warnings.extend(other.warnings);
    }
}

fn tell(sum: &Sum, bad: &[Bad], there: usize, passed: &[String], out: &Path) {
    let look = Look::stderr();
    let mut lines = vec![match sum.conversations {
        0 => format!("{} no new conversation", look.ink(Ink::Green, super::NOTHING)),
        all => {
            let within = format!("{} of {}", count(all, "conversation"), count(sum.files, "file"));
            super::total(&look, sum.before, sum.after, &within)
        }
    }];
    if there > 0 {
        lines.push(format!("{} compacted by an earlier run", count(there, "file")));
    }
    lines.extend_from_slice(passed);
    for line in lines {
        let _ = writeln!(io::stderr(), "{line}");
    }
    let told: Vec<String> = bad.iter().map(Bad::words).collect();
    warn(&look, &told);
    warn(&look, &sum.warnings);
    if !bad.is_empty() {
        let list = clean(&out.join(side::FAILED).display().to_string());
        let problem = format!(
            "{} could not be compacted; {list} lists them",
            count(bad.len(), "conversation")
        );
        crate::tell("error", Ink::Red, &problem);
    }
}
