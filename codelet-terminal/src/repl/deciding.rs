//! Keys for the session's own questions. They follow the rules of permission questions: keys pressed before the
//! question appeared, letters that are part of typed text, and pastes do not answer.

use super::{Act, Repl};
use crate::decision::{Deciding, Decision};
use crate::keys::{Key, KeyCode};
use crate::letters::Heard;
use std::time::Instant;

impl Repl {
    /// Asks this question.
    pub(crate) fn decide(&mut self, decision: Decision, now: Instant) {
        self.deciding = Some(Deciding::new(decision, now));
    }

    /// The current question. Drops one whose receiver is gone.
    pub(crate) fn deciding(&mut self) -> Option<&Decision> {
        if self.deciding.as_ref().is_some_and(Deciding::is_moot) {
            self.take_back_letter();
            self.deciding = None;
        }
        self.deciding.as_ref().map(Deciding::decision)
    }

    /// The time from which keys decide.
    pub(crate) fn decided_from(&self) -> Option<Instant> {
        self.deciding
            .as_ref()
            .map(|deciding| deciding.letters.answerable_from())
    }

    /// Returns whether keys decide now.
    pub(crate) fn is_decidable(&self, now: Instant) -> bool {
        self.editor.is_empty()
            && self.editor.searching().is_none()
            && self.decided_from().is_some_and(|from| now >= from)
    }

    /// Handles elapsed time: a letter that nothing followed decides.
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

    /// The pending letter was the beginning of typed text.
    pub(super) fn take_back_letter(&mut self) {
        let letter = self.deciding.as_mut().and_then(|deciding| deciding.letters.unpick());
        self.give_letter(letter);
    }

    /// Handles a key for the decision; `None` if it is none, so that it is typed.
    pub(super) fn decision_key(&mut self, key: Key, now: Instant) -> Option<Vec<Act>> {
        self.deciding()?;
        let is_decidable = self.is_decidable(now);
        let deciding = self.deciding.as_mut()?;
        if !is_decidable {
            let word = deciding.letters.word(key, &self.editor.text(), now);
            if let Some(letter) = word.filter(|&letter| deciding.is_offered(letter)) {
                self.editor.set("");
                return Some(self.decided(letter));
            }
            let is_offered = matches!(key.code, KeyCode::Char(letter) if deciding.is_offered(letter));
            self.early = (key.types() && is_offered && self.is_only_early(key)).then_some(now);
            return None;
        }
        let heard = deciding.key(key, now);
        self.heard(heard, |repl, letter| repl.decided(letter))
    }

    /// Applies the outcome of a key for a question; `None` if it is none, so that it is typed.
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

    /// Inserts a letter that turned out to be the beginning of typed text.
    pub(super) fn give_letter(&mut self, letter: Option<char>) {
        if let Some(letter) = letter {
            self.editor.key(Key::plain(KeyCode::Char(letter)));
        }
    }

    fn decided(&mut self, letter: char) -> Vec<Act> {
        let deciding = self.deciding.take();
        deciding.map_or_else(Vec::new, |deciding| vec![Act::Answered(deciding.answer(letter))])
    }
}
