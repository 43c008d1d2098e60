//! The events of a run, for every front end.

use crate::environment::journal::{ChangedFile, changed_files};
use crate::model::Billed;
use crate::model::bill::Bill;
use crate::run::Ending;
use codelet_context::body::Body;
use codelet_context::conversation::{Conversation, Withdrawn};
use codelet_context::message::Action;
use codelet_context::notice::Notice;
use codelet_context::pipe::FailedInPipe;
use codelet_context::policy::Reason;
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use std::sync::Arc;
use std::time::Duration;

/// The effect of an interruption on a call that had not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// It had begun; how far it got is unknown.
    Interrupted,
    /// It was never begun.
    NotRun,
}

impl Stopped {
    /// Returns the name, for a person or a program.
    pub fn name(self) -> &'static str {
        match self {
            Stopped::Interrupted => "interrupted",
            Stopped::NotRun => "not run",
        }
    }
}

/// The progress of a task.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Progress {
    /// The number of replies of its model.
    pub steps: u32,
    /// Its current activity, in one line: the running call, or what it waits for.
    pub doing: String,
    /// Its cost so far.
    pub bill: Bill,
    /// The files that its tools have changed, as far as the session's journal knows them.
    pub files: Vec<ChangedFile>,
}

impl Progress {
    /// Returns the changed files in words, the first of them by name: `a.txt (new) +1 −0`; empty if there are none.
    pub fn changed(&self) -> String {
        changed_files(&self.files)
    }
}

/// An event of a run. Texts of the model and of tools are raw: front ends must sanitise them.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A request is sent.
    Asking {
        /// The step, counted from 1 in each run.
        step: u32,
        /// The estimated occupancy of the context window.
        occupancy: Tokens,
        /// The limit of the occupancy.
        limit: Tokens,
    },
    /// More text of the answer.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// The model begins a call of this tool.
    Calling {
        /// The tool.
        tool: String,
    },
    /// The answer so far is void: the request is made again.
    Void,
    /// A request ended or was interrupted: its usage in tokens and, if prices are known, its cost in dollars.
    Billed {
        /// The usage.
        billed: Billed,
        /// The cost in US dollars.
        cost: Option<f64>,
    },
    /// The run waits before a retry, or for a silent provider; sent once a second.
    Waiting {
        /// The reason.
        cause: String,
        /// The remaining time.
        left: Duration,
        /// The number of the next try, counted from 2; `None` if the run gives up instead.
        next_try: Option<u32>,
        /// The wait for the first token so far, if that is the reason.
        first_token: Option<Duration>,
        /// The time without data in the middle of an answer, if that is the reason.
        paused: Option<Duration>,
    },
    /// A tool starts.
    ToolStarted {
        /// The call's id.
        id: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// The call in one line.
        description: String,
        /// The call's action.
        action: Action,
    },
    /// A started tool is permitted and runs. Missing if the reader of events cannot keep up.
    ToolPermitted {
        /// The call's id.
        id: Arc<str>,
    },
    /// A running tool printed this.
    ToolPrinted {
        /// The call's id.
        id: Arc<str>,
        /// The newest output; some may have been dropped.
        text: String,
    },
    /// The progress of a call that works in a session of its own. Some events may have been dropped.
    Task {
        /// The call's id.
        id: Arc<str>,
        /// The progress.
        progress: Progress,
    },
    /// A tool returned its output.
    ToolFinished {
        /// The call's id.
        id: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// True if it succeeded.
        success: bool,
        /// The commands that failed in its last pipeline before the last one, which alone decides `success`.
        failed_in_pipe: Vec<FailedInPipe>,
        /// The size of its output, in bytes, before any truncation.
        bytes: u64,
        /// The time it took.
        elapsed: Duration,
        /// Its output, before truncation for the model.
        printed: Body,
        /// The number of bytes at its end that were not printed but added by the tool, such as an exit status.
        remarks: usize,
        /// Its changes as a unified diff; empty if it changed nothing or too much to compare.
        diff: Arc<str>,
        /// The effect of the user's interruption; `None` if the call ended on its own.
        stopped: Option<Stopped>,
    },
    /// A call was denied without asking the user; sent after its [`Event::ToolFinished`].
    Refused {
        /// The tool.
        tool: Arc<str>,
        /// The call in one line.
        description: String,
        /// The reason.
        why: String,
    },
    /// The conversation was compacted, or there was nothing to compact.
    Compacted {
        /// The reason.
        reason: Reason,
        /// The result.
        notice: Notice,
    },
    /// The model declined the prompt, or the provider rejected something said since: all of it was removed from the
    /// conversation, so that the next prompt gets an answer. Irrelevant if no prompt follows.
    TakenBack(Withdrawn),
    /// A notice for the user.
    Notice(String),
    /// The run ended.
    Over(Ending),
}

/// Receives events.
pub trait Listen: Send {
    /// Takes an event. It must not block: the run waits for it.
    fn on(&mut self, event: Event);
}

impl<F: FnMut(Event) + Send> Listen for F {
    fn on(&mut self, event: Event) {
        self(event);
    }
}

/// Records figures of a session's requests, and sees the conversation as each of them contains it.
pub trait Witness: Send + Sync {
    /// A request is sent with the current view.
    fn sending(&mut self, conversation: &Conversation);

    /// A request is sent that leaves nothing in the conversation: one for a summary, or an idle one.
    fn sending_beside(&mut self, conversation: &Conversation);

    /// The current request was billed at this price; `None` if it is unknown.
    fn billed(&mut self, billed: &Billed, price: Option<&PriceCard>);

    /// The session was cleared.
    fn cleared(&mut self);
}
