//! The picture of a compaction: before and after in shape notation, one line per message, with its fate and the reason.
//! In a terminal, long runs with the same fate are folded.

use crate::paint::{self, Ink, Look, clean, clip, count, fit, number};
use codelet_context::compact::{Compaction, FateKind};
use codelet_context::inspect::{self, Kind};
use codelet_context::message::{Message, Origin, Part, Role};
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_transcript::shape;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;

/// The number of lines above which a list is folded in a terminal.
const FOLD_ABOVE: usize = 60;
/// Lines kept at the beginning of a folded list.
const HEAD_LINES: usize = 18;
/// Lines kept at the end of a folded list, where the newest messages are.
const TAIL_LINES: usize = 30;
/// The minimum length at which a run of messages with the same fate is folded.
const RUN: usize = 4;
/// The minimum width for showing reasons; below it, the signs in front of the lines still show the fates.
const REASONS_FROM: usize = 64;
/// The minimum width for spelling out the signs' meanings.
const WIDE: usize = 100;
/// The separator between the parts of a message.
const SEPARATOR: &str = " · ";
/// The minimum number of columns for showing a part of a message next to others.
const LEAST: usize = 22;
/// The default line width for a file, in columns.
const FILE_WIDTH: usize = 120;

/// Draws what a compaction did to a conversation.
pub fn picture(look: &Look, before: &[Arc<Message>], done: &Compaction) -> String {
    let look = Look {
        width: if look.terminal {
            look.width
        } else {
            look.width.max(FILE_WIDTH)
        },
        ..*look
    };
    let mut text = String::new();
    by_kind(&mut text, &look, before, &done.view.messages);
    section(&mut text, &look, "Before", &what_became(&look, before, done));
    if done.changed {
        section(&mut text, &look, "After", &where_from(before, done));
    } else {
        let _ = writeln!(text, "\n{} the same", look.ink(Ink::Bold, "After"));
    }
    strategies(&mut text, &look, done);
    text
}

/// The fate of a message, shown as a sign in front of its line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Mark {
    Kept,
    Shortened,
    Excerpted,
    Summarised,
    New,
}

impl Mark {
    fn of(kind: FateKind) -> Self {
        match kind {
            FateKind::Kept => Mark::Kept,
            FateKind::Shortened => Mark::Shortened,
            FateKind::Excerpted => Mark::Excerpted,
            FateKind::Summarised => Mark::Summarised,
        }
    }

    fn look(self) -> (&'static str, &'static str, Ink) {
        match self {
            Mark::Kept => ("●", "kept", Ink::Green),
            Mark::Shortened => ("◐", "shortened", Ink::Yellow),
            Mark::Excerpted => ("◌", "excerpted", Ink::Blue),
            Mark::Summarised => ("○", "summarised", Ink::Dim),
            Mark::New => ("+", "new", Ink::Magenta),
        }
    }
}

/// A message on one side of the picture.
struct Entry<'a> {
    message: &'a Message,
    mark: Mark,
    note: String,
}

/// A line of a list: one message, or several folded ones.
enum Row {
    One(usize),
    Fold(usize, usize),
}

/// Returns the messages of the history with their fates.
fn what_became<'a>(look: &Look, before: &'a [Arc<Message>], done: &Compaction) -> Vec<Entry<'a>> {
    let entry = |(index, message): (usize, &'a Arc<Message>)| {
        let fate = done.fates.get(index);
        let mark = fate.map_or(Mark::Kept, |fate| Mark::of(fate.kind));
        let note = match fate.map(|fate| clean(&fate.why)) {
            // The sign already shows the fate; in a narrow list the reason needs the room.
            Some(why) if !why.is_empty() && look.width < WIDE => why,
            Some(why) if !why.is_empty() => format!("{} · {why}", mark.look().1),
            _ => mark.look().1.to_owned(),
        };
        Entry { message, mark, note }
    };
    before.iter().enumerate().map(entry).collect()
}

/// Returns the messages of the view with their sources. A kept message is identical to the history's; a shortened one
/// corresponds to the next shortened message of the same role.
fn where_from<'a>(before: &[Arc<Message>], done: &'a Compaction) -> Vec<Entry<'a>> {
    let mut own: HashMap<*const Message, usize> = HashMap::new();
    let mut shortened: HashMap<Role, Vec<usize>> = HashMap::new();
    for (index, message) in before.iter().enumerate() {
        own.entry(Arc::as_ptr(message)).or_insert(index);
        if done
            .fates
            .get(index)
            .is_some_and(|fate| fate.kind == FateKind::Shortened)
        {
            shortened.entry(message.role).or_default().push(index);
        }
    }
    let mut next = 0;
    let entry = |message: &'a Arc<Message>| {
        let candidate = || {
            let candidates = shortened.get(&message.role).filter(|_| !is_of_the_engine(message))?;
            candidates
                .get(candidates.partition_point(|&index| index < next))
                .copied()
        };
        let (mark, note) = match (own.get(&Arc::as_ptr(message)), candidate()) {
            (Some(&from), _) => {
                next = next.max(from + 1);
                (Mark::Kept, format!("was {from}"))
            }
            (None, Some(from)) => {
                next = from + 1;
                (Mark::Shortened, format!("was {from}, shortened"))
            }
            (None, None) => (Mark::New, "new".to_owned()),
        };
        Entry { message, mark, note }
    };
    done.view.messages.iter().map(entry).collect()
}

fn is_of_the_engine(message: &Message) -> bool {
    let of_the_engine =
        |part: &Part| matches!(part, Part::Text(text) if matches!(text.origin, Origin::Summary | Origin::Notice));
    message.parts.first().is_some_and(of_the_engine)
}

/// A bar for each kind of content, before and after, on the same scale.
fn by_kind(text: &mut String, look: &Look, before: &[Arc<Message>], after: &[Arc<Message>]) {
    const NAME: usize = 10;
    let (was, is) = (inspect::by_kind(before), inspect::by_kind(after));
    let tokens = |kinds: &BTreeMap<Kind, inspect::Share>, kind| kinds.get(&kind).map_or(0, |share| share.tokens);
    let most = was
        .values()
        .chain(is.values())
        .map(|share| share.tokens)
        .max()
        .unwrap_or(0);
    let (whole, rest): (Tokens, Tokens) = (
        was.values().map(|share| share.tokens).sum(),
        is.values().map(|share| share.tokens).sum(),
    );
    let figure = number(whole.max(rest)).len().max(6);
    let bar = look.width.saturating_sub(NAME + 2 * figure + 5) / 2;
    let shown = |tokens| if tokens == 0 { "–".to_owned() } else { number(tokens) };

    let heading = format!(
        "{}{:>figure$} {}  {:>figure$}",
        fit("tokens", NAME),
        "before",
        fit("", bar),
        "after"
    );
    let _ = writeln!(text, "{}", look.ink(Ink::Dim, &heading));
    for kind in Kind::ALL {
        let (a, b) = (tokens(&was, kind), tokens(&is, kind));
        if a > 0 || b > 0 {
            let left = look.ink(Ink::Blue, &fit(&look.bar(a, most, bar), bar));
            let right = look.ink(Ink::Green, &look.bar(b, most, bar));
            let line = format!(
                "{}{:>figure$} {left}  {:>figure$} {right}",
                fit(kind.name(), NAME),
                shown(a),
                shown(b)
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    let sum = format!(
        "{}{:>figure$} {}  {:>figure$}",
        fit("all", NAME),
        number(whole),
        fit("", bar),
        number(rest)
    );
    let _ = writeln!(text, "{}", look.ink(Ink::Bold, &sum));
}

fn section(text: &mut String, look: &Look, title: &str, entries: &[Entry<'_>]) {
    let tokens: Tokens = entries.iter().map(|entry| estimate_message(entry.message)).sum();
    let messages = count(entries.len(), "message");
    let _ = writeln!(
        text,
        "\n{} {messages}, {} tokens",
        look.ink(Ink::Bold, title),
        number(tokens)
    );
    let mut marks: BTreeMap<Mark, usize> = BTreeMap::new();
    for entry in entries {
        *marks.entry(entry.mark).or_default() += 1;
    }
    let legend = marks.iter().map(|(mark, count)| {
        let (sign, name, ink) = mark.look();
        let words = format!("{} {name}", number(*count as u64));
        (2 + paint::width(&words), format!("{} {words}", look.ink(ink, sign)))
    });
    let _ = writeln!(text, "{}\n", paint::flow(legend, "   ", look.width, ""));

    let rows = rows(look, entries);
    let columns = Columns::of(look, entries, &rows);
    for row in &rows {
        let line = match *row {
            Row::One(index) => columns.one(look, index, &entries[index]),
            Row::Fold(first, last) => columns.fold(look, first, &entries[first..=last]),
        };
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Returns all messages or, if there are too many for a terminal, the informative ones.
fn rows(look: &Look, entries: &[Entry<'_>]) -> Vec<Row> {
    let all = (0..entries.len()).map(Row::One);
    if !look.terminal || entries.len() <= FOLD_ABOVE {
        return all.collect();
    }
    let mut rows = Vec::new();
    let mut start = 0;
    while start < entries.len() {
        let alike = |entry: &&Entry<'_>| entry.mark == entries[start].mark && !entry.message.is_prompt();
        let length = entries[start..].iter().take_while(alike).count();
        if length >= RUN {
            rows.push(Row::Fold(start, start + length - 1));
        } else {
            rows.extend((start..start + length.max(1)).map(Row::One));
        }
        start += length.max(1);
    }
    if rows.len() > FOLD_ABOVE {
        let end = |row: &Row| match *row {
            Row::One(index) | Row::Fold(_, index) => index,
        };
        let begin = |row: &Row| match *row {
            Row::One(index) | Row::Fold(index, _) => index,
        };
        let tail = rows.split_off(rows.len() - TAIL_LINES);
        let middle = rows.split_off(HEAD_LINES);
        // The list is longer than its head and tail together, so both ends exist.
        if let (Some(first), Some(last)) = (middle.first(), middle.last()) {
            rows.push(Row::Fold(begin(first), end(last)));
        }
        rows.extend(tail);
    }
    rows
}

/// The column widths of a list.
struct Columns {
    index: usize,
    tokens: usize,
    words: usize,
    /// 0 if there is no room; a file has room for everything.
    note: usize,
}

impl Columns {
    fn of(look: &Look, entries: &[Entry<'_>], rows: &[Row]) -> Self {
        let index = number(entries.len().saturating_sub(1) as u64).len();
        let sum = |row: &Row| match *row {
            Row::One(index) => estimate_message(entries[index].message),
            Row::Fold(first, last) => entries[first..=last]
                .iter()
                .map(|entry| estimate_message(entry.message))
                .sum(),
        };
        let tokens = number(rows.iter().map(sum).max().unwrap_or(0)).len();
        let room = look.width.saturating_sub(2 + index + 1 + tokens + 2);
        let longest = entries.iter().map(|entry| paint::width(&entry.note)).max().unwrap_or(0);
        let note = match look.width < REASONS_FROM {
            true => 0,
            false => longest.min(room * 2 / 5),
        };
        let words = room.saturating_sub(if note > 0 { note + 2 } else { 0 });
        // The last column of a file may have any width.
        let note = if note > 0 && !look.terminal { longest } else { note };
        Columns {
            index,
            tokens,
            words,
            note,
        }
    }

    fn one(&self, look: &Look, index: usize, entry: &Entry<'_>) -> String {
        let words = words(entry.message, self.words);
        let tokens = number(estimate_message(entry.message));
        let (sign, _, ink) = entry.mark.look();
        self.line(
            look,
            (sign, ink),
            &number(index as u64),
            &tokens,
            (&words, ink_of(entry.message)),
            &entry.note,
        )
    }

    fn fold(&self, look: &Look, first: usize, entries: &[Entry<'_>]) -> String {
        let last = first + entries.len() - 1;
        let tokens: Tokens = entries.iter().map(|entry| estimate_message(entry.message)).sum();
        let range = format!("{}–{}", number(first as u64), number(last as u64));
        let words = told(&range, entries, self.words);
        let mut marks: BTreeMap<Mark, usize> = BTreeMap::new();
        for entry in entries {
            *marks.entry(entry.mark).or_default() += 1;
        }
        let same = entries.iter().all(|entry| entry.note == entries[0].note);
        let note = if same {
            entries[0].note.clone()
        } else {
            let counts = |spelled: bool| {
                let one = |(mark, count): (&Mark, &usize)| match (mark.look(), number(*count as u64)) {
                    ((_, name, _), count) if spelled => format!("{count} {name}"),
                    ((sign, ..), count) => format!("{sign} {count}"),
                };
                let all: Vec<String> = marks.iter().map(one).collect();
                all.join(if spelled { ", " } else { "  " })
            };
            // The signs are explained above the list, so they can replace the words if those do not fit.
            Some(counts(true))
                .filter(|words| paint::width(words) <= self.note)
                .unwrap_or_else(|| counts(false))
        };
        let sign = match marks.first_key_value() {
            Some((mark, _)) if marks.len() == 1 => (mark.look().0, mark.look().2),
            _ => ("⋮", Ink::Dim),
        };
        self.line(look, sign, "⋮", &number(tokens), (&words, Some(Ink::Dim)), &note)
    }

    fn line(
        &self,
        look: &Look,
        (sign, ink): (&str, Ink),
        index: &str,
        tokens: &str,
        (words, words_ink): (&str, Option<Ink>),
        note: &str,
    ) -> String {
        let words = fit(words, self.words);
        format!(
            "{} {} {:>tokens_width$}  {}  {}",
            look.ink(ink, sign),
            look.ink(Ink::Dim, &format!("{index:>width$}", width = self.index)),
            tokens,
            words_ink.map_or(words.clone(), |ink| look.ink(ink, &words)),
            look.ink(Ink::Dim, &clip(note, self.note)),
            tokens_width = self.tokens,
        )
    }
}

/// Formats a message in shape notation, cut to `columns`. Thinking is shown only if there is nothing else.
fn words(message: &Message, columns: usize) -> String {
    let thinks = |part: &&Part| matches!(part, Part::Thinking(_));
    let mut parts: Vec<&Part> = message.parts.iter().filter(|part| !thinks(part)).collect();
    if parts.is_empty() {
        parts = message.parts.iter().collect();
    }
    if parts.is_empty() {
        return shape::line(message, columns);
    }
    // As many parts as fit at a readable width, in equal shares.
    let counted = format!(" +{}", parts.len()).len();
    let shown = ((columns + SEPARATOR.len()).saturating_sub(counted) / (LEAST + SEPARATOR.len())).clamp(1, parts.len());
    let rest = if shown < parts.len() {
        format!(" +{}", parts.len() - shown)
    } else {
        String::new()
    };
    let mut left = columns.saturating_sub(rest.len());
    let mut line = String::new();
    for (at, part) in parts.iter().take(shown).enumerate() {
        if at > 0 {
            line.push_str(SEPARATOR);
            left = left.saturating_sub(paint::width(SEPARATOR));
        }
        let share = left / (shown - at);
        // Wider than its share, so that the notation does not spend the room on the part's length.
        let piece = shape::part_line(message.role, part, share * 2 + 40);
        let piece = clip(&codelet_text::short::words(&piece), share);
        left = left.saturating_sub(paint::width(&piece));
        line.push_str(&piece);
    }
    line + &rest
}

/// Describes a fold within `columns`: `3–40: 38 messages, 19 calls, 18 results`.
fn told(range: &str, entries: &[Entry<'_>], columns: usize) -> String {
    let calls: usize = entries.iter().map(|entry| entry.message.calls().count()).sum();
    let results: usize = entries.iter().map(|entry| entry.message.tool_results().count()).sum();
    let prompts = entries.iter().filter(|entry| entry.message.is_prompt()).count();
    let counts = [(prompts, "prompt"), (calls, "call"), (results, "result")];
    let counts = counts
        .into_iter()
        .filter(|(value, _)| *value > 0)
        .map(|(value, noun)| count(value, noun));
    let mut line = format!("{range}: {}", count(entries.len(), "message"));
    for more in counts.map(|count| format!(", {count}")) {
        if paint::width(&line) + paint::width(&more) > columns {
            break;
        }
        line += &more;
    }
    line
}

fn ink_of(message: &Message) -> Option<Ink> {
    let failed = || message.tool_results().any(|result| result.success == Some(false));
    match message.role {
        Role::System => Some(Ink::Dim),
        Role::User if message.is_prompt() => Some(Ink::Cyan),
        Role::User if failed() => Some(Ink::Red),
        _ => None,
    }
}

fn strategies(text: &mut String, look: &Look, done: &Compaction) {
    let mut counts = done
        .strategies
        .per_strategy
        .iter()
        .filter(|(_, count)| count.hits > 0)
        .peekable();
    if counts.peek().is_some() {
        let _ = writeln!(text, "\n{}", look.ink(Ink::Bold, "Strategies"));
    }
    for (name, found) in counts {
        let sign = if found.bytes_saved < 0 { "-" } else { "" };
        let saved = format!("{sign}{}", paint::bytes(found.bytes_saved.unsigned_abs()));
        let _ = writeln!(text, "  {name:<16}{:>6} ×  {saved:>9} saved", number(found.hits));
    }
    let removed: usize = done.view.archive.iter().map(|(_, removed)| removed.body.len()).sum();
    if removed > 0 {
        let texts = count(done.view.archive.len(), "text");
        let _ = writeln!(
            text,
            "\n{} {texts}, {}",
            look.ink(Ink::Bold, "Removed"),
            paint::bytes(removed as u64)
        );
    }
    text.push('\n');
}
