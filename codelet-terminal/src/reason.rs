//! The reason for refusing a permission, while it is being typed.

use crate::editor::Editor;
use crate::keys::{Code, Key};

/// A reason.
#[derive(Debug, Default)]
pub(crate) struct Reason {
    field: Editor,
}

/// The result of a key.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// Typing continues.
    On,
    /// The refusal is sent with this reason.
    Told(String),
    /// The reason is dismissed.
    Left,
}

impl Reason {
    /// Returns whether nothing is typed.
    pub(crate) fn is_empty(&self) -> bool {
        self.field.is_empty()
    }

    /// The text before and after the cursor, pastes folded.
    pub(crate) fn parts(&self) -> (String, String) {
        self.field.parts()
    }

    /// The typed text, pastes in full.
    pub(crate) fn typed(&self) -> String {
        self.field.unfolded(&self.field.text())
    }

    /// Inserts a paste.
    pub(crate) fn paste(&mut self, text: &str) {
        self.field.paste(text);
    }

    /// Handles a key.
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
