//! The loop: its requests, their order, and the state of the conversation when something goes wrong.
#![allow(clippy::unwrap_used)]

mod calls;
mod changing_tools;
mod common;
mod compaction;
mod fallback;
mod goes_on;
mod hooks;
mod idle;
mod limits;
mod refused;
mod reminders;
mod rewind;
mod skills;
mod summary;
mod tasks;
mod uncounted;
mod vendors_limits;
mod waits;
mod wishes;

use codelet_testkit::assert_shape;
use common::Stage;

fn shape(stage: &Stage, number: usize, expected: &str) {
    let messages = stage.asked(number);
    assert_shape(messages.iter().map(|message| &**message), expected);
}
