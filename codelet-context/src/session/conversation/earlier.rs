//! Restoring an earlier state of a conversation.

use super::{Conversation, Edit};
use crate::message::Message;
use crate::message::pin::Pin;
use std::sync::Arc;

/// An earlier state of a conversation, for [`restore`](Conversation::restore).
///
/// A session keeps one at every prompt and rarely restores one, so it takes only a few words per message. The index of
/// the history, which takes as much memory as the messages, is not copied: restoring recomputes it from the messages.
#[derive(Clone, Debug)]
pub struct Earlier {
    pub(super) messages: Vec<Arc<Message>>,
    /// Everything else, with an empty history.
    pub(super) rest: Box<Conversation>,
}

impl Conversation {
    /// The current state. Takes time linear in the number of messages, whatever their length.
    pub fn earlier(&self) -> Earlier {
        let mut rest = Box::new(self.clone());
        (rest.history, rest.told) = Default::default();
        Earlier {
            messages: self.history.messages().to_vec(),
            rest,
        }
    }

    /// Restores an earlier state of this conversation. Later messages are dropped; later settings of the user and the
    /// provider stay: pins, the focus, the model with its prices, the tools, the total usage, and a learned limit.
    /// Estimates are restored too, so that the same prompt produces the same request. Everything that was ever removed
    /// can still be read back. Takes time linear in the size of the restored history.
    pub fn restore(&mut self, earlier: Earlier) {
        let Earlier { messages, rest } = earlier;
        let later = std::mem::replace(self, *rest);
        self.say_again(&messages);
        self.settle_as(later);
    }

    /// Restores a history that was left out of a copy.
    pub(super) fn say_again(&mut self, messages: &[Arc<Message>]) {
        let history = Arc::make_mut(&mut self.history);
        messages.iter().for_each(|message| history.append(message.clone()));
        if !self.withdrawn.is_empty() {
            self.tell_again();
        }
    }

    /// Takes over what stays of the later conversation that this one replaces.
    pub(super) fn settle_as(&mut self, later: Conversation) {
        // A revision number is never reused for another view.
        self.revision = self.revision.max(later.revision) + 1;
        // Billed tokens stay billed, whatever is undone.
        self.tracker.billed = later.tracker.billed;
        self.economy.keep_breaks(&later.economy, &self.view.messages);
        self.config = later.config;
        if self.overhead != later.overhead {
            self.weighs_beside(later.overhead);
        }
        let economics = later.economy.economics();
        if economics != self.economy.economics() || !self.economy.is_for(self.config.window()) {
            self.set_economics(economics.clone());
        }
        let said = self.history.messages().len();
        self.pins = later
            .pins
            .but_for(|pin| matches!(pin, Pin::Message(index) if *index >= said));
        self.focus = later.focus;
        self.view.archive.merge(&later.view.archive);
        // Later edits stay on record, marked as undone.
        let since = later.edits.into_iter().skip(self.edits.len());
        self.edits.extend(since.map(|edit| Edit {
            is_undone: true,
            ..edit
        }));
        for (handle, number) in later.removed_by {
            self.removed_by.entry(handle).or_insert(number);
        }
        self.leave_refused(later.refused);
    }
}
