//! What is told of the part that is no longer shown.

pub(crate) mod record;
pub(crate) mod state;
pub mod summary_request;
