//! The server on loopback does what vendors do: a small reader of its own compares.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps says where it broke, its helpers too"
)]

mod cache;
mod checks;
mod client;
mod echo;
mod faults;
mod task;
mod wires;
