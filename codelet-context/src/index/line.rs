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
/// The bit that tells of a line that says little by itself: others of its block are alike but for numbers, or it is hardly
/// anything but numbers.
pub(super) const LITTLE: u8 = 1 << 5;

impl Line {
    /// How many of its bytes are a line number in front of the line itself.
    pub fn prefix(&self) -> u8 {
        self.front & !(POSES | REMOVED | LITTLE)
    }

    /// Whether many lines of its block are alike to it but for numbers, or it is hardly anything but numbers.
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

/// How many bytes in front of a line are a line number (`  12→`, `12:`, `12|`, `12` and a tab).
pub(super) fn number_prefix(line: &[u8]) -> usize {
    let indent = line.iter().take_while(|&&b| b == b' ').count();
    let digits = line[indent..].iter().take(7).take_while(|b| b.is_ascii_digit()).count();
    if !(1..=6).contains(&digits) || indent > 8 {
        return 0;
    }
    match &line[indent + digits..] {
        [b'\t' | b'|' | b':', ..] => indent + digits + 1,
        [0xe2, 0x86, 0x92, ..] => indent + digits + 3,
        _ => 0,
    }
}

/// Whether a text is a listing with line numbers: most of its first lines have one.
pub(super) fn is_numbered(text: &str) -> bool {
    let (mut lines, mut numbered) = (0, 0);
    for line in text
        .split('\n')
        .map(str::as_bytes)
        .filter(|line| !line.is_empty())
        .take(12)
    {
        lines += 1;
        numbered += usize::from(number_prefix(line) > 0);
    }
    numbered >= 2 && numbered * 2 > lines
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
