//! Texts and their cached properties.

pub mod body;
pub(crate) mod hash;
pub(crate) mod lines;
