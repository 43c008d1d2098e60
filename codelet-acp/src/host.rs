//! What an editor's sessions need of the world.

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

/// Whoever makes sessions.
pub trait Host {
    /// The version of the program.
    fn version(&self) -> &str;

    /// Makes a session. What takes its time, such as servers that do not answer, is given up when `skip` is thrown.
    fn open(&self, wanted: Wanted, skip: Interrupt) -> LocalBoxFuture<'_, Result<Begun, Unopened>>;

    /// The sessions that agents on this machine have recorded, the newest first; with a folder, those that worked in it.
    fn recorded(&self, directory: Option<PathBuf>) -> LocalBoxFuture<'static, Vec<Listed>>;
}

/// What is wanted of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Where it works.
    pub directory: PathBuf,
    /// Folders that it may use like the workspace.
    pub added: Vec<PathBuf>,
    /// Servers of tools that it has besides those of the settings.
    pub servers: Vec<Server>,
    /// Text appended to the system prompt.
    pub append_system: Option<String>,
    /// The recorded session from which it goes on: a file, or an id.
    pub recorded: Option<String>,
}

/// A server of tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    /// Its name, as the editor shows it.
    pub name: String,
    /// How it is reached.
    pub reach: ServerReach,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerReach {
    /// A program that is started.
    Program {
        /// The program.
        command: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// Variables of its environment.
        environment: Vec<(String, String)>,
    },
    /// It runs already.
    Http {
        /// Its address.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, String)>,
    },
}

/// A session that can begin.
pub struct Begun {
    /// The session.
    pub session: Session,
    /// What it needs of the world.
    pub reach: Reach,
    /// What is to be known of it.
    pub notices: Vec<String>,
    /// Why what it goes on from was compacted at once, and what that came to.
    pub compacted: Option<(Reason, Notice)>,
}

/// Why a session cannot begin, in a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unopened {
    /// There is no recorded session of that name, or it cannot be read.
    Unknown(String),
    /// The editor asks for something that is not there, such as a folder.
    Unfit(String),
    /// Anything else, such as a key that is missing.
    Failed(String),
}

/// Asks for the model of this name.
pub type Connect = Box<dyn Fn(String) -> LocalBoxFuture<'static, Result<Box<dyn Model>, String>>>;
/// What a command that only looks at a session shows, given its word and what stands behind it; `None` where it is none.
pub type Look = Arc<dyn Fn(&Session, &str, &str) -> Option<String> + Send + Sync>;
/// Makes pictures of their base64; the other text says which of them this model does not see, and why.
pub type Pictures = Box<dyn Fn(&[String], &Profile) -> Result<(Vec<Image>, Option<String>), String>>;

/// What a session needs of the world and cannot reach itself.
pub struct Reach {
    /// Who asks for permission.
    pub gate: Asking,
    /// Where the questions arrive.
    pub questions: UnboundedReceiver<Question>,
    /// Tells the tools how far they may go.
    pub permit: Box<dyn Fn(Permission)>,
    /// Where the session works: relative names of files begin there.
    pub directory: PathBuf,
    /// Connects to another model.
    pub connect: Connect,
    /// The name of the model that is asked.
    pub model: String,
    /// Models that are known by name.
    pub models: Vec<String>,
    /// Commands that can be said, beside the prompts of servers.
    pub commands: Vec<Command>,
    /// Commands that need a terminal, without the slash.
    pub of_terminals: Vec<&'static str>,
    /// What those show that only look.
    pub look: Look,
    /// Makes pictures.
    pub pictures: Pictures,
    /// Who offers prompts as commands.
    pub prompts: Arc<dyn PromptSource>,
    /// Ends what was started for the session.
    pub end: Box<dyn FnOnce() -> LocalBoxFuture<'static, ()>>,
}

/// A command that begins with a slash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// How it is written, without the slash.
    pub word: String,
    /// What may stand behind it; empty for nothing.
    pub arguments: String,
    /// One line of help.
    pub help: String,
}

/// A recorded session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The name under which it can be opened.
    pub id: String,
    /// Where it worked.
    pub directory: PathBuf,
    /// What it is about.
    pub title: Option<String>,
    /// When something was last said in it, as ISO 8601.
    pub updated: String,
}
