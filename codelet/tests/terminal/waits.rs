//! What is waited for before a session begins, and between its turns.

use crate::common::agent::Bench;
use crate::common::ended;
use crate::common::pty::{Piped, Session, Terminal};
use crate::{SIZE, leave};
use codelet_testkit::MachineClock;
use codelet_testkit::server::{Behaviour, Reply, Server, Wire, block_on};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

/// A server that refuses the first requests for its models, since it is loading.
fn loading(requests: usize) -> Server {
    let behaviour = Behaviour::replies([Reply::text("Here I am.")]).models(["test-model"]);
    Server::start(Wire::Anthropic, behaviour.listing_window(64_000).loading(requests))
}

#[test]
fn a_server_that_loads_its_model_is_waited_for_with_one_line_that_says_so() {
    let (bench, server) = (Bench::new(), loading(6));
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Are you there?"]);
    ended(&output, 0);
    let told = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("not ready")).collect();
    assert_eq!(lines.len(), 1, "{told}");
    let expected = format!("waiting: {} is not ready yet: Loading model", server.url());
    assert!(
        lines[0].starts_with(&expected) && lines[0].ends_with("up to 20 s"),
        "{told}"
    );
    assert_eq!(output.stdout, b"Here I am.\n");
}

#[test]
fn programs_that_follow_are_told_of_the_wait_too() {
    let (bench, server) = (Bench::new(), loading(6));
    let output = bench.ask(
        &server,
        Wire::Anthropic,
        &["-p", "Are you there?", "--output", "stream-json"],
    );
    ended(&output, 0);
    let text = String::from_utf8(output.stdout).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "waiting", "{text}");
    assert!(first["cause"].as_str().unwrap().contains("Loading model"), "{text}");
    assert!((1..=20_000).contains(&first["left_ms"].as_u64().unwrap()), "{text}");
}

#[test]
fn ctrl_c_ends_the_wait_of_a_prompt_at_once() {
    let (bench, server) = (Bench::new(), loading(usize::MAX));
    for args in [&["-p", "Are you there?"][..], &["--plain"]] {
        let mut command = bench.asking(&server, Wire::Anthropic, args);
        let asked = server.record().others.len();
        let started = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = started.spawn().unwrap();
        block_on(server.until(|record| record.others.len() > asked));
        let clock = MachineClock::start();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(clock.elapsed() < Duration::from_secs(2), "{:?}", clock.elapsed());
        ended(&output, 130);
    }
}

#[test]
fn a_terminal_shows_the_wait_with_its_seconds_and_ctrl_c_ends_it() {
    let (bench, server) = (Bench::new(), loading(usize::MAX));
    let mut terminal = Terminal::run(&bench, bench.asking(&server, Wire::Anthropic, &[]), SIZE);
    // It counts.
    terminal.wait_until("the seconds", |screen| {
        screen.contains("is not ready yet: Loading") && screen.contains(" … 1.")
    });
    terminal.send(b"\x03");
    assert_eq!(terminal.end(), 130);
    assert!(terminal.is_as_found());
}

#[test]
fn another_model_that_is_not_ready_is_told_of_in_the_session() {
    let bench = Bench::new();
    let server = loading(6);
    bench.settings("idle_timeout = 5\n[models.\"anthropic/test-model\"]\nwindow = 64000\n");
    let mut session = Piped::start(&bench, &server, &[]);
    session.say("/model anthropic/other");
    session.wait("is not ready yet: Loading model");
    session.wait("Switched to anthropic/other");
    leave(&mut session, &server);
}
