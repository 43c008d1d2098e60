//! Rules that vendors have beside the pairing of calls and results: which thinking is bound to what stood before it, where a
//! system message may stand. Everything here is about requests as they are written; the engine knows none of it.

mod blocks;
mod check;
mod models;
mod settle;
pub(crate) mod shell;
pub(crate) mod words;

pub use blocks::loaders;
pub(crate) use blocks::{is_item, server_pairs, stays};
pub use check::{Fault, check, list_of};
pub use models::binds_thinking;
pub use settle::{settle, wants_unbound};
