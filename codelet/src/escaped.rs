//! Recorded text for a terminal: control characters and invisible characters are written as escapes.

use codelet_text::unseen::hides;
use std::io::{self, Write};

/// Escapes the characters that JSON leaves alone but that some terminals interpret as control sequences (U+0080 to
/// U+009F) or do not show, as JSON escapes (`\u009b`), so the value stays the same.
pub fn json(text: &str) -> String {
    escaped(text, |c| (c.is_control() && c > '\u{1f}') || hides(c))
}

/// Does the same for text that is not JSON, where control sequences also begin with U+001B. Newlines and tabs stay.
pub fn text(text: &str) -> String {
    escaped(text, |c| (c.is_control() && !matches!(c, '\n' | '\t')) || hides(c))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_escaped(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    }
    escaped
}

/// A writer of JSON with [escapes](json), which accepts bytes split anywhere.
pub struct EscapedJson<W> {
    out: W,
    /// The beginning of an incomplete character.
    begun: Vec<u8>,
}

impl<W: Write> EscapedJson<W> {
    /// Creates a writer to `out`.
    pub fn to(out: W) -> Self {
        EscapedJson { out, begun: Vec::new() }
    }
}

impl<W: Write> Write for EscapedJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let mut rest = self.begun.as_slice();
        while !rest.is_empty() {
            let (whole, bad) = match std::str::from_utf8(rest) {
                Ok(whole) => (whole, 0),
                Err(error) => {
                    let (whole, after) = rest.split_at(error.valid_up_to());
                    let whole = std::str::from_utf8(whole).unwrap_or_default();
                    let bad = error.error_len().unwrap_or(0);
                    if whole.is_empty() && bad == 0 {
                        break;
                    }
                    (whole, bad.min(after.len()))
                }
            };
            self.out.write_all(json(whole).as_bytes())?;
            // Invalid UTF-8 becomes the replacement character.
            self.out.write_all("\u{fffd}".repeat(bad.min(1)).as_bytes())?;
            rest = &rest[whole.len() + bad..];
        }
        self.begun = rest.to_vec();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::{Value, json};

    const HIDDEN: &str = "\u{7f}\u{80}\u{9b}2J\u{9f}\u{202e}\u{2066}\u{2028}\u{200b}\u{e0041}\u{1b}[m\n";

    #[test]
    fn json_holds_nothing_that_a_terminal_obeys_or_nobody_sees_and_says_the_same() {
        let value = json!({HIDDEN: HIDDEN, "seen": "é日👩\u{200d}❤\u{fe0f}\u{a0}"});
        let line = json(&value.to_string());
        assert!(!line.chars().any(|c| c.is_control() || hides(c)), "{line:?}");
        assert!(
            line.contains("é日👩\u{200d}❤\u{fe0f}\u{a0}") && line.contains("\\udb40\\udc41"),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[test]
    fn however_it_is_cut_it_is_the_same() {
        let text = json!([HIDDEN, "é日👩"]).to_string();
        for size in 1..5 {
            let mut out = EscapedJson::to(Vec::new());
            for piece in text.as_bytes().chunks(size) {
                out.write_all(piece).unwrap();
            }
            assert_eq!(String::from_utf8(out.out).unwrap(), json(&text));
        }
        let mut out = EscapedJson::to(Vec::new());
        out.write_all(b"a\xff\x9b\xe2\x80b").unwrap();
        assert_eq!(String::from_utf8(out.out).unwrap(), "a\u{fffd}\u{fffd}\u{fffd}b");
    }

    #[test]
    fn a_text_keeps_its_lines_and_orders_nothing() {
        assert_eq!(text("a\tb\n\u{1b}[2J\u{9b}"), "a\tb\n\\u001b[2J\\u009b");
    }
}
