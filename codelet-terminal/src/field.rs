//! A line that is typed to answer a permission question: the reason for a refusal, or the patterns of a rule to be saved.

use crate::editor::Editor;
use crate::keys::{Key, KeyCode};
use std::time::{Duration, Instant};

/// Enter within this time of the patterns appearing was pressed before anybody could read them.
const UNREAD: Duration = Duration::from_millis(350);

/// The content of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// The reason for refusing a call.
    Reason,
    /// Patterns that will be saved for the project.
    Patterns,
}

/// A field, and why its last text was rejected.
#[derive(Debug)]
pub(crate) struct Field {
    pub content: Content,
    editor: Editor,
    opened: Instant,
    pub objection: Option<String>,
}

/// A field as it is shown now.
pub(crate) struct FieldView {
    pub content: Content,
    /// The text before and after the cursor, pastes folded.
    pub parts: (String, String),
    pub objection: Option<String>,
    /// Enter is accepted now.
    pub is_takeable: bool,
}

/// The result of a key.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum FieldKey {
    /// Typing continues.
    On,
    /// Enter arrived before anybody could have read the text.
    Unread,
    /// The answer is given with this text, pastes in full.
    Taken(String),
    /// The field is dismissed.
    Left,
}

impl Field {
    /// A field with this text, with the cursor at the end.
    pub(crate) fn new(content: Content, text: &str, now: Instant) -> Self {
        let mut editor = Editor::default();
        editor.set(text);
        Field {
            content,
            editor,
            opened: now,
            objection: None,
        }
    }

    /// Returns whether nothing is typed.
    pub(crate) fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// The field as it is shown now.
    pub(crate) fn view(&self, now: Instant) -> FieldView {
        FieldView {
            content: self.content,
            parts: self.editor.parts(),
            objection: self.objection.clone(),
            is_takeable: now >= self.takes_from(),
        }
    }

    /// The typed text, pastes in full.
    pub(crate) fn typed(&self) -> String {
        self.editor.unfolded(&self.editor.text())
    }

    /// The time from which Enter is accepted.
    pub(crate) fn takes_from(&self) -> Instant {
        match self.content {
            Content::Reason => self.opened,
            Content::Patterns => self.opened + UNREAD,
        }
    }

    /// Inserts a paste.
    pub(crate) fn paste(&mut self, text: &str) {
        self.objection = None;
        self.editor.paste(text);
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: Key, now: Instant) -> FieldKey {
        match key.code {
            KeyCode::Esc => FieldKey::Left,
            KeyCode::Backspace if self.is_empty() => FieldKey::Left,
            KeyCode::Enter if now < self.takes_from() => FieldKey::Unread,
            KeyCode::Enter => FieldKey::Taken(self.typed().trim().to_owned()),
            _ => {
                self.objection = None;
                self.editor.key(key);
                FieldKey::On
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(field: &mut Field, key: Key) -> FieldKey {
        field.key(key, Instant::now())
    }

    fn written(text: &str) -> Field {
        let mut reason = Field::new(Content::Reason, "", Instant::now());
        for c in text.chars() {
            assert_eq!(press(&mut reason, Key::plain(KeyCode::Char(c))), FieldKey::On);
        }
        reason
    }

    #[test]
    fn a_reason_is_edited_as_a_message_is() {
        let mut reason = written("use make, not cargo");
        press(&mut reason, Key::ctrl('w'));
        assert_eq!(reason.typed(), "use make, not ");
        press(&mut reason, Key::plain(KeyCode::Home));
        press(&mut reason, Key::plain(KeyCode::Char('>')));
        assert_eq!(
            reason.view(Instant::now()).parts,
            (">".to_owned(), "use make, not ".to_owned())
        );
        press(&mut reason, Key::plain(KeyCode::End));
        press(&mut reason, Key::ctrl('u'));
        assert!(reason.is_empty());
        assert_eq!(press(&mut reason, Key::plain(KeyCode::Backspace)), FieldKey::Left);
    }

    #[test]
    fn a_pasted_reason_is_shown_folded_and_told_whole() {
        let mut reason = written("see ");
        let log = "a line of a log\n".repeat(50);
        reason.paste(&log);
        assert_eq!(reason.view(Instant::now()).parts.0, "see [pasted 50 lines]");
        assert_eq!(
            press(&mut reason, Key::plain(KeyCode::Enter)),
            FieldKey::Taken(format!("see {}", log.trim_end()))
        );
    }
}
