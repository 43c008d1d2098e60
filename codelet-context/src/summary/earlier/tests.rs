#![allow(clippy::unwrap_used)]

use super::super::{Story, tell};
use crate::anchor;
use crate::message::{Action, ActionKind, Message, Origin, Part, Role, Text, ToolCall, ToolResult};
use crate::outcome::Facts;
use crate::turn::turns;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

const SUMMARY: &str = "Summary of the earlier part of this session.
## Context
Goal: \"mend the spool\"
Tests, build: FAILED
Lint: passed (`ruff check spool`)
Failing: `cargo test -p wire`
  | bad crc
  | left: 1
Failed command: `npm publish`
  | E403
Decided: Which width? → 80
To do, under way: version byte
To do: changelog
To do, and not listed here: 2 more
Done of the to-do list: 1 of 5
## Key outcomes
- \"mend the spool\": edited a.rs
Quoted below: files touched.
To do: this is quoted";

#[test]
fn what_ran_again_and_came_to_nothing_known_is_told_as_from_before() {
    let rerun = "Failed before, run again since: `cargo test -p wire`";
    let told = again(SUMMARY, &["run cargo test -p wire => none Compiling wire"], 10_000);
    assert!(
        has(&told, rerun) && has(&told, "  | bad crc") && !told.contains("Failing: "),
        "{told}"
    );
    let once_more = again(&told, &[], 10_000);
    assert_eq!(once_more.matches(rerun).count(), 1, "{once_more}");
    let passed = again(&told, &["run cargo test -p wire => ok"], 10_000);
    assert!(!passed.contains("cargo test -p wire`\n"), "{passed}");
    let failed = again(&told, &["run cargo test -p wire => bad two FAILED"], 10_000);
    assert!(
        has(&failed, "Failing: `cargo test -p wire`") && !failed.contains(rerun),
        "{failed}"
    );
    let published = again(SUMMARY, &["run npm publish => none"], 10_000);
    assert!(
        has(&published, "Failed before, run again since: `npm publish`"),
        "{published}"
    );
    let published = again(&published, &["run npm publish => ok"], 10_000);
    assert!(!published.contains("npm publish"), "{published}");
}

#[test]
fn the_folder_told_beside_a_check_is_told_again_and_tells_it_from_others() {
    let summary = SUMMARY.replace("`cargo test -p wire`", "`npm test` in packages/api");
    let told = again(&summary, &["run cd /w/packages/web && npm test => ok"], 10_000);
    assert!(
        has(&told, "Failing: `npm test` in packages/api") && has(&told, "  | bad crc"),
        "{told}"
    );
    let told = again(&told, &["run cd /w/packages/api && npm test => ok"], 10_000);
    assert!(!told.contains("packages/api"), "{told}");
}

/// The summary with what comes after it: `run COMMAND => STATUS OUTPUT` where STATUS is `ok`, `bad` or `none`, `edit FILE`, `todo ITEM`.
fn again(summary: &str, after: &[&str], bytes: usize) -> String {
    again_with_rest(&[], summary, after, bytes)
}

/// The same with what stands before the summary: what was kept of the steps that it tells of.
fn again_with_rest(rest: &[&str], summary: &str, after: &[&str], bytes: usize) -> String {
    let mut messages = vec![Message::user("mend the spool")];
    add_steps(&mut messages, rest);
    let text = Text::new(summary, Origin::Summary);
    messages.push(Message::new(Role::User, vec![Part::Text(text)]));
    add_steps(&mut messages, after);
    messages.push(Message::user("go on"));
    telling(messages, bytes)
}

fn add_steps(messages: &mut Vec<Message>, steps: &[&str]) {
    for line in steps {
        let id = messages.len().to_string();
        let (kind, rest) = line.split_once(' ').unwrap();
        let (rest, answer) = rest.split_once(" => ").unwrap_or((rest, "ok done"));
        let (status, output) = answer.split_once(' ').unwrap_or((answer, ""));
        let (action, parameters) = match kind {
            "run" => (Action::command(rest), json!({})),
            "edit" => (Action::on(ActionKind::Change, [rest]), json!({})),
            _ => (Action::on(ActionKind::Todo, []), json!({"todos": [{"content": rest}]})),
        };
        let Value::Object(parameters) = parameters else {
            continue;
        };
        let call = ToolCall::new(id.as_str(), "t", parameters).doing(action);
        messages.push(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        messages.push(Message::results(vec![ToolResult::new(
            id.as_str(),
            (status != "none").then_some(status == "ok"),
            output,
        )]));
    }
}

/// The summary of all of these.
fn telling(messages: Vec<Message>, bytes: usize) -> String {
    let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    let turns = turns(&messages);
    let story = Story {
        messages: &messages,
        summarising: &(0..messages.len()).collect::<Vec<_>>(),
        turns: &turns,
        until: messages.len(),
        ledger: &messages.iter().cloned().collect(),
        facts: &Facts::gather(&messages),
        anchors: &anchor::find(&messages, &turns, &[], anchor::LONG_TURN),
        pins: &[],
    };
    tell(&story, bytes)
}

fn has(told: &str, line: &str) -> bool {
    told.lines().any(|other| other == line)
}

#[test]
fn what_was_open_is_still_open_and_told_once() {
    let told = again(SUMMARY, &[], 10_000);
    for line in SUMMARY.lines().take_while(|line| !line.starts_with("Quoted")).skip(1) {
        assert_eq!(
            told.lines().filter(|other| *other == line).count(),
            1,
            "{line} in\n{told}"
        );
    }
    assert!(!told.contains("this is quoted"), "{told}");
}

#[test]
fn the_goal_is_what_it_was_whatever_stands_before_the_summary() {
    let summary = "Summary of the earlier part of this session.\n## Context\nGoal: \"Review all of the…\"\nLatest prompt: \"now the wire\"\n\
                   ## Key outcomes\n- \"Review all of the…\": edited a.rs";
    let whole = "Review all of the tickets that are open";
    let (goal, line) = (format!("Goal: \"{whole}\""), "Latest prompt: \"now the wire\"");
    let told = |before: &[&str], summary: &str, after: &[&str]| {
        let text = Part::Text(Text::new(summary, Origin::Summary));
        let said = |text: &&str| [Message::user(*text), Message::assistant("Looked at.")];
        let mut messages: Vec<Message> = before.iter().flat_map(said).collect();
        messages.push(Message::new(Role::User, vec![text]));
        messages.extend(after.iter().flat_map(said));
        telling(messages, 10_000)
    };
    let frame = "Filesystem sandboxing defines what can be read or written.";
    // What was cut is told in full where the prompt is still there.
    let again = told(&[frame, whole, "now the wire"], summary, &[]);
    assert!(has(&again, &goal) && has(&again, line), "{again}");
    let again = told(&[frame], summary, &[]);
    assert!(
        has(&again, "Goal: \"Review all of the…\"") && has(&again, line),
        "{again}"
    );
    let again = told(&[frame, whole], summary, &["what does the box do?"]);
    assert!(
        has(&again, &goal) && has(&again, "Latest prompt: \"what does the box do?\""),
        "{again}"
    );
    let again = told(&[frame, whole], summary, &["/model"]);
    assert!(has(&again, line), "{again}");
    // Without a goal, and in words of another, there is nothing to go by.
    for summary in [
        "Summary of the earlier part of this session.\n## Context\nTo do: a",
        "Goal: \"x y z\"",
    ] {
        let again = told(&[whole, "now the wire"], summary, &[]);
        assert!(has(&again, &goal) && has(&again, line), "{again}");
    }
}

#[test]
fn a_line_says_that_a_turn_goes_on_only_while_it_does() {
    let summary = "Summary of the earlier part of this session.\n## Context\nGoal: \"mend the spool\"\n## Key outcomes\n\
                   - \"mend the spool\": edited a.rs; goes on below\n  - then edited b.rs; goes on below\n  - edited b.rs; tests failed\n  - then goes on below";
    let told = again(summary, &["edit c.rs"], 10_000);
    assert!(!told.contains("goes on below"), "{told}");
    for line in [
        "- \"mend the spool\": edited a.rs",
        "  - then edited b.rs",
        "  - then edited c.rs",
    ] {
        assert!(has(&told, line), "{told}");
    }
}

#[test]
fn in_little_room_what_was_open_goes_before_what_was_said() {
    let told = again(SUMMARY, &["run cargo test -p box => bad one FAILED"], 280);
    for line in [
        "To do, under way: version byte",
        "To do: changelog",
        "To do, and not listed here: 2 more",
        "Failing: `cargo test -p box`",
        "Failing: `cargo test -p wire`",
    ] {
        assert!(has(&told, line), "{line} in\n{told}");
    }
}

#[test]
fn the_goal_goes_before_what_says_little_of_how_things_stand() {
    let summary = "Summary\n## Context\nTests, build: ran, result unclear (`cargo test -p wire && make all`)\n\
                   To do: a\nDone of the to-do list: 3 of 14";
    let goal = "Goal: \"mend the spool\"";
    for bytes in 60..200 {
        let told = again(summary, &[], bytes);
        assert!(has(&told, goal), "{bytes}: {told}");
    }
    let told = again(summary, &[], 400);
    for line in summary.lines().skip(2) {
        assert!(has(&told, line), "{line} in\n{told}");
    }
}

#[test]
fn no_number_that_a_summary_names_is_too_large() {
    let items: Vec<String> = (0..30).map(|number| format!("To do: item {number}")).collect();
    for number in ["18446744073709551615", "99999999999999999999999", "987654321"] {
        let summary = format!(
            "Summary\n## Context\n{}\nTo do, and not listed here: {number} more",
            items.join("\n")
        );
        let told = again(&summary, &[], 500);
        assert!(told.contains("To do, and not listed here: "), "{told}");
        assert!(!told.contains(number), "{told}");
    }
}

#[test]
fn an_earlier_error_goes_where_the_same_has_failed_or_passed_since_and_nowhere_else() {
    let wire = "Failing: `cargo test -p wire`";
    let cases: [(&[&str], bool); 9] = [
        (&["run cargo test -p wire => ok"], false),
        (&["run cargo test => ok"], false),
        (&["run cargo test -p wire --lib => ok"], true),
        (&["run cargo test -p wire crc => ok"], true),
        (
            &["run cargo test -p wire -q => ok", "run cargo test -p box => bad FAILED"],
            false,
        ),
        (&["run cargo test -p box => bad one FAILED"], true),
        (&["run cargo build => ok"], true),
        (&["run npm publish => ok"], true),
        (&["edit a.rs"], true),
    ];
    for (after, stays) in cases {
        let told = again(SUMMARY, after, 10_000);
        assert_eq!(has(&told, wire), stays, "{after:?}\n{told}");
    }
    let told = again(SUMMARY, &["run cargo test -p wire => bad two FAILED"], 10_000);
    assert_eq!(told.matches(wire).count(), 1, "{told}");
    assert!(told.contains("two FAILED") && !told.contains("bad crc"), "{told}");
    let published = again(SUMMARY, &["run npm publish => ok"], 10_000);
    assert!(!published.contains("npm publish"), "{published}");
    let installed = again(SUMMARY, &["run npm install => ok"], 10_000);
    assert!(has(&installed, "Failed command: `npm publish`"), "{installed}");
}

#[test]
fn a_newer_list_takes_the_place_of_the_earlier_one() {
    let told = again(SUMMARY, &["todo ship it"], 10_000);
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("To do")).collect();
    assert_eq!(lines, ["To do: ship it"]);
    assert!(has(&told, "Done of the to-do list: 0 of 1"), "{told}");
}

#[test]
fn a_status_stays_for_the_checks_that_have_not_run_since() {
    let told = again(SUMMARY, &["run cargo build => ok"], 10_000);
    assert!(
        has(&told, "Tests: FAILED") && has(&told, "Build: passed (`cargo build`)"),
        "{told}"
    );
    let told = again(SUMMARY, &["edit a.rs"], 10_000);
    assert!(
        has(&told, "Lint: passed, files changed since (`ruff check spool`)"),
        "{told}"
    );
}

proptest! {
    #[test]
    fn whatever_a_summary_says_the_bound_is_kept_and_twice_is_once(
        lines in proptest::collection::vec(
            r#"(Failing: `|Failed command: `|To do: |To do, and not listed here: |Tests: |Lint, build: |Pinned: |Decided: |  \| |- |)[a-c0-9 `é(]{0,30}"#, 0..20),
        after in proptest::collection::vec("(run cargo test => ok|run \\./x => bad no|edit a|todo b)", 0..4),
        bytes in 0usize..900,
    ) {
        let summary = lines.join("\n");
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        let told = again(&summary, &after, bytes);
        prop_assert!(told.len() <= bytes, "{} of {bytes}: {told}", told.len());
        let once = again(&summary, &[], 20_000);
        prop_assert_eq!(&again(&once, &[], 20_000), &once);
    }
}

#[test]
fn a_check_that_passed_beside_one_that_fails_is_told_as_that() {
    let none = "Summary of the earlier part of this session.\n## Context\nGoal: \"mend\"";
    let failed = "run npm test => bad 3 failed, 85 passed";
    let narrow = "run npm test -- src/a.test.ts => ok 4 passed";
    let beside = "Tests: FAILED, another run passed since (passed: `npm test -- src/a.test.ts`)";
    let told = again(none, &[failed, narrow], 10_000);
    assert!(has(&told, beside) && has(&told, "Failing: `npm test`"), "{told}");
    // The same where an earlier summary tells of what failed.
    let told = again(&again(none, &[failed], 10_000), &[narrow], 10_000);
    assert!(has(&told, beside) && has(&told, "Failing: `npm test`"), "{told}");
    let stale = again(&told, &["edit a.ts"], 10_000);
    let line = "Tests: FAILED, another run passed since, files changed since (passed: `npm test -- src/a.test.ts`)";
    assert!(has(&stale, line), "{stale}");
    let passed = again(&told, &["run npm test => ok 88 passed"], 10_000);
    assert!(
        has(&passed, "Tests: passed (`npm test`)") && !passed.contains("FAILED"),
        "{passed}"
    );
    let told = again(
        none,
        &[
            "run npx vitest run => bad 1 failed",
            "run npx playwright test --ui => none",
        ],
        10_000,
    );
    let line = "Tests: FAILED, another run unclear since (unclear: `npx playwright test --ui`)";
    assert!(has(&told, line), "{told}");
}

#[test]
fn a_check_that_fails_says_nothing_of_those_of_other_kinds_or_of_itself_run_again() {
    let none = "Summary of the earlier part of this session.\n## Context\nGoal: \"mend\"";
    let failed = "run cargo test => bad 1 failed";
    let told = again(none, &[failed, "run cargo clippy => ok"], 10_000);
    assert!(
        has(&told, "Tests: FAILED") && has(&told, "Lint: passed (`cargo clippy`)"),
        "{told}"
    );
    let told = again(none, &[failed, "run cargo test => none Compiling a"], 10_000);
    assert!(has(&told, "Tests: ran, result unclear"), "{told}");
    let told = again(
        none,
        &["run npx eslint . => bad 1 error", "run npx prettier --write . => ok"],
        10_000,
    );
    assert!(has(&told, "Lint: FAILED, files changed since"), "{told}");
}

#[test]
fn a_pass_that_may_well_cover_what_failed_is_told_as_one() {
    let none = "Summary of the earlier part of this session.\n## Context\nGoal: \"mend\"";
    let steps = ["run npx vitest run => bad 1 failed", "edit a.ts", "run make test => ok"];
    let told = again(none, &steps, 10_000);
    assert!(
        has(&told, "Tests: passed (`make test`)") && has(&told, "Failing: `npx vitest run`"),
        "{told}"
    );
}

#[test]
fn what_is_left_of_a_run_does_not_overrule_the_summary_that_has_seen_it_whole() {
    let summary = "Summary of the earlier part of this session.\n## Context\nGoal: \"mend\"\n\
                   Tests: passed, files changed since (`go test ./...`)\nBuild: ran, result unclear (`make`)";
    let told = "Tests: passed, files changed since (`go test ./...`)";
    // Of the run a part may be left that says nothing, and what was changed since may have no line left.
    for left in ["none ?   \ta.b/c\t[no test files]", "ok", "bad 1 failed"] {
        let rest = [format!("run go test ./... => {left}")];
        let again = again_with_rest(&[&rest[0]], summary, &[], 10_000);
        assert!(has(&again, told), "{left}: {again}");
        let again = again_with_rest(&[&rest[0]], summary, &["edit a.go"], 10_000);
        assert!(has(&again, told), "{left}: {again}");
    }
    // What ran since is known better, and so is what the summary did not know.
    let again = again_with_rest(
        &["run make => ok"],
        summary,
        &["run go test ./... => bad 1 failed"],
        10_000,
    );
    assert!(
        has(&again, "Tests: FAILED") && has(&again, "Build: passed (`make`)"),
        "{again}"
    );
}

#[test]
fn what_passed_beside_a_failure_of_another_kind_is_told_as_before() {
    let summary = "Summary of the earlier part of this session.\n## Context\nGoal: \"mend\"\n\
                   Lint: passed (`npm run check`)\nFailing: `npm run format && npx biome check a.ts`";
    let rest = ["run npm run check => ok Checked 7 files. No fixes applied."];
    for rest in [&rest[..], &[]] {
        let again = again_with_rest(rest, summary, &[], 10_000);
        assert!(has(&again, "Lint: passed (`npm run check`)"), "{again}");
    }
}
