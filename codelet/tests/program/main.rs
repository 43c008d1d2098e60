//! `codelet` as a whole, the real program: its commands, and `-p` with real tools and a provider on loopback.
#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

#[cfg(unix)]
mod acp;
#[cfg(unix)]
mod action;
#[cfg(unix)]
mod at_once;
mod bad_settings;
mod clouds;
#[path = "../common/mod.rs"]
mod common;
mod compact;
#[cfg(unix)]
mod compact_folder;
mod corpus;
#[cfg(unix)]
mod definitions;
mod doctor;
mod fallback;
#[cfg(unix)]
mod gateway;
#[cfg(target_os = "linux")]
mod hooks;
#[cfg(unix)]
mod inherited;
mod inspect;
#[cfg(unix)]
mod interrupt;
mod long;
#[path = "../../../codelet-stores/tests/made/mod.rs"]
mod made;
#[cfg(unix)]
mod mcp;
#[cfg(unix)]
mod pdf;
mod pictures;
mod replay;
mod replay_twice;
mod report;
mod restore;
mod run;
#[cfg(unix)]
mod saved;
mod shell;
mod stores;
mod streams;
mod takeover;
mod tasks;
mod usage;
mod web;
mod wishes;

/// No test of its own: the server of tools that others start.
#[cfg(unix)]
#[test]
fn server() {
    codelet_testkit::mcp::if_asked();
}
