//! What a user sees when a provider fails, on every wire; the table in `docs/provider-faults.md` is made here.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use codelet_testkit::server::{
    Behaviour, Billed, Fault, Gate, Growth, Part, Record, Refusal, Reply, Request, RetryAfter, Server, Speaker, Stop,
    Trouble, Window, Wire, block_on,
};
use common::agent::{Bench, NEXT_WORDS, WIRES, name, told};
use common::pty::signal;
use common::{stderr, stdout};
use serde_json::{Value, json};
use std::process::Output;
use std::time::{Duration, Instant};

const ANSWER: &str = "All is well.";

/// Something that a provider does, and what comes of it.
struct Way {
    what: &'static str,
    replies: fn(Wire) -> Vec<Reply>,
    window: Option<fn() -> Window>,
    /// The setting `idle_timeout`: the seconds of silence that end a request.
    silence: u32,
    /// What stands on the command line beside the prompt.
    args: &'static [&'static str],
    exit: i32,
    /// Requests that reach the server.
    requests: usize,
    /// What stands on standard error; empty where the user need not know.
    says: &'static str,
    then: Then,
}

/// What the request behind the failure holds: in words, and checked.
#[derive(Clone, Copy)]
struct Then {
    words: &'static str,
    holds: fn(&Played),
}

/// A way to fail as it was played on one wire.
struct Played {
    wire: Wire,
    record: Record,
    output: Output,
    /// What the user was told, line by line.
    lines: Vec<String>,
    label: String,
}

impl Played {
    /// The requests behind the one that fills the window.
    fn requests(&self, way: &Way) -> usize {
        self.record.exchanges.len() - usize::from(way.window.is_some())
    }

    fn last(&self) -> &Request {
        &self.record.exchanges.last().unwrap().request
    }

    /// The parts of the last request that the model has said.
    fn of_model(&self) -> Vec<&Part> {
        let messages = self.last().messages().iter();
        let of_model = messages.filter(|message| message.speaker == Speaker::Assistant);
        of_model.flat_map(|message| &message.parts).collect()
    }
}

const NO_REQUEST: Then = Then {
    words: "no further request",
    holds: |played| assert_eq!(played.record.exchanges.len(), 1, "{}", played.label),
};

const SAME: Then = Then {
    words: "the same",
    holds: |played| {
        let exchanges = &played.record.exchanges;
        for pair in exchanges.windows(2) {
            assert_eq!(pair[0].request.body, pair[1].request.body, "{}", played.label);
        }
    },
};

const SAME_WITHOUT_WORDS: Then = Then {
    words: "the same, without the partial answer",
    holds: |played| {
        let exchanges = &played.record.exchanges;
        assert_eq!(exchanges[0].request.body, exchanges[1].request.body, "{}", played.label);
        assert_eq!(exchanges[1].request.calls(), [], "{}", played.label);
        for word in ["This answer is long", "Well, well.", "I look."] {
            assert!(!exchanges[1].request.holds(word), "{}", played.label);
        }
    },
};

const COMPACTED: Then = Then {
    words: "the compacted conversation",
    holds: |played| {
        let [.., refused, taken] = played.record.exchanges.as_slice() else {
            panic!("{}", played.label);
        };
        assert_eq!(
            (refused.status, taken.status),
            (Some(400), Some(200)),
            "{}",
            played.label
        );
        assert!(taken.tokens < refused.tokens, "{}", played.label);
        assert!(
            matches!(taken.growth, Growth::Breaks(_)),
            "{}: {:?}",
            played.label,
            taken.growth
        );
        assert!(taken.request.user_texts().contains(&"Is all well?"), "{}", played.label);
    },
};

const GO_ON: Then = Then {
    words: "the partial answer, and a request to continue",
    holds: |played| {
        assert_eq!(
            played.of_model(),
            [&Part::Text("All is".to_owned())],
            "{}",
            played.label
        );
        let texts = played.last().user_texts();
        let last = texts.last().unwrap();
        assert!(
            last.starts_with("The answer above was cut at the output limit."),
            "{}: {last}",
            played.label
        );
    },
};

const CUT_CALL: Then = Then {
    words: "the call without parameters, and a result that says that it was cut off at the output limit",
    holds: |played| {
        if played.wire == Wire::Gemini {
            // There a call comes whole or not at all, and an answer that holds nothing is asked for again.
            return (SAME.holds)(played);
        }
        let calls = played.last().calls();
        assert!(
            matches!(calls.as_slice(), [(_, "Write", parameters)] if **parameters == json!({})),
            "{}: {calls:?}",
            played.label
        );
        let results = played.last().results();
        assert!(
            results[0].1.starts_with("Your reply reached the output limit"),
            "{}: {results:?}",
            played.label
        );
        let said = played
            .lines
            .iter()
            .any(|line| line.starts_with("note: its call of Write was cut off"));
        assert!(said, "{}: {:?}", played.label, played.lines);
    },
};

const THINKING: Then = Then {
    words: "the thinking in the form that the provider requires, the call, and its result",
    holds: |played| {
        let (wire, of_model) = (played.wire, played.of_model());
        let is_back = of_model.iter().any(|part| match part {
            Part::Thinking { text, signature } => {
                wire == Wire::Anthropic && text == "Well, well." && signature.is_some() || wire != Wire::Anthropic
            }
            Part::Redacted(_) => wire == Wire::Responses,
            Part::Call { signature, .. } => wire == Wire::Gemini && signature.is_some(),
            _ => false,
        });
        // The server refuses what its vendor would; Chat wants nothing back.
        assert!(is_back || wire == Wire::Chat, "{}: {of_model:?}", played.label);
        assert_eq!(played.last().calls().len(), 1, "{}", played.label);
        let results = played.last().results();
        assert!(results[0].1.contains("notes.txt"), "{}: {results:?}", played.label);
    },
};

const ANSWERS_IN_ORDER: Then = Then {
    words: "the calls, and their results in the same order",
    holds: |played| {
        let calls = played.last().calls();
        let names: Vec<&str> = calls
            .iter()
            .filter_map(|(.., parameters)| parameters["file_path"].as_str())
            .collect();
        assert_eq!(names, ["b.txt", "a.txt", "missing.txt"], "{}", played.label);
        let results = played.last().results();
        for ((_, text), holds) in results.iter().zip(["of b", "of a", "missing.txt"]) {
            assert!(text.contains(holds), "{}: {text}", played.label);
        }
        assert_eq!(results.len(), 3, "{}", played.label);
    },
};

const COUNTED: Then = Then {
    words: "no further request; token counts are exactly those of the provider",
    holds: |played| {
        let result: Value = serde_json::from_slice(&played.output.stdout).unwrap();
        let counts = counts(played.wire);
        let expected = json!({
            "fresh": counts.fresh, "cache_read": counts.cache_read, "cache_write": counts.cache_write(),
            "cache_write_1h": counts.write_1h, "output": counts.output, "reasoning": counts.reasoning,
        });
        assert_eq!(result["usage"], expected, "{}", played.label);
        assert_eq!(
            (&result["answer"], &result["steps"]),
            (&json!(ANSWER), &json!(1)),
            "{}",
            played.label
        );
    },
};

/// Counts that are like no others, as far as the vendor tells them.
fn counts(wire: Wire) -> Billed {
    let is_anthropic = wire == Wire::Anthropic;
    Billed {
        fresh: 2_095,
        cache_read: 80_000,
        write_5m: if is_anthropic { 2_051 } else { 0 },
        write_1h: if is_anthropic { 17 } else { 0 },
        output: 503,
        reasoning: if is_anthropic { 0 } else { 120 },
    }
}

/// A reply of every kind of event.
fn whole() -> Reply {
    Reply::new()
        .thinks("Well, well.")
        .says("I look.")
        .calls("LS", json!({"path": "."}))
        .calls("Read", json!({"file_path": "a.txt"}))
}

/// What a frame holds when an event of a kind has come.
type Kind = &'static str;
const THINKING_CAME: Kind = "Well, well.";
const WORDS_CAME: Kind = "I look.";
const CALL_CAME: Kind = "\"LS\"";
const SECOND_CALL_CAME: Kind = "\"Read\"";

/// How many frames there are until an event of the kind has come.
fn behind(kind: Kind, wire: Wire) -> usize {
    let frames = wire.frames(&whole());
    let at = frames.iter().position(|frame| frame.data.contains(kind));
    at.unwrap_or_else(|| panic!("{} has no frame with {kind}", name(wire))) + 1
}

fn cut_behind(kind: Kind, wire: Wire) -> Vec<Reply> {
    after(vec![whole().failing(Fault::Cut(behind(kind, wire))), whole()])
}

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

/// A request that is refused with these words.
fn refused_for(said: &str) -> Reply {
    let body = json!({"error": {"type": "invalid_request_error", "message": said}});
    Reply::new().failing(Fault::Refuse(Refusal::status(400).body(body.to_string())))
}

const WITHOUT_THE_PICTURE: Then = Then {
    words: "a marker with a handle instead of the picture",
    holds: |played| {
        let results = played.last().results();
        assert!(
            results[0].1.contains("refused by the provider"),
            "{}: {results:?}",
            played.label
        );
    },
};

const NOT_RUN: Then = Then {
    words: "the text of the call, and a note that it was not run",
    holds: |played| {
        assert_eq!(played.last().results(), [], "{}", played.label);
        assert!(played.last().holds("it was not made"), "{}", played.label);
    },
};

/// A grey square.
const PICTURE: &[u8] = include_bytes!("common/square.png");

/// What stands behind the tables.
const BEHIND: &str = include_str!("common/provider-faults.md");

/// An answer after one failed request that the user need not know of.
const USUAL: Way = Way {
    what: "",
    replies: |_| Vec::new(),
    window: None,
    silence: 20,
    args: &[],
    exit: 0,
    requests: 2,
    says: "",
    then: SAME,
};

const WAYS: &[Way] = &[
    Way {
        what: "sends a text answer",
        replies: |_| vec![Reply::text(ANSWER)],
        requests: 1,
        then: NO_REQUEST,
        ..USUAL
    },
    Way {
        what: "sends thinking, then a tool call",
        replies: |_| {
            after(vec![
                Reply::new().thinks("Well, well.").calls("LS", json!({"path": "."})),
            ])
        },
        then: THINKING,
        ..USUAL
    },
    Way {
        what: "sends three tool calls in one answer",
        replies: |_| {
            let call = |reply: Reply, name: &str| reply.calls("Read", json!({ "file_path": name }));
            after(vec![
                ["b.txt", "a.txt", "missing.txt"].into_iter().fold(Reply::new(), call),
            ])
        },
        then: ANSWERS_IN_ORDER,
        ..USUAL
    },
    Way {
        what: "sends usage after the answer (`--output json`)",
        replies: |wire| vec![Reply::text(ANSWER).billed(counts(wire))],
        args: &["--output", "json"],
        requests: 1,
        then: COUNTED,
        ..USUAL
    },
    Way {
        what: "sends 429 with `retry-after: 1`",
        replies: |_| after(vec![refusal(429, Some(RetryAfter::Seconds(1)))]),
        says: "waiting: the provider is busy",
        then: SAME,
        ..USUAL
    },
    Way {
        what: "sends 429 and asks to wait longer than `patience`",
        replies: |_| vec![refusal(429, Some(RetryAfter::Seconds(600)))],
        exit: 3,
        requests: 1,
        says: "error: the provider is busy",
        then: NO_REQUEST,
        ..USUAL
    },
    Way {
        what: "sends 500 three times",
        replies: |_| after(vec![Reply::status(500), Reply::status(500), Reply::status(500)]),
        requests: 4,
        says: "waiting: the provider is busy",
        then: SAME,
        ..USUAL
    },
    Way {
        what: "reports an overload in the stream, after some text",
        replies: |_| after(vec![long().failing(Fault::Error(3, Trouble::Overloaded))]),
        says: "waiting: the provider is busy",
        then: SAME_WITHOUT_WORDS,
        ..USUAL
    },
    Way {
        what: "refuses the request as too long and names the limit",
        replies: |_| vec![Reply::text(ANSWER)],
        window: Some(|| Window::of(3_500)),
        says: "note: the provider counts",
        then: COMPACTED,
        ..USUAL
    },
    Way {
        what: "refuses the request as too long without a number",
        replies: |_| vec![Reply::text(ANSWER)],
        window: Some(|| Window::of(3_500).untold()),
        says: "note: the provider says that the request is too long",
        then: COMPACTED,
        ..USUAL
    },
    Way {
        what: "sends an empty answer, then a complete one",
        replies: |_| after(vec![Reply::new()]),
        then: SAME,
        ..USUAL
    },
    Way {
        what: "sends only empty answers",
        replies: |_| vec![Reply::new(), Reply::new(), Reply::new()],
        exit: 3,
        requests: 3,
        says: "error: the model gave no answer: its answer was empty, 3 times in a row",
        then: SAME,
        ..USUAL
    },
    Way {
        what: "sends malformed JSON in an event",
        replies: |_| after(vec![long().failing(Fault::Malformed(2))]),
        says: "waiting: the provider's answer could not be read",
        then: SAME,
        ..USUAL
    },
    Way {
        what: "accepts the connection and never answers",
        replies: |_| {
            vec![
                Reply::new().failing(Fault::Silence),
                Reply::new().failing(Fault::Silence),
                Reply::new().failing(Fault::Silence),
            ]
        },
        silence: 1,
        exit: 3,
        requests: 3,
        says: "error: the connection to the provider failed",
        then: SAME,
        ..USUAL
    },
    Way {
        what: "stops sending in the middle of the stream",
        replies: |_| after(vec![long().failing(Fault::Stall(3))]),
        silence: 1,
        says: "waiting: the connection to the provider failed",
        then: SAME_WITHOUT_WORDS,
        ..USUAL
    },
    Way {
        what: "closes the connection before the answer",
        replies: |_| after(vec![Reply::new().failing(Fault::HangUp)]),
        says: "waiting: the connection to the provider failed",
        then: SAME,
        ..USUAL
    },
    Way {
        what: "rejects the key",
        replies: |_| vec![Reply::status(401)],
        exit: 3,
        requests: 1,
        says: "error: the provider rejected the API key",
        then: NO_REQUEST,
        ..USUAL
    },
    Way {
        what: "does not know the model",
        replies: |_| vec![Reply::status(404)],
        exit: 3,
        requests: 1,
        says: "error: the provider refused the request",
        then: NO_REQUEST,
        ..USUAL
    },
    Way {
        what: "cuts an answer at the output limit",
        replies: |_| vec![Reply::text("All is").stopping(Stop::Length), Reply::text(" well.")],
        then: GO_ON,
        ..USUAL
    },
    Way {
        what: "cuts a tool call's JSON at the output limit",
        replies: |_| {
            after(vec![
                Reply::new()
                    .calls_raw("Write", "{\"file_path\": \"a.txt\", \"content\": \"half of")
                    .stopping(Stop::Length),
            ])
        },
        says: "note: ",
        then: CUT_CALL,
        ..USUAL
    },
    Way {
        what: "says that the model declined",
        replies: |_| vec![Reply::text("I will not do that.").stopping(Stop::Refusal)],
        exit: 1,
        requests: 1,
        says: "error: the model declined to answer",
        then: NO_REQUEST,
        ..USUAL
    },
    Way {
        what: "cannot read a picture in a tool output",
        replies: |_| {
            let mut replies = vec![Reply::call("Read", json!({"file_path": "p.png"}))];
            replies.push(refused_for("messages.2.content.0.image: Could not process image"));
            after(replies)
        },
        requests: 3,
        says: "note: the provider rejected part of the conversation",
        then: WITHOUT_THE_PICTURE,
        ..USUAL
    },
    Way {
        what: "flags the prompt",
        replies: |_| vec![refused_for("Your prompt was flagged as violating our usage policy.")],
        exit: 3,
        requests: 1,
        says: "error: the provider refused the request",
        then: NO_REQUEST,
        ..USUAL
    },
    Way {
        what: "sends a tool call as text, then a normal answer",
        replies: |_| {
            after(vec![Reply::text(
                "<tool_call>\n{\"name\": \"LS\", \"arguments\": {\"path\": \".\"}}\n</tool_call>",
            )])
        },
        says: "note: the model wrote a tool call as text",
        then: NOT_RUN,
        ..USUAL
    },
    Way {
        what: "sends only tool calls as text",
        replies: |_| {
            let call = "```json\n{\"name\": \"LS\", \"arguments\": {\"path\": \".\"}}\n```";
            (0..3).map(|_| Reply::text(call)).collect()
        },
        exit: 3,
        requests: 3,
        says: "error: the model gave no answer: it wrote a tool call as text",
        then: NOT_RUN,
        ..USUAL
    },
    Way {
        what: "loses the connection after thinking",
        replies: |wire| cut_behind(THINKING_CAME, wire),
        requests: 3,
        says: "waiting: the connection to the provider failed",
        then: SAME_WITHOUT_WORDS,
        ..USUAL
    },
    Way {
        what: "loses the connection after text",
        replies: |wire| cut_behind(WORDS_CAME, wire),
        requests: 3,
        says: "waiting: the connection to the provider failed",
        then: SAME_WITHOUT_WORDS,
        ..USUAL
    },
    Way {
        what: "loses the connection in a tool call",
        replies: |wire| cut_behind(CALL_CAME, wire),
        requests: 3,
        says: "waiting: the connection to the provider failed",
        then: SAME_WITHOUT_WORDS,
        ..USUAL
    },
    Way {
        what: "loses the connection in a second tool call",
        replies: |wire| cut_behind(SECOND_CALL_CAME, wire),
        requests: 3,
        says: "waiting: the connection to the provider failed",
        then: SAME_WITHOUT_WORDS,
        ..USUAL
    },
];

/// So many ways to fail are played at once: most of each is waiting.
const AT_ONCE: usize = 6;

#[test]
fn every_failure_ends_in_words_a_status_and_a_sound_next_request() {
    let (table, interruptions) = std::thread::scope(|scope| {
        let silent = scope.spawn(silent_row);
        let cut = scope.spawn(cut_row);
        let interruptions = scope.spawn(|| LEFT.iter().map(interruption_row).collect::<String>());
        let rows = WAYS.chunks(WAYS.len().div_ceil(AT_ONCE));
        let rows: Vec<_> = rows
            .map(|ways| scope.spawn(|| ways.iter().map(row).collect::<String>()))
            .collect();
        let mut table: String = rows.into_iter().map(|rows| rows.join().unwrap()).collect();
        table += &silent.join().unwrap();
        table += &cut.join().unwrap();
        (table, interruptions.join().unwrap())
    });
    let page = format!(
        "# When a provider fails\n\nMade by `codelet/tests/provider_faults.rs`, which plays each row against a local server with the APIs Anthropic Messages, \
         OpenAI Chat Completions,\nOpenAI Responses and Gemini. Messages are those with Anthropic; with the others, only the quoted error differs.\n\n\
         | the provider | you see | the next request contains | requests | exit status |\n|---|---|---|---|---|\n{table}\n\
         ## When you interrupt\n\nCtrl-C during an answer. The exit status is that of `-p`; in a session, the next prompt is sent with what you have \
         seen of the answer.\n\n\
         | the answer so far | you see | the next request contains | exit status |\n|---|---|---|---|\n{interruptions}\n{BEHIND}"
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

/// The row of one way to fail, on all wires.
fn row(way: &Way) -> String {
    let seen: Vec<String> = std::thread::scope(|scope| {
        let on = WIRES.map(|(wire, ..)| scope.spawn(move || play(way, wire)));
        on.map(|thread| thread.join().unwrap()).into()
    });
    let shown = match way.says {
        "" => "nothing".to_owned(),
        _ => format!("`{}`", seen[0].replace('|', "\\|")),
    };
    format!(
        "| {} | {shown} | {} | {} | {} |\n",
        way.what, way.then.words, way.requests, way.exit
    )
}

/// How often a short silence is played at most: a machine that stands still meanwhile makes another one.
const TRIES: usize = 3;

/// Plays one way to fail on one wire, checks what comes of it, and returns the last line that the user saw.
fn play(way: &Way, wire: Wire) -> String {
    let is_done = |played: &Played| played.requests(way) == way.requests;
    let tries = if way.silence == 1 { TRIES } else { 1 };
    let played = (1..tries).map(|_| ask(way, wire)).find(is_done);
    judge(way, played.unwrap_or_else(|| ask(way, wire)))
}

fn ask(way: &Way, wire: Wire) -> Played {
    let bench = Bench::new();
    // Enough instructions that a small window is passed, and can be kept.
    bench.file("notes.txt", &"A line of notes that says little.\n".repeat(300));
    bench.file("a.txt", "words of a\n");
    bench.file("b.txt", "words of b\n");
    std::fs::write(bench.work.join("p.png"), PICTURE).unwrap();
    let sees = format!("[models.\"{}/test-model\"]\nsees_images = true\n", name(wire));
    bench.settings(&format!("idle_timeout = {}\npatience = 8\n{sees}", way.silence));
    let mut replies = (way.replies)(wire);
    if way.window.is_some() {
        replies.insert(0, Reply::call("Read", json!({"file_path": "notes.txt"})));
    }
    let mut behaviour = Behaviour::replies(replies);
    if let Some(window) = way.window {
        behaviour = behaviour.window(window());
    }
    let server = Server::start(wire, behaviour);
    let output = bench.ask(&server, wire, &[&["-p", "Is all well?"], way.args].concat());
    Played {
        wire,
        record: server.record(),
        lines: told(&output, &server, &bench.work),
        output,
        label: format!("{} on {}", way.what, name(wire)),
    }
}

/// Checks what came of it, and returns the last line that the user saw.
fn judge(way: &Way, played: Played) -> String {
    let Played {
        record,
        output,
        label,
        lines,
        ..
    } = &played;
    assert_eq!(output.status.code(), Some(way.exit), "{label}: {lines:#?}");
    if way.args.is_empty() {
        let answer = if way.exit == 0 { "All is well.\n" } else { "" };
        assert_eq!(stdout(output), answer, "{label}");
    }
    assert_eq!(record.faults(), "", "{label}");
    assert_eq!(played.requests(way), way.requests, "{label}: {lines:#?}");
    assert!(
        lines.iter().all(|line| !line.contains("panicked")),
        "{label}: {lines:#?}"
    );
    if way.says.is_empty() {
        let worries = lines
            .iter()
            .filter(|line| !line.starts_with("note: ") || !line.contains("unknown model"));
        assert_eq!(worries.count(), 0, "{label}: {lines:#?}");
    } else {
        assert!(
            lines.iter().any(|line| line.starts_with(way.says)),
            "{label}: {lines:#?}"
        );
    }
    let shown = lines
        .iter()
        .rfind(|line| !way.says.is_empty() && line.starts_with(way.says));
    let shown = shown.map_or(String::new(), |line| without_estimate(line));
    (way.then.holds)(&played);
    shown
}

/// The line without the number that depends on how long the names of folders are.
fn without_estimate(line: &str) -> String {
    if let Some((before, _)) = line.split_once(" below ") {
        return format!("{before} below … tokens");
    }
    match line.split_once(" it counts ") {
        Some((before, after)) => {
            let behind = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before} it counts …{behind}")
        }
        None => line.to_owned(),
    }
}

/// The row of a provider that has answered before and then says nothing.
fn silent_row() -> String {
    std::thread::scope(|scope| {
        for (wire, ..) in WIRES {
            scope.spawn(move || {
                let mut seen = Vec::new();
                let is_seen = (0..TRIES).any(|_| {
                    let (requests, waits) = fall_silent(wire);
                    seen.push((requests, waits));
                    // Two seconds, a pause, two seconds, and no third try that had no time; of five seconds all but two are told.
                    (3..=4).contains(&requests) && waits >= 3
                });
                assert!(is_seen, "{}: {seen:?}", name(wire));
            });
        }
    });
    "| stops answering in the middle of a session | `waiting: …` (in a terminal with the seconds), then `error: the connection to the \
     provider failed: … (gave up after 5 s)` | the same | until `patience` is over | 3 |\n"
        .to_owned()
}

#[test]
fn a_named_patience_bounds_the_first_silence_of_a_server_on_this_machine() {
    let told = (0..TRIES).map(|_| named_patience());
    let words = "waiting: the provider has not answered yet; giving up in 2 s";
    assert!(told.into_iter().any(|told| told.contains(words)), "{words}");
}

/// What the user is told of a server that is silent.
fn named_patience() -> String {
    let bench = Bench::new();
    // Its own limit is a quarter of an hour.
    bench.settings("patience = 3\n");
    let silent = Reply::new().failing(Fault::Silence);
    let server = Server::start(Wire::Chat, Behaviour::replies([silent]));
    let began = Instant::now();
    let output = bench.ask(&server, Wire::Chat, &["-p", "Look."]);
    let took = began.elapsed();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        took >= Duration::from_secs(3) && took < Duration::from_secs(60),
        "{took:?}"
    );
    let told = stderr(&output);
    assert!(told.contains("(gave up after 3 s)"), "{told}");
    told.to_owned()
}

/// How many requests a server gets that has answered once and then says nothing, and how often the wait is told.
fn fall_silent(wire: Wire) -> (usize, usize) {
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
    assert!(took >= Duration::from_secs(4), "{}: {took:?}", name(wire));
    let record = server.record();
    assert_eq!(record.faults(), "");
    let bodies: Vec<&[u8]> = record.exchanges.iter().map(|e| &*e.request.body).collect();
    assert!(bodies[1..].iter().all(|body| *body == bodies[1]), "{}", name(wire));
    let lines: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let waits = lines.iter().filter(|line| line["type"] == "waiting").count();
    let last = lines.last().unwrap();
    assert!(
        last["error"].as_str().unwrap().ends_with("(gave up after 5 s)"),
        "{last}"
    );
    (bodies.len(), waits)
}

/// The row of a stream that is cut anywhere.
fn cut_row() -> String {
    let requests: Vec<usize> = std::thread::scope(|scope| {
        let on = WIRES.map(|(wire, ..)| scope.spawn(move || cut_everywhere(wire)));
        on.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let (least, most) = (requests.iter().min().unwrap(), requests.iter().max().unwrap());
    let requests = match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    };
    format!(
        "| loses the connection, or ends the stream, at any point | nothing if the answer was complete, else \
         `waiting: the connection to the provider failed: …` | the results of the calls if the answer was complete, else the same, \
         without the partial answer | {requests} | 0 |\n"
    )
}

/// Cuts a stream in all places of one wire; returns the numbers of requests that came of it.
fn cut_everywhere(wire: Wire) -> Vec<usize> {
    let count = wire.frames(&whole()).len();
    let ways = (0..count).flat_map(|at| [Fault::Cut(at), Fault::CutInside(at), Fault::End(at)]);
    let bench = Bench::new();
    bench.file("a.txt", "words of a\n");
    let mut requests = Vec::new();
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
        assert_eq!(output.status.code(), Some(0), "{label}: {}", stderr(&output));
        assert_eq!(stdout(&output), "All is well.\n", "{label}");
        let record = server.record();
        assert_eq!(record.faults(), "", "{label}");
        let second = &record.exchanges[1].request;
        let is_counted = !second.results().is_empty();
        if !is_counted {
            assert_eq!(record.exchanges[0].request.body, second.body, "{label}");
            assert!(!second.holds("I look.") && !second.holds("Well, well."), "{label}");
        }
        let lines = told(&output, &server, &bench.work);
        let waits = lines
            .iter()
            .filter(|line| line.starts_with("waiting: the connection to the provider failed"));
        assert_eq!(waits.count(), usize::from(!is_counted), "{label}: {lines:#?}");
        requests.push(record.exchanges.len());
    }
    requests
}

/// An answer that is interrupted, and what of it the next request holds.
struct Left {
    what: &'static str,
    behind: Kind,
    holds: &'static str,
    /// The words of the model's that stay.
    words: &'static [&'static str],
}

const LEFT: &[Left] = &[
    Left {
        what: "thinking",
        behind: THINKING_CAME,
        holds: "both prompts, nothing of the answer",
        words: &[],
    },
    Left {
        what: "thinking and text",
        behind: WORDS_CAME,
        holds: "the text, with a note that it was interrupted",
        words: &["I look.", "[interrupted by the user]"],
    },
    Left {
        what: "thinking, text, and the start of a call",
        behind: CALL_CAME,
        holds: "the text, with a note that it was interrupted; no call",
        words: &["I look.", "[interrupted by the user]"],
    },
    Left {
        what: "thinking, text, a call, and the start of another",
        behind: SECOND_CALL_CAME,
        holds: "the text, with a note that it was interrupted; no call",
        words: &["I look.", "[interrupted by the user]"],
    },
];

fn interruption_row(left: &Left) -> String {
    std::thread::scope(|scope| {
        for (wire, ..) in WIRES {
            scope.spawn(move || {
                interrupt_prompt(left, wire);
                // The interruption may overtake what is on its way.
                let is_exact = (0..30).any(|_| interrupt_session(left, wire));
                assert!(is_exact, "{} on {}: the words are lost", left.what, name(wire));
            });
        }
    });
    format!("| {} | `error: interrupted` | {} | 130 |\n", left.what, left.holds)
}

fn interrupt_prompt(left: &Left, wire: Wire) {
    let bench = Bench::new();
    let gate = Gate::after(behind(left.behind, wire));
    let server = Server::start(wire, Behaviour::replies([whole().gated(&gate)]));
    let child = bench.start(&server, wire, &["-p", "Is all well?"]);
    block_on(gate.reached());
    signal(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    let label = format!("{} on {}", left.what, name(wire));
    assert_eq!(output.status.code(), Some(130), "{label}");
    assert_eq!(stdout(&output), "", "{label}");
    let lines = told(&output, &server, &bench.work);
    assert_eq!(
        lines.last().map(String::as_str),
        Some("error: interrupted"),
        "{label}: {lines:#?}"
    );
}

/// Says whether the next request holds all words that had been sent.
fn interrupt_session(left: &Left, wire: Wire) -> bool {
    let bench = Bench::new();
    let gate = Gate::after(behind(left.behind, wire));
    let server = Server::start(wire, Behaviour::replies([whole().gated(&gate), Reply::text(ANSWER)]));
    let output = bench.interrupted(&server, wire, &gate, "Is all well?");
    let label = format!("{} on {}", left.what, name(wire));
    let played = Played {
        wire,
        record: server.record(),
        lines: told(&output, &server, &bench.work),
        output,
        label,
    };
    let words: Vec<&str> = played
        .of_model()
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => text.trim(),
            other => panic!("{}: {other:?}", played.label),
        })
        .collect();
    assert!(words.is_empty() || words == left.words, "{}: {words:?}", played.label);
    let texts = played.last().user_texts();
    assert!(
        texts.contains(&"Is all well?") && texts.contains(&NEXT_WORDS),
        "{}: {texts:?}",
        played.label
    );
    words == left.words
}
