//! What the fuzz targets ask of their input.

use codelet_context::compact::Target;
use codelet_testkit::{Kept, conversation_from_bytes, invariants};
use codelet_transcript::{Format, read, shape, write};

/// The forms that are written as well as read.
const WRITTEN: [Format; 4] = [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini];

/// Any bytes are read or refused; what was read is shown on one line a message, and what a form writes it reads again.
pub fn reads(bytes: &[u8], format: Option<Format>) {
    let Ok(document) = read(bytes, format) else { return };
    for message in &document.messages {
        assert!(!shape::line(message, 80).contains('\n'));
    }
    for format in WRITTEN {
        let written = write(&document, format).expect("this form is written");
        let again = read(written.as_bytes(), Some(format)).expect("what a form writes it reads");
        let twice = write(&again, format).expect("this form is written");
        assert!(
            written == twice,
            "{format:?} was written as {written} and then as {twice}"
        );
    }
}

/// Any conversation keeps the promises of a compaction.
pub fn compacts(bytes: &[u8]) {
    // The first two bytes are the target, so that a fuzzer can find the budget at which something breaks.
    let Some((&[kind, size], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let tokens = u64::from(size) * u64::from(size) + u64::from(size);
    let target = match kind % 8 {
        0 => Target::Select,
        1 => Target::Window(tokens),
        _ => Target::Budget(tokens),
    };
    let messages = conversation_from_bytes(rest);
    keep(invariants::keeps_its_promises(&messages, target));
    keep(invariants::can_be_compacted_again(&messages, target));
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
