//! Tools of other programs: connections to MCP servers, over pipes and over HTTP.
//!
//! The loop knows tools only by its traits; this crate is the edge that holds connections to servers of the Model
//! Context Protocol. A server is somebody else's program: what it says is bounded and cleaned where it comes in, what it
//! is slow with is given up, and a broken one is a notice, never a failed start. Its tools are called `server__tool`; each
//! call has to be permitted, ends in time, and ends at once when the user interrupts. A server that dies is started once
//! more, and what it started ends with the session.
//!
//! The list of tools stands at the head of what a provider caches, so it is made by [`connect`], and changes only between two
//! prompts, when a server has said so and its list really is another.
//! A server's prompts are commands of the user's, `/server:prompt`; the model hears of them only when one is sent.
//! Nothing here reads the environment of the process: what servers may know comes in as [`Server`] and [`Options`].
//!
//! Start with [`connect`].
//!
//! ```
//! use codelet_agent::interrupt::Interrupt;
//! use codelet_agent::tool::ToolSource;
//! use codelet_mcp::{Options, connect};
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! let connected = runtime.block_on(connect(Vec::new(), Options::default(), &Interrupt::new()));
//! assert!(connected.offers.tools().is_empty() && connected.notices.is_empty());
//! ```

mod answer;
mod changes;
mod check;
mod connect;
mod connection;
mod define;
mod http;
mod login;
mod name;
mod offers;
mod pipe;
mod program;
mod prompts;
mod redirect;
mod remote;
mod schema;
mod text;
mod tool;

pub use check::{Checked, Found, check};
pub use connect::{Connected, Servers, connect};
pub use login::{Invitation, Logins, log_in};
pub use name::is_name;
pub use offers::Offers;
pub use program::end_all;

use codelet_network::Network;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A server, as the settings name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    /// Its name, the first part of the names of its tools; see [`is_name`].
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Patterns of the tools that are wanted, in the server's own names, where `*` stands for any text; none for all.
    pub tools: Option<Vec<String>>,
    /// How long it may take to be ready.
    pub start: Duration,
    /// How long a call may take.
    pub timeout: Duration,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that is started, and spoken to through its standard input and output.
    Program {
        /// The program, by its path or its name.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// The whole environment.
        environment: Vec<(OsString, OsString)>,
        /// Where it works.
        directory: PathBuf,
    },
    /// A server that runs, spoken to by streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, String)>,
        /// Certificates, as PEM, whose signature on the server's is trusted besides the usual ones; empty for none.
        authorities: String,
        /// What Codelet is called where the server has its users log in; none where it registers itself there.
        client_id: Option<String>,
    },
}

impl fmt::Debug for Reach {
    /// Without what may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reach::Program { command, .. } => f
                .debug_struct("Program")
                .field("command", command)
                .finish_non_exhaustive(),
            Reach::Http { .. } => f.debug_struct("Http").finish_non_exhaustive(),
        }
    }
}

/// Finds secrets; the same list as before where none is new.
pub type SessionSecrets = Arc<dyn Fn() -> Arc<[String]> + Send + Sync>;

/// What all servers of a session have in common.
#[derive(Clone, Default)]
pub struct Options {
    /// Values that are shown nowhere: keys of these servers.
    pub secrets: Vec<String>,
    /// Finds what else is shown nowhere, as it is now: the keys of the session, which a program may renew while it lasts.
    pub session_secrets: Option<SessionSecrets>,
    /// A variable that each program gets with a value of its own: by it, those that it started are found.
    pub mark: Option<OsString>,
    /// Whether the model takes pictures.
    pub sees_images: bool,
    /// How servers that run somewhere are reached, beside their addresses.
    pub network: Network,
    /// Where logins are kept; none where there is no place for them.
    pub logins: Option<Logins>,
}

/// Why a server is not of use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// It could not be started or reached.
    #[error("{0}")]
    Unreachable(String),
    /// It speaks, but not in a way that is understood.
    #[error("it is not understood: {0}")]
    Foreign(String),
    /// It refused to begin.
    #[error("it refuses: {0}")]
    Refused(String),
    /// It was not ready in time.
    #[error("it was not ready within {} s", .0.as_secs_f32())]
    Slow(Duration),
}
