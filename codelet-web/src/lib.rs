//! The web: the tool `WebFetch`.
//!
//! A page is fetched with `GET` only: no cookies, no credentials, no `Referer`. Each host is a separate
//! [need](codelet_agent::tool::Need::Fetch), and a redirect to another host is reported instead of followed. A name is
//! resolved once, all its addresses are judged, and only those are connected to, so that no name can lead to an address
//! that was not judged (DNS rebinding). A response is limited in bytes and in time; a page of any shape becomes Markdown
//! in bounded time and depth. The text of a page is third-party content and marked as such.
//!
//! Nothing here reads the environment: settings come in as [`Options`]. Start with [`tool()`]; `address` says what may
//! be reached, `fetch` sends requests, `page` and `markdown` read responses.

mod address;
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

/// The tool's settings for a session.
#[derive(Clone)]
pub struct Options {
    /// Proxies and certificates.
    pub network: Network,
    /// Hosts that may resolve to addresses of private networks and of this machine: names or addresses, with or without
    /// a port, in which `*` stands for any text.
    pub private: Vec<String>,
    /// Returns whether a text contains a secret.
    pub holds_secret: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Returns whether the current model accepts images.
    pub sees_images: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Timeout of a fetch, including redirects.
    pub time: Duration,
}

impl Options {
    /// The defaults on this network: no private addresses, no secrets, no images, a timeout of half a minute.
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

/// Creates the tool `WebFetch`.
pub fn tool(options: Options) -> Box<dyn Tool> {
    Box::new(tool::WebFetch::new(options, fetch::system_lookup()))
}
