//! Letters that answer a question, as opposed to keys pressed before it appeared and letters that begin typed text.

use crate::keys::{Key, KeyCode};
use std::time::{Duration, Instant};

/// Time during which a new question takes no keys, as they were pressed before it was seen.
pub(crate) const STARTLED: Duration = Duration::from_millis(400);
/// A letter answers a question if nothing follows it for this time; a user who goes on typing is not answering.
pub(crate) const SETTLED: Duration = Duration::from_millis(350);
/// Enter this soon after a letter is the end of a pasted line: nobody reads and confirms that fast.
const BURST: Duration = Duration::from_millis(80);

/// The answer keys of a pending question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letters {
    asked: Instant,
    /// A letter that answers if nothing follows it.
    picked: Option<(char, Instant)>,
    /// The letter that permits more than this call: it waits for Enter, and another letter may replace it.
    waiting: Option<char>,
    /// The time of the last key of a text that began with a letter picked for this question.
    written: Option<Instant>,
}

/// The meaning of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// Not for the question; the letter picked before it was none either, and is typed first.
    Writing(Option<char>),
    /// Consumed.
    Taken,
    /// Enter that belongs to typed text, after this letter.
    Returned(char),
    /// The question was dismissed.
    Left,
    /// The answer.
    Answer(char),
}

impl Letters {
    /// A question that appears at `now`; the letter `waiting` needs Enter.
    pub(crate) fn new(now: Instant, waiting: Option<char>) -> Self {
        Letters {
            asked: now,
            picked: None,
            waiting,
            written: None,
        }
    }

    /// The time from which keys answer.
    pub(crate) fn answerable_from(&self) -> Instant {
        self.asked + STARTLED
    }

    /// The answer that Enter would give now.
    pub(crate) fn picked(&self, now: Instant) -> Option<char> {
        let (letter, _) = self.picked.filter(|(_, at)| now >= *at + BURST)?;
        Some(letter)
    }

    /// The times at which the picked letter takes effect.
    pub(crate) fn settle_at(&self) -> impl Iterator<Item = Instant> {
        let alone = self.picked.filter(|(letter, _)| !self.waits(*letter));
        let burst = self.picked.map(|(_, at)| at + BURST);
        burst.into_iter().chain(alone.map(|(_, at)| at + SETTLED))
    }

    /// The letter that nothing has followed for long enough to be the answer.
    pub(crate) fn settled(&self, now: Instant) -> Option<char> {
        let (letter, _) = self.picked.filter(|(_, at)| now >= *at + SETTLED)?;
        (!self.waits(letter)).then_some(letter)
    }

    fn waits(&self, letter: char) -> bool {
        self.waiting
            .is_some_and(|waiting| letter.eq_ignore_ascii_case(&waiting))
    }

    /// Takes back a picked letter that was no answer.
    pub(crate) fn unpick(&mut self) -> Option<char> {
        self.picked.take().map(|(letter, _)| letter)
    }

    /// Handles a key that may answer with one of the offered letters.
    pub(crate) fn key(&mut self, key: Key, now: Instant, is_offered: impl Fn(char) -> bool) -> Heard {
        let letter = match key.code {
            KeyCode::Char(letter) if key.types() && is_offered(letter) => Some(letter),
            _ => None,
        };
        let Some((picked, at)) = self.picked else {
            return match (key.code, letter) {
                (KeyCode::Esc, _) => Heard::Left,
                // Enter alone is no answer.
                (KeyCode::Enter, _) => Heard::Taken,
                (_, Some(letter)) => {
                    self.picked = Some((letter, now));
                    Heard::Taken
                }
                _ => Heard::Writing(None),
            };
        };
        match (key.code, letter) {
            (KeyCode::Esc | KeyCode::Backspace, _) => {
                self.picked = None;
                Heard::Taken
            }
            (KeyCode::Enter, _) if now >= at + BURST => Heard::Answer(picked),
            (KeyCode::Enter, _) => {
                self.picked = None;
                Heard::Returned(picked)
            }
            (_, Some(letter)) if self.waits(picked) && !self.waits(letter) && now >= at + SETTLED => {
                self.picked = Some((letter, now));
                Heard::Taken
            }
            // The user has seen what the letter would permit: what follows is not the rest of a word.
            _ if self.waits(picked) && now >= at + SETTLED => {
                self.picked = None;
                Heard::Writing(None)
            }
            _ => {
                self.written = Some(now);
                Heard::Writing(self.unpick())
            }
        }
    }

    /// The answer of a whole word and Enter: the letter of a "yes" or "no" that is all of the `text`. Typing it began
    /// when keys already answered.
    pub(crate) fn word(&mut self, key: Key, text: &str, now: Instant) -> Option<char> {
        let before = self.written.replace(self.written.map(|_| now)?)?;
        let is_enter = key.code == KeyCode::Enter && !key.alt && !key.shift && now >= before + BURST;
        let words = [("yes", 'y'), ("no", 'n')];
        let word = words.into_iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
        word.filter(|_| is_enter).map(|(_, letter)| letter)
    }
}
