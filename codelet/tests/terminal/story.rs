//! A day in a session, screen by screen, as a reader of `tests/screens/story` can follow it: what each interruption leaves,
//! what a compaction shows, and what is pinned.

use crate::common::agent::Bench;
use crate::common::pty::{Session, Terminal};
use crate::turns::{long, long_files};
use crate::{SIZE, leave, open, server};
use codelet_testkit::server::{Fault, Gate, Refusal, Reply, RetryAfter, block_on};
use serde_json::json;

#[test]
fn each_phase_shows_what_an_interruption_keeps_of_it_and_continue_goes_back() {
    let gates: Vec<Gate> = [0, 4, 8, 4].into_iter().map(Gate::after).collect();
    let half = "The first part.\n\nHalf of a second one.";
    let mut refusal = Refusal::status(429);
    refusal.retry = Some(RetryAfter::Seconds(60));
    let bench = Bench::new();
    bench.settings("patience = 100");
    let server = server([
        Reply::text("Never.").gated(&gates[0]),
        Reply::new()
            .thinks("Long thoughts that go on.")
            .in_fragments_of(6)
            .gated(&gates[1]),
        Reply::text(half).in_fragments_of(6).gated(&gates[2]),
        Reply::call("Write", json!({"file_path": "a.txt", "content": "long ".repeat(50)}))
            .in_fragments_of(12)
            .gated(&gates[3]),
        Reply::new()
            .says("I run it.")
            .calls("Bash", json!({"command": "echo it is $((40 + 2)); sleep 600"})),
        Reply::new().failing(Fault::Refuse(refusal)),
        Reply::text("A whole answer."),
    ]);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.see("ready");
    terminal.say("Tell me all.");
    block_on(gates[0].reached());
    terminal.see("waiting for the model");
    terminal.interrupt();
    terminal.resembles("story/01-esc-before-the-answer");
    terminal.say("continue");
    block_on(gates[1].reached());
    terminal.see("thinking");
    terminal.interrupt();
    terminal.resembles("story/02-continue-and-esc-while-it-thinks");
    terminal.say("continue");
    block_on(gates[2].reached());
    terminal.see("Half of a sec");
    terminal.interrupt();
    terminal.resembles("story/03-esc-in-an-answer");
    terminal.say("continue");
    block_on(gates[3].reached());
    terminal.see("writing a call");
    terminal.interrupt();
    terminal.resembles("story/04-esc-while-a-call-is-written");
    terminal.say("continue");
    terminal.see("[y] yes, once");
    terminal.resembles("story/05-a-question");
    terminal.send(b"y");
    terminal.see("it is 42");
    terminal.interrupt();
    terminal.resembles("story/06-its-answer-and-esc-in-the-tool");
    terminal.say("continue");
    terminal.see("try 2 in");
    terminal.interrupt();
    terminal.resembles("story/07-esc-while-the-provider-is-busy");
    terminal.say("!touch began; sleep 600");
    let began = std::time::Instant::now();
    while !bench.work.join("began").exists() {
        assert!(began.elapsed().as_secs() < 20);
        codelet_testkit::wait_a_moment();
    }
    terminal.interrupt();
    terminal.resembles("story/08-esc-in-a-command-of-ones-own");
    terminal.say("Then so.");
    terminal.see("A whole answer.");
    terminal.resembles("story/09-anything-else-goes-on");
    leave(&mut terminal, &server);
}

#[test]
fn a_long_paste_is_one_line_until_it_is_sent() {
    let (_bench, server, mut terminal) = open([Reply::text("That was long.")]);
    terminal.see("ready");
    let paste = "a line of a log\r".repeat(10_000);
    terminal.send(b"What is this? \x1b[200~");
    terminal.send(paste.as_bytes());
    terminal.send(b"\x1b[201~");
    terminal.see("[pasted 10,000 lines]");
    terminal.looks_like("story/10-a-folded-paste");
    terminal.send(b"\r");
    terminal.see("That was long.");
    terminal.resembles("story/11-the-paste-as-it-was-sent");
    leave(&mut terminal, &server);
}

#[test]
fn what_fills_the_window_is_shown_before_and_after_a_compaction_and_when_it_is_taken_back() {
    const TURNS: usize = 6;
    let bench = Bench::new();
    long_files(&bench, TURNS);
    let server = server(long(TURNS));
    let mut terminal = Terminal::start(&bench, &server, &["--window", "30k"], (96, 52));
    terminal.say("/pin never use tabs");
    terminal.see("Pinned; sent");
    for turn in 0..TURNS {
        terminal.say(&format!("Read part {turn}."));
        terminal.wait(&format!("Part {turn} is read."));
        terminal.see("ready");
    }
    terminal.say("/pin @part_1.txt");
    terminal.see("Pinned: part_1.txt");
    terminal.say("/pin");
    terminal.see("never use tabs");
    terminal.resembles("story/20-what-is-pinned");
    let contexts = |terminal: &mut Terminal, times: usize| {
        terminal.say("/context");
        terminal.wait_for("Largest", times);
        terminal.rest();
    };
    contexts(&mut terminal, 1);
    terminal.resembles("story/21-context-before");
    terminal.say("/compact the values of part 3");
    terminal.wait("Context compacted:");
    terminal.rest();
    contexts(&mut terminal, 2);
    terminal.resembles("story/22-the-notice-and-context-after");
    terminal.say("/undo-compact");
    terminal.wait("Compaction undone");
    contexts(&mut terminal, 3);
    terminal.resembles("story/23-context-when-it-is-taken-back");
    leave(&mut terminal, &server);
}
