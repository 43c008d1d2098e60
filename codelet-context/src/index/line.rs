//! One line of the index: where it is cut, what stands in front of it, and what makes two lines alike.

use crate::codes;
use crate::hash::{self, ByHash};

/// A line, or a piece of a very long one.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Where it begins in its block's text.
    pub start: u32,
    /// Its bytes, without the line break and white space at the end.
    pub bytes: u16,
    /// How many of them are a line number in front of the line itself, and whether it begins as a line of the summary
    /// itself would.
    pub(super) front: u8,
    /// How many of its items are names; they come first.
    pub(super) names: u8,
    /// Where its items begin; they end where the next line's begin.
    pub items: u32,
    /// The item that stands for this line after the one before it, or [`NONE`].
    pub after: u32,
}

/// The bit of [`Line::front`] that tells of a line that begins as one of the summary's own.
pub(super) const POSES: u8 = 1 << 7;
/// The bit that tells of a line that the call takes away from a file.
pub(super) const REMOVED: u8 = 1 << 6;
/// The bit that tells of a line that says little by itself: others of its block are alike but for numbers, it is hardly
/// anything but numbers, or it says what a call is for that does it.
pub(super) const LITTLE: u8 = 1 << 5;

impl Line {
    /// How many of its bytes are a line number in front of the line itself.
    pub fn prefix(&self) -> u8 {
        self.front & !(POSES | REMOVED | LITTLE)
    }

    /// Whether many lines of its block are alike to it but for numbers, it is hardly anything but numbers, or says only what its
    /// call is for.
    pub fn says_little(&self) -> bool {
        self.front & LITTLE != 0
    }

    /// Whether the call takes it away from a file.
    pub fn is_removed(&self) -> bool {
        self.front & REMOVED != 0
    }

    /// Whether it begins as a line of the summary itself would.
    pub fn poses(&self) -> bool {
        self.front & POSES != 0
    }
}

/// Lines longer than this are cut, in bytes.
pub(super) const LONGEST_LINE: usize = 420;
/// … near this length.
const CUT_LINE: usize = 300;
/// So many lines of a block that are alike but for numbers say little one by one.
pub(super) const MANY_ALIKE: u32 = 8;

/// A line of this many bytes …
const LONG: usize = 120;
/// … of which fewer than so many tenths are words says little: a path of a drawing, a matrix, a dump.
const WORDS_TENTHS: usize = 3;
/// A word has so many letters.
const WORD: usize = 3;

/// Whether a line is long and hardly anything of it is words, in whatever script.
pub(super) fn is_hardly_words(line: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_' || *byte >= 0x80;
    let runs = || line.split(|byte| !is_letter(byte)).map(<[u8]>::len);
    line.len() >= LONG && runs().filter(|&run| run >= WORD).sum::<usize>() * 10 < line.len() * WORDS_TENTHS
}

/// Where to cut a line that is too long: at white space near [`CUT_LINE`], or at a character.
fn cut_near(text: &str, start: usize) -> usize {
    let near = text.floor_char_boundary(start + CUT_LINE);
    let most = text.floor_char_boundary(start + LONGEST_LINE);
    let window = &text.as_bytes()[near..most];
    match window.iter().position(|b| matches!(b, b' ' | b'\t' | b',' | b';')) {
        Some(at) => near + at + 1,
        None => near,
    }
}

/// Where the piece of a line that ends at `end` is over that begins at `start`: at its end, unless it is too long.
pub(super) fn piece_end(text: &str, start: usize, end: usize) -> usize {
    match end - start > LONGEST_LINE {
        true => codes::cut_beside(text, start, cut_near(text, start)),
        false => end,
    }
}

/// A line as the index holds it: in pieces where it is too long, each without the blanks behind it.
pub(crate) fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = 0..line.len();
    std::iter::from_fn(move || {
        let start = rest.start;
        rest.start = piece_end(line, start, rest.end);
        (start < rest.end).then(|| line[start..rest.start].trim_end())
    })
}

/// The numbers in front of the lines of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gutter {
    /// A blank behind the sign belongs to it.
    has_blank: bool,
}

/// Whether a text is a listing with line numbers is told by so many of its first lines, …
const FIRST: usize = 12;
/// … and what stands between a number and its line by so many.
const MANY: usize = 400;

impl Gutter {
    /// Of a listing with line numbers: most of its first lines have one. `None` of other texts.
    pub fn of(text: &str) -> Option<Self> {
        let lines = || text.split('\n').map(str::as_bytes).filter(|line| !line.is_empty());
        let (mut all, mut numbered) = (0, 0);
        for line in lines().take(FIRST) {
            all += 1;
            numbered += usize::from(number(line) > 0);
        }
        let is_listing = numbered >= 2 && numbered * 2 > all;
        is_listing.then(|| Gutter {
            has_blank: blanks_behind(lines().take(MANY)) % 2 == 1,
        })
    }

    /// How many bytes in front of a line are its number and what parts it from the line.
    pub fn before(self, line: &[u8]) -> usize {
        let number = number(line);
        let is_blank = self.has_blank && number > 0 && line.get(number) == Some(&b' ');
        number + usize::from(is_blank)
    }
}

/// The blanks that stand behind the number of every line, at least. Code is indented by an even number of them, if at all: one
/// more is no part of it. Behind a tab or an arrow there is nothing more.
fn blanks_behind<'a>(lines: impl Iterator<Item = &'a [u8]>) -> usize {
    let blanks = lines.filter_map(|line| {
        let number = number(line);
        let rest = line
            .get(number..)
            .filter(|rest| number > 0 && !rest.trim_ascii().is_empty())?;
        let is_part = matches!(line[number - 1], b'\t' | 0x92);
        Some(if is_part {
            0
        } else {
            rest.iter().take_while(|&&byte| byte == b' ').count()
        })
    });
    blanks.min().unwrap_or_default()
}

/// How many bytes in front of a line are a line number with its sign (`  12→`, `12:`, `L12:`, `12|`, `12 |`, `12 │`, `12` and a
/// tab).
fn number(line: &[u8]) -> usize {
    let indent = line.iter().take_while(|&&b| b == b' ').count();
    let letter = usize::from(line.get(indent) == Some(&b'L'));
    let start = indent + letter;
    let digits = line[start..].iter().take(7).take_while(|b| b.is_ascii_digit()).count();
    if !(1..=6).contains(&digits) || indent > 8 {
        return 0;
    }
    let end = start + digits;
    match &line[end..] {
        [b':', ..] => end + 1,
        _ if letter > 0 => 0,
        [b'\t' | b'|', ..] => end + 1,
        [b' ', b'|', ..] => end + 2,
        // The arrow, and the bar of drawings.
        [0xe2, 0x86, 0x92, ..] | [0xe2, 0x94, 0x82, ..] => end + 3,
        [b' ', 0xe2, 0x94, 0x82, ..] => end + 4,
        _ => 0,
    }
}

/// How many bytes in front of a line are the sign of a diff: a changed line is the same line.
pub(super) fn diff_sign(line: &[u8]) -> usize {
    usize::from(matches!(line, [b'+' | b'-', b' ' | b'\t', _, ..]))
}

/// Marks the lines of a block to which many others are alike but for numbers: a log tells the same again and again.
pub(super) fn mark_alike(text: &str, lines: &mut [Line]) {
    let shapes: Vec<u64> = lines
        .iter()
        .map(|line| {
            let start = line.start as usize;
            shape(codes::shown(&text[start..start + usize::from(line.bytes)]).as_bytes())
        })
        .collect();
    let mut counts: ByHash<u32> = ByHash::default();
    for &shape in &shapes {
        *counts.entry(shape).or_default() += 1;
    }
    for (line, shape) in lines.iter_mut().zip(shapes) {
        if counts[&shape] >= MANY_ALIKE {
            line.front |= LITTLE;
        }
    }
}

/// Hash of a line without its numbers, in whatever base: of words of letters and digits, the letters stay if no digit is
/// among them.
fn shape(line: &[u8]) -> u64 {
    let mut words = [0_u8; LONGEST_LINE + 4];
    let mut length = 0;
    for word in line.chunk_by(|a, b| a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric()) {
        let is_number = word.iter().any(u8::is_ascii_digit);
        let word = if is_number { b"0".as_slice() } else { word };
        let end = (length + word.len()).min(words.len());
        words[length..end].copy_from_slice(&word[..end - length]);
        length = end;
    }
    hash::bytes(&words[..length])
}

/// Hash of a line as an item, by that of its text.
pub(super) fn whole_hash(norm: u64) -> u64 {
    hash::pair(norm, 3)
}

/// Hash and length of a line with its white space collapsed.
pub(super) fn normal_hash(line: &[u8]) -> (u64, usize) {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = line.iter().position(|byte| !is_space(byte)).unwrap_or(line.len());
    let line = &line[start..];
    // Most lines have single spaces only, and are their own normal form. Read without a branch for each byte.
    let behind = line.get(1..).unwrap_or_default();
    let pairs = line.iter().zip(behind);
    let odd = line.iter().fold(false, |odd, byte| odd | matches!(byte, b'\t' | b'\r'))
        | pairs.fold(false, |odd, (a, b)| odd | ((*a == b' ') & (*b == b' ')));
    if !odd && line.len() <= LONGEST_LINE && line.last() != Some(&b' ') {
        return (hash::bytes(line), line.len());
    }
    let mut buffer = [0_u8; LONGEST_LINE + 4];
    let mut length = 0;
    let mut space = false;
    for &byte in line {
        if is_space(&byte) {
            space = length > 0;
            continue;
        }
        if space && length < buffer.len() {
            buffer[length] = b' ';
            length += 1;
        }
        space = false;
        if length < buffer.len() {
            buffer[length] = byte;
            length += 1;
        }
    }
    (hash::bytes(&buffer[..length]), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str) -> Vec<&str> {
        let gutter = Gutter::of(text);
        let before = |line: &str| gutter.map_or(0, |gutter| gutter.before(line.as_bytes()));
        text.lines().map(|line| &line[before(line)..]).collect()
    }

    #[test]
    fn line_numbers_are_no_part_of_a_line_however_they_are_parted_from_it() {
        for listing in [
            "     1→fn a() {\n     2→    b\n     3→}",
            "1\tfn a() {\n2\t    b\n3\t}",
            "1:fn a() {\n2:    b\n3:}",
            "1: fn a() {\n2:     b\n3: }",
            "L1: fn a() {\nL2:     b\nL3: }",
            "00001| fn a() {\n00002|     b\n00003| }",
            "  1 | fn a() {\n  2 |     b\n  3 | }",
            "   1 │ fn a() {\n   2 │     b\n   3 │ }",
            "1|fn a() {\n2|    b\n3|}",
        ] {
            assert_eq!(without(listing), ["fn a() {", "    b", "}"], "{listing}");
        }
    }

    #[test]
    fn of_lines_that_are_all_indented_the_indentation_stays() {
        for (listing, lines) in [
            ("7:    let a;\n8:    let b;", ["    let a;", "    let b;"]),
            ("7:     let a;\n8:     let b;", ["    let a;", "    let b;"]),
            ("7: \tlet a;\n8: \tlet b;", ["\tlet a;", "\tlet b;"]),
            ("7→ let a;\n8→ let b;", [" let a;", " let b;"]),
            ("7 | \n8 |   let b;\n9 |   let c;", ["", "  let b;"]),
        ] {
            assert_eq!(&without(listing)[..2], lines, "{listing}");
        }
    }

    #[test]
    fn a_text_with_a_number_here_and_there_is_no_listing() {
        for text in ["L1\nL2\nL3", "1 a\n2 b", "3: a\nb\nc", "Lines: 1\nLines: 2"] {
            assert_eq!(Gutter::of(text), None, "{text}");
        }
    }
}
