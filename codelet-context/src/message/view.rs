//! What would be sent to the model: a view of the history.

use crate::message::Message;
use crate::message::recall::Archive;
use std::sync::Arc;

/// The messages as they would be sent, and everything that left them. Messages are shared with the history, so a view
/// is cheap to keep for an undo.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct View {
    /// What would be sent, in order.
    pub messages: Vec<Arc<Message>>,
    /// What was removed from it, by handle.
    pub archive: Archive,
}

impl View {
    /// A view that shows these messages whole.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        View {
            messages: messages.into_iter().map(Arc::new).collect(),
            archive: Archive::default(),
        }
    }

    /// A message to alter; it is copied first if the history shares it.
    ///
    /// # Panics
    /// If the view has no message at this index.
    pub fn edit(&mut self, index: usize) -> &mut Message {
        Arc::make_mut(&mut self.messages[index])
    }
}

impl FromIterator<Message> for View {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        View::new(messages)
    }
}
