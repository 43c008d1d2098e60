//! Sessions of very many messages take time proportional to their number.

use codelet_context::message::{Action, Message, Part, Role, ToolCall, ToolResult};
use codelet_context::price;
use codelet_replay::play::play;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::session::{MOST_REQUESTS, Session};
use codelet_transcript::{Document, Format, Recording};
use serde_json::{Map, json};
use std::time::{Duration, Instant};

/// Quadratic work, and looking at the whole window before every request, take longer at these sizes; linear work takes
/// about a second in a test build.
const LONGEST: Duration = Duration::from_secs(4);

/// Returns this thread's CPU time, so that a busy machine fails no test; the elapsed time if it is not available.
fn worked(since: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|told| told.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

fn session(messages: Vec<Message>) -> Session {
    let document = Document {
        format: Format::Anthropic,
        messages,
        envelope: Map::new(),
        warnings: Vec::new(),
    };
    let requests = Vec::new();
    Session::new("x", Recording { document, requests })
}

fn prompts(count: usize) -> Session {
    let message = |at: usize| match at % 2 {
        0 => Message::user(format!("hi{at}")),
        _ => Message::assistant(format!("hi{at}")),
    };
    session((0..2 * count).map(message).collect())
}

/// Returns one prompt, and calls with a short result each.
fn calls(count: usize) -> Session {
    let mut messages = vec![Message::user("go")];
    for at in 0..count {
        let (id, line) = (format!("t{at}"), format!("ls d{at}"));
        let parameters = json!({"command": line}).as_object().unwrap().clone();
        let call = ToolCall::new(&*id, "Bash", parameters).doing(Action::command(&line));
        messages.push(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        messages.push(Message::results(vec![ToolResult::new(
            &*id,
            Some(true),
            format!("f{at}.rs"),
        )]));
    }
    session(messages)
}

/// Returns a session with very many system messages at the start.
fn heads(count: usize) -> Session {
    let mut messages: Vec<Message> = (0..4 * count)
        .map(|at| Message::new(Role::System, vec![Part::text(format!("s{at}"))]))
        .collect();
    messages.extend((0..2 * count).map(|at| match at % 2 {
        0 => Message::user("a"),
        _ => Message::assistant("b"),
    }));
    session(messages)
}

#[test]
fn very_many_requests_are_played_in_time() {
    // In a large window nothing ends a session early.
    let settings = Settings::new(1_000_000, price::usual());
    for (what, session) in [
        ("prompts", prompts(9_000)),
        ("calls", calls(9_000)),
        ("heads", heads(9_000)),
    ] {
        for policy in Policy::ALL {
            let began = Instant::now();
            let start = worked(began);
            let run = play(&session, *policy, &settings);
            let took = worked(began) - start;
            assert!(took < LONGEST, "{what}, {policy}: {took:?}");
            assert_eq!(run.steps.len(), 9_000, "{what}, {policy}");
        }
    }
}

#[test]
fn no_more_than_a_session_of_a_person_has_is_played_and_what_is_left_out_is_counted() {
    let whole = prompts(MOST_REQUESTS);
    assert_eq!((whole.requests.len(), whole.unplayed), (MOST_REQUESTS, 0));
    let long = prompts(MOST_REQUESTS + 7);
    assert_eq!((long.requests.len(), long.unplayed), (MOST_REQUESTS, 7));
    assert_eq!(long.messages.len(), 2 * MOST_REQUESTS);
}
