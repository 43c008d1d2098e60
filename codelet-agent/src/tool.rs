//! Tools, as the loop sees them: what they are called, what they do in the engine's notions, what they need, and the call.

use crate::event::{Event, Progress};
use crate::interrupt::Interrupt;
use crate::model::ToolSpec;
use crate::narrowed::Narrowed;
pub use crate::need::{Lack, Looking, Need, Owner};
use crate::task::Lent;
use codelet_context::body::Body;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Action, Image, Parameters};
use codelet_context::refusal::Refusal;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tokio::sync::mpsc;

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

    /// Whether each call works in a session of its own, so that as many as [`AT_ONCE`](crate::task::AT_ONCE) may run at once.
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

/// What a tool answers.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// Whether it did what it was asked to.
    pub success: bool,
    /// Exit statuses of the commands of the last pipeline, in their order, where a shell told them; else empty.
    pub pipe: Box<[u8]>,
    /// It may have failed for want of time: the same call with a longer one may do better.
    pub lacked_time: bool,
    /// Who has not let the call be made. The loop sets it; what a tool prints never counts as that.
    pub refusal: Option<Refusal>,
    /// What it printed or found: as much as is worth keeping (at most [`MOST`] bytes). The loop shows the model a bounded
    /// part of it and keeps the whole behind a handle.
    pub text: Body,
    /// Bytes at the end of `text` that nothing has printed: what the tool itself says of it, such as a status.
    pub remarks: usize,
    /// Bytes that were printed between the head and the tail of `text` and are lost.
    pub lost: u64,
    /// Pictures.
    pub images: Vec<Image>,
    /// It was a command that failed, or a part of its last pipe did, and as far as the tool knows, because the sandbox does not give it
    /// this.
    pub lack: Option<Lack>,
    /// What the user should know, whatever the model makes of it.
    pub notices: Vec<String>,
    /// Of a call that has worked in a session of its own: what was said there, as text. The loop keeps it behind a handle.
    pub transcript: Option<Body>,
    /// The last thing that it wanted to do there, beyond looking, was not permitted.
    pub is_held_up: bool,
    /// What it holds later calls of the turn to, such as the tools that a skill lists.
    pub narrowed: Option<Narrowed>,
    /// It asks for a compaction before the next request, as the conversation has [granted](Conversation::wished).
    pub wishes_compaction: bool,
    /// What hooks say of it, for the model, marked as theirs. The loop sets it.
    pub hooks: Vec<String>,
}

/// The most of one output that is kept in memory, in bytes.
pub const MOST: usize = 10 * 1024 * 1024;

/// The largest picture that is sent, in bytes of its base64: what Anthropic takes, and less than the others do.
pub const PICTURE: usize = 5 * 1024 * 1024;

impl Output {
    /// It worked.
    pub fn success(text: impl Into<Body>) -> Self {
        Output {
            success: true,
            pipe: Box::default(),
            lacked_time: false,
            refusal: None,
            text: text.into(),
            remarks: 0,
            lost: 0,
            images: Vec::new(),
            lack: None,
            notices: Vec::new(),
            transcript: None,
            is_held_up: false,
            narrowed: None,
            wishes_compaction: false,
            hooks: Vec::new(),
        }
    }

    /// It did not, for this reason.
    pub fn failure(text: impl Into<Body>) -> Self {
        Output {
            success: false,
            ..Output::success(text)
        }
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
