//! Any bytes, read in the form that `FORM` names; without it, as whatever they look like.
#![no_main]

use codelet_transcript::Format;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static FORM: OnceLock<Option<Format>> = OnceLock::new();

fn form() -> Option<Format> {
    let name = std::env::var("FORM").ok()?;
    Some(Format::from_name(&name).unwrap_or_else(|| panic!("no form is called {name:?}")))
}

fuzz_target!(|bytes: &[u8]| codelet_fuzz::reads(bytes, *FORM.get_or_init(form)));
