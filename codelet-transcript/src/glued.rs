//! Recovers whole entries from a malformed line: two entries joined together, or a fragment followed by a whole entry,
//! as left by programs that were killed while writing.

use crate::source::MOST_VALUES;
use codelet_text::json::has_more_values;
use serde_json::{Map, Value};

/// The maximum number of different beginnings searched for: writers order the fields of their entries in few ways.
const MOST: usize = 16;
/// The maximum number of times that each byte of a line is examined, on average.
const LOOKS: usize = 16;

/// Returns the beginnings of entries in this file: a brace and the first key of each line.
pub(crate) fn beginnings(file: &[u8]) -> Vec<&[u8]> {
    let mut found: Vec<&[u8]> = Vec::new();
    for line in file.split(|byte| *byte == b'\n') {
        let Some(rest) = line.strip_prefix(b"{\"") else {
            continue;
        };
        if let Some(end) = memchr::memchr2(b'"', b'\\', rest)
            && !found.contains(&&line[..end + 3])
        {
            found.push(&line[..end + 3]);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// Returns the whole entries within a line, with the length of each in bytes. An entry begins like others of its file,
/// and ends at the end of the line or where another object begins. In a line that is only truncated, an object in the
/// position of a value is not an entry.
pub(crate) fn parts(line: &str, beginnings: &[&[u8]], breaks_off: bool) -> Vec<(Map<String, Value>, usize)> {
    let mut found = Vec::new();
    if has_more_values(line.as_bytes(), MOST_VALUES) {
        return found;
    }
    let mut at = 0;
    let mut left = line.len().saturating_mul(LOOKS);
    while let Some(start) = next(line, at, beginnings) {
        if breaks_off && line[..start].trim_end().ends_with([':', ',', '[']) {
            at = start + 1;
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(&line[start..]).into_iter::<Value>();
        let value = values.next();
        let length = values.byte_offset();
        let rest = line[start + length..].trim_matches(is_nothing);
        at = match value {
            Some(Ok(Value::Object(fields))) if rest.is_empty() || rest.starts_with('{') => {
                found.push((fields, length));
                start + length
            }
            _ => start + 1,
        };
        // If it was not an entry, the parser examined at most the rest of the line.
        left = left.saturating_sub(length.max(1));
        if left == 0 {
            break;
        }
    }
    found
}

fn is_nothing(c: char) -> bool {
    c.is_whitespace() || c == '\0'
}

fn next(line: &str, at: usize, beginnings: &[&[u8]]) -> Option<usize> {
    let bytes = line.as_bytes();
    let braces = memchr::memchr_iter(b'{', &bytes[at..]).map(|offset| at + offset);
    let begins = |start: &usize| beginnings.iter().any(|one| bytes[*start..].starts_with(one));
    braces.into_iter().find(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"{\"type\":\"a\",\"n\":1}\n{\"id\":7}\nnothing\n{\"type\":\"b\"}\n";

    fn check(line: &str, expected: &[&str]) {
        let breaks_off = serde_json::from_str::<Value>(line).is_err_and(|problem| problem.is_eof());
        let parts = parts(line, &beginnings(FILE), breaks_off);
        let texts: Vec<String> = parts
            .iter()
            .map(|(part, _)| Value::Object(part.clone()).to_string())
            .collect();
        assert_eq!(texts, expected, "{line}");
    }

    #[test]
    fn entries_begin_as_lines_of_their_file_do() {
        assert_eq!(beginnings(FILE), [&b"{\"type\""[..], b"{\"id\""]);
        assert!(beginnings(b"[1]\n{}\n{ \"type\": 1}\n").is_empty());
    }

    #[test]
    fn whole_entries_are_found_and_parts_of_them_are_not() {
        let [one, two] = [r#"{"type":"a","n":{"x":1}}"#, r#"{"id":7}"#];
        check(&format!("{one}{two}"), &[one, two]);
        check(&format!("{one}\0\0 {two}\0"), &[one, two]);
        check(&format!(r#"{{"type":"a","text":"cut he{one}"#), &[one]);
        check(&format!(r#"{{"type":"a","data":{one}"#), &[]);
        check(&format!(r#"{{"type":"a","da{one}{two}"#), &[one, two]);
        check(&format!(r#"{one}{{"type":"a","text":"cut"#), &[one]);
        check(r#"{"type":"a","data":{"x":1}"#, &[]);
        check(r#"{"type":"a","data":[{"type":"x"},{"y"#, &[]);
        check("{\"type\"", &[]);
    }

    #[test]
    fn a_line_of_nothing_but_beginnings_is_given_up_soon() {
        let line = r#"{"type":"#.repeat(200_000);
        check(&line, &[]);
    }
}
