//! Finds the names that a line of text mentions: files, identifiers, numbers and hyphenated terms.
//!
//! A name is something that may have to be repeated from memory. Ordinary words are not names: they cost as much and
//! nobody remembers them. The measure of what replies refer to uses the same names.

use std::hash::{DefaultHasher, Hasher};

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;
/// Another word character: `$`, anything beyond ASCII.
const OTHER: u8 = 16;
const WORD: u8 = LOWER | UPPER | DIGIT | UNDERSCORE | OTHER;
/// Characters inside a path or a dotted or hyphenated term.
const JOINER: u8 = 32;

/// The class of each byte in a name: a kind of word character; a joiner; or neither.
const SHAPE: [u8; 256] = {
    let mut shape = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        shape[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'$' | 0x80.. => OTHER,
            b'/' | b'\\' | b'.' | b'-' | b'@' => JOINER,
            _ => 0,
        };
        byte += 1;
    }
    shape
};

/// Returns the class of the byte at this position; none after the end.
fn shape(line: &[u8], at: usize) -> u8 {
    line.get(at).map_or(0, |&byte| SHAPE[usize::from(byte)])
}

fn is_word(shape: u8) -> bool {
    shape & WORD != 0
}

/// The maximum length of a run that is examined as a name, in bytes: longer runs are encoded data.
const LONGEST: usize = 200;

/// Hashes bytes; equal on every machine.
fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Appends the hashes of a line's names, in order. A path is identified by its last component.
pub(crate) fn scan(line: &[u8], names: &mut Vec<u64>) {
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        if !is_word(SHAPE[usize::from(byte)]) {
            at += 1;
            continue;
        }
        let start = at;
        let (word, behind) = Word::of(&line[start..]);
        at += word.length;
        // Most runs are a single word.
        if behind == JOINER {
            at = joined(line, start, at, names);
        } else if word.is_name(&line[start..at]) {
            names.push(hash_of(&line[start..at]));
        }
    }
}

/// Appends the names of a run of words that begins at `start`, with the first joiner at `at`; returns the run's end.
fn joined(line: &[u8], start: usize, mut at: usize, names: &mut Vec<u64>) -> usize {
    let mut slash = None;
    let mut dotted = false;
    let mut hyphen = false;
    while shape(line, at) != 0 {
        match line[at] {
            b'/' | b'\\' if is_word(shape(line, at + 1)) => slash = Some(at),
            b'.' => dotted = true,
            b'-' => hyphen = true,
            _ => {}
        }
        at += 1;
    }
    let mut end = at;
    while shape(line, end - 1) == JOINER {
        end -= 1;
    }
    if end - start > LONGEST {
        return at;
    }
    let from = slash.filter(|&slash| slash < end).map_or(start, |slash| slash + 1);
    let last = &line[from..end];
    let whole = slash.is_some() && last.len() >= 3 || dotted && is_file(last) || hyphen && is_hyphenated(last);
    if whole {
        names.push(hash_of(last));
    }
    if !whole || dotted || hyphen {
        segments(line, from, end, whole, names);
    }
    at
}

/// Appends the identifiers and numbers between the joiners of a run.
fn segments(line: &[u8], from: usize, end: usize, inside: bool, names: &mut Vec<u64>) {
    let mut start = from;
    while start <= end {
        let (word, _) = Word::of(&line[start..end]);
        let at = start + word.length;
        let text = &line[start..at];
        if !(inside && start == from && at == end) && word.is_name(text) {
            names.push(hash_of(text));
        }
        start = at + 1;
    }
}

/// Returns whether a run is a file name: a stem and a short extension, as in `main.rs`, `package.json`.
fn is_file(run: &[u8]) -> bool {
    let Some(dot) = run.iter().rposition(|&b| b == b'.') else {
        return false;
    };
    let ending = &run[dot + 1..];
    dot > 0
        && (1..=5).contains(&ending.len())
        && ending[0].is_ascii_lowercase()
        && ending.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && run.iter().any(|b| b.is_ascii_alphabetic())
}

/// Returns whether a run is a term as in `tree-sitter`, `feature-flags`, `web-3`, not words between dashes or rules.
fn is_hyphenated(run: &[u8]) -> bool {
    let is_numbered = run[0].is_ascii_alphabetic() && run.last().is_some_and(u8::is_ascii_digit);
    let is_long = run.len() >= if is_numbered { 4 } else { 8 };
    is_long && run[0].is_ascii_alphanumeric() && !run.windows(2).any(|two| two == b"--")
}

/// The characters of a word.
struct Word {
    length: usize,
    /// Their kinds.
    seen: u8,
}

impl Word {
    /// Returns the word that a text begins with, and the class of the byte after it.
    #[inline]
    fn of(text: &[u8]) -> (Word, u8) {
        let mut seen = 0;
        let mut rest = text.iter();
        let behind = loop {
            match rest.next().map(|&byte| SHAPE[usize::from(byte)]) {
                Some(shape) if is_word(shape) => seen |= shape,
                behind => break behind,
            }
        };
        let length = text.len() - rest.len() - usize::from(behind.is_some());
        (Word { length, seen }, behind.unwrap_or(0))
    }

    /// Returns whether a word is a name: an identifier of four or more characters with an inner capital, underscore or
    /// digit, a long one, or a number of three or more digits.
    fn is_name(&self, word: &[u8]) -> bool {
        let has = |shape: u8| self.seen & shape != 0;
        match word.len() {
            3..=80 if self.seen == DIGIT => true,
            12..=80 => true,
            4..=80 => {
                has(DIGIT)
                    || has(UNDERSCORE) && word[1..word.len() - 1].contains(&b'_')
                    || has(LOWER) && has(UPPER) && has_hump(word)
            }
            _ => false,
        }
    }
}

/// Returns whether an uppercase letter follows a lowercase one.
fn has_hump(word: &[u8]) -> bool {
    word.windows(2)
        .any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<u64> {
        let mut names = Vec::new();
        scan(line.as_bytes(), &mut names);
        names
    }

    #[test]
    fn a_path_is_known_by_its_last_component() {
        assert_eq!(names("open src/engine/index.rs now"), names("./index.rs"));
        assert_eq!(names("src\\engine\\index.rs"), names("index.rs"));
    }

    #[test]
    fn ordinary_words_are_no_names() {
        assert_eq!(
            names("the quick brown fox jumps over it, again. And again..."),
            [0_u64; 0]
        );
    }

    #[test]
    fn identifiers_numbers_and_hyphenated_terms_are_names() {
        for name in [
            "parse_line", "parseLine", "http2", "reconfiguration", "1234", "tree-sitter", "web-3",
        ] {
            assert!(!names(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn encoded_data_has_no_names() {
        assert_eq!(names(&"QUJD".repeat(100)), [0_u64; 0]);
    }
}
