//! Finished lines waiting for the terminal, as output bytes. An answer may produce them faster than a terminal takes
//! them, and as styled lines they would need several times the memory.

use crate::screen::push_line;
use ratatui::text::Line;
use std::collections::VecDeque;

/// Capacity in bytes that is kept while nothing waits.
const KEPT: usize = 64 * 1024;

/// A queue of lines.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    text: String,
    /// Bytes of the text that were taken.
    taken: usize,
    waiting: VecDeque<WaitingLine>,
    /// The number of lines so far.
    lines: u64,
}

/// A waiting line.
#[derive(Clone, Copy, Debug)]
struct WaitingLine {
    /// Its bytes, including the line end.
    bytes: usize,
    /// The same without escape sequences.
    words: usize,
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
        self.text.len() - self.taken
    }

    /// Puts lines in front of all others.
    pub fn put_first(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        let mut first = Finished::default();
        first.extend(lines);
        first.text.push_str(&self.text[self.taken..]);
        first.waiting.append(&mut self.waiting);
        first.lines += self.lines;
        *self = first;
    }

    /// Returns the next lines, with at most `most` bytes of text; a single line may exceed that.
    pub fn next(&mut self, most: usize) -> &str {
        let (mut bytes, mut words) = (0, 0);
        while let Some(line) = self.waiting.front() {
            words += line.words;
            if bytes > 0 && words > most {
                break;
            }
            bytes += line.bytes;
            self.waiting.pop_front();
        }
        // Taken text is removed once it is the larger part, so that no byte is moved more than once.
        if self.taken > self.text.len() / 2 {
            self.text.drain(..self.taken);
            self.taken = 0;
            self.text.shrink_to(self.text.len().max(KEPT) * 2);
        }
        let from = self.taken;
        self.taken += bytes;
        &self.text[from..self.taken]
    }
}

impl Extend<Line<'static>> for Finished {
    fn extend<T: IntoIterator<Item = Line<'static>>>(&mut self, lines: T) {
        for line in lines {
            self.lines += 1;
            let from = self.text.len();
            push_line(&mut self.text, &line, usize::MAX);
            self.text.push_str("\r\n");
            self.waiting.push_back(WaitingLine {
                bytes: self.text.len() - from,
                words: line.spans.iter().map(|span| span.content.len()).sum::<usize>() + 2,
            });
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
        finished.put_first(["first".into()]);
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
            all.push_str(finished.next(20));
        }
        all.push_str(finished.next(usize::MAX));
        let expected: String = (0..200)
            .flat_map(|round| (0..round % 7).map(move |line| format!("{round}.{line}\r\n")))
            .collect();
        assert_eq!(all, expected);
        assert!(finished.text.len() - finished.taken == 0 && finished.text.len() < expected.len());
    }
}
