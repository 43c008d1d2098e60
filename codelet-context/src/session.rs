//! A running conversation, and the content of its window.

pub mod conversation;
pub mod inspect;
