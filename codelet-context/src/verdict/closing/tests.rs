#![allow(clippy::unwrap_used)]

use crate::verdict::Verdict::{self, Failed, Passed, Unknown};
use crate::verdict::counts_failures;
use proptest::prelude::*;

fn verdict(line: &str, output: &str) -> Verdict {
    crate::verdict::tests::verdict(line, None, output)
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
        if counts_failures(broken) && verdict(line, broken) == Failed {
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
