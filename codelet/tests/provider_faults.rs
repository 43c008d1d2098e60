//! What a user sees when a provider fails, on every wire; the table in `docs/provider-faults.md` is made here.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use codelet_testkit::server::{Behaviour, Fault, Refusal, Reply, RetryAfter, Server, Stop, Trouble, Window, Wire};
use common::agent::{Bench, WIRES, name, told};
use common::stdout;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// A way to fail, and what comes of it.
struct Way {
    what: &'static str,
    replies: fn() -> Vec<Reply>,
    window: Option<fn() -> Window>,
    exit: i32,
    /// Requests that reach the server.
    requests: usize,
    /// What stands on standard error; empty where the user need not know.
    says: &'static str,
    /// What the request after the failure holds.
    then: &'static str,
}

const ANSWER: &str = "All is well.";

fn after(faulty: Vec<Reply>) -> Vec<Reply> {
    let mut replies = faulty;
    replies.push(Reply::text(ANSWER));
    replies
}

fn long() -> Reply {
    Reply::text("This answer is long enough for many frames, one after the other.")
}

fn refusal(status: u16, retry: Option<RetryAfter>) -> Reply {
    let mut refusal = Refusal::status(status);
    refusal.retry = retry;
    Reply::new().failing(Fault::Refuse(refusal))
}

const WAYS: &[Way] = &[
    Way {
        what: "429 with retry-after of one second",
        replies: || after(vec![refusal(429, Some(RetryAfter::Seconds(1)))]),
        window: None,
        exit: 0,
        requests: 2,
        says: "waiting: the provider is busy",
        then: "the same",
    },
    Way {
        what: "429 that asks for more patience than there is",
        replies: || vec![refusal(429, Some(RetryAfter::Seconds(600)))],
        window: None,
        exit: 3,
        requests: 1,
        says: "error: the provider is busy",
        then: "no request",
    },
    Way {
        what: "500 three times",
        replies: || after(vec![Reply::status(500), Reply::status(500), Reply::status(500)]),
        window: None,
        exit: 0,
        requests: 4,
        says: "waiting: the provider is busy",
        then: "the same",
    },
    Way {
        what: "an overload in the stream, after some words",
        replies: || after(vec![long().failing(Fault::Error(3, Trouble::Overloaded))]),
        window: None,
        exit: 0,
        requests: 2,
        says: "waiting: the provider is busy",
        then: "the same; nothing of the words that came",
    },
    Way {
        what: "too long, with the limit named",
        replies: || vec![Reply::text(ANSWER)],
        window: Some(|| Window::of(3_500)),
        exit: 0,
        requests: 2,
        says: "note: the provider's limit is 3500 tokens; compacting to fit",
        then: "the compacted conversation",
    },
    Way {
        what: "too long, with no number",
        replies: || vec![Reply::text(ANSWER)],
        window: Some(|| Window::of(3_500).untold()),
        exit: 0,
        requests: 2,
        says: "note: the provider says that the request is too long",
        then: "the compacted conversation",
    },
    Way {
        what: "an empty answer, then a whole one",
        replies: || after(vec![Reply::new()]),
        window: None,
        exit: 0,
        requests: 2,
        says: "",
        then: "the same",
    },
    Way {
        what: "nothing but empty answers",
        replies: || vec![Reply::new(), Reply::new(), Reply::new()],
        window: None,
        exit: 3,
        requests: 3,
        says: "error: the model gave no answer: its answer was empty, 3 times in a row",
        then: "the same",
    },
    Way {
        what: "malformed JSON in a frame",
        replies: || after(vec![long().failing(Fault::Malformed(2))]),
        window: None,
        exit: 0,
        requests: 2,
        says: "waiting: the provider's answer could not be read",
        then: "the same",
    },
    Way {
        what: "a server that accepts and says nothing",
        replies: || {
            vec![
                Reply::new().failing(Fault::Silence),
                Reply::new().failing(Fault::Silence),
                Reply::new().failing(Fault::Silence),
            ]
        },
        window: None,
        exit: 3,
        requests: 3,
        says: "error: the connection to the provider failed",
        then: "the same",
    },
    Way {
        what: "a stream that goes silent",
        replies: || after(vec![long().failing(Fault::Stall(3))]),
        window: None,
        exit: 0,
        requests: 2,
        says: "waiting: the connection to the provider failed",
        then: "the same; nothing of the words that came",
    },
    Way {
        what: "a connection that is closed before the answer",
        replies: || after(vec![Reply::new().failing(Fault::HangUp)]),
        window: None,
        exit: 0,
        requests: 2,
        says: "waiting: the connection to the provider failed",
        then: "the same",
    },
    Way {
        what: "a wrong key",
        replies: || vec![Reply::status(401)],
        window: None,
        exit: 3,
        requests: 1,
        says: "error: the provider does not accept the credentials",
        then: "no request",
    },
    Way {
        what: "an unknown model",
        replies: || vec![Reply::status(404)],
        window: None,
        exit: 3,
        requests: 1,
        says: "error: the provider refused the request",
        then: "no request",
    },
    Way {
        what: "an answer cut by the output limit",
        replies: || vec![Reply::text("All is").stopping(Stop::Length), Reply::text(" well.")],
        window: None,
        exit: 0,
        requests: 2,
        says: "",
        then: "the part that came, and the word to go on",
    },
    Way {
        what: "a call cut in its JSON by the output limit",
        replies: || {
            after(vec![
                Reply::new()
                    .calls_raw("Write", "{\"file_path\": \"a.txt\", \"content\": \"half of")
                    .stopping(Stop::Length),
            ])
        },
        window: None,
        exit: 0,
        requests: 2,
        says: "",
        then: "the call without parameters, and an answer that says that it was cut",
    },
    Way {
        what: "a model that declines",
        replies: || vec![Reply::text("I will not do that.").stopping(Stop::Refusal)],
        window: None,
        exit: 1,
        requests: 1,
        says: "error: the model declined to answer",
        then: "no request",
    },
];

#[test]
fn every_failure_ends_in_words_a_status_and_a_sound_next_request() {
    let mut table = String::new();
    for way in WAYS {
        let seen: Vec<String> = std::thread::scope(|scope| {
            let on = WIRES.map(|(wire, ..)| scope.spawn(move || play(way, wire)));
            on.map(|thread| thread.join().unwrap()).into()
        });
        let shown = match way.says {
            "" => "nothing".to_owned(),
            _ => format!("`{}`", seen[0].replace('|', "\\|")),
        };
        let _ = writeln!(
            table,
            "| {} | {shown} | {} | {} | {} |",
            way.what, way.then, way.requests, way.exit
        );
    }
    let page = format!(
        "# When a provider fails\n\nMade by `codelet/tests/provider_faults.rs`, which plays each row on the wires of Anthropic, Chat Completions, Responses and \
         Gemini against a server\non loopback. The words are those of the Anthropic wire; the others differ in the vendor's part only.\n\n\
         | the provider | the user sees | the next request holds | requests | status |\n|---|---|---|---|---|\n{table}"
    );
    let path = codelet_testkit::workspace().join("docs/provider-faults.md");
    if std::env::var_os("CODELET_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept, page,
        "docs/provider-faults.md is not what the tests see; CODELET_BLESS=1 writes it anew"
    );
}

/// Plays one way to fail on one wire, checks what comes of it, and returns the last line that the user saw.
fn play(way: &Way, wire: Wire) -> String {
    // Gemini and Chat have no word for an empty refusal of the model but their filters'.
    let bench = Bench::new();
    // Enough instructions that a small window is passed, and can be kept.
    bench.file("notes.txt", &"A line of notes that says little.\n".repeat(300));
    let mut replies = (way.replies)();
    if way.window.is_some() {
        replies.insert(0, Reply::call("Read", json!({"file_path": "notes.txt"})));
    }
    let mut behaviour = Behaviour::replies(replies);
    if let Some(window) = way.window {
        behaviour = behaviour.window(window());
    }
    let server = Server::start(wire, behaviour);
    let output = bench.ask(&server, wire, &["-p", "Is all well?"]);
    let label = format!("{} on {}", way.what, name(wire));
    let lines = told(&output, &server, &bench.work);
    assert_eq!(output.status.code(), Some(way.exit), "{label}: {lines:#?}");
    assert_eq!(
        stdout(&output),
        if way.exit == 0 { "All is well.\n" } else { "" },
        "{label}"
    );
    let record = server.record();
    assert_eq!(record.faults(), "", "{label}");
    let requests = record.exchanges.len() - usize::from(way.window.is_some());
    assert_eq!(requests, way.requests, "{label}: {lines:#?}");
    assert!(
        lines.iter().all(|line| !line.contains("panicked")),
        "{label}: {lines:#?}"
    );
    if way.says.is_empty() {
        let worries = lines
            .iter()
            .filter(|line| !line.starts_with("note: ") || !line.contains("catalogue"));
        assert_eq!(worries.count(), 0, "{label}: {lines:#?}");
    } else {
        assert!(
            lines.iter().any(|line| line.starts_with(way.says)),
            "{label}: {lines:#?}"
        );
    }
    if way.then.starts_with("the same") {
        let bodies: Vec<&[u8]> = record
            .exchanges
            .iter()
            .map(|exchange| &*exchange.request.body)
            .collect();
        assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{label}");
    }
    let shown = lines
        .iter()
        .rfind(|line| !way.says.is_empty() && line.starts_with(way.says));
    shown.map_or(String::new(), |line| without_estimate(line))
}

/// The line without the number that depends on how long the names of folders are.
fn without_estimate(line: &str) -> String {
    match line.split_once(" below ") {
        Some((before, _)) => format!("{before} below … tokens"),
        None => line.to_owned(),
    }
}

#[test]
fn a_provider_that_has_answered_and_then_falls_silent_is_given_up_when_patience_ends() {
    std::thread::scope(|scope| {
        for (wire, ..) in WIRES {
            scope.spawn(move || {
                let bench = Bench::new();
                bench.settings("idle_timeout = 2\npatience = 5\n");
                let silent = || Reply::new().failing(Fault::Silence);
                let mut replies = vec![Reply::call("LS", json!({"path": "."}))];
                replies.extend((0..9).map(|_| silent()));
                let server = Server::start(wire, Behaviour::replies(replies));
                let began = Instant::now();
                let output = bench.ask(&server, wire, &["-p", "Look.", "--output", "stream-json"]);
                let took = began.elapsed();
                assert_eq!(output.status.code(), Some(3), "{}", name(wire));
                // Two seconds, a pause, two seconds, and no third try that had no time.
                assert!(
                    took >= Duration::from_secs(4) && took < Duration::from_secs(8),
                    "{}: {took:?}",
                    name(wire)
                );
                let record = server.record();
                assert_eq!(record.faults(), "");
                let bodies: Vec<&[u8]> = record.exchanges.iter().map(|e| &*e.request.body).collect();
                assert!((3..=4).contains(&bodies.len()), "{}: {}", name(wire), bodies.len());
                assert!(bodies[1..].iter().all(|body| *body == bodies[1]), "{}", name(wire));
                let lines: Vec<Value> = stdout(&output)
                    .lines()
                    .map(|line| serde_json::from_str(line).unwrap())
                    .collect();
                let waits = lines.iter().filter(|line| line["type"] == "waiting").count() as u64;
                assert!(waits + 2 >= took.as_secs(), "{}: {waits} in {took:?}", name(wire));
                let last = lines.last().unwrap();
                assert!(
                    last["error"]
                        .as_str()
                        .unwrap()
                        .ends_with("(no longer than 5 s are waited)"),
                    "{last}"
                );
            });
        }
    });
}

/// How many frames a reply has on a wire.
fn frames(wire: Wire, reply: &Reply) -> usize {
    wire.frames(reply).len()
}

#[test]
fn a_stream_that_is_cut_anywhere_leaves_no_trace() {
    std::thread::scope(|scope| {
        for (wire, ..) in WIRES {
            scope.spawn(move || cut_everywhere(wire));
        }
    });
}

fn cut_everywhere(wire: Wire) {
    let whole = || {
        Reply::new()
            .thinks("Well, well.")
            .says("I look.")
            .calls("LS", json!({"path": "."}))
            .calls("Read", json!({"file_path": "a.txt"}))
    };
    let count = frames(wire, &whole());
    let ways = (0..count).flat_map(|at| [Fault::Cut(at), Fault::CutInside(at), Fault::End(at)]);
    let bench = Bench::new();
    bench.file("a.txt", "words\n");
    for fault in ways {
        // After the last frame that matters the answer is whole, wherever the connection ends.
        let replies = vec![
            whole().failing(fault.clone()),
            whole(),
            Reply::text(ANSWER),
            Reply::text(ANSWER),
        ];
        let server = Server::start(wire, Behaviour::replies(replies));
        let output = bench.ask(&server, wire, &["-p", "Look."]);
        let label = format!("{fault:?} of {count} on {}", name(wire));
        assert_eq!(
            output.status.code(),
            Some(0),
            "{label}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(stdout(&output), "All is well.\n", "{label}");
        let record = server.record();
        assert_eq!(record.faults(), "", "{label}");
        let bodies: Vec<&[u8]> = record
            .exchanges
            .iter()
            .map(|exchange| &*exchange.request.body)
            .collect();
        // Either the answer counted, or the very same request was made again.
        let counted = !record.exchanges[1].request.results().is_empty();
        assert!(counted || bodies[0] == bodies[1], "{label}");
    }
}
