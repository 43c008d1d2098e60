//! The servers of a session: all are started concurrently, each within its own timeout, and ended together.

use crate::connection::{About, defined};
use crate::define::Defined;
use crate::offers::{Offer, Offers};
use crate::prompts::{self, RemotePrompt};
use crate::remote::{Remote, in_words, open};
use crate::text::{Secrets, Tail};
use crate::{Options, Reach, Server};
use codelet_agent::interrupt::Interrupt;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Timeout for listing a server's prompts once it is ready: they are for the user, and nothing waits for them.
const PROMPTS: Duration = Duration::from_secs(5);

/// The result of connecting.
#[derive(Default)]
pub struct Connected {
    /// The tools and prompts of the servers that are connected.
    pub offers: Arc<Offers>,
    /// Notices for the user, without secrets.
    pub notices: Vec<String>,
}

/// Connects to all servers concurrently, and waits until each is ready or has timed out. A server that is not ready is
/// left out, with a notice. If the user interrupts, waiting stops, and servers that are not ready by then are left out
/// too.
pub async fn connect(servers: Vec<Server>, options: Options, interrupt: &Interrupt) -> Connected {
    if servers.is_empty() {
        return Connected::default();
    }
    let tried = try_all(servers, options, interrupt).await;
    let mut notices = Vec::new();
    let mut offers = Vec::new();
    for tried in tried {
        notices.extend(tried.notices());
        if let Ok(there) = tried.came {
            offers.push(Offer::new(there.remote, there.defined, there.prompts));
        }
    }
    let (offers, over) = Offers::new(offers);
    notices.extend(over);
    Connected {
        offers: Arc::new(offers),
        notices,
    }
}

/// The result of trying a server.
pub(crate) struct Attempt {
    pub name: String,
    pub took: Duration,
    /// The server, or the reason why it cannot be used.
    pub came: Result<ConnectedServer, String>,
}

/// A server that is connected.
pub(crate) struct ConnectedServer {
    pub remote: Arc<Remote>,
    pub about: About,
    pub defined: Vec<Defined>,
    pub prompts: Vec<RemotePrompt>,
    /// Oddities of the server.
    pub oddities: Vec<String>,
}

impl Attempt {
    fn notices(&self) -> Vec<String> {
        let told: &[String] = match &self.came {
            Ok(there) => &there.oddities,
            Err(why) => std::slice::from_ref(why),
        };
        let told = told.iter();
        told.map(|what| format!("MCP server {}: {what}", self.name)).collect()
    }
}

/// Tries all servers concurrently, each within its start timeout or until the user interrupts.
pub(crate) async fn try_all(servers: Vec<Server>, options: Options, interrupt: &Interrupt) -> Vec<Attempt> {
    let options = Arc::new(options);
    let each = servers.into_iter().map(|server| {
        let name = server.name.clone();
        let one = one(server, options.clone());
        async move {
            let began = Instant::now();
            let came = tokio::select! {
                biased;
                one = one => one,
                () = interrupt.thrown() => Err("skipped before it was ready; its tools are left out".to_owned()),
            };
            Attempt {
                name,
                took: began.elapsed(),
                came,
            }
        }
    });
    join_all(each).await
}

async fn one(server: Server, options: Arc<Options>) -> Result<ConnectedServer, String> {
    let secrets = secrets(&server, &options);
    let told = Tail::default();
    let opened = open(&server, &options, &secrets, &told).await;
    let (connection, list) = opened.map_err(|trouble| secrets.hide(in_words(&trouble, &told)))?;
    let (defined, mut oddities) = defined(&server, list);
    let listed = connection.prompts(PROMPTS.min(server.start)).await;
    let (prompts, told) = match listed {
        None => Default::default(),
        Some(Ok(list)) => prompts::all(&server.name, list, &secrets),
        Some(Err(trouble)) => (Vec::new(), vec![format!("its prompts cannot be listed: {trouble}")]),
    };
    oddities.extend(told);
    if defined.is_empty() && prompts.is_empty() && oddities.is_empty() {
        oddities.push("it offers no tools, or none that the setting `tools` selects".to_owned());
    }
    let oddities = oddities.into_iter().map(|what| secrets.hide(what)).collect();
    let about = connection.about();
    let remote = Arc::new(Remote::new(server, options, secrets, connection));
    Ok(ConnectedServer {
        remote,
        about,
        defined,
        prompts,
        oddities,
    })
}

/// The values to hide: the session's keys and this server's headers. A program's environment may contain anything, such
/// as its folder; of that, only the session's secrets are hidden.
fn secrets(server: &Server, options: &Options) -> Secrets {
    let (url, headers) = match &server.reach {
        Reach::Http { url, headers, .. } => (url.as_str(), &headers[..]),
        Reach::Program { .. } => ("", &[][..]),
    };
    // A URL may contain a key, in its query or before the host.
    let url = Some(url).filter(|url| url.contains(['?', '@']));
    // A key may be shown without its scheme, too.
    let values = headers
        .iter()
        .flat_map(|(_, value)| [value.as_str(), value.rsplit(' ').next().unwrap_or_default()]);
    let own = options.secrets.iter().map(String::as_str);
    Secrets::new(own.chain(values).chain(url)).with(options.session_secrets.as_ref())
}
