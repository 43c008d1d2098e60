//! Texts on one line: escapes, and cutting to a width.

use codelet_text::short::grouped;
use codelet_text::unseen::Unseen;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthChar as _;

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
