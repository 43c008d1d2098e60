//! Jobs as one of libuv's threads does them.

use codelet_node::{Job, Wrong};
use napi::bindgen_prelude::Either;

#[test]
fn a_panic_does_not_cross_the_border() {
    let mut job: Job<String> = Job::new(|| panic!("at item {}", 7));
    let Either::B(wrong) = job.run() else {
        panic!("a result of nothing");
    };
    assert_eq!(wrong.code, "ERR_INTERNAL");
    assert!(wrong.message.contains("at item 7"), "{}", wrong.message);
}

#[test]
fn an_error_and_a_result_come_back_as_they_are() {
    let refused = Wrong::argument("no such form");
    let given = refused.clone();
    let mut job: Job<String> = Job::new(move || Err(given));
    assert!(matches!(job.run(), Either::B(wrong) if wrong == refused));
    let mut job = Job::new(|| Ok("done".to_owned()));
    assert!(matches!(job.run(), Either::A(text) if text == "done"));
}
