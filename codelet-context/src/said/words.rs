//! The words of a line, and what is counted in it.

use crate::word_list::is_in_any_case;

/// What passed, as runs of tests count it.
pub(crate) const PASSED: &str = "pass passed passing passes succeeded success successes successful successfully ok";
/// What did not.
pub(crate) const FAILED: &str = "fail failed failing fails failure failures error errors errored broken crashed cancelled \
                                 canceled interrupted";
/// What was run.
pub(crate) const RUN: &str = "test tests suite suites file files spec specs example examples scenario scenarios step steps \
                              feature features run runs case cases assertion assertions subtests doctest doctests properties \
                              total";
/// What only linters count, what they and others do, and what fails nothing by itself.
pub(crate) const FINDINGS: &str = "issue issues offense offenses offence offences violation violations";
pub(crate) const PROBLEMS: &str = "problem problems";
pub(crate) const ERRORS: &str = "error errors";
pub(crate) const WARNINGS: &str = "warning warnings fault faults finding findings";

/// A run of letters, digits and underscores.
pub(crate) struct Word<'a> {
    pub text: &'a str,
    /// What stands between the word before and this one.
    pub gap: &'a str,
}

impl Word<'_> {
    /// Whether it is one of a list of words, however it is written.
    pub fn is_in(&self, list: &str) -> bool {
        is_in_any_case(self.text, list)
    }

    pub fn is_number(&self) -> bool {
        self.text.bytes().all(|b| b.is_ascii_digit())
    }

    /// A number; one too large to hold is large all the same.
    pub fn number(&self) -> Option<u64> {
        self.is_number().then(|| self.text.parse().unwrap_or(u64::MAX))
    }

    /// Only blanks stand before it.
    pub fn is_adjacent(&self) -> bool {
        !self.gap.is_empty() && self.gap.bytes().all(|b| matches!(b, b' ' | b'\t'))
    }

    /// It is the value of the word before, as in `failed: 2`, `failures=2`, `code 2`.
    pub fn is_close(&self) -> bool {
        self.is_adjacent() || self.is_value()
    }

    pub fn is_value(&self) -> bool {
        let sign = self.gap.trim_matches(|c: char| c == ' ' || c == '"' || c == '\'');
        sign == ":" || sign == "="
    }

    pub fn denies_after(&self) -> bool {
        ["no", "not", "never", "without", "cannot", "t"]
            .iter()
            .any(|no| self.text.eq_ignore_ascii_case(no))
    }

    pub fn denies_before(&self) -> bool {
        self.is_value() && (self.text.eq_ignore_ascii_case("false") || self.text.eq_ignore_ascii_case("no"))
    }

    /// A thing that is counted between the number and the word: `2 tests failed`.
    fn is_counted(&self) -> bool {
        const COUNTED: &[&str] = &[
            "test",
            "tests",
            "suite",
            "suites",
            "spec",
            "specs",
            "example",
            "examples",
            "case",
            "cases",
            "file",
            "files",
            "assertion",
            "assertions",
            "check",
            "checks",
        ];
        COUNTED.iter().any(|name| self.text.eq_ignore_ascii_case(name))
    }
}

/// The count that belongs to a word: `2 failed`, `2 tests failed`, `failed: 2`, `# fail 2`.
pub(crate) fn count(words: &[Word], at: usize) -> Option<u64> {
    let behind = words.get(at + 1).filter(|word| word.is_value());
    // In `unreachable=0 failed=2` each number belongs to the word before it.
    if at > 1
        && words[at - 1].is_value()
        && let Some(number) = behind.and_then(Word::number)
    {
        return Some(number);
    }
    if at > 0 && words[at].is_adjacent() {
        let before = &words[at - 1];
        if let Some(number) = before.number() {
            return Some(number);
        }
        if at > 1
            && before.is_counted()
            && before.is_adjacent()
            && let Some(number) = words[at - 2].number()
        {
            return Some(number);
        }
    }
    let after = words.get(at + 1)?;
    if after.is_counted() {
        return words.get(at + 2).filter(|word| word.is_value())?.number();
    }
    if !after.is_close() || after.number().is_none() {
        return None;
    }
    // `failed 2 tests` counts; `passed in 3 seconds`, `fail 2.5` and `error 404 handled` do not.
    let is_last = words
        .get(at + 2)
        .is_none_or(|word| !word.is_adjacent() && word.gap != "." || word.is_counted());
    (after.is_value() || is_last).then(|| after.number())?
}

/// Whether a number begins what it counts.
pub(crate) fn begins(words: &[Word], at: usize) -> bool {
    at == 0 || !words[at].is_adjacent() || words[at - 1].text.eq_ignore_ascii_case("found")
}

/// Whether words consist of it.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of a line, without the escape codes that colour it.
pub(crate) fn split<'a>(line: &'a str, words: &mut Vec<Word<'a>>) {
    words.clear();
    let (mut rest, mut gap_from) = (line, line);
    while let Some(c) = rest.chars().next() {
        if let Some(code) = rest.strip_prefix("\u{1b}[") {
            let end = code
                .find(|c: char| ('@'..='~').contains(&c))
                .map_or(code.len(), |at| at + 1);
            // What a code colours is its own word; the code itself is no gap between words.
            if gap_from.len() == rest.len() {
                gap_from = &code[end..];
            }
            rest = &code[end..];
        } else if is_letter(c) {
            let end = rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len());
            let gap = &gap_from[..gap_from.len() - rest.len()];
            // A gap with a code in it is taken up to the code: `2\e[0m failed`, `2 \e[0mfailed`.
            let gap = gap.split('\u{1b}').next().filter(|gap| !gap.is_empty()).unwrap_or(gap);
            words.push(Word {
                text: &rest[..end],
                gap,
            });
            rest = &rest[end..];
            gap_from = rest;
        } else {
            rest = &rest[c.len_utf8()..];
        }
    }
}

/// How many have failed by what a line counts, if it counts any.
pub(crate) fn failed_count(line: &str) -> Option<u64> {
    let mut words = Vec::new();
    split(line, &mut words);
    let counts = (0..words.len()).filter(|&at| words[at].is_in(FAILED) || words[at].is_in(PROBLEMS));
    counts.filter_map(|at| count(&words, at)).max()
}

/// Whether words count some of what is named, with a number that begins what it counts: `5 issues:`. A sentence may speak of
/// things with a number, too.
pub(crate) fn counts_some(words: &[Word], named: &[&str]) -> bool {
    let is_named = |word: &Word| word.is_adjacent() && named.iter().any(|list| word.is_in(list));
    let mut counted = (1..words.len()).filter(|&at| is_named(&words[at])).map(|at| at - 1);
    counted.any(|before| words[before].number().is_some_and(|number| number > 0) && begins(words, before))
}

/// Whether words count errors, wherever in a sentence: `compiled with 2 errors`, and no `HTTP 500 error`.
pub(crate) fn counts_errors(words: &[Word]) -> bool {
    let number = |at: usize| words[at - 1].number().filter(|_| words[at].is_adjacent());
    let counted = |at: usize| match words[at].text {
        "error" => number(at) == Some(1),
        "errors" => number(at).is_some_and(|number| number > 0),
        _ => false,
    };
    (1..words.len()).any(counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_words<T>(line: &str, ask: impl Fn(&[Word]) -> T) -> T {
        let mut words = Vec::new();
        split(line, &mut words);
        ask(&words)
    }

    #[test]
    fn errors_are_counted_wherever_they_stand_and_a_number_in_a_sentence_counts_none() {
        for line in [
            "webpack 5.90.0 compiled with 2 errors in 3000 ms",
            "Found 0 warnings and 3 errors.",
            "x Found 1 error in 2 files",
            "\u{1b}[31m12 errors\u{1b}[0m",
        ] {
            assert!(with_words(line, counts_errors), "{line}");
        }
        for line in [
            "0 errors, 2 warnings",
            "shows HTTP 500 error pages",
            "Compiling error-chain v0.12",
            "errors: 0",
            "no errors",
        ] {
            assert!(!with_words(line, counts_errors), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_words_are_too_odd(line in r"(\PC|[0-9]| |errors|issues|failed|\x1b\[|:|=){0,30}") {
            with_words(&line, |words| {
                for at in 0..words.len() {
                    count(words, at);
                    begins(words, at);
                }
                (counts_errors(words), counts_some(words, &[FINDINGS, ERRORS]))
            });
            failed_count(&line);
        }
    }
}
