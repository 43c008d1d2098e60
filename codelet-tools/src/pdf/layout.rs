//! Lines of text, made of characters with places.
//!
//! Lines go across the page, with wide gaps kept, so that tables stay tables. Only where a page has columns of running
//! text, one column follows the other.

use super::content::Glyph;
use icu_normalizer::ComposingNormalizerBorrowed;
use std::collections::BTreeMap;

// All of these are in units of the font's height.

/// The gap from which two characters are two words. A space is 0.2 to 0.33, and kerning less than 0.1.
const WORD: f64 = 0.15;
/// The gap from which words are aligned with other lines.
const WIDE: f64 = 1.2;
/// The distance of two base lines from which an empty line is between them.
const EMPTY: f64 = 1.7;
/// Width of the space between two columns.
const GUTTER: f64 = 0.8;

/// The part of a column's width that most lines of running text fill.
const FULL: f64 = 0.6;
/// Characters in a line of running text, and lines in a column of it, at least.
const NARROW: f64 = 20.0;
const COLUMN: usize = 5;
/// Lines of a page that are searched for columns.
const SEARCHED: usize = 2_000;
/// Spaces in a row at most.
const SPACES: usize = 80;

/// Several characters without a gap, in a frame in which lines are horizontal and go down.
struct Piece {
    text: String,
    left: f64,
    right: f64,
    base: f64,
    size: f64,
    /// True if a space character precedes it.
    is_spaced: bool,
}

/// Pieces of one line, from left to right.
type Row = Vec<Piece>;

/// Sets the characters of a page as text.
pub(super) fn text(glyphs: Vec<Glyph>) -> String {
    // Text in each direction has lines of its own.
    let mut directions: BTreeMap<i64, Vec<Glyph>> = BTreeMap::new();
    for glyph in glyphs {
        let (x, y) = (glyph.end.0 - glyph.at.0, glyph.end.1 - glyph.at.1);
        if [x, y, glyph.size].iter().all(|number| number.is_finite()) {
            directions
                .entry(y.atan2(x).to_degrees().round() as i64)
                .or_default()
                .push(glyph);
        }
    }
    let mut directions: Vec<_> = directions.into_iter().collect();
    directions.sort_by_key(|(_, glyphs)| std::cmp::Reverse(glyphs.len()));
    let texts = directions
        .into_iter()
        .map(|(degrees, glyphs)| in_direction(degrees, glyphs));
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn in_direction(degrees: i64, glyphs: Vec<Glyph>) -> String {
    let (sin, cos) = (degrees as f64).to_radians().sin_cos();
    let cell = cell(&glyphs);
    let rows = rows(pieces(glyphs, |(x, y)| (x * cos + y * sin, y * cos - x * sin)));
    let mut lines = Vec::new();
    print(rows, cell, true, &mut lines);
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n")
}

/// The usual width of a character, which is that of a column of the text.
fn cell(glyphs: &[Glyph]) -> f64 {
    let width = |glyph: &Glyph| (glyph.end.0 - glyph.at.0).hypot(glyph.end.1 - glyph.at.1);
    let mut widths: Vec<f64> = glyphs.iter().map(width).filter(|width| *width > 0.1).collect();
    widths.sort_by(f64::total_cmp);
    widths.get(widths.len() / 2).copied().unwrap_or(5.0)
}

fn pieces(glyphs: Vec<Glyph>, turned: impl Fn((f64, f64)) -> (f64, f64)) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut is_spaced = true;
    for glyph in glyphs {
        let ((left, base), (right, _)) = (turned(glyph.at), turned(glyph.end));
        let text: String = glyph.text.chars().filter(|character| !character.is_control()).collect();
        if text.chars().all(char::is_whitespace) {
            // An empty one belongs to a replacement; it is as wide as ever.
            match pieces.last_mut() {
                Some(last) if text.is_empty() && !is_spaced => last.right = last.right.max(right),
                _ => is_spaced |= !text.is_empty(),
            }
            continue;
        }
        let size = glyph.size.max(0.1);
        let near = WORD * size;
        match pieces.last_mut() {
            // A bold character may be made of two beside each other.
            Some(last)
                if last.text.ends_with(&text)
                    && (last.base - base).abs() < near
                    && last.right - right > -near
                    && (last.right - right).abs() < near => {}
            Some(last)
                if !is_spaced && (last.base - base).abs() < near && (-near..near).contains(&(left - last.right)) =>
            {
                last.text.push_str(&text);
                last.right = right;
            }
            _ => pieces.push(Piece {
                text,
                left,
                right,
                base,
                size,
                is_spaced,
            }),
        }
        is_spaced = false;
    }
    pieces
}

/// Sorts pieces into lines. Smaller raised and lowered ones belong to the line that they overlap by half.
fn rows(mut pieces: Vec<Piece>) -> Vec<Row> {
    pieces.sort_by(|a, b| a.base.total_cmp(&b.base));
    let mut rows: Vec<Row> = Vec::new();
    // Base line and height of the largest piece of the last row.
    let (mut base, mut size) = (0.0, 0.0);
    let mut before = f64::NEG_INFINITY;
    for piece in pieces {
        let top = (piece.base - 0.8 * piece.size).max(base - 0.8 * size);
        let bottom = (piece.base + 0.2 * piece.size).min(base + 0.2 * size);
        let (small, large) = (piece.size.min(size), piece.size.max(size));
        let is_same = match () {
            // The base lines of one line are not always exactly the same.
            () if piece.base - before < 0.1 * small => true,
            () if small > 0.85 * large => piece.base - base < 0.25 * small,
            () => bottom - top >= 0.5 * small,
        };
        before = piece.base;
        match rows.last_mut().filter(|_| is_same) {
            Some(row) => {
                if piece.size > size {
                    (base, size) = (piece.base, piece.size);
                }
                row.push(piece);
            }
            None => {
                (base, size) = (piece.base, piece.size);
                rows.push(vec![piece]);
            }
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.left.total_cmp(&b.left));
        // Bold words may be printed twice, too.
        row.dedup_by(|b, a| a.text == b.text && b.left - a.left < WORD * a.size);
    }
    rows
}

/// Prints rows, and columns among them one after the other.
fn print(rows: Vec<Row>, cell: f64, has_columns: bool, lines: &mut Vec<String>) {
    let left = rows
        .iter()
        .flatten()
        .map(|piece| piece.left)
        .fold(f64::INFINITY, f64::min);
    let is_searched = has_columns && rows.len() <= SEARCHED;
    let mut rows = std::collections::VecDeque::from(rows);
    let mut last: Option<Row> = None;
    while !rows.is_empty() {
        let columns = is_searched.then(|| columns(rows.make_contiguous(), cell)).flatten();
        if let Some((end, gutter)) = columns {
            let mut sides = [Vec::new(), Vec::new()];
            for row in rows.drain(..end) {
                let (before, after): (Row, Row) = row.into_iter().partition(|piece| piece.left < gutter);
                for (side, row) in sides.iter_mut().zip([before, after]) {
                    side.extend((!row.is_empty()).then_some(row));
                }
            }
            for side in sides {
                part(lines);
                print(side, cell, true, lines);
            }
            part(lines);
            last = None;
        } else if let Some(row) = rows.pop_front() {
            if last.is_some_and(|last| is_apart(&last, &row)) {
                part(lines);
            }
            lines.push(line(&row, left, cell));
            last = Some(row);
        }
    }
}

/// Returns whether there is an empty line between two.
fn is_apart(above: &[Piece], below: &[Piece]) -> bool {
    let base = |row: &[Piece]| row.iter().map(|piece| piece.base).fold(f64::NEG_INFINITY, f64::max);
    let size = above.iter().chain(below).map(|piece| piece.size).fold(0.0, f64::max);
    base(below) - base(above) > EMPTY * size
}

/// Adds an empty line, unless there is one.
fn part(lines: &mut Vec<String>) {
    if lines.last().is_some_and(|line| !line.is_empty()) {
        lines.push(String::new());
    }
}

/// Returns whether columns begin with the first row: the number of rows with them, and the end of the space between.
fn columns(rows: &[Row], cell: f64) -> Option<(usize, f64)> {
    // Spaces that no row so far has anything in.
    let mut free = vec![(f64::NEG_INFINITY, f64::INFINITY)];
    let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut best = None;
    for (at, row) in rows.iter().enumerate() {
        for piece in row {
            (left, right) = (left.min(piece.left), right.max(piece.right));
            let least = GUTTER * piece.size;
            free = free
                .into_iter()
                .flat_map(|(from, to)| [(from, to.min(piece.left)), (from.max(piece.right), to)])
                .filter(|(from, to)| to - from >= least)
                .collect();
        }
        let inner = free.iter().filter(|(from, to)| *from > left - 0.1 && *to < right + 0.1);
        let widest = inner.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
        match widest {
            Some((_, to)) => best = Some((at + 1, *to)),
            None if left < right && at > 0 && best.is_some() => break,
            // So far there is something on one side only.
            None if free.len() > 1 => {}
            None => break,
        }
    }
    let (mut end, gutter) = best?;
    let sides: [&dyn Fn(&Piece) -> bool; 2] = [&|piece| piece.left < gutter, &|piece| piece.left >= gutter];
    let spans = sides.map(|is_side| rows[..end].iter().map(|row| span(row, is_side)).collect::<Vec<_>>());
    let widest = |spans: &[Option<(f64, f64)>]| {
        let from = spans.iter().flatten().map(|span| span.0).fold(f64::INFINITY, f64::min);
        spans.iter().flatten().map(|span| span.1 - from).fold(0.0, f64::max)
    };
    let widths = [widest(&spans[0]), widest(&spans[1])];
    // Running text fills its lines, and cells of a table do not.
    let is_running = |range: std::ops::Range<usize>, side: usize, least: usize| {
        let spans: Vec<_> = spans[side][range].iter().flatten().collect();
        let full = spans
            .iter()
            .filter(|(from, to)| to - from > FULL * widths[side])
            .count();
        spans.len() >= least && 2 * full >= spans.len()
    };
    // A table that happens to have a space there may follow.
    while end > 0 {
        let start = (1..end)
            .rev()
            .find(|&at| is_apart(&rows[at - 1], &rows[at]))
            .unwrap_or(0);
        if (0..2).any(|side| is_running(start..end, side, 1)) {
            break;
        }
        end = start;
    }
    let is_column = |side: usize| widths[side] > NARROW * cell && is_running(0..end, side, COLUMN);
    (is_column(0) && is_column(1)).then_some((end, gutter))
}

/// The extent of the pieces on one side.
fn span(row: &[Piece], is_side: &dyn Fn(&Piece) -> bool) -> Option<(f64, f64)> {
    let side = row.iter().filter(|piece| is_side(piece));
    let right = side.clone().map(|piece| piece.right).reduce(f64::max)?;
    Some((side.map(|piece| piece.left).reduce(f64::min)?, right))
}

/// One line, whose words stand where they do on the page if the gap before them is wide.
fn line(row: &[Piece], left: f64, cell: f64) -> String {
    let mut line = String::new();
    let mut length = 0;
    let mut right = f64::NEG_INFINITY;
    for piece in row {
        let gap = (piece.left - right) / piece.size;
        let column = ((piece.left - left) / cell).round().max(0.0) as usize;
        let spaces = match () {
            () if line.is_empty() => column,
            () if gap > WIDE => column.saturating_sub(length).max(2),
            () if gap > WORD || (piece.is_spaced && gap > -WORD) => 1,
            () => 0,
        };
        line.extend(std::iter::repeat_n(' ', spaces.min(SPACES)));
        line.push_str(&piece.text);
        length += spaces.min(SPACES) + piece.text.chars().count();
        right = right.max(piece.right);
    }
    plain(&logical(&line))
}

/// Replaces ligatures and other forms of letters by the letters.
fn plain(line: &str) -> String {
    let is_form = |character: char| matches!(character, '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    if !line.contains(is_form) {
        return line.to_owned();
    }
    let compatible = ComposingNormalizerBorrowed::new_nfkc();
    line.chars()
        .map(|character| match is_form(character) {
            true => compatible.normalize(character.encode_utf8(&mut [0; 4])).into_owned(),
            false => character.to_string(),
        })
        .collect()
}

/// Puts text that is read from right to left into the order in which it is read.
fn logical(line: &str) -> String {
    let is_leftward = |character: char| matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    if !line.contains(is_leftward) {
        return line.to_owned();
    }
    let characters: Vec<char> = line.chars().collect();
    let mut done = String::with_capacity(line.len());
    let mut at = 0;
    while at < characters.len() {
        if !is_leftward(characters[at]) {
            done.push(characters[at]);
            at += 1;
            continue;
        }
        // Up to the last such character before a letter of another script.
        let mut end = at + 1;
        for (next, &character) in characters.iter().enumerate().skip(at + 1) {
            match character {
                _ if is_leftward(character) => end = next + 1,
                _ if character.is_alphabetic() => break,
                _ => {}
            }
        }
        let mut run: Vec<char> = characters[at..end].iter().rev().copied().collect();
        for number in run.chunk_by_mut(|a, b| a.is_numeric() && b.is_numeric()) {
            if number[0].is_numeric() {
                number.reverse();
            }
        }
        done.extend(run);
        at = end;
    }
    done
}
