//! `--plain` with a person in front: what they read, when they read it, and what becomes of what they type ahead.

use crate::common::agent::Bench;
use crate::common::pty::{Session, Terminal};
use crate::{SIZE, everywhere, leave, server, usage};
use codelet_testkit::server::{Gate, Reply, Server, Wire, block_on};
use serde_json::{Value, json};

fn open(replies: impl IntoIterator<Item = Reply>, size: (u16, u16)) -> (Bench, Server, Terminal) {
    let (bench, server) = (Bench::new(), server(replies));
    let command = bench.asking(&server, Wire::Anthropic, &["--plain"]);
    let terminal = Terminal::run(&bench, command, size);
    terminal.wait_until("that it is our turn", |screen| screen.lines().last() == Some(">"));
    (bench, server, terminal)
}

#[test]
fn what_a_command_prints_is_read_as_it_comes_and_whole() {
    let (bench, server, mut terminal) = open([], SIZE);
    terminal.say("!seq 1 40; while [ ! -e go ]; do sleep 0.02; done; echo the end");
    // It still runs.
    terminal.wait("  12\n");
    assert!(!terminal.text().contains("  the end\n"));
    bench.file("go", "");
    terminal.wait("  the end\n");
    terminal.wait(" lines, ");
    let text = terminal.text();
    for line in 1..=40 {
        assert_eq!(text.matches(&format!("\n  {line}\n")).count(), 1, "{line}: {text}");
    }
    assert_eq!(text.matches("  the end\n").count(), 1, "{text}");
    crate::leave(&mut terminal, &server);
}

#[test]
fn rows_of_a_paragraph_are_read_before_it_ends() {
    let gate = Gate::after(30);
    let paragraph = "The first sentence says something. ".to_owned() + &"Another one says more. ".repeat(20);
    let reply = Reply::text(paragraph).in_fragments_of(10).gated(&gate);
    let (_bench, server, mut terminal) = open([reply.billed(usage(2_000))], SIZE);
    terminal.say("Tell me.");
    block_on(gate.reached());
    terminal.wait("The first sentence says something.");
    gate.open();
    // How the turn stands is told behind it.
    terminal.wait("window: ");
    let text = terminal.text();
    let status = text.lines().find(|line| line.starts_with("window: ")).unwrap();
    assert!(
        status.contains(" tokens, ") && status.contains("from the cache"),
        "{text}"
    );
    assert!(text.contains("this turn"), "{text}");
    crate::leave(&mut terminal, &server);
}

#[test]
fn what_was_typed_ahead_of_an_interruption_is_done_at_an_empty_line() {
    let gate = Gate::after(4);
    let (_bench, server, mut terminal) = open(
        [
            Reply::text("An answer without end. ".repeat(40))
                .in_fragments_of(12)
                .gated(&gate),
            Reply::text("The second."),
            Reply::text("The third."),
        ],
        SIZE,
    );
    terminal.say("First.");
    block_on(gate.reached());
    terminal.say("And second?");
    terminal.wait("queued: And second?");
    terminal.say("And third?");
    terminal.wait("queued: And third?");
    terminal.send(b"\x03");
    terminal.wait("kept: And third?");
    terminal.send(b"\r");
    terminal.wait("The second.");
    terminal.wait("The third.");
    let asked: Vec<String> = server.record().exchanges[1..]
        .iter()
        .filter_map(|exchange| exchange.request.last_user_text().map(str::to_owned))
        .collect();
    assert_eq!(asked, ["And second?", "And third?"]);
    crate::leave(&mut terminal, &server);
}

#[test]
fn in_lines_help_names_no_key_that_does_nothing_there_and_more_shows_what_was_folded() {
    let (bench, server, mut terminal) = open(
        [
            Reply::call("Read", json!({"file_path": "long.txt"})),
            Reply::text("Read."),
        ],
        (40, 24),
    );
    bench.file(
        "long.txt",
        &(1..=60).map(|n| format!("line {n} of it\n")).collect::<String>(),
    );
    terminal.say("Read it.");
    terminal.wait("this turn");
    assert!(!terminal.text().contains("line 31 of it"));
    terminal.say("/more");
    terminal.wait("line 31 of it");
    terminal.say("/help");
    terminal.wait("mention a file; picture");
    for key in ["Ctrl-O", "Ctrl-R", "Ctrl-G", "Esc"] {
        assert!(!terminal.text().contains(key), "{key}: {}", terminal.text());
    }
    crate::leave(&mut terminal, &server);
}

#[test]
fn a_question_in_a_narrow_window_is_broken_between_words_and_shows_all_of_a_change() {
    let text: String = (1..=900).map(|n| format!("row {n}\n")).collect();
    let (bench, server, mut terminal) = open(
        [
            Reply::call(
                "Write",
                json!({"file_path": "/tmp/codelet-is-not-here/a.txt", "content": text}),
            ),
            Reply::text("No."),
        ],
        (40, 24),
    );
    terminal.say("Write it.");
    terminal.wait("why.");
    let shown = terminal.text();
    for row in [1, 400, 401, 650, 900] {
        assert!(shown.contains(&format!("+ row {row}\n")), "{row}");
    }
    let asked: Vec<&str> = shown
        .lines()
        .skip_while(|line| !line.starts_with("Allow it?"))
        .collect();
    assert!(
        asked.len() > 1 && asked.iter().all(|line| line.chars().count() < 40),
        "{asked:?}"
    );
    terminal.say("n");
    terminal.wait("No.");
    assert!(!bench.work.join("a.txt").exists());
    crate::leave(&mut terminal, &server);
}

#[test]
fn what_fails_within_a_pipe_is_shown_to_whoever_reads() {
    let replies = || {
        let piped = json!({"command": "sh check.sh | tail -1"});
        vec![Reply::call("Bash", piped), Reply::text("One has failed.")]
    };
    let check = "echo 1 failed; exit 3\n";
    everywhere(replies, &["--permission", "all"], |bench, server, session| {
        bench.file("check.sh", check);
        session.say("Check.");
        session.wait("sh check.sh | tail -1 ");
        session.wait("sh: exit 3");
        session.wait("One has failed.");
        leave(session, server);
    });
    let bench = Bench::new();
    bench.file("check.sh", check);
    let args = ["-p", "Check.", "--permission", "all"];
    let server = crate::server(replies());
    let mut terminal = Terminal::run(&bench, bench.asking(&server, Wire::Anthropic, &args), SIZE);
    terminal.wait("! Bash · sh: exit 3 · ");
    assert_eq!(terminal.end(), 0);
    let server = crate::server(replies());
    let output = bench.ask(
        &server,
        Wire::Anthropic,
        &[&args[..], &["--output", "stream-json"]].concat(),
    );
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let finished = lines.filter(|line| line["type"] == "tool_finished").collect::<Vec<_>>();
    assert_eq!(finished[0]["success"], true);
    assert_eq!(finished[0]["failed_in_pipe"], json!([{"program": "sh", "status": 3}]));
}
