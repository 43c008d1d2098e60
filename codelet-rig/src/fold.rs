//! A conversation as far as the engine has been given it, and the messages to send: a function of the conversation, edited at
//! points that its messages determine.

use crate::convert::{read, write};
use crate::settings::Settings;
use codelet_context::conversation::{Conversation, Signals};
use codelet_context::message::{Message, Role};
use codelet_context::recall::Archive;
use codelet_context::tokens::{self, Tokens};
use codelet_context::usage::Usage;
use codelet_offline::fold::{self, Shown};
use codelet_transcript::{Format, vendor};
use rig_core::message as rig;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Rig's name of Anthropic's own interface: the only one that rig asks to drop reasoning which a changed message makes invalid.
const ANTHROPIC: &str = "anthropic";

/// The points at which a conversation may be edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EditPoints {
    /// Before each request: after each message of the user or of a tool.
    Requests,
    /// Between two runs: after each reply that calls no tool.
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

/// A conversation as far as the engine has been given it.
#[derive(Clone)]
pub(crate) struct Fold {
    settings: Settings,
    points: EditPoints,
    fold: fold::Fold<Arc<rig::Message>>,
    overhead: Tokens,
    /// True once the provider has reported the usage of a request.
    is_billed: bool,
    /// True if rig asks Anthropic to drop reasoning that a changed message makes invalid.
    asks_to_drop: bool,
    /// The messages so far. A failed turn is shown until the next edit and never given to the engine: rig does not send it again.
    told: Vec<Arc<rig::Message>>,
}

impl Fold {
    /// A conversation without messages. `overhead` estimates the tokens that are sent beside the messages; `reply` is the limit of a
    /// reply.
    pub fn new(settings: &Settings, points: EditPoints, overhead: Tokens, reply: Option<Tokens>) -> Self {
        let conversation = Conversation::new(settings.config(reply), overhead).under(Settings::economics());
        Fold {
            settings: settings.clone(),
            points,
            fold: fold::Fold::new(conversation),
            overhead,
            is_billed: false,
            asks_to_drop: true,
            told: Vec::new(),
        }
    }

    /// Returns true if these messages begin with all messages so far.
    pub fn is_begun_by(&self, messages: &[rig::Message]) -> bool {
        let pairs = || self.told.iter().zip(messages);
        self.told.len() <= messages.len() && pairs().all(|(told, message)| **told == *message)
    }

    /// The number of messages so far.
    pub fn len(&self) -> usize {
        self.told.len()
    }

    /// Changes the estimate of the tokens that are sent beside the messages.
    pub fn weighs_beside(&mut self, overhead: Tokens) {
        if overhead != self.overhead {
            self.fold.conversation_mut().has_other_tools(overhead);
            self.overhead = overhead;
        }
    }

    /// Sets whether rig asks Anthropic to drop reasoning that a changed message makes invalid.
    pub fn asks_to_drop(&mut self, it_does: bool) {
        self.asks_to_drop = it_does;
    }

    /// Adds those of these messages that are new. `usage` is the reported usage of the first new reply, if there is one.
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
        self.told.push(Arc::new(message.clone()));
        if is_failed(message) {
            self.fold.show(number);
            return;
        }
        let message = read(message, &self.settings.actions);
        let usage = match message.role {
            Role::Assistant => self.cost(&message, usage.take()),
            _ => None,
        };
        self.fold.tell(number, message, usage);
        self.draw();
    }

    /// The usage of a reply: the reported one, or an estimate as long as none was ever reported. Once one was, what the engine has learned
    /// from it is better than an estimate.
    fn cost(&mut self, reply: &Message, reported: Option<Usage>) -> Option<Usage> {
        self.fold.conversation_mut().sending(false);
        self.is_billed |= reported.is_some();
        let supposed = || {
            let prompt = self.overhead + self.fold.conversation().shown().tokens;
            let (prompt, output) = (
                self.settings.scale(prompt),
                self.settings.scale(tokens::estimate_message(reply)),
            );
            Usage::from_exclusive(prompt, 0, 0, output)
        };
        reported.or_else(|| (!self.is_billed).then(supposed))
    }

    /// Edits the messages to send, if that is due.
    fn edit(&mut self) {
        if self.fold.edit(Signals::default()).is_some() {
            self.draw();
        }
    }

    fn draw(&mut self) {
        let envelope = || {
            let model = model_that_binds(&self.told, self.asks_to_drop);
            Map::from_iter(model.map(|model| ("model".to_owned(), Value::from(model))))
        };
        let made = |message, _: &Archive| Some(Arc::new(message));
        self.fold.draw(Format::Anthropic, envelope, write, made);
    }

    /// The messages to send.
    pub fn shown(&self) -> Vec<rig::Message> {
        let message = |shown: &Shown<Arc<rig::Message>>| match shown {
            Shown::AsSaid(number) => rig::Message::clone(&self.told[*number]),
            Shown::Made(message) => rig::Message::clone(message),
        };
        self.fold.shown().iter().map(message).collect()
    }

    /// A copy of the conversation, edited if that is due although it does not end at a point for edits.
    pub fn here(&self) -> Fold {
        let mut here = self.clone();
        if self.told.last().is_some_and(|last| !self.points.is_behind(last)) {
            here.edit();
        }
        here
    }

    /// The index of the first message from which on all are sent unchanged.
    pub fn kept_from(&self) -> usize {
        let stands = |shown: &&Shown<_>, number: &usize| matches!(shown, Shown::AsSaid(said) if said == number);
        let shown = self.fold.shown().iter().rev();
        let last = self.told.len().wrapping_sub(1);
        // The engine may have added messages at the end.
        let behind = shown.clone().position(|shown| stands(&shown, &last)).unwrap_or(0);
        let numbers = (0..self.told.len()).rev();
        let whole = numbers
            .zip(shown.skip(behind))
            .take_while(|(number, shown)| stands(shown, number));
        self.told.len() - whole.count()
    }

    /// The texts that were removed.
    pub fn archive(&self) -> &Archive {
        self.fold.conversation().archive()
    }

    /// Returns true if the messages to send are the conversation, unchanged.
    pub fn is_as_told(&self) -> bool {
        let shown = self.fold.shown();
        let stands = |(number, shown): (usize, &Shown<_>)| matches!(shown, Shown::AsSaid(said) if *said == number);
        self.told.len() == shown.len() && shown.iter().enumerate().all(stands)
    }
}

/// The newest model of the conversation that refuses reasoning after a changed message and is not asked to drop it.
fn model_that_binds(told: &[Arc<rig::Message>], asks_to_drop: bool) -> Option<&str> {
    let origins = told.iter().rev().filter_map(|message| match &**message {
        rig::Message::Assistant(turn) => turn.origin.as_ref(),
        _ => None,
    });
    let is_asked = |origin: &&rig::Origin| asks_to_drop && origin.provider == ANTHROPIC;
    let mut models = origins
        .filter(|origin| !is_asked(origin))
        .map(|origin| origin.model.as_str());
    models.find(|model| vendor::binds_thinking(model))
}

/// Returns true for a turn that failed or was cancelled: rig keeps it and never sends it.
fn is_failed(message: &rig::Message) -> bool {
    matches!(message, rig::Message::Assistant(turn) if turn.stop.as_ref().is_some_and(rig::StopReason::is_failure))
}
