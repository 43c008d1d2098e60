//! Measures a whole compaction, with the data of each message computed when it was appended.
#![allow(missing_docs)]

mod sessions;

use codelet_context::compact::{Compaction, Target, compact};
use codelet_context::conversation::{Conversation, Due, Signals};
use codelet_context::history::History;
use codelet_context::policy::CompactionConfig;
use divan::Bencher;
use std::time::{Duration, Instant};

fn main() {
    divan::main();
    if is_asked_for("tails") {
        tails();
    }
    if is_asked_for("files") {
        files();
    }
}

/// Returns whether to run a measurement outside the table: in a run of everything, or of this one. Listing the benches
/// or running them as tests measures nothing.
fn is_asked_for(name: &str) -> bool {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut filters = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    arguments.iter().any(|argument| argument == "--bench")
        && (filters.peek().is_none() || filters.any(|filter| filter == name))
}

const SIZES: [u64; 3] = [200_000, 1_000_000, 3_000_000];

#[divan::bench(args = SIZES, sample_count = 30, sample_size = 1)]
fn for_a_window_of_200_000(bencher: Bencher<'_, '_>, tokens: u64) {
    let history = sessions::of_tokens(tokens);
    bencher.bench_local(|| compact(&history, Target::Window(200_000)));
}

#[divan::bench(args = SIZES, sample_count = 30, sample_size = 1)]
fn to_three_percent(bencher: Bencher<'_, '_>, tokens: u64) {
    let history = sessions::of_tokens(tokens);
    bencher.bench_local(|| compact(&history, Target::Budget(tokens * 3 / 100)));
}

#[divan::bench(args = SIZES, sample_count = 30, sample_size = 1)]
fn to_ten_percent(bencher: Bencher<'_, '_>, tokens: u64) {
    let history = sessions::of_tokens(tokens);
    bencher.bench_local(|| compact(&history, Target::Budget(tokens / 10)));
}

#[divan::bench(args = SIZES, sample_count = 30, sample_size = 1)]
fn to_a_quarter(bencher: Bencher<'_, '_>, tokens: u64) {
    let history = sessions::of_tokens(tokens);
    bencher.bench_local(|| compact(&history, Target::Budget(tokens / 4)));
}

/// The compaction due when a session with a window of 200,000 has reached this length, after all earlier ones.
#[divan::bench(args = SIZES, sample_count = 30, sample_size = 1)]
fn once_more_in_a_session(bencher: Bencher<'_, '_>, tokens: u64) {
    let (session, due) = under_way(tokens);
    bencher
        .with_inputs(|| session.clone())
        .bench_local_values(|mut session| session.compact(due).map(|_| session));
}

/// A session of this length, at the point when the next compaction is due. It has a single prompt, at the beginning.
fn under_way(tokens: u64) -> (Conversation, Due) {
    let history = sessions::of_tokens(tokens * 2);
    let mut session = Conversation::new(CompactionConfig::new(200_000).reserving(32_000), 0);
    let mut said = 0;
    let mut is_asked = false;
    for (message, estimate) in history.messages().iter().zip(history.estimates()) {
        // After a prompt, the next compaction would examine the whole history once more.
        if !message.is_prompt() || !std::mem::replace(&mut is_asked, true) {
            session.append(message.clone());
            said += estimate;
        }
        match session.decide(Signals::default()) {
            Some(due) if said > tokens => return (session, due),
            Some(due) => session.compact(due).map(drop).unwrap_or_default(),
            None => {}
        }
    }
    unreachable!("twice as long as needed")
}

/// Prints the 99th percentile, which the table above lacks.
#[allow(clippy::print_stdout)]
fn tails() {
    for tokens in SIZES {
        let history: History = sessions::of_tokens(tokens);
        let mut times: Vec<Duration> = (0..100)
            .map(|_| {
                let began = Instant::now();
                let done: Compaction = compact(&history, Target::Window(200_000));
                let time = began.elapsed();
                drop(done);
                time
            })
            .collect();
        times.sort_unstable();
        println!(
            "{tokens} tokens for a window of 200,000: median {:.1?}, p99 {:.1?}",
            times[50], times[98]
        );
    }
}

/// Prints the times of every compaction of an agent that reads 300 files of 20,000 bytes.
#[allow(clippy::print_stdout)]
fn files() {
    for window in [200_000, 32_000] {
        let mut session = Conversation::new(
            CompactionConfig::new(window).reserving(window / 6),
            20_000.min(window / 8),
        );
        let mut times = Vec::new();
        let mut appends = Vec::new();
        let mut shown = 0;
        for message in sessions::of_files(300) {
            let began = Instant::now();
            session.append(message);
            // As an agent does while its provider answers.
            session.prepare_edit();
            let due = session.decide(Signals::default());
            appends.push(began.elapsed());
            if let Some(due) = due {
                let began = Instant::now();
                let done = session.compact(due);
                times.push(began.elapsed());
                drop(done);
                shown += session.shown().bytes;
            }
        }
        times.sort_unstable();
        appends.sort_unstable();
        println!(
            "{} compactions of an agent that reads files, in a window of {window}: median {:.1?}, slowest {:.1?}; append, prepare and decide: median {:.1?}, slowest {:.1?} ({shown} bytes shown)",
            times.len(),
            times[times.len() / 2],
            times[times.len() - 1],
            appends[appends.len() * 3 / 4],
            appends[appends.len() - 1],
        );
    }
}
