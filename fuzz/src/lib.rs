//! What the fuzz targets ask of their input.

use codelet_context::compact::Target;
use codelet_testkit::{Kept, conversation_from_bytes, invariants, shape};
use codelet_transcript::{Format, read};

/// Any bytes are read or refused; what was read is shown on one line a message, and what a form writes it reads again.
pub fn reads(bytes: &[u8], format: Option<Format>) {
    keep(invariants::is_read_or_refused(bytes, format));
}

/// Whatever a file holds goes through the engine: texts, names and parameters that no plan would make.
pub fn compacts_files(bytes: &[u8]) {
    let Some((&[kind, size], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let Ok(document) = read(rest, None) else { return };
    keep(invariants::keeps_its_promises_twice(
        &document.messages,
        target(kind, size),
    ));
    keep(invariants::strategies_keep_their_promises(&document.messages));
}

/// Any conversation keeps the promises of a compaction.
pub fn compacts(bytes: &[u8]) {
    let Some((&[kind, size], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let messages = conversation_from_bytes(rest);
    keep(invariants::keeps_its_promises_twice(&messages, target(kind, size)));
}

/// What the first two bytes ask for, so that a fuzzer can find the budget at which something breaks.
fn target(kind: u8, size: u8) -> Target {
    let tokens = u64::from(size) * u64::from(size) + u64::from(size);
    match kind % 8 {
        0 => Target::Select,
        1 => Target::Window(tokens),
        _ => Target::Budget(tokens),
    }
}

/// Any conversation keeps the promises of the strategies.
pub fn applies(bytes: &[u8]) {
    keep(invariants::strategies_keep_their_promises(&conversation_from_bytes(
        bytes,
    )));
}

/// Any text is read or refused, and what was read is written and read again.
pub fn shapes(text: &str) {
    // A repetition may unfold to 64 MiB, which is right and slow.
    if text.contains('×') {
        return;
    }
    let Ok(messages) = shape::parse(text) else { return };
    let written = shape::exact(&messages);
    let again = shape::parse(&written).expect("what is written can be read");
    assert!(shape::exact(&again) == written, "{written}");
}

#[track_caller]
fn keep(promise: Kept) {
    if let Err(sentence) = promise {
        panic!("{sentence}");
    }
}
