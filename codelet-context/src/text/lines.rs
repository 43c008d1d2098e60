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
    let line = line.trim();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return line;
    }
    let rest = line[digits..].trim_start_matches(' ');
    match rest.chars().next() {
        Some(mark @ ('\t' | '→' | ':' | '|' | '│')) => rest[mark.len_utf8()..].trim(),
        _ => line,
    }
}
