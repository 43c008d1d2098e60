//! Tools of other programs: connections to MCP servers, over pipes and over HTTP.
//!
//! The loop knows tools only by its traits; this crate is the edge that holds connections to servers of the Model
//! Context Protocol. A server is a third party's program: its output is bounded and cleaned where it is read, slow
//! requests time out, and a broken server causes a notice, never a failed start. Its tools are called `server__tool`;
//! each call needs permission, has a timeout, and ends at once when the user interrupts. A server that dies is
//! restarted once, and the processes that it started end with the session.
//!
//! The list of tools is part of the provider's cache prefix, so [`connect`] creates it, and it changes only between two
//! prompts, when a server has announced a change and its list really differs.
//! A server's prompts are commands of the user, `/server:prompt`; the model sees one only when it is sent. Nothing here
//! reads the environment of the process: what servers may know comes in as [`Server`] and [`Options`].
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

mod address;
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
pub use connect::{Connected, connect};
pub use login::{Invitation, Logins, log_in};
pub use name::is_name;
pub use offers::Offers;

use codelet_network::Network;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A server as the settings define it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    /// Its name, the first part of the names of its tools; see [`is_name`].
    pub name: String,
    /// The transport to the server.
    pub reach: Reach,
    /// Patterns for the tools to use, in the server's own names, where `*` stands for any text; `None` for all.
    pub tools: Option<Vec<String>>,
    /// The timeout for starting the server.
    pub start: Duration,
    /// The timeout of a call.
    pub timeout: Duration,
}

/// The transport to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that is started and reached through its stdin and stdout.
    Program {
        /// The program, by path or name.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// The whole environment.
        environment: Vec<(OsString, OsString)>,
        /// Its working directory.
        directory: PathBuf,
    },
    /// A running server, reached by streamable HTTP.
    Http {
        /// Its URL.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, String)>,
        /// PEM certificates of authorities that are trusted for this server in addition to the usual ones; may be
        /// empty.
        authorities: String,
        /// Codelet's OAuth client ID at the server; `None` if it registers itself there.
        client_id: Option<String>,
    },
}

impl fmt::Debug for Reach {
    /// Omits everything that may contain a secret.
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

/// Finds secrets; returns the same list as before if there is no new one.
pub type SessionSecrets = Arc<dyn Fn() -> Arc<[String]> + Send + Sync>;

/// Options shared by all servers of a session.
#[derive(Clone, Default)]
pub struct Options {
    /// Values that are never shown: keys of these servers.
    pub secrets: Vec<String>,
    /// Finds further values that are never shown: the session's current keys, which a program may renew during the
    /// session.
    pub session_secrets: Option<SessionSecrets>,
    /// True if the model accepts images.
    pub sees_images: bool,
    /// Proxies and certificates for remote servers.
    pub network: Network,
    /// The store for logins; `None` if there is no place for them.
    pub logins: Option<Logins>,
}

/// Reasons why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// It could not be started or reached.
    #[error("{0}")]
    Unreachable(String),
    /// Its messages are not understood.
    #[error("it is not understood: {0}")]
    Foreign(String),
    /// It refused the handshake.
    #[error("it refuses: {0}")]
    Refused(String),
    /// It was not ready in time.
    #[error("no answer to its handshake within {} s", .0.as_secs_f32())]
    Slow(Duration),
}
