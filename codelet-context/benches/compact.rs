//! How long a whole compaction takes, with what is known per message computed when it was appended.
#![allow(missing_docs)]

mod sessions;

use codelet_context::compact::{Compaction, Target, compact};
use codelet_context::history::History;
use divan::Bencher;
use std::time::{Duration, Instant};

fn main() {
    divan::main();
    tails();
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

/// The 99th percentile, which the table above does not have.
#[allow(clippy::print_stdout)]
fn tails() {
    // A run that only lists the benches, or tests that they run, measures nothing.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
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
