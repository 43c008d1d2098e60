//! Esc, with a clock: within a tenth of a second, whatever runs.

use crate::common::agent::Bench;
use crate::common::pty::{Session, Terminal};
use crate::{SIZE, server};
use codelet_testkit::server::{Fault, Gate, Refusal, Reply, RetryAfter, block_on};
use serde_json::json;
use std::time::{Duration, Instant};

/// What an interruption may take, from the key to the words that tell of it.
const SOON: Duration = Duration::from_millis(100);
/// What it takes on a machine that has no time for it just now.
const EVER: Duration = Duration::from_secs(5);
/// Each phase is interrupted so often: other work on the machine may delay some, not all.
const TIMES: usize = 4;

/// Interrupts each of the prompts, once `begun` says that its phase has begun, and judges how long it took.
fn interrupt(what: &str, told: &str, terminal: &mut Terminal, mut begun: impl FnMut(&mut Terminal, usize)) {
    let mut took: Vec<Duration> = Vec::new();
    for round in 0..TIMES {
        begun(terminal, round);
        let began = Instant::now();
        terminal.send(b"\x1b");
        terminal.wait_for(told, round + 1);
        took.push(began.elapsed());
        terminal.see("ready");
    }
    took.sort_unstable();
    eprintln!("interrupted {what}: {took:?}");
    assert!(took[0] <= SOON, "{what}: {took:?}");
    assert!(took[TIMES - 1] < EVER, "{what}: {took:?}");
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
}

/// A phase that is reached when the server has sent so much of its reply.
fn interrupt_reply(what: &str, frames: usize, reply: impl Fn() -> Reply) {
    let gates: Vec<Gate> = (0..TIMES).map(|_| Gate::after(frames)).collect();
    let bench = Bench::new();
    let server = server(gates.iter().map(|gate| reply().gated(gate)));
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    interrupt(what, "· kept: your prompt", &mut terminal, |terminal, round| {
        terminal.say("Go on.");
        block_on(gates[round].reached());
        // It is on the screen that something is going on.
        terminal.wait_until("what goes on", |screen| !screen.contains("ready"));
    });
    assert_eq!(server.record().faults(), "");
}

#[test]
fn esc_ends_a_request_that_is_not_answered_yet() {
    interrupt_reply("a request", 0, || Reply::text("Never."));
}

#[test]
fn esc_ends_an_answer() {
    interrupt_reply("an answer", 5, || {
        Reply::text("Half an answer that goes on.").in_fragments_of(6)
    });
}

#[test]
fn esc_ends_thinking() {
    interrupt_reply("thinking", 4, || {
        Reply::new().thinks("Long thoughts that go on.").in_fragments_of(6)
    });
}

#[test]
fn esc_ends_the_writing_of_a_call() {
    interrupt_reply("a call that is being written", 3, || {
        Reply::call("Write", json!({"file_path": "a.txt", "content": "long ".repeat(50)})).in_fragments_of(12)
    });
}

#[test]
fn esc_ends_a_tool_with_all_that_it_has_started() {
    let bench = Bench::new();
    let command = "(trap '' INT TERM; echo $BASHPID >> pids; sleep 600) & setsid sleep 600 & echo $$ >> pids; wait";
    let server = server((0..TIMES).map(|_| Reply::call("Bash", json!({"command": command}))));
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "all"], SIZE);
    let pids = || {
        let text = std::fs::read_to_string(bench.work.join("pids")).unwrap_or_default();
        let numbers = text.lines().filter_map(|line| line.trim().parse::<u32>().ok());
        numbers.collect::<Vec<_>>()
    };
    interrupt("a tool", "· kept: your prompt", &mut terminal, |terminal, round| {
        terminal.say("Run it.");
        let began = Instant::now();
        while pids().len() < 2 * (round + 1) {
            assert!(began.elapsed() < EVER * 4, "the command has not begun");
            std::thread::yield_now();
        }
    });
    for pid in pids() {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{pid} is left: {state}");
    }
}

#[test]
fn esc_ends_a_command_of_the_users() {
    let bench = Bench::new();
    let server = server([]);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    let marks = || {
        std::fs::read_to_string(bench.work.join("marks"))
            .unwrap_or_default()
            .lines()
            .count()
    };
    interrupt("a command", "interrupted", &mut terminal, |terminal, round| {
        terminal.say("!echo x >> marks; sleep 600");
        let began = Instant::now();
        while marks() < round + 1 {
            assert!(began.elapsed() < EVER * 4, "the command has not begun");
            std::thread::yield_now();
        }
    });
}

#[test]
fn esc_ends_a_wait_for_the_provider() {
    let bench = Bench::new();
    bench.settings("patience = 100");
    let server = server((0..TIMES).map(|_| {
        let mut refusal = Refusal::status(429);
        refusal.retry = Some(RetryAfter::Seconds(60));
        Reply::new().failing(Fault::Refuse(refusal))
    }));
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    interrupt("a wait", "· kept: your prompt", &mut terminal, |terminal, _| {
        terminal.say("Hello?");
        terminal.see("try 2 in");
    });
}

#[test]
fn esc_ends_a_question() {
    let bench = Bench::new();
    let server = server((0..TIMES).map(|_| Reply::call("Bash", json!({"command": "touch never"}))));
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    interrupt("a question", "· kept: your prompt", &mut terminal, |terminal, _| {
        terminal.say("Try.");
        terminal.see("[y] yes, once");
    });
    assert!(!bench.work.join("never").exists());
}

#[test]
fn esc_ends_a_compaction_that_the_model_writes() {
    let bench = Bench::new();
    let text: String = (0..600)
        .map(|line| format!("line {line}: value_{} = {};\n", line * 37, line * 5))
        .collect();
    bench.file("long.txt", &text);
    let gates: Vec<Gate> = (0..TIMES).map(|_| Gate::after(3)).collect();
    let turns = (0..4).flat_map(|_| {
        [
            Reply::call("Read", json!({"file_path": "long.txt"})),
            Reply::text("It is read."),
        ]
    });
    let summaries = gates
        .iter()
        .map(|gate| Reply::text("A summary that never ends.").gated(gate));
    let server = server(turns.chain(summaries).collect::<Vec<_>>());
    let mut terminal = Terminal::start(&bench, &server, &["--summary", "model"], SIZE);
    for turn in 0..4 {
        terminal.say("Read it.");
        terminal.wait_for("It is read.", turn + 1);
        terminal.see("ready");
    }
    interrupt(
        "a compaction",
        "the compaction was interrupted",
        &mut terminal,
        |terminal, round| {
            terminal.say("/compact");
            block_on(gates[round].reached());
            terminal.see("compacting");
        },
    );
    assert_eq!(server.record().faults(), "");
}
