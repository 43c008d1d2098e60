//! Real servers, as processes and on loopback, and what they do that servers should not.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod calls;
mod changes;
mod ends;
mod kit;
mod login;
mod prompts;
mod redirects;
mod starts;
mod tls;

/// No test of its own: the server that the others start.
#[test]
fn server() {
    codelet_testkit::mcp::if_asked();
}
