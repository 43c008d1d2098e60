//! The lines with which runs of tests close. They are known by being nothing but counts, whoever's they are, or by a sentence
//! that only runners say; and by standing at the end, because what a test prints stands before them.

use super::logged::{Row, counts_failures as counts_some_failed};
use super::quiet::is_error;
use super::signs::{BREAKING_OFF, CUT, FAILING, OPEN};
use super::{counts_failures, texts};
use crate::failing::{printed, within_frame};
use crate::message::ToolResult;
use crate::said::{FAILED, PASSED, Passed, RUN, Word, count, is_counting, is_signed, passed, split};
use crate::testrun::Check;

/// Bytes to the end of an output that are looked at, and lines of no known kind that may stand behind the closing ones.
const LAST: usize = 4 * 1024;
const STRANGE: usize = 3;

/// How an output closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Close {
    /// With counts of tests of which none has failed, or with a sentence that says so.
    Well,
    /// With a count of failures, or with the word of what has run them that they failed.
    Broken,
    /// It may not end there, or what was run did not; or something went wrong behind the counts, which may be another's.
    Open,
}

/// How an output closes, if it closes as runs of tests do.
pub(super) fn closes(result: &ToolResult) -> Option<Close> {
    last_text(result, |lines| {
        let (mut counts, mut strange, mut words) = (Counts::default(), 0, Vec::new());
        // Something is wrong, in words that others have, too.
        let (mut is_wrong, mut is_error_said) = (false, false);
        let mut row = Row::default();
        for line in lines {
            split(line, &mut words);
            let is_counting = is_counting(&words);
            row.fails(&words);
            if is_signed(line) {
                // A runner may put its sign before its counts; the name of a test may tell of anything.
                let mut all = counts;
                if is_counting && all.take(&words) {
                    counts = all;
                }
            } else if says_so(line) {
                counts.is_said = true;
            } else if counts.are_well() && (!is_counting || row.is_lone_failure()) {
                // What stands before the counts was printed by what was run.
                break;
            } else if FAILING.is_in(line) && breaks_off(line) {
                return Some(Close::Broken);
            } else if is_end(line) || OPEN.is_in(line) {
                return Some(Close::Open);
            } else if is_counting {
                if !counts.take(&words) {
                    return Some(Close::Broken);
                }
            } else if is_error(line) || breaks_off(line) {
                is_wrong = true;
                is_error_said |= is_error(line);
            } else if CUT.is_in(line) {
                return Some(Close::Open);
            } else if !words.is_empty() && !is_trailer(line) {
                strange += 1;
                if strange > STRANGE {
                    break;
                }
            }
        }
        match (counts.are_well(), is_wrong) {
            (true, false) => Some(Close::Well),
            (false, true) if is_error_said => Some(Close::Broken),
            (_, true) => Some(Close::Open),
            (false, false) => None,
        }
    })?
}

/// Whether an output closes with counts of tests of which none has failed, or says so.
pub(super) fn closes_well(result: &ToolResult) -> bool {
    closes(result) == Some(Close::Well)
}

/// Whether the last counts of tests in an output tell of failures, whatever status they were passed on with. A single number
/// is none of a runner.
pub(crate) fn closes_with_failures(result: &ToolResult) -> bool {
    let asked = |lines: &mut dyn Iterator<Item = &str>| {
        let (mut numbers, mut has_failed, mut strange, mut words) = (0, false, 0, Vec::new());
        let mut row = Row::default();
        for line in lines {
            split(line, &mut words);
            let is_row = row.fails(&words);
            if is_counting(&words) && !is_signed(line) {
                // A single field of another form than the counts was printed by what was run.
                has_failed |= is_row || !row.is_lone_failure() && counts_some_failed(&words);
                numbers += numbers_in(&words);
            } else if numbers > 0 {
                break;
            } else if !words.is_empty() && !is_trailer(line) && !says_so(line) {
                strange += 1;
                if strange > STRANGE {
                    break;
                }
            }
        }
        has_failed && numbers > 1
    };
    last_text(result, asked) == Some(true)
}

/// Whether a line says that a program was ended, or has crashed behind what it had to say.
fn is_end(line: &str) -> bool {
    line.contains("Traceback (most recent")
        || ["Killed", "Terminated"]
            .iter()
            .any(|word| line.trim().starts_with(word))
}

/// Whether an output ends with the word that it does not end there, or that what was run did not.
pub(super) fn is_cut(result: &ToolResult) -> bool {
    last_text(result, |lines| lines.next().is_some_and(|line| CUT.is_in(line))) == Some(true)
}

/// Whether make has echoed as its last command that something was compiled or linked, and said of no error behind it: it never
/// ends on one without a word.
pub(super) fn has_made(check: &Check, result: &ToolResult) -> bool {
    const MAKES: &[&str] = &["make", "gmake", "mingw32-make", "ninja", "samu"];
    const ECHOED: &[&str] = &[
        "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "ar", "ranlib", "strip", "CC", "CXX", "LD", "AR", "LINK",
    ];
    let name = check.program();
    let is_made = |lines: &mut dyn Iterator<Item = &str>| {
        let line = lines.next().unwrap_or_default().trim();
        // That it has failed stands before it.
        let before = lines.next();
        let program = line.split_whitespace().next().unwrap_or_default();
        let program = program.rsplit(['/', '-']).next().unwrap_or_default();
        let is_leaving = line.contains("Leaving directory") && before.is_some_and(|line| !is_error(line));
        // `[12/12] Linking a`
        let steps = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let steps = steps.and_then(|(steps, _)| steps.split_once('/'));
        ECHOED.contains(&program) || is_leaving || steps.is_some_and(|(at, all)| at.trim() == all.trim())
    };
    MAKES.contains(&name) && last_text(result, is_made) == Some(true)
}

/// Asks for the lines of the last text that says anything, from the last one on, without the frame around them.
fn last_text<T>(result: &ToolResult, ask: impl Fn(&mut dyn Iterator<Item = &str>) -> T) -> Option<T> {
    let text = printed(texts(result).filter(|text| !text.trim().is_empty()).last()?);
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(LAST))..];
    Some(ask(&mut tail.lines().rev().filter_map(within_frame)))
}

/// Whether a line behind the counts says that the run has ended badly all the same, in the words of runners and of those that
/// start them.
pub(crate) fn breaks_off(line: &str) -> bool {
    // A status of none is none.
    let is_well = || {
        let nones = ["code 0", "status 0", "code: 0", "status: 0", "with 0"];
        nones.iter().any(|none| line.contains(none))
    };
    BREAKING_OFF.is_in(line) && !is_well()
}

/// The sentences of runners that close with none but counts of their own.
pub(super) fn says_so(line: &str) -> bool {
    const BEGIN: &[&str] = &[
        "BUILD SUCCESS",
        "** TEST SUCCEEDED **",
        "** BUILD SUCCEEDED **",
        "Test Run Successful",
        "All tests passed",
        "All specs passed",
        "All tests successful",
        "Result: PASS",
        "[doctest] Status: SUCCESS",
        "congratulations :)",
        "Test Successful in ",
    ];
    let line = line.trim();
    let bare = line
        .strip_prefix("[INFO] ")
        .or_else(|| line.strip_prefix("[info] "))
        .unwrap_or(line);
    // `✨ All tests passed!`
    let undrawn = bare.trim_start_matches(|c: char| !c.is_ascii());
    BEGIN
        .iter()
        .any(|begin| bare.starts_with(begin) || undrawn.trim_start().starts_with(begin))
        || line.ends_with(": All tests passed!")
        || matches!(passed(line), Some(Passed::Package(_)))
        || line.starts_with("Passed!  - Failed: ") && !line.contains("Passed:     0,") && !counts_failures(line)
}

/// What runners say behind their counts.
pub(super) fn is_trailer(line: &str) -> bool {
    const BEGIN: &[&str] = &[
        "?",
        "Time",
        "Duration",
        "Finished",
        "Ran all test suites",
        "Randomized with seed",
        "Destroying test database",
        "Coverage",
        "Snapshots",
        "Doc-tests",
        "Done in",
        "PS ",
        "npm notice",
        "npm warn",
        "npm WARN",
        "warning",
        "Warning",
        "[INFO]",
        "[info]",
        "[success]",
    ];
    let line = line.trim();
    BEGIN.iter().any(|begin| line.starts_with(begin))
}

fn numbers_in(words: &[Word]) -> usize {
    let is_number = |word: &&Word| word.text.starts_with(|c: char| c.is_ascii_digit());
    words.iter().filter(is_number).count()
}

/// What the closing lines have counted.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// Something passed, by its count.
    passed: bool,
    /// Something was run, by its count.
    run: bool,
    /// Nothing failed, or all is said to be well.
    none_failed: bool,
    /// Numbers that were told. A runner tells of more than one; any program may say that it has passed one thing.
    numbers: usize,
    /// A runner says it in a sentence.
    pub is_said: bool,
}

impl Counts {
    pub fn are_well(&self) -> bool {
        self.is_said || (self.passed || self.run && self.none_failed) && self.numbers > 1
    }

    /// Takes a line of counts; `false` where one has failed.
    pub fn take(&mut self, words: &[Word]) -> bool {
        let (mut none_passed, mut is_well, mut none_failed) = (false, false, false);
        for (at, word) in words.iter().enumerate() {
            // `8 did not run`
            let is_undone = || at > 1 && words[at - 1].text == "not" && words[at - 2].text == "did";
            if word.text == "run" && is_undone() {
                let number = at.checked_sub(3).and_then(|before| words[before].number());
                if number != Some(0) {
                    return false;
                }
            }
            // `0 of 1 test suites passed`
            let sides = at.checked_sub(1).and_then(|before| words[before].number());
            let sides = sides.zip(words.get(at + 1).and_then(Word::number));
            // Of a `total` the rest was left out.
            let is_total = || words.get(at + 2).is_some_and(|word| word.text == "total");
            if word.text == "of" && sides.is_some_and(|(some, all)| some < all) && !is_total() {
                return false;
            }
            if word.is_in(PASSED) {
                match count(words, at) {
                    Some(0) => none_passed = true,
                    Some(_) => self.passed = true,
                    None => is_well = true,
                }
            } else if word.is_in(FAILED) {
                if count(words, at) != Some(0) {
                    return false;
                }
                none_failed = true;
            } else if word.is_in(RUN) {
                let before = at.checked_sub(1).and_then(|before| words[before].number());
                let before = before.filter(|_| word.is_adjacent());
                let behind = || words.get(at + 1).filter(|next| next.is_close())?.number();
                self.run |= before.or_else(behind).is_some_and(|number| number > 0);
            }
        }
        self.numbers += numbers_in(words);
        self.none_failed |= none_failed || is_well;
        // `100% tests passed, 0 tests failed out of 12`
        self.passed |= is_well && none_failed && !none_passed;
        true
    }
}

#[cfg(test)]
mod tests;
