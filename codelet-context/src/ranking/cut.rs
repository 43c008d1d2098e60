//! The segments of a text: its lines, and the sentences of long ones.

use std::ops::RangeInclusive;

/// A line with fewer bytes is one segment; in a code block, the limit is the next constant.
const LINE: usize = 110;
const CODE_LINE: usize = 300;
/// The bytes of a line that was broken for its width.
const WRAPPED: RangeInclusive<usize> = 55..=120;
/// A line with at most this many words, such as a path, is whole.
const FEW_WORDS: usize = 5;
/// The maximum bytes of a segment.
const LONGEST: usize = 420;
/// The minimum bytes of a sentence, exclusive.
const SENTENCE: usize = 40;

/// A segment, as a range of its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Piece {
    /// The byte range; `end` is exclusive.
    pub start: usize,
    pub end: usize,
    /// True if it continues the line of the previous segment.
    pub joined: bool,
    /// True if it is inside a fenced code block.
    pub fenced: bool,
}

impl Piece {
    /// The two parts of a piece: what is before `length` bytes of it, and what is from `begins` on.
    pub fn parted(self, begins: usize, length: usize) -> [Piece; 2] {
        let (before, behind) = (self.start + length, self.start + begins);
        [
            Piece { end: before, ..self },
            Piece {
                start: behind,
                joined: true,
                ..self
            },
        ]
    }
}

/// The beginning of the last sentence of a line. The number of an item ends no sentence.
pub(crate) fn last_sentence(line: &str) -> usize {
    let is_number = |end: usize| {
        let before = line[..end].trim_end().strip_suffix('.');
        before.is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()))
    };
    sentence_ends(line)
        .into_iter()
        .rfind(|&end| end < line.len() && !is_number(end))
        .unwrap_or(0)
}

/// Cuts a text into segments, skipping code fences and lines without letters or digits. If `wraps`, a line that was
/// broken for its width goes on in the next one.
pub(crate) fn pieces(text: &str, wraps: bool) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut at = 0;
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes())
        .chain([text.len()])
        .peekable();
    while let Some(mut end) = ends.next() {
        let start = std::mem::replace(&mut at, end + 1);
        let mut last = start;
        while wraps
            && !fenced
            && let Some(&next) = ends.peek()
            && is_wrapped(&text[last..end], &text[end + 1..next])
        {
            last = end + 1;
            (end, at) = (next, next + 1);
            ends.next();
        }
        let line = text[start..end].trim_end_matches(is_filling);
        let trimmed = trim_start(line);
        if trimmed.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        // Blank lines, rulers and lone brackets hold no information.
        if !trimmed.contains(char::is_alphanumeric) {
            continue;
        }
        let first = found.len();
        let indent = line.len() - trimmed.len();
        if line.len() < LINE || fenced && line.len() < CODE_LINE {
            push(&mut found, start + indent, start + line.len(), first, fenced);
            continue;
        }
        let mut from = indent;
        for end in sentence_ends(line) {
            if end - from > SENTENCE {
                cut_long(line, from, end, start, &mut found, first, fenced);
                from = end;
            }
        }
        cut_long(line, from, line.len(), start, &mut found, first, fenced);
    }
    found
}

/// Returns whether a character at the end of a line only fills it: white space, and the rules that linters draw.
fn is_filling(c: char) -> bool {
    c.is_whitespace() || ('\u{2500}'..='\u{257f}').contains(&c)
}

/// Returns whether a line of prose was broken for its width, so that its sentence goes on in the next one.
fn is_wrapped(line: &str, next: &str) -> bool {
    let line = line.trim_end();
    let next = trim_start(next);
    WRAPPED.contains(&line.len())
        && line.split_ascii_whitespace().nth(FEW_WORDS).is_some()
        && line.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | ')' | '`' | '—' | '*' | '"'))
        && next.starts_with(|c: char| c.is_lowercase() || matches!(c, '`' | '('))
        && !line.contains(['{', '}', ';', '=', '|', '<'])
}

/// A text without the white space at its start, which is seldom other than ASCII.
pub(crate) fn trim_start(text: &str) -> &str {
    let rest = text.trim_ascii_start();
    match rest.as_bytes().first() {
        Some(b'!'..=b'~') => rest,
        _ => rest.trim_start(),
    }
}

fn push(found: &mut Vec<Piece>, start: usize, end: usize, first: usize, fenced: bool) {
    if start < end {
        let joined = found.len() > first;
        found.push(Piece {
            start,
            end,
            joined,
            fenced,
        });
    }
}

/// The ends of sentences in a line: after the punctuation and the following blanks, if a sentence may start there.
fn sentence_ends(line: &str) -> Vec<usize> {
    let bytes = line.as_bytes();
    let mut ends = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let wide = wide_end(&line[at..]);
        if wide > 0 {
            at += wide;
            ends.push(at);
            continue;
        }
        if !matches!(bytes[at], b'.' | b'!' | b'?' | b';' | b':') {
            at += char_length(bytes[at]);
            continue;
        }
        let mut behind = at + 1;
        while behind < bytes.len() && matches!(bytes[behind], b'"' | b'\'' | b')' | b'*' | b'`') {
            behind += 1;
        }
        let blank = behind;
        while behind < bytes.len() && matches!(bytes[behind], b' ' | b'\t' | b'\n') {
            behind += 1;
        }
        let begins = line[behind..].chars().next().is_some_and(begins_sentence);
        if behind > blank && begins {
            ends.push(behind);
        }
        at = behind.max(at + 1);
    }
    ends
}

/// The length in bytes of a full stop in a script without spaces; 0 for anything else.
fn wide_end(rest: &str) -> usize {
    match rest.chars().next() {
        Some(c @ ('。' | '！' | '？' | '；')) => c.len_utf8(),
        _ => 0,
    }
}

fn begins_sentence(c: char) -> bool {
    c.is_uppercase()
        || c.is_ascii_digit()
        || matches!(c, '`' | '"' | '\'' | '*' | '[' | '(' | '/')
        || !c.is_ascii() && c.is_alphabetic()
}

fn char_length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// Adds a sentence, split at punctuation or blanks if it is too long.
fn cut_long(line: &str, from: usize, to: usize, offset: usize, found: &mut Vec<Piece>, first: usize, fenced: bool) {
    let mut from = from;
    let to = from + line[from..to].trim_end().len();
    loop {
        from += line[from..to].len() - line[from..to].trim_start().len();
        if to - from <= LONGEST {
            break;
        }
        let most = line.floor_char_boundary(from + LONGEST);
        let least = line.ceil_char_boundary(from + LONGEST / 3);
        let room = &line[least..most];
        let cut = room
            .rfind("; ")
            .or_else(|| room.rfind(", "))
            .or_else(|| room.rfind([' ', '\n', ',']));
        let cut = cut.map_or(most, |at| least + at + 1);
        push(
            found,
            offset + from,
            offset + from + line[from..cut].trim_end().len(),
            first,
            fenced,
        );
        from = cut;
    }
    push(found, offset + from, offset + to, first, fenced);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<&str> {
        pieces(text, true)
            .iter()
            .map(|piece| &text[piece.start..piece.end])
            .collect()
    }

    #[test]
    fn short_lines_are_whole_and_rulers_fences_and_blank_lines_are_none() {
        assert_eq!(
            cut("  one\n\n---\n ━━━ ×\n});\n| a | b |\n|---|---|\n```rs\nlet a = 1;\n```\n"),
            ["one", "| a | b |", "let a = 1;"]
        );
    }

    #[test]
    fn prose_that_was_broken_for_its_width_is_cut_at_its_sentences() {
        let wrapped = "The pool keeps a client until it was asked for three times, and then it\n\
                       opens a new one. A client that failed once is closed, as nobody knows in\n\
                       which state it is. Rows come in the order in which they were asked for.\n";
        let expected = [
            "The pool keeps a client until it was asked for three times, and then it\nopens a new one.",
            "A client that failed once is closed, as nobody knows in\nwhich state it is.",
            "Rows come in the order in which they were asked for.",
        ];
        assert_eq!(cut(wrapped), expected);
        // Neither code nor a list.
        for apart in [
            "    let client = self.pool.take_the_first_one_that_is(asked,\n    for_more_than(three));",
            "one line of a list that is as long as a line of prose may well be\n- and the next one",
        ] {
            assert_eq!(cut(apart).len(), 2, "{apart}");
        }
    }

    #[test]
    fn a_rule_behind_a_line_is_no_part_of_it() {
        assert_eq!(
            cut("src/pool.ts:7:3 lint/lock ━━━━━━━━━━ \n│ one │ two │\n"),
            ["src/pool.ts:7:3 lint/lock", "│ one │ two"]
        );
    }

    #[test]
    fn the_last_sentence_of_a_line_is_known() {
        for (line, last) in [
            (
                "All 13 tests pass. Let me look at the rest:",
                "Let me look at the rest:",
            ),
            (
                "1. Flatten it + 2. Remove the rest:",
                "1. Flatten it + 2. Remove the rest:",
            ),
            ("Mend it.", "Mend it."),
            ("", ""),
        ] {
            assert_eq!(&line[last_sentence(line)..], last);
        }
    }

    #[test]
    fn a_long_line_is_cut_at_its_sentences() {
        let line = "The parser lost every comment that stood before a closing brace. It now keeps them in a list of its own. \
                    Nobody asks for their order any more.";
        assert_eq!(
            cut(line),
            [
                "The parser lost every comment that stood before a closing brace.",
                "It now keeps them in a list of its own. Nobody asks for their order any more.",
            ]
        );
    }

    proptest! {
        #[test]
        fn segments_ascend_and_are_never_long(text in "([a-zäß。]{1,40}[ ,.;:\n]{1,2}(so |— |\\x60)?){0,60}", long in 0usize..2_000) {
            let text = format!("{text}{}", "x".repeat(long));
            let mut behind = 0;
            for piece in pieces(&text, true) {
                prop_assert!(piece.start >= behind && piece.start < piece.end);
                prop_assert!(piece.end - piece.start <= LONGEST.max(CODE_LINE) + 4);
                let shown = &text[piece.start..piece.end];
                prop_assert_eq!(shown, shown.trim());
                behind = piece.end;
            }
        }
    }
}
