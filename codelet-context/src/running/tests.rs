#![allow(clippy::unwrap_used)]

use super::*;
use crate::message::{Action, Message, Part, Role};
use crate::outcome::{Facts, Verdict};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

/// Calls with their answers: the tool, its parameters, the status that came with the answer, and the answer.
fn facts(calls: &[(&str, Value, Option<bool>, &str)]) -> Facts {
    let mut messages = Vec::new();
    for (number, (tool, parameters, success, answer)) in calls.iter().enumerate() {
        let id = number.to_string();
        let line = parameters.get("command").and_then(Value::as_str);
        let action = match line {
            // As a reader takes what is typed into what runs.
            Some(line) if line.is_empty() || is_key(line) || parameters.get("is_input").is_some() => Action {
                kind: ActionKind::Command,
                ..Action::default()
            },
            line => line.map_or_else(Action::default, Action::command),
        };
        let call = ToolCall::new(id.as_str(), *tool, parameters.as_object().unwrap().clone()).doing(action);
        messages.push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
        messages.push(Arc::new(Message::results(vec![ToolResult::new(
            id.as_str(),
            *success,
            *answer,
        )])));
    }
    Facts::gather(&messages)
}

fn tests(calls: &[(&str, Value, Option<bool>, &str)]) -> Option<Verdict> {
    facts(calls).tests.map(|fact| fact.verdict)
}

const YES: Option<bool> = Some(true);

#[test]
fn that_a_check_was_started_is_no_word_on_how_it_went() {
    for answer in [
        "Command running in background with ID: b7f3a1. Output is being written to: /tmp/tasks/b7f3a1.output",
        "Command was manually backgrounded by user with ID: b7f3a1",
        "Chunk ID: 0b19a4\nWall time: 10.0 seconds\nProcess running with session ID 75259\nOriginal token count: 9\nOutput:\n40 passed, 0 failed",
        "a ... ok\n<command with shellId: 27 is still running after 30 seconds. Use read_bash to continue waiting.>",
        "Command is still running in the user's terminal.\nHere's the output so far:\n\ncollected 9 items",
        "Started background process 3",
        "{\"task_id\":\"t9\",\"status\":\"running\",\"message\":\"The command is running in the background\"}",
        "[The command has no new output after 10 seconds. You may wait longer.]",
    ] {
        let run = ("Bash", json!({"command": "cargo test"}), YES, answer);
        assert_eq!(tests(&[run]), Some(Verdict::Unknown), "{answer}");
    }
    for parameters in [
        json!({"command": "cargo test", "run_in_background": true}),
        json!({"command": "cargo test", "is_background": "true"}),
        json!({"command": "cargo test", "mode": "async"}),
    ] {
        assert_eq!(tests(&[("Bash", parameters, YES, "ok")]), Some(Verdict::Unknown));
    }
}

#[test]
fn a_run_that_speaks_of_the_background_has_ended_all_the_same() {
    for answer in [
        "running 2 tests\ntest runs_in_the_background ... ok\ntest result: ok. 2 passed; 0 failed",
        "Started server process 41 in the background\na\nb\nc\nd\ntest result: ok. 2 passed; 0 failed; 0 ignored",
        "the worker process is still running\na\nb\nc\nd\n3 passed",
        "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nserver process running in background\nok",
    ] {
        let run = ("Bash", json!({"command": "cargo test"}), YES, answer);
        assert_eq!(tests(&[run]), Some(Verdict::Passed), "{answer}");
    }
    let parameters = json!({"command": "cargo test", "run_in_background": false});
    assert_eq!(tests(&[("Bash", parameters, YES, "ok")]), Some(Verdict::Passed));
    let failed = (
        "Bash",
        json!({"command": "cargo test", "background": true}),
        Some(false),
        "1 failed",
    );
    assert_eq!(tests(&[failed]), Some(Verdict::Failed));
}

#[test]
fn a_later_answer_tells_what_came_of_it() {
    let started = |answer| ("Bash", json!({"command": "cargo test"}), YES, answer);
    let claude =
        started("Command running in background with ID: b7f3a1. Output is being written to: /tmp/b7f3a1.output");
    let codex = started("Chunk ID: c\nWall time: 9 seconds\nProcess running with session ID 75259\nOutput:\n");
    let copilot = started("<command with shellId: 27 is still running after 30 seconds.>");
    let table = [
        (
            &claude,
            (
                "TaskOutput",
                json!({"task_id": "b7f3a1"}),
                "<retrieval_status>success</retrieval_status>\n<task_id>b7f3a1</task_id>\n<status>failed</status>\n<exit_code>101</exit_code>\n<output>\ntest result: FAILED. 2 passed; 2 failed\n</output>",
            ),
            Verdict::Failed,
        ),
        (
            &claude,
            (
                "TaskOutput",
                json!({"task_id": "b7f3a1"}),
                "<status>completed</status>\n<exit_code>0</exit_code>\n<output>\nok\n</output>",
            ),
            Verdict::Passed,
        ),
        (
            &claude,
            (
                "TaskOutput",
                json!({"task_id": "b7f3a1"}),
                "<retrieval_status>timeout</retrieval_status>\n<status>running</status>\n<output>\n3 passed\n</output>",
            ),
            Verdict::Unknown,
        ),
        (
            &claude,
            (
                "TaskOutput",
                json!({"task_id": "other"}),
                "<status>failed</status>\n<exit_code>1</exit_code>",
            ),
            Verdict::Unknown,
        ),
        (
            &claude,
            (
                "KillShell",
                json!({"shell_id": "b7f3a1"}),
                "Successfully killed shell: b7f3a1 (cargo test)",
            ),
            Verdict::Unknown,
        ),
        (
            &claude,
            (
                "BashOutput",
                json!({"bash_id": "b7f3a1"}),
                "<status>killed</status>\n<exit_code>137</exit_code>",
            ),
            Verdict::Unknown,
        ),
        (
            &codex,
            (
                "write_stdin",
                json!({"session_id": 75259, "chars": ""}),
                "Chunk ID: d\nWall time: 1 seconds\nProcess exited with code 101\nOutput:\n",
            ),
            Verdict::Failed,
        ),
        (
            &codex,
            (
                "write_stdin",
                json!({"session_id": 75259, "chars": ""}),
                "Chunk ID: d\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nexit code: 3",
            ),
            Verdict::Passed,
        ),
        (
            &codex,
            (
                "write_stdin",
                json!({"session_id": 75259, "chars": ""}),
                "Chunk ID: d\nWall time: 1 seconds\nProcess running with session ID 75259\nOutput:\n1 failed",
            ),
            Verdict::Unknown,
        ),
        (
            &copilot,
            (
                "read_bash",
                json!({"shellId": "27", "delay": 2}),
                "1 failed\n<command with shellId: 27 completed with exit code 1>",
            ),
            Verdict::Failed,
        ),
        (
            &copilot,
            (
                "read_bash",
                json!({"shellId": "30", "delay": 27}),
                "<command with shellId: 30 completed with exit code 1>",
            ),
            Verdict::Unknown,
        ),
    ];
    for (start, (tool, parameters, answer), expected) in table {
        let later = (tool, parameters, YES, answer);
        assert_eq!(tests(&[start.clone(), later]), Some(expected), "{answer}");
    }
    let poll = (
        "TaskOutput",
        json!({"task_id": "b7f3a1"}),
        YES,
        "<status>failed</status>\n<exit_code>101</exit_code>\n<output>\ntest a ... FAILED\n</output>",
    );
    let facts = facts(&[claude.clone(), poll]);
    assert_eq!(facts.errors[0].command, "cargo test");
    assert!(facts.errors[0].lines.iter().any(|line| line.contains("FAILED")));
}

/// A call of a tool for commands, with its answer.
fn typed<'a>(line: &'a str, success: bool, answer: &'a str) -> (&'a str, Value, Option<bool>, &'a str) {
    ("shell", json!({ "command": line }), Some(success), answer)
}

const WAITS: &str =
    "collected 9 items\na.py ....\n[The command has no new output after 30 seconds. You may wait longer.]";

#[test]
fn a_call_of_the_same_tool_without_a_command_tells_what_came_of_it() {
    let poll = |success, answer| typed("", success, answer);
    let failed = "..F\nFAILED a.py::test_b - x\n1 failed, 8 passed in 44.1s\n[Command finished with exit code 1]";
    let passed = "....\n9 passed in 71.2s\n[Command finished with exit code 0]";
    for (answers, expected) in [
        (&[poll(false, failed)][..], Verdict::Failed),
        (&[poll(true, passed)], Verdict::Passed),
        (&[poll(true, WAITS), poll(false, failed)], Verdict::Failed),
        (&[poll(true, WAITS)], Verdict::Unknown),
        (&[poll(false, "ERROR: nothing runs")], Verdict::Unknown),
        (
            &[("other", json!({"command": ""}), Some(false), failed)],
            Verdict::Unknown,
        ),
        (
            &[("shell", json!({"command": "", "session": "s2"}), Some(false), failed)],
            Verdict::Unknown,
        ),
    ] {
        let calls = [&[typed("pytest", true, WAITS)], answers].concat();
        assert_eq!(tests(&calls), Some(expected), "{answers:?}");
    }
    let told = facts(&[typed("pytest", true, WAITS), poll(false, failed)]);
    assert_eq!(told.errors[0].command, "pytest");
    assert!(told.errors[0].lines.iter().any(|line| line.contains("test_b")));
    // What was typed into it is no command of its own.
    let answered = (
        "shell",
        json!({"command": "y", "is_input": "true"}),
        Some(false),
        failed,
    );
    assert_eq!(tests(&[typed("pytest", true, WAITS), answered]), Some(Verdict::Failed));
}

#[test]
fn a_key_ends_what_runs_and_is_no_command_that_failed() {
    let started = || {
        typed(
            "pytest",
            true,
            "[The command timed out after 9 seconds. You may wait longer.]",
        )
    };
    for answer in [
        "^C\n[Command finished with exit code 130]",
        "^C",
        "^C\n[Command finished with exit code 1]",
        "^C\n!!! KeyboardInterrupt !!!\n4 passed in 9.1s\n[The command completed with exit code 2.]",
    ] {
        let told = facts(&[started(), typed("C-c", false, answer)]);
        assert_eq!(told.errors.len(), 0, "{answer}");
        assert_eq!(told.tests.unwrap().verdict, Verdict::Unknown, "{answer}");
        // A later call without a command is about nothing that is over.
        let later = typed("", false, "1 failed\n[Command finished with exit code 1]");
        assert_eq!(
            tests(&[started(), typed("C-c", false, answer), later]),
            Some(Verdict::Unknown)
        );
    }
    let shown = "^C\nFAILED a.py::test_b\n1 failed, 2 passed in 3s\n[Command finished with exit code 2]";
    assert_eq!(tests(&[started(), typed("C-c", false, shown)]), Some(Verdict::Failed));
    let broken_off = shown.replace("1 failed", "!!! KeyboardInterrupt !!!\n1 failed");
    assert_eq!(
        tests(&[started(), typed("C-c", false, &broken_off)]),
        Some(Verdict::Failed)
    );
    let goes_on = typed("C-c", true, WAITS);
    let end = typed(
        "",
        false,
        "1 failed, 2 passed in 3s\n[Command finished with exit code 1]",
    );
    assert_eq!(tests(&[started(), goes_on, end]), Some(Verdict::Failed));
}

#[test]
fn a_look_at_the_file_that_it_prints_to_tells_what_came_of_it() {
    let started = (
        "Bash",
        json!({"command": "cargo test", "run_in_background": true}),
        YES,
        "Command running in background with ID: b7f3a1. Output is being written to: /tmp/tasks/b7f3a1.output",
    );
    let look = |line: &'static str, answer| ("Bash", json!({ "command": line }), YES, answer);
    let failed = "test a ... FAILED\ntest result: FAILED. 2 passed; 1 failed; 0 ignored";
    for (line, answer, expected) in [
        ("tail -5 /tmp/tasks/b7f3a1.output", failed, Verdict::Failed),
        (
            "sleep 30; tail -20 /tmp/tasks/b7f3a1.output",
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            Verdict::Passed,
        ),
        (
            "cat /tmp/tasks/b7f3a1.output | tail -3",
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            Verdict::Passed,
        ),
        (
            "cat /tmp/tasks/b7f3a1.output",
            "   Compiling a v0.1.0",
            Verdict::Unknown,
        ),
        ("cat /tmp/tasks/other.output", failed, Verdict::Unknown),
        ("wc -l /tmp/tasks/b7f3a1.output", "3 failed", Verdict::Unknown),
        ("grep -c ok /tmp/tasks/b7f3a1.output", "3 passed", Verdict::Unknown),
    ] {
        assert_eq!(tests(&[started.clone(), look(line, answer)]), Some(expected), "{line}");
    }
    let told = facts(&[started.clone(), look("tail -5 /tmp/tasks/b7f3a1.output", failed)]);
    assert_eq!(told.tests.unwrap().command, "cargo test");
    assert_eq!(told.errors[0].command, "cargo test");
    let again = [
        started,
        look("tail -5 /tmp/tasks/b7f3a1.output", failed),
        look("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored"),
    ];
    assert_eq!(facts(&again).errors.len(), 0);
}

#[test]
fn numbers_before_lines_are_no_part_of_what_was_printed() {
    assert_eq!(unnumbered("     1\ta\n     2\tb: 3"), "a\nb: 3");
    assert_eq!(unnumbered("1→a\n2→"), "a\n");
    assert_eq!(unnumbered("3 passed\n4 failed"), "3 passed\n4 failed");
}

#[test]
fn that_what_watches_the_tests_is_left_is_no_word_on_those_it_has_shown() {
    let frame = "Chunk ID: c\nWall time: 9 seconds\nProcess running with session ID 75259\nOutput:";
    let shown = |tests: &str| format!("{frame}\n{tests}\n\nWatch Usage");
    let (broken, well) = (
        shown("Tests: 1 failed, 3 passed, 4 total"),
        shown("Tests: 4 passed, 4 total"),
    );
    let write = || ("write_stdin", json!({"session_id": 75259, "chars": "q"}));
    let start = ("exec_command", json!({"command": "npx jest --watch"}));
    let end = "Process exited with code 0\nOutput:\n";
    for (first, second, expected) in [
        (&broken, &broken, Verdict::Unknown),
        (&well, &broken, Verdict::Unknown),
        (&broken, &well, Verdict::Passed),
        (&well, &well, Verdict::Passed),
    ] {
        let calls = [
            (start.0, start.1.clone(), None, first.as_str()),
            (write().0, write().1, None, second.as_str()),
            (write().0, write().1, None, end),
        ];
        assert_eq!(tests(&calls), Some(expected), "{first} {second}");
    }
}

#[test]
fn what_was_started_is_over_nothing() {
    let failed = ("Bash", json!({"command": "./deploy"}), Some(false), "no such host");
    let started = (
        "Bash",
        json!({"command": "./deploy", "run_in_background": true}),
        YES,
        "Command running in background with ID: b1",
    );
    let ended = |status: u8| {
        (
            "TaskOutput",
            json!({"task_id": "b1"}),
            YES,
            if status == 0 {
                "<exit_code>0</exit_code>"
            } else {
                "<exit_code>1</exit_code>"
            },
        )
    };
    let open = |calls: &[_]| facts(calls).errors.len();
    assert_eq!(open(&[failed.clone(), started.clone()]), 1);
    assert_eq!(open(&[failed.clone(), started.clone(), ended(0)]), 0);
    assert_eq!(open(&[started.clone(), ended(1)]), 1);
    assert_eq!(open(&[started, ended(0)]), 0);
}

proptest! {
    #[test]
    fn no_answer_is_too_odd(
        first in r"(\PC|\n|Command running in background with ID: b1|session ID 5|status|<status>|running|exit code -?[0-9]){0,12}",
        second in r"(\PC|\n|<exit_code>|</exit_code>|[0-9]|exited with code |<status>|status: |failed|:){0,12}",
    ) {
        facts(&[
            ("Bash", json!({"command": "cargo test", "background": true}), YES, &first),
            ("Poll", json!({"id": "b1", "session_id": 5}), YES, &second),
        ]);
    }
}
