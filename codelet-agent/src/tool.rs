//! Tools, as the loop sees them: what they are called, what they do in the engine's notions, what they need, and the call.

pub mod event;
pub mod hooks;
pub(crate) mod output;
pub mod skills;
pub(crate) mod tasks;
pub mod wish;

use crate::environment::Surroundings;
use crate::environment::journal::Journal;
use crate::interrupt::Interrupt;
use crate::model::{Model, ToolSpec};
use crate::permission::Gate;
use crate::permission::narrowed::Narrowed;
pub use crate::permission::need::{Lack, Looking, Need, Owner};
use crate::run::settings::Settings;
use crate::tool::event::{Event, Progress};
use crate::tool::hooks::Hooks;
pub use crate::tool::output::{MOST, Output, PICTURE};
use crate::tool::tasks::Tasks;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Action, Parameters};
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// As many calls that work in sessions of their own run at once.
pub const AT_ONCE: usize = 4;

/// Something that the model can ask for.
pub trait Tool: Send + Sync {
    /// What the model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// What a call does, in the engine's notions; unless a tool says, none of them.
    fn action(&self, _: &Parameters) -> Action {
        Action::default()
    }

    /// Whether calls only look, so that several may run at once.
    fn is_read_only(&self) -> bool;

    /// Whether each call works in a session of its own, so that as many as [`AT_ONCE`] may run at once.
    fn works_apart(&self) -> bool {
        false
    }

    /// What a call has to be permitted to do. Paths are resolved through links first.
    ///
    /// # Errors
    /// When the parameters make no sense; the text is the answer to the model.
    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String>;

    /// One line that tells a person what a call does, such as `src/main.rs` or `cargo test`.
    fn describe(&self, parameters: &Parameters) -> String;

    /// Makes the call. A failure is an answer too. Returns soon after [`Call::interrupt`] fires, with whatever it started
    /// ended.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output>;
}

/// Somebody who offers tools that may become others while a session lives.
pub trait ToolSource: Send + Sync {
    /// The tools as they were read last.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Reads them again where they may have changed. Asked before each prompt, so it takes no time where nothing has; giving
    /// it up loses nothing.
    fn refresh(&self) -> BoxFuture<'_, Refreshed>;
}

/// What came of reading tools again.
#[derive(Default)]
pub struct Refreshed {
    /// All tools, where some of them are others than before.
    pub tools: Option<Vec<Arc<dyn Tool>>>,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// One call.
pub struct Call<'a> {
    /// What the tool is called with.
    pub parameters: &'a Parameters,
    /// What it was permitted to do, of all that it said it needs.
    pub permitted: &'a [Need],
    /// The conversation as it stands: what was removed from it can be read back.
    pub conversation: &'a Conversation,
    /// Where output may be shown while the tool runs.
    pub live: Live,
    /// Fires when the user interrupts.
    pub interrupt: Interrupt,
    /// What the session lends to a call that works in one of its own; none where no session makes the call.
    pub lent: Option<Lent<'a>>,
}

/// What a session lends to a call that works in a session of its own.
#[derive(Clone, Copy)]
pub struct Lent<'a> {
    pub(crate) model: &'a Arc<dyn Model>,
    /// The tools that are the session's own, and those of servers as they stand.
    pub(crate) own: &'a [Arc<dyn Tool>],
    pub(crate) served: &'a [Arc<dyn Tool>],
    pub(crate) gate: &'a Arc<dyn Gate>,
    pub(crate) world: &'a Arc<dyn Surroundings>,
    pub(crate) settings: &'a Settings,
    /// The most dollars that it may cost, if that is bounded.
    pub(crate) share: Option<f64>,
    pub(crate) tasks: &'a Tasks,
    pub(crate) hooks: Option<&'a Arc<dyn Hooks>>,
    pub(crate) journal: Option<&'a Arc<dyn Journal>>,
    /// The lists of tools that its calls are held to: those that the session was handed its work with, and its own.
    pub(crate) narrowed: [&'a [Narrowed]; 2],
}

impl fmt::Debug for Lent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent")
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

/// Shows output while a tool runs. It never blocks and never grows: what nobody takes in time is not shown.
#[derive(Clone, Debug)]
pub struct Live(Option<(Arc<str>, mpsc::Sender<Event>)>);

/// The most that is shown at once, in bytes.
const GLIMPSE: usize = 4096;

impl Live {
    /// The output of the call with this id, into this channel.
    pub fn new(id: Arc<str>, channel: mpsc::Sender<Event>) -> Self {
        Live(Some((id, channel)))
    }

    /// Nobody looks.
    pub fn none() -> Self {
        Live(None)
    }

    /// Shows more output, the end of it where it is long.
    pub fn show(&self, text: &str) {
        if let Some((id, channel)) = &self.0 {
            let from = text.ceil_char_boundary(text.len().saturating_sub(GLIMPSE));
            // A full channel means that nobody keeps up with looking; the whole is in the answer.
            let _ = channel.try_send(Event::ToolPrinted {
                id: id.clone(),
                text: text[from..].to_owned(),
            });
        }
    }

    /// Shows how far a call is that works in a session of its own.
    pub(crate) fn progress(&self, progress: Progress) {
        if let Some((id, channel)) = &self.0 {
            // The next one says all of it again.
            let _ = channel.try_send(Event::Task {
                id: id.clone(),
                progress,
            });
        }
    }
}
