//! Turns of a session: what is said, shown, asked and interrupted, in a terminal and through pipes.

use crate::common::agent::{Bench, KEY};
use crate::common::pty::{Kind, Piped, Session, Terminal};
use crate::common::{self};
use crate::{SIZE, everywhere, leave, open, server, usage};
use codelet_testkit::server::{
    Behaviour, End, Fault, Gate, Part, Refusal, Reply, Request, RetryAfter, Server, Wire, block_on,
};
use serde_json::json;
use std::time::Duration;

/// The texts of a request's messages as they were sent.
fn sent(server: &Server, at: usize) -> serde_json::Value {
    server.record().exchanges[at].request.json()["messages"].clone()
}

#[test]
fn a_session_of_several_turns_can_be_read_afterwards() {
    let bench = Bench::new();
    bench.file("a.txt", "one\ntwo\n");
    let server = server([
        Reply::new()
            .says("I look at **it** first.")
            .calls("Read", json!({"file_path": "a.txt"}))
            .billed(usage(2_000)),
        Reply::call(
            "Edit",
            json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
        )
        .billed(usage(2_400)),
        Reply::text("# Done\n\n- `two` is `2`\n- nothing else was touched\n\n```rust\nfn main() {}\n```\n")
            .billed(usage(2_800)),
        Reply::text("You are welcome.").billed(usage(3_000)),
    ]);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.see("ready");
    terminal.looks_like("begin");
    terminal.say("Make two a digit.");
    terminal.see("nothing else was touched");
    terminal.see("ready");
    terminal.looks_like("turn");
    terminal.say("Thank you,\nthat was quick.");
    terminal.see("You are welcome.");
    terminal.see("ready");
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    terminal.reads_like("session");
    assert!(terminal.is_as_found());
    assert_eq!(bench.read("a.txt"), "one\n2\n");
    assert_eq!(server.record().faults(), "");
    let text = terminal.text();
    assert!(!text.contains(KEY));
    // What was said in two lines arrived as one prompt.
    assert!(
        server.record().exchanges[3]
            .request
            .user_texts()
            .contains(&"Thank you,\nthat was quick.")
    );
}

#[test]
fn the_same_can_be_done_in_lines() {
    let bench = Bench::new();
    bench.file("a.txt", "one\ntwo\n");
    let server = server([
        Reply::call(
            "Edit",
            json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
        ),
        Reply::text("Done: `two` is `2`."),
        Reply::text("You are welcome."),
    ]);
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("Make two a digit.");
    piped.wait("Done:");
    piped.say("Thank you,\nthat was quick.");
    piped.wait("You are welcome.");
    piped.close();
    assert_eq!(piped.end(), 0);
    assert!(!piped.text().contains('\x1b'), "{}", piped.text());
    assert_eq!(bench.read("a.txt"), "one\n2\n");
    assert!(
        server.record().exchanges[2]
            .request
            .user_texts()
            .contains(&"Thank you,\nthat was quick.")
    );
}

#[test]
fn an_interrupted_stream_keeps_its_words_and_retry_sends_the_prompt_again() {
    for kind in Kind::ALL {
        let gate = Gate::after(8);
        let half = Reply::text("The first part.\n\nHalf of a second one.")
            .in_fragments_of(6)
            .gated(&gate);
        let server = server([half, Reply::text("A whole answer.")]);
        let bench = Bench::new();
        let mut session = kind.start(&bench, &server, &[]);
        session.say("Tell me all.");
        block_on(gate.reached());
        session.wait("The first part.");
        session.interrupt();
        session.wait("kept: your prompt, the answer so far");
        server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
        session.say("/retry");
        session.wait("A whole answer.");
        leave(&mut *session, &server);
        assert_eq!(sent(&server, 0), sent(&server, 1));
    }
}

#[test]
fn after_an_interruption_anything_else_carries_on() {
    everywhere(
        || {
            vec![
                Reply::call("Bash", json!({"command": "echo be''gan; sleep 600"})),
                Reply::text("I see."),
            ]
        },
        &["--permission", "all"],
        |_, server, session| {
            session.say("Run it.");
            // Its output, which the command itself does not show.
            session.wait("began");
            session.interrupt();
            session.wait("kept: ");
            session.say("What did it print?");
            session.wait("I see.");
            leave(session, server);
            let record = server.record();
            let asked = &record.exchanges[1].request;
            assert!(asked.user_texts().contains(&"What did it print?"));
            let told = &asked.results()[0].1;
            assert!(told.contains("began") || told.contains("interrupted"), "{told}");
        },
    );
}

#[test]
fn a_wait_for_the_provider_can_be_interrupted() {
    everywhere(
        || {
            let mut refusal = Refusal::status(429);
            refusal.retry = Some(RetryAfter::Seconds(60));
            vec![Reply::new().failing(Fault::Refuse(refusal)), Reply::text("At last.")]
        },
        &[],
        |bench, server, session| {
            let _ = bench;
            session.say("Hello?");
            session.wait("try 2");
            session.interrupt();
            session.wait("kept: ");
            session.say("/retry");
            session.wait("At last.");
            leave(session, server);
        },
    );
}

#[test]
fn a_question_is_answered_each_way() {
    everywhere(
        || {
            vec![
                Reply::call("Bash", json!({"command": "touch once"})),
                Reply::call("Bash", json!({"command": "mkdir -p always/a"})),
                Reply::call("Bash", json!({"command": "mkdir -p always/b"})),
                Reply::call("Bash", json!({"command": "touch no"})),
                Reply::call("Bash", json!({"command": "touch because"})),
                Reply::text("All asked."),
            ]
        },
        &[],
        |bench, server, session| {
            session.say("Try things.");
            for word in ["y", "a", "n", "n we use make"] {
                session.answer(word);
                session.wait(match word {
                    "y" => "no output",
                    "a" => "allowed in this session: mkdir *",
                    "n" => " refused",
                    _ => "we use make",
                });
            }
            session.wait("All asked.");
            session.say("exit");
            assert_eq!(session.end(), 0);
            let exists = |name: &str| bench.work.join(name).exists();
            assert!(exists("once") && exists("always/a") && exists("always/b"));
            assert!(!exists("no") && !exists("because"));
            let record = server.record();
            let results = record.exchanges[5]
                .request
                .results()
                .iter()
                .map(|(_, text)| text.to_string())
                .collect::<Vec<_>>();
            assert_eq!(results[3], "Refused: the user said no.");
            assert_eq!(results[4], "Refused: the user said no, and: we use make.");
        },
    );
}

#[test]
fn a_question_shows_what_would_run_and_keys_on_their_way_answer_nothing() {
    let gate = Gate::before_head();
    let (_bench, server, mut terminal) = open([
        Reply::call("Bash", json!({"command": "cargo test --all && git push"})).gated(&gate),
        Reply::text("So be it."),
    ]);
    terminal.say("Check and push.");
    block_on(gate.reached());
    terminal.send(b"yyy and then ano");
    gate.open();
    terminal.see("│ cargo test --all && git push");
    terminal.see("Send (Enter) or delete");
    terminal.see("yyy and then ano");
    terminal.send(b"\x15");
    terminal.see("[y] yes, once");
    terminal.looks_like("question");
    terminal.send(b"\r\r");
    terminal.send(b"n");
    terminal.see("So be it.");
    let record = server.record();
    assert_eq!(record.exchanges[1].request.results()[0].1, "Refused: the user said no.");
}

#[test]
fn a_question_can_be_interrupted() {
    everywhere(
        || {
            vec![
                Reply::call("Bash", json!({"command": "touch never"})),
                Reply::text("Then not."),
            ]
        },
        &[],
        |bench, server, session| {
            session.say("Try.");
            session.wait("touch never");
            session.interrupt();
            session.wait("kept: ");
            session.say("Leave it.");
            session.wait("Then not.");
            session.say("exit");
            assert_eq!(session.end(), 0);
            assert!(!bench.work.join("never").exists());
            assert_eq!(server.record().faults(), "");
        },
    );
}

#[test]
fn what_is_typed_ahead_is_shown_and_sent_afterwards() {
    let gate = Gate::after(3);
    let (_bench, server, mut terminal) = open([
        Reply::text("The first answer.").gated(&gate),
        Reply::text("The second answer."),
    ]);
    terminal.say("The first question.");
    block_on(gate.reached());
    terminal.say("The second question.");
    terminal.see("queued: The second question.");
    terminal.send(b"half a third");
    terminal.see("half a third");
    terminal.looks_like("queued");
    assert_eq!(server.record().exchanges.len(), 1);
    gate.open();
    terminal.see("The second answer.");
    terminal.see("› half a third");
    assert_eq!(
        server.record().exchanges[1].request.last_user_text(),
        Some("The second question.")
    );
}

#[test]
fn what_is_taken_back_to_be_changed_is_queued_no_more() {
    let gate = Gate::after(3);
    let (_bench, _server, mut terminal) = open([Reply::text("An answer.").gated(&gate)]);
    terminal.say("A question.");
    block_on(gate.reached());
    terminal.say("Another one.");
    terminal.say("A third.");
    terminal.see("2 queued");
    terminal.send(b"\x1b[A");
    terminal.see("› A third.");
    terminal.see("1 queued");
}

#[test]
fn what_is_typed_ahead_of_an_interruption_goes_back_into_the_input() {
    let gate = Gate::after(3);
    let (_bench, server, mut terminal) = open([Reply::text("An answer.").gated(&gate)]);
    terminal.say("A question.");
    block_on(gate.reached());
    terminal.say("Another one.");
    terminal.see("queued: Another one.");
    terminal.send(b"\x1b");
    terminal.see("interrupted");
    terminal.wait_until("the input", |screen| {
        screen.contains("› Another one.") && !screen.contains("queued")
    });
    assert_eq!(server.record().exchanges.len(), 1);
}

#[test]
fn a_long_paste_is_sent_whole() {
    everywhere(
        || vec![Reply::text("That was long.")],
        &[],
        |_, server, session| {
            let paste: Vec<String> = (0..10_000).map(|line| format!("line {line} of a log")).collect();
            let paste = paste.join("\n");
            session.paste("What is this? ", &paste);
            session.wait("That was long.");
            leave(session, server);
            let record = server.record();
            assert_eq!(record.exchanges.len(), 1);
            let expected = format!("What is this? {paste}");
            assert!(record.exchanges[0].request.user_texts().contains(&expected.as_str()));
        },
    );
}

#[test]
fn a_long_paste_is_shown_folded() {
    let (_bench, server, mut terminal) = open([Reply::text("That was long.")]);
    let paste = "a line of a log\r".repeat(10_000);
    terminal.send(b"What is this? \x1b[200~");
    terminal.send(paste.as_bytes());
    terminal.send(b"\x1b[201~");
    terminal.see("› What is this? [pasted 10,000 lines]");
    // What is written behind it is behind it.
    terminal.send(b" And why?\r");
    terminal.see("That was long.");
    let record = server.record();
    let texts = record.exchanges[0].request.user_texts();
    let sent = texts.last().unwrap();
    assert_eq!(sent.matches("a line of a log").count(), 10_000);
    assert!(sent.ends_with(" And why?"), "{}", &sent[sent.len() - 40..]);
}

#[test]
fn a_window_that_changes_its_size_while_something_streams_stays_readable() {
    let bench = Bench::new();
    let gate = Gate::after(6);
    let words = "A sentence of many words that is much longer than a narrow terminal is wide, and then some more.";
    let server = server([Reply::text(words).in_fragments_of(12).gated(&gate)]);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.say("Write.");
    block_on(gate.reached());
    let has_bar = |screen: &str| {
        screen
            .lines()
            .any(|line| line.contains("writing") && line.contains('▌'))
    };
    terminal.wait_until("a wide screen", has_bar);
    terminal.resize((40, 20));
    // The emulator only cuts lines off; the program draws no bar where there is no room for it.
    terminal.wait_until("a narrow screen", |screen| {
        screen.lines().all(|line| line.chars().count() <= 40) && screen.contains("writing") && !has_bar(screen)
    });
    gate.open();
    terminal.see("some more.");
    terminal.see("ready");
    terminal.looks_like("narrow");
}

#[test]
fn a_window_may_change_its_size_again_and_again_while_an_answer_flows() {
    const LINES: usize = 40;
    let answer: String = (0..LINES)
        .map(|line| format!("- item {line} has a sentence behind it that is longer than a narrow window is wide\n"))
        .collect();
    let reply = Reply::text(answer).in_fragments_of(16).paced(Duration::from_millis(3));
    let (_bench, server, mut terminal) = open([reply]);
    terminal.say("List them.");
    terminal.wait("item 0 has");
    for (turn, size) in [(40, 20), (120, 30), (60, 8), (100, 40), (33, 12), (80, 24)]
        .into_iter()
        .enumerate()
    {
        terminal.wait(&format!("item {} has", 5 * turn + 2));
        terminal.resize(size);
    }
    terminal.wait_until("the end", |screen| screen.contains("ready"));
    leave(&mut terminal, &server);
    // No item is drawn twice, and those behind the last change are whole. What a smaller window has pushed out is the
    // emulator's to keep, and this one drops it; it was sent all the same.
    let text = terminal.text();
    let number = |line: &str| {
        line.trim_start()
            .strip_prefix("• item ")?
            .split(' ')
            .next()?
            .parse()
            .ok()
    };
    let items: Vec<usize> = text.lines().filter_map(number).collect();
    assert!(items.is_sorted_by(|a, b| a < b), "{text}");
    assert!(items.ends_with(&(LINES - 8..LINES).collect::<Vec<_>>()), "{text}");
    let sent = String::from_utf8(terminal.bytes()).unwrap();
    for line in 0..LINES {
        assert!(
            sent.contains(&format!("item {line} has")),
            "item {line} was never drawn"
        );
    }
}

#[test]
fn what_was_said_before_is_found_by_its_words() {
    let (_bench, server, mut terminal) = open([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]);
    terminal.say("the invoice of november");
    terminal.see("One.");
    terminal.say("something else");
    terminal.see("Two.");
    terminal.see("ready");
    terminal.send(b"\x12");
    terminal.send(b"invo");
    terminal.see("the invoice of november");
    terminal.send(b"\r");
    terminal.see("Three.");
    leave(&mut terminal, &server);
    let record = server.record();
    assert_eq!(
        record.exchanges[2].request.last_user_text(),
        Some("the invoice of november")
    );
}

#[test]
fn colours_are_those_of_the_background_and_none_where_nobody_wants_them() {
    let shown = |variables: &[(&str, &str)]| {
        let bench = Bench::new();
        let answer = "# Done\n\n```rust\nfn main() { let a = \"b\"; } // c\n```\n";
        let server = server([Reply::text(answer)]);
        let mut command = bench.asking(&server, Wire::Anthropic, &[]);
        command.envs(variables.iter().copied());
        let mut terminal = Terminal::run(&bench, command, SIZE);
        terminal.see("ready");
        terminal.say("Show it.");
        terminal.see("fn main()");
        terminal.see("ready");
        leave(&mut terminal, &server);
        (terminal.text(), String::from_utf8(terminal.bytes()).unwrap())
    };
    let has_colours = |bytes: &str| {
        let sequences = bytes.split("\x1b[").skip(1);
        let mut colours = sequences
            .filter_map(|rest| rest.split_once('m'))
            .flat_map(|(numbers, _)| numbers.split(';'));
        colours.any(|number| matches!(number.parse(), Ok(30..=37 | 90..=97)))
    };
    let (text, dark) = shown(&[("COLORFGBG", "15;0")]);
    let (light_text, light) = shown(&[("COLORFGBG", "0;15")]);
    let (plain_text, plain) = shown(&[("NO_COLOR", "1")]);
    assert!(
        has_colours(&dark) && has_colours(&light) && !has_colours(&plain),
        "{plain:?}"
    );
    let code = |bytes: &str| {
        bytes
            .lines()
            .find(|line| line.contains("main"))
            .unwrap_or_default()
            .to_owned()
    };
    assert_ne!(code(&dark), code(&light), "a light background looks as a dark one");
    // The words are the same.
    let last = |text: &str| {
        text.lines()
            .filter(|line| line.contains("fn main"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(last(&text), last(&light_text));
    assert_eq!(last(&text), last(&plain_text));
}

#[test]
fn a_session_lives_in_tmux() {
    let bench = Bench::new();
    let Ok(version) = std::process::Command::new("tmux").arg("-V").output() else {
        eprintln!("skipped: there is no tmux here");
        return;
    };
    assert!(version.status.success());
    // Whatever comes of this test, nothing of it stays.
    std::fs::write(bench.home.join("tmux.conf"), "set -g destroy-unattached on\n").unwrap();
    let server = server([
        Reply::text("Half of it, and the rest."),
        Reply::text("You are welcome."),
    ]);
    let inner = bench.asking(&server, Wire::Anthropic, &[]);
    let mut outer = std::process::Command::new("tmux");
    outer.arg("-S").arg(bench.home.join("tmux"));
    outer.arg("-f").arg(bench.home.join("tmux.conf")).arg("new-session");
    outer.arg(inner.get_program()).args(inner.get_args());
    outer.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    outer.env("LC_ALL", "C.UTF-8").current_dir(&bench.work);
    let mut terminal = Terminal::run(&bench, outer, SIZE);
    terminal.see("ready");
    terminal.say("Tell me.");
    terminal.see("and the rest.");
    terminal.see("ready");
    terminal.resize((60, 20));
    terminal.send(b"\x1b[200~Thank you,\rthat was quick.\x1b[201~");
    terminal.see("that was quick.");
    terminal.send(b"\r");
    terminal.see("You are welcome.");
    terminal.see("ready");
    terminal.say("exit");
    // The last session of its server ends tmux.
    assert_eq!(terminal.end(), 0);
    let record = server.record();
    assert_eq!(record.faults(), "");
    let said = record.exchanges[1].request.last_user_text().map(str::to_owned);
    assert_eq!(said.as_deref(), Some("Thank you,\nthat was quick."));
}

/// Turns that fill a conversation: the model reads a long file in each.
pub fn long(turns: usize) -> Vec<Reply> {
    (0..turns)
        .flat_map(|turn| {
            [
                Reply::call("Read", json!({"file_path": format!("part_{turn}.txt")})),
                Reply::text(format!("Part {turn} is read.")),
            ]
        })
        .collect()
}

pub fn long_files(bench: &Bench, turns: usize) {
    for turn in 0..turns {
        let text: String = (0..150)
            .map(|line| {
                format!(
                    "part {turn} line {line}: value_{} = {};\n",
                    line * 37 + turn,
                    line * turn
                )
            })
            .collect();
        bench.file(&format!("part_{turn}.txt"), &text);
    }
}

/// The bytes of a request as they were sent, but for its cache marks, which move with its end.
fn body(server: &Server, at: usize) -> String {
    const MARK: &str = "\"cache_control\":{\"type\":\"ephemeral\"";
    let record = server.record();
    let mut text = std::str::from_utf8(&record.exchanges[at].request.body).unwrap();
    let mut out = String::new();
    while let Some((before, behind)) = text.split_once(MARK) {
        let rest = behind.split_once('}').unwrap().1;
        // The mark goes with the comma that parts it from its neighbours.
        match before.strip_suffix(',') {
            Some(before) => {
                out.push_str(before);
                text = rest;
            }
            None => {
                out.push_str(before);
                text = rest.strip_prefix(',').unwrap_or(rest);
            }
        }
    }
    out + text
}

/// Asserts that one request begins as an earlier one did, byte for byte: tools, system prompt, and messages up to their end.
fn begins_as(server: &Server, later: usize, earlier: usize) {
    let (later, earlier) = (body(server, later), body(server, earlier));
    let (head, tail) = messages(&earlier);
    let (later_head, later_tail) = messages(&later);
    assert!(head.len() + tail.len() > 1_000, "{earlier}");
    assert_eq!(later_head, head);
    // The list of messages stays open at its end: its last bracket is what the later one goes on in place of.
    let begin = tail.strip_suffix(']').unwrap();
    assert!(later_tail.starts_with(begin), "{begin}\n{later_tail}");
}

/// Whether what was said last holds what a tool has answered.
fn answers_a_call(request: &Request) -> bool {
    let last = request.messages().last().unwrap();
    last.parts.iter().any(|part| matches!(part, Part::Result { .. }))
}

/// A body in two pieces: everything but the messages, and the messages with their last bracket.
fn messages(body: &str) -> (String, String) {
    const BEGIN: &str = "\"messages\":";
    let from = body.find(BEGIN).unwrap() + BEGIN.len();
    let mut found = serde_json::Deserializer::from_str(&body[from..]).into_iter::<serde_json::Value>();
    found.next().unwrap().unwrap();
    let to = from + found.byte_offset();
    let rest = [&body[..from], &body[to..]].concat();
    (without_its_model(&rest), body[from..to].to_owned())
}

/// The same whoever is asked, and however much they may answer.
fn without_its_model(head: &str) -> String {
    let (before, behind) = head.split_once("\"max_tokens\":").unwrap();
    let behind = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}{behind}").replace("\"roomy\"", "\"test-model\"")
}

#[test]
fn an_undone_compaction_sends_what_was_sent_before_byte_for_byte() {
    const TURNS: usize = 6;
    let replies = || {
        let words = ["Before.", "Compacted.", "Restored."].map(Reply::text);
        long(TURNS).into_iter().chain(words).collect()
    };
    everywhere(replies, &[], |bench, server, session| {
        long_files(bench, TURNS);
        for turn in 0..TURNS {
            session.say(&format!("Read part {turn}."));
            session.wait(&format!("Part {turn} is read."));
        }
        session.say("/context");
        session.wait("Largest");
        session.say("How far are you?");
        session.wait("Before.");
        session.say("/compact --dry-run");
        session.wait("Dry run");
        session.say("/compact keep the names of the values");
        session.wait("Context compacted:");
        session.say("And now?");
        session.wait("Compacted.");
        session.say("/undo-compact");
        session.wait("Compaction undone");
        session.say("And again?");
        session.wait("Restored.");
        session.say("/cost");
        session.wait("undone: removed text");
        leave(session, server);
        let (before, compacted, restored) = (2 * TURNS, 2 * TURNS + 1, 2 * TURNS + 2);
        let weight = |at: usize| body(server, at).len();
        assert!(weight(compacted) * 4 < weight(before) * 3);
        let record = server.record();
        assert!(
            record.exchanges[compacted]
                .request
                .holds("keep the names of the values")
        );
        begins_as(server, restored, before);
    });
}

#[test]
fn an_undone_compaction_that_nobody_has_asked_for_sends_what_was_sent_before_byte_for_byte() {
    const TURNS: usize = 12;
    for kind in Kind::ALL {
        let bench = Bench::new();
        long_files(&bench, TURNS);
        bench.settings(
            "[models.\"anthropic/test-model\"]\nwindow = 14000\n[models.\"anthropic/roomy\"]\nwindow = 100000\n",
        );
        let server = Server::start(
            Wire::Anthropic,
            Behaviour::answering({
                let mut part = 0;
                move |request| {
                    if request.last_user_text() == Some("And again?") {
                        return Reply::text("Restored.");
                    }
                    if !answers_a_call(request) {
                        return Reply::call("Read", json!({"file_path": format!("part_{part}.txt")}));
                    }
                    part += 1;
                    Reply::text(format!("Part {} is read.", part - 1))
                }
            }),
        );
        let mut session = kind.start(&bench, &server, &[]);
        let mut turns = 0;
        // The window is full at some turn.
        while !session.text().contains("Context compacted:") {
            session.say(&format!("Read part {turns}."));
            session.wait(&format!("Part {turns} is read."));
            session.rest();
            turns += 1;
        }
        assert_eq!(session.text().matches("Context compacted:").count(), 1);
        // The first request that is smaller than the one before it stands behind the edit.
        let shrunk = |at: &usize| body(&server, *at).len() < body(&server, at - 1).len();
        let first = (1..server.record().exchanges.len()).find(shrunk).unwrap();
        session.say("/undo-compact");
        session.wait("Compaction undone");
        // Where it fits; here it would be compacted again at once, and that is said.
        session.wait("The context window is full: the next step compacts again");
        session.say("/model anthropic/roomy");
        session.wait("Switched to anthropic/roomy");
        session.say("And again?");
        session.wait("Restored.");
        leave(&mut *session, &server);
        begins_as(&server, server.record().exchanges.len() - 1, first - 1);
    }
}

#[test]
fn pins_survive_three_compactions() {
    const TURNS: usize = 9;
    const NEVER_READ: &str = "Only the notes say that the depot closes at four.";
    let replies = || {
        let mut replies = long(TURNS);
        replies.push(Reply::text("I know."));
        replies
    };
    everywhere(replies, &["--window", "17k"], |bench, server, session| {
        long_files(bench, TURNS);
        bench.file("notes/never_read.txt", &format!("{NEVER_READ}\n"));
        session.say("/pin never use tabs in Makefiles' comments");
        session.wait("Pinned; sent");
        session.say("/pin @notes/never_read.txt ");
        session.wait("Pinned: notes/never_read.txt, as it is now");
        // What is pinned of a file that nobody has read is its text at that time.
        bench.file("notes/never_read.txt", "something else\n");
        for turn in 0..TURNS {
            session.say(&format!("Read part {turn}."));
            session.wait(&format!("Part {turn} is read."));
            if turn == 0 {
                // The blank ends the name, so that nothing is completed.
                session.say("/pin @part_0.txt ");
                session.wait("Pinned: part_0.txt");
            }
            if turn == 1 {
                session.say("/pin");
                session.wait_for("Read part 1.", 2);
                session.rest();
                // Behind the prompt stand the call and its result.
                let number = number_of(session, "Read part 1.") + 2;
                session.say(&format!("/pin #{number}"));
                session.wait(&format!("Pinned: message #{number}"));
            }
            if turn % 3 == 2 {
                session.say("/compact");
                session.wait_for("Context compacted:", turn / 3 + 1);
            }
        }
        session.say("What did I pin?");
        session.wait("I know.");
        session.say("/pin");
        session.wait("never use tabs");
        session.say("/unpin all");
        session.wait("Unpinned 4 pins.");
        leave(session, server);
        let record = server.record();
        assert!(session.text().matches("Context compacted:").count() >= 3);
        let (first, last) = (&record.exchanges[0], record.exchanges.last().unwrap());
        // What is pinned is told at once, not only by a summary.
        for exchange in [first, last] {
            assert!(exchange.request.holds("never use tabs in Makefiles' comments"));
            assert!(exchange.request.holds(NEVER_READ));
        }
        assert!(!last.request.holds("something else"));
        let lines_of = |part: usize| {
            let mark = format!("part {part} line ");
            let results = last.request.results();
            results
                .iter()
                .map(|(_, text)| text.matches(&mark).count())
                .sum::<usize>()
        };
        assert_eq!(lines_of(0), 150, "the pinned file is gone");
        assert_eq!(lines_of(1), 150, "the pinned message is gone");
        assert_eq!(lines_of(2), 0, "nothing was compacted");
    });
}

/// The number of a prompt in the list of those that can be pinned.
fn number_of(session: &dyn Session, prompt: &str) -> usize {
    let text = session.text();
    let line = text
        .lines()
        .rev()
        .find(|line| line.trim_start().starts_with('#') && line.ends_with(prompt));
    let number = line.unwrap().trim_start().trim_start_matches('#').split(' ').next();
    number.unwrap().parse().unwrap()
}

#[test]
fn a_compaction_by_the_model_can_be_interrupted() {
    for kind in Kind::ALL {
        let bench = Bench::new();
        long_files(&bench, 5);
        let gate = Gate::after(3);
        let mut replies = long(5);
        replies.push(Reply::text("A summary that never ends.").gated(&gate));
        replies.push(Reply::text("Here I am."));
        let server = server(replies);
        let mut session = kind.start(&bench, &server, &["--summary", "model"]);
        for turn in 0..5 {
            session.say(&format!("Read part {turn}."));
            session.wait(&format!("Part {turn} is read."));
        }
        session.say("/compact");
        block_on(gate.reached());
        session.interrupt();
        session.wait("compaction interrupted");
        session.say("Are you there?");
        session.wait("Here I am.");
        leave(&mut *session, &server);
        // Nothing was swapped: the request goes on where the one before the summary stood.
        let record = server.record();
        assert!(record.exchanges.last().unwrap().request.holds("part 0 line 70: value_"));
    }
}

#[test]
fn a_command_of_the_users_runs_and_the_model_sees_what_it_printed() {
    everywhere(
        || vec![Reply::text("I see it.")],
        &[],
        |_, server, session| {
            session.say("!echo from the shell; echo $((40 + 2))");
            session.wait("42");
            session.say("What was printed?");
            session.wait("I see it.");
            leave(session, server);
            let record = server.record();
            assert!(record.exchanges[0].request.holds("from the shell\n42"));
        },
    );
}

#[test]
fn commands_answer_and_unknown_ones_suggest_the_nearest() {
    everywhere(
        || vec![Reply::text("Hello.").billed(usage(2_000))],
        &[],
        |bench, _, session| {
            for (said, shown) in [
                ("/help", "/undo-compact"),
                ("/contxet", "did you mean /context?"),
                ("/todo", "to-do list is empty"),
                ("/why nothing", "nothing"),
                ("/recall", "/recall HANDLE"),
                ("/permission", "edit:"),
                ("/permission all", "all:"),
                ("/model", "context window"),
                ("/undo-compact", "No compaction to undo"),
                ("/unpin 1", "Nothing is pinned."),
                ("/export", "/export FILE"),
                ("Hello?", "Hello."),
                ("/export out.json", "out.json"),
                ("/cost", "cache reads"),
                ("/clear", "Conversation cleared"),
            ] {
                session.say(said);
                session.wait(shown);
            }
            session.say("/exit");
            assert_eq!(session.end(), 0);
            assert!(bench.read("out.json").contains("Hello?"));
        },
    );
}

#[test]
fn words_behind_the_program_are_the_first_prompt_of_a_session() {
    for kind in [Kind::Terminal, Kind::Typed] {
        let (bench, server) = (
            Bench::new(),
            server(vec![Reply::text("Mended."), Reply::text("Hello.")]),
        );
        let mut session = kind.start(&bench, &server, &["mend", "the", "bug"]);
        session.wait("Mended.");
        session.say("Hello?");
        session.wait("Hello.");
        leave(&mut *session, &server);
        let record = server.record();
        assert!(record.exchanges[0].request.holds("mend the bug"));
    }
}

#[test]
fn a_thinking_effort_holds_from_the_next_request_on_and_says_what_becomes_of_the_cache() {
    let replies = || vec![Reply::text("First."), Reply::text("Second."), Reply::text("Third.")];
    everywhere(replies, &[], |_, server, session| {
        for (said, shown) in [
            ("/effort", "xhigh, max, or"),
            ("/effort hgih", "did you mean high?"),
            ("One", "First."),
            ("/effort high", "cache is lost"),
            ("Two", "Second."),
            ("/effort max", "stays valid."),
            ("/model anthropic/claude-haiku-4-5", "does not take"),
            (
                "/model anthropic/claude-opus-4-6",
                "Switched to anthropic/claude-opus-4-6",
            ),
            ("Three", "Third."),
        ] {
            session.say(said);
            session.wait(shown);
        }
        session.say("exit");
        assert_eq!(session.end(), 0);
        let record = server.record();
        let efforts = record
            .exchanges
            .iter()
            .map(|exchange| exchange.request.json()["output_config"]["effort"].clone());
        assert_eq!(efforts.collect::<Vec<_>>(), [json!(null), json!("high"), json!("max")]);
    });
}

/// What was shown, once it answers the next command, without the places at which lines were broken.
fn told(session: &mut dyn Session, times: usize) -> String {
    session.say("/todo");
    session.wait_for("to-do list is empty", times);
    session.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_model_that_nobody_knows_is_told_to_be_one_with_the_name_that_may_be_meant() {
    everywhere(Vec::new, &[], |_, _, session| {
        session.say("/model anthropic/claude-sonet-5-5");
        session.wait("Switched to anthropic/claude-sonet-5-5 at");
        session.wait("sonnet-5-5?");
        let text = told(session, 1);
        assert!(
            text.contains("unknown model anthropic/claude-sonet-5-5: assuming a context window of"),
            "{text}"
        );
        assert!(text.contains("; did you mean anthropic/claude-sonnet-5-5?"), "{text}");
        session.say("/model anthropic/nothing-of-the-kind");
        session.wait("Switched to anthropic/nothing-of-the-kind at");
        session.wait("lists");
        let text = told(session, 2);
        assert!(text.contains("; /model lists known models"), "{text}");
        session.say("exit");
        assert_eq!(session.end(), 0);
    });
}

#[test]
fn clearing_says_how_many_pins_went_with_the_conversation() {
    everywhere(Vec::new, &[], |_, _, session| {
        session.say("/clear");
        session.wait("restores it.");
        let text = told(session, 1);
        assert!(
            text.contains("still includes what was spent.") && !text.contains("removed."),
            "{text}"
        );
        session.say("/pin the first sentence");
        session.wait("Pinned;");
        session.say("/pin the second sentence");
        session.wait_for("Pinned;", 2);
        session.say("/clear");
        // The last word of what is told: what is typed meanwhile would stand within it.
        session.wait("removed.");
        let text = told(session, 2);
        assert!(
            text.contains("still includes what was spent. 2 pins removed."),
            "{text}"
        );
        session.say("/pin");
        session.wait("Nothing is pinned");
        session.say("exit");
        assert_eq!(session.end(), 0);
    });
}

/// The colour of the sign before the prompt, in a terminal that says this of its background and with these settings.
fn colour_of_the_prompt(says: &str, settings: &str) -> vt100::Color {
    let bench = Bench::new();
    bench.settings(settings);
    let server = server([]);
    let mut command = bench.asking(&server, Wire::Anthropic, &[]);
    command.env("COLORFGBG", says);
    let mut terminal = Terminal::run(&bench, command, SIZE);
    terminal.see("ready");
    terminal.send(b"x");
    terminal.see("› x");
    let screen = terminal.still();
    let rows: Vec<String> = screen.rows(0, SIZE.0).collect();
    let row = rows.iter().position(|row| row.starts_with("› x")).unwrap();
    let colour = screen.cell(u16::try_from(row).unwrap(), 0).unwrap().fgcolor();
    terminal.send(b"\x15");
    leave(&mut terminal, &server);
    colour
}

#[test]
fn the_setting_of_the_background_says_more_than_the_terminal_does() {
    let (on_dark, on_light) = (colour_of_the_prompt("15;0", ""), colour_of_the_prompt("0;15", ""));
    assert_ne!(on_dark, on_light);
    assert_eq!(colour_of_the_prompt("15;0", "background = \"light\"\n"), on_light);
    assert_eq!(colour_of_the_prompt("0;15", "background = \"dark\"\n"), on_dark);
}

#[test]
fn what_a_command_of_the_users_prints_is_shown_up_to_24_lines_and_the_rest_is_folded() {
    let (_bench, server, mut terminal) = open([]);
    terminal.say("!seq 101 124");
    terminal.see("ready");
    terminal.wait("  124\n");
    terminal.wait("  101\n");
    assert!(!terminal.text().contains("shows more"), "{}", terminal.text());
    terminal.say("!seq 201 230");
    terminal.wait("6 lines before; Ctrl-O shows more");
    terminal.wait("  207\n");
    terminal.wait("  230\n");
    assert!(!terminal.text().contains("  206\n"), "{}", terminal.text());
    terminal.send(b"\x0f");
    terminal.wait("  206\n");
    terminal.wait("  201\n");
    // Of a long one both ends, and all of it only where that is asked for.
    terminal.say("!seq 1001 1600");
    terminal.wait("576 lines before; Ctrl-O shows more");
    terminal.send(b"\x0f");
    terminal.wait("480 more lines; /more all shows all of it");
    terminal.wait("  1040\n");
    terminal.wait("  1521\n");
    assert!(!terminal.text().contains("  1041\n") && !terminal.text().contains("  1520\n"));
    terminal.say("/more all");
    terminal.wait("  1300\n");
    // Leaving does not cut it off.
    terminal.say("!seq 100001 120000");
    terminal.wait("19,976 lines before; Ctrl-O shows more");
    terminal.send(b"\x0f");
    terminal.wait("/more all shows all of it");
    terminal.send(b"/more all\r/exit\r");
    assert_eq!(terminal.end(), 0);
    terminal.wait("  117000\n");
    assert_eq!(server.record().faults(), "");
}

#[test]
fn what_stands_behind_a_command_is_completed() {
    let (_bench, server, mut terminal) = open([Reply::text("Done.")]);
    terminal.say("Look around.");
    terminal.wait("Done.");
    terminal.see("ready");
    terminal.send(b"/permission pl\t");
    terminal.see("› /permission plan");
    terminal.send(b"\r");
    terminal.wait("the model only reads, and answers with a plan");
    // Enter sends what is written; only what was gone to is taken.
    terminal.send(b"/permission re\r");
    terminal.wait("Unknown permission re");
    terminal.send(b"/rewind ");
    terminal.see("> 1  Look around.");
    terminal.send(b"\x1b[B\r");
    terminal.wait("Going back to before prompt 1");
    leave(&mut terminal, &server);
}

#[test]
fn a_file_is_completed_by_some_of_its_letters() {
    let bench = Bench::new();
    bench.file("src/inventory.rs", "");
    bench.file("src/invoice.rs", "");
    bench.file(".gitignore", "hidden.rs\n");
    bench.file("hidden.rs", "");
    let server = server([]);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.send(b"look at @inv");
    terminal.see("@src/inventory.rs");
    terminal.looks_like("files");
    terminal.send(b"o\t");
    terminal.see("› look at @src/invoice.rs");
    terminal.send(b"\x15/un");
    terminal.see("/undo-compact");
    terminal.looks_like("commands");
}

#[test]
fn an_idle_session_takes_no_time() {
    let (_bench, _server, mut terminal) = open([]);
    terminal.see("ready");
    terminal.send(b"x");
    terminal.see("› x");
    // The frame is whole.
    terminal.ends_in("\x1b[?2026l");
    let spent = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", terminal.child.id())).unwrap();
        let fields: Vec<u64> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect();
        // User and system time, in ticks of 10 ms.
        (fields[10], fields[11])
    };
    // On a busy machine it may still be at work when its frame has come.
    let mut seen = (0..3).map(|_| {
        let (drawn, before) = (terminal.bytes().len(), spent());
        std::thread::sleep(Duration::from_millis(1_500));
        [(drawn, before), (terminal.bytes().len(), spent())]
    });
    assert!(
        seen.any(|[before, after]| before == after),
        "it works or draws while nothing happens"
    );
}

#[test]
fn without_a_key_four_lines_say_what_to_do() {
    let bench = Bench::new();
    for args in [&[][..], &["--plain"]] {
        let output = bench.command(args).output().unwrap();
        common::ended(&output, 2);
        let told = common::stderr(&output);
        assert_eq!(told.lines().count(), 4, "{told}");
        for words in ["$ANTHROPIC_API_KEY", "codelet --model", "codelet demo"] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }
    // On a terminal, lines break between words.
    for columns in [60, 97, 100] {
        let terminal = Terminal::run(&bench, bench.command(&[]), (columns, 24));
        terminal.see("Or watch a demo");
        for words in ["$ANTHROPIC_API_KEY", "codelet models", "ollama/NAME"] {
            terminal.see(words);
        }
    }
}

#[test]
fn lines_that_are_pasted_without_brackets_are_not_sent_one_by_one() {
    let (_bench, server, mut terminal) = open([Reply::text("That was long.")]);
    let paste: String = (0..2_000).map(|line| format!("line {line} of a log\r")).collect();
    terminal.send(b"What is this? ");
    terminal.see("What is this?");
    terminal.send(paste.as_bytes());
    terminal.see("[pasted ");
    terminal.wait_until("all of it", |screen| screen.contains("2,000 lines]"));
    assert_eq!(server.record().exchanges.len(), 0);
    terminal.send(b"\r");
    terminal.see("That was long.");
    let expected = format!("What is this? {}", paste.replace('\r', "\n").trim_end());
    assert!(
        server.record().exchanges[0]
            .request
            .user_texts()
            .contains(&expected.as_str())
    );
}
