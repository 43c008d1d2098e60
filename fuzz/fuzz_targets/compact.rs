//! Any conversation, compacted to any target, once and twice.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| codelet_fuzz::compacts(bytes));
