//! `codelet replay`: plays recorded conversations through policies, on all cores, and prints what each would have cost.

mod files;
mod prices;
mod view;

pub(super) use files::names;
pub(super) use prices::{Prices, prices};

use crate::args::{Replay, WhichHalf};
use crate::commands::warn;
use crate::exit::Failure;
use crate::input::Input;
use crate::output::Output;
use crate::paint::{Look, clean, count};
use crate::progress::Progress;
use crate::side_by_side::{cores, side_by_side};
use codelet_replay::json;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::session::Session;
use codelet_replay::totals::{Half, Played, by_source, checked, totals};
use codelet_transcript::Format;
use files::{Found, Passed, stem};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Everything that is printed.
struct Outcome {
    settings: Settings,
    played: Vec<Played>,
    /// The shortest names that tell them apart.
    names: Vec<String>,
    /// Files and folders that could not be read, and why.
    skipped: Vec<String>,
    /// What was passed over in folders.
    passed: Passed,
}

/// Reads, plays, prints.
///
/// # Errors
/// When the prices cannot be read, when no file can, or when standard output takes no more.
pub fn run(args: &Replay) -> Result<(), Failure> {
    let prices = prices(&args.prices)?;
    let mut settings = Settings::new(args.window, prices.card);
    settings.own = prices.own;
    settings.refetch = args.refetch;
    if let Some(ttl) = args.ttl {
        settings.card = prices::living(settings.card, ttl)?;
    }
    let progress = Progress::start("looking for files");
    let Found {
        mut files,
        mut skipped,
        passed,
    } = files::find(&args.files);
    files.retain(|file| match args.half {
        WhichHalf::All => true,
        WhichHalf::A => Half::of(&stem(file)) == Half::A,
        WhichHalf::B => Half::of(&stem(file)) == Half::B,
    });
    let policies = policies(&args.policies);
    let results = play_all(&files, args, &policies, &settings, &progress);
    drop(progress);
    let mut played: Vec<Played> = Vec::new();
    for result in results {
        match result {
            Ok(session) => played.push(session),
            Err(problem) => skipped.push(problem),
        }
    }
    let mut words: Vec<String> = skipped.iter().map(|problem| format!("skipped {problem}")).collect();
    words.extend(doubts(&played));
    if played.is_empty() {
        warn(&Look::stderr(), &words);
        return Err(Failure::Told(match files.len() {
            0 => "there is no file to play".to_owned(),
            all => format!("none of {} could be played", count(all, "file")),
        }));
    }
    let outcome = Outcome {
        settings,
        names: names(
            &played
                .iter()
                .map(|session| PathBuf::from(&session.file))
                .collect::<Vec<_>>(),
        ),
        played,
        skipped,
        passed,
    };
    let text = if args.json {
        format!("{:#}\n", as_json(&outcome))
    } else if args.csv {
        view::csv(&outcome)
    } else {
        view::table(&Look::stdout(), &outcome)
    };
    Output::Stdout.write(|out| out.write_all(text.as_bytes()))?;
    warn(&Look::stderr(), &words);
    Ok(())
}

/// What was recorded and is not believed, or whose price is not known.
fn doubts(played: &[Played]) -> Vec<String> {
    let mut words = Vec::new();
    let bills: usize = played.iter().map(|session| session.false_bills).sum();
    if bills > 0 {
        let sessions = played.iter().filter(|session| session.false_bills > 0);
        let (sessions, first) = (sessions.clone().count(), sessions.map(|session| &session.file).next());
        words.push(format!(
            "{} in {} ignored (the first in {}): more tokens than a conversation of that length can have had",
            count(bills, "bill"),
            count(sessions, "file"),
            clean(first.map_or("", |file| file)),
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
            "no card has the price of {named}{more}, so what was billed for it is left out of the check"
        ));
    }
    words
}

/// The policies that were asked for, each once, with the one that all are compared with in front.
pub(super) fn policies(asked: &[Policy]) -> Vec<Policy> {
    if asked.is_empty() {
        return Policy::USUAL.to_vec();
    }
    let mut policies = vec![Policy::Never];
    for policy in asked {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    policies
}

/// Plays the files on as many cores as there are, unless told otherwise. One file at a time is held by each.
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
        let result = play_file(&files[at], args.from.0, policies, settings);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let look = Look::stderr();
        let bar = look.bar(done as u64, files.len() as u64, 30);
        progress.tell(&format!("{bar} {done} of {}", count(files.len(), "file")));
        result
    })
}

fn play_file(file: &Path, from: Option<Format>, policies: &[Policy], settings: &Settings) -> Result<Played, String> {
    let told = |failure: Failure| match failure {
        Failure::Told(words) => words,
        Failure::PipeClosed => format!("{}: nothing could be read", clean(&file.display().to_string())),
    };
    let input = Input::read(Some(file)).map_err(told)?;
    let at = |problem: &dyn std::fmt::Display| clean(&format!("{}: {problem}", file.display()));
    let recording = codelet_transcript::record(&input.bytes, from).map_err(|error| at(&error))?;
    drop(input);
    let format = recording.document.format;
    let source = match format {
        // The neutral form says nothing of the agent; collections of it are folders.
        Format::Corpus => file
            .parent()
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned()),
        _ => None,
    };
    let session = Session::new(stem(file), recording);
    if session.requests.is_empty() {
        return Err(at(&"holds no reply of a model, so there is no request to play"));
    }
    let source = source.unwrap_or_else(|| format.name().to_owned());
    Ok(Played {
        file: file.display().to_string(),
        ..Played::new(&session, source, policies, settings)
    })
}

fn as_json(outcome: &Outcome) -> Value {
    let Settings {
        window,
        reserved,
        card,
        refetch,
        own: _,
    } = &outcome.settings;
    let rates = card.rates;
    let list = |all: &[codelet_replay::totals::Total]| all.iter().map(json::total).collect::<Vec<_>>();
    let sources: serde_json::Map<String, Value> = by_source(&outcome.played)
        .into_iter()
        .map(|(name, (sessions, totals))| {
            (
                name.to_owned(),
                json!({ "sessions": sessions, "totals": list(&totals) }),
            )
        })
        .collect();
    json!({
        "settings": {
            "window": window,
            "reserved": reserved,
            "refetch": refetch,
            "card": {
                "name": &*card.name,
                "input": rates.input, "output": rates.output, "cache_read": rates.cache_read,
                "cache_write": card.write(), "lives_seconds": card.expires_after().as_secs(), "marks": card.marks,
                "minimum": card.minimum, "as_of": &*card.as_of, "source": &*card.source,
            },
        },
        "sessions": outcome.played.iter().map(json::played).collect::<Vec<_>>(),
        "totals": list(&totals(&outcome.played)),
        "sources": sources,
        "check": checked(&outcome.played).as_ref().map(json::checked),
        "skipped": outcome.skipped,
        "passed_over": {
            "other_files": outcome.passed.others, "links_to_folders": outcome.passed.links,
            "links_to_played_files": outcome.passed.again, "too_deep": outcome.passed.deep,
        },
    })
}
