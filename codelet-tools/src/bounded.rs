//! Keeps both ends of a text of any length.

use codelet_agent::tool::MOST;
use std::collections::VecDeque;

/// Keeps the first and the last half of what fits.
pub(crate) struct Bounded {
    head: String,
    /// Whole texts as they arrived; the front may exceed what is kept in the end.
    tail: VecDeque<String>,
    tail_bytes: usize,
    total: u64,
    most: usize,
}

/// Minimum length of a piece of the tail, so that many short texts cost little more than their bytes.
const PIECE: usize = 16 * 1024;

impl Default for Bounded {
    fn default() -> Self {
        // Leaves room for the notes that the tools add.
        Bounded::new(MOST - 4096)
    }
}

impl Bounded {
    /// Keeps at most this many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Bounded {
            head: String::new(),
            tail: VecDeque::new(),
            tail_bytes: 0,
            total: 0,
            most,
        }
    }

    /// Appends a text.
    pub(crate) fn push(&mut self, text: &str) {
        self.total += text.len() as u64;
        let mut rest = text;
        let room = (self.most / 2).saturating_sub(self.head.len());
        if room > 0 && self.tail.is_empty() {
            let (fits, more) = text.split_at(text.floor_char_boundary(room));
            self.head.push_str(fits);
            rest = more;
        }
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.ceil_char_boundary(PIECE.min(rest.len())));
            match self.tail.back_mut() {
                Some(last) if last.len() < PIECE => last.push_str(piece),
                _ => self.tail.push_back(piece.to_owned()),
            }
            self.tail_bytes += piece.len();
            rest = more;
            while let Some(first) = self.tail.front()
                && self.tail_bytes - first.len() >= self.most / 2
            {
                self.tail_bytes -= first.len();
                self.tail.pop_front();
            }
        }
    }

    /// Returns the text that was kept, with a line that marks the gap, and the number of bytes lost there.
    pub(crate) fn finish(mut self) -> (String, u64) {
        let lost = self.total - (self.head.len() + self.tail_bytes) as u64;
        let tail: String = std::mem::take(&mut self.tail).into_iter().collect();
        // The first piece may exceed the limit by less than its own length.
        let over = tail.len().saturating_sub(self.most / 2);
        let from = if lost > 0 || over > 0 {
            tail.ceil_char_boundary(over)
        } else {
            0
        };
        let lost = lost + from as u64;
        let mut text = self.head;
        if lost > 0 {
            let size = codelet_text::short::grouped(lost as usize);
            text.push_str(&format!("\n[{size} bytes were not kept]\n"));
        }
        text.push_str(&tail[from..]);
        (text, lost)
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        self.head.capacity() + self.tail.iter().map(String::capacity).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_flood_takes_no_more_memory_than_its_bound() {
        let mut bounded = Bounded::default();
        let piece = "x".repeat(60_000);
        for _ in 0..20_000 {
            bounded.push(&piece);
        }
        assert!(bounded.held() <= 2 * MOST, "{}", bounded.held());
        let (text, lost) = bounded.finish();
        assert!(text.len() <= MOST && text.len() > MOST - 40_000, "{}", text.len());
        assert!(lost + text.len() as u64 >= 1_200_000_000);
    }

    #[test]
    fn many_short_texts_take_little_more_than_their_bytes() {
        let mut bounded = Bounded::default();
        for _ in 0..3_000_000 {
            bounded.push("y\n");
            bounded.push("longer\n");
        }
        assert!(bounded.held() <= 3 * MOST, "{}", bounded.held());
    }

    proptest! {
        #[test]
        fn the_ends_are_kept_and_the_rest_is_counted(texts in prop::collection::vec("[a-zä€]{0,40}", 0..30), most in 2usize..200) {
            let mut bounded = Bounded::new(most);
            for text in &texts {
                bounded.push(text);
            }
            let whole = texts.concat();
            let (text, lost) = bounded.finish();
            match lost {
                0 => prop_assert_eq!(text, whole),
                _ => {
                    let mark = format!("\n[{} bytes were not kept]\n", codelet_text::short::grouped(lost as usize));
                    let (head, tail) = text.split_once(&mark).unwrap();
                    prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
                    prop_assert_eq!(head.len() + tail.len() + lost as usize, whole.len());
                    prop_assert!(head.len() + tail.len() <= most);
                }
            }
        }
    }
}
