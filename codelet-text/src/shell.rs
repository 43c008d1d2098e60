//! Quoting for shells.

use std::borrow::Cow;

/// A text as one word of a POSIX shell command line, quoted if needed.
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', "'\\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_advised_as_one_word_of_a_shells_line() {
        for (name, expected) in [
            ("s.json", "s.json"),
            ("out/日本.json", "out/日本.json"),
            ("sp ace.json", "'sp ace.json'"),
            ("it's.json", "'it'\\''s.json'"),
            ("a$b;c.json", "'a$b;c.json'"),
            ("~other/b.json", "'~other/b.json'"),
            ("", "''"),
        ] {
            assert_eq!(word(name), expected);
        }
    }
}
