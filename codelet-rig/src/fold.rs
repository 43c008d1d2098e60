//! A conversation as far as it was told, and what is shown of it: a function of its messages, edited at points that they
//! themselves determine.

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
    fold: fold::Fold<Arc<rig::Message>>,
    overhead: Tokens,
    /// Something was reported of its requests.
    is_billed: bool,
    /// Anthropic is asked to leave out itself what a changed message makes invalid, as rig asks it unless told otherwise.
    asks_to_drop: bool,
    /// Those that were told. A turn that failed is shown until the next edit, and the engine is told of none: rig never sends it again.
    told: Vec<Arc<rig::Message>>,
}

impl Fold {
    /// Nothing was told yet. `overhead` estimates what is sent beside the messages, `reply` is what a reply may have.
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
            self.fold.conversation_mut().has_other_tools(overhead);
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

    /// What a reply has cost: what was reported of it, or else what it is taken to have cost, as long as nothing was ever reported. What the
    /// bills so far have taught is better than what is supposed.
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

    /// Edits what is shown, if that is due.
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

    /// What is to be sent.
    pub fn shown(&self) -> Vec<rig::Message> {
        let message = |shown: &Shown<Arc<rig::Message>>| match shown {
            Shown::AsSaid(number) => rig::Message::clone(&self.told[*number]),
            Shown::Made(message) => rig::Message::clone(message),
        };
        self.fold.shown().iter().map(message).collect()
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
        let stands = |shown: &&Shown<_>, number: &usize| matches!(shown, Shown::AsSaid(said) if said == number);
        let shown = self.fold.shown().iter().rev();
        let last = self.told.len().wrapping_sub(1);
        // What is shown may end with messages of the engine's own.
        let behind = shown.clone().position(|shown| stands(&shown, &last)).unwrap_or(0);
        let numbers = (0..self.told.len()).rev();
        let whole = numbers
            .zip(shown.skip(behind))
            .take_while(|(number, shown)| stands(shown, number));
        self.told.len() - whole.count()
    }

    /// Everything that was removed.
    pub fn archive(&self) -> &Archive {
        self.fold.conversation().archive()
    }

    /// Whether what is shown is what was told.
    pub fn is_as_told(&self) -> bool {
        let shown = self.fold.shown();
        let stands = |(number, shown): (usize, &Shown<_>)| matches!(shown, Shown::AsSaid(said) if *said == number);
        self.told.len() == shown.len() && shown.iter().enumerate().all(stands)
    }
}

/// A model among those that have answered which refuses reasoning behind a changed message, where it is not asked to leave it out itself.
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

/// A turn that the provider failed, or that was broken off: rig keeps it and never sends it.
fn is_failed(message: &rig::Message) -> bool {
    matches!(message, rig::Message::Assistant(turn) if turn.stop.as_ref().is_some_and(rig::StopReason::is_failure))
}
