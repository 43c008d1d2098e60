//! The engine for every agent: a local server that an agent takes for its provider.
//!
//! A request brings the whole conversation. [`edit`] makes it smaller where that is due, as a pure function of the conversation; the
//! server passes everything else through as it comes, and whatever goes wrong, the request goes on as the agent had sent it.
//!
//! Start with [`Gateway::bind`]; [`Editor`](edit::Editor) can be used alone.

mod answer;
mod api;
mod body;
mod connections;
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
