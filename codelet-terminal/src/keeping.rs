//! The patterns that are to be kept for a project, while they are being read and changed.

use crate::editor::Editor;
use crate::keys::{Code, Key};
use std::time::{Duration, Instant};

/// An Enter so soon was on its way when the patterns appeared: nobody has read them.
const UNREAD: Duration = Duration::from_millis(350);

/// What is written, and why it was not taken.
#[derive(Debug)]
pub(crate) struct Keeping {
    field: Editor,
    opened: Instant,
    pub objection: Option<&'static str>,
}

/// What a key makes of it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Edited {
    /// It goes on.
    On,
    /// Enter came before anybody can have read them.
    Unread,
    /// This is to be kept.
    Taken(String),
    /// It is left, and nothing is kept.
    Left,
}

impl Keeping {
    /// The proposed patterns, the cursor at their end.
    pub(crate) fn new(proposal: &str, now: Instant) -> Self {
        let mut field = Editor::default();
        field.set(proposal);
        Keeping {
            field,
            opened: now,
            objection: None,
        }
    }

    /// What is written before the cursor and behind it.
    pub(crate) fn parts(&self) -> (String, String) {
        self.field.parts()
    }

    /// When Enter is an answer.
    pub(crate) fn takes_from(&self) -> Instant {
        self.opened + UNREAD
    }

    /// Takes a paste.
    pub(crate) fn paste(&mut self, text: &str) {
        self.objection = None;
        self.field.paste(text);
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: Key, now: Instant) -> Edited {
        match key.code {
            Code::Esc => return Edited::Left,
            Code::Enter if now < self.takes_from() => return Edited::Unread,
            Code::Enter => return Edited::Taken(self.field.unfolded(&self.field.text())),
            _ => {
                self.objection = None;
                self.field.key(key);
            }
        }
        Edited::On
    }
}
