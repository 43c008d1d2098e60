//! Something that the session itself asks: what is to be done, of a few things with a letter each.

use crate::keys::Key;
use crate::letters::{Heard, Letters};
use std::time::Instant;
use tokio::sync::oneshot;

/// One of the things that may be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Alternative {
    /// The letter that chooses it.
    pub letter: char,
    /// What it is, in a few words.
    pub words: String,
}

impl Alternative {
    pub(crate) fn new(letter: char, words: impl Into<String>) -> Self {
        let words = words.into();
        Alternative { letter, words }
    }
}

/// What is asked, with where the answer goes: the letter of what was chosen.
pub(crate) struct Decision {
    /// In a sentence.
    pub question: String,
    /// What may be chosen.
    pub alternatives: Vec<Alternative>,
    answer: oneshot::Sender<char>,
}

impl Decision {
    /// A question, and where its answer arrives. Nothing arrives where it is left unanswered.
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

/// A question that stands.
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

    /// Whether nobody waits for the answer any more.
    pub(crate) fn is_moot(&self) -> bool {
        self.decision.answer.is_closed()
    }

    /// Whether this letter chooses something.
    pub(crate) fn is_offered(&self, letter: char) -> bool {
        self.decision.is_offered(letter)
    }

    /// Takes a key that may answer.
    pub(crate) fn key(&mut self, key: Key, now: Instant) -> Heard {
        let Deciding { decision, letters } = self;
        letters.key(key, now, |letter| decision.is_offered(letter))
    }

    /// Answers; returns the question with what was chosen.
    pub(crate) fn answer(self, letter: char) -> String {
        let chosen = self.decision.alternatives.iter().find(|it| it.letter == letter);
        let words = chosen.map_or("", |chosen| &*chosen.words);
        let told = format!("{} {words}", self.decision.question);
        // Whoever asked may have left.
        let _ = self.decision.answer.send(letter);
        told
    }
}
