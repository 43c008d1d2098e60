//! How one check of a line that failed has ended, where other commands ran behind it, of which one may be what failed: by what
//! the check has printed itself.

use super::closing::{Counts, breaks_off, is_trailer, says_so};
use super::idle::ran_nothing;
use super::logged::{self, Told, is_own_count};
use super::quiet::{gives_up, says_it_is_well, shows_error};
use super::signs::{CAUSES, ERRORS, FAILING, OPEN};
use super::{Verdict, ends, is_build_failure, is_unbuilt, shows_finding, texts};
use crate::failing::{printed, within_frame};
use crate::message::ToolResult;
use crate::said::{is_counting, is_of_failed_test, is_signed, split};
use crate::testrun::{Behind, Check, CheckKind};
use std::borrow::Cow;
use std::ops::Range;

/// What came of a check that was told as failed with its line. `may_build` where what is behind it may be what could not be
/// built.
pub(super) fn ended(check: &Check, may_build: bool, result: &ToolResult) -> Verdict {
    let verdict = match check.kind {
        CheckKind::Test => tests_ended(may_build, result),
        CheckKind::Build | CheckKind::Lint => build_ended(check, result),
    };
    match (verdict, check.behind) {
        (Some(Verdict::Passed), _) if check.is_picked => Verdict::Unknown,
        (Some(verdict), _) => verdict,
        // Of what follows only if it has succeeded, something has failed: with an error that may as well be its own.
        (None, Behind::Others) if says_what_is_wrong(result) => Verdict::Failed,
        (None, Behind::Nothing | Behind::Checks) => Verdict::Failed,
        (None, Behind::Others | Behind::Apart) => Verdict::Unknown,
    }
}

/// Whether anything in an output is what is wrong.
fn says_what_is_wrong(result: &ToolResult) -> bool {
    shows_error(result) || gives_up(result) || texts(result).flat_map(ends).any(|text| CAUSES.is_in(text))
}

/// What came of tests, if that is shown: they have passed if they close well, and nothing but what others may have said speaks
/// against it.
fn tests_ended(may_build: bool, result: &ToolResult) -> Option<Verdict> {
    let texts: Vec<Cow<'_, str>> = texts(result).map(printed).collect();
    let lines = texts.iter().flat_map(|text| ends(text)).flat_map(str::lines);
    let lines: Vec<&str> = lines.filter_map(within_frame).collect();
    let is_unbuilt = |lines: &[&str]| lines.iter().any(|line| is_unbuilt(line));
    let says_so = |lines: &[&str]| lines.iter().any(|line| complains(line) || is_own_count(line));
    if lines.iter().any(|line| is_of_failed_test(line)) {
        return Some(Verdict::Failed);
    }
    let Some(close) = last_close(&lines) else {
        return (is_unbuilt(&lines) || says_so(&lines)).then_some(Verdict::Failed);
    };
    let (above, behind) = (&lines[..close.start], &lines[close.end..]);
    if says_so(behind) || is_unbuilt(above) || !may_build && is_unbuilt(behind) {
        return Some(Verdict::Failed);
    }
    let is_open = behind.iter().any(|line| OPEN.is_in(line));
    Some(match logged::told(above.iter().copied()) {
        Told::Own => Verdict::Failed,
        Told::Logged if !is_open && !ran_nothing(result) => Verdict::Passed,
        Told::Logged | Told::Unsure => Verdict::Unknown,
    })
}

/// The last lines with which a run of tests closes well, whatever others have printed behind them.
fn last_close(lines: &[&str]) -> Option<Range<usize>> {
    // Lines of one close.
    const MOST: usize = 12;
    let mut words = Vec::new();
    (0..lines.len()).rev().find_map(|last| {
        split(lines[last], &mut words);
        if !says_so(lines[last]) && (!is_counting(&words) || is_signed(lines[last])) {
            return None;
        }
        let first = last.saturating_sub(MOST - 1);
        closes_well(&lines[first..=last]).map(|length| last + 1 - length..last + 1)
    })
}

/// Of how many lines at the end of these a close is made, if they close well.
fn closes_well(lines: &[&str]) -> Option<usize> {
    let (mut counts, mut words) = (Counts::default(), Vec::new());
    for (before, line) in lines.iter().rev().enumerate() {
        split(line, &mut words);
        let is_count = is_counting(&words) && !is_signed(line);
        if says_so(line) {
            counts.is_said = true;
        } else if is_count {
            if !counts.take(&words) {
                return counts.are_well().then_some(before);
            }
        } else if counts.are_well() || !words.is_empty() && !is_trailer(line) {
            return counts.are_well().then_some(before);
        }
    }
    counts.are_well().then_some(lines.len())
}

/// Whether a line says behind the counts of tests that the run has failed all the same: in the words of runners, or of those
/// that run the scripts of a project.
fn complains(line: &str) -> bool {
    const SIGNS: &[&str] = &[
        ": *** [",
        "Command failed with exit code",
        "error: script \"",
        "error: Recipe `",
        "Failed to run task",
        "ERROR task failed",
        "run failed: command",
        "rake aborted!",
        ": FAIL code ",
    ];
    FAILING.is_in(line) && breaks_off(line) || SIGNS.iter().any(|sign| line.contains(sign))
}

/// What came of a build or a lint, if that is shown: it has failed if it shows a fault, and succeeded if it says so.
fn build_ended(check: &Check, result: &ToolResult) -> Option<Verdict> {
    let mut texts = texts(result).flat_map(ends);
    if is_build_failure(result) || shows_finding(check.kind, result) || texts.any(|text| ERRORS.is_in(text)) {
        return Some(Verdict::Failed);
    }
    let says_so = says_it_is_well(result) && check.behind != Behind::Checks;
    match says_so {
        true => Some(Verdict::Passed),
        false => (shows_error(result) || gives_up(result)).then_some(Verdict::Failed),
    }
}

#[cfg(test)]
mod tests {
    use crate::message::ToolResult;
    use crate::testrun::Line;
    use crate::verdict::Verdict::{self, Failed, Passed, Unknown};
    use crate::verdict::{of, settle};
    use proptest::prelude::*;

    fn verdicts(line: &str, output: &str) -> Vec<Verdict> {
        let line = Line::read(line);
        let result = ToolResult::new("1", Some(false), output);
        let mut verdicts: Vec<Verdict> = line.checks.iter().map(|check| of(check, &result)).collect();
        let unbegun = settle(&line, &mut verdicts, &result);
        let kept = (0..verdicts.len()).filter(|at| !unbegun.contains(at));
        kept.map(|at| verdicts[at]).collect()
    }

    const CARGO: &str =
        "running 3 tests\ntest a ... ok\n\ntest result: ok. 3 passed; 0 failed; 0 ignored; finished in 0.01s\n";
    const REJECTED: &str = "To github.com:x/y.git\n ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs\n\nExit code: 1";
    const LONG: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven";

    #[test]
    fn tests_that_close_well_have_passed_whatever_fails_behind_them() {
        let table = [
            ("cargo test && git push", format!("{CARGO}\n{REJECTED}")),
            ("cargo test; git push", format!("{CARGO}\n{REJECTED}")),
            ("cargo test 2>&1 | tail -5 && git push", format!("{CARGO}\n{REJECTED}")),
            (
                "cargo test && ./target/debug/app",
                format!("{CARGO}\nthread 'main' panicked at src/main.rs:3: boom"),
            ),
            (
                "pytest -q && git commit -am x",
                "9 passed in 0.2s\ntrailing-whitespace....Failed\n- hook id: trailing-whitespace\n- exit code: 1"
                    .into(),
            ),
            (
                "pytest -q && git add -A && git commit -m x",
                "9 passed in 0.2s\nOn branch main\nnothing to commit, working tree clean".into(),
            ),
            (
                "npm test && git diff --exit-code",
                "Tests:       12 passed, 12 total\nTime: 1 s\ndiff --git a/x b/x\n-a\n+b".into(),
            ),
            ("pytest -q; grep -rn TODO src", "Exit code 1\n9 passed in 0.2s".into()),
            (
                "pytest -q; ls nonexist",
                "9 passed in 0.2s\nls: cannot access nonexist: No such file or directory".into(),
            ),
            (
                "pytest -q; cat coverage.txt",
                "9 passed in 0.2s\ncat: coverage.txt: No such file or directory".into(),
            ),
            (
                "npm test && node scripts/check.js",
                "Tests:       12 passed, 12 total\nTime: 1 s\nError: Cannot find module '/w/scripts/check.js'".into(),
            ),
            (
                "go test ./... && ./deploy",
                format!("ok  \ta.b/c\t0.01s\nok  \ta.b/d\t0.02s\n{LONG}\nfatal: no"),
            ),
            (
                "python -m unittest && ./x",
                format!("....\n-----\nRan 4 tests in 0.003s\n\nOK\n{LONG}"),
            ),
            (
                "npx vitest run && ./x",
                format!(
                    "stdout | a.test.ts\nerrors: {{ count: 3 }}, 2 failed to load\n\n Test Files  1 passed (1)\n      Tests  5 passed (5)\n{LONG}"
                ),
            ),
            (
                "bash -c 'cd a && pytest -q' && git push",
                format!("9 passed in 0.2s\n{REJECTED}"),
            ),
        ];
        for (line, output) in table {
            assert_eq!(verdicts(line, &output), [Passed], "{line}: {output}");
        }
    }

    #[test]
    fn a_check_behind_tests_that_close_well_is_what_has_failed() {
        let clippy = "    Checking a v0.1.0\nerror: unused variable: `x`\nerror: could not compile `a` (lib) due to 1 previous error";
        let table = [
            (
                "pytest -q && mypy src",
                "9 passed in 0.2s\na.py:1: error: x\nFound 1 error in 1 file (checked 3 source files)".into(),
            ),
            (
                "pytest -q && ruff check .",
                "9 passed in 0.2s\na.py:1:1: F401 unused import\nFound 1 error.".into(),
            ),
            (
                "cargo test && cargo clippy -- -D warnings",
                format!("{CARGO}\n{clippy}"),
            ),
            (
                "npm test && npx tsc --noEmit",
                "Tests:       12 passed, 12 total\nsrc/a.ts(3,1): error TS2304: Cannot find name 'b'.".into(),
            ),
            (
                "pytest -q; ruff check .",
                "9 passed in 0.2s\na.py:1:1: F401 unused import\nFound 1 error.".into(),
            ),
        ];
        for (line, output) in table {
            assert_eq!(verdicts(line, &output), [Passed, Failed], "{line}: {output}");
        }
        // All that `&&` lets follow is behind those that passed before.
        assert_eq!(
            verdicts(
                "go build ./... && go test ./... && git push",
                &format!("ok  \ta.b/c\t0.01s\n{REJECTED}")
            ),
            [Passed, Passed]
        );
        assert_eq!(
            verdicts(
                "cargo build && git push",
                &format!("    Finished `dev` profile in 0.1s\n{REJECTED}")
            ),
            [Passed]
        );
    }

    #[test]
    fn a_run_that_says_itself_that_it_failed_has_failed() {
        let table = [
            ("cargo test && git push", "test a ... FAILED\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored".into()),
            ("cargo test && git push", format!("{CARGO}error: test failed, to rerun pass `--test b`\n\nCaused by:\n  process didn't exit successfully (signal: 6, SIGABRT)")),
            ("cargo test && git push", format!("{CARGO}\n   Doc-tests a\n\ntest src/lib.rs - a (line 3) ... FAILED\nerror: doctest failed, to rerun pass `--doc`")),
            ("cargo test && git push", format!("error: could not compile `b` (test \"b\")\n{CARGO}")),
            ("cargo test && git push", "error[E0308]: mismatched types\nerror: could not compile `a`".into()),
            ("mvn test && ./deploy", "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n[ERROR] COMPILATION ERROR : \n[INFO] BUILD FAILURE".into()),
            ("go test ./... && git push", "ok  \ta.b/c\t0.01s\n# a.b/d\n./d.go:3:1: undefined: x\nFAIL\ta.b/d [build failed]".into()),
            ("pytest -q && git push", "1 failed, 8 passed in 0.2s".into()),
            ("pytest -q; ls", "1 failed, 8 passed in 0.2s\na.py".into()),
            ("pytest -q; cat old.log", "1 failed, 8 passed in 0.2s\n9 passed in 0.1s".into()),
            ("npm test && git push", "Tests:       12 passed, 12 total\nnpm ERR! Test failed.  See above for more details.".into()),
            ("npx jest && git push", "Tests:       12 passed, 12 total\nJest: \"global\" coverage threshold for lines (80%) not met: 61%".into()),
            ("make test && git push", "9 passed in 0.2s\nmake: *** [Makefile:3: test] Error 1".into()),
            ("yarn test && git push", "Tests:       12 passed, 12 total\nerror Command failed with exit code 1.".into()),
            ("npx mocha && git push", "  5 passing (20ms)\n  1 failing\n\n  1) adds:\n     AssertionError: 1 == 2".into()),
            ("pytest -q && git push", "ImportError while loading conftest '/w/conftest.py'.\nE   ModuleNotFoundError: No module named 'x'".into()),
            // Nothing behind it can have failed.
            ("pytest -q", "9 passed in 0.2s".into()),
            ("cd a && pytest -q && echo done", "9 passed in 0.2s".into()),
            ("pytest -q | tail -3; exit ${PIPESTATUS[0]}", "9 passed in 0.2s".into()),
        ];
        for (line, output) in table {
            assert_eq!(verdicts(line, &output), [Failed], "{line}: {output}");
        }
    }

    #[test]
    fn where_nothing_shows_how_a_check_has_ended_its_line_says_nothing_of_it() {
        let table = [
            ("pytest -q; grep -rn TODO src", String::new()),
            ("pytest -q > log 2>&1 && git push", REJECTED.into()),
            ("pytest -q && git diff --exit-code", "-a\n+b".into()),
            (
                "pytest -q; ls nonexist",
                "ls: cannot access nonexist: No such file or directory".into(),
            ),
            ("pytest -q && ./x", "0 passed in 0.1s".into()),
            (
                "pytest -q && ./serve",
                "9 passed in 0.1s\nCommand timed out after 120 seconds".into(),
            ),
            ("pytest -q && ./x", "errors: 3\n9 passed in 0.1s\nno".into()),
            (
                "go test ./... | grep ok && git push",
                format!("ok  \ta.b/c\t0.01s\n{REJECTED}"),
            ),
            ("npm run build; ls nonexist", "> a@1.0.0 build\n> vite build".into()),
        ];
        for (line, output) in table {
            assert_eq!(verdicts(line, &output), [Unknown], "{line}: {output}");
        }
        // Which of both has closed, nobody knows.
        assert_eq!(
            verdicts(
                "cargo test -p a && cargo test -p b && git push",
                &format!("{CARGO}\n{REJECTED}")
            ),
            [Unknown, Unknown]
        );
        // One of the checks has failed.
        assert_eq!(verdicts("pytest -q && ruff check .", "Killed"), [Failed, Failed]);
    }

    proptest! {
        #[test]
        fn who_counts_failures_has_not_passed(
            before in r"((9 passed in 1s|ok|OK|test result: ok\. 3 passed; 0 failed|\PC| )\n){0,4}",
            failed in r"[1-9] failed, [1-9] passed in 1s|test result: FAILED\. 2 passed; 1 failed|FAIL\ta/b|--- FAIL: TestA",
            after in r"((9 passed in 1s|ok|OK|test result: ok\. 3 passed; 0 failed|error: no|\PC| )\n){0,4}",
            line in r"pytest( &&|;) git push",
        ) {
            prop_assert_ne!(verdicts(&line, &format!("{before}{failed}\n{after}")), [Passed]);
        }
    }
}
