//! Whether a check succeeded: by the tool's own word, and by the words of its output only where that word is missing.

mod apart;
mod blame;
mod closing;
mod faults;
mod fixed;
mod idle;
mod logged;
mod quiet;
mod signs;
mod unrun;

use crate::command::CommandLine;
use crate::failing::{printed, within_frame};
use crate::message::ToolResult;
use crate::said::{Passed, Word, begins, count, failed_count, is_counting, is_signed, passed, split};
use crate::testrun::{Check, CheckKind, Lists};
use crate::word_list::{is_in, is_in_any_case};
pub(crate) use blame::{has_begun, settle};
#[cfg(test)]
pub(crate) use closing::breaks_off;
pub(crate) use closing::closes_with_failures;
use closing::{Close, closes, closes_well, has_made, is_cut, says_so};
use faults::shows_finding;
use fixed::{left, says_what_is_left};
use idle::ran_nothing;
use logged::{Told, told};
pub(crate) use quiet::is_error;
pub(crate) use quiet::is_silent;
use quiet::{gives_up, is_listed, is_open, may_be_ill, says_it_is_well, shows_error, shows_fault};
pub(crate) use signs::{CAUSES, CLOSINGS, ENDS};
use std::borrow::Cow;
pub(crate) use unrun::unrun;

/// How much of an output is looked at, in bytes from its beginning and to its end: summaries of tests stand at the end,
/// faults of compilers at the beginning.
const HEAD: usize = 8 * 1024;
const TAIL: usize = 16 * 1024;

/// What came of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Verdict {
    /// It succeeded.
    Passed,
    /// It failed.
    Failed,
    /// Neither its status nor its output says.
    Unknown,
}

/// What came of a check that this result answers.
///
/// The status decides wherever it is the status of the check; a run of tests that closes with failures all the same has failed,
/// and one that ran nothing says nothing of the work, whatever its status. Where the line ends with another command
/// (`… | tail`), status 0 says nothing, and the output must tell of success and not of failure: as runs of tests close, or with
/// words of success that stand beside a number or for themselves. Where no status is recorded, it must mention `test`, too.
///
/// What the tests themselves have logged of failures takes nothing from a run that closes well, and what was picked from an output
/// because it tells of success says nothing. That a line has failed is told of each check in it; [`settle`] says of which.
///
/// Of a build or a lint, which are silent when all is well, it is enough that nothing at all was printed; whatever was must
/// show nothing wrong, and say in some words that all is well where its end may not be seen. Of what is left to run in the
/// background nothing is known.
pub fn of(check: &Check, result: &ToolResult) -> Verdict {
    let is_test = check.kind == CheckKind::Test;
    // What the line prints as the status of this check is that, whatever became of the line.
    let stated = check.printed.as_ref().and_then(|printed| printed.status(lines(result)));
    let (success, decides) = match stated {
        Some(status) => (Some(status == 0), true),
        None => (result.success, check.decides),
    };
    if success != Some(false)
        && !check.is_left
        && let Some(verdict) = of_list(check.lists, result)
    {
        return verdict;
    }
    match success {
        Some(false) if !check.is_asked || stated.is_some() => {
            return match is_test && !check.is_left && ran_nothing(result) {
                true => Verdict::Unknown,
                false => Verdict::Failed,
            };
        }
        _ if check.is_left => return Verdict::Unknown,
        Some(true) if decides && !is_test => return Verdict::Passed,
        Some(true) if decides => {
            let is_idle = ran_nothing(result) || check.is_optional && is_silent(result);
            return match (closes_with_failures(result), is_idle) {
                (true, _) => Verdict::Failed,
                (false, true) => Verdict::Unknown,
                (false, false) => Verdict::Passed,
            };
        }
        _ => {}
    }
    if is_test {
        of_tests(check, result)
    } else {
        of_build(check, result)
    }
}

/// What came of a check that lists what it finds fault with, if its list tells.
fn of_list(lists: Lists, result: &ToolResult) -> Option<Verdict> {
    if lists == Lists::No || is_silent(result) {
        return None;
    }
    match (self::lines(result).any(is_listed), lists) {
        (true, Lists::Alone) => Some(Verdict::Failed),
        (true, _) => Some(Verdict::Unknown),
        (false, _) => None,
    }
}

/// What came of tests whose status is not known.
fn of_tests(check: &Check, result: &ToolResult) -> Verdict {
    let signs = Signs::of_result(result, true);
    let close = closes(result);
    let has_error = || close.is_none() && shows_error(result) && (check.is_seen || is_build_failure(result));
    let has_failed = match signs.failed() && close == Some(Close::Well) {
        // Of what was run much may be logged; the run itself has closed well.
        true => match whose(result) {
            Told::Own => true,
            Told::Logged if signs.failure => false,
            _ => return Verdict::Unknown,
        },
        false => signs.failed(),
    };
    if has_failed || close == Some(Close::Broken) || result.success.is_some() && has_error() {
        return Verdict::Failed;
    }
    let says_success = match (close, result.success) {
        (Some(close), _) => close == Close::Well,
        // Of whole files the first may have passed, and the end is not seen.
        (None, Some(_)) => signs.success || signs.all_well || signs.wholes && (check.is_seen || check.is_asked),
        (None, None) => (signs.success || signs.wholes) && signs.mentions_test,
    };
    match says_success && !check.is_picked && !ran_nothing(result) {
        true => Verdict::Passed,
        false => Verdict::Unknown,
    }
}

/// Whose failures an output of tests tells of that have closed well.
fn whose(result: &ToolResult) -> Told {
    // What stands at the very end was not printed by a test.
    let mut last = Signs::default();
    let line = lines(result).filter(|line| !line.trim().is_empty()).last();
    last.read(line.unwrap_or_default());
    if last.ended_badly {
        return Told::Own;
    }
    let printed: Vec<Cow<'_, str>> = texts(result).map(printed).collect();
    let lines = printed.iter().flat_map(|text| ends(text)).flat_map(str::lines);
    told(lines.filter_map(within_frame))
}

/// What came of a build or a lint whose status is not known.
fn of_build(check: &Check, result: &ToolResult) -> Verdict {
    let is_hidden = result.success == Some(true);
    if is_build_failure(result) || shows_error(result) || shows_finding(check.kind, result) || gives_up(result) {
        return Verdict::Failed;
    }
    let signs = Signs::of_result(result, false);
    if signs.failed() {
        return Verdict::Failed;
    }
    let has_fault = || check.kind == CheckKind::Lint && shows_fault(result);
    // What `grep` has not found was not printed, whatever was.
    let is_well = || {
        result.success != Some(false) && is_silent(result) && !check.is_sifted
            || signs.success
            || signs.all_well
            || says_it_is_well(result)
            || closes_well(result)
            || has_made(check, result)
    };
    let is_seen = || is_hidden && check.is_seen && is_whole(check, result) && !may_be_ill(result);
    match !is_open(result) && !is_cut(result) && !has_fault() && (is_seen() || is_well()) {
        true => Verdict::Passed,
        false => Verdict::Unknown,
    }
}

/// Whether all that a check has printed is in its answer, and not only the last lines of it, before which anything may have
/// stood: what `tail -1` shows of a failed build is that a folder is left. One line fewer than there is room for may be as
/// many, as blank ones at the end are often trimmed.
fn is_whole(check: &Check, result: &ToolResult) -> bool {
    check.shows.is_some_and(|most| lines(result).count() + 1 < most)
}

/// Whether what a test run has printed, or any other check, counts failures or shows one.
pub(crate) fn counts_failures(printed: &str) -> bool {
    let mut signs = Signs::default();
    for end in ends(printed) {
        signs.read(end);
    }
    signs.failure || signs.ended_badly
}

/// Whether the output of a command shows that it failed, whatever is told of it: what came of a check in it is what came of the
/// command, and by its output alone it failed.
pub fn denies_success(line: &CommandLine, result: &ToolResult) -> bool {
    let mut deciding = line.said().checks.iter().filter(|check| check.decides).peekable();
    if deciding.peek().is_none() {
        return false;
    }
    let untold = ToolResult {
        success: None,
        ..result.clone()
    };
    deciding.any(|check| of(check, &untold) == Verdict::Failed)
}

/// Whether an output closes as runs of tests do, with counts of what passed or failed.
pub(crate) fn closes_as_tests_do(result: &ToolResult) -> bool {
    const LAST: usize = 6;
    let counts = |line: &str| {
        let is_told = ["pass", "ok", "OK", "test", "PASS"]
            .iter()
            .any(|word| line.contains(word));
        is_told && failed_count(line).is_some()
    };
    closes_well(result) || texts(result).any(|text| text.lines().rev().take(LAST).any(counts))
}

/// Whether a failed check never came to run what it was to check, because that could not be built.
pub(crate) fn is_build_failure(result: &ToolResult) -> bool {
    texts(result).flat_map(ends).any(is_unbuilt)
}

/// Whether a text says that something could not be built.
fn is_unbuilt(text: &str) -> bool {
    // Not those of the table: what is run may print most of these, but hardly what only compilers say, as they say it.
    const SIGNS: &[&str] = &[
        "could not compile",
        "error[E",
        "error TS",
        "SyntaxError",
        "[build failed]",
        "BUILD FAILED",
        "Compilation failed",
        "COMPILATION ERROR",
        "undefined reference",
        "fatal error:",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// What an answer holds that was printed.
fn texts(result: &ToolResult) -> impl Iterator<Item = &str> {
    let texts = result.texts().map(|text| &text.body).chain(&result.error);
    texts.map(|text| text.as_str())
}

fn lines(result: &ToolResult) -> impl Iterator<Item = &str> {
    texts(result).flat_map(ends).flat_map(str::lines)
}

/// The beginning and the end of an output. A number cut in two would be another number, so the end begins at a blank.
fn ends(text: &str) -> [&str; 2] {
    outermost(text, HEAD, TAIL)
}

fn outermost(text: &str, first: usize, last: usize) -> [&str; 2] {
    if text.len() <= first + last {
        return [text, ""];
    }
    let tail = &text[text.ceil_char_boundary(text.len() - last)..];
    let tail = tail.find(char::is_whitespace).map_or("", |at| &tail[at..]);
    [&text[..text.floor_char_boundary(first)], tail]
}

/// The signs of success and failure in an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Signs {
    /// It is of tests, whose names may hold any word.
    is_of_tests: bool,
    /// It mentions `test`.
    mentions_test: bool,
    /// It says `pass`, `passed` or `success`, and not that there were none.
    success: bool,
    /// It names a file or a package of which all has passed.
    wholes: bool,
    /// It says so in other words: `ok`, `0 failed`.
    all_well: bool,
    /// It counts failures, or shows one.
    failure: bool,
    /// It tells of a status other than 0, which a test may have printed itself.
    ended_badly: bool,
}

impl Signs {
    fn of_result(result: &ToolResult, is_of_tests: bool) -> Signs {
        let mut signs = Signs {
            is_of_tests,
            // Nobody asks where a status is recorded.
            mentions_test: result.success.is_some(),
            ..Signs::default()
        };
        for text in texts(result) {
            for end in ends(text) {
                signs.read(end);
            }
            // A failure decides, whatever else is said.
            if signs.failure {
                break;
            }
        }
        signs
    }

    /// Whether they are those of a failure.
    fn failed(&self) -> bool {
        self.failure || self.ended_badly && !self.success
    }

    fn read(&mut self, text: &str) {
        if text.contains("could not compile") || text.contains("command not found") {
            self.failure = true;
            return;
        }
        if !self.mentions_test {
            let mut fours = text.as_bytes().windows(4);
            self.mentions_test = fours.any(|four| four.eq_ignore_ascii_case(b"test"));
        }
        let mut words = Vec::new();
        // What stands at the very end was not printed by a test.
        let last = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
        let mut at = 0;
        for whole in text.split('\n') {
            let start = at;
            at += whole.len() + 1;
            if is_not_ok(whole) {
                self.failure = true;
                return;
            }
            if !may_tell(whole.as_bytes()) {
                continue;
            }
            let ended_badly = std::mem::take(&mut self.ended_badly);
            for line in whole.split('\r').filter(|line| !is_signed(line)) {
                split(line, &mut words);
                // What was found and fixed is over: what is left of it decides.
                if says_what_is_left(line)
                    && let Some(left) = left(&words)
                {
                    self.all_well |= left == 0;
                    self.failure |= left > 0;
                    continue;
                }
                if self.is_of_tests {
                    self.wholes |= matches!(passed(line), Some(Passed::Package(_) | Passed::File(_)));
                }
                let stands_alone = !self.is_of_tests || is_counting(&words) || says_so(line);
                for at in 0..words.len() {
                    self.weigh(&words, at, stands_alone);
                }
            }
            self.failure |= self.ended_badly && start == last;
            self.ended_badly |= ended_badly;
            if self.failure {
                return;
            }
        }
    }

    /// Weighs one word of a line, which for itself says that all went well if the line `stands_alone`, or beside a number.
    fn weigh(&mut self, words: &[Word], at: usize, stands_alone: bool) {
        let word = words[at].text;
        let is = |names: &str| is_in_any_case(word, names);
        // Few words begin like the words below, and an output has many words.
        if word.len() > 12 || !word.starts_with(['p', 's', 'o', 'f', 'e', 'c', 'r', 'P', 'S', 'O', 'F', 'E', 'C', 'R'])
        {
            return;
        }
        let next = words.get(at + 1);
        let is_denied = at > 0 && words[at - 1].denies_after();
        let says_so_much = || count(words, at).is_some();
        let is_granted = || next.is_some_and(|next| next.is_value() && next.text == "true");
        if is("pass passed success") {
            let is_none = count(words, at) == Some(0) || next.is_some_and(Word::denies_before);
            self.success |= !is_none && !is_denied && (stands_alone || says_so_much() || is_granted());
        } else if is("ok passing succeeded successful successfully") {
            self.all_well |= count(words, at) != Some(0) && !is_denied && (stands_alone || says_so_much());
        } else if at > 0 && words[at - 1].text.eq_ignore_ascii_case("expected") {
            // `OK (expected failures=1)`
        } else if is("failed failure failures fail fails failing") {
            match count(words, at) {
                Some(0) => self.all_well = true,
                Some(_) => self.failure = true,
                // Test runners shout; a sentence or a test's name does not.
                None => self.failure |= word == "FAIL" || word == "FAILED",
            }
        } else if is("error errors errored") {
            match count(words, at) {
                Some(0) => self.all_well = true,
                // "HTTP 500 error" counts nothing: the number must begin something.
                Some(_) => self.failure |= at == 0 || !words[at - 1].is_number() || begins(words, at - 1),
                None => {}
            }
        } else if is("exit exited code status rc") {
            self.ended_badly |=
                next.is_some_and(|next| next.is_number() && next.number() != Some(0) && next.is_close());
        }
    }
}

/// Whether a line is that of a test which failed in the protocol that begins each so: `not ok 2 removes`. What is still to be
/// done, and what was left out, is expected.
fn is_not_ok(line: &str) -> bool {
    let line = line.trim_start();
    let is_numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    if !line.strip_prefix("not ok ").is_some_and(is_numbered) {
        return false;
    }
    let expected = line.split_once(" # ").map(|(_, directive)| directive.trim_start());
    let is_expected = |directive: &str| {
        let word = directive
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        is_in(&word.to_ascii_lowercase(), "todo skip skipped")
    };
    !expected.is_some_and(is_expected)
}

/// Whether a line may hold one of the words that are weighed: few lines do, and an output has many.
fn may_tell(line: &[u8]) -> bool {
    let mut before = b' ';
    for (at, &byte) in line.iter().enumerate() {
        // An escape code may end in a letter, right before a word.
        if byte == 0x1b {
            return true;
        }
        let begins = !(before.is_ascii_alphanumeric() || before == b'_');
        before = byte;
        if begins && byte.is_ascii_alphabetic() {
            let second = line.get(at + 1).map_or(b' ', u8::to_ascii_lowercase);
            let is_one = match byte.to_ascii_lowercase() {
                b'p' | b'f' => second == b'a',
                b's' => second == b'u' || second == b't',
                b'o' => second == b'k',
                b'e' => second == b'r' || second == b'x',
                b'c' => second == b'o',
                b'r' => second == b'c',
                _ => false,
            };
            if is_one {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests;
