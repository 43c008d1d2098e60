//! The forms of conversations: read, told apart, written, and written as another.
#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

mod actions;
mod compacted_before;
mod convert;
mod detect;
mod files;
mod foreign;
mod function_responses;
mod hostile;
mod objects;
mod round_trip;
mod sessions_corpus;
mod sessions_hostile;
mod told;
mod tools;
