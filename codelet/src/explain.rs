//! The picture of a compaction: before and after in shape notation, one line per message, with its fate and the reason.

use crate::paint::{self, Ink, Look, clean, clip, count, fit, number};
use codelet_context::compact::{Compaction, FateKind};
use codelet_context::message::{Message, Origin, Part, Role};
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_transcript::shape;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;

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

fn section(text: &mut String, look: &Look, title: &str, entries: &[Entry<'_>]) {
    let tokens: Tokens = entries.iter().map(|entry| estimate_message(entry.message)).sum();
    let messages = count(entries.len(), "message");
    let _ = writeln!(
        text,
        "{}{} {messages}, {} tokens",
        if text.is_empty() { "" } else { "\n" },
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

    let columns = Columns::of(look, entries);
    for (index, entry) in entries.iter().enumerate() {
        let _ = writeln!(text, "{}", columns.line(look, index, entry).trim_end());
    }
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
    fn of(look: &Look, entries: &[Entry<'_>]) -> Self {
        let index = number(entries.len().saturating_sub(1) as u64).len();
        let most = entries.iter().map(|entry| estimate_message(entry.message)).max();
        let tokens = number(most.unwrap_or(0)).len();
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

    fn line(&self, look: &Look, index: usize, entry: &Entry<'_>) -> String {
        let (sign, _, ink) = entry.mark.look();
        let words = fit(&words(entry.message, self.words), self.words);
        format!(
            "{} {} {:>tokens_width$}  {}  {}",
            look.ink(ink, sign),
            look.ink(
                Ink::Dim,
                &format!("{:>width$}", number(index as u64), width = self.index)
            ),
            number(estimate_message(entry.message)),
            ink_of(entry.message).map_or(words.clone(), |ink| look.ink(ink, &words)),
            look.ink(Ink::Dim, &clip(&entry.note, self.note)),
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
