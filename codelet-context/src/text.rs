//! Texts and what is known of them, whoever says them.

pub mod body;
pub(crate) mod hash;
pub(crate) mod lines;
