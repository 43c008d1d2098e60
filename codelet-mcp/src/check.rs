//! Checks servers: their tools and prompts, the time they take, and their problems.

use crate::connect::{Attempt, ConnectedServer, try_all};
use crate::define::Defined;
use crate::{Options, Server};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ToolSpec;
use codelet_agent::prompts::PromptSpec;
use futures_util::future::join_all;
use std::time::Duration;

/// The result of checking a server.
pub struct Checked {
    /// The server's name in the settings.
    pub name: String,
    /// The time until its tools were known or the check was abandoned.
    pub took: Duration,
    /// Its tools and prompts, or the reason why it cannot be used.
    pub found: Result<Found, String>,
}

/// The offer of a server.
pub struct Found {
    /// The server's own name and version; empty if it gives none.
    pub title: String,
    /// The version of the protocol that it uses.
    pub protocol: String,
    /// Its tools, as shown to a model.
    pub tools: Vec<ToolSpec>,
    /// Its prompts, as shown to the user.
    pub prompts: Vec<PromptSpec>,
    /// Oddities of the server.
    pub notices: Vec<String>,
}

/// Checks all servers concurrently, returns the results in their order, and ends the servers; each gets `patience` to
/// exit. All texts are for a person and contain no secrets.
pub async fn check(servers: Vec<Server>, options: Options, interrupt: &Interrupt, patience: Duration) -> Vec<Checked> {
    let tried = try_all(servers, options, interrupt).await;
    let there = tried.iter().filter_map(|tried| tried.came.as_ref().ok());
    join_all(there.map(|there| there.remote.end(patience))).await;
    let checked = tried.into_iter().map(|Attempt { name, took, came }| Checked {
        name,
        took,
        found: came.map(found),
    });
    checked.collect()
}

fn found(there: ConnectedServer) -> Found {
    let secrets = &there.remote.secrets;
    let spec = |Defined { spec, .. }: Defined| ToolSpec {
        description: secrets.hide(spec.description.to_string()).into(),
        ..spec
    };
    Found {
        title: secrets.hide(there.about.name),
        protocol: secrets.hide(there.about.protocol),
        tools: there.defined.into_iter().map(spec).collect(),
        prompts: there.prompts.into_iter().map(|prompt| prompt.spec).collect(),
        notices: there.oddities,
    }
}
