//! A question of the session itself, answered by choosing one of several letters.

use crate::keys::Key;
use crate::letters::{Heard, Letters};
use std::time::Instant;
use tokio::sync::oneshot;

/// One of the possible answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Alternative {
    /// The letter that chooses it.
    pub letter: char,
    /// Its description, in a few words.
    pub words: String,
}

impl Alternative {
    pub(crate) fn new(letter: char, words: impl Into<String>) -> Self {
        let words = words.into();
        Alternative { letter, words }
    }
}

/// A question with its alternatives and the channel for the letter that is chosen.
pub(crate) struct Decision {
    /// The question, in a sentence.
    pub question: String,
    /// The possible answers.
    pub alternatives: Vec<Alternative>,
    answer: oneshot::Sender<char>,
}

impl Decision {
    /// Returns a question and the receiver of its answer. If the question is dismissed, the channel closes without one.
    pub(crate) fn new(question: String, alternatives: Vec<Alternative>) -> (Self, oneshot::Receiver<char>) {
        let (answer, answered) = oneshot::channel();
        let decision = Decision {
            question,
            alternatives,
            answer,
        };
        (decision, answered)
    }

    fn is_offered(&self, letter: char) -> bool {
        self.alternatives.iter().any(|it| it.letter == letter)
    }
}

/// A question that is shown to the user.
pub(crate) struct Deciding {
    decision: Decision,
    pub letters: Letters,
}

impl Deciding {
    pub(crate) fn new(decision: Decision, now: Instant) -> Self {
        Deciding {
            decision,
            letters: Letters::new(now, None),
        }
    }

    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns whether nobody waits for the answer any more.
    pub(crate) fn is_moot(&self) -> bool {
        self.decision.answer.is_closed()
    }

    /// Returns whether this letter is one of the answers.
    pub(crate) fn is_offered(&self, letter: char) -> bool {
        self.decision.is_offered(letter)
    }

    /// Handles a key that may answer.
    pub(crate) fn key(&mut self, key: Key, now: Instant) -> Heard {
        let Deciding { decision, letters } = self;
        letters.key(key, now, |letter| decision.is_offered(letter))
    }

    /// Sends the answer; returns the question with the chosen words.
    pub(crate) fn answer(self, letter: char) -> String {
        let chosen = self.decision.alternatives.iter().find(|it| it.letter == letter);
        let words = chosen.map_or("", |chosen| &*chosen.words);
        let told = format!("{} {words}", self.decision.question);
        // The receiver may be gone.
        let _ = self.decision.answer.send(letter);
        told
    }
}
