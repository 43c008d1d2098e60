//! Sessions that are saved, as somebody meets them in a terminal: how the last one ended, what was said in earlier ones, and what a
//! cleared one leaves.

use crate::common::agent::Bench;
use crate::common::pty::{Kind, Session as _, Terminal};
use crate::{SIZE, leave, server};
use codelet_testkit::server::{Reply, Server};
use std::path::PathBuf;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.settings("transcripts = \"~/saved\"\n");
    bench
}

fn start(bench: &Bench, server: &Server, args: &[&str]) -> Terminal {
    let terminal = Terminal::start(bench, server, args, SIZE);
    terminal.see("ready");
    terminal
}

/// What the saved files hold, in no order.
fn saved(bench: &Bench) -> Vec<String> {
    let files = std::fs::read_dir(bench.home.join("saved")).into_iter().flatten();
    let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect()
}

#[test]
fn going_on_shows_how_it_ended_and_up_brings_what_was_said() {
    let bench = bench();
    let answer: String = (1..=12).map(|n| format!("- point **{n}**\n")).collect();
    let first = server([Reply::text("A tea shop."), Reply::text(&answer)]);
    let mut terminal = start(&bench, &first, &[]);
    terminal.say("What is here?");
    terminal.see("A tea shop.");
    terminal.see("ready");
    terminal.say("Which points?");
    terminal.see("point 12");
    terminal.see("ready");
    terminal.say("exit");
    terminal.wait("To continue this session: codelet --continue");
    assert_eq!(terminal.end(), 0);

    let second = server([Reply::text("Yes.")]);
    let mut terminal = start(&bench, &second, &["--continue"]);
    terminal.see("› Which points?");
    terminal.see("point 12");
    terminal.see(": 2 prompts, about");
    let text = terminal.screen();
    assert!(text.contains("…") && text.contains("point 5"), "{text}");
    assert!(!text.contains("point 4") && !text.contains("What is here?"), "{text}");
    terminal.send(b"\x1b[A\x1b[A");
    terminal.see("› What is here?");
    terminal.send(b"\x1b[B\x1b[B");
    terminal.say("Is that so?");
    terminal.see("Yes.");
    terminal.see("ready");
    leave(&mut terminal, &second);

    // The newest ones of this project come first, each once.
    let third = server([Reply::text("Here I am.")]);
    let mut terminal = start(&bench, &third, &[]);
    terminal.say("Are you there?");
    terminal.see("Here I am.");
    terminal.see("ready");
    for (keys, words) in [
        (&b"\x1b[A"[..], "› Are you there?"),
        (b"\x1b[A", "› Is that so?"),
        (b"\x1b[A", "› Which points?"),
        (b"\x1b[A", "› What is here?"),
    ] {
        terminal.send(keys);
        let is_written = |screen: &str| screen.lines().rfind(|line| line.starts_with('›')) == Some(words);
        terminal.wait_until(words, |screen| is_written(screen));
    }
    terminal.send(b"\x1b");
    terminal.see("cleared");
    leave(&mut terminal, &third);
    assert_eq!(saved(&bench).len(), 2);
}

#[test]
fn a_cleared_conversation_keeps_its_file_and_what_is_said_then_has_one_of_its_own() {
    for kind in Kind::ALL {
        let bench = bench();
        let server = server(["One.", "Two.", "Three."].map(Reply::text));
        let mut session = kind.start(&bench, &server, &[]);
        session.say("The first.");
        session.wait("One.");
        session.rest();
        session.say("/clear");
        session.wait("/undo");
        session.say("The second.");
        session.wait("Two.");
        session.rest();
        session.say("/undo");
        session.wait("estored");
        session.say("The third.");
        session.wait("Three.");
        session.rest();
        leave(&mut *session, &server);
        let mut saved = saved(&bench);
        saved.sort_by_key(|text| text.contains("The second."));
        let [first, second] = &saved[..] else {
            panic!("{saved:?}")
        };
        assert!(first.contains("The first.") && first.contains("Three."), "{first}");
        assert!(!first.contains("The second."), "{first}");
        assert!(second.contains("Two.") && !second.contains("The first."), "{second}");
    }
}

#[test]
fn a_conversation_that_is_cleared_at_the_end_is_still_there() {
    let bench = bench();
    let server = server([Reply::text("One.")]);
    let mut terminal = start(&bench, &server, &[]);
    terminal.say("The first.");
    terminal.see("One.");
    terminal.see("ready");
    terminal.say("/clear");
    terminal.wait("/undo");
    leave(&mut terminal, &server);
    let saved = saved(&bench);
    assert!(saved.len() == 1 && saved[0].contains("One."), "{saved:?}");
}
