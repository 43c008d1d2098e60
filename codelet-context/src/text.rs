//! Texts and what is known of them, whoever says them.

pub mod body;
pub(crate) mod codes;
pub(crate) mod hash;
pub(crate) mod lines;
pub(crate) mod path;
pub mod unseen;
