//! Finished lines that wait for the terminal, as the bytes that it will be sent. An answer may bring them faster than it
//! takes them, and as lines with their styles they would fill several times the memory.

use crate::screen::push_line;
use ratatui::text::Line;
use std::collections::VecDeque;

/// Room for so many bytes is kept when nothing waits.
const KEPT: usize = 64 * 1024;

/// Lines in their order.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    text: String,
    /// So much of the text was taken.
    taken: usize,
    waiting: VecDeque<Waiting>,
}

/// A line that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Bytes of it, its end included.
    bytes: usize,
    /// The same without its looks.
    words: usize,
}

impl Finished {
    /// Whether no line waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> usize {
        self.text.len() - self.taken
    }

    /// Lines that come first, for good.
    pub fn put_first(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        let mut first = Finished::default();
        first.extend(lines);
        first.text.push_str(&self.text[self.taken..]);
        first.waiting.append(&mut self.waiting);
        *self = first;
    }

    /// The next lines, which are so many bytes of words at most. One line alone may be longer than that.
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
        // What was taken goes once it is the larger part, so that no byte is moved more than once.
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
            let from = self.text.len();
            push_line(&mut self.text, &line, usize::MAX);
            self.text.push_str("\r\n");
            self.waiting.push_back(Waiting {
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
