//! The screen: finished lines, which belong to the terminal's scrollback, and a few rows below them that are redrawn.
//! The cursor only ever moves up to the first of these rows, so finished lines are never touched; nor are they counted,
//! so a finished line may take as many rows as the terminal needs for it.

use crate::render::clean::is_plain;
use crate::render::wrap::simple;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use std::fmt::Write as _;
use std::io::{self, Write};
use unicode_width::UnicodeWidthChar as _;

/// Begin and end a synchronized update; terminals that do not know it ignore it.
const TOGETHER: (&str, &str) = ("\x1b[?2026h", "\x1b[?2026l");
/// Clears the cursor's row from the left, and everything below. Some terminals and multiplexers move the whole screen
/// into their scrollback if it is cleared from the top left corner, so the rest is cleared from the second column on.
const CLEAR: &str = "\x1b[K\x1b[C\x1b[J\r";

/// The rows that are redrawn, with the position of the cursor in them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Frame {
    /// The rows, none wider than the terminal.
    pub rows: Vec<Line<'static>>,
    /// The cursor's row and column; `None` hides it.
    pub cursor: Option<(u16, u16)>,
}

/// Draws to a terminal.
#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    width: u16,
    height: u16,
    /// The rows as drawn, and the number of terminal rows above the one in which the cursor was left.
    drawn: Vec<String>,
    at: usize,
    shown: Option<Frame>,
    /// Widths of the drawn rows, and the row and column in which the cursor was left, to compute the number of rows
    /// above it when the terminal becomes narrower.
    widths: Vec<usize>,
    left: (usize, usize),
}

impl<W: Write> Screen<W> {
    /// An empty screen.
    pub fn new(out: W, (width, height): (u16, u16)) -> Self {
        Screen {
            out,
            width,
            height,
            drawn: Vec::new(),
            at: 0,
            shown: None,
            widths: Vec::new(),
            left: (0, 0),
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        (self.width, self.height)
    }

    /// Handles a new terminal size. Terminals wrap rows that no longer fit, so there may be more of them; those that
    /// have scrolled off the top can no longer be reached.
    pub fn resize(&mut self, (width, height): (u16, u16)) {
        let columns = usize::from(width.max(1));
        let wrapped = |width: &usize| width.div_ceil(columns).max(1);
        let (row, column) = self.left;
        let above: usize = self.widths.iter().take(row).map(wrapped).sum();
        self.at = (above + column / columns).min(usize::from(height.saturating_sub(1)));
        (self.width, self.height) = (width, height);
        self.shown = None;
        self.drawn.clear();
    }

    /// Prints finished lines above the rows, each with its line end, and draws the rows.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub fn draw(&mut self, finished: &str, frame: Frame) -> io::Result<()> {
        if finished.is_empty() && self.shown.as_ref() == Some(&frame) {
            return Ok(());
        }
        let frame = self.fitting(frame);
        let mut out = String::from(TOGETHER.0);
        out.push_str("\x1b[?25l\r");
        if self.at > 0 {
            let _ = write!(out, "\x1b[{}A", self.at);
        }
        if self.drawn.is_empty() || !finished.is_empty() {
            // The rows' old content is cleared, or it would be left in the scrollback. Also, a terminal joins wrapped
            // rows again when it becomes wider, even if they were overwritten; cleared ones it forgets.
            out.push_str(CLEAR);
            self.drawn.clear();
        }
        out.push_str(finished);
        let rows: Vec<String> = frame
            .rows
            .iter()
            .map(|row| {
                let mut text = String::new();
                push_line(&mut text, row, usize::from(self.width.saturating_sub(1)));
                text
            })
            .collect();
        // Nothing of the old content may remain after the last row.
        let leaves = rows.len() < self.drawn.len() || self.drawn.is_empty();
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                out.push_str("\r\n");
            }
            let is_last = number + 1 == rows.len();
            if self.drawn.get(number) != Some(row) || (is_last && leaves) {
                out.push_str(row);
                out.push_str(match is_last {
                    false => "\x1b[K",
                    true if frame.rows[number].width() == 0 => CLEAR,
                    true => "\x1b[J",
                });
            }
        }
        if rows.is_empty() {
            out.push_str(CLEAR);
        }
        self.at = rows.len().saturating_sub(1);
        self.left = (self.at, frame.rows.last().map_or(0, Line::width));
        if let Some((row, column)) = frame.cursor {
            let up = self.at.saturating_sub(usize::from(row));
            if up > 0 {
                let _ = write!(out, "\x1b[{up}A");
            }
            self.at -= up;
            self.left = (self.at, usize::from(column));
            out.push('\r');
            if column > 0 {
                let _ = write!(out, "\x1b[{column}C");
            }
            out.push_str("\x1b[?25h");
        }
        out.push_str(TOGETHER.1);
        self.widths = frame.rows.iter().map(Line::width).collect();
        self.drawn = rows;
        self.shown = Some(frame);
        self.out.write_all(out.as_bytes())?;
        self.out.flush()
    }

    /// Removes the rows and leaves the cursor at the beginning of a free line.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub fn wipe(&mut self) -> io::Result<()> {
        let mut out = String::from("\r");
        if self.at > 0 {
            let _ = write!(out, "\x1b[{}A", self.at);
        }
        out.push_str(CLEAR);
        out.push_str("\x1b[?25h");
        self.forget();
        self.out.write_all(out.as_bytes())?;
        self.out.flush()
    }

    /// Copies a text to the terminal's clipboard (OSC 52, which also works over ssh).
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        write!(self.out, "\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text))?;
        self.out.flush()
    }

    /// Sends the bytes of a notification and draws nothing.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub fn call(&mut self, bytes: &str) -> io::Result<()> {
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Another program has written to the terminal, and left the cursor at the beginning of a free line.
    pub fn forget(&mut self) {
        self.drawn.clear();
        self.widths.clear();
        self.shown = None;
        self.at = 0;
        self.left = (0, 0);
    }

    /// Drops rows that do not fit the terminal's height; the cursor's row stays.
    fn fitting(&self, mut frame: Frame) -> Frame {
        let most = usize::from(self.height.saturating_sub(1)).max(1);
        let over = frame.rows.len().saturating_sub(most);
        if over > 0 {
            let above = frame.cursor.map_or(over, |(row, _)| usize::from(row).min(over));
            frame.rows.drain(..above);
            frame.rows.truncate(most);
            frame.cursor = frame
                .cursor
                .map(|(row, column)| (row - u16::try_from(above).unwrap_or(row), column));
        }
        let last = self.width.saturating_sub(1);
        frame.cursor = frame.cursor.map(|(row, column)| (row, column.min(last)));
        frame
    }
}

/// Appends a line with its escape sequences, cut at `columns`.
pub fn push_line(out: &mut String, line: &Line<'_>, columns: usize) {
    let mut left = columns;
    'line: for span in &line.spans {
        let style = match line.style == Style::new() {
            true => span.style,
            false => line.style.patch(span.style),
        };
        let has_style = push_style(out, style);
        let text = span.content.as_ref();
        if text.len() <= left && is_plain(text) {
            // Most text is printable ASCII, one column per byte.
            out.push_str(text);
            left -= text.len();
        } else {
            for c in text.chars() {
                // The line's author has removed control characters; this is the last place to make sure of it.
                let Some(width) = simple(c).or_else(|| c.width()) else {
                    continue;
                };
                if width > left {
                    if has_style {
                        out.push_str("\x1b[0m");
                    }
                    break 'line;
                }
                left -= width;
                out.push(c);
            }
        }
        if has_style {
            out.push_str("\x1b[0m");
        }
    }
}

/// Appends the escape sequence for a style; returns whether there is one.
fn push_style(out: &mut String, style: Style) -> bool {
    if style == Style::new() {
        return false;
    }
    let begin = out.len();
    let mut push = |code: u8| {
        out.push_str(if out.len() == begin { "\x1b[" } else { ";" });
        if code >= 10 {
            out.push(char::from(b'0' + code / 10));
        }
        out.push(char::from(b'0' + code % 10));
    };
    for (modifier, code) in [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
        (Modifier::CROSSED_OUT, 9),
    ] {
        if style.add_modifier.contains(modifier) {
            push(code);
        }
    }
    if let Some(code) = style.fg.and_then(code) {
        push(code);
    }
    let is_any = out.len() > begin;
    if is_any {
        out.push('m');
    }
    is_any
}

/// The SGR code of a text colour. Looks use only the sixteen standard ones, which the user has configured.
fn code(color: Color) -> Option<u8> {
    let number = match color {
        Color::Black => 30,
        Color::Red => 31,
        Color::Green => 32,
        Color::Yellow => 33,
        Color::Blue => 34,
        Color::Magenta => 35,
        Color::Cyan => 36,
        Color::Gray => 37,
        Color::DarkGray => 90,
        Color::LightRed => 91,
        Color::LightGreen => 92,
        Color::LightYellow => 93,
        Color::LightBlue => 94,
        Color::LightMagenta => 95,
        Color::LightCyan => 96,
        Color::White => 97,
        Color::Reset | Color::Indexed(_) | Color::Rgb(..) => return None,
    };
    Some(number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::finished::Finished;
    use crate::render::wrap::line_text;
    use proptest::prelude::*;
    use ratatui::style::Stylize as _;

    /// The terminal output for these lines.
    fn sent(lines: impl IntoIterator<Item = Line<'static>>) -> String {
        let mut finished = Finished::default();
        finished.extend(lines);
        finished.next(usize::MAX)
    }

    fn frame(rows: &[&str], cursor: Option<(u16, u16)>) -> Frame {
        let rows = rows.iter().map(|row| Line::from((*row).to_owned())).collect();
        Frame { rows, cursor }
    }

    /// The screen of an emulator after these bytes.
    fn shown(size: (u16, u16), bytes: &[u8]) -> Vec<String> {
        let mut emulator = vt100::Parser::new(size.1, size.0, 100);
        emulator.process(bytes);
        let screen = emulator.screen();
        screen.rows(0, size.0).map(|row| row.trim_end().to_owned()).collect()
    }

    #[test]
    fn finished_lines_stand_above_the_rows() {
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes, (20, 8));
        screen.draw("", frame(&["> ", "status"], Some((0, 2)))).unwrap();
        screen
            .draw(
                &sent(["one".into(), "two".bold().into()]),
                frame(&["> x", "status"], Some((0, 3))),
            )
            .unwrap();
        screen.draw("", frame(&["> x", "y", "status"], Some((1, 1)))).unwrap();
        screen.draw("three\r\n", frame(&["> "], Some((0, 2)))).unwrap();
        assert_eq!(shown((20, 8), &bytes)[..5], ["one", "two", "three", ">", ""]);
    }

    #[test]
    fn a_line_that_is_wider_than_the_window_is_one_line_for_whoever_copies_it() {
        let command = "curl -fsSL https://example.org/install.sh | sh -s -- --prefix ~/.local --yes";
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes, (20, 12));
        screen
            .draw("", frame(&["writing", "> ", "status"], Some((1, 2))))
            .unwrap();
        screen
            .draw(
                &sent([command.into(), "next".into()]),
                frame(&["> ", "status"], Some((0, 2))),
            )
            .unwrap();
        screen.draw("", frame(&["> a", "status"], Some((0, 3)))).unwrap();
        screen.resize((30, 12));
        screen.draw("", frame(&["> ab", "status"], Some((0, 4)))).unwrap();
        let mut emulator = vt100::Parser::new(12, 20, 100);
        emulator.process(&bytes);
        // Wrapped rows are joined, as in a selection.
        assert_eq!(
            emulator.screen().contents().trim_end(),
            format!("{command}\nnext\n> ab\nstatus")
        );
    }

    #[test]
    fn wiped_rows_leave_nothing() {
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes, (20, 8));
        screen.draw("one\r\n", frame(&["a", "b", "c"], Some((1, 0)))).unwrap();
        screen.wipe().unwrap();
        let rows = shown((20, 8), &bytes);
        assert_eq!((rows[0].as_str(), rows[1].as_str(), rows[2].as_str()), ("one", "", ""));
    }

    #[test]
    fn what_a_terminal_has_wrapped_is_cleared_before_it_is_written_over() {
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes, (20, 8));
        screen.draw("", frame(&["a row of 15 col", "b"], Some((1, 0)))).unwrap();
        let drawn = screen.out.len();
        screen.resize((10, 8));
        screen.draw("", frame(&["short", "b"], Some((1, 0)))).unwrap();
        let after = String::from_utf8(bytes[drawn..].to_vec()).unwrap();
        // Two rows up, since the first row now takes two, and everything is cleared before the first word.
        let up = after.find("\x1b[2A").unwrap();
        let clear = after.find("\x1b[J").unwrap();
        assert!(up < clear && clear < after.find("short").unwrap(), "{after:?}");
    }

    #[test]
    fn a_cursor_that_was_wrapped_with_its_row_stands_below_the_rows_first_piece() {
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes, (20, 8));
        let rows = ["above", "> fifteen columns", "status"];
        screen.draw("", frame(&rows, Some((1, 16)))).unwrap();
        screen.resize((15, 8));
        // Another step of the same resize: the rows are still the drawn ones.
        screen.resize((8, 8));
        assert_eq!(screen.at, 3);
        screen.resize((20, 8));
        assert_eq!(screen.at, 1);
        screen.resize((2, 3));
        assert_eq!(screen.at, 2, "no higher than the window");
    }

    proptest! {
        /// Some terminals take clearing the whole screen from its corner as a request to save it to the scrollback.
        #[test]
        fn nothing_is_cleared_to_the_end_from_the_left_margin(
            steps in proptest::collection::vec((0usize..2, proptest::collection::vec("[a-z]{0,12}", 0..6), any::<bool>(), 6u16..30), 1..12),
        ) {
            let mut bytes = Vec::new();
            let mut screen = Screen::new(&mut bytes, (30, 10));
            for (finished, rows, has_cursor, width) in &steps {
                let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                let finished = "done\r\n".repeat(*finished);
                screen.draw(&finished, frame(&rows, (*has_cursor && !rows.is_empty()).then_some((0, 0)))).unwrap();
                screen.resize((*width, 10));
            }
            screen.wipe().unwrap();
            let text = String::from_utf8(bytes).unwrap();
            for (at, _) in text.match_indices("\x1b[J") {
                let line = text[..at].rsplit(['\n', '\r']).next().unwrap();
                let mut shown = line.replace("\x1b[K", "").replace("\x1b[?2026h", "").replace("\x1b[?25l", "");
                shown.retain(|c| !c.is_control());
                prop_assert!(!shown.is_empty() && !shown.ends_with('A'), "{line:?} in {text:?}");
            }
        }
    }

    #[test]
    fn a_control_character_never_reaches_the_terminal() {
        let mut out = String::new();
        push_line(&mut out, &Line::from("a\x1b[2Jb\rc\u{7}\u{9b}"), 80);
        assert_eq!(out, "a[2Jbc");
    }

    proptest! {
        /// However the rows change, each finished line appears once and in order.
        #[test]
        fn rows_never_touch_what_is_finished(steps in proptest::collection::vec((0usize..3, 1usize..6, 0u16..6, 0usize..100), 1..12)) {
            let mut bytes = Vec::new();
            let mut screen = Screen::new(&mut bytes, (30, 10));
            let mut expected = Vec::new();
            let mut last = Vec::new();
            for (number, (finished, rows, cursor, more)) in steps.iter().enumerate() {
                // Some lines are as wide as the window, or wider: the terminal wraps them.
                let line = |line: usize| Line::from(format!("done {number}.{line}") + &"x".repeat(*more));
                let lines: Vec<Line> = (0..*finished).map(line).collect();
                for line in lines.iter().map(line_text) {
                    expected.extend(line.as_bytes().chunks(30).map(|row| String::from_utf8(row.to_vec()).unwrap()));
                }
                last = (0..*rows).map(|row| format!("row {number}.{row}")).collect();
                let rows: Vec<&str> = last.iter().map(String::as_str).collect();
                let cursor = (*cursor).min(u16::try_from(rows.len()).unwrap() - 1);
                screen.draw(&sent(lines), frame(&rows, Some((cursor, 0)))).unwrap();
            }
            let mut emulator = vt100::Parser::new(10, 30, 100);
            emulator.process(&bytes);
            expected.extend(last);
            let mut all = Vec::new();
            for back in (0..=100).rev() {
                emulator.screen_mut().set_scrollback(back);
                if emulator.screen().scrollback() == back {
                    let mut rows = emulator.screen().rows(0, 30);
                    if back == 0 { all.extend(rows) } else { all.extend(rows.next()) }
                }
            }
            let all: Vec<String> = all.into_iter().map(|row| row.trim_end().to_owned()).filter(|row| !row.is_empty()).collect();
            prop_assert_eq!(all, expected);
        }
    }
}
