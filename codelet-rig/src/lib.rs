//! The engine for agents that are built with rig.

mod convert;

pub use convert::{Actions, read, write};
