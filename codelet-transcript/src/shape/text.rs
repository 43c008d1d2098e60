//! Texts on one line: escapes, repetition, and cutting to a width.

use codelet_text::short::grouped;
use codelet_text::unseen::Unseen;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthChar as _;

/// The maximum length of one expanded text, in bytes.
const MOST: usize = 64 << 20;

/// Returns the text in a line, or `None` if a repetition would exceed 64 MiB.
pub(super) fn unescape(line: &str) -> Option<String> {
    let (line, times) = repetition(line.trim());
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let taken = match escape.chars().next() {
            Some('n') => push(&mut text, '\n', 1),
            Some('r') => push(&mut text, '\r', 1),
            Some('t') => push(&mut text, '\t', 1),
            Some('e') => push(&mut text, '\u{1b}', 1),
            Some('s') => push(&mut text, ' ', 1),
            Some('u') => match code_point(escape) {
                Some((c, length)) => push(&mut text, c, length),
                None => push(&mut text, '\\', 0),
            },
            Some(c @ ('\\' | '×' | ':' | '"')) => push(&mut text, c, c.len_utf8()),
            _ => push(&mut text, '\\', 0),
        };
        rest = &escape[taken..];
    }
    text.push_str(rest);
    (text.len().checked_mul(times)? <= MOST).then(|| text.repeat(times))
}

fn push(text: &mut String, c: char, taken: usize) -> usize {
    text.push(c);
    taken
}

/// Parses `u{1f600}` as a character, and returns its length in bytes.
fn code_point(escape: &str) -> Option<(char, usize)> {
    let digits = escape.strip_prefix("u{")?;
    let end = digits.find('}').filter(|end| *end <= 6)?;
    let c = char::from_u32(u32::from_str_radix(&digits[..end], 16).ok()?)?;
    Some((c, end + 3))
}

/// Splits ` × 40` from the end of a line.
fn repetition(line: &str) -> (&str, usize) {
    let whole = (line, 1);
    let digits = line.trim_end_matches(|c: char| c.is_ascii_digit());
    let Ok(times) = line[digits.len()..].parse() else {
        return whole;
    };
    match digits.strip_suffix(" × ") {
        Some(text) => (text, times),
        None => whole,
    }
}

/// Writes the whole text on one line, so that [`unescape`] restores it.
pub(super) fn escape(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let last = text.len() - text.chars().next_back().map_or(0, char::len_utf8);
    for (at, c) in text.char_indices() {
        match c {
            ' ' if at == 0 || at == last => line.push_str("\\s"),
            '\\' => line.push_str("\\\\"),
            _ => visible(&mut line, c),
        }
    }
    if repetition(&line).1 != 1 || line.ends_with(" × 1") {
        let at = line.rfind('×').unwrap_or(0);
        line.insert(at, '\\');
    }
    line
}

/// Writes the text on one line of at most `width` columns. A text that does not fit ends in its size.
pub(super) fn cut(text: &str, width: usize) -> String {
    let mut line = String::new();
    let mut used = 0;
    for c in text.chars() {
        let before = line.len();
        visible(&mut line, c);
        used += columns(&line[before..]);
        if used > width {
            let size = format!("… ({} bytes)", grouped(text.len()));
            let keep = width.saturating_sub(columns(&size));
            let mut kept = 0;
            let end = line
                .char_indices()
                .find(|(_, c)| {
                    kept += column(*c);
                    kept > keep
                })
                .map_or(line.len(), |(at, _)| at);
            line.truncate(end);
            line.push_str(&size);
            break;
        }
    }
    line
}

/// Appends a character, escaped if a terminal would interpret it or show nothing: control characters, and those that
/// reorder or hide text.
fn visible(line: &mut String, c: char) {
    match c {
        '\n' => line.push_str("\\n"),
        '\r' => line.push_str("\\r"),
        '\t' => line.push_str("\\t"),
        '\u{1b}' => line.push_str("\\e"),
        _ if c.is_control() || is_invisible(c) => {
            // Writing to a string cannot fail.
            let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
        }
        _ => line.push(c),
    }
}

/// Returns whether a character reorders, hides or joins its neighbors, or is white space other than a space. Emoji
/// variation selectors are not counted: they are part of the emoji before them.
fn is_invisible(c: char) -> bool {
    !matches!(Unseen::of(c), None | Some(Unseen::Variant)) || (c.is_whitespace() && c != ' ')
}

/// Returns the width of a text in terminal columns.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(column).sum()
}

/// At least one, so that a sequence of combining marks is cut too.
fn column(c: char) -> usize {
    c.width().unwrap_or(1).max(1)
}
