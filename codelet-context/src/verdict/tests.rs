#![allow(clippy::unwrap_used)]

use super::*;
use crate::testrun;
use Verdict::{Failed, Passed, Unknown};
use proptest::prelude::*;

pub(super) fn verdict(line: &str, success: Option<bool>, output: &str) -> Verdict {
    let check = testrun::checks(line).pop().unwrap();
    of(&check, &ToolResult::new("1", success, output))
}

#[test]
fn the_status_decides_where_it_is_the_checks_own() {
    assert_eq!(verdict("cargo test", Some(true), "3 failed"), Passed);
    assert_eq!(
        verdict("pytest", Some(true), "log: 1 failed, 3 passed\n12 passed in 1s"),
        Passed
    );
    assert_eq!(verdict("cargo test", Some(false), "all tests passed"), Failed);
}

#[test]
fn a_run_that_closes_with_failures_has_failed_though_its_status_is_dropped() {
    for (line, output) in [
        (
            "npm test",
            "> jest || true\n\nFAIL src/a.test.ts\n\nTests:       1 failed, 57 passed, 58 total",
        ),
        (
            "make test",
            "pytest -q\n1 failed, 11 passed in 1s\nmake: [Makefile:3: test] Error 1 (ignored)",
        ),
        (
            "mvn test -Dmaven.test.failure.ignore=true",
            "Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\nBUILD SUCCESS",
        ),
        (
            "./gradlew test",
            "OrderTest > total() FAILED\n3 tests completed, 1 failed\nThere were failing tests. See the report\nBUILD SUCCESSFUL in 3s",
        ),
        ("npx mocha", "  5 passing (20ms)\n  1 failing\n"),
    ] {
        assert_eq!(verdict(line, Some(true), output), Failed, "{line}: {output}");
    }
    for (line, output) in [
        ("pytest", "1 failed, 3 passed in 1s\nretrying\n4 passed in 1s"),
        (
            "mvn test",
            "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\nBUILD SUCCESS",
        ),
        ("python -m unittest", "Ran 3 tests in 0.1s\n\nOK (expected failures=1)"),
        ("npx playwright test", "  1 flaky\n  3 passed (9s)"),
    ] {
        assert_eq!(verdict(line, Some(true), output), Passed, "{line}: {output}");
    }
}

#[test]
fn an_output_denies_a_flag_by_the_verdict_on_it_alone() {
    let denies = |line: &str, output: &str| {
        denies_success(
            &crate::command::CommandLine::new(line),
            &ToolResult::new("1", Some(true), output),
        )
    };
    for (line, output) in [
        (
            "flutter test",
            "00:02 +11 -1: /app/test/fare_test.dart: rounds up [E]\n  Expected: <2>\n    Actual: <1>\n00:02 +11 -1: Some tests failed.",
        ),
        (
            "cargo test",
            "running 3 tests\ntest a ... ok\n\ntest result: ok. 3 passed; 0 failed; 0 ignored\n\n     Running tests/b.rs\nerror: test failed, to rerun pass `--test b`\n\nCaused by:\n  process didn't exit successfully: `b` (signal: 11, SIGSEGV: invalid memory reference)",
        ),
        (
            "npx nx run-many -t test",
            " NX   Running target test for 3 projects failed\n\nFailed tasks:\n\n- fares:test",
        ),
        (
            "pytest -q",
            "...\n3 passed in 0.1s\nFAIL Required test coverage of 90% not reached. Total coverage: 71.20%",
        ),
        (
            "bats test",
            "1..2\nok 1 adds\nnot ok 2 removes\n# (in test file test/a.bats, line 4)",
        ),
        (
            "Rscript -e 'devtools::test()'",
            "[ FAIL 1 | WARN 0 | SKIP 0 | PASS 11 ]",
        ),
        (
            "julia -e 'using Pkg; Pkg.test()'",
            "Test Summary: | Pass  Fail  Total\nfares         |    3     1      4\nERROR: Some tests did not pass: 3 passed, 1 failed, 0 errored, 0 broken.",
        ),
        (
            "hurl --test a.hurl",
            "Executed files:  2\nSucceeded files: 1 (50.0%)\nFailed files:    1 (50.0%)",
        ),
    ] {
        assert!(denies(line, output), "{line}");
    }
    for (line, output) in [
        ("flutter test", "00:02 +12: All tests passed!"),
        ("cargo test", "worker: 2 failed\ntest result: ok. 3 passed; 0 failed"),
        ("cargo test; true", "test result: FAILED. 2 passed; 1 failed"),
        ("bats test", "1..3\nok 1 adds\nnot ok 2 removes # TODO later\nok 3 ends"),
        (
            "Rscript -e 'devtools::test()'",
            "[ FAIL 0 | WARN 0 | SKIP 0 | PASS 12 ]",
        ),
        (
            "hurl --test a.hurl",
            "Executed files:  2\nSucceeded files: 2 (100.0%)\nFailed files:    0 (0.0%)",
        ),
        ("cat a.log", "3 failed"),
    ] {
        assert!(!denies(line, output), "{line}");
    }
}

#[test]
fn what_a_formatter_lists_is_what_it_finds_fault_with() {
    for (line, output, expected) in [
        ("gofmt -l .", "main.go\npkg/a.go\n", Failed),
        ("gofmt -l .", "main.go", Failed),
        ("gofmt -l .", "", Passed),
        ("cd api && gofmt -s -l . | head -20", "cmd/x.go", Failed),
        ("goimports -l ./...", "internal/a_test.go", Failed),
        (
            "gofmt -d main.go",
            "diff main.go.orig main.go\n--- main.go.orig\n+++ main.go\n",
            Failed,
        ),
        ("shfmt -l .", "scripts/deploy\n", Failed),
        ("bash -c 'gofmt -l .'", "main.go", Failed),
        ("gofmt -l . && go vet ./...", "", Passed),
    ] {
        let check = testrun::checks(line).remove(0);
        let result = ToolResult::new("1", Some(true), output);
        assert_eq!(of(&check, &result), expected, "{line}: {output}");
    }
    // Another one may have printed it.
    for line in [
        "gofmt -l . && git diff --name-only",
        "gofmt -l .; ls",
        "gofmt -l . ; bash -c ls",
    ] {
        let check = testrun::checks(line).remove(0);
        let result = ToolResult::new("1", Some(true), "main.go\n");
        assert_eq!(of(&check, &result), Unknown, "{line}");
    }
    assert_eq!(
        verdict("gofmt -l .", Some(false), "stat nope: no such file or directory"),
        Failed
    );
    assert_eq!(verdict("cargo fmt --check", Some(true), "main.rs"), Passed);
}

#[test]
fn the_status_that_a_line_prints_decides() {
    for (line, output, expected) in [
        ("npx eslint src; echo $?", "0", Passed),
        ("npx eslint src; echo $?", "1", Failed),
        ("npx tsc --noEmit > log 2>&1; echo \"exit: $?\"", "exit: 0", Passed),
        (
            "pytest -q > log; rc=$?; tail -1 log; echo rc=$rc",
            "2 failed, 1 passed in 1s\nrc=1",
            Failed,
        ),
        ("pytest -q; echo $?", "3 passed in 1s\n0", Passed),
        ("pytest -q; echo $?", "no tests ran in 0.01s\n5", Unknown),
        (
            "cargo build 2>&1 | tail -3; echo ${PIPESTATUS[0]}",
            "   Compiling a v0.1.0\n101",
            Failed,
        ),
        ("npx eslint src | wc -l", "0", Unknown),
        ("npx eslint src | grep -c error; echo $?", "0\n1", Unknown),
    ] {
        assert_eq!(verdict(line, Some(true), output), expected, "{line}: {output}");
    }
}

#[test]
fn without_a_status_the_output_decides_by_whole_words() {
    let table = [
        ("test result: ok. 12 passed; 0 failed; 0 ignored", Passed),
        ("test result: FAILED. 12 passed; 1 failed", Failed),
        ("===== test session starts =====\n12 passed in 0.3s", Passed),
        ("running tests\nall tests pass", Passed),
        ("test: success", Passed),
        ("tests: {\"success\": true}", Passed),
        ("tests: {\"success\": false}", Unknown),
        ("test the password", Unknown),
        ("test bypass", Unknown),
        ("test DB_PASS compass surpassed passed_through", Unknown),
        ("test: 0 passed", Unknown),
        ("tests passed: 0", Unknown),
        ("tests did not pass", Unknown),
        ("12 passed", Unknown),
        ("no tests ran", Unknown),
        ("", Unknown),
        ("Tests: 2 failed, 10 passed, 12 total", Failed),
        ("Tests run: 5, Failures: 0, Errors: 0 - all tests passed", Passed),
        ("Tests run: 5, Failures: 2, Errors: 0 - some tests passed", Failed),
        ("2 tests failed, 3 tests passed", Failed),
        ("# tests 12\n# pass 10\n# fail 2", Failed),
        ("# tests 12\n# pass 12\n# fail 0", Passed),
        (" 3 pass\n 0 fail\nRan 3 tests", Passed),
        ("tests passed\nfailed tests: 3", Failed),
        ("FAILED (failures=1)\n3 tests passed", Failed),
        ("--- PASS: TestA\n--- FAIL: TestB", Failed),
        ("test handles_failure ... passed", Unknown),
        ("test handles_failure ... passed\n1 test passed", Passed),
        ("test: a request that failed is retried: passed\n1 passed", Passed),
        ("test: HTTP 500 error is shown: passed\n1 passed", Passed),
        ("OK (expected failures=1)\nall tests pass", Passed),
        ("error: test failed, to rerun pass `--lib`", Failed),
        ("3 tests passed, 1 error", Failed),
        ("1 xfailed, 3 tests passed", Passed),
        (
            "\u{1b}[32m12 passed\u{1b}[0m, \u{1b}[31m2 failed\u{1b}[0m, tests",
            Failed,
        ),
        ("\u{1b}[1m\u{1b}[31m2\u{1b}[0m failed, 1 test passed", Failed),
        ("tests passed in 3 seconds", Passed),
        ("99999999999999999999999 failed tests", Failed),
        (
            "✓ test exits with code 2 when the config is missing\nTests 3 passed (3)",
            Passed,
        ),
        ("  ✔ error: 3\n2 tests passed", Passed),
        (
            "tests/test_a.py ..\nINFO job ended with exit code 3\n2 passed in 0.1s",
            Passed,
        ),
        ("tests/test_a.py ..\n2 passed in 0.1s\nexit code 3", Failed),
        ("tests/test_a.py ..\nINFO job ended with exit code 3", Failed),
    ];
    for (output, expected) in table {
        assert_eq!(verdict("cargo test", None, output), expected, "{output}");
    }
}

#[test]
fn behind_a_pipe_status_0_needs_an_output_that_does_not_contradict() {
    let table = [
        ("test result: ok. 12 passed; 0 failed", Passed),
        ("12 passed in 0.3s", Passed),
        ("ok  \texample.com/a\t0.3s", Passed),
        ("Tests  4 passed (4)", Passed),
        ("test result: FAILED. 3 passed; 1 failed", Failed),
        ("error: could not compile `a`", Failed),
        ("bash: cargo: command not found", Failed),
        ("FAIL\texample.com/a\nexit status 1", Failed),
        ("3 passed\nexit code: 101", Failed),
        ("3 passed\nexit code: 0", Passed),
        ("error[E0308]: mismatched types", Failed),
        ("\nerror: test failed, to rerun pass `--lib`", Failed),
        ("error: doctest failed, to rerun pass `--doc`", Failed),
        (
            "test result: ok. 40 passed; 0 failed; 0 ignored\nerror: test failed, to rerun pass `--test api`",
            Failed,
        ),
        (
            " Test Files  4 passed (4)\n      Tests  40 passed (40)\n     Errors  1 error\n   Start at  10:00:00\n   Duration  1.2s",
            Failed,
        ),
        (
            "Tests:       40 passed, 40 total\nJest: \"global\" coverage threshold for lines (80%) not met: 61%",
            Failed,
        ),
        ("  1 interrupted\n  8 did not run\n  3 passed (9s)", Failed),
        ("  8 did not run\n  3 passed (9s)", Failed),
        ("# tests 5\n# pass 4\n# fail 0\n# cancelled 1\n# skipped 0", Failed),
        ("# tests 5\n# pass 5\n# fail 0\n# cancelled 0\n# skipped 0", Passed),
        (
            "ok  \texample.com/a\t0.1s\npanic: runtime error: index out of range\n\ngoroutine 7 [running]:",
            Failed,
        ),
        ("ok  \texample.com/a\t0.1s\npanic: test timed out after 10m0s", Failed),
        ("tests/a.py::test_a PASSED\ntests/a.py::test_b PASSED", Unknown),
        ("test a::b ... ok\ntest a::c ... ok", Unknown),
        ("to pass this to the tests, rerun", Unknown),
        ("warning: a test may pass a value", Unknown),
        ("All 12 tests passed", Passed),
        ("✨ All tests passed! The site is ready.", Passed),
        ("OK", Passed),
        ("PASS src/a.test.ts\nPASS src/b.test.ts", Passed),
        (
            "12 passed in 3s\nls: cannot access 'x': No such file or directory",
            Unknown,
        ),
        ("", Unknown),
    ];
    for (output, expected) in table {
        assert_eq!(
            verdict("cargo test 2>&1 | tail -5", Some(true), output),
            expected,
            "{output}"
        );
    }
}

#[test]
fn a_build_behind_a_pipe_is_well_if_it_shows_no_error() {
    let table = [
        ("", Passed),
        ("    Finished `dev` profile in 0.3s", Passed),
        ("src/a.ts(3,1): error TS2304: Cannot find name 'b'.", Failed),
        ("error[E0308]: mismatched types", Failed),
        ("make: *** [all] Error 2", Failed),
        ("Found 3 errors.", Failed),
        ("0 errors, 2 warnings", Passed),
    ];
    for (output, expected) in table {
        assert_eq!(
            verdict("npm run build 2>&1 | tail -5", Some(true), output),
            expected,
            "{output}"
        );
    }
}

#[test]
fn a_build_or_a_lint_is_well_that_ends_with_the_status_0_that_was_asked_for() {
    for (line, output, expected) in [
        ("npx tsc --noEmit; echo \"EXIT:$?\"", "EXIT:0", Passed),
        ("npx tsc --noEmit; echo \"EXIT:$?\"", "EXIT:2", Failed),
        ("go vet ./...; echo EXIT CODE: $?", "EXIT CODE: 0", Passed),
        ("go vet ./...; echo EXIT_CODE=$?", "EXIT_CODE=0", Passed),
        ("npx eslint .; echo EXIT $?", "EXIT 0", Passed),
        ("npx eslint .; echo rc=$?", "rc=0", Passed),
        ("npx eslint .; echo \"rc: $?\"", "rc: 0", Passed),
        ("npx tsc; echo TSC_EXIT:$?", "TSC_EXIT:0", Passed),
        ("cargo check -q; echo \"--- exit $?\"", "--- exit 0", Passed),
        ("ruff check -q .; echo \"status: $?\"", "status: 0", Passed),
        (
            "npm run build; echo BUILD_EXIT:$?",
            "> a@1.0 build\n> tsc\n\nBUILD_EXIT:0",
            Passed,
        ),
        // Several, of which each is one check's.
        (
            "go build ./...; echo BUILD_EXIT:$?; go vet ./...; echo VET_EXIT:$?",
            "BUILD_EXIT:0\nVET_EXIT:0",
            Passed,
        ),
        (
            "go build ./...; echo BUILD_EXIT:$?; go vet ./...; echo VET_EXIT:$?",
            "BUILD_EXIT:1\nVET_EXIT:0",
            Passed,
        ),
        (
            "go build ./...; echo BUILD_EXIT:$?; go vet ./...; echo VET_EXIT:$?",
            "BUILD_EXIT:0\nVET_EXIT:1",
            Failed,
        ),
        ("npx eslint .; echo EXIT:$?", "src/a.ts:3:1 no-var\nEXIT:0", Passed),
        // … or perhaps another program's.
        ("npx eslint .; ls; echo EXIT:$?", "src/a.ts:3:1 no-var\nEXIT:0", Unknown),
        // A number that may count anything, and a status in a sentence.
        ("make | grep error | wc -l", "0", Unknown),
        (
            "make; cat a.log",
            "the job of yesterday, and what it said of its rc 0",
            Unknown,
        ),
    ] {
        assert_eq!(verdict(line, Some(true), output), expected, "{line}: {output}");
    }
}

#[test]
fn without_a_status_builds_and_lints_are_well_if_they_show_no_error() {
    let table = [
        ("cargo build", "    Finished `dev` profile in 0.3s", Passed),
        (
            "cargo build",
            "warning: unused variable\n    Finished `dev` profile in 0.3s",
            Passed,
        ),
        (
            "cargo build",
            "error[E0308]: mismatched types\nerror: could not compile `a`",
            Failed,
        ),
        ("cargo build", "Compiling error-chain v0.12\nerrors.rs", Unknown),
        ("cargo build", "Compiling a\nKilled", Failed),
        (
            "cargo build",
            "Command exceeded the time limit of 120 s and was terminated.",
            Unknown,
        ),
        ("cargo build", "Process running with session ID 4242", Unknown),
        (
            "cargo build",
            "Finished release\nProcess running with session ID 4242",
            Unknown,
        ),
        ("cargo build", "Finished downloading", Unknown),
        ("cargo build", "(no output)", Passed),
        ("cargo build", "(output was lost)", Unknown),
        ("make", "", Passed),
        ("make", "gcc -c error.c -o error.o\nsh ./configure.sh", Unknown),
        ("make", "gcc -c a.c\n[100%] Built target a", Passed),
        ("make", "make: Nothing to be done for 'all'.", Passed),
        ("make", "make: 'all' is up to date.", Passed),
        (
            "make",
            "g++ -c a.cc\ng++: fatal error: Killed signal terminated program cc1plus",
            Failed,
        ),
        (
            "python -m build",
            "Traceback (most recent call last):\nModuleNotFoundError: x",
            Failed,
        ),
        ("python -m build", "Successfully built a-1.0.tar.gz", Passed),
        ("mvn package", "[INFO] BUILD SUCCESS\n[INFO] Total time: 3 s", Passed),
        ("npm run build", "x Build failed in 1s", Failed),
        ("npm run build", "Started background process 3", Unknown),
        ("npm run build", "> a@1.0.0 build\n> webpack", Unknown),
        ("npm run build", "webpack 5.9 compiled successfully in 300 ms", Passed),
        ("make", "make: *** No rule to make target 'all'.  Stop.", Failed),
        (
            "make",
            "Command: make\nOutput: gcc a.c\nError: (none)\nExit Code: 0\nSignal: (none)",
            Passed,
        ),
        (
            "make",
            "Command: make\nOutput: gcc a.c\nError: (none)\nExit Code: 2\nSignal: (none)",
            Failed,
        ),
        ("make", "make: command not found", Failed),
        ("make", "Command timed out after 120 seconds", Unknown),
        ("npm run build", "npm ERR! code ELIFECYCLE", Failed),
        ("npm run build", "vite v5\n✓ built in 2.1s", Passed),
        ("npm run build", "✘ [ERROR] Could not resolve \"a\"", Failed),
        ("npm run build", "Failed to compile.", Failed),
        ("mvn package", "[ERROR] COMPILATION failed", Failed),
        ("go build ./...", "bash: go: No such file", Failed),
        ("go build ./...", "# a.com/a\n./main.go:5:2: undefined: x", Failed),
        ("go build ./...", "./main.go:9:7: cannot use y as string value", Failed),
        ("go build ./...", "go: downloading a.com/b v1.2.3", Unknown),
        ("ruff check .", "All checks passed!", Passed),
        ("ruff check .", "Found 3 errors.", Failed),
        ("ruff check .", "a.py:1:8: F401 `os` imported but unused", Failed),
        ("pylint a", "a.py:1: unused-import", Unknown),
        ("black --check .", "would reformat a.py", Unknown),
        ("eslint .", "", Passed),
        ("eslint .", "some rule is deprecated", Unknown),
        ("black --check .", "All done!\n3 files would be left unchanged.", Passed),
        ("rubocop", "1 file inspected, no offenses detected", Passed),
        ("golangci-lint run", "10 issues:\n* govet: 10", Failed),
        ("golangci-lint run", "0 issues.", Passed),
        ("eslint .", "✖ 3 problems (2 errors, 1 warning)", Failed),
        ("mypy .", "Success: no issues found in 3 source files", Passed),
        ("mypy .", "a.py:1: error: Incompatible types", Failed),
    ];
    for (line, output, expected) in table {
        assert_eq!(verdict(line, None, output), expected, "{line}: {output}");
    }
}

#[test]
fn a_huge_output_is_judged_by_its_ends_and_no_number_is_cut() {
    let middle = "x".repeat(40_000);
    assert_eq!(
        verdict("cargo test", None, &format!("test a\n{middle}\n3 passed")),
        Passed
    );
    // The tail begins within "10 failed"; half of the number would be none.
    let tail = format!("failed {}tests passed", "y ".repeat((TAIL - 22) / 2));
    let output = format!("{middle}10 {tail}");
    assert_ne!(verdict("cargo test", None, &output), Failed);
}

#[test]
fn a_build_or_a_lint_whose_status_a_pipe_hides_is_well_if_its_end_is_seen_and_shows_nothing_wrong() {
    let table = [
        (
            "go build ./... 2>&1 | head -30",
            "a/b.go:57:59: not enough arguments in call to f\n\thave (string)",
            Failed,
        ),
        ("go build ./... 2>&1 | head -30", "", Passed),
        (
            "go vet ./... 2>&1 | tail -3",
            "# a/b\nb.c:3:5: warning: unused",
            Unknown,
        ),
        ("npm run build 2>&1 | tail -3", "dist/a.js  3.1 kB", Passed),
        ("npm run build 2>&1 | tail -50 | tail -3", "dist/a.js  3.1 kB", Passed),
        ("npm run build 2>&1 | head -3", "> a@1.0.0 build\n> webpack", Unknown),
        ("npm run build 2>&1 | head -3", "> vite build\n✓ built in 2.1s", Passed),
        ("npm run check 2>&1 | grep 'error TS' | wc -l", "11", Unknown),
        ("npm run check 2>&1 | grep -c error", "0", Unknown),
        ("npm run build; ls dist", "a.js", Unknown),
        ("npm run lint; echo \"Exit: $?\"", "$ biome check\nExit: 0", Passed),
        ("npm run lint; echo \"Exit: $?\"", "$ biome check\nExit: 1", Failed),
        (
            "npm run lint 2>&1 | head -9",
            "Checked 281 files in 117ms. No fixes applied.",
            Passed,
        ),
        (
            "mise run lint 2>&1 | tail -9",
            "[lint:go] 5 issues:\n[lint:go] * ireturn: 5\nFinished in 2.20s\n[lint:go] ERROR task failed",
            Failed,
        ),
        (
            "npm run build 2>&1 | tail -1",
            "webpack 5.90.0 compiled with 2 errors in 3000 ms",
            Failed,
        ),
        (
            "npx ng build 2>&1 | tail -2",
            "Application bundle generation failed. [3.2 seconds]\n",
            Failed,
        ),
        (
            "npx rollup -c 2>&1 | tail -2",
            "[!] RollupError: Could not resolve \"./x\" from \"src/a.js\"",
            Failed,
        ),
        (
            "python -m build 2>&1 | tail -1",
            "subprocess.CalledProcessError: Command died with <Signals.SIGKILL: 9>.",
            Failed,
        ),
        ("go build ./... 2>&1 | tail -1", "\ttoo many errors", Failed),
        (
            "./gradlew assemble 2>&1 | tail -3",
            "> Run with --info or --debug option to get more log output.\n> Run with --scan to get full insights.\n> Get more help at https://help.gradle.org.",
            Failed,
        ),
        (
            "docker build -t x . 2>&1 | tail -3",
            "------\nDockerfile:9\n--------------------",
            Unknown,
        ),
        ("npx oxlint | tail -1", "Found 0 warnings and 3 errors.", Failed),
        ("npx oxlint | tail -1", "Found 2 warnings and 0 errors.", Passed),
        ("golangci-lint run | tail -2", "* errcheck: 1", Failed),
        (
            "shellcheck *.sh | tail -3",
            "In a.sh line 3:\necho $x\n     ^-- SC2086 (info): Double quote to prevent globbing",
            Unknown,
        ),
        (
            "mix credo | tail -2",
            "14 mods/funs, found 2 warnings, 1 refactoring opportunity.",
            Unknown,
        ),
        ("pylint app | tail -2", "Your code has been rated at 4.20/10", Unknown),
        ("pylint app | tail -2", "Your code has been rated at 10.00/10", Passed),
        (
            "npm run build 2>&1 | tail -5",
            "warning: failed to read a source map\ndist/a.js  3.1 kB",
            Passed,
        ),
        (
            "npm run build 2>&1 | tail -3",
            "upload of a.map failed, trying again",
            Unknown,
        ),
        (
            "npm run build | tail -3",
            "✓ built in 3.2s\n(!) Some chunks are larger than 500 kB",
            Passed,
        ),
        (
            "npm run lint 2>&1 | tail -4",
            "× Some errors were emitted while running checks.",
            Failed,
        ),
        (
            "./gradlew compileKotlin | tail -5",
            "e: file:///app/src/Main.kt:12:5 Unresolved reference: foo",
            Failed,
        ),
    ];
    for (line, output, expected) in table {
        assert_eq!(verdict(line, Some(true), output), expected, "{line}: {output}");
    }
}

#[test]
fn the_last_lines_of_a_build_or_a_lint_tell_that_it_went_well_only_in_words_that_say_so() {
    let routes = "├ ○ /about\n├ ○ /login\n└ ○ /pay\n○ (Static) prerendered as static content";
    let table = [
        ("make 2>&1 | tail -1", "make: Leaving directory '/w'", Unknown),
        (
            "make -C a 2>&1 | tail -2",
            "make: *** [Makefile:2: all] Error 1\nmake: Leaving directory '/w/a'",
            Failed,
        ),
        (
            "make -C a 2>&1 | tail -2",
            "cc -o a a.o\nmake: Leaving directory '/w/a'",
            Passed,
        ),
        (
            "ruff check . | tail -1",
            "[*] 3 fixable with the `--fix` option.",
            Unknown,
        ),
        ("ruff check . | tail -1", "All checks passed!", Passed),
        (
            "shellcheck *.sh | tail -2",
            "For more information:\n  https://www.shellcheck.net/wiki/SC2086 -- Double quote to prevent",
            Unknown,
        ),
        (
            "docker build . 2>&1 | tail -1",
            "View build details: docker-desktop://dashboard/build/default/x",
            Unknown,
        ),
        (
            "npm run build 2>&1 | tail -1",
            "npm error A complete log of this run can be found in: /root/.npm/_logs/1-debug-0.log",
            Failed,
        ),
        (
            "npx vite build 2>&1 | tail -1",
            "    at async build (node_modules/vite/dist/node/chunks/dep-1.js:2:3)",
            Unknown,
        ),
        ("npx vite build 2>&1 | tail -1", "✓ built in 1.2s", Passed),
        ("npx next build | tail -4", routes, Unknown),
        ("npx next build | tail -20", routes, Passed),
        ("npx next build | tail", routes, Passed),
        ("npx next build | tail -4; echo done", routes, Unknown),
        ("npx eslint . | tail -1", "", Passed),
        (
            "cargo build 2>&1 | tail -1",
            "    Finished `dev` profile in 3.1s",
            Passed,
        ),
    ];
    for (line, output, expected) in table {
        assert_eq!(verdict(line, Some(true), output), expected, "{line}: {output}");
    }
}

#[test]
fn a_question_behind_a_pipe_has_a_status_of_its_own() {
    let table = [
        ("cargo test 2>&1 | grep FAILED", "", Unknown),
        (
            "cargo test 2>&1 | grep 'test result'",
            "test result: FAILED. 1 passed; 1 failed",
            Failed,
        ),
        ("npm run build 2>&1 | grep -i compiled", "", Unknown),
        ("set -o pipefail; cargo test 2>&1 | grep x", "", Failed),
        ("cargo test && grep x a", "", Failed),
        ("cargo test 2>&1 | tail -3", "", Failed),
    ];
    for (line, output, expected) in table {
        assert_eq!(verdict(line, Some(false), output), expected, "{line}: {output}");
    }
}

#[test]
fn silence_behind_a_filter_is_well_only_where_failures_would_have_been_shown() {
    for (line, expected) in [
        ("mise run lint 2>&1 | grep -A 5 manual_commit", Unknown),
        ("npm run lint 2>&1 | grep checkout | head -20", Unknown),
        ("cargo build 2>&1 | rg 'src/pay.rs' || true", Unknown),
        ("npx tsc --noEmit 2>&1 | grep ErrorBoundary | head -20", Unknown),
        ("npx tsc --noEmit | grep 'error TS2322'", Unknown),
        ("npx tsc --noEmit | grep -v src/a.ts", Unknown),
        ("make | grep -E 'error|warning'", Passed),
        ("npx tsc --noEmit | grep 'error TS' | head", Passed),
        ("npx eslint . | grep -v node_modules", Passed),
        ("npx eslint . | head -20", Passed),
    ] {
        assert_eq!(verdict(line, Some(true), ""), expected, "{line}");
    }
    // What is shown tells all the same.
    let shown = "src/a.ts\n  3:1  error  Unexpected var  no-var\n\n✖ 1 problem (1 error, 0 warnings)";
    assert_eq!(verdict("npx eslint . | grep -A9 src/a.ts", Some(true), shown), Failed);
}

#[test]
fn of_what_is_left_in_the_background_nothing_is_known() {
    for line in [
        "npm run build &",
        "cd a && make | tee log &",
        "bash -c 'make' &",
        "pytest > log 2>&1 & echo $!",
    ] {
        assert_eq!(verdict(line, Some(true), ""), Unknown, "{line}");
        assert_eq!(verdict(line, Some(true), "3 passed in 1s"), Unknown, "{line}");
    }
    for line in ["npm run build & wait", "sleep 1 & npm run build", "npm run build 2>&1"] {
        assert_eq!(verdict(line, Some(true), ""), Passed, "{line}");
    }
}

proptest! {
    #[test]
    fn no_output_is_too_odd(output in r#"(\PC|\n|\x1b\[|[0-9]| |test|passed|failed|:|=|exit){0,60}"#, status in any::<Option<bool>>()) {
        verdict("cargo test | tail", status, &output);
    }

    #[test]
    fn a_count_above_zero_is_a_failure_and_zero_is_none(number in 0u32..200, form in 0usize..5) {
        let line = match form {
            0 => format!("{number} failed"),
            1 => format!("failures: {number}"),
            2 => format!("{number} tests failed"),
            3 => format!("(errors={number})"),
            _ => format!("fail {number}"),
        };
        let expected = if number > 0 { Failed } else { Passed };
        prop_assert_eq!(verdict("cargo test", None, &format!("tests passed\n{line}\n")), expected);
    }
}
