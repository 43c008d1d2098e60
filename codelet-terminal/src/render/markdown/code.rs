//! A block of code: shown as it is written, line by line as it comes, in the colours of its language.

use super::super::clean::clean;
use super::super::highlight::Highlight;
use super::super::look::{Look, Role};
use super::super::wrap::{Breaking, Wrap};
use super::container::{Beginnings, indent};
use ratatui::text::{Line, Span};

/// What a block of code stands between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fence {
    mark: u8,
    length: usize,
}

/// A block of code that is open.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// None where the code is told by its indentation.
    fence: Option<Fence>,
    /// Columns that its lines are indented by in the source.
    indent: usize,
    begin: Beginnings,
    look: Look,
    highlight: Option<Highlight>,
    /// The line that has not ended.
    wrap: Option<Wrap>,
    /// Blank lines of indented code, which count only if more code follows.
    blanks: usize,
}

impl Code {
    /// The fence that a line begins with.
    pub(super) fn fence(text: &str) -> Option<Fence> {
        let mark = *text.as_bytes().first()?;
        let length = text.bytes().take_while(|&byte| byte == mark).count();
        let is_one = matches!(mark, b'`' | b'~') && length >= 3 && !(mark == b'`' && text[length..].contains('`'));
        is_one.then_some(Fence { mark, length })
    }

    /// A block that begins, with its fence and the columns before it.
    pub(super) fn new(fence: Option<(Fence, usize)>, begin: Beginnings, look: Look) -> Self {
        Code {
            fence: fence.map(|(fence, _)| fence),
            indent: fence.map_or(4, |(_, columns)| columns),
            begin,
            look,
            highlight: None,
            wrap: None,
            blanks: 0,
        }
    }

    pub(super) fn is_indented(&self) -> bool {
        self.fence.is_none()
    }

    /// Whether this line is the fence at the end.
    pub(super) fn closes(&self, line: &str) -> bool {
        let Some(fence) = self.fence else { return false };
        let lead = indent(line);
        let text = line[lead..].trim_end();
        lead <= 3 && text.len() >= fence.length && text.bytes().all(|byte| byte == fence.mark)
    }

    /// The line with the fence at the beginning, which names the language.
    pub(super) fn label(&mut self, text: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        let length = self.fence.map_or(0, |fence| fence.length);
        let label = text[length..].trim();
        // Tags come as `rust`, `rust,ignore`, `{.rust}` and `src/a.rs`.
        let tag = label
            .trim_start_matches(['{', '.'])
            .split([' ', ',', '}', ':', '{'])
            .next()
            .unwrap_or_default();
        let ending = tag.rsplit(['.', '/']).next().unwrap_or_default();
        self.highlight = if self.look.is_plain() {
            None
        } else {
            Highlight::of(ending)
        };
        let style = self.look.style(Role::Dim);
        let label = if self.look.is_plain() { text.trim_end() } else { label };
        if !label.is_empty() {
            let mut wrap = self.line();
            wrap.push(style, &clean(label, 4), out);
            self.wrap = Some(wrap);
            if is_end {
                self.end_line(out);
            }
        }
    }

    /// More of its lines; `is_end` says that the line ends.
    pub(super) fn take(&mut self, text: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        if self.is_indented() && self.wrap.is_none() {
            if text.trim().is_empty() {
                self.blanks += 1;
                return;
            }
            for _ in 0..std::mem::take(&mut self.blanks) {
                self.line().finish(out);
            }
        }
        let is_whole = self.wrap.is_none() && is_end;
        let text = match &self.wrap {
            None => &text[indent(text).min(self.indent)..],
            Some(_) => text,
        };
        let text = clean(text, 4);
        let mut wrap = self.wrap.take().unwrap_or_else(|| self.line());
        let look = self.look;
        match &mut self.highlight {
            // The rest of a line that is too long to be one piece is left plain.
            Some(highlight) if is_whole => highlight.line(&text, |role, piece| wrap.push(look.style(role), piece, out)),
            _ => wrap.push(look.style(Role::Text), &text, out),
        }
        self.wrap = Some(wrap);
        if is_end {
            self.end_line(out);
        }
    }

    /// The block ends. Says whether blank lines stood at its end.
    pub(super) fn finish(mut self, out: &mut Vec<Line<'static>>) -> bool {
        self.end_line(out);
        if let Some(fence) = self.fence.filter(|_| self.look.is_plain()) {
            let mut wrap = self.line();
            let marks = char::from(fence.mark).to_string().repeat(fence.length.min(16));
            wrap.push(self.look.style(Role::Text), &marks, out);
            wrap.finish(out);
        }
        self.blanks > 0
    }

    fn end_line(&mut self, out: &mut Vec<Line<'static>>) {
        if let Some(mut wrap) = self.wrap.take() {
            wrap.finish(out);
        }
    }

    /// A line that begins.
    fn line(&mut self) -> Wrap {
        let margin = if self.look.is_plain() { "" } else { "  " };
        let row = |spans: &[Span<'static>]| {
            let mut spans = spans.to_vec();
            spans.push(Span::raw(margin));
            spans
        };
        let first = row(&std::mem::replace(&mut self.begin.first, self.begin.rest.clone()));
        Wrap::new(self.look.width, Breaking::Exact, first, row(&self.begin.rest))
    }
}
