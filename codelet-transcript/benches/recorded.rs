//! How long a compaction of real recordings takes, with what is known per message computed when it was appended. Runs
//! where the corpus is at hand; the same on made-up sessions is `compact` of the engine.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use codelet_context::compact::{Target, compact};
use codelet_context::conversation::{Conversation, Signals};
use codelet_context::history::History;
use codelet_context::message::{Message, Role};
use codelet_context::policy::CompactionConfig;
use codelet_transcript::read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const WINDOW: u64 = 200_000;
/// What a request keeps free for the answer.
const RESERVED: u64 = 32_000;
const RUNS: usize = 100;

fn main() {
    // A run that only lists the benches, or tests that they run, measures nothing.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let corpus = std::env::var_os("CODELET_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"),
        PathBuf::from,
    );
    for name in ["chain-claude-code-1M.json", "chain-claude-code-3M.json"] {
        let path = corpus.join("giant").join(name);
        let Ok(bytes) = std::fs::read(&path) else {
            println!("skipped: {} is not there (set CODELET_CORPUS)", path.display());
            continue;
        };
        let messages = read(&bytes, None).unwrap().messages;
        println!("{name}");
        once(beginning(&messages));
        once(&messages);
        in_a_session(&messages);
    }
}

/// As much of a conversation as fills a window.
fn beginning(messages: &[Message]) -> &[Message] {
    let history: History = messages.iter().cloned().collect();
    let mut sum = 0;
    let count = history.estimates().iter().take_while(|&&estimate| {
        sum += estimate;
        sum <= WINDOW
    });
    let fits = &messages[..count.count()];
    // It ends where the next request would be sent.
    let end = fits.iter().rposition(|message| message.role == Role::User);
    &fits[..end.map_or(0, |last| last + 1)]
}

/// The whole conversation at once, for a window and for budgets.
fn once(messages: &[Message]) {
    let history: History = messages.iter().cloned().collect();
    let tokens: u64 = history.estimates().iter().sum();
    let percents = [3, 10, 25].map(|percent| (format!("to {percent} %"), Target::Budget(tokens * percent / 100)));
    let window = (format!("for a window of {WINDOW}"), Target::Window(WINDOW));
    for (what, target) in std::iter::once(window).chain(percents) {
        let times = (0..RUNS).map(|_| {
            let began = Instant::now();
            let done = compact(&history, target);
            let time = began.elapsed();
            drop(done);
            time
        });
        report(&format!("{tokens} tokens {what}"), times.collect());
    }
}

/// Every compaction that is due when the conversation is one session.
fn in_a_session(messages: &[Message]) {
    let mut times = Vec::new();
    let mut session = Conversation::new(CompactionConfig::new(WINDOW).reserving(RESERVED), 0);
    let next_roles = messages.iter().skip(1).map(|next| next.role);
    for (message, next) in messages.iter().zip(next_roles) {
        session.append(message.clone());
        // Before a request: what is still to come is not a part of it.
        if next == Role::Assistant
            && let Some(due) = session.decide(Signals::default())
        {
            let began = Instant::now();
            let done = session.compact(due);
            times.push(began.elapsed());
            drop(done);
        }
    }
    report(&format!("in a session with a window of {WINDOW}"), times);
}

fn report(what: &str, mut times: Vec<Duration>) {
    if times.is_empty() {
        return println!("  {what}: no compaction was due");
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!(
        "  {what}: {} runs, median {:.1?}, p99 {:.1?}, slowest {:.1?}",
        times.len(),
        at(50),
        at(99),
        at(100)
    );
}
