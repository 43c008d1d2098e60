//! The loopback server behaves like the vendors, as checked by a small independent client.

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
