//! The reason for refusing a permission, while it is being typed.

use crate::editor::Editor;
use crate::keys::{Key, KeyCode};

/// A reason.
#[derive(Debug, Default)]
pub(crate) struct Reason {
    field: Editor,
}

/// The result of a key.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum KeyOutcome {
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
    pub(crate) fn key(&mut self, key: Key) -> KeyOutcome {
        match key.code {
            KeyCode::Esc => KeyOutcome::Left,
            KeyCode::Backspace if self.is_empty() => KeyOutcome::Left,
            KeyCode::Enter => KeyOutcome::Told(self.field.take().trim().to_owned()),
            _ => {
                self.field.key(key);
                KeyOutcome::On
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
            assert_eq!(reason.key(Key::plain(KeyCode::Char(c))), KeyOutcome::On);
        }
        reason
    }

    #[test]
    fn a_reason_is_edited_as_a_message_is() {
        let mut reason = written("use make, not cargo");
        reason.key(Key::ctrl('w'));
        assert_eq!(reason.typed(), "use make, not ");
        reason.key(Key::plain(KeyCode::Home));
        reason.key(Key::plain(KeyCode::Char('>')));
        assert_eq!(reason.parts(), (">".to_owned(), "use make, not ".to_owned()));
        reason.key(Key::plain(KeyCode::End));
        reason.key(Key::ctrl('u'));
        assert!(reason.is_empty());
        assert_eq!(reason.key(Key::plain(KeyCode::Backspace)), KeyOutcome::Left);
    }

    #[test]
    fn a_pasted_reason_is_shown_folded_and_told_whole() {
        let mut reason = written("see ");
        let log = "a line of a log\n".repeat(50);
        reason.paste(&log);
        assert_eq!(reason.parts().0, "see [pasted 50 lines]");
        assert_eq!(
            reason.key(Key::plain(KeyCode::Enter)),
            KeyOutcome::Told(format!("see {}", log.trim_end()))
        );
    }
}
