//! Replaces a text in a file byte for byte, with either kind of line ending.

use crate::files::LARGEST;
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// The result of a replacement.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// The whole new text.
    pub bytes: Vec<u8>,
    /// The text to show, if it differs from `bytes`.
    pub shown: Option<Vec<u8>>,
    /// The new ranges, in the text that is shown.
    pub places: Vec<Range<usize>>,
    /// The ranges that were replaced, in the old text.
    pub changed: Vec<Range<usize>>,
}

impl Replaced {
    /// Changes the bytes for a file that is not written as it is shown.
    pub(crate) fn written(self, write: impl FnOnce(&[u8]) -> Vec<u8>) -> Replaced {
        Replaced {
            bytes: write(&self.bytes),
            shown: self.shown.or(Some(self.bytes)),
            ..self
        }
    }
}

/// Reasons why nothing was replaced.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The text does not occur.
    NotFound,
    /// The text occurs in these lines.
    Several(Vec<usize>),
    /// It occurs so often that the file would exceed the size limit.
    TooLarge(usize),
}

/// Replaces the only occurrence, or all of them. A `\n` in the texts also matches `\r\n`, and the replacement uses the
/// line endings that it replaces: one by one if their number is the same. If no line ends in `\r\n`, none does
/// afterwards, unless line endings are all that changes.
pub(crate) fn replace(bytes: &[u8], old: &str, new: &str, all: bool) -> Result<Replaced, Refusal> {
    if old.contains('\r') {
        // Carriage returns are taken literally; if there are none in the file, `\r\n` stands for any line ending.
        let exact = Lines {
            text: Cow::Borrowed(bytes),
            ends: Vec::new(),
        };
        match exact.replace(bytes, old, new, all) {
            Err(Refusal::NotFound) => {}
            done => return done,
        }
    }
    let lines = Lines::of(bytes);
    let (plain_old, plain_new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    if lines.ends.is_empty() && plain_new == old {
        return lines.replace(bytes, old, new, all);
    }
    lines.replace(bytes, &plain_old, &plain_new, all)
}

/// A text whose lines all end in `\n`.
struct Lines<'a> {
    text: Cow<'a, [u8]>,
    /// Positions in `text` of line ends that are `\r\n` in the file.
    ends: Vec<usize>,
}

impl Lines<'_> {
    fn of(bytes: &[u8]) -> Lines<'_> {
        let mut ends = Vec::new();
        let mut text = Vec::new();
        let mut from = 0;
        for at in memmem::find_iter(bytes, b"\r\n") {
            text.extend_from_slice(&bytes[from..at]);
            ends.push(text.len());
            from = at + 1;
        }
        if ends.is_empty() {
            return Lines {
                text: Cow::Borrowed(bytes),
                ends,
            };
        }
        text.extend_from_slice(&bytes[from..]);
        Lines {
            text: Cow::Owned(text),
            ends,
        }
    }

    /// Converts a position in the text to one in the file.
    fn in_file(&self, at: usize) -> usize {
        at + self.ends.partition_point(|&end| end < at)
    }

    fn replace(&self, bytes: &[u8], old: &str, new: &str, all: bool) -> Result<Replaced, Refusal> {
        let found = self.find(old.as_bytes(), all)?;
        // A common prefix and suffix stay as they are in the file.
        let (head, tail) = common(old.as_bytes(), new.as_bytes());
        let middle = &new[head..new.len() - tail];
        let most = bytes.len().saturating_add(middle.len().saturating_mul(found.len()));
        if found.len() > 1 && most as u64 > LARGEST && middle.len() > old.len() - head - tail {
            return Err(Refusal::TooLarge(found.len()));
        }
        let mut done = Replaced {
            bytes: Vec::with_capacity(bytes.len() + new.len()),
            shown: None,
            places: Vec::with_capacity(found.len()),
            changed: Vec::with_capacity(found.len()),
        };
        let mut from = 0;
        for at in found {
            let whole = at..at + old.len();
            let changed = self.in_file(whole.start + head)..self.in_file(whole.end - tail);
            done.bytes.extend_from_slice(&bytes[from..changed.start]);
            let start = done.bytes.len();
            self.put(&mut done.bytes, middle, whole.start + head..whole.end - tail, &whole);
            done.places.push(start..done.bytes.len());
            from = changed.end;
            done.changed.push(changed);
        }
        done.bytes.extend_from_slice(&bytes[from..]);
        Ok(done)
    }

    /// Appends the replacement of this range, which is part of a match.
    fn put(&self, bytes: &mut Vec<u8>, new: &str, range: Range<usize>, whole: &Range<usize>) {
        let is_crlf = |at: usize| self.ends.binary_search(&at).is_ok();
        let stood = memchr::memchr_iter(b'\n', &self.text[range.clone()]);
        let mut stood: Vec<bool> = stood.map(|at| is_crlf(range.start + at)).collect();
        let ends = memchr::memchr_iter(b'\n', new.as_bytes()).count();
        if stood.len() != ends {
            stood = vec![self.ends_crlf(whole); ends];
        }
        let mut lines = new.split('\n');
        bytes.extend_from_slice(lines.next().unwrap_or_default().as_bytes());
        for (line, is_crlf) in lines.zip(stood) {
            bytes.extend_from_slice(if is_crlf { b"\r\n" } else { b"\n" });
            bytes.extend_from_slice(line.as_bytes());
        }
    }

    fn find(&self, old: &[u8], all: bool) -> Result<Vec<usize>, Refusal> {
        if old.is_empty() {
            return Err(Refusal::NotFound);
        }
        let finder = memmem::Finder::new(old);
        if all {
            let found: Vec<usize> = finder.find_iter(&self.text).collect();
            return if found.is_empty() {
                Err(Refusal::NotFound)
            } else {
                Ok(found)
            };
        }
        let first = finder.find(&self.text).ok_or(Refusal::NotFound)?;
        // An overlapping occurrence counts as another one.
        match finder.find(&self.text[first + 1..]) {
            None => Ok(vec![first]),
            Some(next) => {
                let mut found = vec![first, first + 1 + next];
                let behind = found[1] + old.len();
                found.extend(finder.find_iter(&self.text[behind..]).map(|at| behind + at));
                Err(Refusal::Several(self.line_numbers(&found)))
            }
        }
    }

    fn line_numbers(&self, places: &[usize]) -> Vec<usize> {
        let (mut from, mut number) = (0, 1);
        let mut numbers = Vec::with_capacity(places.len());
        for &place in places {
            number += memchr::memchr_iter(b'\n', &self.text[from..place]).count();
            from = place;
            numbers.push(number);
        }
        numbers
    }

    /// Returns whether lines end in `\r\n` here: most of those in the range or, if it has none, the next one, or else
    /// the last one before it.
    fn ends_crlf(&self, range: &Range<usize>) -> bool {
        let crlf = self.crlf_in(range);
        let ends = memchr::memchr_iter(b'\n', &self.text[range.clone()]).count();
        if ends > 0 {
            return crlf * 2 > ends || (crlf * 2 == ends && self.is_crlf_at_first(range));
        }
        let next = memchr::memchr(b'\n', &self.text[range.end..]).map(|at| range.end + at);
        let end = next.or_else(|| memchr::memrchr(b'\n', &self.text[..range.start]));
        end.is_some_and(|end| self.ends.binary_search(&end).is_ok())
    }

    fn crlf_in(&self, range: &Range<usize>) -> usize {
        let below = |at| self.ends.partition_point(|&end| end < at);
        below(range.end) - below(range.start)
    }

    fn is_crlf_at_first(&self, range: &Range<usize>) -> bool {
        memchr::memchr(b'\n', &self.text[range.clone()])
            .is_some_and(|at| self.ends.binary_search(&(range.start + at)).is_ok())
    }
}

/// The length in bytes of the common prefix and then of the common suffix; both end at character boundaries.
fn common(old: &[u8], new: &[u8]) -> (usize, usize) {
    let is_inner = |byte: u8| byte & 0xc0 == 0x80;
    let mut head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let starts_inside = |at: usize| [old, new].iter().any(|text| text.get(at).is_some_and(|&b| is_inner(b)));
    while head > 0 && starts_inside(head) {
        head -= 1;
    }
    let rest = (old.len() - head).min(new.len() - head);
    let mut tail = (0..rest)
        .take_while(|i| old[old.len() - 1 - i] == new[new.len() - 1 - i])
        .count();
    while tail > 0 && is_inner(new[new.len() - tail]) {
        tail -= 1;
    }
    // A `\r\n` is not split.
    if tail > 0 && new[new.len() - tail] == b'\n' && new[..new.len() - tail].last() == Some(&b'\r') {
        tail -= 1;
    }
    (head, tail)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, old: &str, new: &str, expected: &str) {
        let done = replace(text.as_bytes(), old, new, false).unwrap();
        assert_eq!(String::from_utf8(done.bytes).unwrap(), expected);
    }

    #[test]
    fn lines_end_as_they_did() {
        check("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n");
        check("a\nb\n", "b", "b\nc", "a\nb\nc\n");
        check("a\r\nb", "b", "b\nc", "a\r\nb\r\nc");
        check("b\r\n", "b", "b\nc", "b\r\nc\r\n");
        check("a\nb\n", "a", "x\r\ny", "x\ny\nb\n");
        check("a", "a", "x\r\ny\r\n", "x\ny\n");
        // Each line of a mixed file keeps its ending; new lines take that of the majority.
        check(
            "a\r\nb\r\nc\r\nd\ne\n", "b\nc\nd\ne", "b\nc\nd\nx\ne", "a\r\nb\r\nc\r\nd\nx\r\ne\n",
        );
        check("a\nb\r\nc\n", "a\nb\nc", "a\nb\nC", "a\nb\r\nC\n");
        check("a\r\nb\nc\r\n", "a\nb\nc", "A\nB\nC", "A\r\nB\nC\r\n");
        check("a\nb\r\nc\n", "a\nb\nc\n", "A\nB\nC\n", "A\nB\r\nC\n");
    }

    #[test]
    fn carriage_returns_that_are_named_are_meant() {
        check("a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n");
        check("a\r\nb\r\n", "a\r\nb", "a\r\nx", "a\r\nx\r\n");
        check("a\nb\n", "a\r\nb", "a\r\nx", "a\nx\n");
        check("a\nb\n", "a\nb", "a\r\nb", "a\r\nb\n");
        check("a\nb\n", "b", "x\ry", "a\nx\ry\n");
        check("progress\rdone\n", "s\rd", "s d", "progress done\n");
    }

    #[test]
    fn what_occurs_more_than_once_is_named_by_its_lines() {
        let several = |text: &str, old: &str| replace(text.as_bytes(), old, "-", false).unwrap_err();
        assert_eq!(several("x\ny\nx\nx\n", "x"), Refusal::Several(vec![1, 3, 4]));
        assert_eq!(several("aaa", "aa"), Refusal::Several(vec![1, 1]));
        assert_eq!(several("a", "b"), Refusal::NotFound);
        // Two megabytes would become sixteen gigabytes.
        let many = replace("a".repeat(2 << 20).as_bytes(), "a", &"b".repeat(8000), true);
        assert_eq!(many.unwrap_err(), Refusal::TooLarge(2 << 20));
        assert!(replace("ab".repeat(6 << 20).as_bytes(), "ab", "b", true).is_ok());
        let done = replace(b"aaa", "aa", "b", true).unwrap();
        assert_eq!(done.bytes, b"ba");
        assert_eq!(done.places.len(), 1);
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let done = replace(b"\xef\xbb\xbf\xff a \xfe\r\n", "a", "ä\nb", false).unwrap();
        assert_eq!(done.bytes, b"\xef\xbb\xbf\xff \xc3\xa4\r\nb \xfe\r\n");
    }

    #[test]
    fn a_hostile_text_is_searched_in_linear_time() {
        let text = vec![b'a'; 8 << 20];
        let old = "a".repeat(1 << 20) + "b";
        assert_eq!(replace(&text, &old, "", false).unwrap_err(), Refusal::NotFound);
        let ends = "\r\n".repeat(2 << 20);
        let done = replace(ends.as_bytes(), "\n", "x", true).unwrap();
        assert_eq!(done.bytes.len(), 2 << 20);
    }

    fn normal(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).replace("\r\n", "\n")
    }

    proptest! {
        /// With any line endings, only the text between the unchanged parts changes.
        #[test]
        fn an_edit_changes_only_what_it_names(
            lines in prop::collection::vec(("[ab ä€]{0,3}", prop::sample::select(vec!["\n", "\r\n"])), 1..8),
            from in 0usize..30,
            length in 1usize..12,
            new in "[abx ä\n]{0,6}",
            names_returns: bool,
        ) {
            let text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
            let plain = normal(text.as_bytes());
            let start = plain.floor_char_boundary(from.min(plain.len() - 1));
            let end = plain.ceil_char_boundary((start + length).min(plain.len()));
            let old = &plain[start..end];
            prop_assume!(old != new);
            let given = if names_returns { new.replace('\n', "\r\n") } else { new.clone() };
            match replace(text.as_bytes(), old, &given, false) {
                Ok(done) => {
                    prop_assert_eq!(plain.matches(old).count(), 1);
                    prop_assert_eq!(normal(&done.bytes), plain.replacen(old, &new, 1));
                    // In the file itself: the text before and after is unchanged.
                    let lines = Lines::of(text.as_bytes());
                    let (before, behind) = (lines.in_file(start), lines.in_file(end));
                    prop_assert_eq!(&done.bytes[..before], &text.as_bytes()[..before]);
                    prop_assert!(done.bytes.ends_with(&text.as_bytes()[behind..]));
                    // A text with uniform line endings keeps them.
                    if !text.replace("\r\n", "").contains('\n') {
                        prop_assert!(!String::from_utf8_lossy(&done.bytes).replace("\r\n", "").contains('\n'));
                    }
                    if !text.contains('\r') {
                        prop_assert!(!done.bytes.contains(&b'\r'));
                    }
                }
                Err(Refusal::Several(places)) => prop_assert!(places.len() > 1),
                Err(Refusal::NotFound) => prop_assert!(false, "it is there"),
                Err(Refusal::TooLarge(_)) => prop_assert!(false, "it is small"),
            }
        }

        #[test]
        fn all_occurrences_are_replaced(text in "[ab\n]{0,40}", is_crlf: bool, old in "[ab\n]{1,3}", new in "[abc\n]{0,4}") {
            let file = if is_crlf { text.replace('\n', "\r\n") } else { text.clone() };
            match replace(file.as_bytes(), &old, &new, true) {
                Ok(done) => {
                    prop_assert_eq!(normal(&done.bytes), text.replace(&old, &new));
                    prop_assert_eq!(done.places.len(), text.matches(&old).count());
                }
                Err(_) => prop_assert!(!text.contains(&old)),
            }
        }

        #[test]
        fn any_bytes_are_searched(bytes: Vec<u8>, old in ".{1,4}", new in ".{0,4}", all: bool) {
            let _ = replace(&bytes, &old, &new, all);
        }
    }
}
