//! A conversation that comes whole before each request: told to the engine message by message, edited where the engine says so, and
//! shown as its messages stand or as the engine has made them.

use codelet_context::conversation::{Conversation, Report, Signals};
use codelet_context::message::Message;
use codelet_context::policy::Reason;
use codelet_context::recall::Archive;
use codelet_context::usage::Usage;
use codelet_transcript::{Format, is_reply_item, vendor};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A message of what is shown. `T` is what the caller writes of one that the engine has made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown<T> {
    /// As it was told, by the number that it was told under.
    AsSaid(usize),
    /// Made by the engine.
    Made(T),
}

/// A conversation as far as it was told, and what is shown of it.
#[derive(Clone, Debug)]
pub struct Fold<T> {
    conversation: Conversation,
    /// By message of the history: the number that it was told under.
    numbers: Vec<usize>,
    /// What the engine showed when `shown` was made of it.
    drawn: Vec<Arc<Message>>,
    shown: Vec<Shown<T>>,
    /// By message of `drawn`: how many of what is shown come up to it, where it is shown.
    places: Vec<Option<usize>>,
}

impl<T> Fold<T> {
    /// Nothing was told yet of this conversation.
    pub fn new(conversation: Conversation) -> Self {
        Fold {
            conversation,
            numbers: Vec::new(),
            drawn: Vec::new(),
            shown: Vec::new(),
            places: Vec::new(),
        }
    }

    /// The conversation as the engine has it.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The same, to be told what is no message and changes none.
    pub fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// What is to be sent, as it was [drawn](Self::draw) last.
    pub fn shown(&self) -> &[Shown<T>] {
        &self.shown
    }

    /// How many of what is shown come up to the last of the first `messages` of the view that is shown at all.
    pub fn place(&self, messages: usize) -> Option<usize> {
        let before = &self.places[..messages.min(self.places.len())];
        before.iter().rev().find_map(|place| *place)
    }

    /// Tells a message under this number; `usage` is what a reply has cost, or is taken to have cost. Without it nothing is edited for its
    /// price.
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

    /// Shows something that the engine is not told of, until all is made anew.
    pub fn show(&mut self, number: usize) {
        self.shown.push(Shown::AsSaid(number));
    }

    /// Makes the edit that is due before the next request; returns its reason, or none where nothing was edited. What cannot be made smaller
    /// goes on as it is.
    pub fn edit(&mut self, signals: Signals) -> Option<Reason> {
        let due = self.conversation.decide(signals)?;
        let before = self.conversation.edits().len();
        let is_done = self.conversation.compact(due).is_ok();
        (is_done && self.conversation.edits().len() > before).then(|| due.reason())
    }

    /// [Drops most of what was said](Conversation::drop_texts). What is to be sent is to be [drawn](Self::draw) before.
    pub fn drop_texts(&mut self) {
        self.conversation.drop_texts();
        self.drawn.clone_from(&self.conversation.view().messages);
        self.drawn.shrink_to_fit();
        self.shown.shrink_to_fit();
    }

    /// Brings what is shown up to what the engine shows. Where that goes on from what it was, so does what is shown, and where not, all is
    /// [written](Self::write), and how many messages it begins with as before is returned.
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
        // What was appended, in order, is what was told last.
        let new = self.numbers.len() - (view.len() - same);
        for &number in &self.numbers[new..] {
            self.shown.push(Shown::AsSaid(number));
            self.places.push(Some(self.shown.len()));
        }
        self.drawn.extend_from_slice(&view[same..]);
        None
    }

    /// Makes all that is shown of what the engine shows, fit for the vendor of this form; `envelope` are the other fields of the request.
    /// Messages that stand as they were are those that were told. `written` writes each of all that are shown, and `made` what the engine
    /// has made of these, given what left the conversation; nothing where that is not sent. Returns what left.
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

/// How many of these items of a vendor's list belong together and come next: those of a reply, and with them what came of it.
pub fn step(items: &[&[u8]], form: Format) -> (usize, usize) {
    let is_reply = |item: &&[u8]| is_reply_item(item, form);
    let replied = items.iter().take_while(|item| is_reply(item)).count();
    let answered = items[replied..].iter().take_while(|item| !is_reply(item)).count();
    (replied, replied + answered)
}
