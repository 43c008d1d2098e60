//! A local server between an agent and its provider, which keeps the agent's conversations small.
//!
//! Each request contains the whole conversation. [`edit`] makes it smaller when an edit is due, as a pure function of the conversation.
//! Everything else passes through unchanged, and if an edit fails, the agent's original request is sent.
//!
//! Start with [`Gateway::bind`]; [`Editor`](edit::Editor) can be used alone.

mod answer;
mod api;
mod body;
pub mod edit;
mod headers;
mod ledger;
mod lines;
mod page;
mod pass;
mod provider;
mod recall;
mod server;
mod shared;
mod threads;
mod totals;
mod upstream;

pub use api::Api;
pub use ledger::Ledger;
pub use provider::Provider;
pub use recall::recall;
pub use server::Gateway;
pub use shared::Options;
pub use totals::Totals;
pub use upstream::{Upstream, UpstreamError};
