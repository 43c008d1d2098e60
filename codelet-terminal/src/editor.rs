//! The input editor: a multi-line text with a cursor, folded pastes, and a history.

mod rows;
mod things;

use crate::keys::{Key, KeyCode};
use ratatui_textarea::{CursorMove, Input, TextArea};
use std::fmt;
use std::sync::Arc;
use things::Things;

/// Pastes of more lines or bytes than this are folded.
const PASTE_LINES: usize = 8;
const PASTE_BYTES: usize = 2_000;
/// Text from the user's own editor is shown in full up to this many lines and bytes.
const WRITTEN_LINES: usize = 100;
const WRITTEN_BYTES: usize = 10_000;
/// Maximum inputs in the history.
const REMEMBERED: usize = 500;

/// Reads the inputs of earlier sessions, oldest first.
#[derive(Clone)]
pub struct Past(pub Arc<dyn Fn() -> Vec<String> + Send + Sync>);

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Past(…)")
    }
}

/// The text being edited.
#[derive(Debug)]
pub struct Editor {
    area: TextArea<'static>,
    /// The folded pastes of this text, also those that an undo brings back.
    folded: Vec<Fold>,
    history: Vec<Entry>,
    /// Older inputs, not read until the user goes back to them.
    before: Option<Past>,
    /// The position in the history, and the draft from before it was entered.
    past: Option<(usize, Entry)>,
    search: Option<Search>,
    /// The texts and cursors before the latest edits, oldest first.
    edits: Vec<(String, usize)>,
    /// The last edit was a typed letter; the next one belongs to the same edit.
    is_typing: bool,
    /// The width of the last layout; Up and Down move by visible rows.
    width: usize,
}

/// The placeholder of a folded paste, and the paste.
type Fold = (String, Arc<str>);

/// An input with its folded pastes: a placeholder means a paste only in the input to which it was pasted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Entry {
    shown: String,
    folded: Vec<Fold>,
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        Entry {
            shown: text.to_owned(),
            folded: Vec::new(),
        }
    }
}

/// A search in the history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Search {
    words: String,
    found: Option<usize>,
    before: Entry,
}

impl Default for Editor {
    fn default() -> Self {
        Editor {
            area: area(""),
            folded: Vec::new(),
            history: Vec::new(),
            before: None,
            past: None,
            search: None,
            edits: Vec::new(),
            is_typing: false,
            width: usize::MAX,
        }
    }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    // Drawing is done by `rows`. With a mask the library treats all characters as equally wide, so that its cursor does
    // not skip those of no width.
    area.set_mask_char('x');
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

impl Editor {
    /// The text, pastes folded.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Replaces the text.
    pub fn set(&mut self, text: &str) {
        self.leave_past();
        self.edits.clear();
        self.show(&text.into());
    }

    /// The text with its pastes.
    fn entry(&self) -> Entry {
        let shown = self.text();
        let is_there = |(mark, _): &&Fold| shown.contains(mark.as_str());
        let folded = self.folded.iter().filter(is_there).cloned().collect();
        Entry { shown, folded }
    }

    fn show(&mut self, entry: &Entry) {
        self.area = area(&entry.shown);
        self.folded.clone_from(&entry.folded);
    }

    /// Returns the text, pastes in full, without line ends at its end; clears the input and adds it to the history.
    pub fn take(&mut self) -> String {
        let mut entry = self.entry();
        let mut text = self.unfolded(&entry.shown);
        self.leave_past();
        entry.shown.truncate(entry.shown.trim_end_matches('\n').len());
        self.add(entry);
        self.set("");
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// Sets the source of earlier sessions' inputs, which precede the history; it is read on demand.
    pub fn follow(&mut self, before: Past) {
        self.before = Some(before);
    }

    /// Reads the inputs of earlier sessions; returns their number.
    fn look_back(&mut self) -> usize {
        let Some(Past(before)) = self.before.take() else {
            return 0;
        };
        let mut older = before();
        older.retain(|text| self.history.iter().all(|known| known.shown != *text));
        let room = REMEMBERED.saturating_sub(self.history.len());
        older.drain(..older.len().saturating_sub(room));
        let more = older.len();
        self.history.splice(..0, older.iter().map(|text| text.as_str().into()));
        if let Some((at, _)) = &mut self.past {
            *at += more;
        }
        more
    }

    /// Clears the text and adds it to the history. Returns whether there was any.
    pub fn clear(&mut self) -> bool {
        let entry = self.entry();
        self.leave_past();
        let has_text = !entry.shown.trim().is_empty();
        self.add(entry);
        self.set("");
        has_text
    }

    /// Adds an input to the history.
    pub fn remember(&mut self, text: &str) {
        self.add(text.into());
    }

    fn add(&mut self, entry: Entry) {
        if entry.shown.trim().is_empty() || self.history.last() == Some(&entry) {
            return;
        }
        if self.history.len() == REMEMBERED {
            self.history.remove(0);
        }
        self.history.push(entry);
    }

    /// Makes the displayed history entry the current text. The draft joins the history.
    fn leave_past(&mut self) {
        if let Some((_, writing)) = self.past.take() {
            self.add(writing);
        }
    }

    /// Returns the text with each paste in its place.
    pub fn unfolded(&self, shown: &str) -> String {
        let mut text = String::with_capacity(shown.len());
        let mut rest = shown;
        // In a single pass, so that a placeholder inside a paste is not unfolded.
        while let Some((at, (mark, paste))) = self
            .folded
            .iter()
            .filter_map(|fold| Some((rest.find(&fold.0)?, fold)))
            .min_by_key(|(at, _)| *at)
        {
            text.push_str(&rest[..at]);
            text.push_str(paste);
            rest = &rest[at + mark.len()..];
        }
        text.push_str(rest);
        text
    }

    /// Inserts a paste; a long one is folded. The end of its last line stays, so that what is typed next is no part of
    /// that line; a single line goes on.
    pub fn paste(&mut self, text: &str) {
        self.leave_past();
        self.keep((self.text(), self.at()));
        self.is_typing = false;
        let text = match text.strip_suffix('\n') {
            Some(line) if !line.contains('\n') => line,
            _ => text,
        };
        let lines = text.lines().count().max(1);
        if lines <= PASTE_LINES && text.len() <= PASTE_BYTES {
            self.area.insert_str(text);
            return;
        }
        let size = match lines {
            1 => format!("{} bytes", codelet_text::short::grouped(text.len())),
            _ => format!("{} lines", codelet_text::short::grouped(lines)),
        };
        let mut mark = format!("[pasted {size}]");
        let mut number = 2;
        let shown = self.text();
        while shown.contains(&mark) || self.folded.iter().any(|(other, _)| *other == mark) {
            mark = format!("[pasted {size}, {number}]");
            number += 1;
        }
        self.area.insert_str(&mark);
        self.folded.push((mark, text.into()));
    }

    /// Inserts a text, folded if it is long, as the lines before the current text.
    pub fn paste_before(&mut self, text: &str) {
        let has_text = !self.is_empty();
        self.area.move_cursor(CursorMove::Top);
        self.area.move_cursor(CursorMove::Head);
        self.paste(text);
        if has_text {
            self.area.insert_newline();
        }
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Sets the text from the user's own editor; pastes that are still in it are folded again.
    pub fn set_unfolded(&mut self, text: &str) {
        let text = text.trim_end_matches('\n');
        let mut entry = self.entry();
        if self.unfolded(&entry.shown).trim_end_matches('\n') == text {
            return;
        }
        text.clone_into(&mut entry.shown);
        for (mark, paste) in &entry.folded {
            // At the end of the text it has lost the end of its last line.
            let paste = match entry.shown.contains(&**paste) {
                true => paste,
                false => paste.trim_end_matches('\n'),
            };
            entry.shown = entry.shown.replacen(paste, mark, 1);
        }
        self.set("");
        if entry.shown.len() > WRITTEN_BYTES || entry.shown.split('\n').count() > WRITTEN_LINES {
            self.paste(text);
        } else {
            self.show(&entry);
        }
    }

    /// Returns the text before the cursor, in its line.
    pub fn before_cursor(&self) -> &str {
        let at = self.area.cursor();
        let line = self.area.lines().get(at.0).map_or("", String::as_str);
        let end = line.char_indices().nth(at.1).map_or(line.len(), |(at, _)| at);
        &line[..end]
    }

    /// Returns the text before and after the cursor, pastes folded.
    pub fn parts(&self) -> (String, String) {
        let row = self.area.cursor().0;
        let lines = self.area.lines();
        let before = self.before_cursor();
        let mut first = lines[..row.min(lines.len())].join("\n");
        if row > 0 {
            first.push('\n');
        }
        first.push_str(before);
        let rest = self.text().split_off(first.len());
        (first, rest)
    }

    /// Returns whether the cursor is in the last line.
    fn is_in_last_line(&self) -> bool {
        self.area.cursor().0 + 1 == self.area.lines().len()
    }

    /// Returns whether the cursor is in the first visible row.
    pub fn is_at_top(&self) -> bool {
        let lines = self.area.lines();
        let at = self.area.cursor();
        rows::place(&rows::rows(lines, self.width), lines, (at.0, at.1)).0 == 0
    }

    /// Moves by this many rows down, or up if negative. Returns false if there is no such row.
    fn go_down(&mut self, by: isize) -> bool {
        let lines = self.area.lines();
        let rows = rows::rows(lines, self.width);
        let at = self.area.cursor();
        let (row, column) = rows::place(&rows, lines, (at.0, at.1));
        let there = row.checked_add_signed(by);
        let Some((line, to)) = there.and_then(|row| rows::at_column(&rows, lines, (row, column))) else {
            return false;
        };
        let chars = |line: usize| lines.get(line).map_or(0, |line| line.chars().count() + 1);
        let target = (0..line).map(chars).sum::<usize>() + to;
        self.go_to(target);
        true
    }

    /// The cursor's position, in characters from the beginning.
    fn at(&self) -> usize {
        let at = self.area.cursor();
        let chars = |line: &String| line.chars().count() + 1;
        self.area.lines()[..at.0].iter().map(chars).sum::<usize>() + at.1
    }

    fn go_to(&mut self, target: usize) {
        let at = self.at();
        let step = if target < at {
            CursorMove::Back
        } else {
            CursorMove::Forward
        };
        for _ in 0..target.abs_diff(at) {
            self.area.move_cursor(step);
        }
    }

    /// Restores atomic units after an edit of `before` with the cursor at `was`: a unit that was cut is removed whole,
    /// and the cursor is inside none.
    fn keep_whole(&mut self, before: &str, was: usize) {
        let (text, at) = (self.text(), self.at());
        let marks = || self.folded.iter().map(|(mark, _)| mark.as_str());
        if text == before {
            let things = Things::of(&text, marks());
            let place = if at > was { things.behind(at) } else { things.before(at) };
            return self.go_to(place);
        }
        let gone = before.chars().count().saturating_sub(text.chars().count());
        let from = at.min(was);
        let is_deletion = gone > 0 && {
            let kept = before.chars().take(from).chain(before.chars().skip(from + gone));
            kept.eq(text.chars())
        };
        if is_deletion {
            let things = Things::of(before, marks());
            let more = (from - things.before(from), things.behind(from + gone) - from - gone);
            self.go_to(from);
            for _ in 0..more.0 {
                self.area.delete_char();
            }
            for _ in 0..more.1 {
                self.area.delete_next_char();
            }
        }
    }

    /// Replaces this many characters before the cursor.
    pub fn replace_before(&mut self, chars: usize, text: &str) {
        for _ in 0..chars {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    /// Returns whether the line ends in a backslash before the cursor, so that Enter means a new line. Removes the
    /// backslash if so.
    pub fn takes_backslash(&mut self) -> bool {
        let at = self.area.cursor();
        let is_last = self.is_in_last_line()
            && self
                .area
                .lines()
                .get(at.0)
                .is_some_and(|line| line.chars().count() == at.1);
        if is_last && self.before_cursor().ends_with('\\') {
            self.area.delete_char();
            self.area.insert_newline();
            return true;
        }
        false
    }

    /// Handles an editing key. Returns false if it has no effect here.
    pub fn key(&mut self, key: Key) -> bool {
        let (before, was) = (self.text(), self.at());
        match key.code {
            KeyCode::Enter => self.area.insert_newline(),
            KeyCode::Char('j') if key.ctrl => self.area.insert_newline(),
            KeyCode::Char('u') if key.ctrl => {
                self.area.delete_line_by_head();
            }
            KeyCode::Up if !self.go_down(-1) => return self.earlier(),
            KeyCode::Down if !self.go_down(1) => return self.later(),
            KeyCode::Up | KeyCode::Down => {}
            KeyCode::Char('_' | '7') if key.ctrl => return self.undo(),
            KeyCode::Char(c) if key.types() => self.area.insert_char(c),
            _ => {
                let Some(input) = input(key) else { return false };
                self.area.input(input);
            }
        }
        self.keep_whole(&before, was);
        self.record(before, was, key);
        if !matches!(key.code, KeyCode::Up | KeyCode::Down | KeyCode::Left | KeyCode::Right) {
            self.leave_past();
        }
        true
    }

    /// Records an edit for [`undo`](Self::undo). Letters typed in a row, up to a space, are one edit.
    fn record(&mut self, before: String, was: usize, key: Key) {
        if before == self.text() {
            // A moved cursor ends it.
            self.is_typing &= was == self.at();
            return;
        }
        let is_letter = key.types() && matches!(key.code, KeyCode::Char(c) if !c.is_whitespace());
        if !(is_letter && self.is_typing) {
            self.keep((before, was));
        }
        self.is_typing = is_letter;
    }

    /// Keeps the text and the cursor from before an edit.
    fn keep(&mut self, before: (String, usize)) {
        if self.edits.len() == REMEMBERED {
            self.edits.remove(0);
        }
        self.edits.push(before);
    }

    /// Undoes the last edit.
    fn undo(&mut self) -> bool {
        let Some((text, at)) = self.edits.pop() else {
            return false;
        };
        self.leave_past();
        self.area = area(&text);
        self.go_to(at);
        self.is_typing = false;
        true
    }

    fn earlier(&mut self) -> bool {
        let (at, writing) = match self.past.take() {
            Some((at, writing)) => (at, writing),
            None => (self.history.len(), self.entry()),
        };
        let at = if at == 0 { self.look_back() } else { at };
        let Some(before) = at.checked_sub(1) else {
            self.past = Some((at, writing));
            return false;
        };
        self.show(&self.history[before].clone());
        self.past = Some((before, writing));
        true
    }

    fn later(&mut self) -> bool {
        let Some((at, writing)) = self.past.take() else {
            return false;
        };
        match self.history.get(at + 1).cloned() {
            Some(next) => {
                self.show(&next);
                self.past = Some((at + 1, writing));
            }
            None => self.show(&writing),
        }
        true
    }

    /// Starts a history search, or searches for an earlier match.
    pub fn search(&mut self) {
        match &mut self.search {
            None => {
                self.look_back();
                let before = self.entry();
                self.search = Some(Search {
                    before,
                    ..Search::default()
                });
            }
            Some(search) => {
                let below = search.found.unwrap_or(self.history.len());
                search.found = found(&self.history, &search.words, below).or(search.found);
                self.show_found();
            }
        }
    }

    /// Returns whether a search finds nothing.
    pub fn finds_nothing(&self) -> bool {
        let is_lost = |search: &Search| !search.words.is_empty() && search.found.is_none();
        self.search.as_ref().is_some_and(is_lost)
    }

    /// The search text, during a search.
    pub fn searching(&self) -> Option<&str> {
        self.search.as_ref().map(|search| search.words.as_str())
    }

    /// Handles a key during a search. Returns false if it ends the search and is to be handled as usual.
    pub fn search_key(&mut self, key: Key) -> bool {
        let finds_nothing = self.finds_nothing();
        let Some(search) = &mut self.search else { return false };
        let is_cancel = key.code == KeyCode::Esc || key.ctrl && matches!(key.code, KeyCode::Char('c' | 'g'));
        match key.code {
            KeyCode::Char(c) if key.types() => search.words.push(c),
            KeyCode::Backspace => {
                search.words.pop();
            }
            _ if is_cancel => {
                let before = std::mem::take(&mut search.before);
                self.search = None;
                self.leave_past();
                self.show(&before);
                return true;
            }
            // What was found before would be sent, or the draft.
            KeyCode::Enter if finds_nothing => return true,
            _ => {
                let before = std::mem::take(&mut search.before);
                self.search = None;
                if finds_nothing {
                    self.leave_past();
                    self.show(&before);
                }
                return false;
            }
        }
        search.found = found(&self.history, &search.words, self.history.len());
        self.show_found();
        true
    }

    /// Shows the match; without one nothing, and the draft as long as nothing is searched for.
    fn show_found(&mut self) {
        let Some(search) = &self.search else { return };
        let shown = match search.found {
            Some(at) => self.history[at].clone(),
            None if search.words.is_empty() => search.before.clone(),
            None => Entry::default(),
        };
        self.show(&shown);
    }

    /// Lays out the rows at this width, with the cursor's row and column. Up and Down move by them from now on.
    pub fn rows(&mut self, width: usize) -> (Vec<String>, (usize, usize)) {
        self.width = width;
        let (lines, at) = (self.area.lines(), self.area.cursor());
        let rows = rows::rows(lines, width);
        let (mut row, mut column) = rows::place(&rows, lines, (at.0, at.1));
        let is_at_end = lines.get(at.0).is_some_and(|line| line.chars().count() <= at.1);
        let mut rows: Vec<String> = rows.into_iter().map(|row| row.text).collect();
        if column >= width && is_at_end {
            // The next character starts a new row.
            (row, column) = (row + 1, 0);
            rows.insert(row, String::new());
        }
        (rows, (row, column.min(width.saturating_sub(1))))
    }
}

fn found(history: &[Entry], words: &str, below: usize) -> Option<usize> {
    if words.is_empty() {
        return None;
    }
    let words = words.to_lowercase();
    history[..below]
        .iter()
        .rposition(|entry| entry.shown.to_lowercase().contains(&words))
}

fn input(key: Key) -> Option<Input> {
    use ratatui_textarea::Key as To;
    let to = match key.code {
        KeyCode::Char(c) => To::Char(c),
        KeyCode::Enter => To::Enter,
        KeyCode::Tab | KeyCode::Esc | KeyCode::PageUp | KeyCode::PageDown => return None,
        KeyCode::Backspace => To::Backspace,
        KeyCode::Delete => To::Delete,
        KeyCode::Up => To::Up,
        KeyCode::Down => To::Down,
        KeyCode::Left => To::Left,
        KeyCode::Right => To::Right,
        KeyCode::Home => To::Home,
        KeyCode::End => To::End,
    };
    Some(Input {
        key: to,
        ctrl: key.ctrl,
        alt: key.alt,
        // With Shift the library would select text.
        shift: false,
    })
}

#[cfg(test)]
mod tests;
