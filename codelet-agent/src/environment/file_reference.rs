//! Mentions: files that a user names in a prompt after an `@`. Writes and parses them, both for name completion and for
//! reading the files.

use crate::environment::spelling;
use std::path::PathBuf;

/// A file named in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mention<'a> {
    /// The part after the `@`: a name, in quotes if it contains blanks.
    pub written: &'a str,
}

impl Mention<'_> {
    /// Returns the paths that may be meant, most likely first: the name as written, then with blanks instead of `\ `, as
    /// shells write them, then without the punctuation that ends a sentence (`@a.png, and @b.png.`).
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let quoted = spelling::read(self.written).map(PathBuf::from);
        let plain = quoted.is_none().then(|| PathBuf::from(self.written));
        let unescaped = self.written.replace("\\ ", " ");
        let within = unescaped.trim_end_matches(is_mark);
        let trimmed = plain.is_some() && !within.is_empty() && within != unescaped;
        let trimmed = trimmed.then(|| PathBuf::from(within));
        let unescaped = (plain.is_some() && unescaped != self.written).then(|| PathBuf::from(&unescaped));
        [quoted, plain, unescaped, trimmed].into_iter().flatten()
    }
}

/// Returns the mention of a file, given its name as [`spelling::spell`] writes it.
pub fn write(name: &str) -> String {
    if name.starts_with('"') || !name.contains(char::is_whitespace) && !name.ends_with('\\') {
        return format!("@{name}");
    }
    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
    format!("@\"{escaped}\"")
}

/// Returns the files that a text names, in order.
pub fn read(text: &str) -> Vec<Mention<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((written, is_whole, after)) = next(rest) {
        found.extend(is_whole.then_some(Mention { written }));
        rest = after;
    }
    found
}

/// Returns the file if a text consists of a single mention.
pub fn only(text: &str) -> Option<PathBuf> {
    match read(text).as_slice() {
        [mention] if mention.written.len() + 1 == text.len() => mention.paths().next(),
        _ => None,
    }
}

/// Returns the incomplete mention at the end of a text: the part after its `@` so far.
pub fn begun(text: &str) -> Option<&str> {
    let mut rest = text;
    let mut last = None;
    while let Some((written, is_whole, after)) = next(rest) {
        // A closed quote is complete; a word may always continue.
        let may_go_on = after.is_empty() && !(is_whole && written.starts_with('"'));
        last = may_go_on.then_some(written);
        rest = after;
    }
    last.or_else(|| {
        let ends_at_mark = text.ends_with('@') && may_follow(text[..text.len() - 1].chars().next_back());
        ends_at_mark.then_some("")
    })
}

/// Returns the first mention of a text, whether it is complete (its quote is closed), and the rest.
fn next(text: &str) -> Option<(&str, bool, &str)> {
    let mut before = None;
    for (at, c) in text.char_indices() {
        if c == '@' && may_follow(before) {
            let rest = &text[at + 1..];
            let (end, is_whole) = match rest.starts_with('"') {
                true => quoted(rest),
                false => (word(rest), true),
            };
            if end > 0 {
                return Some((&rest[..end], is_whole, &rest[end..]));
            }
        }
        before = Some(c);
    }
    None
}

/// Returns the end of the word that begins here. A blank after a backslash is part of it.
fn word(text: &str) -> usize {
    let is_end = |&(at, blank): &(usize, &str)| blank != " " || !text[..at].ends_with('\\');
    let blanks = text.match_indices(char::is_whitespace);
    blanks.into_iter().find(is_end).map_or(text.len(), |(at, _)| at)
}

/// Returns the end of the quote that begins here, or of its line if it is not closed.
fn quoted(text: &str) -> (usize, bool) {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return (at, false),
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return (at + 1, true),
            _ => {}
        }
    }
    (text.len(), false)
}

/// Returns whether an `@` after this character begins a mention; in `me@home` it does not.
fn may_follow(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '<' | '"' | '\'' | '“' | '„' | '«' | '‘'))
}

/// Returns whether a character ends a sentence, or encloses the mention.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '>' | '"' | '\'' | '”' | '“' | '»' | '’' | '…'
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    fn named(text: &str) -> Vec<Vec<String>> {
        let path = |path: PathBuf| path.to_str().unwrap().to_owned();
        let mentions = read(text);
        mentions
            .iter()
            .map(|mention| mention.paths().map(path).collect())
            .collect()
    }

    #[test]
    fn a_mention_is_a_name_behind_an_at_sign_where_a_word_begins() {
        for (text, expected) in [
            ("look at @a.png", &[&["a.png"][..]][..]),
            ("@~/shot.png and @/tmp/b", &[&["~/shot.png"], &["/tmp/b"]]),
            (
                "(@a.png, \"@b.png\").",
                &[&["a.png,", "a.png"], &["b.png\").", "b.png"]],
            ),
            ("@\"my shot.png\", and then", &[&["my shot.png"]]),
            ("@\"a \\\"b\\\".png\"", &[&["a \"b\".png"]]),
            ("@my\\ shot.png is new", &[&["my\\ shot.png", "my shot.png"]]),
            ("me@home.png, @ and @\"open", &[]),
            ("`@code.png`", &[]),
            ("line\n@a.png\nline", &[&["a.png"]]),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_being_written_is_found_at_the_end() {
        for (text, expected) in [
            ("look at @", Some("")),
            ("look at @src/m", Some("src/m")),
            ("look at @\"my sh", Some("\"my sh")),
            ("look at @\"my shot.png\"", None),
            ("@a.png @b", Some("b")),
            ("@a.png and", None),
            ("me@home", None),
            ("me@", None),
        ] {
            assert_eq!(begun(text), expected, "{text}");
        }
        assert_eq!(only("@\"my notes.md\""), Some(PathBuf::from("my notes.md")));
        assert_eq!(only("@notes.md is mine"), None);
    }

    proptest! {
        #[test]
        fn whatever_name_is_mentioned_is_read_back(name in "[^\0]{1,30}", before in "([a-z]{0,5} )?", after in "( [a-z]{0,5})?") {
            let spelled = spelling::spell(OsStr::new(&name));
            let text = format!("{before}{}{after}", write(&spelled));
            let mentions = read(&text);
            prop_assert_eq!(mentions.len(), 1, "{}", text);
            prop_assert_eq!(mentions[0].paths().next().unwrap(), PathBuf::from(&name));
        }

        #[test]
        fn anything_can_be_read(text in "[@\"\\\\ a(\n.]{0,30}") {
            let _ = (read(&text), begun(&text), only(&text));
        }
    }
}
