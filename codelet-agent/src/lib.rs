//! The loop of a coding agent.

pub mod interrupt;
pub mod model;
pub mod permission;
pub mod surroundings;
pub mod tool;
