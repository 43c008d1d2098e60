//! Runs of tests that ran none: what they were narrowed to was not there, or all of it was left out. That nothing has failed says
//! nothing of the work then, whatever status came with it.

use super::{ends, texts};
use crate::failing::{printed, within_frame};
use crate::message::ToolResult;
use crate::said::{
    PASSED, Run, Word, begins_with_count, count, ends_with_count, is_of_failed_test, may_say_none_ran, passed, ran,
    says_none_ran, split,
};
use crate::strategy::counts_passed_tests;
use std::borrow::Cow;

/// Whether a run of tests says that it ran none, in a sentence or by its counts, and shows none that ran. Of several packages
/// some have no tests.
pub(super) fn ran_nothing(result: &ToolResult) -> bool {
    let texts: Vec<Cow<'_, str>> = texts(result).map(printed).collect();
    let lines = || texts.iter().flat_map(|text| ends(text)).flat_map(str::lines);
    // Hardly any output says that none ran, and of most lines a glance tells that they do not.
    let may_say = texts.iter().any(|text| may_say_none_ran(text));
    let says_none = |line: &str| {
        let (is_sentence, is_count) = (may_say && may_say_none_ran(line), ends_with_count(line));
        let line = (is_sentence || is_count).then(|| within_frame(line)).flatten();
        line.is_some_and(|line| (is_sentence || begins_with_count(line)) && said_by(line) == Some(Run::None))
    };
    let is_of_one = |line: &str| {
        // Of an output that was shortened, a number may stand for the lines that tell of them.
        let tells = passed(line).is_some() || is_of_failed_test(line) || counts_passed_tests(line);
        tells || said_by(line) == Some(Run::Some)
    };
    lines().any(says_none) && !lines().filter_map(within_frame).any(is_of_one)
}

/// What a line says of whether anything was run, by its counts or in a sentence.
fn said_by(line: &str) -> Option<Run> {
    let mut words = Vec::new();
    // Where there is no number, nothing is counted.
    if line.bytes().any(|byte| byte.is_ascii_digit()) {
        split(line, &mut words);
    }
    if counts_passed(&words) {
        return Some(Run::Some);
    }
    let ran = ran(&words).filter(|_| !words.is_empty());
    ran.or_else(|| says_none_ran(line).then_some(Run::None))
}

/// Whether a line counts some that passed, whatever else stands in it.
fn counts_passed(words: &[Word]) -> bool {
    let counted = |at: usize| count(words, at).is_some_and(|number| number > 0) && words[at].is_in(PASSED);
    (0..words.len()).any(counted)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::verdict::Verdict::{Failed, Passed, Unknown};
    use crate::verdict::tests::verdict;
    use proptest::prelude::*;

    #[test]
    fn a_run_that_ran_nothing_says_nothing() {
        let table = [
            (
                "dotnet test --filter x",
                "  Restored\nNo test matches the given testcase filter `x` in /w/a.dll",
            ),
            ("ctest -R x", "Test project /w/build\nNo tests were found!!!"),
            (
                "swift test --filter X",
                "Build complete! (0.2s)\nTest Suite 'Selected tests' passed at 2026-03-01 10:00:00.000.\n\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\nwarning: No matching test cases were run",
            ),
            (
                "npx vitest run x --passWithNoTests",
                "No test files found, exiting with code 0\n\nfilter: x",
            ),
            ("vendor/bin/phpunit --filter x", "PHPUnit 10.5.1\n\nNo tests executed!"),
            (
                "mix test --only x",
                "All tests have been excluded.\n\nFinished in 0.05 seconds\n12 tests, 0 failures, 12 excluded",
            ),
            (
                "bundle exec rspec -e x",
                "All examples were filtered out\n\nFinished in 0.0003 seconds\n0 examples, 0 failures",
            ),
            ("pnpm -r test", "None of the selected packages has a \"test\" script"),
            ("npm test --if-present", ""),
            (
                "go test ./...",
                "?   \ta.b/c\t[no test files]\n?   \ta.b/d\t[no test files]",
            ),
            (
                "go test ./c -run X",
                "testing: warning: no tests to run\nPASS\nok  \ta.b/c\t0.003s [no tests to run]",
            ),
            (
                "cargo test x",
                "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s",
            ),
            (
                "npx jest -t x",
                "Test Suites: 1 skipped, 0 of 1 total\nTests:       58 skipped, 58 total\nSnapshots:   0 total\nTime:        0.5 s",
            ),
            ("python -m unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN"),
            ("mvn verify", "[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS"),
        ];
        for (line, output) in table {
            for success in [Some(true), None] {
                assert_eq!(verdict(line, success, output), Unknown, "{line}: {output}");
            }
            let piped = format!("{line} 2>&1 | tail -20");
            assert_eq!(verdict(&piped, Some(true), output), Unknown, "{piped}: {output}");
        }
        // Some runners call it a failure.
        for (line, output) in [
            ("pytest -q -k x", "12 deselected in 0.12s"),
            (
                "npx jest x",
                "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0",
            ),
        ] {
            assert_eq!(verdict(line, Some(false), output), Unknown, "{line}: {output}");
        }
    }

    #[test]
    fn a_run_that_ran_something_is_told_whatever_was_left_out() {
        let table = [
            (
                "go test ./...",
                "?   \ta.b/c\t[no test files]\nok  \ta.b/d\t0.2s\nok  \ta.b/e\t0.2s [no tests to run]",
            ),
            (
                "cargo test x",
                "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed",
            ),
            (
                "dotnet test --filter x",
                "No test matches the given testcase filter `x` in /w/a.dll\nPassed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3",
            ),
            ("pytest -q -k x", "3 passed, 12 deselected in 0.12s"),
            (
                "go test ./...",
                "?   \ta.b/c\t[no test files]\nok … (× 7 alike lines)\n?   \ta.b/d\t[no test files]",
            ),
            ("mix test --only x", "12 tests, 0 failures, 10 excluded"),
            ("npm test", "> a@1.0.0 test\n> node t.js"),
            ("./gradlew test", "BUILD SUCCESSFUL in 4s"),
            ("npm test --if-present", "> a@1.0.0 test\n> node t.js"),
            ("npm test", ""),
        ];
        for (line, output) in table {
            assert_eq!(verdict(line, Some(true), output), Passed, "{line}: {output}");
        }
        assert_eq!(
            verdict("pytest", Some(false), "1 failed, 12 deselected in 0.1s"),
            Failed
        );
        assert_eq!(verdict("npm test", Some(false), "sh: jest: not found"), Failed);
    }

    proptest! {
        #[test]
        fn what_has_failed_is_never_idle(
            pieces in proptest::collection::vec(r"((no tests ran|0 passed|3 skipped|[a-z ]{0,9})\n)", 0..6),
            failed in 1u32..99,
            at in 0usize..6,
        ) {
            let mut pieces = pieces;
            pieces.insert(at.min(pieces.len()), format!("{failed} failed, 3 passed in 1s\n"));
            prop_assert_eq!(verdict("pytest", Some(false), &pieces.concat()), Failed);
        }
    }
}
