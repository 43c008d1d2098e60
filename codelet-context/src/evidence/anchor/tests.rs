use super::describe::{SHOWN, describe, names};
use super::*;
use crate::evidence::Evidence;
use crate::message::tokens::estimate_message;
use crate::message::turn::turns;
use crate::message::{Action, ActionKind, Part, Role, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::Map;

fn find(messages: &[Arc<Message>], turns: &[Turn], pins: &[usize], long: Tokens) -> Vec<Anchor> {
    let mut evidence = Evidence::default();
    messages.iter().for_each(|message| evidence.append(message));
    let estimates: Vec<Tokens> = messages.iter().map(|message| estimate_message(message)).collect();
    super::find(&evidence.events, messages, &estimates, turns, pins, long)
}

/// One line per message: `user: words` · `edit FILE…` · `run COMMAND => STATUS OUTPUT`, where STATUS is `ok`, `bad` or
/// `?`. `edit!` is a failed edit.
fn conversation(lines: &str) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for (number, line) in lines.lines().map(str::trim).enumerate() {
        let id = format!("c{number}");
        let (action, success, output) = if let Some(words) = line.strip_prefix("user: ") {
            messages.push(Arc::new(Message::user(words)));
            continue;
        } else if let Some(files) = line.strip_prefix("edit ") {
            (Action::on(ActionKind::Change, files.split(' ')), Some(true), "done")
        } else if let Some(files) = line.strip_prefix("edit! ") {
            (
                Action::on(ActionKind::Change, files.split(' ')),
                Some(false),
                "not found",
            )
        } else if let Some((command, answer)) = line.strip_prefix("run ").and_then(|rest| rest.split_once(" => ")) {
            let (status, output) = answer.split_once(' ').unwrap_or((answer, ""));
            let success = match status {
                "ok" => Some(true),
                "bad" => Some(false),
                _ => None,
            };
            (Action::command(command), success, output)
        } else {
            messages.push(Arc::new(Message::assistant(line)));
            continue;
        };
        let call = ToolCall::new(id.as_str(), "tool", Map::new()).doing(action);
        messages.push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
        messages.push(Arc::new(Message::results(vec![ToolResult::new(
            id.as_str(),
            success,
            output,
        )])));
    }
    messages
}

fn check(lines: &str, expected: &[&str]) {
    check_with(lines, &[], LONG_TURN, expected);
}

fn check_with(lines: &str, pins: &[usize], long: Tokens, expected: &[&str]) {
    let messages = conversation(lines);
    let found = find(&messages, &turns(&messages), pins, long);
    let found: Vec<String> = found
        .iter()
        .map(|a| format!("{} {}: {}", a.turn, a.kind.name(), a.description))
        .collect();
    assert_eq!(found, expected, "{lines}");
}

#[test]
fn a_change_and_a_passing_test_run_complete_a_task() {
    check(
        "user: add a flag
         edit src/a.rs src/b.rs
         run cargo test => ok
         user: thanks
         good",
        &["0 task completion: Changes made in a.rs, b.rs and tests now pass"],
    );
}

#[test]
fn a_failure_before_the_change_makes_it_an_error_resolution() {
    let table = [
        ("run cargo build => bad", "Build error fixed in a.rs and tests now pass"),
        (
            "run cargo test => bad 1 failed",
            "Failing tests fixed in a.rs and tests now pass",
        ),
        (
            "run cargo test => bad error: could not compile `x`",
            "Failing tests fixed in a.rs and tests now pass",
        ),
        ("run ./deploy.sh => bad", "Error fixed in a.rs and tests now pass"),
    ];
    for (failure, expected) in table {
        let expected = format!("1 error resolution: {expected}");
        check(
            &format!("user: go\n{failure}\nuser: mend it\nedit x/a.rs\nrun cargo test => ok"),
            &[&expected],
        );
        let expected = expected.replacen('1', "0", 1);
        check(
            &format!("user: go\n{failure}\nedit x/a.rs\nrun cargo test => ok"),
            &[&expected],
        );
    }
}

#[test]
fn a_failure_that_was_over_before_the_change_is_none() {
    for before in [
        "run cargo test => bad\nrun cargo test => ok",
        "run ./x => bad\nrun ./x => ok",
        "edit! a.rs",
    ] {
        check(
            &format!("user: go\n{before}\nedit a.rs\nrun cargo test => ok"),
            &["0 task completion: Changes made in a.rs and tests now pass"],
        );
    }
}

#[test]
fn nothing_is_finished_without_a_change_or_without_a_success_after_it() {
    for turn in [
        "run cargo test => ok",
        "edit a.rs",
        "run cargo test => ok\nedit a.rs",
        "edit! a.rs\nrun cargo test => ok",
        "edit a.rs\nrun cargo test => bad",
        "edit a.rs\nrun cargo test => ok\nrun cargo test => bad",
        "edit a.rs\nrun cargo build => ok",
        "edit a.rs\nrun echo cargo test => ok all tests passed",
        "edit a.rs\nrun cargo test => ? the test password",
        "edit a.rs\nrun cargo test => ? 0 passed, no test",
        "edit a.rs\nrun cargo test | tail => ok test result: FAILED. 1 failed",
        "edit a.rs\nuser: test it\nrun cargo test => bad\nrun cargo test => ok",
        "edit a.rs\nrun cargo test => bad\nuser: again\nrun cargo test => ok",
        "edit a.rs\nuser: test it\nrun cargo build => ok",
    ] {
        check(&format!("user: go\n{turn}"), &[]);
    }
}

#[test]
fn changes_wait_for_the_test_run_of_a_later_turn() {
    for between in [
        "",
        "user: well?\nit is done\n",
        "user: look\nrun ls => ok\nrun cargo build => ok\n",
    ] {
        let turn = 1 + between.matches("user:").count();
        let lines = format!(
            "user: go\nedit a.rs\n{between}user: test it\nrun cargo test => ok\nuser: again\nrun cargo test => ok"
        );
        let expected = format!("{turn} task completion: Changes made in a.rs and tests now pass");
        check(&lines, &[&expected]);
        check_with(&lines, &[], 0, &[&expected]);
        let resolved = format!("{turn} error resolution: Failing tests fixed in a.rs and tests now pass");
        check(&lines.replacen("edit", "run cargo test => bad\nedit", 1), &[&resolved]);
    }
    check(
        "user: go\nedit a.rs\nuser: more\nedit b.rs\nrun cargo test => ok",
        &["1 task completion: Changes made in b.rs and tests now pass"],
    );
}

#[test]
fn where_no_status_is_recorded_the_output_decides() {
    check(
        "user: go
         edit a.rs
         run cargo test => ? test result: ok. 3 passed; 0 failed",
        &["0 task completion: Changes made in a.rs and tests now pass"],
    );
}

#[test]
fn the_steps_of_a_long_turn_are_looked_at() {
    let lines = "user: build all of it
         edit a.rs
         run cargo test => ok
         thinking aloud
         edit b.rs
         run cargo test => bad 1 failed
         edit c.rs
         run cargo test => ok
         run cargo test => ok";
    check_with(
        lines,
        &[],
        10,
        &[
            "0 task completion: Changes made in a.rs and tests now pass",
            "0 error resolution: Failing tests fixed in b.rs, c.rs and tests now pass",
        ],
    );
    let messages = conversation(lines);
    let anchors = find(&messages, &turns(&messages), &[], 10);
    assert_eq!(anchors[0].range, 3..5, "the step whose test run succeeded");
    check(
        lines,
        &["0 error resolution: Failing tests fixed in a.rs, b.rs, c.rs and tests now pass"],
    );
}

#[test]
fn a_pin_is_a_checkpoint() {
    let lines = "user: first\nok\nuser: second thing\nok\nrun ls => ok";
    check_with(lines, &[3], LONG_TURN, &["1 user checkpoint: Pinned: second thing"]);
    check_with(lines, &[5, 99], 1, &["1 user checkpoint: Pinned: second thing"]);
}

#[test]
fn a_description_names_few_files_and_counts_the_rest() {
    let many: Vec<Arc<str>> = ["a/x.rs", "b/x.rs", "c.rs", "d.rs", "e.rs", "f.rs", ""]
        .map(Arc::from)
        .to_vec();
    assert_eq!(names(&many), "a/x.rs, b/x.rs, c.rs, d.rs and 2 more");
    let alike = ["x/scripts/run.sh", "y/scripts/run.sh", "run.sh"].map(Arc::from);
    assert_eq!(names(&alike), "x/scripts/run.sh, y/scripts/run.sh, run.sh");
    assert_eq!(names(&[Arc::from("é".repeat(500).as_str())]).chars().count(), SHOWN + 1);
    assert_eq!(describe(None, &[Arc::from("")]).1, "Changes made and tests now pass");
}

proptest! {
    #[test]
    fn anchors_are_sure_and_lie_in_their_turn(lines in proptest::collection::vec(0usize..8, 0..40), long in 0u64..100) {
        const LINES: [&str; 8] = [
            "user: go", "edit a.rs", "edit! b.rs", "run cargo test => ok", "run cargo test => bad", "run make => bad",
            "run pytest => ? 1 test passed", "well",
        ];
        let text: Vec<_> = lines.iter().map(|line| LINES[*line]).collect();
        let messages = conversation(&text.join("\n"));
        let turns = turns(&messages);
        let found = find(&messages, &turns, &[3, 7], long);
        for anchor in &found {
            prop_assert!(anchor.kind.confidence() >= 0.9 && anchor.kind.weight() <= 1.0);
            let turn = &turns[anchor.turn].0;
            prop_assert!(turn.start <= anchor.range.start && anchor.range.end <= turn.end);
        }
        prop_assert!(found.is_sorted_by_key(|anchor| anchor.range.start));
        prop_assert_eq!(find(&messages, &turns, &[3, 7], long), found);
    }
}
