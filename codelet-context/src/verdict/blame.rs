//! Of checks that `&&` joins, which one has failed: the first that fails ends the line, so those before the last that is known
//! to have begun have passed.

use super::apart::ended;
use super::closing::closes;
use super::{Verdict, is_build_failure, lines};
use crate::message::ToolResult;
use crate::said::{ERRORS, FINDINGS, PROBLEMS, counts_some, failed_count, is_of_failed_test, split};
use crate::testrun::{Behind, Check, CheckKind, Line, shows_begin};

/// What an output shows of a check of a line that failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Shown {
    /// Nothing that is known of it.
    Nothing,
    /// It has begun.
    Begun,
    /// It has found something.
    Fault,
}

/// Mends the verdicts on the checks of a line, where each was judged for itself and several are told as failed for what one has
/// printed. Gives the numbers of those that have not begun.
pub(crate) fn settle(line: &Line, verdicts: &mut [Verdict], result: &ToolResult) -> Vec<usize> {
    if result.success == Some(false) {
        tell_apart(line, verdicts, result);
    }
    let mut unbegun = Vec::new();
    let failed: Vec<usize> = (0..verdicts.len())
        .filter(|at| verdicts[*at] == Verdict::Failed)
        .collect();
    let mut rest = &failed[..];
    while let Some((first, others)) = rest.split_first() {
        let joined = others.iter().take_while(|at| line.leads_to(*first, **at)).count();
        // Each but the last has to lead to the next.
        let mut length = 1;
        while length <= joined && line.leads_to(rest[length - 1], rest[length]) {
            length += 1;
        }
        if length > 1 {
            unbegun.extend(settle_list(line, &rest[..length], verdicts, result));
        }
        rest = &rest[length..];
    }
    unbegun
}

/// Mends the verdicts on checks that are told as failed for the status of their line, which may be that of another command.
fn tell_apart(line: &Line, verdicts: &mut [Verdict], result: &ToolResult) {
    for (at, check) in line.checks.iter().enumerate().rev() {
        if verdicts[at] != Verdict::Failed || check.behind == Behind::Nothing || check.is_left || states(check, result)
        {
            continue;
        }
        let is_only = line.checks.iter().filter(|other| other.kind == check.kind).count() == 1;
        verdicts[at] = match ended(check, may_build_behind(line, at), result) {
            // Of several runs, nobody knows which has closed.
            Verdict::Passed if !is_only && check.behind == Behind::Checks => Verdict::Failed,
            Verdict::Passed if !is_only => Verdict::Unknown,
            verdict => verdict,
        };
        if verdicts[at] == Verdict::Passed {
            for before in (0..at).filter(|before| line.leads_to(*before, at)) {
                verdicts[before] = Verdict::Passed;
            }
        }
    }
}

/// Whether the output states what came of a check as the line has asked for it.
fn states(check: &Check, result: &ToolResult) -> bool {
    let printed = check.printed.as_ref();
    printed.is_some_and(|printed| printed.status(lines(result)).is_some())
}

/// Whether what could not be built behind the counts of a run of tests may be another command's. Of those that build part after
/// part, the next part may be it.
fn may_build_behind(line: &Line, at: usize) -> bool {
    const BUILDS_FIRST: &str = "cargo";
    let program = line.checks[at].program();
    let mut behind = line.checks[at + 1..].iter();
    program == BUILDS_FIRST || behind.any(|other| other.kind != CheckKind::Test && other.program() != program)
}

fn settle_list<'a>(line: &Line, list: &'a [usize], verdicts: &mut [Verdict], result: &ToolResult) -> &'a [usize] {
    let checks: Vec<&Check> = list.iter().map(|at| &line.checks[*at]).collect();
    let shown: Vec<Shown> = (0..checks.len()).map(|at| shown(&checks, at, result)).collect();
    let Some(begun) = shown.iter().rposition(|shown| *shown > Shown::Nothing) else {
        return &[];
    };
    for at in &list[..begun] {
        verdicts[*at] = Verdict::Passed;
    }
    // What has found something ends the list; what has only begun may have gone well.
    match shown[begun] {
        Shown::Fault => &list[begun + 1..],
        _ => &[],
    }
}

/// What an output shows of one of several checks. What more than one of them could have printed is shown of none.
fn shown(checks: &[&Check], at: usize, result: &ToolResult) -> Shown {
    let check = checks[at];
    let is_only = checks.iter().filter(|other| other.kind == check.kind).count() == 1;
    let has = |kind: CheckKind| checks.iter().any(|other| other.kind == kind);
    let tests_ran = || closes(result).is_some() && says_tests(result) || lines(result).any(is_of_failed_test);
    let is_fault = is_only
        && match check.kind {
            CheckKind::Test => tests_ran(),
            // The tests may be what could not be built, and some linters compile.
            CheckKind::Build => {
                is_build_failure(result)
                    && !(has(CheckKind::Test) && tests_ran())
                    && !lines(result).any(counts_findings)
                    && checks
                        .iter()
                        .all(|other| other.kind == check.kind || other.program() != check.program())
            }
            CheckKind::Lint => {
                let may_be_anothers = has(CheckKind::Build) || has(CheckKind::Test) && tests_ran();
                lines(result).any(counts_findings) || !may_be_anothers && lines(result).any(counts_found)
            }
        };
    match is_fault {
        true => Shown::Fault,
        false if shows_begin(check, result) => Shown::Begun,
        false => Shown::Nothing,
    }
}

/// Whether an output shows that this check of a line has begun, whatever came of it.
pub(crate) fn has_begun(line: &Line, at: usize, result: &ToolResult) -> bool {
    let checks: Vec<&Check> = line.checks.iter().collect();
    shown(&checks, at, result) > Shown::Nothing
}

/// Whether an output tells of tests where it counts.
fn says_tests(result: &ToolResult) -> bool {
    const SIGNS: &[&str] = &["test", "Test", "passed", "PASS", "example", "spec"];
    lines(result).any(|line| failed_count(line).is_some() && SIGNS.iter().any(|sign| line.contains(sign)))
}

/// Whether a line counts what only linters count: `1 issues:`, `✖ 3 problems (3 errors, 0 warnings)`.
fn counts_findings(line: &str) -> bool {
    !line.contains("(0 errors") && counts(line, &[FINDINGS, PROBLEMS])
}

/// Whether a line counts errors as linters do and compilers may: `Found 3 errors.`
fn counts_found(line: &str) -> bool {
    line.trim_start().starts_with("Found ") && counts(line, &[ERRORS])
}

fn counts(line: &str, what: &[&str]) -> bool {
    let mut words = Vec::new();
    split(line, &mut words);
    counts_some(&words, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::of;
    use Verdict::{Failed, Passed, Unknown};
    use proptest::prelude::*;

    fn verdicts(line: &str, output: &str) -> Vec<Verdict> {
        let line = Line::read(line);
        let result = ToolResult::new("1", Some(false), output);
        let mut verdicts: Vec<Verdict> = line.checks.iter().map(|check| of(check, &result)).collect();
        for at in settle(&line, &mut verdicts, &result) {
            verdicts[at] = Unknown;
        }
        verdicts
    }

    const LINT: &str = "a.go:3:1: Default returns interface (ireturn)\n1 issues:\n* ireturn: 1";
    const TYPES: &str = "src/a.ts(3,1): error TS2304: Cannot find name 'b'.";
    const JEST: &str = "FAIL src/a.test.ts\n  ● a › b\n\nTests:       1 failed, 3 passed, 4 total";

    #[test]
    fn what_an_output_shows_tells_which_of_several_has_failed() {
        let table = [
            ("go build ./... && golangci-lint run", LINT, &[Passed, Failed][..]),
            (
                "go vet ./... && go build ./... && go test ./...",
                "--- FAIL: TestA (0.1s)\nFAIL\nFAIL\tx/y\t0.1s",
                &[Passed, Passed, Failed],
            ),
            (
                "go build ./... && mise run lint",
                "[lint] $ golangci-lint run\nsomething went wrong",
                &[Passed, Failed],
            ),
            ("npx tsc && npx jest", JEST, &[Passed, Failed]),
            ("npx tsc && npx jest", TYPES, &[Failed, Unknown]),
            ("npx tsc --noEmit && npx eslint .", TYPES, &[Failed, Unknown]),
            (
                "npx tsc --noEmit && npx eslint .",
                "/w/a.ts\n  3:5  error  no\n\n✖ 1 problem (1 error, 0 warnings)",
                &[Passed, Failed],
            ),
            (
                "npx eslint . && npx jest",
                "✖ 2 problems (2 errors, 0 warnings)",
                &[Failed, Unknown],
            ),
            (
                "npx eslint . && npx jest",
                &format!("✖ 2 problems (0 errors, 2 warnings)\n{JEST}"),
                &[Passed, Failed],
            ),
            (
                "mypy . && pytest",
                "a.py:3: error: no\nFound 1 error in 1 file (checked 9 source files)",
                &[Failed, Unknown],
            ),
            (
                "ruff check . && pytest",
                "FAILED tests/a.py::b - x\n1 failed, 3 passed in 1s",
                &[Passed, Failed],
            ),
            (
                "npm run build && npm run lint",
                "> a@1.0.0 build\n> tsc\n\n> a@1.0.0 lint\n> eslint .\n\nno such rule",
                &[Passed, Failed],
            ),
            (
                "cargo build && cargo test",
                "test a ... FAILED\ntest result: FAILED. 1 passed; 1 failed",
                &[Passed, Failed],
            ),
            ("cd a && npx tsc && cd .. && npx jest", JEST, &[Passed, Failed]),
        ];
        for (line, output, expected) in table {
            assert_eq!(verdicts(line, output), expected, "{line}: {output}");
        }
    }

    #[test]
    fn where_nothing_shows_which_has_failed_all_are_told_as_failed() {
        let table = [
            ("go build ./... && golangci-lint run", "Killed"),
            (
                "cargo build && cargo test",
                "error[E0432]: unresolved import\nerror: could not compile `a` (lib)",
            ),
            ("npx tsc && npx webpack", TYPES),
            ("npm run build && npm run lint", "> a@1.0.0 build\n> tsc\n\nno"),
            ("npx eslint . ; npx tsc && npx jest | tail", "Killed"),
        ];
        for (line, output) in table {
            let verdicts = verdicts(line, output);
            assert!(
                verdicts.iter().all(|verdict| *verdict == Failed),
                "{line}: {verdicts:?}"
            );
        }
        // Behind `;` and `||` one check says nothing of another.
        assert_eq!(verdicts("npx tsc; npx jest", JEST), [Unknown, Failed]);
        assert_eq!(verdicts("npx tsc || npx jest", JEST), [Failed, Failed]);
    }

    proptest! {
        #[test]
        fn no_more_fails_than_before_and_something_always_does(
            line in "(pytest|tsc|eslint|npm run lint|make)( && (pytest|tsc|eslint|go vet|npm run build)){0,5}",
            output in r"((1 issues|error TS1|FAIL a|> a@1 lint|\[x\]|1 failed|Found 2 errors|\PC)\n){0,6}",
        ) {
            prop_assert!(verdicts(&line, &output).contains(&Failed));
        }
    }
}
