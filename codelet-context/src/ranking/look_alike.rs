//! Normalises the start of a line to its visual appearance: a text can look like another and share no byte with it.

use codelet_text::unseen::Unseen;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The maximum characters of a label.
const LONGEST: usize = 64;

/// The first characters of a line in plain form: runs of white space become one space, none at the start; invisible
/// characters and combining marks are removed; variant letters and signs (wide, circled, mathematical) become ASCII. At
/// most 64 characters.
pub(crate) fn plain(line: &str) -> Cow<'_, str> {
    // Most lines start in this form.
    let bytes = &line.as_bytes()[..line.len().min(LONGEST)];
    if let [first, .., last] = bytes {
        let follows = |pair: &[u8]| pair[1].is_ascii_graphic() || pair[1] == b' ' && pair[0] != b' ';
        if first.is_ascii_graphic() && last.is_ascii_graphic() && bytes.windows(2).all(follows) {
            return Cow::Borrowed(&line[..bytes.len()]);
        }
    }
    let mut plain = String::with_capacity(LONGEST);
    let mut is_blank = false;
    for c in line.chars().filter(|&c| !is_unseen(c)).map(of_ascii) {
        match c.is_whitespace() {
            true => is_blank = !plain.is_empty(),
            false => {
                if is_blank {
                    plain.push(' ');
                }
                is_blank = false;
                plain.push(c);
                if plain.len() >= LONGEST {
                    break;
                }
            }
        }
    }
    Cow::Owned(plain)
}

/// The rest of a plain text after a label, ignoring case. A non-ASCII letter matches any letter, in a label most of
/// whose letters are ASCII: `Аsked` with a Cyrillic first letter is read as `Asked`.
pub(crate) fn strip<'a>(plain: &'a str, label: &str) -> Option<&'a str> {
    let mut rest = plain.chars();
    let (mut same, mut foreign) = (0, 0);
    for expected in label.chars() {
        let c = rest.next()?;
        if c.eq_ignore_ascii_case(&expected) {
            same += usize::from(c.is_ascii_alphabetic());
        } else if !c.is_ascii() && c.is_alphabetic() && expected.is_ascii_alphabetic() {
            foreign += 1;
        } else {
            return None;
        }
    }
    (foreign == 0 || foreign < same).then_some(rest.as_str())
}

/// Replaces the characters that are variants of ASCII ones.
pub(crate) fn in_ascii(text: &str) -> Cow<'_, str> {
    match text.is_ascii() {
        true => Cow::Borrowed(text),
        false => text.chars().map(of_ascii).collect(),
    }
}

fn is_unseen(c: char) -> bool {
    // Most characters are ASCII, which the tables do not cover.
    c.is_control() && !c.is_whitespace()
        || !c.is_ascii() && (is_combining_mark(c) || Unseen::of(c).is_some_and(|kind| kind != Unseen::Break))
}

/// The plain form (NFKC) of a character if it is a single ASCII character; also maps the colons of other scripts and
/// blanks without such a form.
fn of_ascii(c: char) -> char {
    match c {
        ..='\u{7f}' => c,
        '∶' | 'ː' | '꞉' | '։' | '׃' => ':',
        '\u{2800}' | '\u{2028}' | '\u{2029}' => ' ',
        _ => {
            let mut plain = std::iter::once(c).nfkc();
            let first = plain.next().filter(char::is_ascii);
            first.filter(|_| plain.next().is_none()).unwrap_or(c)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_looks_alike_is_the_same_in_plain_characters() {
        for (line, expected) in [
            ("Asked\u{a0}last: x", "Asked last: x"),
            ("\u{2003}Asked \u{3000}\tlast\u{2800}: x ", "Asked last : x"),
            ("A\u{200b}s\u{ad}ked\u{2060} last\u{fe0f}：", "Asked last:"),
            ("A\u{332}sked", "Asked"),
            ("＃ Ｓtate", "# State"),
            ("﹟ ⓃⒺⓧⓣ", "# NExt"),
            ("𝐀𝗌𝘬𝚎𝖉 𝟙", "Asked 1"),
            ("a\u{2028}b\u{85}c", "a b c"),
            ("", ""),
        ] {
            assert_eq!(plain(line), expected, "{line:?}");
        }
        assert!(plain(&"字".repeat(1_000)).len() < 2 * LONGEST);
    }

    #[test]
    fn a_foreign_letter_may_be_any_where_most_are_not() {
        for (line, rest) in [
            ("asKED x", Some(" x")),
            ("Аskеd x", Some(" x")),
            ("Тест: x", None),
            ("Asks x", None),
            ("Ask", None),
        ] {
            assert_eq!(strip(line, "Asked"), rest, "{line}");
        }
        assert_eq!(strip("…", "…"), Some(""));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(line in prop_oneof![any::<String>(), "[ -~\t]{0,90}"], label in any::<String>()) {
            let plain = plain(&line);
            prop_assert!(!plain.starts_with(char::is_whitespace) && !plain.contains("  "));
            // A plain line is read like one that is not plain.
            let other = format!("\u{200b}{line}");
            prop_assert_eq!(&*plain, &*super::plain(&other));
            let _ = strip(&plain, &label);
        }
    }
}
