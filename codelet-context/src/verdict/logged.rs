//! Counts of failures, and words of them, in the output of a run of tests that has closed well: they are the run's own, or what
//! the tests have logged.

use crate::said::{FAILED, FAILED_IN, Word, count, is_counting, is_of_failed_test, is_signed, names_failed, split};

/// What runners run.
const TESTS: &str = "test tests suite suites spec specs example examples scenario scenarios";

/// Whose failures an output tells of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Told {
    /// Of none, or of those that the tests have logged.
    Logged,
    /// Nobody can say whose they are.
    Unsure,
    /// They are the run's own.
    Own,
}

/// Whose failures these lines tell of.
///
/// A runner counts in lines that are nothing but counts. Of those, a single field (`errors: 3`) is what programs log, too: it is
/// the runner's only among others of its form.
pub(super) fn told<'a>(lines: impl Iterator<Item = &'a str>) -> Told {
    let (mut told, mut words, mut row) = (Told::Logged, Vec::new(), Row::default());
    for line in lines.filter(|line| !line.trim().is_empty()) {
        split(line, &mut words);
        let says = match row.fails(&words) {
            true => Told::Own,
            false => says(line, &words),
        };
        told = told.max(says);
        if told == Told::Own {
            break;
        }
    }
    told
}

/// Whose failures a line tells of by itself.
fn says(line: &str, words: &[Word]) -> Told {
    // The name of a test that passed may tell of anything.
    if is_signed(line) {
        return Told::Logged;
    }
    let is_shouted = |at: usize| is_shout(&words[at]) && count(words, at) != Some(0);
    let shouts = (0..words.len()).any(is_shouted);
    if is_counting(words) {
        return match shouts || counts_failures(words) {
            true if is_field(words) => Told::Unsure,
            true => Told::Own,
            false => Told::Logged,
        };
    }
    // `2 tests failed in suite login` may be a runner's sentence, and behind its sign of a failure it is one.
    let counts_tests = || counts_failures(words) && words.iter().any(|word| word.is_in(TESTS));
    let is_named =
        || FAILED_IN.iter().any(|sign| line.contains(sign)) || names_failed(line.trim(), &[]) && counts_tests();
    if is_of_failed_test(line) || line.contains("could not compile") || is_named() {
        return Told::Own;
    }
    match shouts || line.contains("command not found") || counts_tests() {
        true => Told::Unsure,
        false => Told::Logged,
    }
}

fn is_shout(word: &Word) -> bool {
    word.text == "FAIL" || word.text == "FAILED"
}

/// Whether a line is one of a runner that counts some that failed.
pub(super) fn is_own_count(line: &str) -> bool {
    let mut words = Vec::new();
    split(line, &mut words);
    !is_signed(line) && is_counting(&words) && says(line, &words) == Told::Own
}

/// Whether words count some that failed.
pub(super) fn counts_failures(words: &[Word]) -> bool {
    let failed = |at: usize| words[at].is_in(FAILED) && count(words, at).is_some_and(|count| count > 0);
    (0..words.len()).any(failed)
}

/// Whether words are a name with a number and nothing else: `errors: 3`.
fn is_field(words: &[Word]) -> bool {
    matches!(words, [name, number] if !name.is_number() && number.is_number() && number.is_value())
}

/// Lines of counts that follow each other, of which each is a [field](is_field).
#[derive(Clone, Copy, Default)]
pub(super) struct Row {
    fields: usize,
    has_failed: bool,
}

impl Row {
    /// Takes the next line. Whether more than one stand beside each other now, and one of them counts failures.
    pub fn fails(&mut self, words: &[Word]) -> bool {
        if !is_field(words) || !is_counting(words) {
            *self = Row::default();
            return false;
        }
        self.fields += 1;
        self.has_failed |= counts_failures(words);
        self.fields > 1 && self.has_failed
    }

    /// Whether the line that was taken last counts failures and has no other of its form beside it yet.
    pub fn is_lone_failure(&self) -> bool {
        self.fields == 1 && self.has_failed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::verdict::Verdict::{Failed, Passed, Unknown};
    use crate::verdict::tests::verdict;
    use proptest::prelude::*;

    /// How runs close that went well.
    const RUNS: &[(&str, &str)] = &[
        (
            "npx vitest run",
            " Test Files  29 passed (29)\n      Tests  684 passed | 1 todo (685)\n   Start at  10:00:00",
        ),
        (
            "npx jest",
            "Test Suites: 3 passed, 3 total\nTests:       12 passed, 12 total",
        ),
        (
            "cargo test",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ),
        (
            "cargo nextest run",
            "     Summary [   0.1s] 3 tests run: 3 passed, 0 skipped",
        ),
        ("bun test", " 3 pass\n 0 fail\nRan 3 tests across 1 file. [12.00ms]"),
        ("deno test", "ok | 3 passed | 0 failed (10ms)"),
        (
            "dotnet test",
            "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3",
        ),
        ("pytest -q", "9 passed in 0.2s"),
        ("./gradlew test", "BUILD SUCCESSFUL in 4s"),
    ];

    #[test]
    fn what_tests_log_of_failures_is_no_failure_of_a_run_that_closes_well() {
        const LOGGED: &[&str] = &[
            "{ source: 'file', count: 22, errors: 95 },",
            "errors: 3 found and handled",
            "sync summary: failures: 2",
            "[sync] done: 10 ok, 2 failed",
            "3 errors found in config (expected)",
            "WARN retry: 1 error",
            "     ✓ shows 2 failed uploads (3 ms)",
        ];
        for (line, close) in RUNS {
            for logged in LOGGED {
                for output in [format!("{logged}\n{close}"), format!("{logged}\nrunning\n\n{close}")] {
                    assert_eq!(verdict(line, None, &output), Passed, "{line}: {output}");
                    let piped = format!("{line} 2>&1 | tail -50");
                    assert_eq!(verdict(&piped, Some(true), &output), Passed, "{piped}: {output}");
                }
            }
        }
    }

    #[test]
    fn a_field_alone_is_nobodys_count_and_takes_nothing_from_a_recorded_success() {
        for (line, close) in RUNS {
            for field in ["errors: 3", "Errors: 3", "failed: 2", "failures=2"] {
                for output in [format!("{field}\n{close}"), format!("{field}\nrunning\n\n{close}")] {
                    assert_eq!(verdict(line, None, &output), Unknown, "{line}: {output}");
                    assert_eq!(verdict(line, Some(true), &output), Passed, "{line}: {output}");
                }
            }
        }
    }

    #[test]
    fn what_a_runner_itself_tells_of_failures_stands_though_another_run_closes_well() {
        for own in [
            "1 failed, 8 passed in 0.3s",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored",
            "FAILED tests/a.py::test_b - no",
            "--- FAIL: TestA (0.00s)",
            "FAIL src/a.test.ts",
            "test a ... FAILED",
            "  1 failing",
            "Passed: 4\nFailed: 1",
            "# pass 4\n# fail 1",
            "FAILED (failures=1)",
            "error: could not compile `a`",
        ] {
            let output = format!("{own}\nagain\n9 passed in 0.2s");
            assert_eq!(verdict("pytest -q", None, &output), Failed, "{output}");
            assert_eq!(verdict("pytest -q | tail", Some(true), &output), Failed, "{output}");
        }
        for unsure in ["the payment FAILED as it should", "sh: 1: ffmpeg: command not found"] {
            let output = format!("{unsure}\n9 passed in 0.2s");
            assert_eq!(verdict("pytest -q", None, &output), Unknown, "{output}");
            assert_eq!(verdict("pytest -q", Some(true), &output), Passed, "{output}");
        }
    }

    #[test]
    fn where_a_run_does_not_close_what_it_logs_may_be_its_own() {
        for output in ["tests\nerrors: 3", "tests\n[sync] done: 2 failed", "tests\nit FAILED"] {
            assert_eq!(verdict("pytest -q", None, output), Failed, "{output}");
        }
    }

    proptest! {
        #[test]
        fn more_lines_never_make_a_failure_less(lines in prop::collection::vec(r"([0-9]|errors: |failed|passed|FAIL|\PC| ){0,6}", 0..8)) {
            let some = told(lines.iter().take(4).map(String::as_str));
            prop_assert!(some <= told(lines.iter().map(String::as_str)));
        }
    }
}
