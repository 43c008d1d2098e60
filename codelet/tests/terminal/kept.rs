//! What somebody has read or typed is there afterwards, and where it should be.

use crate::common::agent::Bench;
use crate::common::pty::{Kind, Session as _, signal};
use crate::{leave, open, server};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use codelet_testkit::server::{End, Fault, Gate, Refusal, Reply, RetryAfter, Wire, block_on};
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// An answer of several rows, whose sentences differ.
fn sentences(count: usize) -> String {
    let sentence = |n| format!("Sentence number {n} says something that no other one says. ");
    (1..=count).map(sentence).collect()
}

#[test]
fn a_window_of_tmux_that_changes_while_an_answer_streams_leaves_one_copy_of_it() {
    let bench = Bench::new();
    let Ok(version) = Command::new("tmux").arg("-V").output() else {
        eprintln!("skipped: there is no tmux here");
        return;
    };
    assert!(version.status.success());
    let (answer, gate) = (sentences(6), Gate::after(60));
    let server = server([Reply::text(&answer).in_fragments_of(6).gated(&gate)]);
    let tmux = |args: &[&str]| {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(bench.home.join("tmux"));
        tmux.args(["-f", "/dev/null"]).args(args);
        tmux.env("LC_ALL", "C.UTF-8").current_dir(&bench.work);
        tmux
    };
    let inner = bench.asking(&server, Wire::Anthropic, &[]);
    // What stood there before is more than a narrower window pushes out.
    let shell = "for n in 1 2 3 4 5 6 7 8; do echo before $n; done; exec \"$0\" \"$@\"";
    let mut outer = tmux(&["new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", shell]);
    outer.arg(inner.get_program()).args(inner.get_args());
    outer.env_clear();
    outer.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    outer.env("LC_ALL", "C.UTF-8");
    assert!(outer.status().unwrap().success());
    let _server = Tmux(bench.home.join("tmux"));
    let all = || {
        let shown = tmux(&["capture-pane", "-p", "-S", "-"]).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    let see = |what: &str| {
        let began = std::time::Instant::now();
        while !all().contains(what) {
            assert!(began.elapsed().as_secs() < 20, "{what} is not shown in:\n{}", all());
            codelet_testkit::wait_a_moment();
        }
    };
    let run = |args: &[&str]| assert!(tmux(args).status().unwrap().success());
    see("ready");
    run(&["send-keys", "-l", "Tell me."]);
    run(&["send-keys", "Enter"]);
    block_on(gate.reached());
    see("writing");
    for width in ["70", "60", "66"] {
        run(&["resize-window", "-x", width, "-y", "24"]);
    }
    gate.open();
    see("number 6 says");
    see("ready");
    run(&["send-keys", "-l", "/todo"]);
    run(&["send-keys", "Enter"]);
    see("› /todo");
    let words = all().split_whitespace().collect::<Vec<_>>().join(" ");
    for n in 1..=6 {
        let times = words.matches(&format!("Sentence number {n} says")).count();
        assert_eq!(times, 1, "sentence {n} in:\n{}", all());
    }
    assert!(!words.contains("writing"), "{}", all());
    run(&["send-keys", "-l", "exit"]);
    run(&["send-keys", "Enter"]);
}

/// A server of tmux, which ends with its test.
struct Tmux(std::path::PathBuf);

impl Drop for Tmux {
    fn drop(&mut self) {
        // It may have ended with its last session.
        let _ = Command::new("tmux").arg("-S").arg(&self.0).arg("kill-server").output();
    }
}

#[test]
fn a_signal_that_ends_a_session_leaves_the_words_that_were_read() {
    for (name, status) in [("-TERM", 143), ("-HUP", 129)] {
        let gate = Gate::after(60);
        let (_bench, _server, mut terminal) = open([Reply::text(sentences(6)).in_fragments_of(6).gated(&gate)]);
        terminal.say("Tell me.");
        block_on(gate.reached());
        terminal.see("number 4 says");
        signal(terminal.child.id(), name);
        assert_eq!(terminal.end(), status, "{name}");
        let text = terminal.text();
        for n in 1..=4 {
            assert_eq!(text.matches(&format!("number {n} says")).count(), 1, "{name}: {text}");
        }
        assert!(!text.contains("writing") && terminal.is_as_found(), "{name}: {text}");
    }
}

#[test]
fn a_draft_that_was_cleared_comes_back_with_up() {
    let (_bench, server, mut terminal) = open([Reply::text("I see.")]);
    let log = "a line of a log\n".repeat(20);
    terminal.send(b"Look: \x1b[200~");
    terminal.send(log.replace('\n', "\r").as_bytes());
    terminal.send(b"\x1b[201~");
    terminal.see("› Look: [pasted 20 lines]");
    terminal.send(b"\x1b");
    terminal.see("cleared · Up restores it");
    terminal.send(b"\x1b[A");
    terminal.see("› Look: [pasted 20 lines]");
    terminal.send(b"\r");
    terminal.see("I see.");
    let record = server.record();
    let said = record.exchanges[0].request.last_user_text().map(str::to_owned);
    assert_eq!(said, Some(format!("Look: {}", log.trim_end())));
    drop(record);
    terminal.see("ready");
    leave(&mut terminal, &server);
}

#[test]
fn a_message_that_begins_like_a_reason_is_not_lost() {
    let call = Reply::call("Bash", json!({"command": "mkdir -p one"}));
    let (_bench, server, mut terminal) = open([call, Reply::text("It is removed.")]);
    terminal.say("Do it.");
    terminal.see("[y] yes, once");
    terminal.send(b"remove it");
    terminal.see("› remove it");
    terminal.see("Send (Enter) or delete (Ctrl-U) your text first, then answer.");
    terminal.send(b"\x15");
    terminal.answer("n not like that");
    terminal.wait("It is removed.");
    let record = server.record();
    let told = record.exchanges[1].request.results()[0].1.to_owned();
    assert!(told.contains("not like that"), "{told}");
    drop(record);
    terminal.see("ready");
    leave(&mut terminal, &server);
}

#[test]
fn an_address_that_was_given_is_left_only_for_the_second_time_of_asking() {
    for kind in Kind::ALL {
        let bench = Bench::new();
        bench.settings("idle_timeout = 10\n[keys]\nopenai = \"sk-another-0123456789\"\n");
        let settings = bench.home.join(".config/codelet/settings.toml");
        std::fs::set_permissions(settings, Permissions::from_mode(0o600)).unwrap();
        let server = server([Reply::text("Here."), Reply::text("Here again.")]);
        let mut session = kind.start(&bench, &server, &[]);
        session.say("/model openai/gpt-5");
        session.wait("Not switched yet");
        session.say("Where are you?");
        session.wait("Here.");
        session.say("/model openai/gpt-5");
        session.wait("Switched to openai/gpt-5 at https://api.openai.com/v1");
        session.say("/model anthropic/test-model");
        session.wait(&format!("Switched to anthropic/test-model at {}", server.url()));
        session.say("And now?");
        session.wait("Here again.");
        leave(&mut *session, &server);
    }
}

#[test]
fn a_wait_tells_its_whole_reason_and_leaves_a_line() {
    let mut refusal = Refusal::status(429);
    refusal.retry = Some(RetryAfter::Seconds(1));
    let refused = Reply::new().failing(Fault::Refuse(refusal));
    let (_bench, server, mut terminal) = open([refused, Reply::text("Here.")]);
    terminal.say("Are you there?");
    terminal.see("Here.");
    terminal.wait("waited ");
    terminal.wait("would exceed your account's rate");
    terminal.see("ready");
    leave(&mut terminal, &server);
}

#[test]
fn continue_is_a_prompt_and_retry_sends_the_interrupted_one_again() {
    let gate = Gate::after(3);
    let (_bench, server, mut terminal) = open([
        Reply::text("Half of it.").gated(&gate),
        Reply::text("The rest of it."),
        Reply::text("All of it."),
    ]);
    terminal.say("Tell me.");
    block_on(gate.reached());
    terminal.interrupt();
    server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
    terminal.see("ready");
    terminal.say("continue");
    terminal.see("The rest of it.");
    terminal.see("ready");
    terminal.say("/retry");
    terminal.see("Sending again: continue");
    terminal.see("Discarded: 1 answer (/undo restores it).");
    terminal.see("All of it.");
    terminal.see("ready");
    let record = server.record();
    for number in [1, 2] {
        let said = record.exchanges[number].request.last_user_text().map(str::to_owned);
        assert_eq!(said.as_deref(), Some("continue"));
    }
    drop(record);
    leave(&mut terminal, &server);
}

#[test]
fn the_last_answer_and_its_code_go_into_the_terminals_clipboard_as_they_were_written() {
    let answer = "One sentence that is long enough to be wrapped in every window that this test has, so it would have line ends if it \
                  were copied from the screen.\n\n```sh\ncargo test\n```\n";
    let (_bench, server, mut terminal) = open([Reply::text(answer)]);
    terminal.say("/copy");
    terminal.see("There is no answer to copy.");
    terminal.say("Say it.");
    terminal.see("ready");
    let copied = |text: &str| format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text)).into_bytes();
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    terminal.say("/copy");
    terminal.see("Copied the answer, 5 lines.");
    assert!(holds(&terminal.bytes(), &copied(answer.trim_end())));
    terminal.say("/copy 1");
    terminal.see("Copied code block 1, 1 line.");
    assert!(holds(&terminal.bytes(), &copied("cargo test")));
    terminal.say("/copy 2");
    terminal.see("The last answer has 1 code block");
    leave(&mut terminal, &server);
}
