//! What a step costs: two messages of about 2 KB together are appended, and it is decided whether to compact.
#![allow(missing_docs)]

mod sessions;

use codelet_context::policy::{CompactionConfig, Pressure};
use divan::Bencher;

fn main() {
    divan::main();
}

#[divan::bench(args = [100, 1_000, 20_000], sample_count = 200, sample_size = 1)]
fn two_messages_and_decide(bencher: Bencher<'_, '_>, messages: usize) {
    let mut history = sessions::of_messages(messages);
    let mut numbers = sessions::Numbers(99);
    let mut number = 1_000_001;
    let config = CompactionConfig::new(200_000);
    let mut occupancy = 0;
    bencher
        .with_inputs(|| {
            // Every fortieth would begin with a prompt.
            number += if number % 40 == 39 { 2 } else { 1 };
            sessions::step(&mut numbers, number, 2_000)
        })
        .bench_local_values(|step| {
            for message in step {
                history.append(message);
                occupancy = (occupancy + history.estimates().last().copied().unwrap_or_default()) % 200_000;
            }
            config.decide(&Pressure {
                occupancy,
                effective: occupancy,
                ..Pressure::default()
            })
        });
}
