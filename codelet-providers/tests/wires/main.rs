//! Every wire against a provider on loopback.

mod faults;
mod kit;
mod replies;
mod requests;
mod usage;
