//! The lines that searches have found.
//!
//! A search that finds a few lines of a file says which part of it the assistant is after; what it reads there it mostly
//! changes there.

use super::LINE_BYTES;
use super::line::{normal_hash, whole_hash};
use crate::hash::ByHash;
use crate::items::Items;
use crate::marked::Marked;

/// Lines by their hash, as items have it: most are read after they were found.
#[derive(Clone, Default)]
pub struct Found(ByHash<()>);

impl Found {
    /// Takes in a line that a search or a command printed.
    pub(super) fn note(&mut self, printed: &[u8]) {
        let Some(start) = text_of_match(printed) else {
            return;
        };
        let (norm, length) = normal_hash(&printed[start..]);
        if LINE_BYTES.contains(&length) {
            self.0.insert(whole_hash(norm), ());
        }
    }

    /// Which items are such lines, if any are.
    pub(crate) fn among(&self, items: &Items) -> Option<Marked> {
        let mut found = self.0.keys().filter_map(|&line| items.find(line)).peekable();
        found.peek()?;
        let mut marked = Marked::with_room(items.len());
        found.for_each(|item| marked.mark(item));
        Some(marked)
    }
}

/// Where the text begins in what a search prints of a line: behind the file and the number (`src/main.rs:12:`), or the number
/// alone (`12:`, `Line 12:`, `L12:`).
fn text_of_match(printed: &[u8]) -> Option<usize> {
    let is_number = |text: &[u8]| (1..=7).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let colon = |from: usize| {
        printed[from..]
            .iter()
            .position(|&byte| byte == b':')
            .map(|at| from + at)
    };
    // The colon behind the letter of a drive is part of the path.
    let drive = if matches!(printed, [_, b':', b'\\' | b'/', ..]) {
        2
    } else {
        0
    };
    let first = colon(drive)?;
    let head = printed[..first].trim_ascii();
    let number = head.strip_prefix(b"Line ").or_else(|| head.strip_prefix(b"L"));
    if is_number(number.unwrap_or(head)) {
        return Some(first + 1);
    }
    let second = colon(first + 1)?;
    let is_path = !head.is_empty() && !head.iter().any(u8::is_ascii_whitespace);
    (is_path && is_number(&printed[first + 1..second])).then_some(second + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(printed: &str) -> Option<&str> {
        text_of_match(printed.as_bytes()).map(|start| &printed[start..])
    }

    #[test]
    fn the_text_of_a_match_stands_behind_its_file_and_number() {
        for printed in [
            "src/main.rs:12:    let a = b::c();",
            "12:    let a = b::c();",
            "  Line 12:    let a = b::c();",
            "L12:    let a = b::c();",
            r"C:\w\main.rs:12:    let a = b::c();",
            "D:/w/main.rs:12:    let a = b::c();",
        ] {
            assert_eq!(text(printed), Some("    let a = b::c();"), "{printed}");
        }
    }

    #[test]
    fn what_is_no_match_points_at_nothing() {
        for printed in [
            "",
            ":",
            "let a = b::c();",
            "src/main.rs",
            "src/main.rs-12-let a = 1;",
            "src/main.rs: let a = 1;",
            "at noon 12:30: it rained",
            "Linear: 12: a",
        ] {
            assert_eq!(text(printed), None, "{printed}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_looked_at(printed in "(.{0,12}:){0,3}.{0,24}") {
            if let Some(start) = text_of_match(printed.as_bytes()) {
                prop_assert!(printed[..start].ends_with(':'));
            }
        }
    }
}
