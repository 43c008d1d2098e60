//! Lines as they are quoted and compared: without the time or number before them, without Markdown's marks, with numbers
//! masked.

use super::cut;
use super::look::Signs;
use super::quoting;
use crate::text::hash;
use std::borrow::Cow;

/// The quoted form of a text: white space normalised, and heading marks, bold marks and the bars around a table row
/// removed; `None` if the text must not be quoted or nothing is left. `signs` are those of the text.
pub(super) fn quoted(text: &str, signs: Signs) -> Option<Cow<'_, str>> {
    let text = match text.as_bytes() {
        [first, .., last] if ![first, last].iter().any(|end| b"| \t#".contains(end)) => text,
        _ => without_marks(text.trim_matches(['|', ' ', '\t'])),
    };
    let bytes = text.as_bytes();
    // To the end, so that many bytes are looked at together.
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let has_blanks = pairs.fold(false, |has, (&a, &b)| has | ((a == b' ') & (b == b' ')));
    if !signs.may_be_mended() && !has_blanks {
        return (!text.is_empty()).then_some(Cow::Borrowed(text));
    }
    let is_bold = memchr::memchr(b'*', bytes).is_some() && text.matches("**").count() >= 2;
    let is_plain = !is_bold && memchr::memchr3(b'\t', b'\n', b'\r', bytes).is_none() && !has_blanks;
    let text = match is_plain {
        true => Cow::Borrowed(text),
        false => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let line = words.join(" ");
            Cow::Owned(if is_bold { without_bold(&line) } else { line })
        }
    };
    let text = match text {
        Cow::Borrowed(text) => quoting::quotable(text)?,
        Cow::Owned(text) => Cow::Owned(quoting::quotable(&text)?.into_owned()),
    };
    (!text.is_empty()).then_some(text)
}

/// A heading without its marks, which would look like those of the summary. A single mark may begin a comment in code
/// and stays.
fn without_marks(text: &str) -> &str {
    let rest = text.trim_start_matches('#');
    match rest.strip_prefix(' ') {
        Some(heading) if text.len() - rest.len() > 1 => heading.trim_start(),
        _ => text,
    }
}

/// A line without the marks around bold words. Other pairs of stars, as in `/**` and `src/**/*.rs`, stay.
fn without_bold(line: &str) -> String {
    const MARK: &str = "**";
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once(MARK) {
        out.push_str(before);
        let is_word = |c: char| !c.is_whitespace() && !matches!(c, '/' | '*');
        let opens = !before.ends_with(['/', '*']) && behind.starts_with(is_word);
        match behind
            .split_once(MARK)
            .filter(|(bold, _)| opens && bold.ends_with(is_word))
        {
            Some((bold, after)) => {
                out.push_str(bold);
                rest = after;
            }
            None => {
                out.push_str(MARK);
                rest = behind;
            }
        }
    }
    out + rest
}

/// The hash of a line with its numbers masked; hashes count as numbers.
pub(super) fn shape(text: &str) -> u64 {
    let mut shape = Vec::with_capacity(text.len());
    let (mut word, mut has_digit) = (0, false);
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() {
            has_digit |= byte.is_ascii_digit();
            shape.push(byte);
            continue;
        }
        if std::mem::take(&mut has_digit) {
            shape.truncate(word);
            shape.push(b'#');
        }
        shape.push(byte);
        word = shape.len();
    }
    if has_digit {
        shape.truncate(word);
        shape.push(b'#');
    }
    hash::bytes(&shape)
}

/// The bytes before the message of a line of a log: its time, as in `2026-06-17T10:22:22.37Z `, and up to two fields
/// before that, each with a tab behind it, or the line number of *grep*.
pub(super) fn time_length(line: &str) -> usize {
    /// The most bytes of a field before the time.
    const FIELD: usize = 60;
    let mut start = 0;
    for _ in 0..3 {
        let rest = &line.as_bytes()[start..];
        if let Some(length) = time_at(rest) {
            return start + length;
        }
        let number = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match rest.iter().take(FIELD).position(|&byte| byte == b'\t') {
            _ if number > 0 && rest.get(number) == Some(&b':') => start += number + 1,
            Some(tab) => start += tab + 1,
            None => break,
        }
    }
    0
}

/// The length of a time of ISO 8601 at the start of a line, with brackets around it and the blanks behind it.
fn time_at(line: &[u8]) -> Option<usize> {
    const TIME: &[u8] = b"0000-00-00T00:00:00";
    let bracket = usize::from(line.first() == Some(&b'['));
    let time = line.get(bracket..bracket + TIME.len())?;
    let is_like = |(byte, like): (&u8, &u8)| match like {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b' '),
        _ => byte == like,
    };
    if !time.iter().zip(TIME).all(is_like) {
        return None;
    }
    let end = bracket + TIME.len();
    let is_of_time =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'Z' | b'+' | b':' | b'-' | b']');
    let behind = line[end..].iter().take_while(|byte| is_of_time(byte)).count();
    let blanks = line[end + behind..].iter().take_while(|byte| **byte == b' ').count();
    Some(end + behind + blanks)
}

/// The bytes of a line number that a tool put before a line: `  12→`, `12:`, `L3: `.
pub(super) fn number_length(line: &str) -> usize {
    let rest = cut::trim_start(line);
    let rest = rest.strip_prefix('L').unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=6).contains(&digits) {
        return 0;
    }
    let behind = &rest[digits..];
    if cut::trim_start(behind).is_empty() {
        return line.len();
    }
    let mark = ["→", "\t", ": ", ":", ". "]
        .into_iter()
        .find(|mark| behind.starts_with(mark));
    let Some(mark) = mark else { return 0 };
    let behind = cut::trim_start(&behind[mark.len()..]);
    if behind.is_empty() {
        0
    } else {
        line.len() - behind.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_line_of_a_log_is_no_part_of_its_message() {
        for (line, message) in [
            ("2026-06-17T10:22:22.3762677Z   error: no lock", "error: no lock"),
            (
                "Lint\tRun the press\t2026-06-17T10:22:22.37Z ##[error]It failed.",
                "##[error]It failed.",
            ),
            ("[2026-06-17 10:22:22,376] walnut", "walnut"),
            ("2026-06-17T10:22:22+02:00", ""),
            ("2026-06-17 walnut", "2026-06-17 walnut"),
            ("825:2026-06-18T08:57:55.44Z npm error 404", "npm error 404"),
            ("12:30 walnut", "12:30 walnut"),
            (
                "a\tb\tc\t2026-06-17T10:22:22Z walnut",
                "a\tb\tc\t2026-06-17T10:22:22Z walnut",
            ),
            ("", ""),
        ] {
            assert_eq!(&line[time_length(line)..], message);
        }
    }
}
