//! What happens in a run, for every front end that listens.

use crate::model::Billed;
use crate::model::bill::Bill;
use crate::run::Ending;
use codelet_context::body::Body;
use codelet_context::conversation::{Conversation, Withdrawn};
use codelet_context::message::Action;
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use std::sync::Arc;
use std::time::Duration;

/// What an interruption makes of a call that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// It had begun: how far it came, nobody knows.
    Interrupted,
    /// It was never begun.
    NotRun,
}

impl Stopped {
    /// In words, for a person or a program.
    pub fn name(self) -> &'static str {
        match self {
            Stopped::Interrupted => "interrupted",
            Stopped::NotRun => "not run",
        }
    }
}

/// How far a task is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Progress {
    /// Answers of its model.
    pub steps: u32,
    /// What it does now, in one line: the call under way, or what is waited for.
    pub doing: String,
    /// What it has cost.
    pub bill: Bill,
}

/// Something that happened. Texts of the model and of tools are as they came: whoever shows them makes them harmless.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A request goes out.
    Asking {
        /// The step, counted from 1 in each run.
        step: u32,
        /// What the request is believed to occupy of the window.
        occupancy: Tokens,
        /// What it may occupy.
        limit: Tokens,
    },
    /// More of the answer's words.
    Text(String),
    /// More of the thinking.
    Thinking(String),
    /// The model begins to call this tool.
    Calling {
        /// The tool.
        tool: String,
    },
    /// The answer so far is void: the request is made again.
    Void,
    /// A request is through, or was interrupted: what it cost, in tokens and, where prices are known, dollars.
    Billed {
        /// The counts.
        billed: Billed,
        /// Dollars.
        cost: Option<f64>,
    },
    /// The run waits before it asks again, or for a provider that says nothing; comes once a second.
    Waiting {
        /// Why.
        cause: String,
        /// How much longer.
        left: Duration,
        /// Which try comes next, counted from 2; none where the provider is given up then.
        next_try: Option<u32>,
        /// How long the first token of the answer has been waited for, where that is what is waited for.
        first_token: Option<Duration>,
    },
    /// A tool begins.
    ToolStarted {
        /// The call's id.
        id: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// The call in one line.
        description: String,
        /// What it does.
        action: Action,
    },
    /// A tool that runs has printed this.
    ToolPrinted {
        /// The call's id.
        id: Arc<str>,
        /// The newest of it; some may have been left out.
        text: String,
    },
    /// A call that works in a session of its own is as far as this. Some may have been left out.
    Task {
        /// The call's id.
        id: Arc<str>,
        /// How far.
        progress: Progress,
    },
    /// A tool has answered.
    ToolFinished {
        /// The call's id.
        id: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// Whether it did what it was asked to.
        success: bool,
        /// How much it printed, in bytes, before anything was cut.
        bytes: u64,
        /// How long it took.
        elapsed: Duration,
        /// What it printed, before it is bounded for the model.
        printed: Body,
        /// Bytes at its end that nothing has printed, but the tool says of it, such as a status.
        remarks: usize,
        /// What it changed, a unified diff; empty where it changed nothing or too much to compare.
        diff: Arc<str>,
        /// What the user's interruption made of it; none if it ended by itself.
        stopped: Option<Stopped>,
    },
    /// A call was not permitted, and the user was not asked or could not be; comes behind its [`Event::ToolFinished`].
    Refused {
        /// The tool.
        tool: Arc<str>,
        /// The call in one line.
        description: String,
        /// Why not.
        why: String,
    },
    /// The conversation was compacted, or there was nothing to compact.
    Compacted {
        /// Why.
        reason: Reason,
        /// What came of it.
        notice: Notice,
    },
    /// The model declined to answer the prompt, or the provider does not take what was said since: all of it has left the
    /// conversation, so that the next prompt is answered. Of no use to who makes no next one.
    TakenBack(Withdrawn),
    /// Something that the user should know.
    Notice(String),
    /// The run is over.
    Over(Ending),
}

/// Whoever listens.
pub trait Listen: Send {
    /// Takes an event. It must not block: the run waits for it.
    fn on(&mut self, event: Event);
}

impl<F: FnMut(Event) + Send> Listen for F {
    fn on(&mut self, event: Event) {
        self(event);
    }
}

/// Whoever keeps figures of a session's requests, and so has to see the conversation as each of them holds it.
pub trait Witness: Send + Sync {
    /// A request goes out with the view as it stands.
    fn sending(&mut self, conversation: &Conversation);

    /// A request goes out that leaves nothing in the conversation: one for a summary, or an idle one.
    fn sending_beside(&mut self, conversation: &Conversation);

    /// The request under way was billed, at this price; none where nobody knows it.
    fn billed(&mut self, billed: &Billed, price: Option<&PriceCard>);

    /// The session begins anew.
    fn cleared(&mut self);
}
