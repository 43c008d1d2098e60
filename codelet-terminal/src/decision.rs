//! Something that the session itself asks: what is to be done, of a few things with a letter each.

use crate::keys::{Code, Key};
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
}

/// A question that stands.
pub(crate) struct Deciding {
    decision: Decision,
    asked: Instant,
    picked: Option<Picked>,
}

/// A letter that is an answer if nothing follows it.
#[derive(Clone, Copy)]
struct Picked {
    letter: char,
    at: Instant,
}

/// How long keys are waited for, as for any question.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// A question takes no key that was on its way when it appeared.
    pub startled: std::time::Duration,
    /// A letter answers when nothing follows it for so long.
    pub settled: std::time::Duration,
    /// Enter so soon after a letter is the end of a pasted line.
    pub burst: std::time::Duration,
}

/// What a key was.
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

impl Deciding {
    pub(crate) fn new(decision: Decision, now: Instant) -> Self {
        Deciding {
            decision,
            asked: now,
            picked: None,
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
        self.decision.alternatives.iter().any(|it| it.letter == letter)
    }

    /// When keys answer.
    pub(crate) fn answerable_from(&self, patience: Patience) -> Instant {
        self.asked + patience.startled
    }

    /// When the letter that was picked is the answer.
    pub(crate) fn settles_at(&self, patience: Patience) -> Option<Instant> {
        self.picked.map(|picked| picked.at + patience.settled)
    }

    /// What was picked and has stood alone for long enough.
    pub(crate) fn settled(&self, now: Instant, patience: Patience) -> Option<char> {
        self.picked
            .filter(|picked| now >= picked.at + patience.settled)
            .map(|picked| picked.letter)
    }

    /// What was picked was no answer.
    pub(crate) fn unpick(&mut self) -> Option<char> {
        self.picked.take().map(|picked| picked.letter)
    }

    /// Takes a key that may answer.
    pub(crate) fn key(&mut self, key: Key, now: Instant, patience: Patience) -> Heard {
        let is_plain = !key.ctrl && !key.alt;
        if let Some(picked) = self.picked {
            return match key.code {
                Code::Esc | Code::Backspace => {
                    self.picked = None;
                    Heard::Taken
                }
                Code::Enter if now >= picked.at + patience.burst => Heard::Answer(picked.letter),
                Code::Enter => {
                    self.picked = None;
                    Heard::Returned(picked.letter)
                }
                _ => Heard::Writing(self.unpick()),
            };
        }
        match key.code {
            Code::Esc => Heard::Left,
            // Enter alone is no answer.
            Code::Enter => Heard::Taken,
            Code::Char(letter) if is_plain && self.is_offered(letter) => {
                self.picked = Some(Picked { letter, at: now });
                Heard::Taken
            }
            _ => Heard::Writing(None),
        }
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
