//! Tools, as the loop sees them: what they are called, what they do in the engine's notions, what they need, and the call.

use crate::event::Event;
use crate::interrupt::Interrupt;
use crate::model::ToolSpec;
use crate::narrowed::Narrowed;
use crate::task::{Lent, Progress};
use codelet_context::body::Body;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Action, Image, Parameters};
use codelet_context::refusal::Refusal;
use futures_util::future::BoxFuture;
use std::path::PathBuf;
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

/// What a call needs to be permitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Need {
    /// To look at a file or folder.
    Read {
        /// Where, resolved.
        path: PathBuf,
        /// Whether that is inside the workspace.
        is_inside: bool,
        /// Whether a file stands there, and no folder, device or nothing at all.
        is_file: bool,
    },
    /// To create, alter or overwrite a file.
    Change {
        /// Where, resolved.
        path: PathBuf,
        /// Whether that is inside the workspace.
        is_inside: bool,
        /// Whose it is, where it is not the workspace's wherever it lies.
        owner: Option<Owner>,
        /// What changes, for a person to judge: a unified diff, or empty where nothing does. Where it does not show all,
        /// a line before it says how much that is, as git does: `1 file changed, 1 insertion(+), 2 deletions(-)`. A
        /// line outside of its hunks that begins with `…` says what else is to be known.
        diff: String,
    },
    /// To run a command line.
    Run {
        /// The command line.
        command: String,
        /// Where the shell stands, from where the session began; empty where it stands there.
        folder: String,
        /// Whether it only looks, and where.
        looks: Looking,
    },
    /// To run a command line again that the sandbox has stopped, with what it lacked there.
    RunWith {
        /// The command line.
        command: String,
        /// Where the shell stands, as for [`Need::Run`].
        folder: String,
        /// What it is given besides.
        lack: Lack,
    },
    /// To call a tool of another program, which may do anything that this program can.
    Call {
        /// The server's name in the settings.
        server: String,
        /// The tool's name towards the model, `server__tool`.
        tool: String,
        /// Tells what the server says of the tool, its description and parameters, from whatever else it may come to say.
        definition: String,
        /// Somebody has permitted a tool of this name, with another definition.
        is_changed: bool,
        /// What it is called with, as JSON.
        parameters: String,
    },
    /// To fetch what a host on the web answers at an address.
    Fetch {
        /// The host as [patterns](crate::permission::Rules::allow) name it: in ASCII and small letters, with its port where that is not
        /// the usual one.
        host: String,
        /// The whole address.
        url: String,
        /// What a person should know of it, a sentence each.
        remarks: Vec<String>,
        /// It is long enough to carry data away, so that no answer to an earlier question covers it.
        is_long: bool,
    },
}

impl Need {
    /// Whether it is to look at something, and nothing else.
    pub fn only_looks(&self) -> bool {
        matches!(
            self,
            Need::Read { .. }
                | Need::Fetch { .. }
                | Need::Run {
                    looks: Looking::Only,
                    ..
                }
        )
    }
}

/// What a command in the sandbox lacked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lack {
    /// The network.
    Network,
    /// To be outside of the sandbox, as what it wants cannot be had in one.
    Freedom,
}

impl Lack {
    /// What it is, behind "with" or "run": `network access`.
    pub fn named(&self) -> &'static str {
        match self {
            Lack::Network => "network access",
            Lack::Freedom => "no sandbox",
        }
    }
}

/// How far a command line only looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looking {
    /// It does nothing else, and within the workspace: it runs shut in so that it can do nothing else.
    Only,
    /// Those of its commands that only look do so within the workspace.
    Inside,
    /// Such a command may look at what is outside of the workspace, or nothing is known of it.
    Outside,
}

/// Whose a file is that may lie in the workspace and is not the workspace's: somebody obeys what stands there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Git's: settings, hooks, whatever else it obeys or keeps.
    Git,
    /// Codelet's: settings, which say what a session may do.
    Codelet,
    /// The user's, in a home that is all of the workspace: what shells, keys and programs are told there.
    Home,
    /// Nobody's else than the workspace's, but something obeys it unasked: what does, behind the name of the file.
    Obeyed(&'static str),
}

impl Owner {
    /// Why nobody changes such a file unasked, behind its name.
    pub fn reason(self) -> &'static str {
        match self {
            Owner::Git => "belongs to git, which may run programs that it names",
            Owner::Codelet => "is a Codelet setting, which decides what a session may do",
            Owner::Home => "is in the user's home directory, where shells and other programs may run it",
            Owner::Obeyed(reason) => reason,
        }
    }
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
