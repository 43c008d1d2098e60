//! A line's beginning as whoever reads it takes it: a text can look like another one and have no byte in common with it.

use codelet_text::unseen::Unseen;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// No label is longer, in characters.
const LONGEST: usize = 64;

/// A line's first characters in plain ones: each run of blanks one space, none at the start, without what is not seen and without marks on
/// letters, and letters and signs of other forms (wide, in circles, of mathematics) as those of ASCII. Of at most 64 characters.
pub(crate) fn plain(line: &str) -> Cow<'_, str> {
    // Most lines begin so anyway.
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

/// What stands behind a label that a text in plain characters begins with, whatever the case of its letters. A letter that is not
/// of ASCII may be any, in a label most of whose letters are: `Аsked` with a Cyrillic first letter is read as `Asked`.
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

/// A text with the characters of ASCII in place of those that are another form of them.
pub(crate) fn in_ascii(text: &str) -> Cow<'_, str> {
    match text.is_ascii() {
        true => Cow::Borrowed(text),
        false => text.chars().map(of_ascii).collect(),
    }
}

fn is_unseen(c: char) -> bool {
    // Most characters are of ASCII, and the tables know nothing of those.
    c.is_control() && !c.is_whitespace()
        || !c.is_ascii() && (is_combining_mark(c) || Unseen::of(c).is_some_and(|kind| kind != Unseen::Break))
}

/// What this character is in its plain form (NFKC), where that is a single one of ASCII, and with it the colons of other scripts and blanks that
/// have no such form.
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
        fn no_text_is_too_odd(line in "\\PC{0,9}|[ -~\t]{0,90}", label in any::<String>()) {
            let plain = plain(&line);
            prop_assert!(!plain.starts_with(char::is_whitespace) && !plain.contains("  "));
            // A line that is plain by itself is read as one that is not.
            let other = format!("\u{200b}{line}");
            prop_assert_eq!(&*plain, &*super::plain(&other));
            let _ = strip(&plain, &label);
        }
    }
}
