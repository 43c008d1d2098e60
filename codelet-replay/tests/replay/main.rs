//! Tests of the replay of recorded conversations, and of the report on it.
#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

mod browser;
mod cache;
mod common;
mod corpus;
mod live;
mod long;
mod play;
mod recorded;
mod report;
