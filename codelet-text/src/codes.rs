//! Terminal escape codes: colours, titles, links, cursor movements. They are not part of a text's content.
//!
//! Only this module defines which bytes belong to a code. If the escape byte was removed before the text arrived here,
//! the rest is ordinary text: nothing distinguishes `[32m` from typed text.

use std::borrow::Cow;

/// The first character of a code.
const ESCAPE: char = '\u{1b}';
/// The maximum bytes of a code with a text (a title, a link).
const LONGEST: usize = 4_096;
/// The maximum bytes of the parameters of a code without a text, and of its intermediate bytes.
const PARAMETERS: usize = 64;

/// Removes codes from a text. A lone or unknown escape stays, and so does an unterminated code.
pub fn without(text: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(ESCAPE as u8, text.as_bytes()) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(at) = rest.find(ESCAPE) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = length(rest.as_bytes());
        match length {
            0 => out.push(ESCAPE),
            // "Go to column 1" overwrites the line as a carriage return does.
            _ if matches!(&rest.as_bytes()[..length], b"\x1b[G" | b"\x1b[1G") => out.push('\r'),
            _ => {}
        }
        rest = &rest[length.max(1)..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// A line, or a piece of one, as a terminal shows it: without codes, and without an incomplete code at its end, whose
/// rest was cut off.
pub fn shown(line: &str) -> Cow<'_, str> {
    let Some(last) = memchr::memrchr(ESCAPE as u8, line.as_bytes()) else {
        return Cow::Borrowed(line);
    };
    let line = if is_begun(&line.as_bytes()[last..]) {
        &line[..last]
    } else {
        line
    };
    match without(line) {
        Cow::Borrowed(line) => Cow::Borrowed(line.trim_end()),
        Cow::Owned(mut line) => {
            line.truncate(line.trim_end().len());
            Cow::Owned(line)
        }
    }
}

/// Returns whether this is an incomplete code with parameters, and nothing else.
fn is_begun(bytes: &[u8]) -> bool {
    let parameters = bytes.strip_prefix(b"\x1b[");
    bytes == b"\x1b"
        || parameters.is_some_and(|rest| rest.len() <= PARAMETERS && rest.iter().all(|b| (0x20..=0x3f).contains(b)))
}

/// The length of the code that begins here, or 0. Codes are ASCII except for the text in those that carry one, and
/// those end in ASCII, so a cut after a code never splits a character.
fn length(bytes: &[u8]) -> usize {
    let run = |from: usize, range: std::ops::RangeInclusive<u8>| {
        let most = bytes.len().min(from + PARAMETERS);
        (from..most).find(|&i| !range.contains(&bytes[i])).unwrap_or(most)
    };
    let end = match bytes.get(1) {
        Some(b'[') => run(run(2, 0x30..=0x3f), 0x20..=0x2f),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => return length_with_text(bytes),
        Some(0x20..=0x2f) => run(1, 0x20..=0x2f),
        _ => 1,
    };
    let last = if bytes.get(1) == Some(&b'[') {
        0x40..=0x7e
    } else {
        0x30..=0x7e
    };
    match bytes.get(end) {
        Some(byte) if last.contains(byte) => end + 1,
        _ => 0,
    }
}

/// The same for a code with a text, which a bell or `ESC \` ends on the same line.
fn length_with_text(bytes: &[u8]) -> usize {
    for i in 2..bytes.len().min(LONGEST) {
        match bytes[i] {
            0x07 => return i + 1,
            0x1b if bytes.get(i + 1) == Some(&b'\\') => return i + 2,
            0x1b | b'\n' => return 0,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_codes_go_and_words_stay() {
        for (line, expected) in [
            (
                "\u{1b}[32m✓\u{1b}[39m ui/a.ts \u{1b}[2m(\u{1b}[22m\u{1b}[2m33 tests\u{1b}[22m)",
                "✓ ui/a.ts (33 tests)",
            ),
            ("\u{1b}[1;38;5;208mname\u{1b}[m", "name"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;file:///a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(B\u{1b})0\u{1b}7\u{1b}8\u{1b}=x\u{1b}Py\u{1b}\\", "x"),
            ("\u{1b}[?25l\u{1b}[2K\u{1b}[1Gdone \u{1b}[0m", "\rdone"),
            // Incomplete codes, and codes without their first byte.
            ("a\u{1b}ä", "a\u{1b}ä"),
            ("\u{1b}]0;title without end", "\u{1b}]0;title without end"),
            ("[32mok[39m", "[32mok[39m"),
            // Truncated codes.
            ("red \u{1b}[1;3", "red"),
            ("red\u{1b}", "red"),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(shown(line), expected, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_shorter_and_has_no_more_to_take_out(line in "(\u{1b}|\\[|\\]|[0-9;]{1,3}|[mKG]|\u{7}|\\\\|\\PC| ){0,30}") {
            let once = shown(&line);
            prop_assert!(once.len() <= line.len());
            if !line.contains(ESCAPE) {
                prop_assert_eq!(&*once, &*line);
            }
        }

        #[test]
        fn a_code_around_words_leaves_them(words in "[^\\pC]{0,20}[^\\pC\\s]", code in "\u{1b}\\[[0-9;]{0,9}[a-zA-FH-Z]") {
            let line = format!("{code}{words}{code}");
            prop_assert_eq!(shown(&line), words);
        }
    }
}
