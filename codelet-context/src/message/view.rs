//! A view: the part of the history that would be sent to the model.

use crate::message::Message;
use crate::message::recall::Archive;
use std::sync::Arc;

/// The messages that would be sent, and everything that was removed from them. Messages are shared with the history, so
/// a view is cheap to keep for an undo.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct View {
    /// The messages that would be sent, in order.
    pub messages: Vec<Arc<Message>>,
    /// The removed content, by handle.
    pub archive: Archive,
}

impl View {
    /// Creates a view of these messages, with nothing removed.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        View {
            messages: messages.into_iter().map(Arc::new).collect(),
            archive: Archive::default(),
        }
    }

    /// Returns a message for editing, copied first if it is shared with the history.
    ///
    /// # Panics
    /// If the view has no message at this index.
    pub fn edit(&mut self, index: usize) -> &mut Message {
        Arc::make_mut(&mut self.messages[index])
    }
}

/// The number of equal messages at the start.
pub(crate) fn alike(old: &[Arc<Message>], new: &[Arc<Message>]) -> usize {
    let is_same = |(old, new): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(old, new) || old == new;
    old.iter().zip(new).take_while(is_same).count()
}
