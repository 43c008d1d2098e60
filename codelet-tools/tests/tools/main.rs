//! The tools as a session uses them: permission check, call and output, in real folders.
#![allow(clippy::unwrap_used)]

mod anew;
mod asking;
mod bash;
mod files;
mod reach;
mod rewind;
mod sandbox;
mod search;
mod trees;
mod trial;
