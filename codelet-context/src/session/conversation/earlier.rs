//! Going back to how a conversation was.

use super::{Conversation, Edit};
use crate::compact::Archived;
use crate::history::History;
use crate::message::Message;
use crate::message::pin::Pin;
use std::sync::Arc;

/// How a conversation was, to go [back](Conversation::restore) to.
///
/// A session keeps one at every prompt and hardly ever goes back, so it costs a few words per message. The lines of the
/// history and what is known of them, which weigh as much as all that was said, are not copied: the messages tell them,
/// and going back computes them anew.
#[derive(Clone, Debug)]
pub struct Earlier {
    pub(super) messages: Vec<Arc<Message>>,
    /// All the rest, with an empty history.
    pub(super) rest: Box<Conversation>,
}

impl Conversation {
    /// How it is now. Takes time in proportion to the number of messages, however long they are.
    pub fn earlier(&self) -> Earlier {
        Earlier {
            messages: self.history.messages().to_vec(),
            rest: Box::new(Conversation {
                history: History::new(),
                view: self.view.clone(),
                shown: self.shown,
                config: self.config,
                overhead: self.overhead,
                system: self.system,
                reminders: self.reminders,
                newest_prompt: self.newest_prompt,
                tracker: self.tracker,
                occupancy: self.occupancy,
                doubted: self.doubted,
                guard: self.guard,
                stuck: self.stuck,
                refusals: self.refusals,
                is_refused: self.is_refused,
                reading_back: self.reading_back,
                is_bare: self.is_bare,
                bare_until: self.bare_until,
                must_shrink: self.must_shrink,
                was_close: self.was_close,
                cut: self.cut,
                pins: self.pins.clone(),
                snapshots: self.snapshots.clone(),
                edits: self.edits.clone(),
                revision: self.revision,
                removed_by: self.removed_by.clone(),
                economy: self.economy.clone(),
                masks: self.masks.clone(),
                // Of a history that is appended anew, nothing is known to be archived.
                archived: Archived::default(),
                valid: None,
                focus: self.focus.clone(),
                withdrawn: self.withdrawn.clone(),
                told: None,
                refused: self.refused.clone(),
            }),
        }
    }

    /// Goes back to how this conversation was then. What was said goes; what the user and the provider have settled since
    /// stays: pins, the focus, the model with its prices, the tools, the bill, and a limit that was learned. What is estimated goes
    /// back too, so that the same prompt makes the same request. Everything that was ever removed can still be read back.
    /// Takes time in proportion to the bytes of what was said until then.
    pub fn restore(&mut self, earlier: Earlier) {
        let Earlier { messages, rest } = earlier;
        let later = std::mem::replace(self, *rest);
        self.say_again(&messages);
        self.settle_as(later);
    }

    /// Has a history again that was left out of a copy.
    pub(super) fn say_again(&mut self, messages: &[Arc<Message>]) {
        messages.iter().for_each(|message| self.history.append(message.clone()));
        if !self.withdrawn.is_empty() {
            self.tell_again();
        }
    }

    /// Takes over what stays of the later conversation that this one takes the place of.
    pub(super) fn settle_as(&mut self, later: Conversation) {
        // No number of either is given again to another view.
        self.revision = self.revision.max(later.revision) + 1;
        self.tracker.keep_bill(&later.tracker);
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
        // Edits since then are on record, and count as taken back.
        let since = later.edits.into_iter().skip(self.edits.len());
        self.edits.extend(since.map(|edit| Edit {
            is_undone: true,
            ..edit
        }));
        for (handle, number) in later.removed_by {
            self.removed_by.entry(handle).or_insert(number);
        }
    }
}
