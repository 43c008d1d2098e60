//! What can be done while something runs, and what is done while nobody says anything.

use crate::common::agent::Bench;
use crate::common::pty::{Kind, Piped, Session, Terminal};
use crate::{SIZE, leave, open, server, usage};
use codelet_testkit::server::{Billed, Gate, Reply, Server, block_on};
use serde_json::json;

#[test]
fn commands_that_only_look_answer_while_an_answer_streams() {
    // It stands still between a paragraph and what comes next.
    let gate = Gate::after(6);
    let half = "The beginning of an answer, a bit.\n\n\
        ```rust\nlet first = 1;\nlet second = 2;\n```\n\nThe end of it.";
    let (_bench, server, mut terminal) = open([
        Reply::text("Hello.").billed(usage(2_000)),
        Reply::text(half).in_fragments_of(12).gated(&gate),
    ]);
    terminal.say("Hi.");
    terminal.see("Hello.");
    terminal.say("Tell me.");
    block_on(gate.reached());
    terminal.see("The beginning");
    for (said, shown) in [
        ("/cost", "cache reads"),
        ("/context", "Largest"),
        ("/todo", "to-do list is empty"),
        ("/model", "context window"),
        ("/why nothing", "No removed text has the handle nothing"),
        ("/recall nothing", "No removed text has"),
        ("/pin", "Prompts you can pin"),
        ("/compact --dry-run", "Dry run, nothing was changed:"),
        ("/export", "Usage: /export"),
        ("/export nowhere/now.json", "No such directory: nowhere"),
        ("/export now.md", "now.md: /export writes the conversation as .json, or"),
    ] {
        terminal.say(said);
        terminal.wait(shown);
    }
    assert!(!terminal.text().contains("queued"), "{}", terminal.text());
    // The others wait, and say so.
    terminal.say("/undo-compact");
    terminal.see("queued: /undo-compact (runs after this turn)");
    assert_eq!(server.record().exchanges.len(), 2);
    gate.open();
    terminal.wait("No compaction to undo.");
    // What was open went on behind them as the block that it was.
    let text = terminal.text();
    assert!(text.contains("  let second = 2;"), "{text}");
    assert!(text.contains("The end of it."), "{text}");
    assert!(!text.contains("```"), "{text}");
    leave(&mut terminal, &server);
}

/// A sentence that is under way, and the answer that ends it: what is printed meanwhile stands behind the paragraph.
#[test]
fn what_is_looked_at_in_the_middle_of_a_sentence_or_of_code_stands_behind_it() {
    let sentence = "A sentence that goes on for so long that its first row is full and stands for good while the \
        second one is still being written by a model which takes its time over the words that are to come, and ends here.";
    let code = "```rust\nlet first = 1;\nlet second = 2;\nlet third = 3;\n```";
    for (text, begun, whole) in [
        (
            format!("{sentence}\n\nThe next."),
            "goes on for",
            "its time over the words that are to come, and ends here.",
        ),
        (
            format!("{code}\n\nThe next."),
            "let first",
            "let first = 1; let second = 2; let third = 3;",
        ),
    ] {
        for kind in Kind::ALL {
            let gate = Gate::after(text.len() / 4 * 3 / 4);
            let bench = Bench::new();
            bench.settings("idle_timeout = 20\npatience = 60\n");
            let server = server([
                Reply::text("Hello.").billed(usage(2_000)),
                Reply::text(&text).in_fragments_of(4).gated(&gate),
            ]);
            let mut session = kind.start(&bench, &server, &[]);
            session.say("Hi.");
            session.wait("Hello.");
            session.say("Tell me.");
            block_on(gate.reached());
            session.wait(begun);
            session.say("/cost");
            // On a terminal it is seen at once, below what streams.
            if kind == Kind::Terminal {
                session.wait("cache reads");
            }
            gate.open();
            session.wait("The next.");
            session.wait("cache reads");
            leave(&mut *session, &server);
            let shown = session.text();
            // What is typed there the terminal shows by itself, wherever that is.
            let rows = shown.lines().filter(|row| *row != "/cost");
            let rows = rows.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
            assert!(rows.contains(whole), "{kind:?}: {shown}");
            if kind == Kind::Terminal {
                assert!(shown.find("cache reads") < shown.find("The next."), "{shown}");
            }
        }
    }
}

/// A model that runs a command until a file is there.
fn until_go() -> Vec<Reply> {
    let command = "echo began; while [ ! -e go ]; do sleep 0.05; done";
    let call = Reply::call("Bash", json!({"command": command})).billed(usage(2_000));
    vec![call, Reply::text("Done.")]
}

#[test]
fn commands_that_only_look_answer_while_a_tool_runs() {
    let (bench, server) = (Bench::new(), server(until_go()));
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "all"], SIZE);
    terminal.say("Run it.");
    terminal.wait("began");
    terminal.say("/cost");
    terminal.wait("1 request");
    terminal.say("/context");
    terminal.wait("Largest");
    assert_eq!(server.record().exchanges.len(), 1);
    bench.file("go", "");
    terminal.wait("Done.");
    leave(&mut terminal, &server);
}

#[test]
fn what_is_answered_here_never_shows_that_a_model_is_waited_for() {
    let (bench, server) = (Bench::new(), server(Vec::new()));
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    for (said, shown) in [
        ("/cost", "0 requests"),
        ("/context", "reserved for output"),
        ("/todo", "to-do list is empty"),
    ] {
        terminal.say(said);
        terminal.wait(shown);
    }
    terminal.rest();
    let drawn = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!drawn.contains("waiting"), "{drawn}");
    leave(&mut terminal, &server);
}

/// What an exported conversation says last.
fn last_words(bench: &Bench, file: &str) -> serde_json::Value {
    let exported: serde_json::Value = serde_json::from_str(&bench.read(file)).unwrap();
    exported["messages"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn what_is_exported_meanwhile_ends_with_what_is_whole_and_says_so() {
    const SAYS_SO: &str = "without the step in progress";
    let gate = Gate::after(4);
    let command = "echo began; while [ ! -e go ]; do sleep 0.05; done";
    let bench = Bench::new();
    let server = server([
        Reply::text("Half of an answer.").in_fragments_of(6).gated(&gate),
        Reply::new()
            .says("I run it.")
            .calls("Bash", json!({"command": command}))
            .billed(usage(2_000)),
        Reply::text("Done."),
    ]);
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "all"], SIZE);
    terminal.say("Tell me.");
    block_on(gate.reached());
    terminal.see("Half");
    terminal.say("/export streaming.json");
    terminal.wait_for(SAYS_SO, 1);
    assert!(last_words(&bench, "streaming.json").to_string().contains("Tell me."));
    gate.open();
    terminal.see("ready");
    terminal.say("/export whole.json");
    terminal.wait("whole.json;");
    assert!(
        last_words(&bench, "whole.json")
            .to_string()
            .contains("Half of an answer.")
    );

    terminal.say("Run it.");
    terminal.wait("began");
    terminal.say("/compact --dry-run");
    terminal.wait("Dry run, nothing was changed:");
    terminal.say("/export running.html");
    terminal.wait_for(SAYS_SO, 2);
    assert!(bench.read("running.html").contains("</html>"));
    // The call has an answer in the file, as every vendor wants it, and none yet in the session.
    terminal.say("/export running.json");
    terminal.wait_for(SAYS_SO, 3);
    let last = last_words(&bench, "running.json");
    assert_eq!(last["role"], "user");
    assert_eq!(last["content"][0]["type"], "tool_result");
    assert!(last.to_string().contains("[no result yet"), "{last}");
    bench.file("go", "");
    terminal.wait("Done.");
    terminal.see("ready");
    terminal.say("/export \"after it.html\"");
    terminal.see("Report written to after it.html");
    assert!(bench.work.join("after it.html").is_file());
    terminal.say("/export after.json");
    terminal.wait("after.json;");
    assert!(!bench.read("after.json").contains("[no result yet"));
    assert!(!bench.read("whole.json").contains(SAYS_SO));
    leave(&mut terminal, &server);
}

#[test]
fn what_is_piped_is_done_in_its_order() {
    let (bench, server) = (Bench::new(), server(until_go()));
    let mut piped = Piped::start(&bench, &server, &["--permission", "all"]);
    piped.say("Run it.");
    piped.say("/cost");
    piped.say("exit");
    piped.wait("began");
    bench.file("go", "");
    piped.wait("2 requests");
    assert_eq!(piped.end(), 0);
    let text = piped.text();
    assert!(text.find("Done.") < text.find("cache reads"), "{text}");
    assert_eq!(server.record().faults(), "");
}

#[test]
fn commands_that_only_look_answer_while_a_command_of_the_users_runs() {
    let (bench, server, mut terminal) = open([]);
    terminal.say("!touch began; while [ ! -e go ]; do sleep 0.05; done; echo over");
    let began = std::time::Instant::now();
    while !bench.work.join("began").exists() {
        assert!(began.elapsed().as_secs() < 20);
        codelet_testkit::wait_a_moment();
    }
    terminal.say("/todo");
    terminal.see("to-do list is empty");
    bench.file("go", "");
    terminal.see("over");
    leave(&mut terminal, &server);
}

#[test]
fn a_question_is_answered_while_what_is_beside_it_goes_on() {
    for word in ["y", "n not that one"] {
        for kind in Kind::ALL {
            let bench = Bench::new();
            bench.file("a.txt", "one\n");
            bench.file("b.txt", "one\ntwo\nthree\n");
            let outside = [bench.home.join("first.txt"), bench.home.join("second.txt")];
            for path in &outside {
                std::fs::write(path, "from outside\n").unwrap();
            }
            let calls = Reply::new()
                .says("I look at all of it.")
                .calls("Read", json!({"file_path": outside[0]}))
                .calls("Read", json!({"file_path": "a.txt"}))
                .calls("Read", json!({"file_path": outside[1]}))
                .calls("Read", json!({"file_path": "b.txt"}));
            let server = server([calls, Reply::text("Seen.")]);
            let mut session = kind.start(&bench, &server, &[]);
            session.say("Look.");
            let asked = if kind == Kind::Terminal {
                "[y] yes, once"
            } else {
                "Allow it?"
            };
            session.read(asked, 1);
            // What nobody has to be asked about is done meanwhile, and told.
            session.wait("3 lines");
            assert_eq!(server.record().exchanges.len(), 1);
            // The question still stands, and the other one behind it.
            session.answer(word);
            session.wait(if word == "y" { "15 B" } else { "not that one" });
            session.answer("n");
            session.wait("Seen.");
            leave(&mut *session, &server);
            let record = server.record();
            let results = record.exchanges[1].request.results();
            let holds = |at: usize, words: &str| assert!(results[at].1.contains(words), "{words}: {}", results[at].1);
            holds(0, if word == "y" { "from outside" } else { "not that one" });
            holds(1, "one");
            holds(2, "the user said no");
            holds(3, "three");
        }
    }
}

/// Settings under which an entry of the cache lives a second, and is kept alive so often.
fn short_lived(bench: &Bench, most: u32) {
    let cards = bench.home.join(".config/codelet/cards.txt");
    let card =
        "anthropic/test-model input=3 output=15 read=0.3 write=3.75 lives=1s marks=4 as-of=2026-11 source=test\n";
    std::fs::write(cards, card).unwrap();
    bench.settings(&format!("patience = 8\nprices = \"cards.txt\"\nkeep_alive = {most}\n"));
}

/// The dollars that stand first behind these words, where they stand last.
fn figure_behind(text: &str, words: &str) -> f64 {
    let behind = text.rsplit_once(words).unwrap().1.split_once('$').unwrap().1;
    let figure = behind.split(|c: char| !c.is_ascii_digit() && c != '.');
    figure.into_iter().next().unwrap().parse().unwrap()
}

/// How often a cache is kept alive at most: one that lives so short has expired where the machine stands still just then.
const TRIES: usize = 8;
/// What is shown then.
const TOO_LATE: &str = "A keep-alive request for the cache failed";

/// A session of this kind in which a prompt was answered and so many idle requests were made, and its server.
fn kept_alive(kind: Kind, most: u32, replies: impl Fn() -> Vec<Reply>) -> (Bench, Server, Box<dyn Session>) {
    let kept = (0..TRIES).find_map(|_| {
        let bench = Bench::new();
        short_lived(&bench, most);
        let server = server(replies());
        let mut session = kind.start(&bench, &server, &[]);
        session.say("Hi.");
        session.wait("Hello.");
        for request in 1..=most as usize {
            session.wait_for("eep-alive request", request);
            if session.text().contains(TOO_LATE) {
                return None;
            }
        }
        Some((bench, server, session))
    });
    kept.unwrap()
}

#[test]
fn a_cache_is_kept_alive_while_nobody_says_anything_and_the_cost_is_shown() {
    for kind in Kind::ALL {
        let reply = || Reply::text("Hello.").billed(usage(20_000));
        let (bench, server, mut session) = kept_alive(kind, 2, || {
            vec![
                reply(),
                reply(),
                reply(),
                Reply::text("Still warm.").billed(usage(20_000)),
            ]
        });
        session.wait("Keep-alive request 1 for the cache: 20,000 tokens sent");
        session.wait("Keep-alive request 2");
        // No more than are wanted; what is said next is no idle request.
        session.say("Are you there?");
        session.wait("Still warm.");
        session.say("/cost");
        session.wait("4 requests");
        session.say("/export report.html");
        session.wait("Report written to report.html");
        let page = bench.read("report.html");
        assert!(page.contains("4 requests sent 80,000 prompt tokens"), "{page:.9000}");
        let billed = figure_behind(&page, "<dt>Billed</dt>");
        let cost = figure_behind(&session.text(), "Cost");
        assert!((billed - cost).abs() < 0.005, "{billed} on the page, {cost} by /cost");
        leave(&mut *session, &server);
        let record = server.record();
        assert_eq!(record.exchanges.len(), 4);
        let sent = |at: usize| record.exchanges[at].request.json()["messages"].clone();
        assert_eq!(sent(0), sent(1));
        assert_eq!(sent(0), sent(2));
        // Nothing of them stays in the conversation.
        assert_eq!(record.exchanges[3].request.last_user_text(), Some("Are you there?"));
        assert_eq!(
            record.exchanges[3].request.json()["messages"].as_array().unwrap().len(),
            3
        );
    }
}

#[test]
fn an_idle_request_that_nobody_counts_is_told_with_an_estimate_and_a_card_of_the_users_has_the_price() {
    for kind in Kind::ALL {
        let (_bench, server, mut session) = kept_alive(kind, 1, || {
            vec![
                Reply::text("Hello.").billed(usage(20_000)),
                Reply::text("Never heard.").billed(Billed::default()),
            ]
        });
        session.wait("Keep-alive request 1 for the cache: the whole prompt sent");
        session.wait("estimated.");
        let text = session.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("sent for about $0.0"), "{text}");
        assert!(text.contains("unknown model anthropic/test-model"), "{text}");
        assert!(!text.contains("its price is unknown"), "{text}");
        leave(&mut *session, &server);
        assert_eq!(server.record().exchanges.len(), 2);
    }
}

#[test]
fn what_is_said_during_an_idle_request_does_not_wait_for_it() {
    let asked = (0..TRIES).find_map(|_| {
        let bench = Bench::new();
        short_lived(&bench, 1);
        let gate = Gate::before_head();
        let server = server([
            Reply::text("Hello.").billed(usage(20_000)),
            Reply::text("Never heard.").gated(&gate),
            Reply::text("At once.").billed(usage(20_000)),
        ]);
        let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
        terminal.say("Hi.");
        terminal.see("Hello.");
        terminal.see("keep-alive");
        let is_late = terminal.screen().contains(TOO_LATE);
        (!is_late).then_some((bench, gate, server, terminal))
    });
    let (_bench, gate, server, mut terminal) = asked.unwrap();
    block_on(gate.reached());
    terminal.say("Quick!");
    terminal.see("At once.");
    leave(&mut terminal, &server);
}
