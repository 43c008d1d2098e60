//! Any text, read in shape notation.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| codelet_fuzz::shapes(text));
