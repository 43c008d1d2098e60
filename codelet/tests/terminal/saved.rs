//! Sessions that are saved, as somebody meets them in a terminal: how the last one ended, what was said in earlier ones, and what a
//! cleared one leaves.

use crate::common::agent::Bench;
use crate::common::pty::{Kind, Session as _, Terminal};
use crate::{SIZE, leave, server};
use codelet_testkit::server::{Gate, Reply, Server, block_on};
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

#[test]
fn what_was_queued_is_listed_on_leaving_and_the_next_session_has_it_in_its_history() {
    for leaves in [&b"/exit\r"[..], b"\x04"] {
        let bench = bench();
        let gate = Gate::after(2);
        let first = server([Reply::text("One two three four.").in_fragments_of(4).gated(&gate)]);
        let mut terminal = start(&bench, &first, &[]);
        terminal.say("Count.");
        block_on(gate.reached());
        terminal.say("Then the tests.");
        terminal.say("/compact all of it");
        terminal.see("2 queued");
        terminal.send(leaves);
        terminal.wait("not sent: Then the tests.");
        terminal.wait("not sent: /compact all of it");
        terminal.wait("To continue this session: codelet --continue");
        terminal.wait("What was not sent is in its input history (Up).");
        assert_eq!(terminal.end(), 0);
        gate.open();

        let second = server([]);
        // Whichever session it is: the first one is not continued.
        for args in [&["--continue"][..], &[]] {
            let mut terminal = start(&bench, &second, args);
            for words in ["› /compact all of it", "› Then the tests.", "› Count."] {
                terminal.send(b"\x1b[A");
                let is_written = |screen: &str| screen.lines().rfind(|line| line.starts_with('›')) == Some(words);
                terminal.wait_until(words, |screen| is_written(screen));
            }
            terminal.send(b"\x1b");
            terminal.see("cleared");
            leave(&mut terminal, &second);
        }
    }
}

#[test]
fn the_command_at_the_end_continues_the_session_where_it_is_printed() {
    let bench = bench();
    let other = bench.home.join("the other");
    std::fs::create_dir(&other).unwrap();
    let directory = "../home/the other";
    let first = server([Reply::text("Over there.")]);
    let mut terminal = start(&bench, &first, &["-C", directory]);
    terminal.say("Where?");
    terminal.see("Over there.");
    terminal.see("ready");
    terminal.say("exit");
    terminal.wait("To continue this session: codelet -C '../home/the other' --continue");
    assert_eq!(terminal.end(), 0);
    let second = server([]);
    let mut terminal = start(&bench, &second, &["-C", directory, "--continue"]);
    terminal.see("› Where?");
    leave(&mut terminal, &second);
}

#[test]
fn who_saves_nothing_is_told_once_at_the_end_of_a_session_with_something_in_it() {
    const TOLD: &str = "Not saved. To save sessions, add to ~/.config/codelet/settings.toml: transcripts =";
    for (args, prompt, is_told) in [
        (&[][..], Some("Hello?"), true),
        (&["--no-transcript"], Some("Hello?"), false),
        (&[], None, false),
    ] {
        let bench = Bench::new();
        let server = server([Reply::text("Here I am.")]);
        let mut terminal = start(&bench, &server, args);
        if let Some(prompt) = prompt {
            terminal.say(prompt);
            terminal.see("Here I am.");
            terminal.see("ready");
        }
        leave(&mut terminal, &server);
        let text = terminal.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.contains(TOLD), is_told, "{text}");
    }
}

#[test]
fn an_idle_session_that_is_left_is_not_the_newest_one() {
    let bench = bench();
    let first = server([Reply::text("The older one.")]);
    let mut idle = start(&bench, &first, &[]);
    idle.say("Who?");
    idle.see("The older one.");
    idle.see("ready");
    let second = server([Reply::text("The newer one.")]);
    let mut terminal = start(&bench, &second, &[]);
    terminal.say("And you?");
    terminal.see("The newer one.");
    terminal.see("ready");
    leave(&mut terminal, &second);
    leave(&mut idle, &first);
    let third = server([]);
    let mut terminal = start(&bench, &third, &["--continue"]);
    terminal.see("› And you?");
    leave(&mut terminal, &third);
}

#[test]
fn the_last_prompt_of_a_continued_session_is_sent_again_with_retry() {
    let bench = bench();
    let gate = Gate::after(2);
    let first = server([Reply::text("One two three four.").in_fragments_of(4).gated(&gate)]);
    let mut terminal = start(&bench, &first, &[]);
    terminal.say("Count.");
    block_on(gate.reached());
    terminal.send(b"\x1b");
    terminal.see("/retry");
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    gate.open();
    let second = server([Reply::text("One two three.")]);
    let mut terminal = start(&bench, &second, &["--continue"]);
    terminal.say("/retry");
    terminal.see("Sending again: Count.");
    terminal.see("One two three.");
    leave(&mut terminal, &second);
    assert_eq!(second.record().exchanges[0].request.last_user_text(), Some("Count."));
}
