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

/// Whether a text may be a listing with line numbers is told by so many of its first lines, …
const FIRST: usize = 12;
/// … and whether it is, and what stands between a number and its line, by so many.
const MANY: usize = 60;

impl Gutter {
    /// Of a listing with line numbers: most of its first lines have one, and most are the next of the one before. What a search
    /// has printed (`is_search`) may leave lines out. `None` of other texts: keys and the numbers of records are no gutter.
    pub fn of(text: &str, is_search: bool) -> Option<Self> {
        let lines = || lines(text.as_bytes()).filter(|line| !line.is_empty());
        let (mut all, mut numbered) = (0, 0);
        for line in lines().take(FIRST) {
            all += 1;
            numbered += usize::from(Numbered::of(line).is_some());
        }
        if numbered < 2 || numbered * 2 <= all {
            return None;
        }
        let numbered = lines().take(MANY).filter_map(|line| {
            let numbered = Numbered::of(line)?;
            let rest = &line[numbered.bytes..];
            Some((numbered, rest))
        });
        let numbered: Vec<(Numbered, &[u8])> = numbered.collect();
        is_counted(&numbered, is_search).then(|| Gutter {
            has_blank: has_blank(&numbered),
        })
    }

    /// How many bytes in front of a line are its number and what parts it from the line.
    pub fn before(self, line: &[u8]) -> usize {
        let bytes = Numbered::of(line).map_or(0, |numbered| numbered.bytes);
        let is_blank = self.has_blank && bytes > 0 && line.get(bytes) == Some(&b' ');
        bytes + usize::from(is_blank)
    }
}

/// The lines of a text. Asked of the beginning of every text.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text).chain([text.len()]);
    ends.map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
}

/// Whether the numbers of these lines count them.
fn is_counted(lines: &[(Numbered, &[u8])], is_search: bool) -> bool {
    let follows = |pair: &&[(Numbered, &[u8])]| {
        let (before, Numbered { number, sign, .. }) = (pair[0].0.number, &pair[1].0);
        *number == before + 1 || is_search && matches!(sign, Sign::Colon) && *number > before
    };
    let pairs = lines.windows(2);
    pairs.clone().filter(follows).count() * 3 >= pairs.len() * 2
}

/// Whether a blank behind the sign is no part of the line: every line has one that is not empty, and one that is not indented
/// shows it. Behind a sign that stands apart from its number it always is none.
fn has_blank(lines: &[(Numbered, &[u8])]) -> bool {
    let mut least: Option<usize> = None;
    for (Numbered { sign, .. }, rest) in lines {
        if rest.trim_ascii().is_empty() {
            continue;
        }
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        match sign {
            Sign::Tab | Sign::Arrow => return false,
            Sign::Apart if blanks == 0 => return false,
            Sign::Apart => least = Some(1),
            Sign::Colon | Sign::Bar => least = Some(least.map_or(blanks, |least| least.min(blanks))),
        }
    }
    least == Some(1)
}

/// A line number, and what stands behind it.
struct Numbered {
    number: u32,
    sign: Sign,
    /// How many bytes both take, with the blanks before them.
    bytes: usize,
}

#[derive(Clone, Copy)]
enum Sign {
    Tab,
    Arrow,
    Colon,
    Bar,
    /// A bar with a blank before it.
    Apart,
}

impl Numbered {
    /// The number in front of a line (`  12→`, `12:`, `L12:`, `12|`, `12 |`, `12 │`, `12` and a tab).
    fn of(line: &[u8]) -> Option<Self> {
        let indent = line.iter().take_while(|&&b| b == b' ').count();
        let letter = usize::from(line.get(indent) == Some(&b'L'));
        let start = indent + letter;
        let digits = line[start..].iter().take(7).take_while(|b| b.is_ascii_digit()).count();
        if !(1..=6).contains(&digits) || indent > 8 {
            return None;
        }
        let end = start + digits;
        let (sign, bytes) = match &line[end..] {
            [b':', ..] => (Sign::Colon, 1),
            _ if letter > 0 => return None,
            [b'\t', ..] => (Sign::Tab, 1),
            [b'|', ..] => (Sign::Bar, 1),
            [b' ', b'|', ..] => (Sign::Apart, 2),
            // The arrow, and the bar of drawings.
            [0xe2, 0x86, 0x92, ..] => (Sign::Arrow, 3),
            [0xe2, 0x94, 0x82, ..] => (Sign::Bar, 3),
            [b' ', 0xe2, 0x94, 0x82, ..] => (Sign::Apart, 4),
            _ => return None,
        };
        let number = line[start..end]
            .iter()
            .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        Some(Numbered {
            number,
            sign,
            bytes: end + bytes,
        })
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
    let line = &line[..line.len().min(LONGEST_LINE)];
    // Where the word under way begins, and whether it is a number.
    let (mut length, mut word, mut is_number) = (0, 0, false);
    for byte in line {
        if !byte.is_ascii_alphanumeric() {
            if is_number {
                words[word] = b'0';
                length = word + 1;
                is_number = false;
            }
            word = length + 1;
        }
        is_number |= byte.is_ascii_digit();
        words[length] = *byte;
        length += 1;
    }
    if is_number {
        words[word] = b'0';
        length = word + 1;
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

    fn without(text: &str, is_search: bool) -> Vec<&str> {
        let gutter = Gutter::of(text, is_search);
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
            "  9 | fn a() {\n 10 |     b\n 11 | }",
            "   1 │ fn a() {\n   2 │     b\n   3 │ }",
            "1|fn a() {\n2|    b\n3|}",
        ] {
            assert_eq!(without(listing, false), ["fn a() {", "    b", "}"], "{listing}");
        }
        assert_eq!(without("7:a\n12:b\n31:c", true), ["a", "b", "c"]);
    }

    #[test]
    fn of_lines_that_are_all_indented_the_indentation_stays() {
        for (listing, lines) in [
            ("7:    let a;\n8:    let b;", ["    let a;", "    let b;"]),
            ("7:   let a;\n8:     let b;", ["   let a;", "     let b;"]),
            ("7 |     let a;\n8 |     let b;", ["    let a;", "    let b;"]),
            ("7→ let a;\n8→ let b;", [" let a;", " let b;"]),
            ("7 | \n8 |   let b;\n9 |   let c;", ["", "  let b;"]),
        ] {
            assert_eq!(&without(listing, false)[..2], lines, "{listing}");
        }
    }

    #[test]
    fn numbers_that_count_no_lines_are_no_gutter() {
        for text in [
            "L1\nL2\nL3",
            "1 a\n2 b",
            "3: a\nb\nc",
            "Lines: 1\nLines: 2",
            "1000: by truck\n1250: by train\n1500: by ship",
            "L10: mov a\nL20: mov b\nL30: jmp L10",
            "17 | alpha | 0.50\n24 | beta | 0.75\n31 | gamma | 1.00",
            "812\tAlpha\n90\tBeta\n7\tGamma",
        ] {
            assert_eq!(Gutter::of(text, false), None, "{text}");
            let is_key = text.starts_with("1000") || text.starts_with("L10");
            assert!(is_key || Gutter::of(text, true).is_none(), "{text}");
        }
    }
}
