#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

/// What is stated in a text of which nothing is known: of two that disagree, the failure.
fn exit_status(text: &str, command: &str) -> Option<i64> {
    let mut found = stated(text, command);
    found.retain(|stated| !stated.form.is_loose());
    let failed = found.iter().find(|stated| stated.status != 0);
    failed.or(found.first()).map(|stated| stated.status)
}

fn forms(text: &str) -> Vec<Form> {
    stated(text, "make").iter().map(|stated| stated.form).collect()
}

fn check(text: &str, status: Option<i64>) {
    assert_eq!(exit_status(text, "make"), status, "{text}");
}

/// The status that a line states, whether it is a harness's or not.
fn of_line(line: &str) -> Option<i64> {
    let line = line.trim();
    tagged(line).or_else(|| statement(line)).or_else(|| loose::status(line))
}

#[test]
fn a_status_is_read_in_the_words_of_each_harness() {
    check("FAIL\npkg\nExit code 1\n\n<cwd>/x</cwd>", Some(1));
    check("Exit code 2\nmake: *** [all] Error 2", Some(2));
    check(
        "Exit code: 0\n\nCommand output:\n\n```\nok\n```\n\nCommand completed in 12 ms.",
        Some(0),
    );
    check("1 failed\n[The command completed with exit code 1.]", Some(1));
    check(
        "x\n[The command completed with exit code 3.]\n[Current working directory: /w]\n[Python interpreter: /p]\n\
         [Command finished with exit code 3]",
        Some(3),
    );
    check(
        "x\n[The command completed with exit code 4.]\n[Current working directory: /w]",
        Some(4),
    );
    check("Command executed in terminal. Exit code: 1\nOutput:\n1 failed", Some(1));
    check(
        "Command executed in terminal within working directory '/w'. Command execution was not successful, inspect \
         the cause.\nExit code: 101\nOutput:\nx",
        Some(101),
    );
    check("1 failed\nCommand exited with code 1", Some(1));
    check("1 failed\n\nCommand failed with exit code 1.", Some(1));
    check(
        "Command \"cargo test\" failed with exit code 101.\n\n```\nx\n```",
        Some(101),
    );
    check("<returncode>1</returncode>\n<output>\nx\n</output>", Some(1));
    check("<output>\nx\n</output>\n<exit_code>7</exit_code>", Some(7));
    check("<result>\n<exit_code>0\n<output>x</output>\n</result>", Some(0));
    check(
        "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 2\nOutput:\nx",
        Some(2),
    );
    check("x\n<command with shellId: 4 completed with exit code -1>", Some(-1));
    check("x\n(exit code: 137)", Some(137));
    let block = |code: &str| {
        format!(
            "Command: pytest\nDirectory: (root)\nStdout: 1 failed\nStderr: (empty)\nError: (none)\nExit Code: {code}\n\
             Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 48211"
        )
    };
    check(&block("1"), Some(1));
    check(&block("0"), Some(0));
    check(&block("(none)"), None);
    check("Output: x\nExit Code: 1\nProcess Group PGID: 7", Some(1));
}

#[test]
fn an_object_states_it_beside_what_was_printed() {
    let check = |object: &str, status: Option<i64>| {
        let object = serde_json::from_str(object).unwrap();
        assert_eq!(of_object(&object), status, "{object:?}");
    };
    check(r#"{"output":"--- FAIL","exitCode":1}"#, Some(1));
    check(r#"{"returncode": 0, "stdout": "", "stderr": ""}"#, Some(0));
    check(r#"{"output":"x","metadata":{"exit_code":2}}"#, Some(2));
    check(r#"{"status":1,"stdout":"x"}"#, Some(1));
    check(r#"{"status":404,"text":"x"}"#, None);
    check(r#"{"exitCode":1}"#, None);
    check(r#"{"output":"x","exitCode":"1"}"#, None);
}

#[test]
fn a_frame_that_tells_of_the_run_leaves_nothing_to_a_last_line() {
    let frame =
        |line: &str| format!("Chunk ID: ab\nWall time: 1 seconds\n{line}\nOutput:\nx\nProcess exited with code 0");
    check(&frame("Process running with session ID 5"), None);
    check(&frame("Original token count: 9"), None);
    check("Process running with session ID 5\nx\nExit code: 0", None);
    check("Wall time: 1 seconds\nOutput:\nProcess exited with code 0", None);
    check("Command executed in terminal.\nOutput:\n1 failed\nExit code 0", None);
    // Its own words below the output are another thing.
    check(
        "Duration: 3 s\nOutput:\n1 failed\n[Command finished with exit code 1]",
        Some(1),
    );
    check(
        "Command: pytest\nDuration: 3 s\nOutput:\n1 failed\nExit code: 1",
        Some(1),
    );
}

#[test]
fn a_line_states_a_status_in_a_tag_a_field_or_a_sentence() {
    for (line, status) in [
        ("<exit_code>7</exit_code>", Some(7)),
        ("  Exit code: 1", Some(1)),
        ("\"exitCode\": 2,", Some(2)),
        ("[Background job 3 exited with code 4]", Some(4)),
        ("3 files changed", None),
        ("status: 200", None),
    ] {
        assert_eq!(of_line(line), status, "{line}");
    }
}

#[test]
fn a_form_is_the_place_and_the_shape_and_not_the_words() {
    use Form::*;
    assert_eq!(forms("Exit code 1\nx"), [LineAbove]);
    assert_eq!(forms("Command failed with exit code 1.\nx"), [LineAbove]);
    assert_eq!(forms("x\nCommand completed with exit code 0"), [LineBelow]);
    assert_eq!(
        forms("<exit_code>0</exit_code>\nx\nCommand exited with code 1"),
        [TagAbove, LineBelow]
    );
    assert_eq!(forms("<output>\nx\n</output>\n<exit_code>7</exit_code>"), [TagBelow]);
    assert_eq!(
        forms("Exit code: 1\nx\n[Command finished with exit code 0]"),
        [LineAbove, SquareBelow]
    );
    assert_eq!(forms("x\n<exited with exit code 0>"), [AngleBelow]);
    assert_eq!(forms("Output: x\nExit Code: 1\nSignal: 9"), [Field]);
    assert_eq!(forms("Output: x\nExit Code: 1"), [Field]);
}

#[test]
fn a_line_that_says_it_in_any_other_way_is_a_loose_form() {
    use Form::{LooseAbove, LooseBelow};
    for (line, status) in [
        ("--- process ended with status 0 after 0.41s ---", 0),
        ("*** exit status 2 ***", 2),
        ("exited with status 1 after 0.41s", 1),
        ("[FAILED exit=101]", 101),
        ("[OK exit=0]", 0),
        ("> exit: -1 (took 3 ms)", -1),
        ("✗ Exit-Code 3", 3),
        ("[rc=1, 0.2s]", 1),
        ("# returned with return code 4", 4),
        ("Command finished with non-zero exit status: 2", 2),
        ("=== done | exitCode=7 | duration=410ms ===", 7),
        ("Process exited with code 3221225477.", 3_221_225_477),
    ] {
        for (text, form) in [
            (format!("{line}\nmade\nit"), LooseAbove),
            (format!("made\nit\n{line}\n"), LooseBelow),
        ] {
            let found = stated(&text, "make");
            let found: Vec<_> = found.iter().map(|found| (found.status, found.form)).collect();
            // Some of them are of a form that is known at that end.
            assert!(
                found.contains(&(status, form))
                    || found.iter().any(|(known, form)| *known == status && !form.is_loose()),
                "{text}: {found:?}"
            );
        }
    }
    for line in [
        "exit",
        "exit early",
        "exit=soon",
        "status 200",
        "HTTP status: 404",
        "error code 7",
        "exit 1 or exit 2",
        "3 passed in 0.41s",
        "code 1",
        "process.exit(main())",
    ] {
        assert_eq!(stated(&format!("{line}\nx"), "make"), [], "{line}");
    }
    assert_eq!(stated("x\n[exit=1]", "make; echo \"[exit=$?]\""), []);
}

#[test]
fn a_line_of_the_program_does_not_pose() {
    check("one\nExit code: 1\ntwo", None);
    check("one\n[The command completed with exit code 1.]\ntwo", None);
    check(
        "Command: x\nStdout: a\nExit Code: 1\nb\nExit Code: 0\nSignal: (none)",
        Some(0),
    );
    check("a\nExit Code: 1\nSignal: (none)", None);
    check("web-1 exited with code 0", None);
    check("error Command failed with exit code 1.\ninfo Visit", None);
    check(" ELIFECYCLE  Command failed with exit code 1.", None);
    check("<output>\nExit code: 1\n</output>", None);
    check("Exit code: many", None);
    check("the exit code 0", None);
    check("Exit code: 0\nWall time: 1 s\nOutput:\nx\nExit code 1", Some(1));
    check("Exit code: 0\nx\nExit code 1", Some(1));
    check("x\nExit code 1\n[Command finished with exit code 0]", Some(0));
    check("", None);
}

#[test]
fn a_status_that_the_command_prints_itself_is_not_the_harness_s() {
    assert_eq!(exit_status("x\nexit code: 1", "make; echo \"exit code: $?\""), None);
    let framed = "exit code: 1\n[The command completed with exit code 0.]";
    assert_eq!(exit_status(framed, "make; echo \"exit code: $?\""), Some(0));
}

proptest! {
    #[test]
    fn what_stands_in_the_middle_never_decides(
        middle in "[ -~\n]{0,80}", code in -9_i64..300,
        form in prop::sample::select(vec!["Exit code: 1", "[The command completed with exit code 1.]", "<exit_code>1</exit_code>",
            "Command exited with code 1", "Exit Code: 1\nSignal: (none)"]),
    ) {
        let lines = "plain line\n".repeat(MOST_LINES);
        let text = format!("{lines}{middle}\n{form}\n{middle}\n{lines}");
        prop_assert_eq!(exit_status(&text, "make"), None);
        let framed = format!("{text}[The command completed with exit code {code}.]");
        prop_assert_eq!(exit_status(&framed, "make"), Some(code));
    }

    #[test]
    fn no_text_breaks_it(text in "([<\\[{]|exit code|: |[0-9]{1,2}|with |exited |\n|[>\\]}/]|é|\\PC){0,30}") {
        stated(&text, "");
    }
}
