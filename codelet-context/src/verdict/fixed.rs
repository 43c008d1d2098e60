//! What tools that fix what they find say of it at the end: how much they found, how much of it they fixed, and what is left.

use crate::said::{ERRORS, FINDINGS, PROBLEMS, WARNINGS, Word, split};

/// What is said of a finding that is no more.
const FIXED: &str = "fixed corrected autocorrected repaired resolved";
/// What is said of those that are.
const LEFT: &str = "remaining remain remains left unfixed unresolved";
/// Whether a word is what is found.
fn is_found(word: &Word) -> bool {
    [ERRORS, PROBLEMS, FINDINGS, WARNINGS]
        .iter()
        .any(|list| word.is_in(list))
}

/// Whether a line may tell what is left, seen without taking it apart: few lines do, and each one of an output is asked.
pub(super) fn says_what_is_left(line: &str) -> bool {
    ["ixed", "IXED", "orrected", "epaired", "esolved"]
        .iter()
        .any(|word| line.contains(word))
}

/// How many findings are left by a line that counts those that were fixed, where it says so: `3 errors (2 fixed, 1 remaining)`,
/// `2 offenses detected, 2 offenses corrected`, `3 ERRORS WERE FIXED`.
pub(super) fn left(words: &[Word]) -> Option<u64> {
    let counted = |list: &str| {
        let at = words.iter().position(|word| word.is_in(list))?;
        counted_before(words, at)
    };
    let fixed = counted(FIXED)?;
    if let Some(left) = counted(LEFT) {
        return Some(left);
    }
    // The first thing that is counted is what was found.
    let found = words
        .iter()
        .enumerate()
        .find(|(at, word)| is_found(word) && at.checked_sub(1).is_some_and(|before| words[before].is_number()));
    let (at, _) = found?;
    Some(words[at - 1].number()?.saturating_sub(fixed))
}

/// The number before a word, which may be parted from it by what is counted: `2 fixed`, `2 offenses corrected`.
fn counted_before(words: &[Word], at: usize) -> Option<u64> {
    let before = words[..at].iter().rev();
    let mut between = before.skip_while(|word| is_found(word) || word.is_in("was were are is been have has"));
    between.next().and_then(Word::number)
}

/// Whether a line says that nothing is left of what was found.
pub(super) fn leaves_none(line: &str) -> bool {
    if !says_what_is_left(line) {
        return false;
    }
    let mut words = Vec::new();
    split(line, &mut words);
    left(&words) == Some(0)
}

/// Whether a line shows a single finding that was fixed: `a.rb:1:1: C: [Corrected] Style/…`.
pub(super) fn is_fixed(line: &str) -> bool {
    const SIGNS: &[&str] = &["[Corrected]", "[corrected]", "[Fixed]", "[fixed]", "(fixed)"];
    says_what_is_left(line) && SIGNS.iter().any(|sign| line.contains(sign))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::verdict::Verdict::{Failed, Passed, Unknown};
    use crate::verdict::tests::verdict;
    use proptest::prelude::*;

    #[test]
    fn what_is_left_of_what_was_found_decides() {
        let table = [
            ("ruff check --fix src", "Found 1 error (1 fixed, 0 remaining).", Passed),
            ("ruff check --fix src", "Found 3 errors (3 fixed, 0 remaining).", Passed),
            (
                "ruff check --fix src",
                "a.py:3:1: F821 Undefined name `x`\nFound 3 errors (2 fixed, 1 remaining).",
                Failed,
            ),
            (
                "ruff check --fix .",
                "Found 12 errors (2 fixed, 10 remaining).\nNo fixes available (8 hidden fixes can be enabled).",
                Failed,
            ),
            (
                "ruff check .",
                "Found 2 errors.\n[*] 2 fixable with the `--fix` option.",
                Failed,
            ),
            (
                "rubocop -A",
                "a.rb:1:1: C: [Corrected] Style/StringLiterals: Prefer it.\n\n3 files inspected, 2 offenses detected, 2 offenses corrected",
                Passed,
            ),
            (
                "npx eslint --fix src",
                "/w/a.js\n  3:5  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)",
                Failed,
            ),
            ("npx eslint --fix src", "", Passed),
            (
                "npx biome check --write .",
                "Checked 3 files in 10ms. Fixed 1 file.",
                Unknown,
            ),
            (
                "npx biome check --write .",
                "Checked 3 files in 10ms. Fixed 1 file.\nFound 2 errors.",
                Failed,
            ),
        ];
        for (line, output, expected) in table {
            assert_eq!(verdict(line, None, output), expected, "{line}: {output}");
            let piped = format!("{line} 2>&1 | tail -5");
            let expected = if expected == Unknown { Passed } else { expected };
            assert_eq!(verdict(&piped, Some(true), output), expected, "{piped}: {output}");
        }
    }

    #[test]
    fn lines_that_count_nothing_fixed_leave_it_to_others() {
        for (line, expected) in [
            ("3 ERRORS WERE FIXED IN 1 FILE", Some(0)),
            ("A TOTAL OF 3 ERRORS WERE FIXED IN 2 FILES", Some(0)),
            ("5 problems, 2 of them corrected", None),
            ("4 offenses detected, 1 offense corrected", Some(3)),
            ("10 issues found, 4 fixed, 6 left", Some(6)),
            ("fixed-width columns: 3 errors", None),
            ("resolved 31 packages", None),
            ("error: 3 conflicts were not resolved", None),
            ("Found 0 errors.", None),
        ] {
            let mut words = Vec::new();
            split(line, &mut words);
            assert_eq!(left(&words), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_count_is_too_odd(found in any::<u64>(), fixed in any::<u64>(), rest in r"\PC{0,30}") {
            let line = format!("{found} errors ({fixed} fixed, {rest})");
            let mut words = Vec::new();
            split(&line, &mut words);
            prop_assert!(left(&words).is_some());
            let line = format!("Found {found} errors ({fixed} fixed, {} remaining). {rest}", found.saturating_sub(fixed));
            prop_assert_eq!(leaves_none(&line), found <= fixed);
        }
    }
}
