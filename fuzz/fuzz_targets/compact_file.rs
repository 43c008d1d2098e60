//! Any bytes, read as whatever they look like and put through the engine.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| codelet_fuzz::compacts_files(bytes));
