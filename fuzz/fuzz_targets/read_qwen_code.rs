//! Any bytes, read as `qwen-code`.
#![no_main]

use codelet_transcript::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| codelet_fuzz::reads(bytes, Some(Format::QwenCode)));
