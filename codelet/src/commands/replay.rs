//! `codelet replay`: plays recorded conversations through policies, on all cores, and prints what each would have cost.

mod view;

use crate::args::{Replay, Ttl, WhichHalf};
use crate::commands::warn;
use crate::exit::Failure;
use crate::input::Input;
use crate::output::Output;
use crate::paint::{Look, clean, count};
use crate::progress::Progress;
use crate::side_by_side::{cores, side_by_side};
use codelet_context::price::{self, Lifetime, PriceCard};
use codelet_replay::json;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::session::Session;
use codelet_replay::totals::{Half, Played, by_source, checked, totals};
use codelet_transcript::Format;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Endings of the files that are looked for in a folder.
const ENDINGS: [&str; 3] = ["json", "jsonl", "traj"];
/// Folders within folders are looked into this deep.
const DEEPEST: usize = 16;

/// Everything that is printed.
struct Outcome {
    settings: Settings,
    played: Vec<Played>,
    /// Files that could not be read, and why.
    skipped: Vec<String>,
}

/// Reads, plays, prints.
///
/// # Errors
/// When the prices cannot be read, when no file can, or when standard output takes no more.
pub fn run(args: &Replay) -> Result<(), Failure> {
    let mut settings = Settings::new(args.window, card(&args.prices)?);
    settings.refetch = args.refetch;
    if let Some(ttl) = args.ttl {
        settings.card = living(settings.card, ttl)?;
    }
    let progress = Progress::start("looking for files");
    let files = files(&args.files, args.half)?;
    let policies = policies(&args.policies);
    let results = play_all(&files, args, &policies, &settings, &progress);
    drop(progress);
    let (mut played, mut skipped) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(session) => played.push(session),
            Err(problem) => skipped.push(problem),
        }
    }
    let words = skipped
        .iter()
        .map(|problem| format!("skipped {problem}"))
        .collect::<Vec<_>>();
    if played.is_empty() {
        warn(&Look::stderr(), &words);
        return Err(Failure::Told(match files.len() {
            0 => "there is no file to play".to_owned(),
            all => format!("none of {} could be played", count(all, "file")),
        }));
    }
    let outcome = Outcome {
        settings,
        played,
        skipped,
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

/// A built-in price card, or one from a file.
pub(super) fn card(name: &str) -> Result<PriceCard, Failure> {
    if let Some(card) = price::find(name) {
        return Ok(card.clone());
    }
    let (file, wanted) = match name.rsplit_once('#') {
        Some((file, wanted)) if !Path::new(name).exists() => (file, Some(wanted)),
        _ => (name, None),
    };
    if !Path::new(file).exists() {
        return Err(Failure::Told(format!(
            "{:?} is neither a price card (5m, 1h, no-write-fee, a model's name) nor a file with one",
            clean(name)
        )));
    }
    let input = Input::read(Some(Path::new(file)))?;
    let text = String::from_utf8_lossy(&input.bytes);
    let cards = price::parse(&text, &clean(file)).map_err(|bad| Failure::Told(bad.to_string()))?;
    let found = match wanted {
        Some(wanted) => price::among(&cards, wanted),
        None if cards.len() > 1 => {
            let problem = format!("holds {}; name one as {file}#NAME", count(cards.len(), "card"));
            return Err(Failure::at(file, problem));
        }
        None => cards.first(),
    };
    found
        .cloned()
        .ok_or_else(|| Failure::at(file, format!("holds no card {}", wanted.unwrap_or_default())))
}

/// The card with the lifetime that was asked for.
///
/// # Errors
/// When the vendor has no choice to offer, and keeps its cache for another time than that.
fn living(card: PriceCard, ttl: Ttl) -> Result<PriceCard, Failure> {
    let has_choice = card.marks.is_some() || card.rates.cache_write_1h > card.rates.cache_write;
    let (lifetime, name, asked) = match ttl {
        Ttl::Minutes => (Lifetime::FiveMinutes, "5m", Duration::from_secs(300)),
        Ttl::Hour => (Lifetime::Hour, "1h", Duration::from_secs(3_600)),
    };
    if has_choice || card.lives == asked {
        return Ok(if has_choice { card.living(lifetime) } else { card });
    }
    Err(Failure::Told(format!(
        "--ttl {name}: by the card {} the vendor sells no cache of that lifetime; its only one keeps what is unused for {}. \
         Leave --ttl away",
        clean(&card.name),
        view::lifetime(card.lives.as_secs())
    )))
}

/// The files that are named, and those in folders that are, in the order of their names.
fn files(named: &[PathBuf], half: WhichHalf) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            let mut found = BTreeSet::new();
            look_into(path, 0, &mut found).map_err(|error| Failure::io(path, &error))?;
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    files.retain(|file| match half {
        WhichHalf::All => true,
        WhichHalf::A => Half::of(&stem(file)) == Half::A,
        WhichHalf::B => Half::of(&stem(file)) == Half::B,
    });
    Ok(files)
}

fn look_into(folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let ending = path.extension().and_then(|ending| ending.to_str());
        if kind.is_dir() && depth < DEEPEST {
            look_into(&path, depth + 1, found)?;
        } else if kind.is_file() && ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            found.insert(path);
        }
    }
    Ok(())
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
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
    Ok(Played::new(&session, source, policies, settings))
}

fn as_json(outcome: &Outcome) -> Value {
    let Settings {
        window,
        reserved,
        card,
        refetch,
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
    })
}
