//! Tasks on a terminal: a line for each while it runs, a question that says whose it is, and what is unfolded afterwards.

use crate::common::agent::Bench;
use crate::common::pty::{Session, Terminal};
use crate::{SIZE, leave};
use codelet_testkit::server::{Behaviour, Gate, Reply, Server, Wire};
use serde_json::json;

#[test]
fn each_task_has_a_line_a_question_names_it_and_its_answer_unfolds() {
    let gate = Gate::before_head();
    let held = gate.clone();
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::answering(move |request| {
            let texts = request.user_texts();
            let is_of = |name: &str| texts.iter().any(|text| text.starts_with(name));
            let calls = request.calls().len();
            match (is_of("Make"), is_of("Search"), calls) {
                (true, _, 0) => Reply::call("Bash", json!({"command": "mkdir one"})),
                (true, ..) => Reply::text("The folder is there."),
                (_, true, 0) => Reply::call("Glob", json!({"pattern": "*.rs"})),
                (_, true, _) => Reply::text("First line of the search.\nSecond line of the search.").gated(&held),
                (_, _, 0) => Reply::new()
                    .calls("Task", json!({"description": "make a folder", "prompt": "Make it."}))
                    .calls(
                        "Task",
                        json!({"description": "search the code", "prompt": "Search it."}),
                    ),
                _ => Reply::text("Both are over."),
            }
        }),
    );
    let bench = Bench::new();
    bench.settings("[models.\"anthropic/test-model\"]\ninput = 1.0\noutput = 10.0\n");
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.say("Hand it on.");
    terminal.see("[y] yes, once");
    terminal.see("For the task \"make a folder\":");
    terminal.see("Allow Bash to run this command");
    terminal.answer("y");
    terminal.wait("✓ Task make a folder");
    // The other one is under way, with what it has made so far.
    terminal.see("→ Task search the code · 1 step · ");
    assert!(bench.work.join("one").exists());
    assert!(!terminal.screen().contains("First line of the search"));
    gate.open();
    terminal.wait("Both are over.");
    terminal.wait("✓ Task search the code · 2 steps · ");
    terminal.see("ready");
    terminal.send(b"\x0f");
    terminal.wait("answer of another agent to the task \"search the code\"");
    terminal.wait("Second line of the search.");
    terminal.say("/cost");
    terminal.wait("of it in 2 tasks · 4 requests");
    leave(&mut terminal, &server);
}

#[test]
fn a_task_whose_question_was_dismissed_ran_no_command() {
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::answering(|request| {
            let texts = request.user_texts();
            let is_of = |name: &str| texts.iter().any(|text| text.starts_with(name));
            match (is_of("Make"), is_of("Go on"), request.calls().len()) {
                (true, ..) => Reply::call("Bash", json!({"command": "mkdir one"})),
                (_, true, _) => Reply::text("I go on."),
                _ => Reply::call("Task", json!({"description": "make a folder", "prompt": "Make it."})),
            }
        }),
    );
    let bench = Bench::new();
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.say("Hand it on.");
    terminal.see("[y] yes, once");
    terminal.send(b"\x1b");
    terminal.see("ready");
    terminal.say("Go on.");
    terminal.see("I go on.");
    leave(&mut terminal, &server);
    let record = server.record();
    let last = &record.exchanges.last().unwrap().request;
    let told = last
        .results()
        .iter()
        .map(|(_, told)| told.to_string())
        .collect::<String>();
    assert!(told.contains("its tools changed no file"), "{told}");
    assert!(!told.contains("command"), "{told}");
    assert!(!bench.work.join("one").exists());
}

#[test]
fn the_line_of_a_task_names_the_files_that_it_has_changed() {
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::answering(|request| {
            let texts = request.user_texts();
            let is_task = texts.iter().any(|text| text.starts_with("Write both"));
            match (is_task, request.calls().len()) {
                (true, 0) => Reply::call("Write", json!({"file_path": "new.txt", "content": "one\n"})),
                (true, 1) => Reply::call("Read", json!({"file_path": "old.txt"})),
                (true, 2) => Reply::call(
                    "Edit",
                    json!({"file_path": "old.txt", "old_string": "two", "new_string": "2"}),
                ),
                (true, _) => Reply::text("Both are written."),
                (_, 0) => Reply::call("Task", json!({"description": "write both", "prompt": "Write both."})),
                _ => Reply::text("It is over."),
            }
        }),
    );
    let bench = Bench::new();
    bench.file("old.txt", "one\ntwo\n");
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "all"], (120, 24));
    terminal.say("Hand it on.");
    terminal.wait("It is over.");
    let text = terminal.text();
    let line = text.lines().find(|line| line.contains("✓ Task write both")).unwrap();
    assert!(line.contains(" · new.txt (new) +1 −0, old.txt +1 −1 · "), "{line}");
    leave(&mut terminal, &server);
}
