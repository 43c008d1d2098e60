//! Whether a check succeeded: by the tool's own word, and by the words of its output only where that word is missing.

mod blame;
mod closing;
mod faults;
mod fixed;
mod quiet;
mod signs;
mod unrun;

use crate::command::CommandLine;
use crate::message::ToolResult;
use crate::testrun::{Check, CheckKind};
pub(crate) use blame::settle;
#[cfg(test)]
pub(crate) use closing::breaks_off;
use closing::{closes_well, has_made, is_cut};
use faults::shows_finding;
use fixed::{left, says_what_is_left};
pub(crate) use quiet::is_error;
use quiet::{is_open, is_silent, says_it_is_well, shows_error, shows_fault};
pub(crate) use signs::{CAUSES, CLOSINGS, ENDS};
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
/// The status decides wherever it is the status of the check. Where the line ends with another command (`… | tail`),
/// status 0 says nothing, and the output must tell of success and not of failure. Where no status is recorded, the output of a
/// test run must close as runs of tests do, or mention `test` and say `pass`, `passed` or `success` in whole words, and count no
/// failure.
///
/// Of a build or a lint, which are silent when all is well, it is enough that nothing at all was printed; whatever was must
/// show nothing wrong, and say in some words that all is well where its end may not be seen. Of what is left to run in the
/// background nothing is known.
pub fn of(check: &Check, result: &ToolResult) -> Verdict {
    match result.success {
        Some(false) if !check.is_asked => return Verdict::Failed,
        _ if check.is_left => return Verdict::Unknown,
        Some(true) if check.decides => return Verdict::Passed,
        _ => {}
    }
    let signs = Signs::of_result(result);
    let says_success = match result.success {
        _ if check.kind != CheckKind::Test => {
            if is_build_failure(result) || shows_error(result) || shows_finding(check.kind, result) {
                return Verdict::Failed;
            }
            let has_fault = || check.kind == CheckKind::Lint && shows_fault(result);
            // What `grep` has not found was not printed, whatever was.
            let is_well = || {
                result.success != Some(false) && is_silent(result)
                    || signs.success
                    || signs.all_well
                    || says_it_is_well(result)
                    || closes_well(result) == Some(true)
                    || has_made(check, result)
            };
            let is_seen = result.success == Some(true) && check.is_seen;
            !is_open(result) && !is_cut(result) && !has_fault() && (is_seen || is_well())
        }
        Some(_) => signs.success || signs.all_well,
        None => closes_well(result).unwrap_or(signs.success && signs.mentions_test),
    };
    match (signs.failure || signs.ended_badly && !signs.success, says_success) {
        (true, _) => Verdict::Failed,
        (false, true) => Verdict::Passed,
        (false, false) => Verdict::Unknown,
    }
}

/// Whether what a test run has printed, or any other check, counts failures or shows one.
pub(crate) fn counts_failures(printed: &str) -> bool {
    let mut signs = Signs::default();
    for end in ends(printed) {
        signs.read(end, false);
    }
    signs.failure || signs.ended_badly
}

/// Whether the output of a command shows that it failed, whatever is told of it: what came of a check in it is what came of the
/// command, and failures are counted.
pub fn denies_success(line: &CommandLine, result: &ToolResult) -> bool {
    let decides = line.said().checks.iter().any(|check| check.decides);
    decides && (Signs::of_result(result).failure || is_build_failure(result)) && closes_well(result) != Some(true)
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
    closes_well(result) == Some(true) || texts(result).any(|text| text.lines().rev().take(LAST).any(counts))
}

/// How many have failed by what a line counts, if it counts any.
pub(crate) fn failed_count(line: &str) -> Option<u64> {
    const FAILED: &str = "failed failure failures fail fails failing error errors problem problems";
    let mut words = Vec::new();
    split(line, &mut words);
    let counts = (0..words.len()).filter(|&at| words[at].is_in(FAILED));
    counts.filter_map(|at| count(&words, at)).max()
}

/// Whether a line is that of a single test that passed, whose name may tell of failures.
fn is_of_one_that_passed(line: &str) -> bool {
    line.trim_start().starts_with(['✓', '✔', '√']) || line.trim_start().starts_with("--- PASS")
}

/// Whether a failed check never came to run what it was to check, because that could not be built.
pub(crate) fn is_build_failure(result: &ToolResult) -> bool {
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
    let mut ends = texts(result).flat_map(ends);
    ends.any(|text| SIGNS.iter().any(|sign| text.contains(sign)))
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
    /// It mentions `test`.
    mentions_test: bool,
    /// It says `pass`, `passed` or `success`, and not that there were none.
    success: bool,
    /// It says so in other words: `ok`, `0 failed`.
    all_well: bool,
    /// It counts failures, or shows one.
    failure: bool,
    /// It tells of a status other than 0, which a test may have printed itself.
    ended_badly: bool,
}

impl Signs {
    fn of_result(result: &ToolResult) -> Signs {
        let mut signs = Signs::default();
        for text in texts(result) {
            for end in ends(text) {
                signs.read(end, result.success.is_none());
            }
            // A failure decides, whatever else is said.
            if signs.failure {
                break;
            }
        }
        signs
    }

    fn read(&mut self, text: &str, asks_for_tests: bool) {
        if text.contains("could not compile") || text.contains("command not found") {
            self.failure = true;
            return;
        }
        if asks_for_tests && !self.mentions_test {
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
            if !may_tell(whole.as_bytes()) {
                continue;
            }
            let ended_badly = std::mem::take(&mut self.ended_badly);
            for line in whole.split('\r').filter(|line| !is_of_one_that_passed(line)) {
                split(line, &mut words);
                // What was found and fixed is over: what is left of it decides.
                if says_what_is_left(line)
                    && let Some(left) = left(&words)
                {
                    self.all_well |= left == 0;
                    self.failure |= left > 0;
                    continue;
                }
                for at in 0..words.len() {
                    self.weigh(&words, at);
                }
            }
            self.failure |= self.ended_badly && start == last;
            self.ended_badly |= ended_badly;
            if self.failure {
                return;
            }
        }
    }

    fn weigh(&mut self, words: &[Word], at: usize) {
        let word = words[at].text;
        let is = |names: &str| names.split(' ').any(|name| name.eq_ignore_ascii_case(word));
        // Few words begin like the words below, and an output has many words.
        if word.len() > 12 || !word.starts_with(['p', 's', 'o', 'f', 'e', 'c', 'r', 'P', 'S', 'O', 'F', 'E', 'C', 'R'])
        {
            return;
        }
        let next = words.get(at + 1);
        let is_denied = at > 0 && words[at - 1].denies_after();
        if is("pass passed success") {
            let is_none = count(words, at) == Some(0) || next.is_some_and(Word::denies_before);
            self.success |= !is_none && !is_denied;
        } else if is("ok passing succeeded successful successfully") {
            self.all_well |= count(words, at) != Some(0) && !is_denied;
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

/// A run of letters, digits and underscores.
struct Word<'a> {
    text: &'a str,
    /// What stands between the word before and this one.
    gap: &'a str,
}

impl Word<'_> {
    fn is_number(&self) -> bool {
        self.text.bytes().all(|b| b.is_ascii_digit())
    }

    /// A number; one too large to hold is large all the same.
    fn number(&self) -> Option<u64> {
        self.is_number().then(|| self.text.parse().unwrap_or(u64::MAX))
    }

    /// Only blanks stand before it.
    fn is_adjacent(&self) -> bool {
        !self.gap.is_empty() && self.gap.bytes().all(|b| matches!(b, b' ' | b'\t'))
    }

    /// It is the value of the word before, as in `failed: 2`, `failures=2`, `code 2`.
    fn is_close(&self) -> bool {
        self.is_adjacent() || self.is_value()
    }

    fn is_value(&self) -> bool {
        let sign = self.gap.trim_matches(|c: char| c == ' ' || c == '"' || c == '\'');
        sign == ":" || sign == "="
    }

    fn denies_after(&self) -> bool {
        ["no", "not", "never", "without", "cannot", "t"]
            .iter()
            .any(|no| self.text.eq_ignore_ascii_case(no))
    }

    fn denies_before(&self) -> bool {
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
fn count(words: &[Word], at: usize) -> Option<u64> {
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
fn begins(words: &[Word], at: usize) -> bool {
    at == 0 || !words[at].is_adjacent() || words[at - 1].text.eq_ignore_ascii_case("found")
}

/// The words of a line, without the escape codes that colour it.
fn split<'a>(line: &'a str, words: &mut Vec<Word<'a>>) {
    words.clear();
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
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

#[cfg(test)]
mod tests;
