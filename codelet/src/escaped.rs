//! Recorded text for a terminal: control characters and invisible characters are written as escapes.

use codelet_text::unseen::hides;

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
    fn a_text_keeps_its_lines_and_orders_nothing() {
        assert_eq!(text("a\tb\n\u{1b}[2J\u{9b}"), "a\tb\n\\u001b[2J\\u009b");
    }
}
