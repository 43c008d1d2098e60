//! Real servers, as processes and on loopback, including misbehaving ones.
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

/// Not a test: the server that the tests start.
#[test]
fn server() {
    codelet_testkit::mcp::if_asked();
}
