//! Whether a check runs the very tests that another one has named as failed, however little else it runs.

use super::scope::word_covers;
use super::{Check, CheckKind};
use crate::failing::{Entry, Named};
use crate::path::{is_within_end, plain};
use crate::word_list::is_in;

/// Options whose value is a piece of the names of the tests that are run.
const BY_NAME: &str = "-k -t -g -run --run -test.run --grep --filter --tests -Dtest -Dit.test --test-name-pattern \
                       --testNamePattern --gtest_filter -R --tests-regex --example -e --name -n";
/// Options by which only what failed the last time is run.
const FAILED_ONLY: &str = "--lf --last-failed --only-failures --onlyFailures";
/// So many pairs of words of two checks are compared at most.
const MOST_PAIRS: usize = 10_000;
/// Names of fewer letters say too little.
const NAMED: usize = 3;

impl Check {
    /// Takes out of what an earlier run of the same check has named as failed what the success of this one shows to be well.
    pub(crate) fn clears(&self, failed: &Check, named: &mut Named) {
        let is_whole =
            |filters: &[(String, String)]| filters.iter().all(|filter| failed.scope.filters.contains(filter));
        if !self.is_like(failed) || named.entries.is_empty() {
            return;
        }
        if self.scope.filters.iter().any(|(key, _)| is_in(key, FAILED_ONLY)) {
            named.entries.clear();
            return;
        }
        let rerun = named.rerun.clone().unwrap_or_default();
        let is_picked = |entry: &Entry| {
            let mut filters = self.scope.filters.iter();
            filters.all(|filter| {
                let (key, value) = filter;
                failed.scope.filters.contains(filter)
                    || rerun.contains(format!("{key} {value}").trim_end())
                    || is_in(key, BY_NAME) && names(value, &entry.line)
            })
        };
        let is_within = |entry: &Entry| {
            let words = &self.scope.words;
            words.is_empty() || *words == failed.scope.words || words.iter().any(|word| self.means(word, entry))
        };
        // Some runners name the file in one line and its tests in others: then a file stands for its tests where files are
        // chosen, and the tests for themselves where they are chosen by name.
        let is_of_file = |entry: &&Entry| entry.path.is_some();
        let files = named.entries.iter().filter(is_of_file).count();
        if files == 0 || files == named.entries.len() {
            named.entries.retain(|entry| !(is_picked(entry) && is_within(entry)));
            return;
        }
        let mut tests = named.entries.iter().filter(|entry| entry.path.is_none());
        if named.entries.iter().filter(is_of_file).all(is_within)
            && (is_whole(&self.scope.filters) || tests.all(is_picked))
        {
            named.entries.clear();
        }
    }

    /// Whether a run of this check runs what another one does, but for what each is narrowed to: in the same place, and with
    /// what the other brings in.
    fn is_like(&self, other: &Check) -> bool {
        let (here, there) = (&self.scope, &other.scope);
        let brings_in = |(key, _): &&(String, String)| !is_in(key, "--workspace --all");
        self.kind == other.kind
            && self.kind != CheckKind::Build
            && self.is_named_as(other)
            && here.covers_place(there)
            && self.is_run_as(other)
            && there
                .wider
                .iter()
                .filter(brings_in)
                .all(|option| here.brings_in(option))
    }

    /// Whether a run of this check, whatever its program, may be one of a test that another one has named as failed: it is run on
    /// no other package, and in no other part of the project.
    pub(crate) fn may_contain(&self, failed: &Check, entry: &Entry, rerun: Option<&str>) -> bool {
        const PACKAGES: &str = "-p --package -w --workspace --filter -pl --projects --project";
        let is_meant = |filter: &(String, String)| {
            let (key, value) = filter;
            !is_in(key, PACKAGES)
                || value.is_empty()
                || failed.scope.filters.contains(filter)
                || rerun.is_some_and(|rerun| {
                    rerun.contains(&format!("{key} {value} ")) || rerun.contains(&format!("{key} {value}`"))
                })
                || entry.line.contains(value.as_str())
        };
        let is_path = |words: &[String]| !words.is_empty() && words.iter().all(|word| word.contains('/'));
        let is_apart = || {
            let (own, others) = (&self.scope.words, &failed.scope.words);
            let is_one = |own: &String| {
                let mut others = others.iter();
                others.any(|other| word_covers(own, other, self.is_flat()) || word_covers(other, own, self.is_flat()))
            };
            is_path(own) && is_path(others) && own.len() * others.len() <= MOST_PAIRS && !own.iter().any(is_one)
        };
        let is_other_part =
            || self.program() == failed.program() && self.part().is_some() && self.part() != failed.part();
        self.scope.filters.iter().all(is_meant) && (entry.path.is_some() || !is_apart()) && !is_other_part()
    }

    /// Whether this check is run with all that another one is run with.
    pub(crate) fn is_run_as(&self, failed: &Check) -> bool {
        self.finds_no_less_than(failed) && self.scope.settings.cover(&failed.scope.settings)
    }

    /// Whether this check is run in the folder that another one is run in, or in one around it.
    pub(crate) fn covers_place(&self, other: &Check) -> bool {
        self.scope.covers_place(&other.scope)
    }

    /// Whether one of the words that this check is narrowed to means what failed.
    pub(crate) fn means(&self, word: &str, entry: &Entry) -> bool {
        match &entry.path {
            Some(path) => {
                let (path, word) = (plain(path), plain(word));
                let package = word.trim_end_matches("...").trim_end_matches('/');
                word_covers(&word, &path, self.is_flat())
                    || is_within_end(&path, &word)
                    || word.ends_with("...") && (package.is_empty() || path.contains(package))
            }
            None => names(word, &entry.line),
        }
    }
}

/// Whether a value that chooses tests by a piece of their names chooses the test of this line. In doubt it does not.
fn names(value: &str, line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let value = value.replace(" or ", "|").to_ascii_lowercase();
    if value.contains(" and ") || value.contains("not ") || value.starts_with(['!', '-']) {
        return false;
    }
    value.split(['|', ',']).any(|piece| {
        let mut parts = piece
            .split(['#', '*'])
            .map(|part| part.trim_matches(|c: char| !c.is_alphanumeric() && c != '_'))
            .filter(|part| !part.is_empty())
            .peekable();
        parts.peek().is_some_and(|part| part.len() >= NAMED) && parts.all(|part| line.contains(part))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::failing::failing;
    use crate::message::ToolResult;
    use crate::testrun::checks;
    use proptest::prelude::*;

    fn left(failed: &str, output: &str, passed: &str) -> usize {
        let (_, mut named) = failing(&ToolResult::new("1", Some(false), output));
        checks(passed)
            .pop()
            .unwrap()
            .clears(&checks(failed).pop().unwrap(), &mut named);
        named.entries.len()
    }

    #[test]
    fn a_narrower_run_clears_what_it_runs_of_what_failed() {
        let pytest = "FAILED tests/test_cli.py::test_lists - AssertionError: x\nFAILED tests/test_a.py::test_b - x\n2 failed, 62 passed in 9s";
        for (passed, expected) in [
            ("pytest -q tests/test_cli.py", 1),
            ("pytest -q tests/test_cli.py::test_lists", 1),
            ("pytest tests/test_cli.py tests/test_a.py", 0),
            ("pytest tests", 0),
            ("pytest --lf", 0),
            ("pytest -k 'lists or test_b'", 0),
            ("pytest -k 'not lists'", 2),
            ("pytest -m fast", 2),
            ("pytest tests/test_other.py", 2),
            ("pytest tests/test_cli.py -k other", 2),
            ("npm test tests/test_cli.py", 2),
        ] {
            assert_eq!(left("pytest -q", pytest, passed), expected, "{passed}");
        }
        let cargo = "test money::rounds ... FAILED\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n\nerror: test failed, to rerun pass `-p shop --lib`";
        for (passed, expected) in [
            ("cargo test money", 0),
            ("cargo test rounds -- --nocapture", 0),
            ("cargo test -p shop --lib", 0),
            ("cargo test -p shop --lib money::rounds", 0),
            ("cargo test -p cart", 1),
            ("cargo test stock", 1),
        ] {
            assert_eq!(left("cargo test", cargo, passed), expected, "{passed}");
        }
        let jest = "FAIL src/a.test.ts\n  ● route › opens\n\n    expect(1).toBe(2)\n\nTests:       1 failed, 57 passed, 58 total";
        for (passed, expected) in [
            ("npx jest src/a.test.ts", 0),
            ("npx jest src/a.test.ts -t opens", 0),
            ("npx jest src/a.test.ts -t closes", 2),
            ("npx jest src/b.test.ts", 2),
        ] {
            assert_eq!(left("npx jest", jest, passed), expected, "{passed}");
        }
        let go = "--- FAIL: TestMoves (0.02s)\n    a_test.go:31: no\nFAIL\nFAIL\texample.com/x/cmd/strategy\t0.012s\nok  \texample.com/x/cmd/other\t0.1s\nFAIL";
        for (passed, expected) in [
            ("go test ./cmd/strategy/", 0),
            ("go test ./cmd/...", 0),
            ("go test ./cmd/strategy -run 'TestMoves' -count=1", 0),
            ("go test ./cmd/strategy -run TestOther", 2),
            ("go test ./cmd/other", 2),
        ] {
            assert_eq!(left("go test ./...", go, passed).min(2), expected, "{passed}");
        }
        let django = "FAIL: test_large_delete (delete.tests.DeletionTests)\nRan 40 tests in 1s\nFAILED (failures=1)";
        assert_eq!(left("./tests/runtests.py", django, "./tests/runtests.py delete"), 0);
        assert_eq!(
            left("./tests/runtests.py", django, "./tests/runtests.py model_forms"),
            1
        );
        let rspec = "  1) Cart adds up\n     Failure/Error: x\n3 examples, 1 failure";
        assert_eq!(left("bundle exec rspec", rspec, "bundle exec rspec -e 'Cart adds'"), 0);
        assert_eq!(
            left("bundle exec rspec", rspec, "bundle exec rspec spec/stock_spec.rb"),
            1
        );
        let ruff = "src/a.py:3:1: F821 Undefined name `x`\nsrc/b.py:9:1: F401 unused\nFound 2 errors.";
        assert_eq!(left("ruff check .", ruff, "ruff check src/a.py"), 1);
        assert_eq!(left("ruff check .", ruff, "ruff check src/a.py src/b.py"), 0);
    }

    proptest! {
        #[test]
        fn what_is_cleared_was_there(output in r"((FAILED |--- FAIL: )?[a-c/.:]{0,12}\n){0,6}", passed in "pytest( -k)? [a-c/.:|]{0,8}") {
            let (_, before) = failing(&ToolResult::new("1", Some(false), output.as_str()));
            prop_assert!(left("pytest", &output, &passed) <= before.entries.len());
        }
    }
}
