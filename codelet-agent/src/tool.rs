//! Tools, as the loop sees them: the definition, the action in the engine's terms, the needed permissions, and the
//! call.

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
pub use crate::permission::need::{Aim, Lack, Looking, Need, Owner};
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

/// The number of calls in sessions of their own that run at once.
pub const AT_ONCE: usize = 4;

/// A tool that the model can call.
pub trait Tool: Send + Sync {
    /// Returns the definition sent to the model.
    fn spec(&self) -> &ToolSpec;

    /// Classifies a call in the engine's terms; by default as nothing in particular.
    fn action(&self, _: &Parameters) -> Action {
        Action::default()
    }

    /// Returns whether calls only read, so that several may run at once; by default not.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Returns whether each call works in a session of its own, so that up to [`AT_ONCE`] may run at once.
    fn works_apart(&self) -> bool {
        false
    }

    /// Returns the permissions that a call needs. Symbolic links in paths are resolved first.
    ///
    /// # Errors
    /// If the parameters are invalid; the text is returned to the model.
    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String>;

    /// Describes a call to a person in one line, such as `src/main.rs` or `cargo test`.
    fn describe(&self, parameters: &Parameters) -> String;

    /// Makes the call. A failure is also an output. Returns soon after [`Call::interrupt`] fires, having ended whatever
    /// it started.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output>;
}

/// A source of tools that may change while a session lives.
pub trait ToolSource: Send + Sync {
    /// Returns the tools as last read.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Reads the tools again if they may have changed. Called before each prompt, so it must be fast if nothing
    /// changed; it can be cancelled safely.
    fn refresh(&self) -> BoxFuture<'_, Refreshed>;
}

/// The result of reading tools again.
#[derive(Default)]
pub struct Refreshed {
    /// All tools, if any of them changed.
    pub tools: Option<Vec<Arc<dyn Tool>>>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// One call.
pub struct Call<'a> {
    /// The parameters.
    pub parameters: &'a Parameters,
    /// The needs that were permitted, out of all that the tool named.
    pub permitted: &'a [Need],
    /// The conversation as it stands: removed parts can be read back.
    pub conversation: &'a Conversation,
    /// Shows output while the tool runs.
    pub live: Live,
    /// Fires when the user interrupts.
    pub interrupt: Interrupt,
    /// The resources for a call that works in a session of its own; `None` if no session makes the call.
    pub lent: Option<Lent<'a>>,
}

/// The resources that a session lends to a call that works in a session of its own.
#[derive(Clone, Copy)]
pub struct Lent<'a> {
    pub(crate) model: &'a Arc<dyn Model>,
    /// The session's own tools; `served` are those of servers, as they stand.
    pub(crate) own: &'a [Arc<dyn Tool>],
    pub(crate) served: &'a [Arc<dyn Tool>],
    pub(crate) gate: &'a Arc<dyn Gate>,
    pub(crate) world: &'a Arc<dyn Surroundings>,
    pub(crate) settings: &'a Settings,
    /// The cost limit in US dollars, if any.
    pub(crate) share: Option<f64>,
    pub(crate) tasks: &'a Tasks,
    pub(crate) hooks: Option<&'a Arc<dyn Hooks>>,
    pub(crate) journal: Option<&'a Arc<dyn Journal>>,
    /// The tool lists that its calls are held to: those inherited from a parent session, and its own.
    pub(crate) narrowed: [&'a [Narrowed]; 2],
}

impl fmt::Debug for Lent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent")
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

/// Shows output while a tool runs. It never blocks and never grows: output that is not consumed in time is dropped.
#[derive(Clone, Debug)]
pub struct Live(Option<(Arc<str>, mpsc::Sender<Event>)>);

/// The maximum shown at once, in bytes.
const GLIMPSE: usize = 4096;

impl Live {
    /// Sends the output of the call with this id into this channel.
    pub fn new(id: Arc<str>, channel: mpsc::Sender<Event>) -> Self {
        Live(Some((id, channel)))
    }

    /// Shows nothing.
    pub fn none() -> Self {
        Live(None)
    }

    /// Shows that the call is permitted.
    pub(crate) fn permitted(&self) {
        if let Some((id, channel)) = &self.0 {
            // A dropped event does no harm: the result follows.
            let _ = channel.try_send(Event::ToolPermitted { id: id.clone() });
        }
    }

    /// Shows more output; only the end of a long one.
    pub fn show(&self, text: &str) {
        if let Some((id, channel)) = &self.0 {
            let from = text.ceil_char_boundary(text.len().saturating_sub(GLIMPSE));
            // A full channel means that the reader cannot keep up; the result contains everything.
            let _ = channel.try_send(Event::ToolPrinted {
                id: id.clone(),
                text: text[from..].to_owned(),
            });
        }
    }

    /// Shows the progress of a call that works in a session of its own.
    pub(crate) fn progress(&self, progress: Progress) {
        if let Some((id, channel)) = &self.0 {
            // A dropped event does no harm: the next one carries the whole progress.
            let _ = channel.try_send(Event::Task {
                id: id.clone(),
                progress,
            });
        }
    }
}
