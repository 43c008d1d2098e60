//! The start of a session's conversation: continuing from another one, or empty.

use crate::session::prompt::Prompt;
use crate::session::{Session, weight};
use codelet_context::conversation::Conversation;
use codelet_context::message::{Message, Role};
use codelet_context::strategy;
use codelet_context::view::View;

impl Session {
    /// Continues a conversation from elsewhere, as if it had taken place here. Calls without a result get one. `told`
    /// is a note to the model about it; it may be empty.
    pub fn take_over(&mut self, messages: Vec<Message>, told: &str) {
        let ends_with_reply = messages
            .last()
            .is_some_and(|last| last.role == Role::Assistant && last.calls().next().is_none());
        let mut view = View::new(messages);
        strategy::pair(&mut view);
        // The next prompt follows the reply, so no filler text is needed.
        if ends_with_reply && view.messages.last().is_some_and(|last| last.role == Role::User) {
            view.messages.pop();
        }
        for message in view.messages {
            if message.is_prompt() {
                let before = self.conversation.earlier();
                let messages = self.conversation.history().messages().len();
                self.last = Some((Prompt::of(&message), before, messages));
                let prompted = self.prompted_before();
                self.prompts.push(prompted);
            }
            self.conversation.append(message);
        }
        self.begin_anew();
        self.begins = Some("resume");
        if !told.is_empty() {
            self.taken_over = Some(told.to_owned());
            self.tell(told);
        }
    }

    /// Starts over with an empty conversation. [`undo`](Self::undo) reverts that. The bill stays, as do the recorded
    /// cache breaks and everything learned about a provider's limit.
    pub fn clear(&mut self) {
        let economics = self.conversation.economics().clone();
        let mut conversation = Conversation::new(*self.conversation.config(), weight(&self.specs)).under(economics);
        if let Some(system) = self.conversation.history().messages().first() {
            conversation.append(system.clone());
        }
        conversation.begin_behind(&self.conversation);
        self.discard();
        self.conversation = conversation;
        self.numbers += 1;
        self.number = self.numbers;
        self.asked = None;
        self.kept_alive = 0;
        self.last = None;
        self.prompts.clear();
        self.taken_over = None;
        self.begins = Some("clear");
        self.beside.clear();
        self.begin_anew();
        if let Some(witness) = &mut self.witness {
            witness.cleared();
        }
    }

    /// Prepares for the next request to send a different conversation than the last.
    pub(crate) fn begin_anew(&mut self) {
        self.sent = None;
        self.broken.clear();
        let calls = self
            .conversation
            .history()
            .messages()
            .iter()
            .flat_map(|message| message.calls());
        self.call_ids = calls.map(|call| call.id.clone()).collect();
    }
}
