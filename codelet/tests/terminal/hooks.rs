//! A person is asked about the hooks of a project before any of them runs, and again when they say something else.

use crate::common::agent::Bench;
use crate::common::pty::{Session as _, Terminal};
use crate::{SIZE, leave, server};
use codelet_testkit::server::{Reply, Wire};
use serde_json::json;

const ASKS: &str = "[y/N]";

fn hooks(bench: &Bench, command: &str) {
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}});
    bench.file(".claude/settings.json", &hooks.to_string());
}

#[test]
fn the_answer_is_kept_for_what_was_shown_and_for_nothing_else() {
    let bench = Bench::new();
    let outside = bench.home.join("planted");
    let line = format!("echo once >> ran; touch {}", outside.display());
    hooks(&bench, &line);
    let ran = || std::fs::read_to_string(bench.work.join("ran")).unwrap_or_default();
    // No, and whatever else is not yes.
    for answer in ["n\r", "\r", "maybe\r", "\x04"] {
        let server = server([Reply::text("Hello.")]);
        let mut terminal = Terminal::run(&bench, bench.asking(&server, Wire::Anthropic, &[]), SIZE);
        terminal.send(b"y\r");
        // What was typed before the question was there is no answer to it.
        terminal.see(ASKS);
        let screen = terminal.screen();
        assert!(
            screen.contains("at the start of a session:") && screen.contains("echo once >> ran"),
            "{screen}"
        );
        terminal.send(answer.as_bytes());
        terminal.see("ready");
        terminal.say("Hello?");
        terminal.wait("Hello.");
        assert_eq!(ran(), "", "{answer:?}");
        leave(&mut terminal, &server);
    }
    // Yes: now, and the next time without a question.
    for is_asked in [true, false] {
        let server = server([Reply::text("Hello.")]);
        let mut terminal = Terminal::run(&bench, bench.asking(&server, Wire::Anthropic, &[]), SIZE);
        if is_asked {
            terminal.see(ASKS);
            assert_eq!(ran(), "");
            terminal.send(b"y\r");
        }
        terminal.see("ready");
        terminal.say("Hello?");
        terminal.wait("Hello.");
        assert_eq!(terminal.text().contains(ASKS), is_asked);
        leave(&mut terminal, &server);
    }
    assert_eq!(ran(), "once\nonce\n");
    assert!(!outside.exists());
    let served = server([Reply::text("Hello.")]);
    assert!(bench.ask(&served, Wire::Anthropic, &["-p", "Hello?"]).status.success());
    assert_eq!(ran(), "once\nonce\nonce\n");
    // Other words are another question.
    hooks(&bench, "echo changed >> ran");
    let served = server([Reply::text("Hello.")]);
    let mut terminal = Terminal::run(&bench, bench.asking(&served, Wire::Anthropic, &[]), SIZE);
    terminal.see("have changed since you permitted them");
    terminal.see(ASKS);
    terminal.send(b"n\r");
    terminal.see("ready");
    leave(&mut terminal, &served);
    assert_eq!(ran(), "once\nonce\nonce\n");
}

#[test]
fn what_a_hook_wants_asked_is_asked_whatever_is_permitted_and_another_hook_hears_of_it() {
    let bench = Bench::new();
    let ask =
        r#"echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "it is precious"}}'"#;
    bench.settings(&format!(
        "[[hooks.PreToolUse]]\nmatcher = \"Write\"\nhooks = [{{ type = \"command\", command = {ask:?} }}]\n\
         [[hooks.Notification]]\nhooks = [{{ type = \"command\", command = \"cat > told; exec sleep 5439\" }}]\n"
    ));
    let write = || Reply::call("Write", json!({"file_path": "a.txt", "content": "one\n"}));
    let server = server([write(), Reply::text("Written.")]);
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "all"], SIZE);
    terminal.say("Write it.");
    terminal.see("[y] yes, once");
    terminal.see("it is precious");
    assert!(!terminal.screen().contains("[a]"), "{}", terminal.screen());
    assert!(!bench.work.join("a.txt").exists());
    terminal.wait_until("the note", |_| {
        bench.work.join("told").metadata().is_ok_and(|told| told.len() > 0)
    });
    terminal.answer("y");
    terminal.wait("Written.");
    assert_eq!(bench.read("a.txt"), "one\n");
    assert!(
        bench.read("told").contains("Codelet asks: Write a.txt"),
        "{}",
        bench.read("told")
    );
    leave(&mut terminal, &server);
    let left = std::process::Command::new("pgrep")
        .args(["-f", "sleep 5439"])
        .output()
        .unwrap();
    assert!(left.stdout.is_empty(), "the hook is still there");
}

/// A hook that takes long is named where it would otherwise seem that the model does.
#[test]
fn the_status_names_a_slow_hook() {
    let wait = "while [ ! -e go ]; do sleep 0.05; done";
    for event in ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"] {
        let bench = Bench::new();
        bench.settings(&format!(
            "[[hooks.{event}]]\nhooks = [{{ type = \"command\", command = \"{wait}\" }}]\n"
        ));
        let server = server([
            Reply::call("Write", json!({"file_path": "a.txt", "content": "one\n"})),
            Reply::text("Written."),
        ]);
        let mut terminal = Terminal::start(&bench, &server, &[], (120, 24));
        terminal.say("Write it.");
        terminal.see(&format!("{event} hook: while"));
        bench.file("go", "");
        terminal.wait("Written.");
        terminal.see("ready");
        leave(&mut terminal, &server);
    }
}
