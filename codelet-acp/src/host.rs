//! The outside world as an editor's sessions need it.

use codelet_agent::asking::{Asking, Question};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{Model, Profile};
use codelet_agent::permission::Permission;
use codelet_agent::prompts::PromptSource;
use codelet_agent::session::Session;
use codelet_context::message::Image;
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use futures_util::future::LocalBoxFuture;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// Creates sessions.
pub trait Host {
    /// The version of the program.
    fn version(&self) -> &str;

    /// Starts a session. Slow work, such as waiting for servers that do not answer, is skipped when `skip` is thrown.
    fn open(&self, wanted: Wanted, skip: Interrupt) -> LocalBoxFuture<'_, Result<Begun, Unopened>>;

    /// The sessions recorded by agents on this machine, newest first; with a directory, only those that worked in it.
    fn recorded(&self, directory: Option<PathBuf>) -> LocalBoxFuture<'static, Vec<Listed>>;
}

/// A request for a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Its working directory.
    pub directory: PathBuf,
    /// Further directories that it may use like the workspace.
    pub added: Vec<PathBuf>,
    /// MCP servers in addition to those of the settings.
    pub servers: Vec<Server>,
    /// Text appended to the system prompt.
    pub append_system: Option<String>,
    /// The recorded session that it continues: a file, or an id.
    pub recorded: Option<String>,
}

/// An MCP server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    /// Its name, as the editor shows it.
    pub name: String,
    /// Its transport.
    pub reach: ServerReach,
}

/// The transport of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerReach {
    /// A program to be started.
    Program {
        /// The program.
        command: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// Environment variables.
        environment: Vec<(String, String)>,
    },
    /// A running server.
    Http {
        /// Its URL.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, String)>,
    },
}

/// A session that is ready to start.
pub struct Begun {
    /// The session.
    pub session: Session,
    /// Its access to the outside world.
    pub reach: Reach,
    /// Notices about it.
    pub notices: Vec<String>,
    /// The reason and result of a compaction at the start, for a continued conversation.
    pub compacted: Option<(Reason, Notice)>,
}

/// The reason why a session cannot start, in a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unopened {
    /// The recorded session does not exist or cannot be read.
    Unknown(String),
    /// The editor's request refers to something that does not exist, such as a directory.
    Unfit(String),
    /// The model's API key is missing.
    NoKey(String),
    /// Any other reason.
    Failed(String),
}

/// Connects to the model of this name.
pub type Connect = Box<dyn Fn(String) -> LocalBoxFuture<'static, Result<Box<dyn Model>, String>>>;
/// Returns the output of a command that only looks at a session, given its word and arguments; `None` for any other
/// command.
pub type Look = Arc<dyn Fn(&Session, &str, &str) -> Option<String> + Send + Sync>;
/// Decodes base64 images; the second result says which of them this model does not see, and why.
pub type Pictures = Box<dyn Fn(&[String], &Profile) -> Result<(Vec<Image>, Option<String>), String>>;

/// The outside world as a session needs it.
pub struct Reach {
    /// The gate that asks for permission.
    pub gate: Asking,
    /// The gate's questions.
    pub questions: UnboundedReceiver<Question>,
    /// Applies a permission to the tools.
    pub permit: Box<dyn Fn(Permission)>,
    /// The working directory, against which relative file names are resolved.
    pub directory: PathBuf,
    /// Connects to another model.
    pub connect: Connect,
    /// The name of the current model.
    pub model: String,
    /// Known model names.
    pub models: Vec<String>,
    /// The available commands, except the servers' prompts.
    pub commands: Vec<Command>,
    /// Commands that need a terminal, without the slash.
    pub of_terminals: Vec<&'static str>,
    /// The output of commands that only look.
    pub look: Look,
    /// Decodes images.
    pub pictures: Pictures,
    /// The source of prompts that can be used as commands.
    pub prompts: Arc<dyn PromptSource>,
    /// Ends the processes started for the session.
    pub end: Box<dyn FnOnce() -> LocalBoxFuture<'static, ()>>,
}

/// A slash command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// Its name, without the slash.
    pub word: String,
    /// Its arguments, in usage notation; empty for none.
    pub arguments: String,
    /// One line of help.
    pub help: String,
}

/// A recorded session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its id, by which it can be opened.
    pub id: String,
    /// Its working directory.
    pub directory: PathBuf,
    /// Its title.
    pub title: Option<String>,
    /// The time of its last message, as ISO 8601.
    pub updated: String,
}
