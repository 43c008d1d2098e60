//! A table: columns as wide as their cells, narrower if the terminal requires it, and records if even that does not
//! fit.

use super::super::look::{Look, Role};
use super::super::wrap::{Breaking, Wrap, spaces, wide};
use super::inline::{self, Shown};
use super::reference::References;
use pulldown_cmark::{Alignment, Event, Options, Parser, Tag};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::borrow::Cow;

/// Rows and bytes that are buffered before the widths are settled; later rows are shown as they arrive.
const ROWS: usize = 64;
const BYTES: usize = 16 * 1024;
/// A column narrower than this breaks too many words.
const NARROW: usize = 6;
/// Columns between two table columns.
const GAP: usize = 3;

/// Styled text.
type Runs = Vec<Span<'static>>;

/// An open table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    sides: Vec<Alignment>,
    /// The header first.
    rows: Vec<Vec<Runs>>,
    bytes: usize,
    /// Widths of the columns once they are settled; `Some(None)` if it is shown as records.
    widths: Option<Option<Vec<usize>>>,
    /// The columns' natural widths, once they are known.
    natural: Vec<usize>,
    header: Vec<Runs>,
    /// The beginning of each row, from its containers.
    begin: Wrap,
    margin: usize,
    references: References,
}

/// Returns the columns' alignments if this line, below this header, is the delimiter row of a table.
pub(super) fn delimiter(header: &str, line: &str) -> Option<Vec<Alignment>> {
    if !header.contains('|') || !may_become_delimiter(line) {
        return None;
    }
    let text = format!("{header}\n{line}");
    match Parser::new_ext(&text, Options::ENABLE_TABLES).next()? {
        Event::Start(Tag::Table(sides)) => Some(sides),
        _ => None,
    }
}

/// Returns whether an unfinished line may become a delimiter row.
pub(super) fn may_become_delimiter(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b'-' | b':' | b'|' | b' '))
}

/// The cells of a line, without the surrounding bars. An escaped bar is part of its cell.
pub(super) fn cells(line: &str) -> Vec<Cow<'_, str>> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = Vec::new();
    let (mut from, mut is_escaped) = (0, false);
    for (at, byte) in line.bytes().enumerate() {
        if byte == b'|' && !is_escaped {
            cells.push(cell(&line[from..at]));
            from = at + 1;
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    if !line[from..].trim().is_empty() || cells.is_empty() {
        cells.push(cell(&line[from..]));
    }
    cells
}

fn cell(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    match text.contains("\\|") {
        true => Cow::Owned(text.replace("\\|", "|")),
        false => Cow::Borrowed(text),
    }
}

impl Table {
    /// A table with this header, whose first row begins like `begin`.
    pub(super) fn new(header: &str, sides: Vec<Alignment>, begin: Wrap, references: &References, look: &Look) -> Self {
        let margin = begin.margins();
        let mut table = Table {
            sides,
            rows: Vec::new(),
            bytes: header.len(),
            widths: None,
            natural: Vec::new(),
            header: Vec::new(),
            begin,
            margin,
            references: references.clone(),
        };
        table.header = table.runs(header, look, look.style(Role::Strong));
        table
    }

    /// Lays out rows from here on for another width.
    pub(super) fn set_look(&mut self, look: &Look) {
        let mut none = Vec::new();
        self.begin.set_width(look.width, &mut none);
        self.margin = self.begin.margins();
        if self.widths.is_some() {
            self.widths = Some(fitted(&self.natural, look.width.saturating_sub(self.margin)));
        }
    }

    /// Takes a row.
    pub(super) fn row(&mut self, line: &str, look: &Look, out: &mut Vec<Line<'static>>) {
        let row = self.runs(line, look, Style::new());
        if let Some(widths) = self.widths.take() {
            self.lay(row, widths.as_deref(), look, out);
            self.widths = Some(widths);
            return;
        }
        self.bytes += line.len();
        self.rows.push(row);
        if self.rows.len() >= ROWS || self.bytes >= BYTES {
            self.settle(look, out);
        }
    }

    pub(super) fn finish(mut self, look: &Look, out: &mut Vec<Line<'static>>) {
        if self.widths.is_none() {
            self.settle(look, out);
        }
    }

    /// The cells of a line, as many as there are columns; further ones are joined to the last.
    fn runs(&self, line: &str, look: &Look, base: Style) -> Vec<Runs> {
        let mut cells = cells(line);
        if cells.len() > self.sides.len() {
            let more = cells.split_off(self.sides.len() - 1).join(" | ");
            cells.push(Cow::Owned(more));
        }
        cells.resize(self.sides.len(), Cow::Borrowed(""));
        let runs = cells.iter().map(|cell| {
            let mut runs: Runs = Vec::new();
            inline::show(cell, &self.references, look, base, |shown| match shown {
                Shown::Text(style, text) if !text.is_empty() => runs.push(Span::styled(text.to_owned(), style)),
                Shown::Text(..) => {}
                Shown::RowEnd => runs.push(Span::styled(" ", base)),
            });
            runs
        });
        runs.collect()
    }

    /// Settles the widths and shows the buffered rows.
    fn settle(&mut self, look: &Look, out: &mut Vec<Line<'static>>) {
        let rows = std::mem::take(&mut self.rows);
        let natural: Vec<usize> = (0..self.sides.len())
            .map(|column| {
                let wide = |row: &Vec<Runs>| wide(&row[column]);
                rows.iter().map(wide).max().unwrap_or(0).max(wide(&self.header)).max(1)
            })
            .collect();
        let widths = fitted(&natural, look.width.saturating_sub(self.margin));
        self.natural = natural;
        if let Some(widths) = &widths {
            let header = self.header.clone();
            self.lay(header, Some(widths), look, out);
            let (line, cross) = (look.pick("─", "-"), look.pick("─┼─", "-+-"));
            let rule: Vec<String> = widths.iter().map(|&wide| line.repeat(wide)).collect();
            let rule = Span::styled(rule.join(cross), look.style(Role::Dim));
            self.show(vec![rule], out);
        }
        let is_empty = rows.is_empty();
        for row in rows {
            self.lay(row, widths.as_deref(), look, out);
        }
        if is_empty && widths.is_none() {
            for cell in self.header.clone() {
                self.record(&[], &cell, look, out);
            }
        }
        self.widths = Some(widths);
    }

    fn lay(&mut self, row: Vec<Runs>, widths: Option<&[usize]>, look: &Look, out: &mut Vec<Line<'static>>) {
        let Some(widths) = widths else {
            let header = self.header.clone();
            for (name, cell) in header.iter().zip(&row) {
                self.record(name, cell, look, out);
            }
            let wide = look.width.saturating_sub(self.margin).min(20);
            self.show(
                vec![Span::styled(look.pick("─", "-").repeat(wide), look.style(Role::Dim))],
                out,
            );
            return;
        };
        let bar = Span::styled(look.pick(" │ ", " | "), look.style(Role::Dim));
        if row.iter().zip(widths).all(|(cell, &width)| wide(cell) <= width) {
            // Most rows are one line high.
            self.show_cells(row, widths, &bar, out);
            return;
        }
        let cells: Vec<Vec<Runs>> = row
            .iter()
            .zip(widths)
            .map(|(cell, &wide)| wrapped(cell, wide))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let mut cells: Vec<_> = cells.into_iter().map(Vec::into_iter).collect();
        for _ in 0..height {
            let line = cells.iter_mut().map(|cell| cell.next().unwrap_or_default()).collect();
            self.show_cells(line, widths, &bar, out);
        }
    }

    fn show_cells(&mut self, cells: Vec<Runs>, widths: &[usize], bar: &Span<'static>, out: &mut Vec<Line<'static>>) {
        let mut spans = self.begin.next_beginning();
        spans.reserve(4 * cells.len());
        for (column, (cell, &width)) in cells.into_iter().zip(widths).enumerate() {
            if column > 0 {
                spans.push(bar.clone());
            }
            let missing = width.saturating_sub(wide(&cell));
            let before = match self.sides[column] {
                Alignment::None | Alignment::Left => 0,
                Alignment::Center => missing / 2,
                Alignment::Right => missing,
            };
            if before > 0 {
                spans.push(spaces(before));
            }
            spans.extend(cell);
            // The last column needs no padding.
            if column + 1 < widths.len() && missing > before {
                spans.push(spaces(missing - before));
            }
        }
        out.push(Line::from(spans));
    }

    /// Shows a cell on its own rows, after its column's name.
    fn record(&mut self, name: &[Span<'static>], cell: &Runs, look: &Look, out: &mut Vec<Line<'static>>) {
        let mut wrap = Wrap::new(
            look.width.saturating_sub(self.margin),
            Breaking::Prose,
            Vec::new(),
            Vec::new(),
        );
        let mut rows = Vec::new();
        for span in name {
            wrap.push(span.style, &span.content, &mut rows);
        }
        if !name.is_empty() {
            wrap.push(look.style(Role::Dim), ": ", &mut rows);
        }
        for span in cell {
            wrap.push(span.style, &span.content, &mut rows);
        }
        wrap.finish(&mut rows);
        for row in rows {
            self.show(row.spans, out);
        }
    }

    fn show(&mut self, spans: Vec<Span<'static>>, out: &mut Vec<Line<'static>>) {
        let mut all = self.begin.next_beginning();
        all.extend(spans);
        out.push(Line::from(all));
    }
}

fn wrapped(cell: &Runs, wide: usize) -> Vec<Runs> {
    let mut rows = Vec::new();
    let mut wrap = Wrap::new(wide, Breaking::Prose, Vec::new(), Vec::new());
    for span in cell {
        wrap.push(span.style, &span.content, &mut rows);
    }
    wrap.finish(&mut rows);
    rows.into_iter().map(|row| row.spans).collect()
}

/// Widths that fit into `room`: each column gets its natural width, or an equal share of what the narrower ones leave.
/// `None` if columns would become too narrow to read.
fn fitted(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let count = natural.len();
    let mut left = room.checked_sub(GAP * (count - 1))?;
    if natural.iter().sum::<usize>() <= left {
        return Some(natural.to_vec());
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&column| natural[column]);
    let mut widths = vec![0; count];
    for (done, &column) in order.iter().enumerate() {
        let share = left / (count - done);
        widths[column] = natural[column].min(share);
        if widths[column] < natural[column] && widths[column] < NARROW {
            return None;
        }
        left -= widths[column];
    }
    Some(widths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_dashes_says_where_cells_stand() {
        use Alignment::{Center, Left, None as Plain, Right};
        assert_eq!(
            delimiter("|a|b|c|d|", "|:--|:-:|--:|---|"),
            Some(vec![Left, Center, Right, Plain])
        );
        assert_eq!(delimiter("a|b", "--|--"), Some(vec![Plain, Plain]));
        for line in ["", "|", "| |", "a|b", "|::|::|", "|-|"] {
            assert_eq!(delimiter("|a|b|", line), None, "{line}");
        }
    }

    #[test]
    fn cells_end_at_bars_that_are_not_escaped() {
        assert_eq!(cells("| a | b\\|c | |"), ["a", "b|c", ""]);
        assert_eq!(cells("a|b"), ["a", "b"]);
        assert_eq!(cells("||"), [""]);
    }

    #[test]
    fn narrow_columns_keep_their_width_and_wide_ones_share_the_rest() {
        assert_eq!(fitted(&[3, 5], 20), Some(vec![3, 5]));
        assert_eq!(fitted(&[3, 50, 40], 40), Some(vec![3, 16, 15]));
        assert_eq!(fitted(&[50, 50, 50, 50], 20), None);
    }
}
