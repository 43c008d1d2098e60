//! Every wire against a provider on loopback.

#![allow(clippy::unwrap_used, reason = "a test that unwraps says where it broke")]

mod change;
mod clouds;
mod faults;
mod idle;
mod kit;
mod replies;
mod requests;
mod usage;
