//! `codelet compact`: makes a conversation smaller, and says what it did.

use crate::args::Compact;
use crate::commands::{told_warnings, tool_definitions, warn};
use crate::exit::Failure;
use crate::explain;
use crate::input::{self, Conversations, Input};
use crate::output::{Output, is_same_file};
use crate::paint::{self, Ink, Look, clean, clip, count, number};
use crate::progress::Progress;
use crate::report_json;
use codelet_context::compact::{Compaction, Options, Size, Target, Warning, compact_with};
use codelet_context::history::History;
use codelet_context::message::Message;
use codelet_context::notice::smaller;
use codelet_context::recall::Archive;
use codelet_context::tokens::Tokens;
use codelet_context::validate::{Vendor, validate};
use codelet_context::view::View;
use codelet_text::shell;
use codelet_transcript::{Document, Format, Warning as DocumentWarning, Written, vendor};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How the notice begins.
const DONE: &str = "Context compacted:";
/// How much of an anchor's description the notice quotes, in columns.
const QUOTE: usize = 60;
/// How much is quoted of what is wrong with a conversation, in columns.
const SENTENCE: usize = 120;
/// Kinds of faults of a conversation that are told of.
const KINDS: usize = 4;
/// Nobody wants it back.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads, compacts, writes.
///
/// # Errors
/// When the input cannot be read, an output not written, or the outputs get in each other's way.
pub fn run(args: &Compact) -> Result<(), Failure> {
    let places = Places::of(args)?;
    let progress = Progress::start("reading");
    let input = Input::read_any(args.file.as_deref())?;
    progress.tell(&format!(
        "reading {} ({})",
        clean(&input.name),
        paint::bytes(input.bytes.len() as u64)
    ));
    match input.conversations(args.index)? {
        Conversations::One(input) => one(args, &places, input, progress),
        Conversations::Many(input) => all(args, &places, &input, progress),
    }
}

/// Compacts one conversation, and tells all about it.
fn one(args: &Compact, places: &Places, input: Input, progress: Progress) -> Result<(), Failure> {
    let Compacted {
        format,
        history,
        done,
        written,
        warnings,
        elapsed,
        ..
    } = compacted(args, input, &progress)?;
    drop(progress);

    // The result comes last: it may replace the input, which must not be lost if anything else fails.
    if let Some(place) = &places.removed {
        place.write(|out| write_removed(&done.view.archive, out))?;
    }
    if let Some(place) = &places.report {
        let report = report_json::compaction(format, &done, &warnings, elapsed);
        place.write(|out| writeln!(out, "{report:#}"))?;
    }
    if let Some(place) = &places.result {
        match &written {
            Outcome::Original(bytes) => place.write(|out| out.write_all(bytes))?,
            Outcome::Written(written) => place.write(|out| write_text(&written.text, out))?,
        }
    }
    if args.explain {
        let look = if places.picture == Picture::Stdout {
            Look::stdout()
        } else {
            Look::stderr()
        };
        let picture = explain::picture(&look, history.messages(), &done);
        match places.picture {
            Picture::Stdout => Output::Stdout.write(|out| out.write_all(picture.as_bytes()))?,
            Picture::Stderr => drop(io::stderr().write_all(picture.as_bytes())),
        }
    }
    let look = Look::stderr();
    let _ = writeln!(io::stderr(), "{}", notice(&look, target(args), &done, elapsed));
    warn(&look, &warnings);
    if places.result.is_none() {
        let hint = "The result was not printed; -o FILE saves it.";
        let _ = writeln!(io::stderr(), "{}", look.ink(Ink::Dim, hint));
    }
    // What is left is given back by the end of the process, faster than piece by piece.
    std::mem::forget((history, done, written));
    Ok(())
}

/// Compacts the conversations of a data set, each to a line of its own.
fn all(args: &Compact, places: &Places, input: &Input, progress: Progress) -> Result<(), Failure> {
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
        let Compacted {
            history,
            done,
            written,
            warnings,
            ..
        } = compacted(args, one, &progress)?;
        before += done.before.tokens;
        after += done.after.tokens;
        all += 1;
        match &written {
            // An item of a list may stand on several lines.
            Outcome::Original(bytes) if bytes.contains(&b'\n') => {
                let value: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
                result.extend(value.map_or_else(|| bytes.clone(), |value| value.to_string().into_bytes()));
            }
            Outcome::Original(bytes) => result.extend_from_slice(bytes),
            // What is written has no line ends but in `shape`.
            Outcome::Written(written) => result.extend_from_slice(written.text.as_bytes()),
        }
        result.push(b'\n');
        told.extend(warnings);
        drop((ManuallyDrop::into_inner(history), ManuallyDrop::into_inner(done)));
        Ok(())
    });
    drop(progress);
    if let Some(place) = &places.result {
        place.write(|out| out.write_all(&result))?;
    }
    let look = Look::stderr();
    let label = look.ink(Ink::Green, DONE);
    let _ = writeln!(
        io::stderr(),
        "{label} {} → {} tokens ({}) in {}",
        number(before),
        number(after),
        smaller(before, after),
        count(all, "conversation"),
    );
    warn(&look, &told);
    done
}

/// A conversation with what became of it.
struct Compacted {
    format: Format,
    // What is large is given back with the process, as a whole, and not piece by piece before it.
    history: ManuallyDrop<History>,
    done: ManuallyDrop<Compaction>,
    written: Outcome,
    warnings: Vec<String>,
    elapsed: Duration,
}

fn compacted(args: &Compact, input: Input, progress: &Progress) -> Result<Compacted, Failure> {
    let mut document = input.record(&args.reading)?.document;
    let format = document.format;
    let own = Some(format).filter(|format| format.is_written());
    let to = args.to.or(own).unwrap_or(Format::Anthropic);
    let Input { name, bytes, .. } = input;
    // What is left as it is, is given back byte for byte; else the text need not stay beside what was read from it.
    let is_plain = !bytes.starts_with(BYTE_ORDER_MARK) && !document.warnings.iter().any(DocumentWarning::is_altered);
    let original = (to == format && is_plain).then_some(bytes);

    progress.tell(&format!("compacting {}", count(document.messages.len(), "message")));
    let began = Instant::now();
    let history = ManuallyDrop::new(History::of_recording(std::mem::take(&mut document.messages)));
    let target = target(args);
    let original = original.filter(|_| may_stay(&history, target));
    let overhead = tool_definitions(&document);
    let pins = vendor::loaders(history.messages());
    let reading_back = reading_back(args.removed.as_deref());
    let options = Options {
        overhead,
        pins: &pins,
        reading_back: Some(&reading_back),
        ..Options::new(target)
    };
    let mut done = ManuallyDrop::new(compact_with(&history, &options));
    if vendor::list_of(format).is_empty() {
        // Blank texts, and prompts between a call and its output, are how an agent writes its file; what it sent was taken by its
        // vendor, as the replies behind it show. Only a request shows what a vendor would see.
        done.warnings.retain(|warning| !is_mended(warning));
    }
    if to == format && vendor::settle(format, &document.envelope, history.messages(), &mut done.view) {
        done.after = Size::of(&done.view.messages);
    }
    let elapsed = began.elapsed();
    let odd = std::mem::take(&mut document.warnings);
    let written = match original.filter(|_| shows_all(&history, &done)) {
        Some(bytes) => Outcome::Original(bytes),
        None => Outcome::Written(written(document, &done, to).map_err(|problem| Failure::at(&name, problem))?),
    };
    let told = done.warnings.iter().map(|warning| words(warning, &history));
    let left_out = written.warnings().iter().map(DocumentWarning::to_string);
    let crowded = crowded(target, overhead);
    let warnings = told_warnings(&name, &odd, told.chain(left_out).chain(crowded));
    Ok(Compacted {
        format,
        history,
        done,
        written,
        warnings,
        elapsed,
    })
}

/// How whoever goes on with the result reads back what was removed: no agent has a tool for that here, but nearly every one has a shell.
fn reading_back(removed: Option<&Path>) -> String {
    match removed.map(Output::named) {
        Some(Output::File(path)) => {
            let path = std::path::absolute(&path).unwrap_or(path);
            let path = path.to_string_lossy();
            let word = shell::word(&path);
            format!("In a shell, `codelet restore {word} HANDLE` prints what it leaves out.")
        }
        // Nobody knows where it is kept, if anywhere.
        Some(Output::Stdout) | None => String::new(),
    }
}

fn is_mended(warning: &Warning) -> bool {
    matches!(warning, Warning::Mended { .. })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Picture {
    Stdout,
    Stderr,
}

/// Where everything goes.
struct Places {
    result: Option<Output>,
    report: Option<Output>,
    removed: Option<Output>,
    picture: Picture,
}

impl Places {
    fn of(args: &Compact) -> Result<Self, Failure> {
        let named = |path: &Option<PathBuf>| path.as_deref().map(Output::named);
        let (report, removed) = (named(&args.report), named(&args.removed));
        let is_file = args
            .output
            .as_deref()
            .map(Output::named)
            .filter(|output| *output != Output::Stdout);
        // In a terminal, the picture would be lost under a result that nobody can read there.
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
        // A conversation may take the place of the file that it was read from; that of a store holds others.
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
        Ok(Places {
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

/// Definitions of tools that leave little of a window, which no compaction changes.
fn crowded(target: Target, overhead: Tokens) -> Option<String> {
    let Target::Window(window) = target else { return None };
    (overhead > window / 2).then(|| {
        let (taken, window) = (number(overhead), number(window));
        format!("tool definitions alone take {taken} tokens of a context window of {window}; use fewer tools")
    })
}

fn target(args: &Compact) -> Target {
    match (args.budget, args.window) {
        (Some(tokens), _) => Target::Budget(tokens),
        (None, Some(tokens)) => Target::Window(tokens),
        (None, None) => Target::Select,
    }
}

/// Whether a conversation may be left as it is. One that is several times as large as it is to be never is.
fn may_stay(history: &History, target: Target) -> bool {
    const FAR_TOO_LARGE: u64 = 4;
    let whole: u64 = history.estimates().iter().sum();
    match target {
        Target::Select => true,
        Target::Budget(most) | Target::Window(most) => whole <= most.saturating_mul(FAR_TOO_LARGE),
    }
}

/// Whether the view is the history, message for message.
fn shows_all(history: &History, done: &Compaction) -> bool {
    let (all, shown) = (history.messages(), &done.view.messages);
    all.len() == shown.len() && all.iter().zip(shown).all(|(old, new)| Arc::ptr_eq(old, new))
}

/// A warning in words; where the conversation was mended, with what was wrong.
fn words(warning: &Warning, history: &History) -> String {
    match warning {
        Warning::Mended { .. } => format!("{warning}{}", what_was_wrong(history)),
        _ => warning.to_string(),
    }
}

/// What some vendor would have refused, one example of each kind.
fn what_was_wrong(history: &History) -> String {
    let view = View {
        messages: history.messages().to_vec(),
        archive: Archive::default(),
    };
    let mut kinds: Vec<(String, BTreeSet<usize>, String)> = Vec::new();
    for vendor in Vendor::ALL {
        for found in validate(&view, vendor) {
            // Sentences of a kind differ in what they quote and count.
            let quotes = found.sentence.split('"').step_by(2);
            let kind: String = quotes.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect();
            match kinds.iter_mut().find(|(other, ..)| *other == kind) {
                Some((_, places, _)) => drop(places.insert(found.message)),
                None => kinds.push((kind, BTreeSet::from([found.message]), found.sentence)),
            }
        }
    }
    // How it ends is mended without a word if nothing else is wrong.
    kinds.retain(|(_, _, sentence)| !sentence.starts_with("The conversation ends"));
    let shown = kinds.iter().take(KINDS).map(|(_, places, sentence)| {
        let first = places.first().copied().unwrap_or(0);
        let more = match places.len() {
            0 | 1 => String::new(),
            count => format!(" (and {} more)", number(count as u64 - 1)),
        };
        let sentence = clip(&clean(sentence.trim_end_matches('.')), SENTENCE);
        format!("; message {}: {sentence}{more}", number(first as u64))
    });
    shown.collect()
}

/// What the result is.
enum Outcome {
    /// The input, byte for byte.
    Original(Vec<u8>),
    Written(Written),
}

impl Outcome {
    /// What the form of the result has no place for.
    fn warnings(&self) -> &[DocumentWarning] {
        match self {
            Outcome::Original(_) => &[],
            Outcome::Written(written) => &written.warnings,
        }
    }
}

/// The document with what is left of its messages. Messages share their texts with the history, so this copies little.
fn written(mut document: Document, done: &Compaction, to: Format) -> Result<Written, codelet_transcript::WriteError> {
    let shown = done.view.messages.iter().map(|message| {
        let mut message = Message::clone(message);
        codelet_transcript::ids::spell(&mut message, to);
        message
    });
    document.messages = shown.collect();
    codelet_transcript::write_all(&document, to)
}

fn write_text(text: &str, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    if text.ends_with('\n') {
        Ok(())
    } else {
        out.write_all(b"\n")
    }
}

fn write_removed(archive: &Archive, out: &mut dyn Write) -> io::Result<()> {
    for (handle, removed) in archive.iter() {
        out.write_all(b"{\"handle\":")?;
        serde_json::to_writer(&mut *out, handle.as_str())?;
        out.write_all(b",\"content\":")?;
        serde_json::to_writer(&mut *out, removed.body.as_str())?;
        out.write_all(b"}\n")?;
    }
    Ok(())
}

/// One line that says what was done.
fn notice(look: &Look, target: Target, done: &Compaction, elapsed: Duration) -> String {
    let took = if elapsed < Duration::from_millis(1) {
        "under 1 ms".to_owned()
    } else {
        format!("{} ms", number(elapsed.as_millis() as u64))
    };
    let before = number(done.before.tokens);
    if !done.compacted {
        let is_mended = done.warnings.iter().any(is_mended);
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
            look.ink(Ink::Green, "Nothing to compact:")
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
    use codelet_context::compact::{Size, TurnCount};
    use codelet_context::message::{Origin, Part, Role};

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
        // A summary from before is none of this compaction.
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
            confidence: 0.92,
            weight: 0.8,
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
