//! `codelet replay`: simulates recorded conversations under policies, on all cores, and prints the cost of each.

mod files;
mod prices;
mod view;
mod whole;

pub(super) use files::names;
pub(super) use prices::{Prices, prices};

use crate::args::{Replay, WhichHalf};
use crate::commands::warn;
use crate::exit::Failure;
use crate::input::{Input, InputContent};
use crate::output::Output;
use crate::paint::{Look, clean, count};
use crate::progress::Progress;
use crate::side_by_side::{cores, side_by_side};
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::session::{MOST_REQUESTS, Session};
use codelet_replay::totals::{Half, Played, repeated};
use codelet_transcript::Format;
use files::{Passed, ReplayFiles, title};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Everything that is printed.
struct ReplayResult {
    settings: Settings,
    played: Vec<Played>,
    /// The shortest names that distinguish the files.
    names: Vec<String>,
    /// Files and folders that could not be read, with the reasons.
    skipped: Vec<String>,
    /// Files whose conversation another replayed file also contains, with that file.
    repeated: Vec<[String; 2]>,
    /// Items skipped in folders.
    passed: Passed,
}

/// Reads, simulates and prints.
///
/// # Errors
/// If the prices cannot be read, no file can be read, or standard output cannot be written.
pub fn run(args: &Replay) -> Result<(), Failure> {
    let prices = prices(&args.prices)?;
    let mut settings = Settings::new(args.window, prices.card);
    settings.own = prices.own;
    settings.refetch = args.refetch;
    if let Some(ttl) = args.ttl {
        settings.card = prices::living(settings.card, ttl)?;
    }
    let progress = Progress::start("looking for files");
    let ReplayFiles {
        mut files,
        mut skipped,
        passed,
    } = files::find(&args.files);
    files.retain(|file| match args.half {
        WhichHalf::All => true,
        WhichHalf::A => Half::of(&title(file)) == Half::A,
        WhichHalf::B => Half::of(&title(file)) == Half::B,
    });
    let policies = Policy::played(&args.policies);
    let results = play_all(&files, args, &policies, &settings, &progress);
    drop(progress);
    let mut played: Vec<Played> = Vec::new();
    for result in results {
        match result {
            Ok(session) => played.push(session),
            Err(problem) => skipped.push(problem),
        }
    }
    let repeated = take_repeated(&mut played);
    let mut words: Vec<String> = skipped.iter().map(|problem| format!("skipped {problem}")).collect();
    words.extend(twice(&repeated));
    words.extend(doubts(&played));
    if played.is_empty() {
        warn(&Look::stderr(), &words);
        return Err(Failure::Told(match files.len() {
            0 => "no files to replay".to_owned(),
            1 => "the file could not be replayed".to_owned(),
            all => format!("none of {all} files could be replayed"),
        }));
    }
    let outcome = ReplayResult {
        settings,
        names: names(
            &played
                .iter()
                .map(|session| PathBuf::from(&session.file))
                .collect::<Vec<_>>(),
        ),
        played,
        skipped,
        repeated,
        passed,
    };
    Output::Stdout.write(|out| match (args.json, args.csv) {
        (true, _) => whole::write(out, &outcome),
        (_, true) => out.write_all(view::csv(&outcome).as_bytes()),
        _ => out.write_all(view::table(&Look::stdout(), &outcome).as_bytes()),
    })?;
    warn(&Look::stderr(), &words);
    Ok(())
}

/// Removes duplicates, so that each conversation counts once; returns the removed and the kept files.
fn take_repeated(played: &mut Vec<Played>) -> Vec<[String; 2]> {
    let places = repeated(played);
    let file = |at: usize| played[at].file.clone();
    let named = places.iter().map(|&(out, kept)| [file(out), file(kept)]).collect();
    let mut at = 0;
    let mut out = places.iter().map(|(out, _)| *out).peekable();
    played.retain(|_| {
        at += 1;
        out.next_if_eq(&(at - 1)).is_none()
    });
    named
}

/// Returns the notice about duplicate conversations.
fn twice(repeated: &[[String; 2]]) -> Option<String> {
    let [file, kept] = repeated.first()?;
    let (holds, first) = match repeated.len() {
        1 => ("1 file repeats the conversation of another".to_owned(), ""),
        all => (
            format!("{} repeat conversations of others", count(all, "file")),
            "the first is ",
        ),
    };
    Some(format!(
        "{holds}; each counts once ({first}{}, same as {})",
        clean(file),
        clean(kept)
    ))
}

/// Describes recorded usage that is not plausible or has no known price.
fn doubts(played: &[Played]) -> Vec<String> {
    let mut words = Vec::new();
    let long: Vec<_> = played.iter().filter(|session| session.unplayed > 0).collect();
    if let Some(first) = long.first() {
        words.push(format!(
            "{} in {} not replayed (the first in {}): the limit is {MOST_REQUESTS} per session",
            count(long.iter().map(|session| session.unplayed).sum::<usize>(), "request"),
            count(long.len(), "file"),
            clean(&first.file),
        ));
    }
    let unknown: BTreeSet<&str> = played
        .iter()
        .flat_map(|session| &session.unknown)
        .map(|name| &**name)
        .collect();
    if !unknown.is_empty() {
        let named = unknown
            .iter()
            .take(3)
            .map(|name| clean(name))
            .collect::<Vec<_>>()
            .join(", ");
        let more = unknown.len().saturating_sub(3);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        words.push(format!(
            "the price of {named}{more} is unknown; the check leaves out its requests"
        ));
    }
    words
}

/// Simulates the files on all cores, or on the requested number. Each thread holds one file at a time.
fn play_all(
    files: &[PathBuf],
    args: &Replay,
    policies: &[Policy],
    settings: &Settings,
    progress: &Progress,
) -> Vec<Result<Played, String>> {
    let threads = args.jobs.map_or_else(cores, usize::from);
    let done = AtomicUsize::new(0);
    side_by_side(files.len(), threads, |at| {
        let results = play_file(&files[at], args, policies, settings);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let look = Look::stderr();
        let bar = look.bar(done as u64, files.len() as u64, 30);
        progress.tell(&format!("{bar} {done} of {}", count(files.len(), "file")));
        results
    })
    .into_iter()
    .flatten()
    .collect()
}

/// Simulates the conversation of a file, or all of a data set.
fn play_file(file: &Path, args: &Replay, policies: &[Policy], settings: &Settings) -> Vec<Result<Played, String>> {
    let input = match Input::read_any(Some(file)).and_then(|input| input.conversations(args.conversations.index)) {
        Ok(InputContent::One(input)) => input,
        Ok(InputContent::Many(input)) => {
            let mut played = Vec::new();
            let done = input.each(|at, one| {
                played.push(play(file, Some(at), one, args, policies, settings));
                Ok(())
            });
            // Errors of single conversations are reported with them, except for one that cannot be read from a store.
            played.extend(done.err().map(|failure| Err(words_of(file, failure))));
            return played;
        }
        Err(failure) => return vec![Err(words_of(file, failure))],
    };
    vec![play(file, args.conversations.index, input, args, policies, settings)]
}

/// Returns the message of a failure for a file.
fn words_of(file: &Path, failure: Failure) -> String {
    match failure {
        Failure::Told(words) => words,
        Failure::PipeClosed => format!("{}: nothing could be read", clean(&file.display().to_string())),
    }
}

/// Simulates one conversation; `index` is its index if the file is a data set.
fn play(
    file: &Path,
    index: Option<usize>,
    input: Input,
    args: &Replay,
    policies: &[Policy],
    settings: &Settings,
) -> Result<Played, String> {
    let number = index.map_or(String::new(), |at| format!("#{at}"));
    let at = |problem: &dyn std::fmt::Display| clean(&format!("{}{number}: {problem}", file.display()));
    let recording = input
        .record(args.conversations.reading.from.0, args.conversations.reading.force)
        .map_err(|failure| words_of(file, failure))?;
    drop(input);
    let format = recording.document.format;
    let source = match format {
        // The neutral format does not name the agent; its collections are folders per agent.
        Format::Corpus => file
            .parent()
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned()),
        _ => None,
    };
    let session = Session::new(format!("{}{number}", title(file)), recording);
    if session.requests.is_empty() {
        return Err(at(&"contains no model reply, so there is nothing to replay"));
    }
    let source = source.unwrap_or_else(|| format.name().to_owned());
    let mut played = Played::new(&session, source, policies, settings);
    played.file = format!("{}{number}", file.display());
    Ok(played)
}
