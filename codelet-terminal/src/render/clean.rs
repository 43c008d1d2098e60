//! Sanitizes text: removes everything that a terminal would obey, and whatever hides or reorders what is read.

use codelet_text::unseen::{FLAG, is_harmful};
use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthChar;

/// Maximum combining marks on one character; more smear over the lines around, or make a line endless.
const MARKS: usize = 8;

/// Makes a text safe to show on one line: control characters become visible symbols, bidirectional and invisible
/// characters become their code points, and tabs go to the next multiple of `tab` columns, counted from the text's
/// beginning. Everything harmless is kept, including emoji and right-to-left scripts.
pub fn clean(text: &str, tab: usize) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let first = text.bytes().position(|byte| !PLAIN.contains(&byte));
    cleaned(text, first.unwrap_or(text.len()), tab.max(1))
}

/// Printable ASCII.
const PLAIN: std::ops::Range<u8> = 0x20..0x7f;

/// Returns whether a text is printable ASCII, one column per byte.
pub(crate) fn is_plain(text: &str) -> bool {
    // Without an early exit the loop is vectorized.
    text.bytes()
        .fold(true, |is_plain, byte| is_plain & PLAIN.contains(&byte))
}

fn cleaned(text: &str, first: usize, tab: usize) -> Cow<'_, str> {
    // Most non-ASCII text is harmless: it is checked before it is copied.
    let mut before = text[..first].chars().next_back();
    let mut marks = 0;
    let mut chars = text[first..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if super::wrap::simple(c).is_some() {
            (before, marks) = (Some(c), 0);
            continue;
        }
        let after = chars.peek().map(|&(_, next)| next);
        if is_harmful(before, c, after) || counts_too_many(c, &mut marks) {
            return Cow::Owned(rewritten(text, first + at, tab));
        }
        before = Some(c);
    }
    Cow::Borrowed(text)
}

/// Rewrites a text that is harmless up to `from`.
fn rewritten(text: &str, from: usize, tab: usize) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..from]);
    let mut column = crate::render::wrap::columns(&text[..from]);
    let mut before = text[..from].chars().next_back();
    let mut marks = text[..from].chars().rev().take_while(|c| is_mark(*c)).count();
    let mut chars = text[from..].chars().peekable();
    while let Some(c) = chars.next() {
        let length = out.len();
        if c == '\t' {
            let wide = tab - column % tab;
            out.extend(std::iter::repeat_n(' ', wide));
            marks = 0;
        } else if is_harmful(before, c, chars.peek().copied()) {
            show(&mut out, c);
            marks = 0;
        } else if counts_too_many(c, &mut marks) {
            out.push('\u{fffd}');
        } else {
            out.push(c);
        }
        let is_shown = out[length..].starts_with('‹');
        column += out[length..].chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
        // A character that was spelt out no longer joins the next one.
        before = Some(if is_shown { '›' } else { c });
    }
    out
}

/// Writes an unsafe character in a visible form.
fn show(out: &mut String, c: char) {
    match c {
        '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\u{7f}' => out.push('␡'),
        '\u{80}'..='\u{9f}' => out.push('\u{fffd}'),
        _ => {
            let _ = write!(out, "‹U+{:04X}›", u32::from(c));
        }
    }
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.width() == Some(0)
}

/// Counts combining marks; returns whether there are too many on one character.
fn counts_too_many(c: char, marks: &mut usize) -> bool {
    if is_mark(c) {
        *marks += 1;
    } else {
        *marks = 0;
    }
    // The tag characters of a flag are many; they were checked already.
    *marks > MARKS && !FLAG.contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_text::unseen::hides;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\x1b[2J\x1b]0;title\x07", "␛[2J␛]0;title␇"),
            ("a\u{9b}31mb", "a\u{fffd}31mb"),
            ("over\rwritten\n", "over␍written␊"),
            ("del\u{7f}", "del␡"),
            // A right-to-left override that makes `exe.txt` of `txt.exe`.
            ("invoice\u{202e}txt.exe", "invoice‹U+202E›txt.exe"),
            ("rm -rf \u{2066}x\u{2069}", "rm -rf ‹U+2066›x‹U+2069›"),
            ("pass\u{200b}word", "pass‹U+200B›word"),
            ("pass\u{200d}word", "pass‹U+200D›word"),
            ("tag\u{e0041}\u{e0042}", "tag‹U+E0041›‹U+E0042›"),
            ("line\u{2028}end", "line‹U+2028›end"),
            ("\u{feff}bom", "‹U+FEFF›bom"),
        ] {
            assert_eq!(clean(text, 8), expected);
        }
    }

    #[test]
    fn honest_writing_stays_as_it_is() {
        for text in [
            "Grüße, 日本語, שלום עולם, مرحبا",
            "👩‍👩‍👧 🇩🇪 👍🏽 ❤️ 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "می\u{200c}خواهم",
            "क्\u{200d}ष e\u{301}",
        ] {
            assert_eq!(clean(text, 8), text);
        }
    }

    #[test]
    fn tabs_go_to_the_next_stop() {
        assert_eq!(clean("\ta\tbc\td", 4), "    a   bc  d");
        assert_eq!(clean("日\tb", 4), "日  b");
    }

    #[test]
    fn a_heap_of_marks_on_one_letter_ends() {
        let text = format!("z{}", "\u{301}".repeat(100));
        let shown = clean(&text, 8);
        assert_eq!(shown.chars().filter(|&c| c == '\u{301}').count(), MARKS);
        assert_eq!(clean(&shown, 8), shown);
    }

    proptest! {
        #[test]
        fn nothing_harmful_is_left_and_cleaning_again_changes_nothing(text in prop_oneof![
            ".{0,60}",
            prop::collection::vec(prop::sample::select(vec!['a', '\t', '\u{1b}', '\u{202e}', '\u{200d}', '👩', '\u{301}', '\u{e0041}', '\u{1f3f4}', '\n', '\u{9b}', '\u{ad}']), 0..40)
                .prop_map(|chars| chars.into_iter().collect::<String>()),
        ]) {
            let once = clean(&text, 8).into_owned();
            let is_harmful = |c: char| c.is_control() || hides(c) && !FLAG.contains(&c);
            let is_clean = !once.chars().any(is_harmful);
            prop_assert!(is_clean);
            let twice = clean(&once, 8).into_owned();
            prop_assert_eq!(twice, once);
        }
    }
}
