//! The engine as others use it: what is promised of conversations, compactions, strategies and bills.
#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

#[path = "common/caching.rs"]
mod caching;
mod common;
mod conversation;
mod dense;
mod economics;
mod embedding;
mod files;
mod folded;
mod going_back;
mod inspect;
mod kept;
mod ledger;
mod mended;
mod notes;
mod pairing;
mod record;
mod small_windows;
mod spec_examples;
mod standing;
mod strategies;
mod superseded;
mod wished;
mod withdraw;
