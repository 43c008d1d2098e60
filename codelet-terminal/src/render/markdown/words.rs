//! Blocks of text: paragraphs and headings, laid out as soon as their styles are settled, and verbatim text.

use super::super::clean::clean;
use super::super::look::Look;
use super::super::wrap::{Breaking, Wrap};
use super::container::Beginnings;
use super::inline::{self, ROW_END, Shown};
use super::reference::References;
use super::{MOST, soon};
use ratatui::style::Style;
use ratatui::text::Line;

/// A paragraph or a heading.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// Text that was not shown yet, on one line.
    pub(super) text: String,
    /// The number of source lines so far.
    pub(super) lines: usize,
    /// Some of it was shown, so that it cannot turn into another block.
    pub(super) is_begun: bool,
    pub(super) is_heading: bool,
    pub(super) style: Style,
    pub(super) wrap: Wrap,
    /// The length of `text` at which it is checked again.
    pub(super) room: usize,
    /// The references defined before it.
    references: References,
}

/// Text that is shown verbatim, line by line.
#[derive(Clone, Debug)]
pub(super) struct Verbatim {
    pub(super) style: Style,
    pub(super) begin: Beginnings,
    /// The line that has not ended.
    pub(super) wrap: Option<Wrap>,
}

impl Words {
    pub(super) fn new(look: &Look, begin: Beginnings, style: Style, is_heading: bool, references: &References) -> Self {
        Words {
            text: String::new(),
            lines: 1,
            is_begun: false,
            is_heading,
            style,
            wrap: Wrap::new(look.prose(), Breaking::Prose, begin.first, begin.rest).unbroken(),
            room: soon(look) / 2,
            references: references.clone(),
        }
    }

    /// Starts the next source line; it begins a new row if `is_apart` or after a hard line break.
    pub(super) fn next_line(&mut self, is_apart: bool) {
        self.lines += 1;
        let has_backslash = self.text.ends_with('\\') && !self.text.ends_with("\\\\");
        let ends_row = is_apart || has_backslash || self.text.ends_with("  ");
        if has_backslash {
            self.text.pop();
        }
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        if ends_row {
            self.text.push(' ');
            self.text.push(ROW_END);
        }
        self.text.push(' ');
    }

    pub(super) fn add(&mut self, text: &str, is_end: bool, look: &Look, out: &mut Vec<Line<'static>>) {
        self.text.push_str(text);
        // Text that may still become a table is held back as long as a line may be.
        let is_held = self.lines == 1 && is_end && self.text.contains('|') && self.text.len() < MOST;
        if self.text.len() < self.room || is_held {
            return;
        }
        // The last word may continue.
        let cut = self.text.trim_end_matches(' ').rfind(' ').unwrap_or(self.text.len());
        let mut runs = Vec::new();
        let is_settled = self.runs(&self.text[..cut], look, &mut runs);
        if !is_settled && self.text.len() < MOST {
            self.room = (self.room * 2).min(MOST);
            return;
        }
        self.lay(&runs, out);
        self.text.drain(..cut);
        self.is_begun = true;
        self.room = soon(look) / 2;
    }

    fn runs(&self, text: &str, look: &Look, runs: &mut Vec<Option<(Style, String)>>) -> bool {
        inline::show(text, &self.references, look, self.style, |shown| match shown {
            Shown::Text(style, text) => match runs.last_mut() {
                Some(Some((last, words))) if *last == style => words.push_str(text),
                _ => runs.push(Some((style, text.to_owned()))),
            },
            Shown::RowEnd => runs.push(None),
        })
    }

    fn lay(&mut self, runs: &[Option<(Style, String)>], out: &mut Vec<Line<'static>>) {
        for run in runs {
            match run {
                Some((style, text)) => self.wrap.push(*style, text, out),
                None => self.wrap.break_row(out),
            }
        }
    }

    pub(super) fn finish(mut self, look: &Look, out: &mut Vec<Line<'static>>) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        let wrap = &mut self.wrap;
        inline::show(&self.text, &self.references, look, self.style, |shown| match shown {
            Shown::Text(style, text) => wrap.push(style, text, out),
            Shown::RowEnd => wrap.break_row(out),
        });
        self.wrap.finish(out);
    }
}

impl Verbatim {
    pub(super) fn take(&mut self, text: &str, is_end: bool, look: &Look, out: &mut Vec<Line<'static>>) {
        let begin = &mut self.begin;
        let wrap = self.wrap.get_or_insert_with(|| {
            let first = std::mem::replace(&mut begin.first, begin.rest.clone());
            Wrap::new(look.width, Breaking::Exact, first, begin.rest.clone()).unbroken()
        });
        wrap.push(self.style, &clean(text, 4), out);
        if is_end && let Some(mut wrap) = self.wrap.take() {
            wrap.finish(out);
        }
    }

    pub(super) fn set_look(&mut self, look: &Look, out: &mut Vec<Line<'static>>) {
        if let Some(wrap) = &mut self.wrap {
            wrap.set_width(look.width, out);
        }
    }

    pub(super) fn finish(mut self, out: &mut Vec<Line<'static>>) {
        if let Some(mut wrap) = self.wrap.take() {
            wrap.finish(out);
        }
    }
}
