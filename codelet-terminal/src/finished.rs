//! Finished lines waiting for the terminal, as output bytes. An answer may produce them faster than a terminal takes
//! them, and as styled lines they would need several times the memory.

use crate::screen::push_line;
use ratatui::text::Line;
use std::collections::VecDeque;

/// A queue of lines.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    waiting: VecDeque<WaitingLine>,
    /// The number of waiting bytes.
    bytes: usize,
    /// The number of lines so far.
    lines: u64,
}

/// A waiting line.
#[derive(Clone, Debug)]
struct WaitingLine {
    /// Its output, including the line end.
    output: String,
    /// Its bytes without escape sequences.
    words: usize,
}

impl WaitingLine {
    fn of(line: &Line<'_>) -> Self {
        let mut output = String::new();
        push_line(&mut output, line, usize::MAX);
        output.push_str("\r\n");
        WaitingLine {
            output,
            words: line.spans.iter().map(|span| span.content.len()).sum::<usize>() + 2,
        }
    }
}

impl Finished {
    /// Returns whether no line waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The number of lines that were ever added.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The number of waiting bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts a line in front of all others.
    pub fn put_first(&mut self, line: &Line<'_>) {
        let line = WaitingLine::of(line);
        self.bytes += line.output.len();
        self.lines += 1;
        self.waiting.push_front(line);
    }

    /// Returns the next lines, with at most `most` bytes of text; a single line may exceed that.
    pub fn next(&mut self, most: usize) -> String {
        let (mut output, mut words) = (String::new(), 0);
        while let Some(line) = self.waiting.front() {
            words += line.words;
            if !output.is_empty() && words > most {
                break;
            }
            output.push_str(&line.output);
            self.bytes -= line.output.len();
            self.waiting.pop_front();
        }
        output
    }
}

impl Extend<Line<'static>> for Finished {
    fn extend<T: IntoIterator<Item = Line<'static>>>(&mut self, lines: T) {
        for line in lines {
            let line = WaitingLine::of(&line);
            self.bytes += line.output.len();
            self.lines += 1;
            self.waiting.push_back(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Stylize as _;

    #[test]
    fn lines_are_taken_in_their_order_some_at_a_time_and_one_at_least() {
        let mut finished = Finished::default();
        finished.extend(["one".into(), "two".bold().into(), "a longer one".into()]);
        assert_eq!(finished.next(10), "one\r\n\x1b[1mtwo\x1b[0m\r\n");
        finished.extend(["four".into()]);
        finished.put_first(&"first".into());
        assert_eq!(finished.next(8), "first\r\n");
        assert_eq!(finished.next(8), "a longer one\r\n");
        assert!(!finished.is_empty());
        assert_eq!(finished.next(usize::MAX), "four\r\n");
        assert!(finished.is_empty());
        assert_eq!(finished.next(8), "");
    }

    #[test]
    fn however_many_come_and_go_each_is_there_once() {
        let mut finished = Finished::default();
        let mut all = String::new();
        for round in 0..200 {
            finished.extend((0..round % 7).map(|line| Line::from(format!("{round}.{line}"))));
            all.push_str(&finished.next(20));
        }
        all.push_str(&finished.next(usize::MAX));
        let expected: String = (0..200)
            .flat_map(|round| (0..round % 7).map(move |line| format!("{round}.{line}\r\n")))
            .collect();
        assert_eq!(all, expected);
        assert_eq!(finished.bytes(), 0);
    }
}
