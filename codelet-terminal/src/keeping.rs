//! The patterns of a permission rule that will be saved for a project, while the user reads and edits them.

use crate::editor::Editor;
use crate::keys::{Key, KeyCode};
use std::time::{Duration, Instant};

/// Enter within this time of the patterns appearing was pressed before anybody could read them.
const UNREAD: Duration = Duration::from_millis(350);

/// The edited patterns, and why the last ones were rejected.
#[derive(Debug)]
pub(crate) struct Keeping {
    field: Editor,
    opened: Instant,
    pub objection: Option<&'static str>,
}

/// The result of a key.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Edited {
    /// Editing continues.
    On,
    /// Enter arrived before anybody could have read the patterns.
    Unread,
    /// Save these patterns.
    Taken(String),
    /// Dismissed; nothing is saved.
    Left,
}

impl Keeping {
    /// The proposed patterns, with the cursor at the end.
    pub(crate) fn new(proposal: &str, now: Instant) -> Self {
        let mut field = Editor::default();
        field.set(proposal);
        Keeping {
            field,
            opened: now,
            objection: None,
        }
    }

    /// The text before and after the cursor.
    pub(crate) fn parts(&self) -> (String, String) {
        self.field.parts()
    }

    /// The time from which Enter is accepted.
    pub(crate) fn takes_from(&self) -> Instant {
        self.opened + UNREAD
    }

    /// Inserts a paste.
    pub(crate) fn paste(&mut self, text: &str) {
        self.objection = None;
        self.field.paste(text);
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: Key, now: Instant) -> Edited {
        match key.code {
            KeyCode::Esc => return Edited::Left,
            KeyCode::Enter if now < self.takes_from() => return Edited::Unread,
            KeyCode::Enter => return Edited::Taken(self.field.unfolded(&self.field.text())),
            _ => {
                self.objection = None;
                self.field.key(key);
            }
        }
        Edited::On
    }
}
