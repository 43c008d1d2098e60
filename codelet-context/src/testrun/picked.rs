//! Whether what picks lines from the output of a run of tests shows those, too, that tell of tests that failed. Who looks for
//! what has passed finds it in any run.

use super::SEARCHES;
use super::sifted::{Asked, alternatives, is_noise, plain};
use crate::command::Command;
use crate::shell::Next;
use crate::word_list::is_in;

/// Words that lines have in them which tell how many have failed, beside how many have passed.
const TOTALS: &str = "passed passedin test tests testspassed testresult testresults testsuite testsuites testfile testfiles testsrun \
                      result results summary total totals ran examples specs assertions";
/// Marks of tests that failed.
const MARKS: &[&str] = &["fail", "not ok", "✗", "✖", "✕", "✘", "×", "❌"];

/// Whether lines of tests that have passed are picked from what a command prints, behind a pipe or from the file that it writes,
/// so that those that have not may not be shown.
pub(super) fn is_picked(commands: &[Command], index: usize) -> bool {
    let pairs = commands[index..].windows(2);
    let mut piped = pairs
        .take_while(|pair| pair[0].simple.then == Next::Pipe)
        .map(|pair| &pair[1]);
    let files = &commands[index].simple.outputs;
    let reads = |command: &&Command| command.words().iter().any(|word| files.contains(word));
    let mut readers = commands[index + 1..].iter().filter(reads).peekable();
    let hides = |command: &Command| hides_failed_tests(&command.name(), command.words());
    piped.any(hides) || !files.is_empty() && readers.peek().is_some() && readers.all(hides)
}

/// Whether a command of this name picks lines among which those of failed tests may not be.
fn hides_failed_tests(name: &str, words: &[String]) -> bool {
    let rest = words.get(1..).unwrap_or_default();
    match name {
        _ if is_in(name, SEARCHES) => hides(&Asked::of(rest)),
        "awk" | "gawk" | "mawk" => rest
            .iter()
            .find_map(|word| between_slashes(word))
            .is_some_and(|asked| hides(&asked)),
        "sed" if rest.iter().any(|word| word == "-n") => {
            let asked = rest.iter().find_map(|word| between_slashes(word));
            asked.is_some_and(|asked| hides(&asked))
        }
        "findstr" => hides(&by_findstr(rest)),
        "select-string" | "sls" => hides(&by_select_string(rest)),
        _ => false,
    }
}

fn hides(asked: &Asked<'_>) -> bool {
    let mut alternatives = asked.patterns.iter().flat_map(|pattern| alternatives(pattern));
    if asked.is_other {
        return true;
    }
    if asked.leaves_out {
        return alternatives.any(|one| tells_of_failures(&one) || plain(&one).is_empty() && !is_noise(&one));
    }
    !alternatives.any(|one| tells_of_failures(&one) || is_any(&one))
}

/// Whether lines with this in them tell of tests that failed, if some have.
fn tells_of_failures(piece: &str) -> bool {
    let lower = piece.to_lowercase();
    // Runners that shout it say it of single tests.
    let is_total = is_in(&plain(piece), TOTALS) && !piece.contains("PASSED");
    is_total || MARKS.iter().any(|mark| lower.contains(mark))
}

/// Whether a piece of a pattern is found in any line.
fn is_any(piece: &str) -> bool {
    piece.chars().all(|c| "^$.*+?() ".contains(c))
}

/// `/^ok/`, `/^ok/ {print $2}`, `!/^ok/`, `/^ok/p`: what is looked for by a program that is nothing else.
fn between_slashes(program: &str) -> Option<Asked<'_>> {
    let program = program.trim();
    let (program, leaves_out) = match program.strip_prefix('!') {
        Some(rest) => (rest.trim_start(), true),
        None => (program, false),
    };
    let (pattern, behind) = program.strip_prefix('/')?.rsplit_once('/')?;
    let behind = behind.trim();
    let is_shown = behind.is_empty() || behind == "p" || behind.starts_with("{print") || behind.starts_with("{ print");
    is_shown.then(|| Asked {
        patterns: vec![pattern],
        leaves_out,
        is_other: false,
    })
}

/// `findstr ok`, `findstr /i "ok FAIL"`, `findstr /c:"test result"`
fn by_findstr(words: &[String]) -> Asked<'_> {
    let mut asked = Asked::default();
    for word in words {
        match word.strip_prefix('/') {
            Some(option) => match option.split_once(':') {
                Some(("c" | "C", text)) => asked.patterns.push(text),
                Some(("g" | "G", _)) => asked.is_other = true,
                _ => asked.leaves_out |= option.eq_ignore_ascii_case("v"),
            },
            // Behind them stand files.
            None if asked.patterns.is_empty() => asked.patterns.extend(word.split(' ')),
            None => {}
        }
    }
    asked
}

/// `Select-String ok`, `sls -Pattern 'ok','FAIL'`
fn by_select_string(words: &[String]) -> Asked<'_> {
    let mut asked = Asked::default();
    for word in words {
        match word.strip_prefix('-') {
            Some(option) => asked.leaves_out |= option.eq_ignore_ascii_case("notmatch"),
            None if asked.patterns.is_empty() => asked.patterns.extend(word.split(',')),
            None => {}
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use crate::testrun::checks;
    use proptest::prelude::*;

    fn is_picked(line: &str) -> bool {
        checks(line).into_iter().next().is_some_and(|check| check.is_picked)
    }

    #[test]
    fn who_looks_for_what_has_passed_does_not_see_what_failed() {
        for filter in [
            "grep ok",
            "grep '^ok'",
            "grep -w ok",
            "grep 'test result: ok'",
            "grep -E 'PASS|ok'",
            "grep PASSED",
            "grep 'ok$'",
            "grep '✓'",
            "grep -c ok",
            "grep -E 'ok|error'",
            "grep \"$pattern\"",
            "grep -v FAIL",
            "grep -v -e '--- FAIL' -e panic",
            "grep -v 'test result'",
            "rg '^ok'",
            "awk '/^ok/'",
            "awk '/^ok/ {print $2}'",
            "awk '!/FAIL/'",
            "sed -n '/^ok/p'",
            "findstr ok",
            "findstr /c:\"test result: ok\"",
            "Select-String ok",
            "tail -50 | grep ok",
            "grep ok | head -3",
        ] {
            let line = format!("go test ./... 2>&1 | {filter}");
            assert!(is_picked(&line), "{line}");
        }
        for line in [
            "go test ./... > log 2>&1; grep '^ok' log",
            "bash -c 'go test ./...' | grep ok",
            "(cd a && go test ./...) | grep ok",
        ] {
            assert!(is_picked(line), "{line}");
        }
    }

    #[test]
    fn who_would_see_failures_too_may_tell() {
        for filter in [
            "grep -E 'passed|failed|FAIL'",
            "grep 'test result'",
            "grep -i passed",
            "grep -E '[0-9]+ passed'",
            "grep -E '^(ok|FAIL)'",
            "grep -E 'ok|FAIL|panic'",
            "grep -A3 Tests:",
            "grep -E 'Test Files|Tests'",
            "grep '^not ok'",
            "grep .",
            "grep -E 'FAIL|$'",
            "grep -v 'no test files'",
            "grep -v '^=== RUN'",
            "grep -v '^$'",
            "awk '/FAIL|ok/'",
            "awk '{print $1}'",
            "sed 's/ok/OK/'",
            "sed -n '1,20p'",
            "findstr \"ok FAIL\"",
            "Select-String -Pattern 'ok','FAIL'",
            "tail -5",
            "tee log",
        ] {
            let line = format!("go test ./... 2>&1 | {filter}");
            assert!(!is_picked(&line), "{line}");
        }
        for line in [
            "go test ./...; git log | grep ok",
            "go test ./... > log; tail log",
            "go test ./... > log; grep ok log; grep FAIL log",
            "go test ./... && grep ok a",
        ] {
            assert!(!is_picked(line), "{line}");
        }
    }

    #[test]
    fn what_is_picked_passes_nothing_and_may_still_tell_of_a_failure() {
        use crate::message::ToolResult;
        use crate::verdict::Verdict::{Failed, Passed, Unknown};
        let go = "ok  \ta\t0.1s\nok  \tb\t0.2s";
        let cargo = "test result: ok. 3 passed; 0 failed; 0 ignored";
        for (line, output, expected) in [
            ("go test ./... 2>&1 | grep ok", go, Unknown),
            ("go test ./... 2>&1 | rg '^ok'", go, Unknown),
            ("go test ./... | findstr ok", go, Unknown),
            ("go test ./... | grep -E 'ok|FAIL'", go, Passed),
            ("go test ./... | grep -v 'no test files' | tail -2", go, Passed),
            ("cargo test 2>&1 | grep 'test result: ok'", cargo, Unknown),
            ("cargo test 2>&1 | grep 'test result'", cargo, Passed),
            ("npm test | grep '^ok'", "ok 1 - a\nok 2 - b", Unknown),
            ("npm test 2>&1 | grep -i passed", "Tests  3 passed (3)", Passed),
            ("cargo test | grep ok", "test result: FAILED. 2 ok; 1 failed", Failed),
            ("set -o pipefail; go test ./... | grep ok", go, Passed),
        ] {
            let check = checks(line).remove(0);
            for success in [Some(true), None]
                .into_iter()
                .filter(|success| success.is_some() || !check.decides)
            {
                let verdict = crate::verdict::of(&check, &ToolResult::new("1", success, output));
                assert_eq!(verdict, expected, "{line}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_filter_is_too_odd(filter in r#"(grep|awk|sed -n|findstr|sls)( ([/!|'"^$]|ok|FAIL|-v|-|/c:|é|,|p){0,5}){0,4}"#) {
            is_picked(&format!("go test ./... | {filter}"));
        }
    }
}
