//! The lines with which runs of tests close. They are known by being nothing but counts, whoever's they are, or by a sentence
//! that only runners say; and by standing at the end, because what a test prints stands before them.

use super::quiet::is_error;
use super::signs::{BREAKING_OFF, CUT};
use super::{Word, count, counts_failures, is_of_one_that_passed, split, texts};
use crate::failing::{printed, within_frame};
use crate::message::ToolResult;
use crate::testrun::Check;

/// Bytes to the end of an output that are looked at, and lines of no known kind that may stand behind the closing ones.
const LAST: usize = 4 * 1024;
const STRANGE: usize = 3;

/// Whether an output closes with counts of tests of which none has failed, or says so: `Some(false)` where one has, or the
/// output does not end there, and `None` where it closes in no such way.
pub(super) fn closes_well(result: &ToolResult) -> Option<bool> {
    last_text(result, |lines| {
        let (mut counts, mut strange, mut words) = (Counts::default(), 0, Vec::new());
        for line in lines {
            split(line, &mut words);
            let is_counting = is_counting(&words);
            if is_of_one_that_passed(line) {
                // A runner may put its sign before its counts; the name of a test may tell of anything.
                let mut all = counts;
                if is_counting && all.take(&words) {
                    counts = all;
                }
            } else if says_so(line) {
                counts.is_said = true;
            } else if counts.are_well() && !is_counting {
                // What stands before the counts was printed by what was run.
                break;
            } else if CUT.is_in(line) || is_error(line) || breaks_off(line) {
                return Some(false);
            } else if is_counting {
                if !counts.take(&words) {
                    return Some(false);
                }
            } else if !words.is_empty() && !is_trailer(line) {
                strange += 1;
                if strange > STRANGE {
                    break;
                }
            }
        }
        counts.are_well().then_some(true)
    })?
}

/// Whether an output ends with the word that it does not end there, or that what was run did not.
pub(super) fn is_cut(result: &ToolResult) -> bool {
    last_text(result, |lines| lines.next().is_some_and(|line| CUT.is_in(line))) == Some(true)
}

/// Whether make has echoed as its last command that something was compiled or linked, and said of no error behind it: it never
/// ends on one without a word.
pub(super) fn has_made(check: &Check, result: &ToolResult) -> bool {
    const MAKES: &[&str] = &["make", "gmake", "mingw32-make", "ninja", "samu"];
    const ECHOED: &[&str] = &[
        "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "ar", "ranlib", "strip", "CC", "CXX", "LD", "AR", "LINK",
    ];
    let name = check.program();
    let is_made = |lines: &mut dyn Iterator<Item = &str>| {
        let line = lines.next().unwrap_or_default().trim();
        let program = line.split_whitespace().next().unwrap_or_default();
        let program = program.rsplit(['/', '-']).next().unwrap_or_default();
        let is_leaving = line.contains("Leaving directory");
        // `[12/12] Linking a`
        let steps = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let steps = steps.and_then(|(steps, _)| steps.split_once('/'));
        ECHOED.contains(&program) || is_leaving || steps.is_some_and(|(at, all)| at.trim() == all.trim())
    };
    MAKES.contains(&name) && last_text(result, is_made) == Some(true)
}

/// Asks for the lines of the last text that says anything, from the last one on, without the frame around them.
fn last_text<T>(result: &ToolResult, ask: impl Fn(&mut dyn Iterator<Item = &str>) -> T) -> Option<T> {
    let text = printed(texts(result).filter(|text| !text.trim().is_empty()).last()?);
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(LAST))..];
    Some(ask(&mut tail.lines().rev().filter_map(within_frame)))
}

/// Whether a line behind the counts says that the run has ended badly all the same, in the words of runners and of those that
/// start them.
pub(crate) fn breaks_off(line: &str) -> bool {
    // A status of none is none.
    let is_well = || {
        let nones = ["code 0", "status 0", "code: 0", "status: 0", "with 0"];
        nones.iter().any(|none| line.contains(none))
    };
    BREAKING_OFF.is_in(line) && !is_well()
}

/// The sentences of runners that close with none but counts of their own.
fn says_so(line: &str) -> bool {
    const BEGIN: &[&str] = &[
        "BUILD SUCCESS",
        "** TEST SUCCEEDED **",
        "** BUILD SUCCEEDED **",
        "Test Run Successful",
        "All tests passed",
        "All specs passed",
        "All tests successful",
        "Result: PASS",
        "[doctest] Status: SUCCESS",
        "congratulations :)",
        "Test Successful in ",
    ];
    let line = line.trim();
    let bare = line
        .strip_prefix("[INFO] ")
        .or_else(|| line.strip_prefix("[info] "))
        .unwrap_or(line);
    BEGIN.iter().any(|begin| bare.starts_with(begin))
        || line.ends_with(": All tests passed!")
        || is_go(line)
        || line.starts_with("Passed!  - Failed: ") && !line.contains("Passed:     0,") && !counts_failures(line)
}

/// `ok   example.com/a 0.3s`, `ok   example.com/a (cached) coverage: 80% of statements`.
fn is_go(line: &str) -> bool {
    let mut pieces = line.split_whitespace();
    let (ok, _, time) = (pieces.next(), pieces.next(), pieces.next().unwrap_or_default());
    let is_time = time.strip_suffix('s').is_some_and(|time| time.parse::<f32>().is_ok());
    ok == Some("ok") && (is_time || time == "(cached)") && !line.contains("[no tests to run]")
}

/// What runners say behind their counts.
fn is_trailer(line: &str) -> bool {
    const BEGIN: &[&str] = &[
        "?",
        "Time",
        "Duration",
        "Finished",
        "Ran all test suites",
        "Randomized with seed",
        "Destroying test database",
        "Coverage",
        "Snapshots",
        "Doc-tests",
        "Done in",
        "PS ",
        "npm notice",
        "npm warn",
        "npm WARN",
        "warning",
        "Warning",
        "[INFO]",
        "[info]",
        "[success]",
    ];
    let line = line.trim();
    BEGIN.iter().any(|begin| line.starts_with(begin))
}

/// What the closing lines have counted.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// Something passed, by its count.
    passed: bool,
    /// Something was run, by its count.
    run: bool,
    /// Nothing failed, or all is said to be well.
    none_failed: bool,
    /// Numbers that were told. A runner tells of more than one; any program may say that it has passed one thing.
    numbers: usize,
    /// A runner says it in a sentence.
    is_said: bool,
}

impl Counts {
    fn are_well(&self) -> bool {
        self.is_said || (self.passed || self.run && self.none_failed) && self.numbers > 1
    }

    /// Takes a line of counts; `false` where one has failed.
    fn take(&mut self, words: &[Word]) -> bool {
        let (mut none_passed, mut is_well, mut none_failed) = (false, false, false);
        for (at, word) in words.iter().enumerate() {
            // `0 of 1 test suites passed`
            let sides = at.checked_sub(1).and_then(|before| words[before].number());
            let sides = sides.zip(words.get(at + 1).and_then(Word::number));
            if word.text == "of" && sides.is_some_and(|(some, all)| some < all) {
                return false;
            }
            if word.is_in(PASSED) {
                match count(words, at) {
                    Some(0) => none_passed = true,
                    Some(_) => self.passed = true,
                    None => is_well = true,
                }
            } else if word.is_in(FAILED) {
                if count(words, at) != Some(0) {
                    return false;
                }
                none_failed = true;
            } else if word.is_in(RUN) {
                let before = at.checked_sub(1).and_then(|before| words[before].number());
                let before = before.filter(|_| word.is_adjacent());
                let behind = || words.get(at + 1).filter(|next| next.is_close())?.number();
                self.run |= before.or_else(behind).is_some_and(|number| number > 0);
            }
        }
        self.numbers += words
            .iter()
            .filter(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))
            .count();
        self.none_failed |= none_failed || is_well;
        // `100% tests passed, 0 tests failed out of 12`
        self.passed |= is_well && none_failed && !none_passed;
        true
    }
}

const PASSED: &str = "pass passed passing passes succeeded success successes successful ok";
const FAILED: &str = "fail failed failing fails failure failures error errors errored broken crashed";
const RUN: &str = "test tests suite suites file files spec specs example examples scenario scenarios step steps feature \
                   features run runs case cases assertion assertions subtests doctest doctests properties total";
const OTHERS: &str = "skipped skip skips ignored pending pendings todo disabled filtered measured excluded deselected \
                      xfailed xpassed unexpected cancelled warnings warning warn omissions notifications incomplete risky \
                      flaky retries deprecations all of in with from across containing after out result results summary \
                      time times elapsed finished seconds second secs sec s ms m min minutes ran executed completed \
                      duration_ms duration cases expect calls and info snapshots at some";

/// Whether a line is nothing but counts of what tests come to, and how long they took.
fn is_counting(words: &[Word]) -> bool {
    let is_known = |word: &Word| {
        word.text.starts_with(|c: char| c.is_ascii_digit())
            || word.text == "ℹ"
            || [PASSED, FAILED, RUN, OTHERS].iter().any(|list| word.is_in(list))
    };
    let tells = |word: &Word| [PASSED, FAILED, RUN].iter().any(|list| word.is_in(list));
    words.iter().any(tells) && words.iter().all(is_known)
}

impl Word<'_> {
    pub(super) fn is_in(&self, list: &str) -> bool {
        list.split_whitespace()
            .any(|other| other.eq_ignore_ascii_case(self.text))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::message::ToolResult;
    use crate::testrun;
    use crate::verdict::Verdict::{self, Failed, Passed, Unknown};
    use proptest::prelude::*;

    fn verdict(line: &str, output: &str) -> Verdict {
        let check = testrun::checks(line).pop().unwrap();
        super::super::of(&check, &ToolResult::new("1", None, output))
    }

    /// A run that went well, and how the same tells of a failure.
    const RUNS: &[(&str, &str, &str)] = &[
        (
            "pytest -q",
            "..........  [100%]\n118 passed in 4.02s",
            "....F.....  [100%]\n1 failed, 117 passed in 4.02s",
        ),
        (
            "pytest",
            "===== 3 passed, 2 warnings in 62.11s (0:01:02) =====",
            "===== 3 passed, 2 errors in 62.11s =====",
        ),
        (
            "python -m unittest",
            "....\n----------\nRan 4 tests in 0.003s\n\nOK (skipped=1)",
            "..F.\n----------\nRan 4 tests in 0.003s\n\nFAILED (failures=1)",
        ),
        (
            "python manage.py test",
            "Ran 4 tests in 0.003s\n\nOK\nDestroying test database for alias 'default'...",
            "Ran 4 tests in 0.003s\n\nFAILED (errors=1)\nDestroying test database for alias 'default'...",
        ),
        (
            "cargo test",
            "test result: ok. 12 passed; 0 failed; 0 ignored; finished in 0.1s\n\n   Doc-tests a\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed",
            "test result: FAILED. 11 passed; 1 failed; 0 ignored\n\ntest result: ok. 3 passed; 0 failed",
        ),
        (
            "cargo nextest run",
            "     Summary [   0.1s] 5 tests run: 5 passed, 0 skipped",
            "     Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped",
        ),
        (
            "go test ./...",
            "ok  \ta.b/c\t0.01s\n?   \ta.b/d\t[no test files]",
            "--- FAIL: TestX (0.00s)\nFAIL\nFAIL\ta.b/c\t0.01s\nok  \ta.b/d\t0.2s",
        ),
        (
            "go test ./...",
            "ok  \ta.b/c\t(cached)\tcoverage: 81.0% of statements",
            "# a.b/c\n./a.go:3:1: undefined: x\nFAIL\ta.b/c [build failed]",
        ),
        (
            "npm test",
            "PASS src/a.test.ts\nTests:       5 passed, 5 total\nSnapshots:   0 total\nTime:        1.2 s\nRan all test suites.",
            "FAIL src/a.test.ts\nTests:       1 failed, 4 passed, 5 total",
        ),
        (
            "npx vitest run",
            " Test Files  1 passed (1)\n      Tests  5 passed (5)\n   Start at  10:00:00\n   Duration  1.2s (transform 20ms, setup 0ms)",
            " Test Files  1 failed (1)\n      Tests  1 failed | 4 passed (5)",
        ),
        (
            "npx mocha",
            "  5 passing (20ms)\n  1 pending\n",
            "  5 passing (20ms)\n  1 failing\n\n  1) adds:\n     AssertionError: 1 == 2",
        ),
        (
            "npx playwright test",
            "  5 passed (2.3s)",
            "  1 failed\n    a.spec.ts:3:1 › opens\n  4 passed (2.3s)",
        ),
        (
            "npx jasmine",
            "Started\n.....\n\n5 specs, 0 failures\nFinished in 0.01 seconds",
            "5 specs, 1 failure",
        ),
        (
            "node --test",
            "ℹ tests 5\nℹ suites 0\nℹ pass 5\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 61.2",
            "ℹ tests 5\nℹ pass 4\nℹ fail 1\nℹ cancelled 0",
        ),
        (
            "bun test",
            " 5 pass\n 0 fail\n 8 expect() calls\nRan 5 tests across 1 files. [20.00ms]",
            " 4 pass\n 1 fail\nRan 5 tests across 1 files. [20.00ms]",
        ),
        (
            "deno test",
            "ok | 5 passed | 0 failed (20ms)",
            "FAILED | 4 passed | 1 failed (20ms)",
        ),
        (
            "bundle exec rspec",
            "Finished in 0.2 seconds (files took 0.1 seconds to load)\n10 examples, 0 failures, 1 pending\n\nRandomized with seed 4",
            "10 examples, 1 failure\n\nFailed examples:\n\nrspec ./a_spec.rb:3",
        ),
        (
            "bin/rails test",
            "Finished in 0.1s, 50.0 runs/s.\n5 runs, 8 assertions, 0 failures, 0 errors, 0 skips",
            "5 runs, 8 assertions, 1 failures, 0 errors, 0 skips",
        ),
        (
            "vendor/bin/phpunit",
            "PHPUnit 11.1\n\nTime: 00:00.012, Memory: 8.00 MB\n\nOK (10 tests, 12 assertions)",
            "FAILURES!\nTests: 10, Assertions: 12, Failures: 1.",
        ),
        (
            "vendor/bin/pest",
            "  Tests:    5 passed (10 assertions)\n  Duration: 0.21s",
            "  Tests:    1 failed, 4 passed (10 assertions)\n  Duration: 0.21s",
        ),
        (
            "./gradlew test",
            "> Task :test\n\nBUILD SUCCESSFUL in 4s\n3 actionable tasks: 3 executed",
            "CartTest > sum() FAILED\n\n5 tests completed, 1 failed\n\nBUILD FAILED in 4s",
        ),
        (
            "mvn test",
            "[INFO] Tests run: 41, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n[INFO] Total time:  3.2 s\n[INFO] Finished at: 2025-11-20T10:00:00Z",
            "[ERROR] Tests run: 41, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE",
        ),
        (
            "dotnet test",
            "Passed!  - Failed:     0, Passed:    41, Skipped:     0, Total:    41, Duration: 1 s - A.dll (net9.0)",
            "Failed!  - Failed:     1, Passed:    40, Skipped:     0, Total:    41",
        ),
        (
            "dotnet test",
            "Test summary: total: 41, failed: 0, succeeded: 41, skipped: 0, duration: 1.1s",
            "Test summary: total: 41, failed: 1, succeeded: 40, skipped: 0, duration: 1.1s",
        ),
        (
            "ctest",
            "100% tests passed, 0 tests failed out of 12\n\nTotal Test time (real) =   0.52 sec",
            "92% tests passed, 1 tests failed out of 12\n\nThe following tests FAILED:\n\t3 - a",
        ),
        (
            "make test",
            "[==========] 5 tests from 2 test suites ran. (3 ms total)\n[  PASSED  ] 5 tests.",
            "[  PASSED  ] 4 tests.\n[  FAILED  ] 1 test, listed below:",
        ),
        (
            "swift test",
            "Test Suite 'All tests' passed at 2025-11-20 10:00:00.1.\n\t Executed 5 tests, with 0 failures (0 unexpected) in 0.1 (0.2) seconds",
            "\t Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds",
        ),
        (
            "swift test",
            "✔ Test run with 5 tests passed after 0.001 seconds.",
            "✘ Test run with 5 tests failed after 0.001 seconds with 1 issue.",
        ),
        (
            "dart test",
            "00:00 +0: a.dart: adds\n00:01 +5: All tests passed!",
            "00:01 +4 -1: Some tests failed.",
        ),
        (
            "flutter test",
            "00:03 +12: All tests passed!",
            "00:03 +11 -1: Some tests failed.",
        ),
        (
            "mix test",
            "Finished in 0.1 seconds (0.1s async, 0.0s sync)\n1 doctest, 5 tests, 0 failures\n\nRandomized with seed 1",
            "5 tests, 1 failure\n\nRandomized with seed 1",
        ),
        (
            "prove -r t",
            "t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=5,  0 wallclock secs\nResult: PASS",
            "Files=1, Tests=5,  0 wallclock secs\nResult: FAIL",
        ),
        ("bats t", "1..5\n5 tests, 0 failures", "5 tests, 1 failure"),
        (
            "lein test",
            "Ran 5 tests containing 8 assertions.\n0 failures, 0 errors.",
            "Ran 5 tests containing 8 assertions.\n1 failures, 0 errors.",
        ),
        (
            "zig build test",
            "All 5 tests passed.",
            "4 passed; 0 skipped; 1 failed.",
        ),
        ("xcodebuild test", "** TEST SUCCEEDED **", "** TEST FAILED **"),
        (
            "behave",
            "1 feature passed, 0 failed, 0 skipped\n3 scenarios passed, 0 failed, 0 skipped\nTook 0m0.01s",
            "0 features passed, 1 failed, 0 skipped",
        ),
        (
            "cabal test",
            "1 of 1 test suites (1 of 1 test cases) passed.",
            "0 of 1 test suites (0 of 1 test cases) passed.\nCabal-7125: Tests failed for a",
        ),
    ];

    #[test]
    fn a_run_of_tests_is_known_by_how_it_closes() {
        for (line, well, broken) in RUNS {
            assert_eq!(verdict(line, well), Passed, "{line}: {well}");
            assert_ne!(verdict(line, broken), Passed, "{line}: {broken}");
            assert_ne!(
                verdict(line, &format!("{well}\n{broken}")),
                Passed,
                "{line}: {broken} behind"
            );
            // A failure that is counted or shouted stays one, whatever comes behind it.
            if verdict(line, broken) == Failed {
                assert_eq!(
                    verdict(line, &format!("{broken}\n{well}")),
                    Failed,
                    "{line}: {broken} before"
                );
            }
        }
    }

    #[test]
    fn what_stands_around_an_output_is_no_part_of_it() {
        for (line, well, _) in RUNS {
            for framed in [
                format!("Stdout: {well}\nStderr: (empty)"),
                format!("<output>\n{well}\n</output>"),
                format!("{well}\n\n<cwd>/home/j/w</cwd>"),
                format!("{{\"output\": {}}}", serde_json::json!(well)),
            ] {
                assert_eq!(verdict(line, &framed), Passed, "{line}: {framed}");
            }
        }
    }

    #[test]
    fn what_is_no_closing_line_says_nothing() {
        let table = [
            ("pytest -q", "..........  [ 50%]"),
            ("pytest -q", "no cases ran in 0.01s"),
            (
                "pytest -s",
                "3 passed in 1s\nchecking a\nchecking b\nchecking c\nchecking d",
            ),
            ("pytest -q", "118 passed in 4.02s\n... [output truncated]"),
            ("pytest -q", "118 passed in 4.02s\nTraceback (most recent call last):"),
            ("pytest -q", "118 passed in 4.02s\nKilled"),
            ("pytest -v", "tests/a.py::test_b PASSED [ 1%]\n[120 lines truncated]"),
            ("pytest -q", "Command timed out after 120 s"),
            ("go test ./...", "ok  \ta.b/c\t0.01s [no tests to run]"),
            ("go test ./...", "ok then\nok, so\nall is 3s"),
            ("bundle exec rspec", "0 examples, 0 failures"),
            ("npm test", "OK"),
            ("npm test", "the server says it is OK"),
            ("npm test", "5 files in 3 seconds"),
            ("make check", "gcc -c a.c\n./check"),
            (
                "dotnet test",
                "Passed!  - Failed:     0, Passed:     0, Skipped:     0, Total:     0",
            ),
        ];
        for (line, output) in table {
            assert_eq!(verdict(line, output), Unknown, "{line}: {output}");
        }
    }

    #[test]
    fn what_ends_badly_behind_its_counts_has_not_passed() {
        let table = [
            (
                "npm test",
                "Tests: 5 passed, 5 total\nnpm ERR! Test failed.  See above for more details.",
            ),
            (
                "npm test",
                "Tests: 5 passed, 5 total\nnpm error Lifecycle script `test` failed with error:",
            ),
            (
                "pnpm test",
                "Tests: 5 passed, 5 total\n ELIFECYCLE  Test failed. See above for more details.",
            ),
            ("npx vitest run", " Tests  5 passed (5)\n Errors  1 error"),
            (
                "npx vitest run",
                " Tests  5 passed (5)\nERROR: Coverage for lines (61%) does not meet global threshold (80%)",
            ),
            (
                "cargo test",
                "test result: ok. 3 passed; 0 failed; 0 ignored\nerror: test failed, to rerun pass `--test b`\n\nCaused by:\n  process didn't exit successfully (signal: 6, SIGABRT)",
            ),
            ("dotnet test", "Passed: 5\nFailed: 0\nTest Run Aborted."),
            (
                "ctest",
                "100% tests passed, 0 tests failed out of 3\nErrors while running CTest",
            ),
            (
                "pytest",
                "5 passed in 0.1s\nINTERNALERROR> Traceback (most recent call last):",
            ),
            (
                "vendor/bin/phpunit",
                "OK (10 tests, 12 assertions)\nPHP Fatal error:  Allowed memory size exhausted",
            ),
            (
                "go test ./...",
                "ok  \ta.b/c\t0.01s\nno required module provides package x",
            ),
        ];
        for (line, output) in table {
            assert!(verdict(line, output) != Passed, "{line}: {output}");
        }
        let well = "Tests: 5 passed, 5 total\nRan all test suites.\nnpm notice New version of npm available";
        assert_eq!(verdict("npm test", well), Passed);
        assert_eq!(
            verdict("pytest -q", "5 passed in 0.1s\nProcess exited with code 0"),
            Passed
        );
    }

    #[test]
    fn make_has_made_what_it_echoes_last() {
        let table = [
            ("make", "cc -c x.c\ncc -o x x.o", Passed),
            (
                "make all",
                "gcc -c b.c -o b.o\ngcc -o w *.o -lm\n\n<cwd>/w</cwd>",
                Passed,
            ),
            ("make -C src", "  CC      a.o\n  LD      a", Passed),
            ("make", "arm-none-eabi-gcc -o x.elf x.o", Passed),
            ("ninja", "[1/2] Compiling a.c\n[2/2] Linking a", Passed),
            ("ninja", "[1/2] Compiling a.c", Unknown),
            ("make", "cc -c x.c\nx.c:1:2: error: y\nmake: *** [x.o] Error 1", Failed),
            (
                "make",
                "cc -c x.c\nx.c:1:2: Fehler: y\nmake: *** [x.o] Fehler 1",
                Failed,
            ),
            ("make", "cc -c x.c\nKilled", Failed),
            ("make", "cc -c x.c\n… (output truncated)", Unknown),
            ("make", "gcc -c x.c\n./generate --all", Unknown),
            ("npm run build", "gcc -o x x.c", Unknown),
        ];
        for (line, output, expected) in table {
            assert_eq!(verdict(line, output), expected, "{line}: {output}");
        }
    }

    proptest! {
        #[test]
        fn a_count_of_failures_is_never_a_success(
            pieces in proptest::collection::vec(r"([0-9]{1,3} (tests|passed|examples|failures|skipped)|OK|in 3s|[,;=\n()]| |é)", 0..14),
            failed in 1u32..99,
            form in 0usize..4,
            at in 0usize..14,
        ) {
            let failure = match form {
                0 => format!("\n{failed} failed\n"),
                1 => format!("\nfailures: {failed}\n"),
                2 => format!("\n3 tests, {failed} failures\n"),
                _ => format!("\nFAILED (errors={failed})\n"),
            };
            let mut pieces = pieces;
            pieces.insert(at.min(pieces.len()), failure);
            let output = pieces.concat();
            prop_assert_ne!(verdict("pytest -q", &output), Passed);
        }
    }
}
