//! How a session ends, and what it leaves behind: the terminal as it was found, no process, and a status.

use crate::common::agent::Bench;
use crate::common::pty::{Piped, Session, Terminal, signal, wait_for_end_of};
use crate::{SIZE, open, server};
use codelet_testkit::MachineClock;
use codelet_testkit::server::{End, Fault, Gate, Refusal, Reply, Server, Wire, block_on};
use serde_json::json;
use std::time::{Duration, Instant};

/// What ends a session switches off: keys with modifiers, pastes in brackets, a hidden cursor, colours.
const OFF: &str = "\x1b[<1u\x1b[?2004l\x1b[?25h\x1b[0m";

#[test]
fn the_terminal_is_left_as_found_however_somebody_leaves() {
    for (name, keys) in [
        ("ctrl-d", &b"\x04"[..]),
        ("ctrl-c twice", b"\x03\x03"),
        ("exit", b"exit\r"),
        ("ctrl-\\", b"half a text\x1c"),
        ("ctrl-\\ of kitty", b"\x1b[92;5u"),
    ] {
        let (_bench, _server, mut terminal) = open([]);
        assert!(!terminal.is_as_found());
        terminal.send(keys);
        let status = if name.starts_with("ctrl-\\") { 131 } else { 0 };
        assert_eq!(terminal.end(), status, "{name}");
        terminal.ends_in(OFF);
        assert!(terminal.is_as_found(), "{name}");
    }
}

/// A session whose model's command runs, with its own processes behind it.
fn running() -> (Bench, Server, Terminal) {
    let bench = Bench::new();
    let command = "echo $$ >> pids; (echo $BASHPID >> pids; sleep 600) & sleep 600";
    let server = server([Reply::call("Bash", json!({"command": command}))]);
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "all"], SIZE);
    terminal.say("Run it.");
    let began = Instant::now();
    while pids(&bench).len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(20), "the command has not begun");
        codelet_testkit::wait_a_moment();
    }
    (bench, server, terminal)
}

fn pids(bench: &Bench) -> Vec<u32> {
    let text = std::fs::read_to_string(bench.work.join("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn all_gone(bench: &Bench) {
    pids(bench).into_iter().for_each(wait_for_end_of);
}

#[test]
fn a_signal_leaves_the_terminal_as_found_and_nothing_running() {
    for (name, status) in [("-TERM", 143), ("-HUP", 129), ("-QUIT", 131)] {
        let (bench, _server, mut terminal) = running();
        signal(terminal.child.id(), name);
        assert_eq!(terminal.end(), status, "{name}");
        terminal.ends_in(OFF);
        assert!(terminal.is_as_found(), "{name}");
        all_gone(&bench);

        let gate = Gate::after(2);
        let (_bench, server, mut terminal) = open([Reply::text("An answer.").gated(&gate)]);
        terminal.say("Hello?");
        block_on(gate.reached());
        signal(terminal.child.id(), name);
        assert_eq!(terminal.end(), status, "{name}");
        terminal.ends_in(OFF);
        assert!(terminal.is_as_found(), "{name}");
        server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));

        let (_bench, _server, terminal) = open([]);
        let mut terminal = terminal;
        signal(terminal.child.id(), name);
        assert_eq!(terminal.end(), status, "{name} while nothing runs");
        terminal.ends_in(OFF);
        assert!(terminal.is_as_found(), "{name} while nothing runs");
    }
}

#[test]
fn a_closed_window_ends_the_process_and_all_that_it_has_started() {
    let (bench, _server, mut terminal) = running();
    let clock = MachineClock::start();
    terminal.hang_up();
    assert_eq!(terminal.end(), 129);
    assert!(clock.elapsed() < Duration::from_secs(3), "{:?}", clock.elapsed());
    drop(clock);
    all_gone(&bench);

    let (_bench, _server, mut terminal) = open([]);
    terminal.hang_up();
    assert_eq!(terminal.end(), 129, "while nothing runs");

    let gate = Gate::after(2);
    let (_bench, server, mut terminal) = open([Reply::text("An answer.").gated(&gate)]);
    terminal.say("Hello?");
    block_on(gate.reached());
    terminal.hang_up();
    assert_eq!(terminal.end(), 129, "while the model answers");
    server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
}

#[test]
fn lines_end_with_the_status_of_the_signal_that_ends_them() {
    for (name, status) in [("-TERM", 143), ("-HUP", 129), ("-QUIT", 131)] {
        let (bench, gate) = (Bench::new(), Gate::after(2));
        let server = server([Reply::text("An answer.").gated(&gate)]);
        let mut session = Piped::start(&bench, &server, &[]);
        session.say("Hello?");
        block_on(gate.reached());
        signal(session.child.id(), name);
        assert_eq!(session.end(), status, "{name}");
        server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
    }
}

#[test]
fn a_suspended_session_gives_the_terminal_back_and_takes_it_again() {
    let bench = Bench::new();
    let long = "A sentence of many words that is much longer than a narrow terminal is wide, and some more.";
    let server = server([Reply::text(long)]);
    let session = bench.asking(&server, Wire::Anthropic, &[]);
    // Only what a shell has started can be suspended.
    let mut shell = std::process::Command::new("bash");
    shell.args([
        "-c",
        "set -m; \"$@\"; echo \"back with $?\"; stty; read -r _; fg",
        "shell",
    ]);
    shell.arg(session.get_program()).args(session.get_args());
    shell.envs(session.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let mut terminal = Terminal::run(&bench, shell, SIZE);
    terminal.see("ready");
    terminal.send(b"half a text");
    terminal.see("half a text");
    terminal.send(b"\x1a");
    terminal.see("back with 148");
    assert!(terminal.is_as_found(), "{}", terminal.text());
    terminal.resize((40, 20));
    terminal.send(b"\r");
    terminal.wait_until("the session again", |screen| {
        let last = screen.lines().rev().take(2).collect::<String>();
        last.contains("ready") && last.contains("› half a text")
    });
    terminal.send(b"\r");
    terminal.see("and some more.");
    // The width is that of now.
    assert!(terminal.screen().contains("A sentence of many words that is much\n"));
    left_well(&mut terminal);
}

/// Leaves; the terminal is as it was found, and one line behind that says that the session is gone.
fn left_well(terminal: &mut Terminal) {
    const UNSAVED: &str = "Not saved. To save sessions, add to ~/.config/codelet/settings.toml:\r\n  \
        transcripts = \"~/.local/share/codelet/sessions\"\r\n";
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    terminal.ends_in(&format!("{OFF}{UNSAVED}"));
    assert!(terminal.is_as_found());
}

/// A session that a shell has started, which alone can be suspended; the shell goes on with it at the next line.
fn under_a_shell(bench: &Bench, server: &Server, args: &[&str]) -> Terminal {
    // Twice, and not in a loop: a job that is stopped ends the loop it is in.
    const SCRIPT: &str = "set -m; \"$@\"; echo the shell is back; read -r _; fg; echo the shell is back; read -r _; fg";
    let session = bench.asking(server, Wire::Anthropic, args);
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", SCRIPT, "shell"]);
    shell.arg(session.get_program()).args(session.get_args());
    shell.envs(session.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let terminal = Terminal::run(bench, shell, SIZE);
    terminal.see("ready");
    terminal
}

#[test]
fn a_session_that_is_suspended_while_an_answer_streams_or_a_tool_runs_goes_on_where_it_was() {
    let gate = Gate::after(8);
    let bench = Bench::new();
    bench.settings("idle_timeout = 30\n");
    let half = "The first part.\n\nHalf of a second one.";
    let command = "echo it is $((40 + 2)); while [ ! -e go ]; do sleep 0.05; done; echo over";
    let server = server([
        Reply::text(half).in_fragments_of(6).gated(&gate),
        Reply::call("Bash", json!({"command": command})),
        Reply::text("It is over."),
    ]);
    let mut terminal = under_a_shell(&bench, &server, &["--permission", "all"]);
    terminal.say("Go on.");
    block_on(gate.reached());
    terminal.see("Half of a sec");
    terminal.send(b"\x1a");
    terminal.see("the shell is back");
    assert!(terminal.is_as_found(), "{}", terminal.text());
    // What is sent meanwhile is waited for in the line.
    gate.open();
    terminal.send(b"\r");
    terminal.wait("Half of a second one.");
    terminal.see("ready");
    terminal.say("Run it.");
    terminal.see("it is 42");
    terminal.send(b"\x1a");
    terminal.wait_for("the shell is back", 2);
    assert!(terminal.is_as_found(), "{}", terminal.text());
    bench.file("go", "");
    terminal.send(b"\r");
    terminal.wait("It is over.");
    terminal.see("ready");
    left_well(&mut terminal);
    let record = server.record();
    assert_eq!(record.faults(), "");
    assert!(record.exchanges[2].request.results()[0].1.contains("over"));
}

#[test]
fn a_window_that_changes_while_the_session_is_stopped_is_drawn_anew() {
    let long = "A sentence of many words that is much longer than a narrow terminal is wide, and some more.";
    let (_bench, server, mut terminal) = open([Reply::text(long)]);
    terminal.send(b"half a text");
    terminal.see("half a text");
    signal(terminal.child.id(), "-STOP");
    terminal.resize((40, 20));
    let before = terminal.bytes().len();
    signal(terminal.child.id(), "-CONT");
    // The modes are switched on again, and the rows drawn, at the width of now.
    terminal.see_more_than(before + 100);
    terminal.ends_in("\x1b[?2026l");
    terminal.wait_until("the session again", |screen| {
        screen.lines().last().is_some_and(|last| last.contains("ready"))
    });
    terminal.send(b"\r");
    terminal.see("and some more.");
    assert!(terminal.screen().contains("A sentence of many words that is much\n"));
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    assert_eq!(server.record().faults(), "");
}

#[test]
fn a_child_that_is_killed_is_a_failed_command_and_changes_nothing_of_the_terminal() {
    let bench = Bench::new();
    let server = server([
        Reply::call(
            "Bash",
            json!({"command": "stty raw -echo < /dev/tty; echo half; kill -KILL $$"}),
        ),
        Reply::text("It was killed."),
        Reply::text("Still here."),
    ]);
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "all"], SIZE);
    terminal.say("Run it.");
    terminal.see("It was killed.");
    terminal.say("!kill -KILL $$");
    terminal.wait("killed");
    terminal.say("Are you there?");
    terminal.see("Still here.");
    terminal.see("ready");
    left_well(&mut terminal);
    let told = server.record().exchanges[1].request.results()[0].1.to_owned();
    assert!(told.contains("half"), "{told}");
}

#[test]
fn an_editor_that_is_killed_leaves_the_text_and_the_terminal_as_they_were() {
    let bench = Bench::new();
    let server = server([]);
    let mut command = bench.asking(&server, Wire::Anthropic, &[]);
    command.env("VISUAL", "stty raw -echo; kill -KILL $$; :");
    let mut terminal = Terminal::run(&bench, command, SIZE);
    terminal.see("ready");
    terminal.send(b"half a text");
    terminal.see("half a text");
    terminal.send(b"\x07");
    terminal.see("failed (signal: 9");
    terminal.see("› half a text");
    terminal.send(b"\x15exit\r");
    assert_eq!(terminal.end(), 0);
    terminal.ends_in(OFF);
    assert!(terminal.is_as_found());
}

#[test]
fn an_editor_that_succeeds_gives_the_text_to_the_input() {
    let bench = Bench::new();
    let server = server([Reply::text("I see.")]);
    let mut command = bench.asking(&server, Wire::Anthropic, &[]);
    // It shows what it was given, and writes more behind it.
    command.env(
        "VISUAL",
        "sh -c 'cat \"$1\"; stty -echo; printf \" and\\nmore\" >> \"$1\"' editor",
    );
    let mut terminal = Terminal::run(&bench, command, SIZE);
    terminal.see("ready");
    terminal.send(b"half a text");
    terminal.see("half a text");
    terminal.send(b"\x07");
    terminal.see("› half a text and");
    terminal.see("more");
    terminal.send(b"\r");
    terminal.see("I see.");
    terminal.see("ready");
    left_well(&mut terminal);
    let record = server.record();
    let said = record.exchanges[0].request.last_user_text().map(str::to_owned);
    assert_eq!(said.as_deref(), Some("half a text and\nmore"));
}

/// Says these things through a pipe that ends behind them; returns the status.
fn piped(replies: Vec<Reply>, says: &[&str]) -> i32 {
    let bench = Bench::new();
    let server = server(replies);
    let mut piped = Piped::start(&bench, &server, &["--max-steps", "1"]);
    for text in says {
        piped.say(text);
    }
    piped.close();
    piped.end()
}

#[test]
fn a_pipe_ends_with_the_status_of_its_last_turn() {
    let refused = || Reply::new().failing(Fault::Refuse(Refusal::status(401)));
    let answer = || Reply::text("Yes.");
    assert_eq!(piped(vec![], &[]), 0, "nothing was asked");
    assert_eq!(piped(vec![answer()], &["Hello?"]), 0);
    assert_eq!(piped(vec![refused()], &["Hello?"]), 3);
    assert_eq!(piped(vec![refused()], &["Hello?", "/cost", "/exit"]), 3);
    // What is piped is done in its order: nobody leaves before the answer.
    assert_eq!(piped(vec![answer()], &["Hello?", "exit"]), 0);
    assert_eq!(piped(vec![Reply::call("LS", json!({"path": "."}))], &["Hello?"]), 1);
    // What comes after a failed turn decides; it is asked once the pipe's reader has seen the first one fail.
    let bench = Bench::new();
    let server = server([refused(), answer()]);
    let mut session = Piped::start(&bench, &server, &[]);
    session.say("Hello?");
    session.wait("error:");
    session.say("And now?");
    session.wait("Yes.");
    session.close();
    assert_eq!(session.end(), 0);
}

#[test]
fn an_interrupted_pipe_ends_with_the_status_of_an_interruption() {
    let (bench, gate) = (Bench::new(), Gate::after(2));
    let server = server([Reply::text("An answer.").gated(&gate)]);
    let mut session = Piped::start(&bench, &server, &[]);
    session.say("Hello?");
    block_on(gate.reached());
    session.interrupt();
    session.wait("interrupted");
    session.close();
    assert_eq!(session.end(), 130);
}
