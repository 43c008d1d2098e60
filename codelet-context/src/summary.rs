//! The summary of content that is no longer shown.

pub(crate) mod record;
pub(crate) mod state;
pub mod summary_request;
