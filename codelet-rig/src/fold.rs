//! A conversation as far as it was told, and what is shown of it: a function of its messages, edited at points that they
//! themselves determine.

use crate::convert::{read, write};
use crate::settings::Settings;
use codelet_context::conversation::{Conversation, Report, Signals};
use codelet_context::message::{Message, Role};
use codelet_context::recall::Archive;
use codelet_context::tokens::{self, Tokens};
use codelet_context::usage::Usage;
use codelet_transcript::{Format, vendor};
use rig_core::message as rig;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// What rig calls Anthropic's own interface. It asks that one, and no other that talks alike, to drop reasoning which does not
/// hold any more.
const ANTHROPIC: &str = "anthropic";

/// Where a conversation may be edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EditPoints {
    /// Before each request: behind whatever the user or a tool has said.
    Requests,
    /// Between two runs: behind each reply that calls no tool.
    Runs,
}

impl EditPoints {
    fn is_behind(self, message: &rig::Message) -> bool {
        match (self, message) {
            (EditPoints::Requests, rig::Message::User { .. }) => true,
            (EditPoints::Runs, rig::Message::Assistant(turn)) => turn.tool_calls().next().is_none(),
            _ => false,
        }
    }
}

/// A conversation as far as it was told.
#[derive(Clone)]
pub(crate) struct Fold {
    settings: Settings,
    points: EditPoints,
    conversation: Conversation,
    overhead: Tokens,
    /// Something was reported of its requests.
    is_billed: bool,
    /// Anthropic is asked to leave out itself what a changed message makes invalid, as rig asks it unless told otherwise.
    asks_to_drop: bool,
    told: Vec<Arc<rig::Message>>,
    /// By message of the history: which of those told it is. A turn that failed is none: rig never sends it again.
    numbers: Vec<usize>,
    /// What the engine showed when `shown` was made of it.
    drawn: Vec<Arc<Message>>,
    shown: Vec<Arc<rig::Message>>,
}

impl Fold {
    /// Nothing was told yet. `overhead` estimates what is sent beside the messages, `reply` is what a reply may have.
    pub fn new(settings: &Settings, points: EditPoints, overhead: Tokens, reply: Option<Tokens>) -> Self {
        let mut conversation = Conversation::new(settings.config(reply), overhead).under(Settings::economics());
        if !settings.has_recall {
            conversation = conversation.reading_back("");
        }
        Fold {
            settings: settings.clone(),
            points,
            conversation,
            overhead,
            is_billed: false,
            asks_to_drop: true,
            told: Vec::new(),
            numbers: Vec::new(),
            drawn: Vec::new(),
            shown: Vec::new(),
        }
    }

    /// Whether these messages begin with all that was told.
    pub fn is_begun_by(&self, messages: &[rig::Message]) -> bool {
        let pairs = || self.told.iter().zip(messages);
        self.told.len() <= messages.len() && pairs().all(|(told, message)| **told == *message)
    }

    /// How many messages were told.
    pub fn len(&self) -> usize {
        self.told.len()
    }

    /// Something else is sent beside the messages from here on.
    pub fn weighs_beside(&mut self, overhead: Tokens) {
        if overhead != self.overhead {
            self.conversation.has_other_tools(overhead);
            self.overhead = overhead;
        }
    }

    /// Whether Anthropic is asked to leave out reasoning itself that a changed message makes invalid.
    pub fn asks_to_drop(&mut self, it_does: bool) {
        self.asks_to_drop = it_does;
    }

    /// Tells the rest of these messages, whose first ones were told before. `usage` is what was reported of the first reply among
    /// the rest, if anything was.
    pub fn advance(&mut self, messages: &[rig::Message], mut usage: Option<Usage>) {
        for message in messages.iter().skip(self.told.len()) {
            self.tell(message, &mut usage);
            if self.points.is_behind(message) {
                self.edit();
            }
        }
    }

    fn tell(&mut self, message: &rig::Message, usage: &mut Option<Usage>) {
        let number = self.told.len();
        let said = Arc::new(message.clone());
        self.told.push(said.clone());
        if is_failed(message) {
            self.shown.push(said);
            return;
        }
        self.numbers.push(number);
        let message = read(message, &self.settings.actions);
        if message.role == Role::Assistant {
            self.reply(message, usage.take());
        } else {
            self.conversation.append(message);
        }
        let view = &self.conversation.view().messages;
        let grown = view.len() == self.drawn.len() + 1 && same(&self.drawn, view) == self.drawn.len();
        match view.last() {
            Some(last) if grown => {
                self.drawn.push(last.clone());
                self.shown.push(said);
            }
            _ => self.draw(),
        }
    }

    fn reply(&mut self, reply: Message, usage: Option<Usage>) {
        self.conversation.sending(false);
        self.is_billed |= usage.is_some();
        let usage = match usage {
            // What the bills so far have taught is better than what is supposed.
            None if self.is_billed => return self.conversation.append(reply),
            None => self.supposed(&reply),
            Some(usage) => usage,
        };
        let report = Report {
            usage,
            reasoning: 0,
            is_whole: true,
        };
        self.conversation.replied(reply, report);
    }

    /// What a reply is taken to have cost of which nobody reports anything.
    fn supposed(&self, reply: &Message) -> Usage {
        let prompt = self.settings.scale(self.overhead + self.conversation.shown().tokens);
        Usage::from_exclusive(prompt, 0, 0, self.settings.scale(tokens::estimate_message(reply)))
    }

    /// Edits what is shown, if that is due.
    fn edit(&mut self) {
        let Some(due) = self.conversation.decide(Signals::default()) else {
            return;
        };
        // What cannot be made smaller goes on as it is.
        if self.conversation.compact(due).is_ok() {
            self.draw();
        }
    }

    /// Makes all that is shown of what the engine shows: messages that stand as they were are those that were told.
    fn draw(&mut self) {
        let said = self.conversation.history().messages();
        let mut view = self.conversation.view().clone();
        let last = self.model_that_binds();
        let envelope = Map::from_iter(last.map(|model| ("model".to_owned(), Value::from(model))));
        vendor::settle(Format::Anthropic, &envelope, said, &mut view);
        let places = said
            .iter()
            .zip(&self.numbers)
            .map(|(message, &number)| (Arc::as_ptr(message), number));
        let places: HashMap<*const Message, usize> = places.collect();
        let written = write(&view.messages);
        let shown =
            view.messages
                .iter()
                .zip(written)
                .map(|(message, written)| match places.get(&Arc::as_ptr(message)) {
                    Some(&number) => self.told[number].clone(),
                    None => Arc::new(written),
                });
        self.shown = shown.collect();
        self.drawn = self.conversation.view().messages.clone();
    }

    /// A model among those that have answered which refuses reasoning behind a changed message, where it is not asked to leave it
    /// out itself.
    fn model_that_binds(&self) -> Option<String> {
        let origins = self.told.iter().rev().filter_map(|message| match &**message {
            rig::Message::Assistant(turn) => turn.origin.as_ref(),
            _ => None,
        });
        let is_asked = |origin: &&rig::Origin| self.asks_to_drop && origin.provider == ANTHROPIC;
        let mut models = origins
            .filter(|origin| !is_asked(origin))
            .map(|origin| origin.model.as_str());
        models.find(|model| vendor::binds_thinking(model)).map(str::to_owned)
    }

    /// What is to be sent.
    pub fn shown(&self) -> Vec<rig::Message> {
        self.shown.iter().map(|message| rig::Message::clone(message)).collect()
    }

    /// The same conversation as its messages stand, edited if that is due although they do not end at a point for it.
    pub fn here(&self) -> Fold {
        let mut here = self.clone();
        if self.told.last().is_some_and(|last| !self.points.is_behind(last)) {
            here.edit();
        }
        here
    }

    /// From which of the messages told on all stand as they were.
    pub fn kept_from(&self) -> usize {
        let whole = self.told.iter().rev().zip(self.shown.iter().rev().skip(self.behind()));
        self.told.len() - whole.take_while(|(told, shown)| Arc::ptr_eq(told, shown)).count()
    }

    /// How many messages of the engine's own what is shown ends with.
    fn behind(&self) -> usize {
        let Some(last) = self.told.last() else { return 0 };
        let behind = self.shown.iter().rev().position(|shown| Arc::ptr_eq(shown, last));
        behind.unwrap_or(0)
    }

    /// Everything that was removed.
    pub fn archive(&self) -> &Archive {
        self.conversation.archive()
    }

    /// Whether what is shown is what was told.
    pub fn is_as_told(&self) -> bool {
        let pairs = || self.told.iter().zip(&self.shown);
        self.told.len() == self.shown.len() && pairs().all(|(told, shown)| Arc::ptr_eq(told, shown))
    }
}

/// A turn that the provider failed, or that was broken off: rig keeps it and never sends it.
fn is_failed(message: &rig::Message) -> bool {
    matches!(message, rig::Message::Assistant(turn) if turn.stop.as_ref().is_some_and(rig::StopReason::is_failure))
}

/// How many messages two views begin with alike.
fn same(one: &[Arc<Message>], other: &[Arc<Message>]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(one, other)| Arc::ptr_eq(one, other))
        .count()
}
