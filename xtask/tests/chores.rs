//! Chores run as a person would. As an integration test, it makes `cargo test` build the program, which `.ci/run` then
//! uses.

use std::process::{Command, Output};

fn chore(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(args)
        .output()
        .expect("the chores were built")
}

#[test]
fn imports_point_down() {
    let told = chore(&["arrows"]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}

#[test]
fn what_is_no_chore_is_answered_with_those_that_there_are() {
    let told = chore(&["arows"]);
    assert_eq!(told.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&told.stderr).contains("cargo xtask arrows"));
}
