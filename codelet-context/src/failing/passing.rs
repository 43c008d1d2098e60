//! What the output of a run shows to have passed, whatever program has run it: packages and files as a whole, and single tests.

use super::{Entry, Named, printed, within_frame};
use crate::message::ToolResult;
use crate::path::{Folder, is_absolute, is_within_end, plain};
use crate::said::{Passed, bare_failed, ends_with_file, is_time, passed};
use crate::testrun::Check;
use std::collections::HashSet;

/// What is kept of what one run shows.
const MOST: usize = 20_000;
/// What a run shows to have passed.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    /// Packages of which all has passed, by names that say where in all the world they are.
    packages: HashSet<String>,
    /// Files of which all has passed, as seen from where the run was.
    files: HashSet<String>,
    /// Single tests.
    tests: HashSet<String>,
}

impl Passing {
    /// From the output of a run that went well. A run of chosen tests says nothing of the rest of a file.
    pub fn of(result: &ToolResult, is_chosen: bool) -> Passing {
        let mut passing = Passing::default();
        for text in result.texts() {
            for line in printed(text.body.as_str()).lines().filter_map(within_frame) {
                if passing.packages.len() + passing.files.len() + passing.tests.len() < MOST {
                    passing.read(line.trim());
                }
            }
        }
        if is_chosen {
            passing.packages.clear();
            passing.files.clear();
        }
        passing
    }

    /// From the output of a run that failed: the single tests that have passed in it all the same, and in no other part of it
    /// failed.
    pub fn tests_of(result: &ToolResult) -> Passing {
        let mut passing = Passing::of(result, true);
        if passing.tests.is_empty() {
            return passing;
        }
        for text in result.error.iter().chain(result.texts().map(|text| &text.body)) {
            for line in printed(text.as_str()).lines().filter_map(within_frame) {
                let line = line.trim();
                if line.ends_with(" ... ERROR") || line.contains("FAIL") {
                    passing.tests.remove(name(line));
                    // `a.py::test_b FAILED [ 50%]`, `FAILED a.py::test_b - no`
                    let words = line.split_whitespace().filter(|word| word.contains("::"));
                    for word in words {
                        passing.tests.remove(word);
                    }
                }
            }
        }
        passing
    }

    fn read(&mut self, line: &str) {
        match passed(line) {
            Some(Passed::Package(package)) => {
                self.packages.insert(package.to_owned());
            }
            Some(Passed::File(file)) => {
                self.files.insert(file.to_owned());
            }
            Some(Passed::Test(test)) => {
                self.tests.insert(untimed(test).to_owned());
            }
            None => {}
        }
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        // `tests/test_a.py ..s. [ 40%]`
        let dots = rest.split_whitespace().next().unwrap_or_default();
        if ends_with_file(first) && dots.contains('.') && dots.bytes().all(|b| matches!(b, b'.' | b's' | b'x')) {
            self.files.insert(first.to_owned());
        }
    }

    /// Takes out of what a check has named as failed what has passed here, in a run of one of these checks, and says whether
    /// that is all that the check was about: what it was narrowed to has passed as a whole.
    pub fn clears(&self, run: &[&Check], failed: &Check, named: &mut Named) -> bool {
        if !run.iter().any(|check| check.is_run_as(failed)) {
            return false;
        }
        let is_placed = |entry: &&Entry| entry.path.is_some();
        let placed = named.entries.iter().filter(is_placed).count();
        let rerun = named.rerun.take();
        // Of Go, the line of a package closes those of its tests that failed, and is over with them.
        let (mut of_package, mut left) = (0, 0);
        named.entries.retain(|entry| {
            let is_shown =
                |check: &&Check| check.may_contain(failed, entry, rerun.as_deref()) && self.shows(check, failed, entry);
            let is_over = run.iter().any(is_shown);
            if entry.line.starts_with("FAIL\t") {
                let is_closed = of_package > 0 && left == 0;
                (of_package, left) = (0, 0);
                return !is_over && !is_closed;
            }
            of_package += 1;
            left += usize::from(!is_over);
            !is_over
        });
        named.rerun = rerun;
        // The tests of a file or package are named in lines of their own.
        if placed > 0 && !named.entries.iter().any(|entry| entry.path.is_some()) {
            named.entries.clear();
        }
        let is_passed = |word: &String| {
            let place = failed.scope.place.as_deref().unwrap_or_default();
            let path = Folder::default().enter(place, true).place(word).unwrap_or_default();
            let path = match is_absolute(&path) {
                // Packages are not named by where the project is.
                true => path.rmatch_indices('/').nth(1).map_or("", |(at, _)| &path[at + 1..]),
                false => &path,
            };
            // Of the same name there may be more than one package.
            let is_one = placed > 0 || path.contains('/');
            let is_file = || run.iter().any(|check| self.is_file(word, check, failed));
            is_one && !word.contains("...") && (is_whole(&self.packages, path) || is_file())
        };
        let words = &failed.scope.words;
        !words.is_empty() && named.entries.iter().all(|entry| entry.path.is_none()) && words.iter().all(is_passed)
    }

    fn shows(&self, check: &Check, failed: &Check, entry: &Entry) -> bool {
        let Some(path) = &entry.path else {
            return check.covers_place(failed) && self.tests.contains(name(&entry.line));
        };
        let is_test = |path: &String| path.contains("::") && self.tests.contains(path);
        is_whole(&self.packages, path)
            || self.is_file(path, check, failed)
            || seen_from(check, path, failed).iter().any(is_test)
    }

    /// Whether all of a file has passed in the run of a check that another one names.
    fn is_file(&self, path: &str, check: &Check, failed: &Check) -> bool {
        !self.files.is_empty()
            && seen_from(check, path, failed)
                .iter()
                .any(|path| is_whole(&self.files, path))
    }
}

/// Whether one of these is a file or package, each named as seen from somewhere.
fn is_whole(wholes: &HashSet<String>, path: &str) -> bool {
    let path = path.replace('\\', "/");
    let path = path.split("::").next().unwrap_or_default();
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let is_it = |whole: &String| whole == path || is_within_end(whole, path) || is_within_end(path, whole);
    !path.is_empty() && path != "." && !path.starts_with("..") && (wholes.contains(path) || wholes.iter().any(is_it))
}

/// How a path that a check has named may be called in the run of another one, by the folders that both run in.
fn seen_from(check: &Check, path: &str, failed: &Check) -> Vec<String> {
    let (here, there) = (check.scope.place.as_deref(), failed.scope.place.as_deref());
    let path = plain(path);
    if here == there || is_absolute(&path) {
        return vec![path];
    }
    let mut names = Vec::new();
    let whole = there.map_or_else(|| path.clone(), |there| format!("{there}/{path}"));
    match here {
        None => names.push(whole),
        Some(here) => {
            names.extend(
                whole
                    .strip_prefix(here)
                    .and_then(|rest| rest.strip_prefix('/'))
                    .map(str::to_owned),
            );
            // `/w/app/web` is `web` as seen from somewhere.
            for (at, _) in whole.match_indices('/').filter(|(at, _)| *at > 0) {
                if is_within_end(here, &whole[..at]) {
                    names.push(whole[at + 1..].to_owned());
                }
            }
        }
    }
    // Who names the whole path of a folder names that of the project, as a rule.
    let is_same = match (here, there) {
        (Some(one), None) | (None, Some(one)) => is_absolute(one),
        (Some(here), Some(there)) => is_within_end(here, there) || is_within_end(there, here),
        (None, None) => true,
    };
    if is_same {
        names.push(path);
    }
    names
}

/// The name of the test in a line that says that it failed.
fn name(line: &str) -> &str {
    untimed(bare_failed(line))
}

/// A line without the time that a test took: `(0.02s)`, `[0.1ms]`, `12ms`.
fn untimed(line: &str) -> &str {
    let line = line.trim_end();
    let at = line.rfind([' ', '\t']).map_or(line.len(), |at| at + 1);
    let at = match line.as_bytes().last() {
        // `(5 ms)`
        Some(b')') => line.rfind('(').unwrap_or(at),
        Some(b']') => line.rfind('[').unwrap_or(at),
        _ => at,
    };
    let last = line[at..].trim_matches(['(', ')', '[', ']']);
    match is_time(last) {
        true => line[..at].trim_end(),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::failing::failing;
    use crate::testrun::checks;
    use proptest::prelude::*;

    /// How many are left of what failed, and whether all that the check was about has passed.
    fn left(failed: &str, output: &str, passed: &str) -> (usize, bool) {
        let (_, mut named) = failing(&ToolResult::new("1", Some(false), output));
        let passing = Passing::of(&ToolResult::new("2", Some(true), passed), false);
        let failed = checks(failed).pop().unwrap();
        let is_over = passing.clears(&[&failed], &failed, &mut named);
        (named.entries.len(), is_over)
    }

    #[test]
    fn what_has_passed_is_shown_by_packages_files_and_tests() {
        let go = "--- FAIL: TestReplay (0.1s)\n    r_test.go:7: got [3 1]\nFAIL\nFAIL\tacme/journal\t2.3s\nFAIL";
        let vitest = " FAIL  src/cart.test.ts > cart > adds\nAssertionError: no\n\n Tests  1 failed | 3 passed (4)";
        let pytest = "FAILED tests/test_a.py::test_b - x\n1 failed, 3 passed in 1s";
        let cargo = "test money::rounds ... FAILED\n\ntest result: FAILED. 2 passed; 1 failed";
        for (failed, output, passed, expected) in [
            (
                "go test ./journal",
                go,
                "ok  \tacme/api\t0.2s\nok  \tacme/journal\t2.2s",
                (0, true),
            ),
            ("go test ./...", go, "ok  \tacme/journal\t(cached)", (0, false)),
            (
                "cd /w/acme && go test ./journal",
                "--- FAIL: TestReplay (0.1s)",
                "ok  \tacme/journal\t0.2s",
                (1, true),
            ),
            (
                "npx vitest run",
                vitest,
                " ✓ src/cart.test.ts (4 tests) 12ms",
                (0, false),
            ),
            (
                "npx vitest run src/cart.test.ts",
                vitest,
                " ✓ src/cart.test.ts (4 tests) 12ms",
                (0, true),
            ),
            (
                "npx jest",
                "FAIL src/a.test.ts\n  ● a › b\n\n1 failed",
                "PASS src/a.test.ts (5.1 s)",
                (0, false),
            ),
            (
                "pytest",
                pytest,
                "tests/test_a.py .... [100%]\n4 passed in 1s",
                (0, false),
            ),
            ("pytest", pytest, "tests/test_a.py::test_b PASSED [ 50%]", (0, false)),
            ("cargo test", cargo, "test money::rounds ... ok", (0, false)),
            (
                "go test ./...",
                "--- FAIL: TestReplay (0.1s)\nFAIL",
                "--- PASS: TestReplay (0.2s)",
                (0, false),
            ),
        ] {
            assert_eq!(left(failed, output, passed), expected, "{failed}: {passed}");
        }
    }

    #[test]
    fn what_is_not_shown_is_not_known_to_have_passed() {
        let go = "--- FAIL: TestReplay (0.1s)\nFAIL\nFAIL\tacme/journal\t2.3s\nFAIL";
        let pytest = "FAILED tests/test_a.py::test_b - x\n1 failed, 3 passed in 1s";
        for (failed, output, passed) in [
            ("go test ./journal", go, "ok  \tacme/api\t0.2s"),
            ("go test ./journal", go, "ok  \tacme/subjournal\t0.2s"),
            ("go test ./journal", go, "ok  \tother/journal\t0.2s"),
            (
                "go test ./journal",
                "--- FAIL: TestReplay (0.1s)",
                "ok  \tother/journal\t0.2s",
            ),
            (
                "cd a && go test ./b/c",
                "--- FAIL: TestReplay (0.1s)",
                "ok  \tx/d/b/c\t0.2s",
            ),
            ("go test ./journal", go, "ok  \tacme/journal/v2\t0.2s"),
            ("go test ./journal", go, "ok  \tacme/journal\t0.2s [no tests to run]"),
            ("go test ./journal", go, "?   \tacme/journal\t[no test files]"),
            ("go test ./journal", go, "--- PASS: TestReplayTwice (0.1s)"),
            ("pytest", pytest, "tests/test_a.py ..F. [100%]"),
            ("pytest", pytest, "tests/test_a.py::test_c PASSED [ 50%]"),
            ("pytest", pytest, "4 passed in 1s"),
        ] {
            let (left, is_over) = left(failed, output, passed);
            assert!(left > 0 && !is_over, "{failed}: {passed}");
        }
        let chosen = Passing::of(&ToolResult::new("1", Some(true), "ok  \tacme/journal\t0.2s"), true);
        let (_, mut named) = failing(&ToolResult::new("1", Some(false), go));
        let failed = checks("go test ./journal").pop().unwrap();
        assert!(!chosen.clears(&[&failed], &failed, &mut named));
        assert!(!named.entries.is_empty());
    }

    proptest! {
        #[test]
        fn what_is_cleared_was_there(output in r"((FAILED |--- FAIL: |● )?[a-c/.:]{0,12}\n){0,6}", passed in r"((ok |✓ |PASS |--- PASS: )?[a-c/.:()0-9ms]{0,12}( \.\.\. ok| PASSED)?\n){0,6}|\PC{0,40}") {
            let (_, before) = failing(&ToolResult::new("1", Some(false), output.as_str()));
            prop_assert!(left("pytest", &output, &passed).0 <= before.entries.len());
        }
    }
}
