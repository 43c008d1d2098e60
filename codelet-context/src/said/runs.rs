//! What runners of tests say in a line: which test has failed or passed, how many, and that none was run.

use super::place::ends_with_file;
use super::words::{FAILED, PASSED, RUN, Word, count, is_letter};
use std::sync::LazyLock;

/// How lines begin that name a test that has failed, as only runners begin them.
const FAILED_HEADS: &[&str] = &[
    "--- FAIL: ",
    "FAIL\t",
    "FAIL ",
    "FAIL: ",
    "FAILED ",
    "not ok ",
    "[  FAILED  ] ",
    "✗ ",
    "✕ ",
];
/// … and as others may.
const DOUBTFUL_HEADS: &[&str] = &["✗", "✘", "×", "✖", "●", "❌", "--- FAIL", "FAIL:", "Failed ", "ERROR "];
/// What a line has in it that names a test that failed.
pub(crate) const FAILED_IN: &[&str] = &[
    "... FAILED",
    "... FAIL",
    "[FAIL]",
    "[  FAILED  ]",
    "<<< FAILURE",
    "<<< ERROR",
];
/// What stands around the name of a test that failed.
const BEFORE_NAME: &[&str] = &["ERROR: ", "test ", "× ", "● "];
const BEHIND_NAME: &[&str] = &[" ... FAILED", " ... FAIL", " ... ERROR", " FAILED"];
/// How a line begins that names a single test that passed, by a sign.
const PASSED_SIGNS: &[&str] = &["✓", "✔", "√"];

/// Whether a line is one that only runners of tests print of a test that failed.
pub(crate) fn is_of_failed_test(line: &str) -> bool {
    let line = line.trim_start();
    FAILED_HEADS.iter().any(|head| line.starts_with(head))
        || line.starts_with("test result: FAILED")
        || line.starts_with("test ") && line.ends_with(" ... FAILED")
        || line.contains("[build failed]")
}

/// Whether a line names a test that failed, by what it begins or ends with, or has in it of [these](FAILED_IN).
pub(crate) fn names_failed(line: &str, anywhere: &[&str]) -> bool {
    let is_first = [FAILED_HEADS, DOUBTFUL_HEADS]
        .iter()
        .any(|heads| heads.iter().any(|head| line.starts_with(head)));
    // `Failed to load` is what is wrong, and no test.
    let is_sentence = line.starts_with("Failed to ") || line.starts_with("ERROR ") && !line.contains("::");
    let is_sum = line.starts_with("FAILED (");
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = behind.len() < line.len() && behind.starts_with(") ");
    is_first && !is_sentence && !is_sum
        || is_numbered
        || line.ends_with(" FAILED")
        || anywhere.iter().any(|sign| line.contains(sign))
}

/// The name of the test in a line that says that it failed.
pub(crate) fn bare_failed(line: &str) -> &str {
    let line = line.trim();
    let mut heads = FAILED_HEADS.iter().chain(BEFORE_NAME);
    let line = heads.find_map(|head| line.strip_prefix(head)).unwrap_or(line);
    BEHIND_NAME
        .iter()
        .find_map(|end| line.strip_suffix(end))
        .unwrap_or(line)
}

/// What a line tells to have passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passed<'a> {
    /// All of a package.
    Package(&'a str),
    /// All of a file.
    File(&'a str),
    /// A single test, with the time that it took where that is told.
    Test(&'a str),
}

/// What a line tells to have passed.
pub(crate) fn passed(line: &str) -> Option<Passed<'_>> {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let test = match first {
        // `ok  example.com/a 0.3s`, `ok 3 - adds`
        "ok" => match rest.split_once(" - ") {
            Some((number, name)) if number.bytes().all(|b| b.is_ascii_digit()) => Some(name),
            _ => return go_package(line).map(Passed::Package),
        },
        "PASS" if ends_with_file(first_word(rest)) => return Some(Passed::File(first_word(rest))),
        _ if PASSED_SIGNS.contains(&first) => {
            let name = first_word(rest);
            let behind = rest[name.len()..].trim_start();
            if ends_with_file(name) && (behind.is_empty() || behind.starts_with('(') || is_time(behind)) {
                return Some(Passed::File(name));
            }
            Some(rest)
        }
        _ => line
            .strip_prefix("--- PASS: ")
            .or_else(|| line.strip_prefix("[       OK ] "))
            .or_else(|| {
                line.strip_suffix(" ... ok")
                    .map(|test| test.strip_prefix("test ").unwrap_or(test))
            })
            .or_else(|| {
                line.split_once(" PASSED")
                    .map(|(test, _)| test)
                    .filter(|test| test.contains("::"))
            }),
    };
    test.map(Passed::Test)
}

/// Whether a line begins with the sign of a single test that passed, whose name may tell of anything.
pub(crate) fn is_signed(line: &str) -> bool {
    let line = line.trim_start();
    PASSED_SIGNS.iter().any(|sign| line.starts_with(sign)) || line.starts_with("--- PASS")
}

/// The package of Go that a line tells to have passed: `ok   example.com/a 0.3s`, `ok   example.com/a (cached)`.
fn go_package(line: &str) -> Option<&str> {
    let mut pieces = line.split_whitespace();
    let (ok, package, time) = (pieces.next(), pieces.next(), pieces.next().unwrap_or_default());
    let is_timed = time == "(cached)" || is_time(time);
    package.filter(|_| ok == Some("ok") && is_timed && !line.contains("[no tests to run]"))
}

/// Whether a word is how long something took: `0.3s`, `12ms`.
pub(crate) fn is_time(word: &str) -> bool {
    let number = word.trim_end_matches(['m', 's', 'µ', 'n', ' ']);
    number.len() < word.len() && number.parse::<f64>().is_ok()
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// Whether a line tells of a single test that passed, or of more of them.
pub(crate) fn is_pass(line: &str) -> bool {
    const FIRST: &[&str] = &[
        "✅",
        "--- PASS",
        "PASS",
        "ok ",
        "ok\t",
        "[       OK ]",
        "Passed ",
        "[ OK ]",
    ];
    let line = line.trim();
    [PASSED_SIGNS, FIRST]
        .iter()
        .any(|signs| signs.iter().any(|sign| line.starts_with(sign)))
        || [" ok", " PASSED", " passed"].iter().any(|end| line.ends_with(end))
}

/// What stands beside counts.
const OTHERS: &str = "todo filtered measured xfailed xpassed unexpected warnings warning warn omissions notifications incomplete \
                      risky flaky retries deprecations all of in with from across containing after out result results summary \
                      time times elapsed finished seconds second secs sec s ms m min minutes ran executed completed did not \
                      duration_ms duration expect calls and info snapshots at some";
/// What was not run though it is there.
const ASIDE: &str = "skipped skip skips ignored pending pendings disabled excluded deselected";

/// Whether a line is nothing but counts of what tests come to, and how long they took.
pub(crate) fn is_counting(words: &[Word]) -> bool {
    let is_known = |word: &Word| word.text == "ℹ" || is_of_counts(word);
    let tells = |word: &Word| [PASSED, FAILED, RUN].iter().any(|list| word.is_in(list));
    // Most lines have a first word that no count has.
    words.iter().all(is_known) && words.iter().any(tells)
}

/// Whether a word is a number or one of those that runs of tests count by.
fn is_of_counts(word: &Word) -> bool {
    word.text.starts_with(|c: char| c.is_ascii_digit()) || is_counting_word(word.text)
}

/// The words of counts by their first letters: asked of most words of an output, few of which begin as one of these.
static COUNTING: LazyLock<[Vec<&str>; 26]> = LazyLock::new(|| {
    let mut by_letter = <[Vec<&str>; 26]>::default();
    for word in [PASSED, FAILED, RUN, OTHERS, ASIDE]
        .iter()
        .flat_map(|list| list.split(' '))
    {
        by_letter[usize::from(word.as_bytes()[0] - b'a')].push(word);
    }
    by_letter
});

fn is_counting_word(word: &str) -> bool {
    let first = word.bytes().next().unwrap_or_default().to_ascii_lowercase();
    let known = COUNTING.get(usize::from(first.wrapping_sub(b'a')));
    known.is_some_and(|known| known.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Whether the last word of a line may be of a [count](ran), which all of its words are then. Costs little, and most lines
/// end otherwise.
pub(crate) fn ends_with_count(line: &str) -> bool {
    let bare = line.trim_end_matches(|c| !is_letter(c));
    let start = bare
        .char_indices()
        .rfind(|(_, c)| !is_letter(*c))
        .map_or(0, |(at, c)| at + c.len_utf8());
    is_colored(line) || is_of_counts_alone(&bare[start..])
}

/// The same of its first word.
pub(crate) fn begins_with_count(line: &str) -> bool {
    let bare = line.trim_start_matches(|c| !is_letter(c));
    let end = bare.find(|c| !is_letter(c)).unwrap_or(bare.len());
    is_colored(line) || is_of_counts_alone(&bare[..end])
}

fn is_of_counts_alone(word: &str) -> bool {
    is_of_counts(&Word { text: word, gap: "" })
}

/// Whether there are codes in a line, which are no words.
fn is_colored(line: &str) -> bool {
    line.contains('\u{1b}')
}

/// What a line of counts says of whether anything was run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Run {
    /// Something was.
    Some,
    /// Nothing was.
    None,
}

/// What a line of nothing but counts says of whether anything was run, if it does: `0 passed`, `12 deselected in 0.1s`,
/// `12 tests, 0 failures, 12 excluded`.
pub(crate) fn ran(words: &[Word]) -> Option<Run> {
    if !words.iter().all(is_of_counts) {
        return None;
    }
    let sum = |list: &str| {
        let counts = (0..words.len())
            .filter(|&at| words[at].is_in(list))
            .filter_map(|at| count(words, at));
        counts.reduce(u64::saturating_add)
    };
    let (passed, failed, run, aside) = (sum(PASSED), sum(FAILED), most_run(words), sum(ASIDE).unwrap_or(0));
    if [passed, failed].into_iter().flatten().any(|number| number > 0) {
        return Some(Run::Some);
    }
    match run {
        Some(run) if run > aside && passed != Some(0) => Some(Run::Some),
        Some(_) => Some(Run::None),
        None if passed == Some(0) || aside > 0 => Some(Run::None),
        None => None,
    }
}

/// The most that a line counts of what was run: `Ran 4 tests`, `Total: 5`, `58 total`.
fn most_run(words: &[Word]) -> Option<u64> {
    let counted = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| words[before].number());
        let behind = || words.get(at + 1).filter(|next| next.is_close())?.number();
        before.filter(|_| words[at].is_adjacent()).or_else(behind)
    };
    // `0 tests failed` counts what failed.
    let is_of_others = |at: usize| {
        let next = words.get(at + 1).filter(|next| next.is_adjacent());
        next.is_some_and(|next| [PASSED, FAILED, ASIDE].iter().any(|list| next.is_in(list)))
    };
    (0..words.len())
        .filter(|&at| words[at].is_in(RUN) && !is_of_others(at))
        .filter_map(counted)
        .max()
}

/// Whether a line is a sentence of a runner that found no test to run, or left all of them out.
pub(crate) fn says_none_ran(line: &str) -> bool {
    const SENTENCES: &[&str] = &[
        "no tests ran",
        "no tests run",
        "no tests to run",
        "no test files",
        "no tests found",
        "no tests were found",
        "no tests were executed",
        "no tests executed",
        "no tests collected",
        "no tests matched",
        "no test matches",
        "no test is available",
        "no matching test",
        "no specs found",
        "no examples found",
        "tests are skipped",
        "tests have been excluded",
        "examples were filtered out",
        "none of the selected packages",
    ];
    // A line of a log is longer than what a runner says.
    const LONGEST: usize = 400;
    if line.len() > LONGEST || !may_say_none_ran(line) {
        return false;
    }
    let line = line.to_ascii_lowercase();
    SENTENCES.iter().any(|sentence| line.contains(sentence))
}

/// Whether one of the words stands in a text without which no [sentence](says_none_ran) says so.
pub(crate) fn may_say_none_ran(text: &str) -> bool {
    ["est", "EST", "xamples", "pecs", "packages"]
        .iter()
        .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;
    use proptest::prelude::*;

    fn ran_by(line: &str) -> Option<Run> {
        let mut words = Vec::new();
        split(line, &mut words);
        ran(&words)
    }

    #[test]
    fn a_line_of_counts_tells_whether_anything_was_run() {
        for line in [
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s",
            "12 deselected in 0.12s",
            "===== 3 skipped in 0.01s =====",
            "Tests:       58 skipped, 58 total",
            "12 tests, 0 failures, 12 excluded",
            "0 examples, 0 failures",
            "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds",
            "Tests run: 0, Failures: 0, Errors: 0, Skipped: 0",
            "Ran 0 tests in 0.000s",
            "# tests 0",
        ] {
            assert_eq!(ran_by(line), Some(Run::None), "{line}");
        }
        for line in [
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            "1 passed, 12 deselected in 0.12s",
            "Tests:       5 skipped, 53 passed, 58 total",
            "Tests: 10, Assertions: 12, Failures: 1.",
            "12 tests, 0 failures, 2 excluded",
            "Ran 4 tests in 0.003s",
            "1 failed",
            "# pass 5",
        ] {
            assert_eq!(ran_by(line), Some(Run::Some), "{line}");
        }
        for line in ["# fail 0", "in 0.12s", "no cases here", "the 0 tests of old", ""] {
            assert_eq!(ran_by(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_names_what_has_passed() {
        for (line, expected) in [
            ("ok  \texample.com/a\t0.3s", Some(Passed::Package("example.com/a"))),
            ("ok  \texample.com/a\t0.3s [no tests to run]", None),
            ("PASS src/a.test.ts (5 s)", Some(Passed::File("src/a.test.ts"))),
            ("ok 3 - adds", Some(Passed::Test("adds"))),
            ("test a::b ... ok", Some(Passed::Test("a::b"))),
            (
                "tests/a.py::test_b PASSED   [ 40%]",
                Some(Passed::Test("tests/a.py::test_b")),
            ),
            ("PASSED", None),
            ("12 passed in 3s", None),
        ] {
            assert_eq!(passed(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r"(\PC|ok |✓|PASS |PASSED|::|[0-9]| |tests|passed|skipped|,|:|a\.py){0,20}") {
            let _ = (passed(&line), ran_by(&line), is_pass(&line), names_failed(&line, FAILED_IN), bare_failed(&line), says_none_ran(&line));
        }

        #[test]
        fn a_glance_misses_no_count(line in r"(Ran|ran|0|12|3.5s|é|tests|PASSED|Skipped|passed|filtered|out| |,|: |=|_|;|\x1b\[0m|\PC){0,12}") {
            prop_assert!(ran_by(&line).is_none() || begins_with_count(&line) && ends_with_count(&line));
        }

        #[test]
        fn what_has_run_is_never_nothing(passed in 1u32..99, skipped in 0u32..99) {
            prop_assert_eq!(ran_by(&format!("{passed} passed, {skipped} skipped in 0.1s")), Some(Run::Some));
            prop_assert_eq!(ran_by(&format!("Tests: {skipped} skipped, {passed} passed, {} total", passed + skipped)), Some(Run::Some));
        }
    }
}
