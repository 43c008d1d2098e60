//! Incremental line wrapping: words stay whole if possible, and no row exceeds the width except those left for the
//! terminal to wrap.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub(crate) use super::measure::simple;
pub use super::measure::{clip, clip_left, clip_line, columns, fit, line_columns, line_text, prefix, rows};
pub(super) use super::measure::{spaces, wide};

/// The wrapping mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Breaking {
    /// Between words; a space at a break is dropped.
    Prose,
    /// Anywhere but within a word; spaces count.
    Exact,
}

/// Maximum columns of an [unbroken](Wrap::unbroken) line, so that endless text is still emitted.
const LONGEST: usize = 4_096;

/// Wraps text into rows as it arrives; a word is broken only if it is longer than a row. Buffers at most one row and
/// one word.
#[derive(Clone, Debug)]
pub struct Wrap {
    width: usize,
    breaking: Breaking,
    is_unbroken: bool,
    /// The beginning of the first row, and of each later one.
    first: Vec<Span<'static>>,
    rest: Vec<Span<'static>>,
    /// Their widths.
    first_wide: usize,
    rest_wide: usize,
    row: Vec<Span<'static>>,
    /// Columns used so far, including the row's beginning.
    column: usize,
    /// Columns of the row's beginning, and its number of spans.
    margin: usize,
    beginning: usize,
    has_row: bool,
    word: String,
    word_runs: Vec<(Style, usize)>,
    word_width: usize,
    ends_wide: bool,
    /// A space precedes the word, in this style.
    space: Option<Style>,
    is_begun: bool,
}

impl Wrap {
    /// Rows of `width` columns. `first` and `rest` begin the first row and each later one; they leave at least one
    /// column in each.
    pub fn new(width: usize, breaking: Breaking, first: Vec<Span<'static>>, rest: Vec<Span<'static>>) -> Self {
        Wrap {
            width: width.max(2),
            breaking,
            is_unbroken: false,
            first_wide: wide(&first),
            rest_wide: wide(&rest),
            first,
            rest,
            row: Vec::new(),
            column: 0,
            margin: 0,
            beginning: 0,
            has_row: false,
            word: String::new(),
            word_runs: Vec::new(),
            word_width: 0,
            ends_wide: false,
            space: None,
            is_begun: false,
        }
    }

    /// Rows that begin with two spaces.
    pub fn indented(width: usize, breaking: Breaking) -> Self {
        Wrap::new(width, breaking, vec![Span::raw("  ")], vec![Span::raw("  ")])
    }

    /// Takes a whole text, which must be printable, and ends it.
    pub fn all(mut self, style: Style, text: &str, out: &mut Vec<Line<'static>>) {
        self.push(style, text, out);
        self.finish(out);
    }

    /// Leaves long units unbroken: a line of exact text, or a word of prose longer than a row. Such a line is wider
    /// than the terminal, which wraps it itself and returns it as one line when it is copied.
    pub fn unbroken(mut self) -> Self {
        self.is_unbroken = true;
        self
    }

    /// Takes more text, which must be printable; full rows go to `out`.
    pub fn push(&mut self, style: Style, text: &str, out: &mut Vec<Line<'static>>) {
        match self.breaking {
            Breaking::Prose => self.push_prose(style, text, out),
            Breaking::Exact => self.push_exact(style, text, out),
        }
    }

    fn push_prose(&mut self, style: Style, text: &str, out: &mut Vec<Line<'static>>) {
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            if first == b' ' {
                self.place_word(out);
                self.space = (self.has_row && self.column > self.margin).then_some(style);
                rest = rest.trim_start_matches(' ');
                continue;
            }
            let taken = self.take_words(style, rest);
            if taken > 0 {
                rest = &rest[taken..];
                continue;
            }
            let end = rest.bytes().position(|byte| byte == b' ').unwrap_or(rest.len());
            self.add(style, &rest[..end], out);
            rest = &rest[end..];
        }
    }

    /// Puts as many whole words on the row as fit, if no other word is open; returns their size in bytes. Words that
    /// may continue, or that are not printable ASCII, are left.
    fn take_words(&mut self, style: Style, text: &str) -> usize {
        if !self.word.is_empty() {
            return 0;
        }
        let margin = if self.has_row { self.margin } else { self.next_margin() };
        let taken = if self.has_row { self.column } else { margin };
        let gap = usize::from(self.space.is_some());
        let room = self.width.saturating_sub(taken + gap);
        let (mut end, mut before) = (0, 0);
        for (at, &byte) in text.as_bytes().iter().enumerate().take(room + 1) {
            match byte {
                b' ' if before == b' ' => break,
                b' ' => end = at,
                _ if !byte.is_ascii() => break,
                _ => {}
            }
            before = byte;
        }
        if end == 0 {
            return 0;
        }
        self.begin_row();
        if let Some(style) = self.space.take() {
            self.append(style, " ", 1);
        }
        self.append(style, &text[..end], end);
        end
    }

    fn push_exact(&mut self, style: Style, text: &str, out: &mut Vec<Line<'static>>) {
        self.begin_row();
        if text.is_ascii() && self.column + self.word_width + text.len() <= self.room() {
            self.place_word(out);
            self.append(style, text, text.len());
            return;
        }
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || !c.is_ascii();
            if is_of_word(first) {
                let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                self.add(style, &rest[..end], out);
                rest = &rest[end..];
                continue;
            }
            self.place_word(out);
            if first == ' ' {
                let spaces = rest.len() - rest.trim_start_matches(' ').len();
                self.begin_row();
                // Spaces at the end of a row are invisible.
                let fitting = spaces.min(self.room().saturating_sub(self.column));
                self.append(style, &rest[..fitting], fitting);
                rest = &rest[spaces..];
            } else {
                self.add(style, &rest[..1], out);
                self.place_word(out);
                rest = &rest[1..];
            }
        }
    }

    /// Sets the width from here on. The open row is wrapped anew; rows that it fills go to `out`. A beginning that
    /// would leave less than half of a row is dropped.
    pub fn set_width(&mut self, width: usize, out: &mut Vec<Line<'static>>) {
        let width = width.max(2);
        if std::mem::replace(&mut self.width, width) == width {
            return;
        }
        for beginning in [&mut self.first, &mut self.rest] {
            if wide(beginning) > width / 2 {
                beginning.clear();
            }
        }
        (self.first_wide, self.rest_wide) = (wide(&self.first), wide(&self.rest));
        let body = self.row.split_off(self.beginning.min(self.row.len()));
        if self.margin > width / 2 {
            self.row.clear();
            (self.margin, self.beginning) = (0, 0);
        }
        self.column = self.margin;
        let (space, word, runs) = (
            self.space.take(),
            std::mem::take(&mut self.word),
            std::mem::take(&mut self.word_runs),
        );
        (self.word_width, self.ends_wide) = (0, false);
        for span in body {
            self.push(span.style, &span.content, out);
        }
        if let Some(style) = space {
            self.push(style, " ", out);
        }
        let mut at = 0;
        for (style, length) in runs {
            self.push(style, &word[at..at + length], out);
            at += length;
        }
    }

    /// Ends the row, even if it is not full.
    pub fn break_row(&mut self, out: &mut Vec<Line<'static>>) {
        self.place_word(out);
        self.space = None;
        self.begin_row();
        self.end_row(out);
    }

    /// Ends the text. A text without words has one row.
    pub fn finish(&mut self, out: &mut Vec<Line<'static>>) {
        self.place_word(out);
        self.space = None;
        if self.has_row || !self.is_begun {
            self.begin_row();
            self.end_row(out);
        }
    }

    /// The width of the wider beginning.
    pub fn margins(&self) -> usize {
        self.first_wide.max(self.rest_wide)
    }

    /// Takes the beginning of the next row, for a caller that lays it out itself; the text counts as begun.
    pub fn next_beginning(&mut self) -> Vec<Span<'static>> {
        match std::mem::replace(&mut self.is_begun, true) {
            false => {
                self.first_wide = 0;
                std::mem::take(&mut self.first)
            }
            true => self.rest.clone(),
        }
    }

    /// Adds to the word. A word longer than a row is emitted in pieces.
    fn add(&mut self, style: Style, text: &str, out: &mut Vec<Line<'static>>) {
        let body = self.body();
        if text.is_ascii() {
            if self.ends_wide {
                self.place_word(out);
            }
            let mut rest = text;
            while self.word_width + rest.len() > body {
                let fitting = body - self.word_width;
                self.extend_word(style, &rest[..fitting], fitting);
                self.place_word(out);
                rest = &rest[fitting..];
            }
            self.extend_word(style, rest, rest.len());
            return;
        }
        if text.chars().all(|c| simple(c).is_some()) {
            for (at, c) in text.char_indices() {
                self.add_one(style, &text[at..at + c.len_utf8()], simple(c).unwrap_or(1), out);
            }
            return;
        }
        for grapheme in text.graphemes(true) {
            self.add_one(style, grapheme, grapheme.width(), out);
        }
    }

    /// Adds a character of this width to the word.
    fn add_one(&mut self, style: Style, grapheme: &str, wide: usize, out: &mut Vec<Line<'static>>) {
        // A row may end between characters of scripts without spaces, but not before closing punctuation.
        let may_break = (wide > 1 || self.ends_wide) && wide > 0 && !is_closing(grapheme);
        if may_break || self.word_width + wide > self.body() {
            self.place_word(out);
        }
        self.extend_word(style, grapheme, wide);
        self.ends_wide = wide > 1;
    }

    fn extend_word(&mut self, style: Style, text: &str, wide: usize) {
        if text.is_empty() {
            return;
        }
        self.word.push_str(text);
        self.word_width += wide;
        match self.word_runs.last_mut() {
            Some((last, length)) if *last == style => *length += text.len(),
            _ => self.word_runs.push((style, text.len())),
        }
    }

    /// Puts the word on the row, or on the next one.
    fn place_word(&mut self, out: &mut Vec<Line<'static>>) {
        self.ends_wide = false;
        if self.word.is_empty() {
            return;
        }
        self.begin_row();
        let gap = usize::from(self.space.is_some());
        if self.column > self.margin && self.column + gap + self.word_width > self.room() {
            self.end_row(out);
            self.begin_row();
            self.space = None;
        }
        if let Some(style) = self.space.take() {
            self.append(style, " ", 1);
        }
        let word = std::mem::take(&mut self.word);
        let mut at = 0;
        for index in 0..self.word_runs.len() {
            let (style, length) = self.word_runs[index];
            self.append(style, &word[at..at + length], 0);
            at += length;
        }
        self.column += self.word_width;
        self.word_runs.clear();
        self.word_width = 0;
        self.word = word;
        self.word.clear();
    }

    fn append(&mut self, style: Style, text: &str, wide: usize) {
        // The beginning's span must not grow.
        let is_alone = self.row.len() <= self.beginning;
        match self.row.last_mut() {
            Some(last) if !is_alone && last.style == style && !last.content.is_empty() => {
                last.content.to_mut().push_str(text)
            }
            _ => {
                // A row of prose is filled word by word.
                let room = match self.breaking {
                    Breaking::Prose => self.width.saturating_sub(self.column),
                    Breaking::Exact => 0,
                };
                let mut content = String::with_capacity(text.len().max(room));
                content.push_str(text);
                self.row.push(Span::styled(content, style));
            }
        }
        self.column += wide;
    }

    /// The columns after which a row is wrapped.
    fn room(&self) -> usize {
        match self.is_unbroken && self.breaking == Breaking::Exact {
            true => self.width.max(LONGEST),
            false => self.width,
        }
    }

    /// Maximum columns of a word in one piece: those of a row without its beginning.
    fn body(&self) -> usize {
        if self.is_unbroken {
            return LONGEST;
        }
        let margin = if self.has_row { self.margin } else { self.next_margin() };
        // The widest character takes two columns.
        self.width.saturating_sub(margin.max(self.rest_wide)).max(2)
    }

    /// Columns of the next row's beginning.
    fn next_margin(&self) -> usize {
        if self.is_begun { self.rest_wide } else { self.first_wide }
    }

    fn begin_row(&mut self) {
        if self.has_row {
            return;
        }
        self.margin = self.next_margin();
        self.row = match self.is_begun {
            true => self.rest.clone(),
            false => std::mem::take(&mut self.first),
        };
        self.first_wide = 0;
        self.column = self.margin;
        self.has_row = true;
        self.is_begun = true;
        self.beginning = self.row.len();
    }

    fn end_row(&mut self, out: &mut Vec<Line<'static>>) {
        self.row.retain(|span| !span.content.is_empty());
        out.push(Line::from(std::mem::take(&mut self.row)));
        self.has_row = false;
        self.column = 0;
    }
}

fn is_closing(grapheme: &str) -> bool {
    grapheme.starts_with([
        '、', '。', '，', '．', '：', '；', '！', '？', '）', '」', '』', '】', '》', '〉', '”', '’', '…', 'ー',
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn wrapped(text: &str, width: usize, breaking: Breaking) -> Vec<String> {
        let mut wrap = Wrap::new(width, breaking, Vec::new(), Vec::new());
        let mut out = Vec::new();
        wrap.push(Style::new(), text, &mut out);
        wrap.finish(&mut out);
        out.iter().map(line_text).collect()
    }

    #[test]
    fn rows_end_between_words() {
        assert_eq!(wrapped("one two three", 7, Breaking::Prose), ["one two", "three"]);
        assert_eq!(wrapped("one  two", 80, Breaking::Prose), ["one two"]);
        assert_eq!(wrapped("", 80, Breaking::Prose), [""]);
        assert_eq!(
            wrapped("日本語のテキスト。", 8, Breaking::Prose),
            ["日本語の", "テキス", "ト。"]
        );
        assert_eq!(wrapped("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 4, Breaking::Prose), ["👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧"]);
        assert_eq!(wrapped("שלום עולם טוב", 9, Breaking::Prose), ["שלום עולם", "טוב"]);
    }

    #[test]
    fn a_word_longer_than_a_row_is_broken_and_no_other() {
        assert_eq!(
            wrapped("see https://example.org/long", 10, Breaking::Prose),
            ["see", "https://ex", "ample.org/", "long"]
        );
    }

    #[test]
    fn what_must_not_be_torn_is_left_to_the_terminal() {
        let unbroken = |text: &str, width: usize, breaking: Breaking| -> Vec<String> {
            let mut wrap = Wrap::new(width, breaking, vec![Span::raw("• ")], vec![Span::raw("  ")]).unbroken();
            let mut out = Vec::new();
            wrap.push(Style::new(), text, &mut out);
            wrap.finish(&mut out);
            out.iter().map(line_text).collect()
        };
        assert_eq!(
            unbroken("see https://example.org/long and more", 12, Breaking::Prose),
            ["• see", "  https://example.org/long", "  and more"]
        );
        assert_eq!(
            unbroken("curl -L https://x.y | sh -s -- --yes", 12, Breaking::Exact),
            ["• curl -L https://x.y | sh -s -- --yes"]
        );
        // Endless text is emitted too, and no byte of it is lost.
        for breaking in [Breaking::Prose, Breaking::Exact] {
            let rows = unbroken(&"x".repeat(3 * LONGEST), 12, breaking);
            assert!(rows.len() >= 3 && rows.iter().all(|row| columns(row) <= LONGEST + 2));
            assert_eq!(rows.concat().matches('x').count(), 3 * LONGEST);
        }
    }

    #[test]
    fn code_is_broken_between_its_words_and_keeps_its_spaces() {
        assert_eq!(
            wrapped("  let answer = compute(all);", 14, Breaking::Exact),
            ["  let answer =", "compute(all);"]
        );
        assert_eq!(wrapped("   ", 80, Breaking::Exact), ["   "]);
    }

    #[test]
    fn beginnings_stand_before_each_row() {
        let mut wrap = Wrap::new(6, Breaking::Prose, vec![Span::raw("• ")], vec![Span::raw("  ")]);
        let mut out = Vec::new();
        wrap.push(Style::new(), "one two", &mut out);
        wrap.finish(&mut out);
        assert_eq!(out.iter().map(line_text).collect::<Vec<_>>(), ["• one", "  two"]);
    }

    proptest! {
        #[test]
        fn no_row_is_too_wide_and_no_word_is_lost(
            pieces in prop::collection::vec(("[a-zA-Z 日本👍é(){}.]{0,30}", any::<bool>()), 0..12),
            width in 2usize..40, margin in 0usize..3, is_exact in any::<bool>(),
        ) {
            let breaking = if is_exact { Breaking::Exact } else { Breaking::Prose };
            let margin = margin.min(width - 2);
            let beginning = vec![Span::raw(" ".repeat(margin))];
            let mut wrap = Wrap::new(width, breaking, beginning.clone(), beginning);
            let mut out = Vec::new();
            for (piece, is_bold) in &pieces {
                let style = if *is_bold { Style::new().bold() } else { Style::new() };
                wrap.push(style, piece, &mut out);
            }
            wrap.finish(&mut out);
            for line in &out {
                prop_assert!(line_columns(line) <= width.max(2), "{:?}", line_text(line));
            }
            let squeeze = |text: String| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(squeeze(out.iter().map(line_text).collect()), squeeze(pieces.iter().map(|(text, _)| text.as_str()).collect()));
        }
    }
}
