//! Measures the cost of a step, which appends two messages of about 2 KB together and decides whether to compact; and
//! of a prompt, which saves the state of the conversation.
#![allow(missing_docs)]

mod sessions;

use codelet_context::conversation::Conversation;
use codelet_context::message::Message;
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
            // Every fortieth step would begin with a prompt.
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

/// A session saves its state at each prompt, in case the user interrupts and goes back.
#[divan::bench(args = [1_000, 20_000], sample_count = 50, sample_size = 1)]
fn remember_how_it_was(bencher: Bencher<'_, '_>, messages: usize) {
    let conversation = said(messages);
    bencher.bench_local(|| conversation.earlier());
}

/// Going back to a saved state.
#[divan::bench(args = [1_000, 20_000], sample_count = 10, sample_size = 1)]
fn go_back_to_it(bencher: Bencher<'_, '_>, messages: usize) {
    let mut conversation = said(messages);
    let earlier = conversation.earlier();
    conversation.append(Message::user("Go on."));
    bencher
        .with_inputs(|| earlier.clone())
        .bench_local_values(|earlier| conversation.restore(earlier));
}

fn said(messages: usize) -> Conversation {
    let messages = sessions::of_messages(messages).messages().to_vec();
    let messages = messages.into_iter();
    let mut conversation = Conversation::new(CompactionConfig::new(200_000), 0);
    messages.for_each(|message| conversation.append(message));
    conversation
}
