//! The servers of a session: all started at once, each waited for as long as it may take, and ended together.

use crate::connection::defined;
use crate::remote::{Remote, in_words, open};
use crate::text::{Secrets, Tail};
use crate::tool::RemoteTool;
use crate::{Options, Reach, Server};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::tool::Tool;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;

/// The most tools of all servers: some vendors take 128 in a request, and the session has its own.
const MOST_TOOLS: usize = 112;

/// What came of connecting.
#[derive(Default)]
pub struct Connected {
    /// The tools of the servers that are there, in the order of the servers, then of their names.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What the user should know, without secrets.
    pub notices: Vec<String>,
    /// The servers, to end them in order.
    pub servers: Servers,
}

/// The servers of a session. Their programs end when this and their tools are dropped.
#[derive(Default)]
pub struct Servers(Vec<Arc<Remote>>);

impl Servers {
    /// Ends them in order: each hears that nothing more will come, and has this long to go by itself.
    pub async fn end(self, patience: Duration) {
        join_all(self.0.iter().map(|remote| remote.end(patience))).await;
    }
}

/// Connects to all servers at once, and waits until each is ready or its time is over. A server that is not ready is
/// left out, with a notice: the list of tools does not change later. When the user interrupts, nobody is waited for any
/// more, so that those are left out, too, which are not ready then.
pub async fn connect(servers: Vec<Server>, options: Options, interrupt: &Interrupt) -> Connected {
    if servers.is_empty() {
        return Connected::default();
    }
    let options = Arc::new(options);
    let each = servers.into_iter().map(|server| {
        let skipped = One {
            notices: vec![format!(
                "MCP server {}: it was not waited for; its tools are left out",
                server.name
            )],
            ..One::default()
        };
        let one = one(server, options.clone());
        async move {
            tokio::select! {
                biased;
                one = one => one,
                () = interrupt.thrown() => skipped,
            }
        }
    });
    let each = join_all(each).await;
    let mut connected = Connected::default();
    for One { tools, notices, remote } in each {
        let room = MOST_TOOLS - connected.tools.len();
        connected.notices.extend(notices);
        if let (Some(remote), true) = (&remote, tools.len() > room) {
            let (name, left) = (&remote.server.name, tools.len() - room);
            connected.notices.push(format!(
                "MCP server {name}: {left} of its tools are left out: {MOST_TOOLS} are the most of all servers together"
            ));
        }
        connected
            .tools
            .extend(tools.into_iter().take(room).map(|tool| Arc::new(tool) as Arc<dyn Tool>));
        connected.servers.0.extend(remote);
    }
    connected
}

#[derive(Default)]
struct One {
    tools: Vec<RemoteTool>,
    notices: Vec<String>,
    remote: Option<Arc<Remote>>,
}

async fn one(server: Server, options: Arc<Options>) -> One {
    let secrets = secrets(&server, &options);
    let told = Tail::default();
    let tell = |what: String| secrets.hide(format!("MCP server {}: {what}", server.name));
    let (connection, list) = match open(&server, &options, &told).await {
        Ok(opened) => opened,
        Err(trouble) => {
            return One {
                notices: vec![tell(in_words(&trouble, &told))],
                ..One::default()
            };
        }
    };
    let (defined, notices) = defined(&server, list, &secrets);
    let mut notices: Vec<String> = notices.into_iter().map(tell).collect();
    if defined.is_empty() && notices.is_empty() {
        notices.push(tell("it has no tools that are wanted".to_owned()));
    }
    let remote = Arc::new(Remote::new(server, options, secrets, connection));
    let tools = defined.into_iter().map(|tool| RemoteTool::new(tool, remote.clone()));
    One {
        tools: tools.collect(),
        notices,
        remote: Some(remote),
    }
}

/// What must not be shown: the keys of the session, and the headers of this server. What a program gets in its
/// environment may be anything, such as its folder; of that, only what the session keeps secret is.
fn secrets(server: &Server, options: &Options) -> Secrets {
    let (url, headers) = match &server.reach {
        Reach::Http { url, headers, .. } => (url.as_str(), &headers[..]),
        Reach::Program { .. } => ("", &[][..]),
    };
    // A key may stand in an address, behind the path or before the host.
    let url = Some(url).filter(|url| url.contains(['?', '@']));
    // A key is shown without its scheme, too.
    let values = headers
        .iter()
        .flat_map(|(_, value)| [value.as_str(), value.rsplit(' ').next().unwrap_or_default()]);
    Secrets::new(options.secrets.iter().map(String::as_str).chain(values).chain(url))
}
