//! Chores of this workspace: `cargo xtask arrows` checks which way imports point.
fn main() {}
