//! A conversation under way, and what fills its window.

pub mod conversation;
pub mod inspect;
