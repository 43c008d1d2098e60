//! What a failed check names as failed: tests, and files with a place that is wrong; how many there are; and whether it went
//! on to its end.

use super::signs::{Said, Signs, is_foreign};
use crate::path::{is_within_end, plain};
use crate::said::{ends_with_file, failed_count, place};

/// What is kept of what one check names.
pub(crate) const ENTRIES: usize = 200;
const FILES: usize = 64;
const WIDTH: usize = 400;
/// Bytes to the end of an output in which it may say that it did not go on.
const END: usize = 16 * 1024;

/// What a failed check names as failed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Named {
    /// The tests, or the files with a place that is wrong where it names no test.
    pub entries: Vec<Entry>,
    /// Files of the project that stand in the lines that say what failed.
    pub files: Vec<String>,
    /// How many of them it has named, of which no more than [`ENTRIES`] are kept, and others may take some out.
    pub total: usize,
    /// How many have failed, by its own count.
    pub count: Option<u64>,
    /// It did not go on to its end.
    pub is_stopped: bool,
    /// Nothing of what it printed was cut, though another program has passed it on.
    pub is_uncut: bool,
    /// Where a runner says how the rest of its run is had again: ``to rerun pass `--test cli` ``.
    pub rerun: Option<String>,
}

/// One test that failed, or one place that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The line that names it.
    pub line: String,
    /// The file or package in it, with the name of a test behind it if they are one word.
    pub path: Option<String>,
}

impl Named {
    /// From the lines that say what failed, and all that was printed.
    pub(super) fn of(lines: &[impl AsRef<str>], texts: &[impl AsRef<str>]) -> Named {
        // A run that was told to end with the first failure, or could not go on, says nothing of the rest.
        const STOPPED: &[&str] = &[
            "to rerun pass",
            "stopping after",
            "Interrupted",
            "nterrupted by",
            "Bail out",
            "ailing out",
            "bailed out",
            "Aborting",
            "aborted",
            "SKIPPED",
            "[build failed]",
            "timed out",
            "truncated",
            "omitted",
        ];
        let lines = || lines.iter().map(AsRef::as_ref);
        let all = lines().collect::<Vec<&str>>().join("\n");
        let signs = Signs::of([&all, ""]);
        let mut named = Named::default();
        let mut places = Vec::new();
        for line in lines() {
            let line = shortened(line);
            match signs.said(line) {
                Said::Name => named.entries.push(Entry::of(line)),
                // Of Go, a package that could not be built is what has failed, wherever the fault in it is.
                Said::Closing if line.starts_with("FAIL\t") => named.entries.push(Entry::of(line)),
                Said::Cause if place(line).is_some_and(|place| place.says) => places.push(Entry::of(line)),
                Said::Count => named.count = named.count.max(failed_count(line)),
                Said::Closing if line.contains("to rerun") => named.rerun = Some(line.to_owned()),
                _ => {}
            }
            if named.files.len() < FILES && !is_foreign(line) {
                let files = words(line)
                    .filter_map(file)
                    .filter(|file| !named.files.iter().any(|known| known == file));
                let files: Vec<String> = files.map(str::to_owned).collect();
                named.files.extend(files);
            }
        }
        if named.entries.is_empty() {
            named.entries = places;
        }
        named.total = named.entries.len();
        let is_all = named.total <= ENTRIES;
        named.entries.truncate(ENTRIES);
        // It is said at the end, or in a line that says what failed.
        let holds = |text: &str| {
            let end = &text[text.ceil_char_boundary(text.len().saturating_sub(END))..];
            STOPPED.iter().any(|sign| end.contains(sign) || all.contains(sign))
        };
        named.is_stopped = !is_all || texts.iter().any(|text| holds(text.as_ref()));
        named
    }
}

impl Named {
    /// Whether a test that was named elsewhere is named here, too.
    pub fn lists(&self, entry: &Entry) -> bool {
        self.entries.iter().any(|other| other.is_like(entry))
    }
}

impl Entry {
    /// Whether both name the same test: by the same word, or in doubt in lines that have a name in common.
    fn is_like(&self, other: &Entry) -> bool {
        match (&self.path, &other.path) {
            (Some(one), Some(another)) => {
                let (one, another) = (plain(one), plain(another));
                one == another || is_within_end(&one, &another) || is_within_end(&another, &one)
            }
            _ => {
                const COMMON: &[&str] = &["test", "tests", "error", "failed", "with", "assertion", "expected"];
                let is_name =
                    |word: &&str| word.len() > 3 && word.contains(|c: char| c.is_lowercase()) && !COMMON.contains(word);
                let mut names = words(&self.line).filter(is_name);
                names.any(|name| words(&other.line).any(|other| other == name))
            }
        }
    }

    fn of(line: &str) -> Entry {
        let is_headline = line.trim_start().starts_with("FAIL");
        let is_path = |word: &&str| {
            file(word).is_some() || is_headline && word.contains('/') && !word.contains("://") && !word.ends_with('/')
        };
        Entry {
            line: line.to_owned(),
            path: words(line).find(is_path).map(|word| {
                // `a.py:3:1:` is a place, `a.py::test_x` a test.
                let word = word.trim_end_matches(':');
                let at = word.find(':').filter(|&at| !word[at..].starts_with("::"));
                word[..at.unwrap_or(word.len())].to_owned()
            }),
        }
    }
}

/// The words of a line that may be paths.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || "()[]{}<>\"'`,;|=".contains(c))
        .filter(|word| !word.is_empty())
}

/// The file that a word names, without what stands behind it.
fn file(word: &str) -> Option<&str> {
    let end = if word.get(1..3) == Some(":\\") {
        word[2..].find(':').map(|at| at + 2)
    } else {
        word.find(':')
    };
    let name = &word[..end.unwrap_or(word.len())];
    let name = name.split('#').next().unwrap_or(name);
    // `1.25s` and `v1.2` are none: what ends a name of a file begins with a letter, and a folder or a place goes with it.
    (ends_with_file(name) && (end.is_some() || name.contains(['/', '\\']))).then_some(name)
}

fn shortened(line: &str) -> &str {
    line[..line.floor_char_boundary(WIDTH.min(line.len()))].trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paths(text: &str) -> Vec<Option<String>> {
        let lines: Vec<&str> = text.lines().collect();
        Named::of(&lines, &[text])
            .entries
            .into_iter()
            .map(|entry| entry.path)
            .collect()
    }

    #[test]
    fn what_failed_is_named_with_its_file_or_package() {
        for (line, path) in [
            (
                "FAILED tests/test_cli.py::test_a[1] - AssertionError: x",
                Some("tests/test_cli.py::test_a[1]"),
            ),
            ("FAIL src/a.test.ts", Some("src/a.test.ts")),
            (" FAIL  src/a.test.ts > suite > adds", Some("src/a.test.ts")),
            ("FAIL\tgithub.com/x/y/cmd\t0.01s", Some("github.com/x/y/cmd")),
            ("--- FAIL: TestX (0.02s)", None),
            ("test a::b ... FAILED", None),
            ("  ● route › opens", None),
            ("FAIL: test_large_delete (delete.tests.DeletionTests)", None),
            ("src/a.ts(3,1): error TS2304: Cannot find name 'b'.", Some("src/a.ts")),
            ("src/a.py:3:1: F821 Undefined name `x`", Some("src/a.py")),
        ] {
            let path = path.map(|path| path.split('[').next().unwrap_or_default().to_owned());
            assert_eq!(paths(line), [path], "{line}");
        }
    }

    #[test]
    fn a_run_that_did_not_go_on_to_its_end_is_known() {
        let named = |text: &str| Named::of(&text.lines().collect::<Vec<_>>(), &[text]);
        let cargo = named(
            "test a::b ... FAILED\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\nerror: test failed, to rerun pass `--lib`",
        );
        assert!(cargo.is_stopped && cargo.count == Some(1) && cargo.rerun.is_some());
        let pytest = named("FAILED tests/a.py::b - x\n1 failed, 63 passed in 9s");
        assert!(!pytest.is_stopped && pytest.count == Some(1));
        assert!(named("FAILED tests/a.py::b\n!!!!!! stopping after 1 failures !!!!!!\n1 failed").is_stopped);
    }

    #[test]
    fn a_test_is_named_by_whole_names_of_files() {
        let entry = |line: &str| Entry::of(line);
        let one = entry("FAILED tests/test_a.py::test_x - no");
        assert!(one.is_like(&entry("FAILED /w/app/tests/test_a.py::test_x - no")));
        assert!(one.is_like(&entry("FAILED ./tests/test_a.py::test_x - no")));
        assert!(!one.is_like(&entry("FAILED my_tests/test_a.py::test_x - no")));
        assert!(!entry("FAILED test_a.py::test_x").is_like(&entry("FAILED my_test_a.py::test_x")));
    }

    #[test]
    fn of_more_than_are_kept_the_number_is_known() {
        let text: String = (0..ENTRIES + 5)
            .map(|at| format!("FAILED a.py::test_{at} - x\n"))
            .collect();
        let named = Named::of(&text.lines().collect::<Vec<_>>(), &[&text]);
        assert_eq!((named.entries.len(), named.total), (ENTRIES, ENTRIES + 5));
        assert!(named.is_stopped);
    }

    proptest! {
        #[test]
        fn no_output_is_too_odd(text in r#"(\PC|FAILED |a\.py|::|:|\\|#|[0-9]|\n| ){0,80}"#) {
            let lines: Vec<&str> = text.lines().collect();
            let named = Named::of(&lines, &[&text]);
            prop_assert!(named.entries.len() <= ENTRIES);
        }
    }
}
