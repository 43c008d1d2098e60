//! Everything that was ever said, in order. It only grows.

use crate::message::Message;
use std::sync::Arc;

/// The append-only conversation. What is known of a message is computed once, when it is appended.
#[derive(Clone, Debug, Default)]
pub struct History {
    messages: Vec<Arc<Message>>,
}

impl History {
    /// An empty history.
    pub fn new() -> Self {
        History::default()
    }

    /// Appends a message.
    pub fn append(&mut self, message: impl Into<Arc<Message>>) {
        self.messages.push(message.into());
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }
}

impl FromIterator<Message> for History {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let mut history = History::new();
        for message in messages {
            history.append(message);
        }
        history
    }
}
