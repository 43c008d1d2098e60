//! The lines of a text, by their hashes.

use crate::text::hash;

/// The hashes of the lines of a text that have content: without surrounding white space, and without the line number of
/// a reading tool, which differs if something above was changed.
pub(crate) fn lines_of(text: &str) -> impl Iterator<Item = u64> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    let mut start = 0;
    let line = move |end| {
        let line = &text[start..end];
        start = end + 1;
        line
    };
    ends.map(line)
        .map(without_number)
        .filter(|line| {
            line.bytes()
                .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        })
        .map(|line| hash::bytes(line.as_bytes()))
}

fn without_number(line: &str) -> &str {
    let line = trim(line);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return line;
    }
    let rest = line[digits..].trim_start_matches(' ');
    match rest.chars().next() {
        Some(mark @ ('\t' | '→' | ':' | '|' | '│')) => trim(&rest[mark.len_utf8()..]),
        _ => line,
    }
}

/// Trims a line. Nearly all lines start and end in ASCII, which a single byte decides.
fn trim(line: &str) -> &str {
    const VERTICAL_TAB: u8 = 0x0b;
    let line = line.trim_ascii();
    let may_be_white = |byte: Option<&u8>| byte.is_some_and(|&byte| !byte.is_ascii() || byte == VERTICAL_TAB);
    let bytes = line.as_bytes();
    match may_be_white(bytes.first()) || may_be_white(bytes.last()) {
        true => line.trim(),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn white_space_around_a_line_is_what_unicode_says(line in "[ \\t\u{b}\u{c}\r\u{85}\u{a0}\u{2003}\u{1c}a1é|]{0,9}") {
            prop_assert_eq!(trim(&line), line.trim());
        }
    }
}
