//! The terminal of a coding agent: events to lines, keys to actions, and the one place that touches the tty.

pub mod render;
