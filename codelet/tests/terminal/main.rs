//! `codelet` as somebody lives in it: the real program in a real pseudo-terminal, and the same in lines, typed and through
//! pipes, with a provider on loopback.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod commit;
#[path = "../common/mod.rs"]
mod common;
mod diff;
mod endings;
#[cfg(target_os = "linux")]
mod hooks;
mod kept;
mod keys;
mod lines;
mod meanwhile;
mod notes;
mod pauses;
mod pictures;
mod pipes;
mod plan;
mod questions;
mod rewind;
mod sandbox;
mod saved;
mod slow;
mod small;
mod story;
mod tasks;
mod turns;
mod typed;
mod waits;
mod web;

use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use common::agent::{Bench, usage};
use common::pty::{Kind, Session, Terminal};

const SIZE: (u16, u16) = (80, 24);

fn server(replies: impl IntoIterator<Item = Reply>) -> Server {
    Server::start(Wire::Anthropic, Behaviour::replies(replies))
}

/// A session in a terminal, with a model that gives these replies.
fn open(replies: impl IntoIterator<Item = Reply>) -> (Bench, Server, Terminal) {
    let (bench, server) = (Bench::new(), server(replies));
    let terminal = Terminal::start(&bench, &server, &[], SIZE);
    (bench, server, terminal)
}

/// Leaves; everything that the provider was sent was in order.
fn leave(session: &mut dyn Session, server: &Server) {
    session.say("exit");
    assert_eq!(session.end(), 0);
    assert_eq!(server.record().faults(), "");
}

/// The same test in a terminal, in lines that are typed, and through pipes.
fn everywhere(replies: impl Fn() -> Vec<Reply>, args: &[&str], test: impl Fn(&Bench, &Server, &mut dyn Session)) {
    for kind in Kind::ALL {
        let bench = Bench::new();
        // A provider that asks for a minute gets it.
        bench.settings("patience = 100");
        let served = server(replies());
        test(&bench, &served, &mut *kind.start(&bench, &served, args));
    }
}
