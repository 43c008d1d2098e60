//! Keys for what the session itself asks. They answer as they answer a question for permission: not what was on its way when it appeared, not
//! what is part of something written, and no paste.

use super::{Act, Repl};
use crate::decision::{Deciding, Decision};
use crate::keys::{Code, Key};
use crate::letters::Heard;
use std::time::Instant;

impl Repl {
    /// Asks this.
    pub(crate) fn decide(&mut self, decision: Decision, now: Instant) {
        self.deciding = Some(Deciding::new(decision, now));
    }

    /// What is to be decided. A question for which nobody waits any more is dropped.
    pub(crate) fn deciding(&mut self) -> Option<&Decision> {
        if self.deciding.as_ref().is_some_and(Deciding::is_moot) {
            self.take_back_letter();
            self.deciding = None;
        }
        self.deciding.as_ref().map(Deciding::decision)
    }

    /// When keys decide.
    pub(crate) fn decided_from(&self) -> Option<Instant> {
        self.deciding
            .as_ref()
            .map(|deciding| deciding.letters.answerable_from())
    }

    /// Whether keys decide now.
    pub(crate) fn is_decidable(&self, now: Instant) -> bool {
        self.editor.is_empty()
            && self.editor.searching().is_none()
            && self.decided_from().is_some_and(|from| now >= from)
    }

    /// Time has passed: a letter that stood alone decides.
    pub(super) fn settle_decision(&mut self, now: Instant) -> Vec<Act> {
        if self.deciding().is_none() || !self.is_decidable(now) {
            return Vec::new();
        }
        let settled = self
            .deciding
            .as_ref()
            .and_then(|deciding| deciding.letters.settled(now));
        settled.map_or_else(Vec::new, |letter| self.decided(letter))
    }

    /// The letter that was picked was the beginning of something written.
    pub(super) fn take_back_letter(&mut self) {
        let letter = self.deciding.as_mut().and_then(|deciding| deciding.letters.unpick());
        self.give_letter(letter);
    }

    /// A key while something is to be decided; `None` if it is none for that, so that writing goes on.
    pub(super) fn decision_key(&mut self, key: Key, now: Instant) -> Option<Vec<Act>> {
        self.deciding()?;
        let is_decidable = self.is_decidable(now);
        let deciding = self.deciding.as_mut()?;
        if !is_decidable {
            let offered = |letter| deciding.is_offered(letter);
            let is_early =
                matches!(key, Key { code: Code::Char(letter), ctrl: false, alt: false, .. } if offered(letter));
            self.early = (is_early && self.is_only_early(key)).then_some(now);
            return None;
        }
        let heard = deciding.key(key, now);
        self.heard(heard, |repl, letter| repl.decided(letter))
    }

    /// What comes of a key for a question; `None` if it is none, so that writing goes on.
    pub(super) fn heard(&mut self, heard: Heard, answer: impl FnOnce(&mut Self, char) -> Vec<Act>) -> Option<Vec<Act>> {
        match heard {
            Heard::Writing(before) => {
                self.give_letter(before);
                None
            }
            Heard::Taken => Some(Vec::new()),
            Heard::Returned(letter) => {
                self.give_letter(Some(letter));
                Some(Vec::new())
            }
            Heard::Left => Some(vec![Act::Interrupt]),
            Heard::Answer(letter) => Some(answer(self, letter)),
        }
    }

    /// This letter is the beginning of something written.
    pub(super) fn give_letter(&mut self, letter: Option<char>) {
        if let Some(letter) = letter {
            self.editor.key(Key::plain(Code::Char(letter)));
        }
    }

    fn decided(&mut self, letter: char) -> Vec<Act> {
        let deciding = self.deciding.take();
        deciding.map_or_else(Vec::new, |deciding| vec![Act::Answered(deciding.answer(letter))])
    }
}
