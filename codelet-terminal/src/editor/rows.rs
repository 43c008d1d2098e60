//! The text as rows of a given width, wrapped at words and mapped to positions in the text.

use crate::render::wrap::columns;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation as _;

/// Columns between tab stops.
const TAB: usize = 4;

/// A row with its source range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct EditorRow {
    /// The index of its line, from 0.
    pub line: usize,
    /// Its characters in that line, including the space at which it was broken.
    pub chars: Range<usize>,
    /// Its displayed text.
    pub text: String,
}

/// Wraps these lines into rows of at most `width` columns (at least a tab). Each line has at least one row.
pub(super) fn rows(lines: &[String], width: usize) -> Vec<EditorRow> {
    let width = width.max(TAB);
    let mut rows = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let mut row = EditorRow {
            line: number,
            chars: 0..0,
            text: String::new(),
        };
        // The position after the last space in the row: bytes, columns and characters.
        let mut word = (0, 0, 0);
        let mut used = 0;
        for cluster in line.graphemes(true) {
            let (shown, wide) = looks(cluster, used);
            let is_blank = cluster == " " || cluster == "\t";
            if used + wide > width && is_blank {
                // A space that overflows the row is invisible.
                row.chars.end += 1;
                word = (row.text.len(), used, row.chars.end);
                continue;
            }
            let (mut shown, mut wide) = (shown, wide);
            while used + wide > width && !row.text.is_empty() {
                // A word that fills the row from its beginning is broken at the row's end.
                let (bytes, columns, chars) = match word {
                    (0, ..) => (row.text.len(), used, row.chars.end),
                    word => word,
                };
                let rest = row.text.split_off(bytes);
                let next = EditorRow {
                    line: number,
                    chars: chars..row.chars.end,
                    text: rest,
                };
                row.chars.end = chars;
                rows.push(std::mem::replace(&mut row, next));
                used -= columns;
                word = (0, 0, 0);
                (shown, wide) = looks(cluster, used);
            }
            row.text.push_str(&shown);
            row.chars.end += cluster.chars().count();
            used += wide;
            if is_blank {
                word = (row.text.len(), used, row.chars.end);
            }
        }
        rows.push(row);
    }
    rows
}

/// The displayed form of a cluster at this column, and its width.
fn looks(cluster: &str, column: usize) -> (String, usize) {
    if cluster == "\t" {
        let wide = TAB - column % TAB;
        return (" ".repeat(wide), wide);
    }
    (cluster.to_owned(), columns(cluster))
}

/// Returns the row and column of this character of this line.
pub(super) fn place(rows: &[EditorRow], lines: &[String], (line, at): (usize, usize)) -> (usize, usize) {
    let of_line = |row: &EditorRow| row.line == line && row.chars.start <= at;
    let number = rows.iter().rposition(of_line).unwrap_or(0);
    let Some((row, line)) = rows.get(number).zip(lines.get(line)) else {
        return (0, 0);
    };
    let before = at - row.chars.start.min(at);
    let mut used = 0;
    let mut passed = 0;
    for cluster in clusters(line, row) {
        if passed >= before {
            break;
        }
        used += looks(cluster, used).1;
        passed += cluster.chars().count();
    }
    (number, used)
}

/// Returns the character at this column of a row, or the last visible one before it.
pub(super) fn at_column(
    rows: &[EditorRow],
    lines: &[String],
    (number, column): (usize, usize),
) -> Option<(usize, usize)> {
    let row = rows.get(number)?;
    let line = lines.get(row.line)?;
    let is_last = rows.get(number + 1).is_none_or(|next| next.line != row.line);
    let mut used = 0;
    let mut at = row.chars.start;
    for cluster in clusters(line, row) {
        let (wide, length) = (looks(cluster, used).1, cluster.chars().count());
        // The position after the last cluster of a wrapped row belongs to the next row.
        if used >= column || used + wide > column || (!is_last && at + length >= row.chars.end) {
            break;
        }
        used += wide;
        at += length;
    }
    Some((row.line, at))
}

fn clusters<'a>(line: &'a str, row: &EditorRow) -> impl Iterator<Item = &'a str> {
    let byte = |at: usize| line.char_indices().nth(at).map_or(line.len(), |(byte, _)| byte);
    line[byte(row.chars.start)..byte(row.chars.end)].graphemes(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str, width: usize) -> Vec<String> {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        rows(&lines, width).into_iter().map(|row| row.text).collect()
    }

    #[test]
    fn rows_are_broken_at_words_and_long_words_where_the_row_ends() {
        assert_eq!(texts("one two three", 8), ["one two ", "three"]);
        assert_eq!(texts("one two three", 7), ["one two", "three"]);
        assert_eq!(texts("a sesquipedalian", 6), ["a ", "sesqui", "pedali", "an"]);
        assert_eq!(texts("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(texts("a\tb\n\tc", 20), ["a   b", "    c"]);
        assert_eq!(texts("\n", 5), ["", ""]);
    }

    #[test]
    fn up_and_down_keep_the_column_where_there_is_one() {
        let lines = vec!["one two three four".to_owned(), "x".to_owned()];
        let rows = rows(&lines, 8);
        assert_eq!(place(&rows, &lines, (0, 10)), (1, 2));
        assert_eq!(at_column(&rows, &lines, (0, 2)), Some((0, 2)));
        assert_eq!(at_column(&rows, &lines, (2, 2)), Some((0, 16)));
        assert_eq!(at_column(&rows, &lines, (3, 2)), Some((1, 1)));
        assert_eq!(at_column(&rows, &lines, (0, 90)), Some((0, 7)), "not on the next row");
    }

    proptest! {
        #[test]
        fn every_character_is_in_one_row_and_found_there(text in "[a-z漢🦀 \t\n\u{301}]{0,80}", width in 4usize..30) {
            let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
            let rows = rows(&lines, width);
            prop_assert!(rows.iter().all(|row| columns(&row.text) <= width));
            for (number, line) in lines.iter().enumerate() {
                let mut at = 0;
                for row in rows.iter().filter(|row| row.line == number) {
                    prop_assert_eq!(row.chars.start, at);
                    at = row.chars.end;
                }
                prop_assert_eq!(at, line.chars().count());
            }
            for (number, row) in rows.iter().enumerate() {
                let (line, at) = at_column(&rows, &lines, (number, 0)).unwrap_or_default();
                prop_assert_eq!((line, at), (row.line, row.chars.start));
                prop_assert_eq!(place(&rows, &lines, (line, at)), (number, 0));
            }
        }
    }
}
