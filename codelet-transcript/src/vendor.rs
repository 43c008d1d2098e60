//! Providers' rules beyond the pairing of calls and results: which thinking is bound to its prefix, where a system
//! message may appear. Everything here is about requests as written; the engine knows none of it.

mod blocks;
mod check;
mod models;
mod settle;
pub(crate) mod shell;
pub(crate) mod words;

use crate::Format;

pub use blocks::loaders;
pub(crate) use blocks::{is_item, server_pairs, stays};
pub use check::{Fault, check, list_of};
pub use models::binds_thinking;
pub use settle::{settle, wants_unbound};

/// Billed tokens per estimated token (four bytes), for conversations without recorded usage. Of 25 recorded sessions
/// with usage, the median of the 19 of Claude Code is 1.45, that of the six of Codex and pi 1.31.
pub fn usual_density(form: Format) -> f64 {
    match form {
        Format::Anthropic => 1.45,
        _ => 1.31,
    }
}
