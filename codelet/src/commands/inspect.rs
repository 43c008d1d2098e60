//! `codelet inspect`: shows what fills the context window.

use crate::args::Inspect;
use crate::commands::{sessions, told_warnings, warn};
use crate::exit::Failure;
use crate::input::{Input, InputContent};
use crate::output::Output;
use crate::paint::{self, Ink, Look, clean, clip, clip_path, count, fit, number, percent};
use crate::progress::Progress;
use codelet_context::inspect::{Inspection, Item, Kind, Superseding, TurnPosition, TurnShare};
use codelet_context::tokens::Tokens;
use codelet_offline::inspect as offline;
use codelet_transcript::Format;
use std::collections::HashMap;
use std::fmt::Write;

/// Lines of each list in the text output; JSON has everything.
const LINES: usize = 10;
/// The number of largest items in JSON.
const JSON_LARGEST: usize = 100;
/// The number of turns above which only informative ones are shown.
const TURNS: usize = 24;
/// The number of newest turns that are always shown.
const NEWEST_TURNS: usize = 6;

/// Reads, inspects and prints.
///
/// # Errors
/// If the input cannot be read or standard output cannot be written.
pub fn run(args: &Inspect) -> Result<(), Failure> {
    let (input, progress) = Input::read_any_telling(args.file.as_deref())?;
    match input.conversations(args.conversations.index)? {
        InputContent::One(input) => {
            let (shown, warnings) = inspected(args, input, progress)?;
            Output::Stdout.write(|out| out.write_all(shown.as_bytes()))?;
            warn(&Look::stderr(), &warnings);
            Ok(())
        }
        InputContent::Many(input) => match input.sessions() {
            Some(held) => {
                drop(progress);
                sessions::list_store(held, args.json)
            }
            None => all(args, &input, progress),
        },
    }
}

/// Inspects all conversations of a data set, one after the other; as a list in JSON.
fn all(args: &Inspect, input: &Input, mut progress: Progress) -> Result<(), Failure> {
    let mut before = if args.json { "[" } else { "" };
    let done = input.each(|_, one| {
        let reading = std::mem::replace(&mut progress, Progress::start("reading"));
        let (shown, warnings) = inspected(args, one, reading)?;
        Output::Stdout.write(|out| write!(out, "{before}{}", shown.trim_end()))?;
        before = if args.json { ",\n" } else { "\n\n" };
        warn(&Look::stderr(), &warnings);
        Ok(())
    });
    let end = match (args.json, before) {
        (true, "[") => "[]\n",
        (true, _) => "]\n",
        _ => "\n",
    };
    Output::Stdout.write(|out| out.write_all(end.as_bytes()))?;
    done
}

/// Returns the output for one conversation, and the warnings.
fn inspected(args: &Inspect, input: Input, progress: Progress) -> Result<(String, Vec<String>), Failure> {
    let document = input
        .record(args.conversations.reading.from.0, args.conversations.reading.force)?
        .document;
    // The document holds the conversation now, so the input bytes are freed.
    let name = input.into_name();
    let seen = offline::inspect(document, if args.json { JSON_LARGEST } else { LINES });
    let none: [&str; 0] = [];
    let warnings = told_warnings(&name, &seen.odd, none.iter());
    drop(progress);

    let text = if args.json {
        format!("{:#}\n", seen.report(&warnings))
    } else {
        view(&Look::stdout(), &name, seen.format, &seen.found, seen.tool_definitions)
    };
    Ok((text, warnings))
}

fn view(look: &Look, name: &str, format: Format, found: &Inspection, beside: Tokens) -> String {
    let mut text = String::new();
    let about = [
        format.name().to_owned(),
        count(found.messages, "message"),
        count(found.turns.len(), "turn"),
        format!("{} tokens", number(found.tokens)),
    ];
    let about = about.map(|part| (paint::width(&part), part));
    let _ = writeln!(text, "{}", look.ink(Ink::Bold, &clip_path(&clean(name), look.width)));
    let _ = writeln!(text, "{}", paint::flow(about, " · ", look.width, ""));
    by_kind(&mut text, look, found, beside);
    by_tool(&mut text, look, found);
    largest(&mut text, look, found);
    superseded(&mut text, look, found);
    repeats(&mut text, look, found);
    turns(&mut text, look, found);
    text
}

fn heading(text: &mut String, look: &Look, title: &str, note: &str) {
    let room = look.width.saturating_sub(paint::width(title) + 2);
    let note = look.ink(Ink::Dim, &clip(note, room));
    let _ = writeln!(text, "\n{}  {note}", look.ink(Ink::Bold, title));
}

/// Formats tokens by kind: name, figure, share and bar.
fn by_kind(text: &mut String, look: &Look, found: &Inspection, beside: Tokens) {
    heading(text, look, "By kind", "tokens");
    let most = found.kinds.values().map(|share| share.tokens).max().unwrap_or(0);
    let figure = number(found.tokens.max(beside)).len();
    let bar = look.width.saturating_sub(2 + 10 + figure + 8);
    let ink = |kind| match kind {
        Kind::Prompts => Ink::Cyan,
        Kind::Answers | Kind::Thinking => Ink::Green,
        Kind::Calls => Ink::Yellow,
        Kind::Results | Kind::Images => Ink::Blue,
        _ => Ink::Magenta,
    };
    for (kind, share) in Kind::ALL.iter().filter_map(|kind| Some((kind, found.kinds.get(kind)?))) {
        let _ = writeln!(
            text,
            "  {}{:>figure$}  {:>4}  {}",
            fit(kind.name(), 10),
            number(share.tokens),
            percent(share.tokens, found.tokens),
            look.ink(ink(*kind), &look.bar(share.tokens, most, bar)),
        );
    }
    if beside > 0 {
        let note = clip(
            "tool definitions, outside the messages",
            look.width.saturating_sub(14 + figure),
        );
        let _ = writeln!(
            text,
            "  {}{:>figure$}  {}",
            fit("tools", 10),
            number(beside),
            look.ink(Ink::Dim, &note)
        );
    }
}

fn by_tool(text: &mut String, look: &Look, found: &Inspection) {
    let Some(most) = found.tools.first().map(|tool| tool.tokens()) else {
        return;
    };
    heading(text, look, "By tool", "calls and results");
    let (shown, rest) = found.tools.split_at(found.tools.len().min(LINES));
    let names = shown.iter().map(|tool| paint::width(&tool.tool)).max().unwrap_or(0);
    let name = names.clamp(9, look.width / 3);
    let figure = number(most).len().max(6);
    let bar = look.width.saturating_sub(2 + name + 1 + 6 + 1 + 7 + 1 + figure + 8);
    let title = format!(
        "  {} {:>6} {:>7} {:>figure$}",
        fit("", name),
        "calls",
        "failed",
        "tokens"
    );
    let _ = writeln!(text, "{}", look.ink(Ink::Dim, &title));
    for tool in shown {
        let called = if tool.tool.is_empty() { "(no call)" } else { &tool.tool };
        let failed = if tool.failed == 0 {
            "–".to_owned()
        } else {
            number(tool.failed as u64)
        };
        let failed = format!("{failed:>7}");
        let mut line = format!(
            "  {} {:>6} {} {:>figure$}",
            fit(&clean(called), name),
            number(tool.calls.parts as u64),
            if tool.failed == 0 {
                failed
            } else {
                look.ink(Ink::Red, &failed)
            },
            number(tool.tokens()),
        );
        if bar > 4 {
            let share = percent(tool.tokens(), found.tokens);
            let bar = look.ink(Ink::Blue, &look.bar(tool.tokens(), most, bar));
            let _ = write!(line, "  {share:>4}  {bar}");
        }
        let _ = writeln!(text, "{line}");
    }
    if !rest.is_empty() {
        let tokens: Tokens = rest.iter().map(|tool| tool.tokens()).sum();
        let more = format!(
            "  and {} more with {} tokens",
            count(rest.len(), "tool"),
            number(tokens)
        );
        let _ = writeln!(text, "{}", look.ink(Ink::Dim, &more));
    }
}

/// Shortens a label to `columns`: the end of a path, the beginning of anything else.
fn short(label: &str, columns: usize) -> String {
    let is_path = label.contains('/') && !label.contains(char::is_whitespace);
    if is_path {
        clip_path(label, columns)
    } else {
        clip(label, columns)
    }
}

/// Formats an item within `columns`: its tool or kind, and a label that distinguishes it.
fn words(item: &Item, columns: usize) -> String {
    let who = clip(&clean(item.tool.as_deref().unwrap_or(item.kind.name())), columns / 2);
    let room = columns.saturating_sub(paint::width(&who) + 1);
    format!("{who} {}", short(&clean(&item.label), room))
        .trim_end()
        .to_owned()
}

/// Formats `turn 3, step 12` for a narrow column.
fn place(place: Option<TurnPosition>) -> String {
    match place {
        None => "head".to_owned(),
        Some(TurnPosition { turn, step: None }) => turn.to_string(),
        Some(TurnPosition { turn, step: Some(step) }) => format!("{turn}.{step}"),
    }
}

fn largest(text: &mut String, look: &Look, found: &Inspection) {
    if found.largest.is_empty() {
        return;
    }
    heading(text, look, "Largest items", "message, turn.step");
    let old: HashMap<(usize, usize), Superseding> = found
        .superseded
        .iter()
        .map(|read| ((read.item.message, read.item.part), read.how))
        .collect();
    let message = number(found.messages as u64).len() + 1;
    let places: Vec<String> = found.largest.iter().map(|item| place(item.place)).collect();
    let spot = places.iter().map(String::len).max().unwrap_or(0);
    let figure = number(found.largest[0].tokens).len();
    let room = look.width.saturating_sub(2 + message + 1 + spot + 1 + figure + 2);
    for (item, spot_words) in found.largest.iter().zip(&places) {
        let (note, ink) = match old.get(&(item.message, item.part)) {
            Some(Superseding::Changed) => ("  changed since", Ink::Yellow),
            Some(Superseding::ReadAgain) => ("  read again", Ink::Yellow),
            None => ("", Ink::Dim),
        };
        let note = if room > 40 { note } else { "" };
        let _ = writeln!(
            text,
            "  {} {} {:>figure$}  {}{}",
            look.ink(Ink::Dim, &format!("{:>message$}", format!("#{}", item.message))),
            look.ink(Ink::Dim, &format!("{spot_words:>spot$}")),
            number(item.tokens),
            words(item, room.saturating_sub(note.len())),
            look.ink(ink, note),
        );
    }
}

fn superseded(text: &mut String, look: &Look, found: &Inspection) {
    struct File<'a> {
        path: &'a str,
        copies: usize,
        tokens: Tokens,
        changed: bool,
    }
    let tokens = found.out_of_date();
    if tokens == 0 {
        return;
    }
    let mut files: Vec<File<'_>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for read in &found.superseded {
        let at = *known.entry(&read.path).or_insert_with(|| {
            files.push(File {
                path: &read.path,
                copies: 0,
                tokens: 0,
                changed: false,
            });
            files.len() - 1
        });
        files[at].copies += 1;
        files[at].tokens += read.item.tokens;
        files[at].changed |= read.how == Superseding::Changed;
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.tokens));
    let share = percent(tokens, found.tokens);
    heading(
        text,
        look,
        "Out of date",
        &format!("{} tokens, {share}: read, then read again or changed", number(tokens)),
    );
    let figure = number(files[0].tokens).len();
    let copies = number(files.iter().map(|file| file.copies).max().unwrap_or(0) as u64).len();
    for file in files.iter().take(LINES) {
        let note = if file.changed { "changed since" } else { "read again" };
        let room = look.width.saturating_sub(2 + figure + 2 + copies + 4 + 13 + 2);
        let _ = writeln!(
            text,
            "  {:>figure$}  {:>copies$} ×  {}  {}",
            number(file.tokens),
            number(file.copies as u64),
            look.ink(Ink::Yellow, &fit(note, 13)),
            clip_path(&clean(file.path), room),
        );
    }
    rest(text, look, files.len(), "file");
}

fn repeats(text: &mut String, look: &Look, found: &Inspection) {
    let Some(first) = found.repeats.first() else {
        return;
    };
    let tokens = found.repeated();
    let share = percent(tokens, found.tokens);
    heading(
        text,
        look,
        "Repeats",
        &format!("{} tokens, {share}: the same text more than once", number(tokens)),
    );
    let figure = number(first.wasted).len();
    let copies = number(
        found
            .repeats
            .iter()
            .map(|repeat| repeat.messages.len())
            .max()
            .unwrap_or(0) as u64,
    )
    .len();
    let room = look.width.saturating_sub(2 + figure + 2 + copies + 4);
    for repeat in found.repeats.iter().take(LINES) {
        let _ = writeln!(
            text,
            "  {:>figure$}  {:>copies$} ×  {}",
            number(repeat.wasted),
            number(repeat.messages.len() as u64),
            words(&repeat.newest, room),
        );
    }
    rest(text, look, found.repeats.len(), "text");
}

fn rest(text: &mut String, look: &Look, all: usize, noun: &str) {
    if let Some(more) = all.checked_sub(LINES).filter(|&more| more > 0) {
        let more = format!("  and {}", count(more, &format!("more {noun}")));
        let _ = writeln!(text, "{}", look.ink(Ink::Dim, &more));
    }
}

fn turns(text: &mut String, look: &Look, found: &Inspection) {
    if found.turns.is_empty() {
        return;
    }
    let anchors: usize = found.turns.iter().map(|turn| turn.anchors.len()).sum();
    let note = match anchors {
        0 => "steps, tokens, prompt".to_owned(),
        some => format!("steps, tokens, prompt; ★ {}", count(some, "completed task")),
    };
    heading(text, look, "Turns", &note);
    let shown = worth_showing(&found.turns);
    let index = number(found.turns.len().saturating_sub(1) as u64).len();
    let steps = number(found.turns.iter().map(|turn| turn.steps).max().unwrap_or(0) as u64).len();
    let most = found.turns.iter().map(|turn| turn.tokens).max().unwrap_or(0);
    let figure = number(found.turns.iter().map(|turn| turn.tokens).sum::<Tokens>().max(most)).len();
    let bar = if look.width >= 60 { 10 } else { 0 };
    let room = look
        .width
        .saturating_sub(2 + 1 + 1 + index + 1 + steps + 1 + figure + 2 + bar + usize::from(bar > 0) * 2);
    let mut next = 0;
    for &at in &shown {
        skipped(text, look, &found.turns[next..at]);
        next = at + 1;
        let turn = &found.turns[at];
        let star = if turn.anchors.is_empty() { " " } else { "★" };
        let bars = if bar > 0 {
            format!(
                "{}  ",
                look.ink(Ink::Blue, &fit(&look.bar(turn.tokens, most, bar), bar))
            )
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "  {} {} {:>steps$} {:>figure$}  {bars}{}",
            look.ink(Ink::Magenta, star),
            look.ink(Ink::Dim, &format!("{:>index$}", number(at as u64))),
            number(turn.steps as u64),
            number(turn.tokens),
            look.ink(Ink::Cyan, &clip(&clean(&turn.prompt), room)),
        );
        // A long turn may have many anchors; the newest are those from which compaction keeps the history.
        for anchor in turn.anchors.iter().rev().take(3) {
            let words = format!(
                "#{} {}: {}",
                anchor.range.start,
                anchor.kind.name(),
                clean(&anchor.description)
            );
            let line = clip(&words, look.width.saturating_sub(6));
            let _ = writeln!(text, "      {}", look.ink(Ink::Magenta, &line));
        }
    }
    skipped(text, look, &found.turns[next..]);
}

fn skipped(text: &mut String, look: &Look, turns: &[TurnShare]) {
    if !turns.is_empty() {
        let tokens: Tokens = turns.iter().map(|turn| turn.tokens).sum();
        let line = format!("    ⋮ {} with {} tokens", count(turns.len(), "turn"), number(tokens));
        let _ = writeln!(text, "{}", look.ink(Ink::Dim, &line));
    }
}

/// Selects the turns to show: all if there are few; else the newest, those with anchors and the largest, in order.
fn worth_showing(turns: &[TurnShare]) -> Vec<usize> {
    if turns.len() <= TURNS {
        return (0..turns.len()).collect();
    }
    let newest = turns.len() - NEWEST_TURNS;
    let mut older: Vec<usize> = (0..newest).collect();
    // Among those with anchors, the newest are the most informative.
    older.sort_by_key(|&at| {
        let anchored = !turns[at].anchors.is_empty();
        std::cmp::Reverse((anchored, if anchored { at as u64 } else { turns[at].tokens }))
    });
    older.truncate(TURNS - NEWEST_TURNS);
    older.sort_unstable();
    older.extend(newest..turns.len());
    // Omitting a single turn would save no line.
    let mut shown = Vec::with_capacity(2 * older.len());
    for at in older {
        let next = shown.last().map_or(0, |&last: &usize| last + 1);
        if at == next + 1 {
            shown.push(next);
        }
        shown.push(at);
    }
    shown
}
