//! Lines by which builds and lints show that they have found something, in no words of an error: a place with what is wrong
//! there, a count of what was found, a task that is told to have failed.

use super::fixed::{is_fixed, says_what_is_left};
use super::lines;
use super::quiet::is_error;
use crate::message::ToolResult;
use crate::said::{FINDINGS, column_place, counts_errors, counts_some, split};
use crate::testrun::CheckKind;

/// What tools say in front of a place that is no fault of what is checked.
const MILD: &[&str] = &[
    "warning",
    "warn",
    "note",
    "info",
    "information",
    "hint",
    "help",
    "suggestion",
    "remark",
    "debug",
    "trace",
];

/// Whether an output shows that a build or a lint has found something wrong.
pub(super) fn shows_finding(kind: CheckKind, result: &ToolResult) -> bool {
    let mut lines = lines(result).filter(|line| !is_fixed(line));
    lines.any(|line| is_finding(kind, line))
}

fn is_finding(kind: CheckKind, line: &str) -> bool {
    let line = line.trim();
    let bare = without_tags(line);
    let is_shouted = bare.len() < line.len() && ["ERROR", "FATAL", "FAILED"].iter().any(|word| bare.starts_with(word));
    let is_of_lint = kind == CheckKind::Lint && is_crossed(bare);
    is_fault_at_place(bare) || is_shouted && is_error(bare) || is_of_lint || counts_findings(kind, bare)
}

/// A line without what a runner of tasks puts in front of it: `[lint:go] a.go:3:1: …`.
fn without_tags(line: &str) -> &str {
    let mut rest = line;
    while let Some((tag, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && !tag.is_empty()
        && tag.len() <= 40
    {
        rest = behind.trim_start();
    }
    rest
}

/// `a.go:3:14: cannot use x`, and as Kotlin says it, `e: file:///a.kt:3:14 unresolved`. A place without a column is what `grep`
/// prints too, and one behind which a warning stands fails nothing.
fn is_fault_at_place(line: &str) -> bool {
    let (line, is_marked) = match line.strip_prefix("e: ") {
        Some(rest) => (rest, true),
        None => (line.strip_prefix("vet: ").unwrap_or(line), false),
    };
    let Some((message, place)) = column_place(line) else {
        return false;
    };
    let word: String = message
        .trim_start_matches(['[', '(', '-', ' '])
        .chars()
        .take_while(|c| c.is_alphabetic())
        .collect();
    let is_mild = MILD.iter().any(|mild| mild.eq_ignore_ascii_case(&word)) || message.contains("[Warning/");
    let is_named = place.contains(['.', '/', '\\']) && !place.contains(char::is_whitespace);
    let is_said = message.contains(char::is_alphabetic);
    is_named && is_said && (is_marked || !is_mild && !place.contains("://"))
}

/// `× Formatter would have printed the following content:`
fn is_crossed(line: &str) -> bool {
    line.strip_prefix("× ")
        .is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

/// Whether a line counts errors, or of a lint what only linters count: `compiled with 2 errors`, `5 issues:`,
/// `3 files inspected, 2 offenses detected`. Of problems and warnings some are no fault.
fn counts_findings(kind: CheckKind, line: &str) -> bool {
    // How much of it is left decides there.
    if says_what_is_left(line) {
        return false;
    }
    let mut words = Vec::new();
    split(line, &mut words);
    counts_errors(&words) || kind == CheckKind::Lint && (counts_some(&words, &[FINDINGS]) || counts_in_list(line))
}

/// `* errcheck: 1`: how often one of several linters has found something.
fn counts_in_list(line: &str) -> bool {
    let counted = line.strip_prefix("* ").and_then(|rest| rest.split_once(": "));
    counted.is_some_and(|(linter, number)| {
        !linter.contains(char::is_whitespace) && number.parse::<u64>().is_ok_and(|number| number > 0)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use CheckKind::{Build, Lint};
    use proptest::prelude::*;

    #[test]
    fn a_place_with_what_is_wrong_there_is_a_finding_and_one_with_a_warning_is_none() {
        for line in [
            "./main.go:9:7: cannot use y (variable of type int) as string value",
            "cmd/a/b.go:57:59: not enough arguments in call to f",
            "vet: ./a.go:3:5: undefined: x",
            "[lint:go] a.go:3:5: Error return value is not checked (errcheck)",
            "e: file:///app/src/Main.kt:12:5 Unresolved reference: foo",
            r"C:\w\a.py:1:8: F401 `os` imported but unused",
            "[lint:go] ERROR task failed",
        ] {
            assert!(is_finding(Build, line) && is_finding(Lint, line), "{line}");
        }
        for line in [
            "src/a.c:3:5: warning: unused variable 'x' [-Wunused-variable]",
            "src/a.c:3:5: note: declared here",
            "a.js:3:5: Unexpected console statement. [Warning/no-console]",
            "w: file:///app/src/Main.kt:12:5 Parameter is never used",
            " --> src/a.rs:3:5",
            "a.go:12:func x() {}",
            "12:30:01: starting",
            "2026-01-01 12:30:01: compiled a.ts",
            "at f (file:///w/a.js:3:5)",
            "http://localhost:3000:1: x",
            "[INFO] Error Prone is on",
            "[12:30:01] Starting 'build'...",
            "built a.js in 3:05:10",
            "",
        ] {
            assert!(!is_finding(Build, line), "{line}");
        }
    }

    #[test]
    fn a_lint_counts_what_it_has_found() {
        for line in [
            "5 issues:",
            "[lint] 1 issues:",
            "3 files inspected, 2 offenses detected",
            "Found 3 violations.",
            "× Formatter would have printed the following content:",
            "* errcheck: 1",
        ] {
            assert!(is_finding(Lint, line), "{line}");
            assert!(!is_finding(Build, line), "{line}");
        }
        for line in [
            "0 issues.",
            "1 file inspected, no offenses detected",
            "2 offenses detected, 2 offenses corrected",
            "3 problems (0 errors, 3 warnings)",
            "issue 5 is open",
            "see 12 issues",
            "×",
            "* errcheck: 0",
            "* see also: 3",
        ] {
            assert!(!is_finding(Lint, line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r"(\PC|:|[0-9]|a\.go|\[x\]|e: |file:| |issues|ERROR){0,20}") {
            is_finding(Lint, &line);
            let cut: String = line.chars().take(10).collect();
            is_finding(Build, &format!("{cut}a.go:3:1: {line}"));
        }
    }
}
