//! Servers on trial: what each of them offers, how long it takes, and what is wrong.

use crate::connect::{There, Tried, try_all};
use crate::define::Defined;
use crate::{Options, Server};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ToolSpec;
use codelet_agent::prompts::PromptSpec;
use futures_util::future::join_all;
use std::time::Duration;

/// What came of trying a server.
pub struct Checked {
    /// Its name in the settings.
    pub name: String,
    /// How long it took until its tools were known, or it was given up.
    pub took: Duration,
    /// What it offers, or why it is of no use.
    pub found: Result<Found, String>,
}

/// What a server offers.
pub struct Found {
    /// What it calls itself, with its version; empty where it does not say.
    pub title: String,
    /// The version of the protocol that it speaks.
    pub protocol: String,
    /// Its tools, as a model is told of them.
    pub tools: Vec<ToolSpec>,
    /// Its prompts, as the user is shown them.
    pub prompts: Vec<PromptSpec>,
    /// What is odd about it.
    pub notices: Vec<String>,
}

/// Tries all servers at once, in their order, and ends them; each has `patience` to go by itself. All texts are for a person, and
/// hold no secrets.
pub async fn check(servers: Vec<Server>, options: Options, interrupt: &Interrupt, patience: Duration) -> Vec<Checked> {
    let tried = try_all(servers, options, interrupt).await;
    let there = tried.iter().filter_map(|tried| tried.came.as_ref().ok());
    join_all(there.map(|there| there.remote.end(patience))).await;
    let checked = tried.into_iter().map(|Tried { name, took, came }| Checked {
        name,
        took,
        found: came.map(found),
    });
    checked.collect()
}

fn found(there: There) -> Found {
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
