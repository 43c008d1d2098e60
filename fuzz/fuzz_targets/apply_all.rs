//! Any conversation, through all strategies.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| codelet_fuzz::applies(bytes));
