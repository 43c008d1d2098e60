//! Interruption of the real program: within a tenth of a second whatever runs, and nothing left behind.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use codelet_testkit::server::{Behaviour, End, Fault, Gate, Refusal, Reply, RetryAfter, Server, Wire, block_on};
use common::agent::{Bench, WIRES, name};
use common::pty::signal;
use serde_json::json;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// What an interruption may take, with room for a machine that does other work beside.
const SOON: Duration = Duration::from_millis(400);

/// Interrupts and waits; returns the status and how long it took.
fn interrupt(mut child: Child) -> (Option<i32>, Duration) {
    let began = Instant::now();
    signal(child.id(), "-INT");
    let status = child.wait().unwrap();
    eprintln!("{status:?}");
    (status.code(), began.elapsed())
}

fn report(what: &str, took: Duration) {
    eprintln!("interrupted {what}: {} ms", took.as_millis());
    assert!(took < SOON, "{what}: {took:?}");
}

#[test]
fn a_stream_is_left_at_once_after_any_frame() {
    let whole = || {
        Reply::new()
            .thinks("Well.")
            .says("I look.")
            .calls("LS", json!({"path": "."}))
    };
    for (wire, ..) in WIRES {
        for at in 0..wire.frames(&whole()).len() {
            let bench = Bench::new();
            let gate = Gate::after(at);
            let server = Server::start(wire, Behaviour::replies([whole().gated(&gate)]));
            let child = bench.start(&server, wire, &["-p", "Look."]);
            block_on(gate.reached());
            let (status, took) = interrupt(child);
            assert_eq!(status, Some(130), "{} at {at}", name(wire));
            report(&format!("{} stream after frame {at}", name(wire)), took);
            server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
        }
    }
}

#[test]
fn a_wait_is_left_at_once() {
    let bench = Bench::new();
    bench.settings("patience = 100");
    let mut refusal = Refusal::status(429);
    refusal.retry = Some(RetryAfter::Seconds(60));
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies([Reply::new().failing(Fault::Refuse(refusal))]),
    );
    let child = bench.start(&server, Wire::Anthropic, &["-p", "Hello?"]);
    server.wait_until(|record| {
        record
            .exchanges
            .first()
            .is_some_and(|e| matches!(e.end, End::Refused(_)))
    });
    let (status, took) = interrupt(child);
    assert_eq!(status, Some(130));
    report("wait", took);
}

/// Whether a process with this argument runs.
#[cfg(target_os = "linux")]
fn runs(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}

#[test]
#[cfg(target_os = "linux")]
fn git_is_not_waited_for() {
    let bench = Bench::new();
    bench.file(".git/HEAD", "ref: refs/heads/main\n");
    for folder in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(bench.work.join(folder)).unwrap();
    }
    // A git that takes its time, as in a repository that is too large. It can write nothing, so it is known by its name.
    let bin = bench.home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let name = format!("600.{}", std::process::id());
    std::fs::write(bin.join("git"), format!("#!/bin/sh\nexec sleep {name}\n")).unwrap();
    std::fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Hello.")]));
    let mut command = bench.asking(&server, Wire::Anthropic, &["-p", "Hello?"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !runs(&name) {
        assert!(began.elapsed() < Duration::from_secs(20), "git is not asked");
        std::thread::yield_now();
    }
    let (status, took) = interrupt(child);
    assert_eq!(status, Some(130));
    report("git", took);
    assert!(!runs(&name), "git is left");
    assert_eq!(server.record().exchanges.len(), 0);
}

/// Runs a command as the model's tool until it has written its mark, then interrupts; nothing that it started is left.
fn interrupt_command(command: &str, marks: usize) {
    let bench = Bench::new();
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies([Reply::call("Bash", json!({"command": command}))]),
    );
    let child = bench.start(&server, Wire::Anthropic, &["-p", "Run.", "--permission", "all"]);
    let pids = || {
        let text = std::fs::read_to_string(bench.work.join("pids")).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.trim().parse::<u32>().ok())
            .collect::<Vec<_>>()
    };
    let began = Instant::now();
    while pids().len() < marks {
        assert!(began.elapsed() < Duration::from_secs(20), "the command has not begun");
        std::thread::yield_now();
    }
    let (status, took) = interrupt(child);
    assert_eq!(status, Some(130));
    report(command, took);
    for pid in pids() {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_gone = state.is_empty() || state.contains(") Z ");
        assert!(is_gone, "{pid} of {command} is left: {state}");
    }
}

#[test]
fn a_tool_is_ended_with_everything_that_it_started() {
    interrupt_command("echo $$ >> pids; sleep 600", 1);
    interrupt_command(
        "(echo $BASHPID >> pids; sleep 600) & (echo $BASHPID >> pids; sleep 600) & echo $$ >> pids; wait",
        3,
    );
    interrupt_command("trap '' INT TERM; echo $$ >> pids; while :; do sleep 0.1; done", 1);
    interrupt_command(
        "setsid sh -c 'echo $$ >> pids; exec sleep 600' & echo $$ >> pids; wait",
        2,
    );
}

#[test]
fn a_second_interruption_ends_the_process() {
    let bench = Bench::new();
    let gate = Gate::before_head();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("x").gated(&gate)]));
    let mut child = bench.start(&server, Wire::Anthropic, &["-p", "Hello?"]);
    block_on(gate.reached());
    signal(child.id(), "-INT");
    signal(child.id(), "-INT");
    let began = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < SOON);
}
