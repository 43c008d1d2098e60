//! The reason for a no, while it is being written.

use crate::editor::Editor;
use crate::keys::{Code, Key};

/// A reason.
#[derive(Debug, Default)]
pub(crate) struct Reason {
    field: Editor,
}

/// What a key makes of it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// It goes on.
    On,
    /// The model is told this.
    Told(String),
    /// It is left.
    Left,
}

impl Reason {
    /// Whether nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.field.is_empty()
    }

    /// What is written before the cursor and behind it, pastes folded.
    pub(crate) fn parts(&self) -> (String, String) {
        self.field.parts()
    }

    /// All that was typed, pastes in full.
    pub(crate) fn typed(&self) -> String {
        self.field.unfolded(&self.field.text())
    }

    /// Takes a paste.
    pub(crate) fn paste(&mut self, text: &str) {
        self.field.paste(text);
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: Key) -> Came {
        match key.code {
            Code::Esc => Came::Left,
            Code::Backspace if self.is_empty() => Came::Left,
            Code::Enter => Came::Told(self.field.take().trim().to_owned()),
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

    fn written(text: &str) -> Reason {
        let mut reason = Reason::default();
        for c in text.chars() {
            assert_eq!(reason.key(Key::plain(Code::Char(c))), Came::On);
        }
        reason
    }

    #[test]
    fn a_reason_is_edited_as_a_message_is() {
        let mut reason = written("use make, not cargo");
        reason.key(Key::ctrl('w'));
        assert_eq!(reason.typed(), "use make, not ");
        reason.key(Key::plain(Code::Home));
        reason.key(Key::plain(Code::Char('>')));
        assert_eq!(reason.parts(), (">".to_owned(), "use make, not ".to_owned()));
        reason.key(Key::plain(Code::End));
        reason.key(Key::ctrl('u'));
        assert!(reason.is_empty());
        assert_eq!(reason.key(Key::plain(Code::Backspace)), Came::Left);
    }

    #[test]
    fn a_pasted_reason_is_shown_folded_and_told_whole() {
        let mut reason = written("see ");
        let log = "a line of a log\n".repeat(50);
        reason.paste(&log);
        assert_eq!(reason.parts().0, "see [pasted 50 lines]");
        assert_eq!(
            reason.key(Key::plain(Code::Enter)),
            Came::Told(format!("see {}", log.trim_end()))
        );
    }
}
