//! `codelet report`: an HTML report about a recorded conversation, with its cost under other policies.

use crate::args::Report;
use crate::commands::replay::{Prices, names, prices};
use crate::commands::{told_warnings, warn};
use crate::exit::Failure;
use crate::input::{self, Input};
use crate::output::{Access, Output};
use crate::paint::{Look, clean, count};
use crate::progress::Progress;
use codelet_context::economics::Preset;
use codelet_context::price::{self, Lifetime, PriceCard};
use codelet_context::tokens::Tokens;
use codelet_replay::play::play_all;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::report::{page, played};
use codelet_replay::session::Session;
use codelet_replay::totals::{Played, totals};
use std::io::{IsTerminal, Write};
use std::path::Path;

/// The context window of most models that agents use, and the larger one that some have, in tokens.
const WINDOWS: [Tokens; 2] = [200_000, 1_000_000];

/// Reads, simulates and writes the page.
///
/// # Errors
/// If the input cannot be read or contains nothing to replay, if the page cannot be written, or if standard output is a
/// terminal.
pub fn run(args: &Report) -> Result<(), Failure> {
    let output = match &args.output {
        Some(path) => Output::named(path),
        None => Output::Stdout,
    };
    if output == Output::Stdout && std::io::stdout().is_terminal() {
        return Err(Failure::Told(
            "the report is HTML and is not printed on a terminal: name a file with -o report.html".to_owned(),
        ));
    }
    for file in &args.files {
        if output.is_same(&Output::named(&input::file_of(file))) && output != Output::Stdout {
            return Err(Failure::at(
                file.display(),
                "is an input file; choose another output file with -o",
            ));
        }
    }
    let pinned = output.pin(Access::AsUsual, &[])?;
    pinned.check()?;
    let progress = Progress::start("reading");
    let mut odd = Vec::new();
    let (session, format) = read(args.files.first().map(|file| &**file), args, &mut odd)?;
    let settings = settings(args, &session)?;
    let mut policies = Policy::played(&args.policies);
    if args.policies.is_empty() && !session.requests.is_empty() {
        // `off` edits like the first one, so it adds nothing.
        policies.retain(|policy| *policy != Policy::Preset(Preset::Off));
    }
    let runs: Vec<_> = if session.requests.is_empty() {
        Vec::new()
    } else {
        let each = policies.iter().copied().inspect(|policy| {
            progress.tell(&format!("simulating {} under {}", clean(&session.name), policy.name()));
        });
        play_all(&session, each, &settings).collect()
    };
    let mut report = played(&session, format, runs, &settings);
    let mut skipped = Vec::new();
    if args.files.len() > 1 {
        // Files with the same name are distinguished by their folders.
        let short = names(&args.files).swap_remove(0);
        if Path::new(&short).components().count() > 1 {
            report.title = short;
        }
        let mut all = vec![Played::new(&session, format.to_owned(), &policies, &settings)];
        for file in &args.files[1..] {
            progress.tell(&format!("playing {}", clean(&file.display().to_string())));
            match read(Some(file), args, &mut odd) {
                Ok((other, _)) if other.requests.is_empty() => {
                    skipped.push(clean(&format!(
                        "skipped {}: it contains no model reply",
                        file.display()
                    )));
                }
                Ok((other, format)) => all.push(Played::new(&other, format.to_owned(), &policies, &settings)),
                Err(Failure::Told(problem)) => skipped.push(format!("skipped {problem}")),
                Err(closed) => return Err(closed),
            }
        }
        if !skipped.is_empty() {
            report
                .notes
                .push(format!("{} could not be read.", count(skipped.len(), "file")));
        }
        report.together = Some((all.len(), totals(&all)));
    }
    progress.tell("writing the page");
    let text = page(&report);
    drop(progress);
    pinned.write(|out| out.write_all(text.as_bytes()))?;
    warn(&Look::stderr(), &odd);
    warn(&Look::stderr(), &skipped);
    if let Output::File(path) = &output
        && std::io::stderr().is_terminal()
    {
        let _ = writeln!(std::io::stderr(), "wrote {}", clean(&path.display().to_string()));
    }
    Ok(())
}

/// Reads the session from a file or standard input, and returns it with the name of its format. Warnings are added to
/// `warnings`.
fn read(file: Option<&Path>, args: &Report, warnings: &mut Vec<String>) -> Result<(Session, &'static str), Failure> {
    let input = Input::read_any(file)?.one(args.index)?;
    let recording = input.record(args.reading.from.0, args.reading.force)?;
    let name = match file.filter(|file| *file != Path::new("-")) {
        Some(file) => file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        None => "standard input".to_owned(),
    };
    let format = recording.document.format.name();
    let none = std::iter::empty::<&str>();
    warnings.extend(told_warnings(&input.name, &recording.document.warnings, none));
    drop(input);
    Ok((Session::new(name, recording), format))
}

/// Returns the requested settings, and defaults that fit the session: its model's prices, and a context window that it
/// fitted into.
fn settings(args: &Report, session: &Session) -> Result<Settings, Failure> {
    let Prices { card, own } = match &args.prices {
        Some(name) => prices(name)?,
        None => Prices {
            card: own_card(session),
            own: Vec::new(),
        },
    };
    let window = args.window.unwrap_or_else(|| {
        let billed = session.requests.iter().filter_map(|request| request.billed);
        let most = billed.map(|billed| billed.usage.prompt()).max().unwrap_or(0);
        let fits = |window: &&Tokens| **window >= most;
        WINDOWS.iter().find(fits).copied().unwrap_or(WINDOWS[1])
    });
    let mut settings = Settings::new(window, card);
    settings.refetch = args.refetch;
    settings.own = own;
    Ok(settings)
}

/// Returns the prices of the known model with most of the session's requests, with the lifetime of most of its cache
/// writes; the default card if no model is known.
fn own_card(session: &Session) -> PriceCard {
    let Some(card) = session.models().into_iter().find_map(|(model, _)| price::find(model)) else {
        return price::usual();
    };
    let billed = || session.requests.iter().filter_map(|request| request.billed);
    let (hour, all) = billed().fold((0, 0), |sum, it| (sum.0 + it.hour, sum.1 + it.usage.cache_write));
    card.clone().living(if hour * 2 > all {
        Lifetime::Hour
    } else {
        Lifetime::FiveMinutes
    })
}
