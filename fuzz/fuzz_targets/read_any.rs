//! Any bytes, read as whatever they look like.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| codelet_fuzz::reads(bytes, None));
