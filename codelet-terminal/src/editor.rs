//! The input: a text of several lines with a cursor, pastes that are shown folded, and what was sent before.

mod rows;
mod things;

use crate::keys::{Code, Key};
use ratatui_textarea::{CursorMove, Input, TextArea};
use things::Things;

/// A paste of more lines, or of more bytes, is shown folded.
const PASTE_LINES: usize = 8;
const PASTE_BYTES: usize = 2_000;
/// What comes back from the user's own editor is shown in full up to so many lines and bytes.
const WRITTEN_LINES: usize = 100;
const WRITTEN_BYTES: usize = 10_000;
/// Inputs that are remembered.
const REMEMBERED: usize = 500;

/// What is being written.
#[derive(Debug)]
pub struct Editor {
    area: TextArea<'static>,
    /// What stands for a long paste, and the paste.
    folded: Vec<(String, String)>,
    history: Vec<String>,
    /// Where in the history we are, and what was being written before.
    past: Option<(usize, String)>,
    search: Option<Search>,
    /// How wide it was drawn last; Up and Down go by the rows that are seen.
    width: usize,
}

/// Looking for an earlier input.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Search {
    words: String,
    found: Option<usize>,
    before: String,
}

impl Default for Editor {
    fn default() -> Self {
        Editor {
            area: area(""),
            folded: Vec::new(),
            history: Vec::new(),
            past: None,
            search: None,
            width: usize::MAX,
        }
    }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    // It is drawn by `rows`. With a mask the library takes each character for as wide as the next, so its cursor passes none
    // that has no width.
    area.set_mask_char('x');
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

impl Editor {
    /// What is written, pastes folded.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Writes this instead.
    pub fn set(&mut self, text: &str) {
        self.leave_past();
        self.area = area(text);
    }

    /// What is written, pastes in full; nothing is written afterwards, and it is remembered.
    pub fn take(&mut self) -> String {
        let shown = self.text();
        self.leave_past();
        self.remember(&shown);
        self.set("");
        self.unfolded(&shown)
    }

    /// Nothing is written afterwards; what was, comes back with Up. Says whether there was anything.
    pub fn clear(&mut self) -> bool {
        let shown = self.text();
        self.leave_past();
        self.remember(&shown);
        self.set("");
        !shown.trim().is_empty()
    }

    /// An input, pastes folded, that comes back with Up.
    pub fn remember(&mut self, shown: &str) {
        if shown.trim().is_empty() || self.history.last().is_some_and(|last| last == shown) {
            return;
        }
        if self.history.len() == REMEMBERED {
            self.history.remove(0);
        }
        self.history.push(shown.to_owned());
    }

    /// What is shown of the history is written from now on. What was being written before joins the history.
    fn leave_past(&mut self) {
        if let Some((_, writing)) = self.past.take() {
            self.remember(&writing);
        }
    }

    /// The text with each paste in its place.
    pub fn unfolded(&self, shown: &str) -> String {
        let mut text = String::with_capacity(shown.len());
        let mut rest = shown;
        // In one pass, so that a paste that holds such a mark is not unfolded again.
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

    /// Takes a paste; a long one is shown folded.
    pub fn paste(&mut self, text: &str) {
        self.leave_past();
        let text = text.strip_suffix('\n').unwrap_or(text);
        let lines = text.split('\n').count();
        if lines <= PASTE_LINES && text.len() <= PASTE_BYTES {
            self.area.insert_str(text);
            return;
        }
        let size = match lines {
            1 => format!("{} bytes", codelet_context::cut::grouped(text.len())),
            _ => format!("{} lines", codelet_context::cut::grouped(lines)),
        };
        let mut mark = format!("[pasted {size}]");
        let mut number = 2;
        while self.folded.iter().any(|(other, _)| *other == mark) {
            mark = format!("[pasted {size}, {number}]");
            number += 1;
        }
        self.area.insert_str(&mark);
        self.folded.push((mark, text.to_owned()));
    }

    /// Writes what comes back from the user's own editor; pastes that are still in it are folded again.
    pub fn set_unfolded(&mut self, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let before = self.text();
        if self.unfolded(&before) == text {
            return;
        }
        let mut shown = text.to_owned();
        for (mark, paste) in self.folded.iter().filter(|(mark, _)| before.contains(mark.as_str())) {
            shown = shown.replacen(paste, mark, 1);
        }
        self.set("");
        if shown.len() > WRITTEN_BYTES || shown.split('\n').count() > WRITTEN_LINES {
            self.paste(text);
        } else {
            self.set(&shown);
        }
    }

    /// The text before the cursor, in its line.
    pub fn before_cursor(&self) -> &str {
        let at = self.area.cursor();
        let line = self.area.lines().get(at.0).map_or("", String::as_str);
        let end = line.char_indices().nth(at.1).map_or(line.len(), |(at, _)| at);
        &line[..end]
    }

    /// What is written, pastes folded, before the cursor and behind it.
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

    /// Whether the cursor stands in the last line.
    fn is_in_last_line(&self) -> bool {
        self.area.cursor().0 + 1 == self.area.lines().len()
    }

    /// Whether Up has no row to go to.
    pub fn is_at_top(&self) -> bool {
        let lines = self.area.lines();
        let at = self.area.cursor();
        rows::place(&rows::rows(lines, self.width), lines, (at.0, at.1)).0 == 0
    }

    /// Goes so many rows down, or up. Says no where there is none.
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

    /// Where the cursor stands, in characters from the beginning.
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

    /// After something was done to this text, in which the cursor stood here: what is one thing goes as a whole, and the
    /// cursor stands in none.
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

    /// Replaces so many characters before the cursor.
    pub fn replace_before(&mut self, chars: usize, text: &str) {
        for _ in 0..chars {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    /// Whether the line before the cursor ends in a backslash and nothing follows, so that Enter means a new line. The
    /// backslash goes then.
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

    /// Takes a key that edits. Says no to one that does nothing here.
    pub fn key(&mut self, key: Key) -> bool {
        let (before, was) = (self.text(), self.at());
        match key {
            Key { code: Code::Enter, .. } => self.area.insert_newline(),
            Key {
                code: Code::Char('j'),
                ctrl: true,
                ..
            } => self.area.insert_newline(),
            Key {
                code: Code::Char('u'),
                ctrl: true,
                ..
            } => {
                self.area.delete_line_by_head();
            }
            Key { code: Code::Up, .. } => {
                if !self.go_down(-1) {
                    return self.earlier();
                }
            }
            Key { code: Code::Down, .. } => {
                if !self.go_down(1) {
                    return self.later();
                }
            }
            Key {
                code: Code::Char(c),
                ctrl: false,
                alt: false,
                ..
            } => self.area.insert_char(c),
            _ => {
                let Some(input) = input(key) else { return false };
                self.area.input(input);
            }
        }
        self.keep_whole(&before, was);
        if !matches!(key.code, Code::Up | Code::Down | Code::Left | Code::Right) {
            self.leave_past();
        }
        true
    }

    fn earlier(&mut self) -> bool {
        let (at, writing) = match self.past.take() {
            Some((at, writing)) => (at, writing),
            None => (self.history.len(), self.text()),
        };
        let Some(before) = at.checked_sub(1) else {
            self.past = Some((at, writing));
            return false;
        };
        self.area = area(&self.history[before]);
        self.past = Some((before, writing));
        true
    }

    fn later(&mut self) -> bool {
        let Some((at, writing)) = self.past.take() else {
            return false;
        };
        match self.history.get(at + 1) {
            Some(text) => {
                self.area = area(text);
                self.past = Some((at + 1, writing));
            }
            None => self.area = area(&writing),
        }
        true
    }

    /// Begins to look for an earlier input, or for one before that which was found.
    pub fn search(&mut self) {
        match &mut self.search {
            None => {
                let before = self.text();
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

    /// What is looked for, while something is.
    pub fn searching(&self) -> Option<&str> {
        self.search.as_ref().map(|search| search.words.as_str())
    }

    /// Takes a key while something is looked for. Says no to one that ends it and is to be taken as usual.
    pub fn search_key(&mut self, key: Key) -> bool {
        let Some(search) = &mut self.search else { return false };
        match key {
            Key {
                code: Code::Char(c),
                ctrl: false,
                alt: false,
                ..
            } => search.words.push(c),
            Key {
                code: Code::Backspace, ..
            } => {
                search.words.pop();
            }
            Key { code: Code::Esc, .. }
            | Key {
                code: Code::Char('c' | 'g'),
                ctrl: true,
                ..
            } => {
                let before = std::mem::take(&mut search.before);
                self.search = None;
                self.set(&before);
                return true;
            }
            _ => {
                self.search = None;
                return false;
            }
        }
        search.found = found(&self.history, &search.words, self.history.len());
        self.show_found();
        true
    }

    fn show_found(&mut self) {
        let text = self
            .search
            .as_ref()
            .and_then(|search| search.found)
            .map(|at| self.history[at].clone());
        if let Some(text) = text {
            self.area = area(&text);
        }
    }

    /// The rows at this width, and the cursor's row and column in them. Up and Down go by them from now on.
    pub fn rows(&mut self, width: usize) -> (Vec<String>, (usize, usize)) {
        self.width = width;
        let (lines, at) = (self.area.lines(), self.area.cursor());
        let rows = rows::rows(lines, width);
        let (mut row, mut column) = rows::place(&rows, lines, (at.0, at.1));
        let is_at_end = lines.get(at.0).is_some_and(|line| line.chars().count() <= at.1);
        let mut rows: Vec<String> = rows.into_iter().map(|row| row.text).collect();
        if column >= width && is_at_end {
            // What is written next begins a row.
            (row, column) = (row + 1, 0);
            rows.insert(row, String::new());
        }
        (rows, (row, column.min(width.saturating_sub(1))))
    }
}

fn found(history: &[String], words: &str, below: usize) -> Option<usize> {
    if words.is_empty() {
        return None;
    }
    let words = words.to_lowercase();
    history[..below]
        .iter()
        .rposition(|text| text.to_lowercase().contains(&words))
}

fn input(key: Key) -> Option<Input> {
    use ratatui_textarea::Key as To;
    let to = match key.code {
        Code::Char(c) => To::Char(c),
        Code::Enter => To::Enter,
        Code::Tab | Code::Esc | Code::PageUp | Code::PageDown => return None,
        Code::Backspace => To::Backspace,
        Code::Delete => To::Delete,
        Code::Up => To::Up,
        Code::Down => To::Down,
        Code::Left => To::Left,
        Code::Right => To::Right,
        Code::Home => To::Home,
        Code::End => To::End,
    };
    Some(Input {
        key: to,
        ctrl: key.ctrl,
        alt: key.alt,
        // With Shift it would select, and nothing is selected here.
        shift: false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn typed(editor: &mut Editor, text: &str) {
        for c in text.chars() {
            editor.key(Key::plain(Code::Char(c)));
        }
    }

    #[test]
    fn a_long_paste_is_shown_folded_and_sent_whole() {
        let paste: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
        let mut editor = Editor::default();
        typed(&mut editor, "See ");
        editor.paste(&paste);
        typed(&mut editor, " there");
        assert_eq!(editor.text(), "See [pasted 10,000 lines] there");
        let sent = editor.take();
        assert_eq!(sent, format!("See {} there", paste.trim_end()));
        editor.key(Key::plain(Code::Up));
        assert_eq!(editor.take(), sent);
    }

    #[test]
    fn what_stands_for_a_paste_is_sent_or_removed_as_a_whole() {
        let alt = |code| Key {
            alt: true,
            ..Key::plain(code)
        };
        let ctrl = |c| Key {
            ctrl: true,
            ..Key::plain(Code::Char(c))
        };
        let paste = vec!["line"; 20].join("\n");
        let plain = Key::plain;
        let cases: [(&[Key], Option<&str>); 11] = [
            (&[ctrl('w')], None),
            (&[alt(Code::Backspace)], None),
            (&[plain(Code::Backspace)], None),
            (&[plain(Code::Home), plain(Code::Delete)], None),
            (&[plain(Code::Home), alt(Code::Char('d'))], None),
            (&[plain(Code::Home), ctrl('k')], None),
            (&[ctrl('u')], None),
            (&[plain(Code::Left), plain(Code::Char('x'))], Some("x{}")),
            (&[alt(Code::Char('b')), plain(Code::Char('x'))], Some("x{}")),
            (
                &[plain(Code::Home), plain(Code::Right), plain(Code::Char('x'))],
                Some("{}x"),
            ),
            (
                &[plain(Code::Home), alt(Code::Char('f')), plain(Code::Char('x'))],
                Some("{}x"),
            ),
        ];
        for (keys, left) in cases {
            let mut editor = Editor::default();
            editor.paste(&paste);
            for &key in keys {
                editor.key(key);
            }
            assert_eq!(editor.take(), left.unwrap_or("").replace("{}", &paste), "{keys:?}");
        }
    }

    #[test]
    fn what_looks_like_one_character_is_passed_and_removed_as_one() {
        for thing in ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u{323}\u{301}", "한"] {
            let mut editor = Editor::default();
            editor.set(&format!("a{thing}"));
            editor.key(Key::plain(Code::Left));
            editor.key(Key::plain(Code::Char('b')));
            assert_eq!(editor.text(), format!("ab{thing}"));
            editor.key(Key::plain(Code::Right));
            editor.key(Key::plain(Code::Backspace));
            assert_eq!(editor.text(), "ab");
        }
    }

    #[test]
    fn tabs_are_sent_as_they_were_pasted() {
        let mut editor = Editor::default();
        editor.paste("all:\n\techo hi\na\tb");
        assert_eq!(editor.rows(40).0, ["all:", "    echo hi", "a   b"]);
        assert_eq!(editor.take(), "all:\n\techo hi\na\tb");
    }

    #[test]
    fn up_and_down_go_by_the_rows_that_are_seen() {
        let mut editor = Editor::default();
        editor.set("sent before");
        editor.take();
        editor.set("one two three four five");
        let (rows, cursor) = editor.rows(10);
        assert_eq!((rows.len(), cursor), (3, (2, 4)));
        editor.key(Key::plain(Code::Up));
        editor.key(Key::plain(Code::Up));
        assert_eq!(editor.rows(10).1, (0, 4));
        editor.key(Key::plain(Code::Down));
        assert_eq!(editor.rows(10).1, (1, 4));
        editor.key(Key::plain(Code::Up));
        editor.key(Key::plain(Code::Up));
        assert_eq!(editor.text(), "sent before");
    }

    #[test]
    fn what_comes_back_from_the_users_editor_folds_the_pastes_again_and_nothing_else() {
        let mut editor = Editor::default();
        let paste = vec!["line"; 40].join("\n");
        typed(&mut editor, "short ");
        editor.paste(&paste);
        let whole = editor.unfolded(&editor.text());
        editor.set_unfolded(&format!("{whole}\n"));
        assert_eq!(editor.text(), "short [pasted 40 lines]");
        editor.set_unfolded(&format!("{whole} and more\nthere"));
        assert_eq!(editor.text(), "short [pasted 40 lines] and more\nthere");
        assert_eq!(editor.take(), format!("short {paste} and more\nthere"));
        editor.set_unfolded(&"long\n".repeat(2_000));
        assert_eq!(editor.text(), "[pasted 2,000 lines]");
    }

    #[test]
    fn two_pastes_of_one_size_are_two() {
        let mut editor = Editor::default();
        editor.paste(&"a\n".repeat(20));
        editor.paste(&"b\n".repeat(20));
        assert_eq!(editor.text(), "[pasted 20 lines][pasted 20 lines, 2]");
        editor.key(Key::plain(Code::Backspace));
        assert_eq!(editor.text(), "[pasted 20 lines]");
        assert!(editor.take().starts_with("a\na"));
    }

    #[test]
    fn a_paste_that_holds_a_mark_is_not_unfolded_twice() {
        let mut editor = Editor::default();
        let paste = format!("{}[pasted 21 lines]", "a\n".repeat(20));
        editor.paste(&paste);
        assert_eq!(editor.text(), "[pasted 21 lines]");
        assert_eq!(editor.take(), paste);
    }

    #[test]
    fn what_was_sent_comes_back_and_what_was_being_written_too() {
        let mut editor = Editor::default();
        for text in ["one", "two"] {
            typed(&mut editor, text);
            editor.take();
        }
        typed(&mut editor, "thr");
        let up = Key::plain(Code::Up);
        assert!(editor.key(up) && editor.text() == "two");
        assert!(editor.key(up) && editor.text() == "one");
        assert!(!editor.key(up) && editor.text() == "one");
        let down = Key::plain(Code::Down);
        assert!(editor.key(down) && editor.key(down));
        assert_eq!(editor.text(), "thr");
    }

    #[test]
    fn what_was_cleared_comes_back_with_its_pastes() {
        let mut editor = Editor::default();
        typed(&mut editor, "See ");
        editor.paste(&"a\n".repeat(20));
        assert!(editor.clear() && editor.is_empty() && !editor.clear());
        editor.key(Key::plain(Code::Up));
        assert_eq!(editor.take(), format!("See {}a", "a\n".repeat(19)));
    }

    #[test]
    fn what_was_being_written_before_an_earlier_input_is_never_lost() {
        let (up, x) = (Key::plain(Code::Up), Key::plain(Code::Char('x')));
        let acts: [fn(&mut Editor); 4] = [
            |editor| drop(editor.take()),
            |editor| assert!(editor.clear()),
            |editor| editor.paste("more"),
            |editor| assert!(editor.key(Key::plain(Code::Char('x')))),
        ];
        for act in acts {
            let mut editor = Editor::default();
            typed(&mut editor, "one");
            editor.take();
            typed(&mut editor, "a draft");
            editor.key(up);
            assert_eq!(editor.text(), "one");
            act(&mut editor);
            editor.key(x);
            while editor.text() != "a draft" {
                assert!(editor.key(up), "the draft is lost");
            }
        }
    }

    #[test]
    fn an_earlier_input_is_found_by_its_words() {
        let mut editor = Editor::default();
        for text in ["fix the tests", "write docs", "fix the build"] {
            typed(&mut editor, text);
            editor.take();
        }
        editor.search();
        for c in "FIX".chars() {
            assert!(editor.search_key(Key::plain(Code::Char(c))));
        }
        assert_eq!(editor.text(), "fix the build");
        editor.search();
        assert_eq!(editor.text(), "fix the tests");
        assert!(!editor.search_key(Key::plain(Code::Enter)));
        assert_eq!(editor.take(), "fix the tests");
        editor.search();
        editor.search_key(Key::plain(Code::Char('d')));
        editor.search_key(Key::plain(Code::Esc));
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn a_backslash_at_the_end_makes_a_new_line() {
        let mut editor = Editor::default();
        typed(&mut editor, "one\\");
        assert!(editor.takes_backslash());
        typed(&mut editor, "two");
        assert!(!editor.takes_backslash());
        assert_eq!(editor.take(), "one\ntwo");
    }

    proptest! {
        #[test]
        fn rows_fit_and_hold_everything(text in "[a-z漢🦀 \n]{0,80}", width in 4usize..30) {
            let mut editor = Editor::default();
            editor.set(&text);
            let (rows, cursor) = editor.rows(width);
            prop_assert!(rows.iter().all(|row| crate::render::wrap::columns(row) <= width));
            let without_blanks = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(without_blanks(&rows.concat()), without_blanks(&text));
            prop_assert!(cursor.0 < rows.len() && cursor.1 < width);
        }

        #[test]
        fn any_keys_do_no_harm(keys in proptest::collection::vec((any::<char>(), any::<bool>(), any::<bool>(), 0u8..16), 0..60)) {
            let mut editor = Editor::default();
            for (c, ctrl, alt, which) in keys {
                let code = match which {
                    0 => Code::Enter,
                    1 => Code::Up,
                    2 => Code::Down,
                    3 => Code::Backspace,
                    4 => Code::Left,
                    5 => { editor.paste(&c.to_string().repeat(3_000)); continue }
                    6 => { editor.search(); continue }
                    7 => Code::Delete,
                    8 => Code::Home,
                    _ => Code::Char(c),
                };
                let key = Key { code, ctrl, alt, shift: false };
                if !editor.search_key(key) {
                    editor.key(key);
                }
                let _ = (editor.rows(10), editor.before_cursor().len());
                let (before, behind) = editor.parts();
                assert_eq!(before + &behind, editor.text());
            }
            editor.take();
        }
    }
}
