//! `codelet compact`: compacts a conversation and reports the result.

mod folder;

use crate::args::Compact;
use crate::commands::{told_warnings, warn};
use crate::exit::{Exit, Failure};
use crate::explain;
use crate::input::{self, Input, InputContent};
use crate::output::{Output, is_same_file};
use crate::paint::{self, Ink, Look, clean, clip, count, number};
use crate::progress::Progress;
use codelet_context::compact::{Compaction, Target, Warning};
use codelet_context::notice::smaller;
use codelet_context::recall::Archive;
use codelet_context::tokens::Tokens;
use codelet_offline::compact::{self as offline, Compacted, Written};
use codelet_offline::removed;
use codelet_text::shell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The beginning of the notice.
const DONE: &str = "Context compacted:";
/// The beginning of the notice if nothing is smaller.
const NOTHING: &str = "Nothing to compact:";
/// The maximum length of an anchor's description in the notice, in columns.
const QUOTE: usize = 60;

/// Reads, compacts and writes.
///
/// # Errors
/// If the input cannot be read, an output cannot be written, or outputs conflict with each other.
pub fn run(args: &Compact) -> Result<Exit, Failure> {
    if let Some(out) = &args.out {
        return folder::run(args, out);
    }
    if let Some(path) = args.file.as_deref().filter(|path| path.is_dir()) {
        return Err(Failure::at(
            path.display(),
            "is a folder; --out DIR compacts every conversation in it to another folder",
        ));
    }
    let places = OutputPaths::of(args)?;
    let earlier = Earlier::of(args.removed.as_deref())?;
    let (input, progress) = Input::read_any_telling(args.file.as_deref())?;
    match input.conversations(args.conversations.index)? {
        InputContent::One(input) => one(args, &places, &earlier, input, progress),
        InputContent::Many(input) => all(args, &places, &input, progress),
    }
    .map(|()| Exit::Done)
}

/// Compacts one conversation and reports everything about it.
fn one(
    args: &Compact,
    places: &OutputPaths,
    earlier: &Earlier,
    input: Input,
    progress: Progress,
) -> Result<(), Failure> {
    let Outcome {
        compacted,
        written,
        warnings,
        elapsed,
    } = compacted(args, Some(&earlier.archive), input, Some(&progress))?;
    drop(progress);

    // The result is written last: it may replace the input, which must not be lost if anything else fails.
    if let Some(place) = &places.removed {
        place.write(|out| {
            out.write_all(&earlier.lines)?;
            removed::write(compacted.archive(), out)
        })?;
    }
    if let Some(place) = &places.report {
        let report = compacted.report(&warnings, Some(elapsed));
        place.write(|out| writeln!(out, "{report:#}"))?;
    }
    if let Some(place) = &places.result {
        place.write(|out| write_written(&written, out))?;
    }
    if args.explain {
        let look = if places.picture == Picture::Stdout {
            Look::stdout()
        } else {
            Look::stderr()
        };
        let picture = explain::picture(&look, compacted.history.messages(), &compacted.done);
        match places.picture {
            Picture::Stdout => Output::Stdout.write(|out| out.write_all(picture.as_bytes()))?,
            Picture::Stderr => drop(io::stderr().write_all(picture.as_bytes())),
        }
    }
    let look = Look::stderr();
    let _ = writeln!(
        io::stderr(),
        "{}",
        notice(&look, target(args), &compacted.done, elapsed)
    );
    warn(&look, &warnings);
    if places.result.is_none() {
        let hint = "The result was not printed; -o FILE saves it.";
        let _ = writeln!(io::stderr(), "{}", look.ink(Ink::Dim, hint));
    }
    // Freeing the memory is left to the end of the process, which is faster.
    std::mem::forget((compacted, written));
    Ok(())
}

/// Compacts the conversations of a data set, one per line.
fn all(args: &Compact, places: &OutputPaths, input: &Input, progress: Progress) -> Result<(), Failure> {
    let alone = [
        ("--explain", args.explain),
        ("--report", places.report.is_some()),
        ("--removed", places.removed.is_some()),
    ];
    if let Some((name, _)) = alone.iter().find(|(_, is_asked)| *is_asked) {
        let problem = format!("contains several conversations, but {name} describes one: choose it with --index");
        return Err(Failure::at(&input.name, problem));
    }
    let (mut result, mut told) = (Vec::new(), Vec::new());
    let (mut before, mut after, mut all) = (0, 0, 0);
    let done = input.each(|_, one| {
        let Outcome {
            compacted,
            written,
            warnings,
            ..
        } = compacted(args, None, one, Some(&progress))?;
        before += compacted.done.before.tokens;
        after += compacted.done.after.tokens;
        all += 1;
        // Writing to a `Vec` cannot fail.
        let _ = write_line(&written, &mut result);
        told.extend(warnings);
        Ok(())
    });
    drop(progress);
    if let Some(place) = &places.result {
        place.write(|out| out.write_all(&result))?;
    }
    let look = Look::stderr();
    let total = total(&look, before, after, &count(all, "conversation"));
    let _ = writeln!(io::stderr(), "{total}");
    warn(&look, &told);
    done
}

/// Returns a one-line summary of several results.
fn total(look: &Look, before: Tokens, after: Tokens, within: &str) -> String {
    let shown = number(before);
    match after < before {
        true => format!(
            "{} {shown} → {} tokens ({}) in {within}",
            look.ink(Ink::Green, DONE),
            number(after),
            smaller(before, after),
        ),
        false => format!("{} {shown} tokens in {within}", look.ink(Ink::Green, NOTHING)),
    }
}

/// A compacted conversation with its output and warnings.
struct Outcome {
    compacted: Compacted,
    written: Written,
    warnings: Vec<String>,
    elapsed: Duration,
}

/// The texts that earlier compactions removed, from the file to which those of this one are added.
#[derive(Default)]
struct Earlier {
    /// Its lines, each with a line break.
    lines: Vec<u8>,
    archive: Archive,
}

impl Earlier {
    /// Reads the file for removed texts, if there is one.
    fn of(removed: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = removed.filter(|path| path.is_file()) else {
            return Ok(Earlier::default());
        };
        let mut lines = std::fs::read(path).map_err(|error| Failure::io(path, &error))?;
        if lines.last().is_some_and(|&last| last != b'\n') {
            lines.push(b'\n');
        }
        let archive = removed::archive(&lines).map_err(|broken| {
            let problem = format!("{broken}; removed texts are added only to a file that `codelet compact` wrote");
            Failure::at(path.display(), problem)
        })?;
        Ok(Earlier { lines, archive })
    }
}

fn compacted(
    args: &Compact,
    earlier: Option<&Archive>,
    input: Input,
    progress: Option<&Progress>,
) -> Result<Outcome, Failure> {
    let document = input
        .record(args.conversations.reading.from.0, args.conversations.reading.force)?
        .document;
    let Input { name, bytes, .. } = input;
    if let Some(progress) = progress {
        progress.tell(&format!("compacting {}", count(document.messages.len(), "message")));
    }
    let reading_back = args.removed.as_deref().map(reading_back).unwrap_or_default();
    let how = offline::Compact {
        target: target(args),
        to: args.to,
        reading_back: &reading_back,
        earlier,
    };
    let began = Instant::now();
    let mut compacted = offline::compact(bytes, document, &how);
    let elapsed = began.elapsed();
    let written = compacted.write().map_err(|problem| Failure::at(&name, problem))?;
    let warnings = told_warnings(&name, &compacted.odd, compacted.warnings(&written).iter());
    Ok(Outcome {
        compacted,
        written,
        warnings,
        elapsed,
    })
}

/// Explains to the agent that continues from the result how to read removed text: no agent has a tool for it, but
/// nearly all have a shell.
fn reading_back(removed: &Path) -> String {
    match Output::named(removed) {
        Output::File(path) => {
            let path = std::path::absolute(&path).unwrap_or(path);
            let path = path.to_string_lossy();
            let word = shell::word(&path);
            format!("In a shell, `codelet restore {word} HANDLE` prints what it leaves out.")
        }
        // Whoever reads standard output stores the removed texts.
        Output::Stdout => String::new(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Picture {
    Stdout,
    Stderr,
}

/// The destinations of the outputs.
struct OutputPaths {
    result: Option<Output>,
    report: Option<Output>,
    removed: Option<Output>,
    picture: Picture,
}

impl OutputPaths {
    fn of(args: &Compact) -> Result<Self, Failure> {
        let named = |path: &Option<PathBuf>| path.as_deref().map(Output::named);
        let (report, removed) = (named(&args.report), named(&args.removed));
        let is_file = args
            .output
            .as_deref()
            .map(Output::named)
            .filter(|output| *output != Output::Stdout);
        // In a terminal, the result would push the picture out of view, and nobody could read it there.
        let hold_back = args.explain && args.output.is_none() && Look::stdout().terminal;
        let result = (!hold_back).then(|| is_file.clone().unwrap_or(Output::Stdout));
        let places = [("the result", &result), ("--report", &report), ("--removed", &removed)];
        let places: Vec<(&str, &Output)> = places
            .into_iter()
            .filter_map(|(name, place)| Some((name, place.as_ref()?)))
            .collect();
        for (at, (name, place)) in places.iter().enumerate() {
            if let Some((other, _)) = places[..at].iter().find(|(_, other)| place.is_same(other)) {
                return Err(Failure::Told(format!(
                    "{other} and {name} name the same file; use a different file for each"
                )));
            }
        }
        let input = args.file.as_deref().map(input::file_of);
        // A conversation may replace its input file; a store contains other sessions too.
        let is_replaced = result.is_some() && !input.as_deref().is_some_and(input::is_store);
        for (name, place) in &places[usize::from(is_replaced)..] {
            if let (Output::File(path), Some(input)) = (place, &input)
                && is_same_file(path, input)
            {
                return Err(Failure::Told(format!(
                    "{name} would overwrite the input; name another file"
                )));
            }
        }
        let stdout_is_taken = places.iter().any(|(_, place)| **place == Output::Stdout);
        Ok(OutputPaths {
            picture: if stdout_is_taken {
                Picture::Stderr
            } else {
                Picture::Stdout
            },
            result,
            report,
            removed,
        })
    }
}

fn target(args: &Compact) -> Target {
    match (args.budget, args.window) {
        (Some(tokens), _) => Target::Budget(tokens),
        (None, Some(tokens)) => Target::Window(tokens),
        (None, None) => Target::Select,
    }
}

/// Writes a result to a file, with a final newline for text.
fn write_written(written: &Written, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(written.bytes())?;
    match written {
        Written::New(new) if !new.text.ends_with('\n') => out.write_all(b"\n"),
        Written::New(_) | Written::Original(_) => Ok(()),
    }
}

/// Writes a result to a line of a data set.
fn write_line(written: &Written, out: &mut dyn Write) -> io::Result<()> {
    match written {
        // An item of a list may span several lines.
        Written::Original(bytes) if bytes.contains(&b'\n') => {
            match serde_json::from_slice::<serde_json::Value>(bytes) {
                Ok(value) => write!(out, "{value}")?,
                Err(_) => out.write_all(bytes)?,
            }
        }
        // Only `shape` output contains newlines.
        written => out.write_all(written.bytes())?,
    }
    out.write_all(b"\n")
}

/// Returns a one-line summary of the result.
fn notice(look: &Look, target: Target, done: &Compaction, elapsed: Duration) -> String {
    let took = if elapsed < Duration::from_millis(1) {
        "under 1 ms".to_owned()
    } else {
        format!("{} ms", number(elapsed.as_millis() as u64))
    };
    let before = number(done.before.tokens);
    if !done.compacted {
        let is_mended = done
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::Mended { .. }));
        if is_mended && done.after.tokens < done.before.tokens {
            return format!(
                "{} {before} → {} tokens, removed what providers reject · {took}",
                look.ink(Ink::Green, "Repaired:"),
                number(done.after.tokens)
            );
        }
        let why = match target {
            Target::Budget(budget) if done.before.tokens <= budget => {
                format!("within the budget of {}", number(budget))
            }
            Target::Window(window) => format!("in a window of {}", number(window)),
            _ => format!("in {}", count(done.turns.total, "turn")),
        };
        let mended = if is_mended { " · repaired" } else { "" };
        return format!(
            "{} {before} tokens {why}{mended} · {took}",
            look.ink(Ink::Green, NOTHING)
        );
    }
    let after = number(done.after.tokens);
    let smaller = smaller(done.before.tokens, done.after.tokens);
    let from = done.anchor.as_ref().map_or(String::new(), |anchor| {
        format!(" from \"{}\"", clip(&clean(&anchor.description), QUOTE))
    });
    let mut parts = vec![
        format!("{DONE} {before} → {after} tokens ({smaller})"),
        format!("kept {}{from}", count(done.turns.kept, "turn")),
    ];
    if done.turns.summarised > 0 {
        parts.push(format!("{} summarised", number(done.turns.summarised as u64)));
    }
    parts.push(took);
    let columns = if look.terminal { look.width } else { usize::MAX };
    let parts = parts.into_iter().map(|part| (paint::width(&part), part));
    paint::flow(parts, " · ", columns, "  ").replacen(DONE, &look.ink(Ink::Green, DONE), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_context::anchor::{Anchor, AnchorKind};
    use codelet_context::compact::{Options, Size, TurnCount, compact_with};
    use codelet_context::history::History;
    use codelet_context::message::{Message, Origin, Part, Role};
    use std::sync::Arc;

    #[test]
    fn the_notice_has_the_figures_on_one_line() {
        let mut done = compact_with(&History::new(), &Options::new(Target::Select));
        let look = Look::plain(80);
        let took = Duration::from_micros(3400);
        done.before = Size {
            tokens: 182_300,
            ..done.before
        };
        done.after = done.before;
        assert_eq!(
            notice(&look, Target::Budget(200_000), &done, Duration::ZERO),
            "Nothing to compact: 182,300 tokens within the budget of 200,000 · under 1 ms"
        );
        done.warnings.push(Warning::Mended { places: 2 });
        assert!(
            notice(&look, Target::Select, &done, took)
                .starts_with("Nothing to compact: 182,300 tokens in 0 turns · repaired")
        );
        done.after.tokens = 19;
        assert!(
            notice(&look, Target::Select, &done, took)
                .starts_with("Repaired: 182,300 → 19 tokens, removed what providers reject")
        );
        // An earlier summary is not part of this compaction.
        let summary = Part::text_from(Origin::Summary, "Summary");
        let summary = Message::new(Role::User, vec![summary]);
        done.view.messages.push(Arc::new(summary));
        assert!(notice(&look, Target::Select, &done, took).starts_with("Repaired: "));
        done.compacted = true;
        done.after.tokens = 41_900;
        done.turns = TurnCount {
            total: 15,
            kept: 4,
            summarised: 11,
        };
        done.anchor = Some(Anchor {
            kind: AnchorKind::TaskCompletion,
            turn: 11,
            range: 20..24,
            description: "tests now pass".to_owned(),
        });
        assert_eq!(
            notice(&look, Target::Select, &done, took),
            "Context compacted: 182,300 → 41,900 tokens (77% smaller) · kept 4 turns from \"tests now pass\" · 11 summarised · 3 ms"
        );
        done.after.tokens = 182_299;
        assert!(notice(&look, Target::Select, &done, took).contains("(less than 1% smaller)"));
    }
}
