//! Streaming Markdown: finished lines are emitted once and never change; open ones can be previewed.

mod block;
mod code;
mod container;
mod inline;
mod reference;
mod table;
mod words;

use super::look::Look;
use block::Blocks;
use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation as _;

/// A line of prose is processed in pieces of a row's bytes, and of at least this many, so that a long paragraph is
/// finished row by row: finished rows are never redrawn, and resizing the window cannot duplicate them.
const SOON: usize = 96;
/// Maximum bytes of a piece of a line, which bounds the text held back.
pub(super) const MOST: usize = 4096;

/// Turns streaming Markdown into lines. A line of code and a word longer than a row are never broken: such lines exceed
/// the look's width and the terminal wraps them.
///
/// The lines do not depend on how the text is split; the text held back is bounded, so that endless input takes time
/// proportional to its bytes.
#[derive(Clone, Debug)]
pub struct Markdown {
    /// The line that has not ended.
    line: String,
    /// Its beginning was processed already.
    is_continued: bool,
    /// The length at which a piece of it is processed.
    room: usize,
    /// The length from which it is checked.
    soon: usize,
    blocks: Blocks,
}

impl Markdown {
    /// An empty text.
    pub fn new(look: Look) -> Self {
        Markdown {
            line: String::new(),
            is_continued: false,
            room: soon(&look),
            soon: soon(&look),
            blocks: Blocks::new(look),
        }
    }

    /// Takes more text; returns the lines that it finishes.
    pub fn push(&mut self, text: &str) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let reach = rest.floor_char_boundary(self.room.saturating_sub(self.line.len()));
            if let Some(end) = rest.as_bytes()[..reach].iter().position(|&byte| byte == b'\n') {
                self.end_line(&rest[..end], &mut out);
                rest = &rest[end + 1..];
            } else if reach == rest.len() {
                self.line.push_str(rest);
                break;
            } else if rest.as_bytes()[reach] == b'\n' {
                self.end_line(&rest[..reach], &mut out);
                rest = &rest[reach + 1..];
            } else {
                self.line.push_str(&rest[..reach]);
                rest = &rest[reach..];
                self.take_piece(&mut out);
            }
        }
        out
    }

    /// A preview of the open text, which following text may change, in bounded time. A text that begins like a table is
    /// shown as one before its delimiter row arrives, so that nobody sees bars turn into columns.
    pub fn pending(&self) -> Vec<Line<'static>> {
        let mut open = self.clone();
        if !open.is_continued && open.blocks.guess_table(&open.line) {
            open.line.clear();
        }
        let mut out = Vec::new();
        if !open.line.is_empty() || open.is_continued {
            open.end_line("", &mut out);
        }
        open.blocks.guess_table("");
        open.blocks.finish(&mut out);
        out
    }

    /// Ends the text and returns its remaining lines. Later input starts a new text.
    pub fn finish(&mut self) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        if !self.line.is_empty() || self.is_continued {
            self.end_line("", &mut out);
        }
        self.blocks.finish(&mut out);
        out
    }

    /// Sets the look. An open block is laid out anew as far as it was not returned yet; returns the lines that are full
    /// at the new width.
    pub fn set_look(&mut self, look: Look) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        self.soon = soon(&look);
        self.blocks.set_look(look, &mut out);
        out
    }

    /// Returns whether other output may be printed here without splitting a block: a paragraph, a code block, or a
    /// heading from its content.
    pub fn is_between_blocks(&self) -> bool {
        self.line.is_empty() && !self.is_continued && self.blocks.is_between()
    }

    fn end_line(&mut self, end: &str, out: &mut Vec<Line<'static>>) {
        let is_start = !std::mem::take(&mut self.is_continued);
        if self.line.is_empty() {
            self.blocks.take(end, is_start, true, out);
        } else {
            self.line.push_str(end);
            self.blocks.take(&self.line, is_start, true, out);
            self.line.clear();
        }
        self.room = self.soon;
    }

    /// Processes the words of a full line except the last, which may continue.
    fn take_piece(&mut self, out: &mut Vec<Line<'static>>) {
        if self.room < MOST && !(self.is_continued || self.blocks.may_split(&self.line)) {
            self.room = MOST;
            return;
        }
        let cut = match self.line.trim_end_matches(' ').rfind(' ') {
            Some(space) if !self.line[..space].trim().is_empty() => space,
            // Between grapheme clusters: the last one may continue, as joined emoji do.
            _ => match self.line.grapheme_indices(true).next_back() {
                Some((last, _)) if last > 0 => last,
                _ => self.line.len(),
            },
        };
        self.blocks.take(&self.line[..cut], !self.is_continued, false, out);
        self.line.drain(..cut);
        self.is_continued = true;
        self.room = self.soon;
    }
}

/// The length in bytes up to which a line or a paragraph is not checked.
pub(super) fn soon(look: &Look) -> usize {
    look.prose().max(SOON)
}
