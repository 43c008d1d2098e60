//! A code block: shown verbatim, line by line as it streams, with syntax highlighting.

use super::super::clean::clean;
use super::super::highlight::Highlight;
use super::super::look::{Look, Role};
use super::super::wrap::{Breaking, Wrap};
use super::container::{Beginnings, indent};
use ratatui::text::{Line, Span};

/// The fence of a code block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fence {
    mark: u8,
    length: usize,
}

/// Tags that only say that there is no highlighting.
const UNCOLOURED: [&str; 5] = ["text", "txt", "plaintext", "plain", "console"];

/// An open code block.
#[derive(Clone, Debug)]
pub(super) struct CodeBlock {
    /// None for an indented code block.
    fence: Option<Fence>,
    /// Columns of indentation in the source.
    indent: usize,
    look: Look,
    highlight: Option<Highlight>,
    wrap: Wrap,
    /// A line has begun and not ended.
    in_line: bool,
    /// A list marker precedes the first line.
    has_marker: bool,
    /// Blank lines of indented code, which count only if more code follows.
    blanks: usize,
    is_begun: bool,
}

impl CodeBlock {
    /// Parses the fence at the beginning of a line.
    pub(super) fn fence(text: &str) -> Option<Fence> {
        let mark = *text.as_bytes().first()?;
        let length = text.bytes().take_while(|&byte| byte == mark).count();
        let is_one = matches!(mark, b'`' | b'~') && length >= 3 && !(mark == b'`' && text[length..].contains('`'));
        is_one.then_some(Fence { mark, length })
    }

    /// A new block, with its fence and the columns before it.
    pub(super) fn new(fence: Option<(Fence, usize)>, begin: Beginnings, look: Look) -> Self {
        let margin = if look.is_plain() { "" } else { "  " };
        let row = |mut spans: Vec<Span<'static>>| {
            spans.push(Span::raw(margin));
            spans
        };
        CodeBlock {
            fence: fence.map(|(fence, _)| fence),
            indent: fence.map_or(4, |(_, columns)| columns),
            look,
            highlight: None,
            has_marker: begin.first.iter().any(|span| !span.content.trim().is_empty()),
            wrap: Wrap::new(look.width, Breaking::Exact, row(begin.first), row(begin.rest)).unbroken(),
            in_line: false,
            blanks: 0,
            is_begun: false,
        }
    }

    pub(super) fn set_look(&mut self, look: Look, out: &mut Vec<Line<'static>>) {
        self.look = look;
        self.wrap.set_width(look.width, out);
    }

    pub(super) fn is_indented(&self) -> bool {
        self.fence.is_none()
    }

    /// Returns whether this line is the closing fence.
    pub(super) fn closes(&self, line: &str) -> bool {
        let Some(fence) = self.fence else { return false };
        let lead = indent(line);
        let text = line[lead..].trim_end();
        lead <= 3 && text.len() >= fence.length && text.bytes().all(|byte| byte == fence.mark)
    }

    /// Takes the rest of the opening fence's line, with the language.
    pub(super) fn label(&mut self, text: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        let length = self.fence.map_or(0, |fence| fence.length);
        let label = text[length..].trim();
        // Tags look like `rust`, `rust,ignore`, `{.rust}` and `src/a.rs`.
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
        // A language is visible by its colours; a file name or any other label gets a row.
        let is_language =
            (self.highlight.is_some() || UNCOLOURED.contains(&tag)) && !label.contains(['/', '.', ' ', '=', ':']);
        let label = match self.look.is_plain() {
            true => text.trim_end(),
            false if is_language => "",
            false => label,
        };
        if !label.is_empty() {
            self.wrap.push(style, &clean(label, 4), out);
            (self.in_line, self.is_begun) = (true, true);
            if is_end {
                self.end_line(out);
            }
        }
    }

    /// Takes more of its lines; `is_end` says whether the line ends.
    pub(super) fn take(&mut self, text: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        if self.is_indented() && !self.in_line {
            if text.trim().is_empty() {
                self.blanks += 1;
                return;
            }
            for _ in 0..std::mem::take(&mut self.blanks) {
                self.wrap.break_row(out);
            }
        }
        let is_whole = !self.in_line && is_end;
        let text = match self.in_line {
            false => &text[indent(text).min(self.indent)..],
            true => text,
        };
        let text = clean(text, 4);
        let (look, wrap) = (self.look, &mut self.wrap);
        match &mut self.highlight {
            // The rest of a line that is too long for one piece is not highlighted.
            Some(highlight) if is_whole => highlight.line(&text, |role, piece| wrap.push(look.style(role), piece, out)),
            _ => wrap.push(look.style(Role::Text), &text, out),
        }
        (self.in_line, self.is_begun) = (true, true);
        if is_end {
            self.end_line(out);
        }
    }

    /// Ends the block. Returns whether there were blank lines at its end.
    pub(super) fn finish(mut self, out: &mut Vec<Line<'static>>) -> bool {
        self.end_line(out);
        // A marker before an empty block is still shown.
        if self.has_marker && !self.is_begun {
            self.wrap.break_row(out);
        }
        if let Some(fence) = self.fence.filter(|_| self.look.is_plain()) {
            let marks = char::from(fence.mark).to_string().repeat(fence.length.min(16));
            self.wrap.push(self.look.style(Role::Text), &marks, out);
            self.wrap.break_row(out);
        }
        self.blanks > 0
    }

    fn end_line(&mut self, out: &mut Vec<Line<'static>>) {
        if std::mem::take(&mut self.in_line) {
            self.wrap.break_row(out);
        }
    }
}
