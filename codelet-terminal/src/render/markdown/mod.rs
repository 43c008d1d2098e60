//! Markdown as it streams: finished lines come out once and never change, and what is still open can be shown meanwhile.

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

/// A line of prose is looked at in pieces of a row's bytes, and of so many at least, so that a long paragraph is finished
/// row by row: what is finished is never drawn again, and a window that changes its size cannot copy it.
const SOON: usize = 96;
/// No piece of a line is longer than this, in bytes: what is held back stays small whatever comes.
pub(super) const MOST: usize = 4096;

/// Turns Markdown into lines while it comes. A line of code, and a word that is longer than a row, are never torn: such lines
/// are wider than the look says, for the terminal to wrap.
///
/// Whatever pieces a text is pushed in, the lines are the same; and what is held
/// back of it is bounded, so that a text without an end takes time in proportion to its bytes.
#[derive(Clone, Debug)]
pub struct Markdown {
    /// The line that has not ended.
    line: String,
    /// Its beginning was taken already.
    is_continued: bool,
    /// How long it may become before a piece of it is taken.
    room: usize,
    /// How long it may be before it is looked at.
    soon: usize,
    blocks: Blocks,
}

impl Markdown {
    /// Nothing yet.
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

    /// How what is still open looks so far; the next text may change it. It takes no more time than its bound allows. What
    /// begins as a table does is shown as one before its second line says so: nobody is to read bars that become columns.
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

    /// The text ends here: returns what is left of it. What is pushed afterwards begins anew.
    pub fn finish(&mut self) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        if !self.line.is_empty() || self.is_continued {
            self.end_line("", &mut out);
        }
        self.blocks.finish(&mut out);
        out
    }

    /// Another look from here on. A block that is open is laid out anew, as far as it was not returned yet; the lines that
    /// are full at the new width are returned.
    pub fn set_look(&mut self, look: Look) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        self.soon = soon(&look);
        self.blocks.set_look(look, &mut out);
        out
    }

    /// Whether nothing is held back.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty() && !self.is_continued && self.blocks.is_empty()
    }

    /// Whether something else may stand here without tearing a block: a paragraph, a block of code, a heading from what it is about.
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

    /// The line is full: takes its words but the last, which may go on.
    fn take_piece(&mut self, out: &mut Vec<Line<'static>>) {
        if self.room < MOST && !(self.is_continued || self.blocks.may_split(&self.line)) {
            self.room = MOST;
            return;
        }
        let cut = match self.line.trim_end_matches(' ').rfind(' ') {
            Some(space) if !self.line[..space].trim().is_empty() => space,
            // Between two characters as they are seen: the last one may go on, as joined emoji do.
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

/// How long a line or a paragraph may be before it is looked at, in bytes.
pub(super) fn soon(look: &Look) -> usize {
    look.prose().max(SOON)
}
