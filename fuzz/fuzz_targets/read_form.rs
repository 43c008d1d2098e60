//! Any bytes, read in the form that the first one picks: those that have no target of their own.
#![no_main]

use codelet_transcript::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((pick, rest)) = bytes.split_first() {
        codelet_fuzz::reads(rest, Some(Format::ALL[usize::from(*pick) % Format::ALL.len()]));
    }
});
