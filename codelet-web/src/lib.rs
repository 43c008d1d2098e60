//! The web: the tool `WebFetch`.
//!
//! A page is fetched with `GET` and nothing else: no cookies, no credentials, no address of where its name was found. Each
//! host is a [need](codelet_agent::tool::Need::Fetch) of its own, and a redirect to another one is told instead of followed. A
//! name is resolved once, every address of it is judged, and only those are connected to, so that no name leads to another
//! address than the one that was judged. What comes is bounded in bytes, as it is sent and unpacked, and in time; a page of any
//! shape becomes Markdown in bounded time and depth. What a page says is another's words, and is marked so.
//!
//! Nothing here reads the environment: what holds comes in as [`Options`]. Start with [`tool()`]; `address` says what is reached,
//! `fetch` asks, `page` and `markdown` read.

mod address;
mod body;
mod fetch;
mod markdown;
mod page;
mod target;
mod tool;

use codelet_agent::tool::Tool;
use codelet_network::Network;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What the tool is to know of its session.
#[derive(Clone)]
pub struct Options {
    /// How servers are reached.
    pub network: Network,
    /// Hosts that may lead to addresses of private networks and of this machine: names or addresses, with or without a port, in which
    /// `*` stands for any text.
    pub private: Vec<String>,
    /// Whether a text holds a secret.
    pub holds_secret: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Whether the model that is asked now takes pictures.
    pub sees_images: Arc<dyn Fn() -> bool + Send + Sync>,
    /// How long a fetch may take, redirects included.
    pub time: Duration,
}

impl Options {
    /// The usual ones on this network: no private addresses, no secrets, no pictures, half a minute.
    pub fn new(network: Network) -> Self {
        Options {
            network,
            private: Vec::new(),
            holds_secret: Arc::new(|_| false),
            sees_images: Arc::new(|| false),
            time: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("private", &self.private)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

/// The tool `WebFetch`.
pub fn tool(options: Options) -> Box<dyn Tool> {
    Box::new(tool::WebFetch::new(options, fetch::system_lookup()))
}
