//! The reason for a no, while it is being written.

use crate::editor::Editor;
use crate::keys::{Code, Key};
use std::time::{Duration, Instant};

/// What follows the letter so soon may be the rest of a word: `remove it` begins as the answer does.
const RUN_ON: Duration = Duration::from_millis(350);

/// A reason, and what else it may be.
#[derive(Debug)]
pub(crate) struct Reason {
    field: Editor,
    /// The letter that opened it, and when.
    letter: char,
    opened: Instant,
    /// It was left and opened again: what it holds is a reason.
    is_again: bool,
    /// It was typed in one go with its letter, so that both may be the beginning of a message.
    may_be_message: bool,
}

/// What a key makes of it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// It goes on.
    On,
    /// The model is told this; it is shown so.
    Told(String, String),
    /// It is left, and empty or a reason for later.
    Left,
    /// It is no reason but what was being written.
    Message,
}

impl Reason {
    /// An empty one, behind the letter that asked for it.
    pub(crate) fn new(letter: char, now: Instant) -> Self {
        Reason {
            field: Editor::default(),
            letter,
            opened: now,
            is_again: false,
            may_be_message: false,
        }
    }

    /// The same, opened again.
    pub(crate) fn again(self, now: Instant) -> Self {
        Reason {
            opened: now,
            is_again: true,
            ..self
        }
    }

    /// Whether nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.field.is_empty()
    }

    /// What is written before the cursor and behind it, pastes folded.
    pub(crate) fn parts(&self) -> (String, String) {
        self.field.parts()
    }

    /// Whether it may as well be a message that begins with the letter.
    pub(crate) fn may_be_message(&self) -> bool {
        self.may_be_message
    }

    /// All that was typed, pastes in full; with the letter, if that may be a part of it.
    pub(crate) fn typed(&self) -> String {
        let text = self.field.unfolded(&self.field.text());
        match self.may_be_message {
            true => format!("{}{text}", self.letter),
            false => text,
        }
    }

    /// Takes a paste.
    pub(crate) fn paste(&mut self, text: &str) {
        self.field.paste(text);
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: Key, now: Instant) -> Came {
        match key.code {
            Code::Esc if self.may_be_message && !self.is_empty() => Came::Message,
            Code::Esc => Came::Left,
            Code::Backspace if self.is_empty() => Came::Left,
            // The letter and all that follows came at once: it is a pasted line, or a slow line has kept the keys together.
            Code::Enter if now == self.opened && !self.is_again => {
                self.may_be_message = true;
                Came::Message
            }
            Code::Enter => {
                let shown = self.field.text().trim().to_owned();
                Came::Told(self.field.take().trim().to_owned(), shown)
            }
            Code::Char(_) if !key.ctrl && !key.alt => {
                let follows = now < self.opened + RUN_ON && !self.is_again;
                self.may_be_message |= follows && self.is_empty();
                self.field.key(key);
                Came::On
            }
            _ => {
                self.field.key(key);
                Came::On
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reason behind an `r`, typed with so many milliseconds between its keys.
    fn written(text: &str, pause: u64) -> (Reason, Instant) {
        let mut now = Instant::now();
        let mut reason = Reason::new('r', now);
        for c in text.chars() {
            now += Duration::from_millis(pause);
            assert_eq!(reason.key(Key::plain(Code::Char(c)), now), Came::On);
        }
        (reason, now + Duration::from_millis(pause))
    }

    #[test]
    fn a_reason_is_told_at_any_pace() {
        for pause in [8, 40, 150, 400, 3_000] {
            let (mut reason, now) = written("not now", pause);
            let told = Came::Told("not now".to_owned(), "not now".to_owned());
            assert_eq!(reason.key(Key::plain(Code::Enter), now), told, "{pause}");
        }
    }

    #[test]
    fn a_message_that_begins_with_the_letter_is_whole() {
        let (mut reason, now) = written("emove it", 120);
        assert_eq!(reason.key(Key::plain(Code::Esc), now), Came::Message);
        assert_eq!(reason.typed(), "remove it");
        // A line that came at once was pasted, and is no answer.
        let (mut reason, now) = written("un it", 0);
        assert_eq!(reason.key(Key::plain(Code::Enter), now), Came::Message);
        assert_eq!(reason.typed(), "run it");
    }

    #[test]
    fn who_has_read_the_question_and_goes_back_has_written_a_reason() {
        let (mut reason, now) = written("not now", 400);
        assert_eq!(reason.key(Key::plain(Code::Esc), now), Came::Left);
        assert_eq!(reason.typed(), "not now");
        let mut reason = reason.again(now);
        assert_eq!(reason.key(Key::plain(Code::Char('!')), now), Came::On);
        assert_eq!((reason.typed().as_str(), reason.may_be_message()), ("not now!", false));
    }

    #[test]
    fn a_reason_is_edited_as_a_message_is() {
        let (mut reason, now) = written("use make, not cargo", 400);
        reason.key(Key::ctrl('w'), now);
        assert_eq!(reason.typed(), "use make, not ");
        reason.key(Key::plain(Code::Home), now);
        reason.key(Key::plain(Code::Char('>')), now);
        assert_eq!(reason.parts(), (">".to_owned(), "use make, not ".to_owned()));
        reason.key(Key::plain(Code::End), now);
        reason.key(Key::ctrl('u'), now);
        assert!(reason.is_empty());
        assert_eq!(reason.key(Key::plain(Code::Backspace), now), Came::Left);
    }

    #[test]
    fn a_pasted_reason_is_shown_folded_and_told_whole() {
        let (mut reason, now) = written("see ", 400);
        let log = "a line of a log\n".repeat(50);
        reason.paste(&log);
        let told = reason.key(Key::plain(Code::Enter), now);
        let whole = format!("see {}", log.trim_end());
        assert_eq!(told, Came::Told(whole, "see [pasted 50 lines]".to_owned()));
    }
}
