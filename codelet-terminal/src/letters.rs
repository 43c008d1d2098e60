//! Letters that answer a question: not those that were on their way when it appeared, nor those that begin something written.

use crate::keys::{Code, Key};
use std::time::{Duration, Instant};

/// A question takes no key that was on its way when it appeared.
pub(crate) const STARTLED: Duration = Duration::from_millis(400);
/// A letter answers a question when nothing follows it for so long: who goes on typing is writing, not answering.
pub(crate) const SETTLED: Duration = Duration::from_millis(350);
/// Enter so soon after a letter was not pressed by a hand that has read anything: it is the end of a pasted line.
const BURST: Duration = Duration::from_millis(80);

/// The keys of a question that stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letters {
    asked: Instant,
    /// A letter that answers if nothing follows it.
    picked: Option<(char, Instant)>,
    /// The letter that permits more than this once: it waits for Enter, and another one may take its place.
    waiting: Option<char>,
}

/// What a key was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// Nothing to do with the question; this letter was none either, and belongs before it.
    Writing(Option<char>),
    /// It was taken.
    Taken,
    /// It belongs to what is written, with the letter before it, and ends there.
    Returned(char),
    /// The question is left.
    Left,
    /// This is the answer.
    Answer(char),
}

impl Letters {
    /// A question that appears now; this letter waits for Enter.
    pub(crate) fn new(now: Instant, waiting: Option<char>) -> Self {
        Letters {
            asked: now,
            picked: None,
            waiting,
        }
    }

    /// When keys answer.
    pub(crate) fn answerable_from(&self) -> Instant {
        self.asked + STARTLED
    }

    /// What Enter would answer now.
    pub(crate) fn picked(&self, now: Instant) -> Option<char> {
        let (letter, _) = self.picked.filter(|(_, at)| now >= *at + BURST)?;
        Some(letter)
    }

    /// When something becomes of the letter that was picked.
    pub(crate) fn settle_at(&self) -> impl Iterator<Item = Instant> {
        let alone = self.picked.filter(|(letter, _)| !self.waits(*letter));
        let burst = self.picked.map(|(_, at)| at + BURST);
        burst.into_iter().chain(alone.map(|(_, at)| at + SETTLED))
    }

    /// The letter that has stood alone for long enough to be the answer.
    pub(crate) fn settled(&self, now: Instant) -> Option<char> {
        let (letter, _) = self.picked.filter(|(_, at)| now >= *at + SETTLED)?;
        (!self.waits(letter)).then_some(letter)
    }

    fn waits(&self, letter: char) -> bool {
        self.waiting
            .is_some_and(|waiting| letter.eq_ignore_ascii_case(&waiting))
    }

    /// What was picked was no answer.
    pub(crate) fn unpick(&mut self) -> Option<char> {
        self.picked.take().map(|(letter, _)| letter)
    }

    /// Takes a key that may answer with one of the letters that are offered.
    pub(crate) fn key(&mut self, key: Key, now: Instant, is_offered: impl Fn(char) -> bool) -> Heard {
        let letter = match key.code {
            Code::Char(letter) if !key.ctrl && !key.alt && is_offered(letter) => Some(letter),
            _ => None,
        };
        let Some((picked, at)) = self.picked else {
            return match (key.code, letter) {
                (Code::Esc, _) => Heard::Left,
                // Enter alone is no answer.
                (Code::Enter, _) => Heard::Taken,
                (_, Some(letter)) => {
                    self.picked = Some((letter, now));
                    Heard::Taken
                }
                _ => Heard::Writing(None),
            };
        };
        match (key.code, letter) {
            (Code::Esc | Code::Backspace, _) => {
                self.picked = None;
                Heard::Taken
            }
            (Code::Enter, _) if now >= at + BURST => Heard::Answer(picked),
            (Code::Enter, _) => {
                self.picked = None;
                Heard::Returned(picked)
            }
            (_, Some(letter)) if self.waits(picked) && !self.waits(letter) && now >= at + SETTLED => {
                self.picked = Some((letter, now));
                Heard::Taken
            }
            _ => Heard::Writing(self.unpick()),
        }
    }
}
