//! The engine for every agent: a local server that an agent takes for its provider.
//!
//! A request brings the whole conversation. [`edit`] makes it smaller where that is due, as a pure function of the conversation; the
//! server passes everything else through as it comes.

mod api;
pub mod edit;

pub use api::Api;
