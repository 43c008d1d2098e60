//! The names that a line of text mentions: files, identifiers, numbers and hyphenated terms.
//!
//! A name is what somebody may need to say again from memory. Ordinary words are not names: they cost as much as names
//! and are remembered by nobody. What measures what replies refer to goes by the same names.

use crate::hash;

/// A name in a line: where it begins, and the hash that stands for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    /// Byte offset in the line.
    pub at: u32,
    /// Equal names have equal hashes; a path is known by its last component.
    pub hash: u64,
}

const WORD: u8 = 1;
const JOINER: u8 = 2;

/// What each byte is to a name: part of a word (letters, digits, `_`, `$`, anything beyond ASCII), a joiner inside a
/// path or a dotted or hyphenated term, or neither.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80 {
            class[byte] = WORD;
        } else if matches!(b, b'/' | b'\\' | b'.' | b'-' | b'@') {
            class[byte] = JOINER;
        }
        byte += 1;
    }
    class
};

/// Longest run that is looked at as a name, in bytes: what is longer is encoded data.
const LONGEST: usize = 200;

/// Appends the names of a line, in order.
pub fn scan(line: &[u8], names: &mut Vec<Name>) {
    let mut at = 0;
    while at < line.len() {
        if CLASS[line[at] as usize] != WORD {
            at += 1;
            continue;
        }
        let start = at;
        let mut slash = None;
        let mut dotted = false;
        let mut hyphen = false;
        while at < line.len() && CLASS[line[at] as usize] != 0 {
            match line[at] {
                b'/' | b'\\' if at + 1 < line.len() && CLASS[line[at + 1] as usize] == WORD => slash = Some(at),
                b'.' => dotted = true,
                b'-' => hyphen = true,
                _ => {}
            }
            at += 1;
        }
        let mut end = at;
        while CLASS[line[end - 1] as usize] == JOINER {
            end -= 1;
        }
        if end - start > LONGEST {
            continue;
        }
        let from = slash.filter(|&slash| slash < end).map_or(start, |slash| slash + 1);
        let last = &line[from..end];
        let whole = slash.is_some() && last.len() >= 3 || dotted && is_file(last) || hyphen && is_hyphenated(last);
        if whole {
            names.push(Name {
                at: start as u32,
                hash: hash::bytes(last),
            });
        }
        if !whole || dotted || hyphen {
            segments(line, from, end, whole, names);
        }
    }
}

/// The identifiers and numbers between the joiners of a run.
fn segments(line: &[u8], from: usize, end: usize, inside: bool, names: &mut Vec<Name>) {
    let mut start = from;
    for at in from..=end {
        if at < end && CLASS[line[at] as usize] == WORD {
            continue;
        }
        let word = &line[start..at];
        if !(inside && start == from && at == end) && is_name(word) {
            names.push(Name {
                at: start as u32,
                hash: hash::bytes(word),
            });
        }
        start = at + 1;
    }
}

/// `main.rs`, `package.json`: a stem and a short ending.
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

/// `tree-sitter`, `feature-flags`, `web-3`: terms, not dashes between words or rules.
fn is_hyphenated(run: &[u8]) -> bool {
    let is_numbered = run[0].is_ascii_alphabetic() && run.last().is_some_and(u8::is_ascii_digit);
    let is_long = run.len() >= if is_numbered { 4 } else { 8 };
    is_long && run[0].is_ascii_alphanumeric() && !run.windows(2).any(|two| two == b"--")
}

/// An identifier of four or more characters with an inner capital, underscore or digit, a long one, or a number of
/// three or more digits.
fn is_name(word: &[u8]) -> bool {
    if word.len() < 3 || word.len() > 80 {
        return false;
    }
    let mut seen = 0;
    let mut before = 0;
    let mut camel = false;
    for &byte in word {
        let shape = SHAPE[byte as usize];
        camel |= (before == LOWER) & (shape == UPPER);
        seen |= shape;
        before = shape;
    }
    if seen == DIGIT {
        return true;
    }
    word.len() >= 4
        && (word.len() >= 12
            || camel
            || seen & DIGIT != 0
            || seen & UNDERSCORE != 0 && word[1..word.len() - 1].contains(&b'_'))
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;

/// What each byte of a word says about it.
const SHAPE: [u8; 256] = {
    let mut shape = [16; 256];
    let mut byte = 0;
    while byte < 256 {
        shape[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            _ => 16,
        };
        byte += 1;
    }
    shape
};

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<u64> {
        let mut names = Vec::new();
        scan(line.as_bytes(), &mut names);
        names.into_iter().map(|name| name.hash).collect()
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
            "parse_line",
            "parseLine",
            "http2",
            "reconfiguration",
            "1234",
            "tree-sitter",
            "web-3",
        ] {
            assert!(!names(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn encoded_data_has_no_names() {
        assert_eq!(names(&"QUJD".repeat(100)), [0_u64; 0]);
    }
}
