//! Follows a conversation that is passed in full before each request: passes it to the engine message by message, edits
//! it when the engine says so, and tracks which messages are sent unchanged and which the engine made.

use codelet_context::conversation::{Conversation, Report, Signals, Texts};
use codelet_context::message::Message;
use codelet_context::policy::Reason;
use codelet_context::recall::Archive;
use codelet_context::usage::Usage;
use codelet_transcript::{Format, is_reply_item, vendor};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A message of what is sent. `T` is the caller's form of one that the engine made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown<T> {
    /// Unchanged, with the number under which it was added.
    AsSaid(usize),
    /// Made by the engine.
    Made(T),
}

/// A conversation as far as it was added, and what is sent of it.
#[derive(Clone, Debug)]
pub struct Fold<T> {
    conversation: Conversation,
    /// For each message of the history: the number under which it was added.
    numbers: Vec<usize>,
    /// The engine's view from which `shown` was made.
    drawn: Vec<Arc<Message>>,
    shown: Vec<Shown<T>>,
    /// For each message of `drawn` that is sent: the number of sent messages up to and including it.
    places: Vec<Option<usize>>,
}

impl<T> Fold<T> {
    /// Starts with an empty conversation.
    pub fn new(conversation: Conversation) -> Self {
        Fold {
            conversation,
            numbers: Vec::new(),
            drawn: Vec::new(),
            shown: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Returns the engine's conversation.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Returns the engine's conversation, for calls that neither add nor change messages.
    pub fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// Returns what is to be sent, as of the last [`draw`](Self::draw).
    pub fn shown(&self) -> &[Shown<T>] {
        &self.shown
    }

    /// Returns the number of sent messages up to the last one that is sent of the first `messages` of the view.
    pub fn place(&self, messages: usize) -> Option<usize> {
        let before = &self.places[..messages.min(self.places.len())];
        before.iter().rev().find_map(|place| *place)
    }

    /// Adds a message under this number; `usage` is a reply's actual or assumed usage, required for edits that save
    /// cost.
    pub fn tell(&mut self, number: usize, message: Message, usage: Option<Usage>) {
        self.numbers.push(number);
        match usage {
            None => self.conversation.append(message),
            Some(usage) => {
                let report = Report {
                    usage,
                    reasoning: 0,
                    is_whole: true,
                };
                self.conversation.replied(message, report);
            }
        }
    }

    /// Sends a message that the engine does not know, until everything is rewritten.
    pub fn show(&mut self, number: usize) {
        self.shown.push(Shown::AsSaid(number));
    }

    /// Makes the edit that is due before the next request; returns its reason, or `None` if nothing was edited. Content
    /// that cannot be made smaller stays unchanged.
    pub fn edit(&mut self, signals: Signals) -> Option<Reason> {
        let due = self.conversation.decide(signals)?;
        let before = self.conversation.edits().len();
        let is_done = self.conversation.compact(due).is_ok();
        (is_done && self.conversation.edits().len() > before).then(|| due.reason())
    }

    /// [Drops texts](Conversation::drop_texts). What is to be sent is to be [drawn](Self::draw) before.
    pub fn drop_texts(&mut self, left: Texts) {
        self.conversation.drop_texts(left);
        self.drawn.clone_from(&self.conversation.view().messages);
        self.drawn.shrink_to_fit();
        self.shown.shrink_to_fit();
    }

    /// Updates what is sent from the engine's view. If the view was only extended, so is what is sent; otherwise
    /// everything is [written](Self::write) again, and the number of unchanged messages at the start is returned.
    pub fn draw<W>(
        &mut self,
        form: Format,
        envelope: impl FnOnce() -> Map<String, Value>,
        written: impl FnOnce(&[Message]) -> Vec<W>,
        made: impl Fn(W, &Archive) -> Option<T>,
    ) -> Option<usize> {
        let view = &self.conversation.view().messages;
        let pairs = self.drawn.iter().zip(view);
        let same = pairs.take_while(|(one, other)| Arc::ptr_eq(one, other)).count();
        if same < self.drawn.len() {
            self.write(form, &envelope(), written, made);
            return Some(same);
        }
        // The appended messages are the last ones added, in order.
        let new = self.numbers.len() - (view.len() - same);
        for &number in &self.numbers[new..] {
            self.shown.push(Shown::AsSaid(number));
            self.places.push(Some(self.shown.len()));
        }
        self.drawn.extend_from_slice(&view[same..]);
        None
    }

    /// Rewrites everything that is sent from the engine's view, adapted to this format's provider; `envelope` are the
    /// other fields of the request. Unchanged messages refer to those that were added. `written` writes each message of
    /// the view, and `made` converts those that the engine made, given the removed content; `None` if a message is not
    /// sent. Returns the removed content.
    pub fn write<W>(
        &mut self,
        form: Format,
        envelope: &Map<String, Value>,
        written: impl FnOnce(&[Message]) -> Vec<W>,
        made: impl Fn(W, &Archive) -> Option<T>,
    ) -> Archive {
        let said = self.conversation.history().messages();
        let mut view = self.conversation.view().clone();
        vendor::settle(form, envelope, said, &mut view);
        let numbers: HashMap<*const Message, usize> =
            said.iter().map(Arc::as_ptr).zip(self.numbers.iter().copied()).collect();
        let messages: Vec<Message> = view.messages.iter().map(|message| Message::clone(message)).collect();
        let mut places: HashMap<*const Message, usize> = HashMap::new();
        self.shown.clear();
        for (message, written) in view.messages.iter().zip(written(&messages)) {
            let number = numbers.get(&Arc::as_ptr(message));
            let shown = match number {
                Some(&number) => Some(Shown::AsSaid(number)),
                None => made(written, &view.archive).map(Shown::Made),
            };
            if let Some(shown) = shown {
                self.shown.push(shown);
                places.insert(Arc::as_ptr(message), self.shown.len());
            }
        }
        self.drawn.clone_from(&self.conversation.view().messages);
        self.places = self
            .drawn
            .iter()
            .map(|message| places.get(&Arc::as_ptr(message)).copied())
            .collect();
        view.archive
    }
}

/// Returns the number of items in a provider's list that form the next reply, and the number of those plus the results
/// and other items that follow it.
pub fn step(items: &[&[u8]], form: Format) -> (usize, usize) {
    let is_reply = |item: &&[u8]| is_reply_item(item, form);
    let replied = items.iter().take_while(|item| is_reply(item)).count();
    let answered = items[replied..].iter().take_while(|item| !is_reply(item)).count();
    (replied, replied + answered)
}
