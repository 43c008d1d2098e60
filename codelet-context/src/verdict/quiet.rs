//! What builds and lints say, which are silent when all is well: what is wrong, or in few words that nothing is.

use super::fixed::{is_fixed, leaves_none};
use super::signs::{ERRORS, OPEN};
use super::{ends, lines, outermost, texts};
use crate::message::ToolResult;
use crate::said::{self, WARNINGS, count, is_bare_place, leads_with_place, place, split};

/// Where an output says that all is well, in bytes from its beginning, where a frame may stand, and to its end.
const FIRST: usize = 256;
const LAST: usize = 2 * 1024;

/// Whether a line of an output reports an error.
pub(super) fn shows_error(result: &ToolResult) -> bool {
    lines(result).any(is_error)
}

/// Whether a line reports an error, in the way that compilers, linters, make and shells do.
pub(crate) fn is_error(line: &str) -> bool {
    // What the system says of a program that it has ended. Neither this nor the words below are signs of the table, for they
    // tell of an error only at the beginning of a line.
    const ENDED: &[&str] = &["Killed", "Terminated"];
    const BEGINS: &[&str] = &[
        "error",
        "errors",
        "fatal",
        "failed",
        "build failed",
        "bash",
        "sh",
        "zsh",
    ];
    let first = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = |with: &&str| {
        let Some((head, behind)) = first.split_at_checked(with.len()) else {
            return false;
        };
        let is_word = match with.len() {
            // `error.c` and `sh build.sh` are names that are printed.
            2..=4 => behind.starts_with(": "),
            _ => behind.is_empty() || behind.starts_with([' ', ':', '[', '(', ']', '!']),
        };
        is_word && head.eq_ignore_ascii_case(with)
    };
    let is_none = || {
        let behind = line.rsplit_once(':');
        behind.is_some_and(|(_, value)| matches!(value.trim(), "0" | "(none)" | "none" | "null" | "(empty)"))
    };
    let denials = ["no error ", "0 error ", "without error "];
    let is_denied = || denials.iter().any(|no| line.contains(no));
    let is_ended = |with: &&str| {
        let behind = line.trim().strip_prefix(with);
        behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" ("))
    };
    let shows = BEGINS.iter().any(begins) || ENDED.iter().any(is_ended) || ERRORS.is_in(line);
    shows && !is_none() && !is_denied() && !leaves_none(line)
}

/// Whether what was run may not have come to its end.
pub(super) fn is_open(result: &ToolResult) -> bool {
    texts(result).flat_map(ends).any(|text| OPEN.is_in(text))
}

/// The lines of an output that say how it ended, from the last one on.
fn last_lines(result: &ToolResult) -> impl Iterator<Item = &str> {
    const LAST_LINES: usize = 3;
    let last = texts(result).filter(|text| !text.trim().is_empty()).last();
    let lines = last.unwrap_or_default().lines().rev().map(str::trim);
    lines.filter(|line| !line.is_empty()).take(LAST_LINES)
}

/// Whether a build or a lint says in its last lines that it has failed: with an exception that nobody caught, or with a sentence
/// that ends with that word.
pub(super) fn gives_up(result: &ToolResult) -> bool {
    last_lines(result).any(|line| !is_mild(line) && (is_exception(line) || says_it_failed(line)))
}

/// Whether what a build or a lint says last, or counts, may be that something was wrong, though it is not called so.
pub(super) fn may_be_ill(result: &ToolResult) -> bool {
    let says_failure = |line: &str| {
        let mut words = Vec::new();
        split(line, &mut words);
        let is_failure = |at: usize| {
            let is_denied = at > 0 && (words[at - 1].denies_after() || words[at - 1].number() == Some(0));
            words[at].is_in("failed failure failures fails failing") && !is_denied && count(&words, at) != Some(0)
        };
        (0..words.len()).any(is_failure)
    };
    last_lines(result).any(|line| {
        let is_rated = line.contains("rated at ") && !line.contains("10.00/10");
        !is_mild(line) && says_failure(line) || is_bare_place(line) || counts_warnings(line) || is_rated
    })
}

/// Whether a line counts warnings as what was found, without a word on errors: `found 2 warnings`.
fn counts_warnings(line: &str) -> bool {
    let mut words = Vec::new();
    split(line, &mut words);
    let is_found = |at: usize| words[at].is_in(WARNINGS) && at > 1 && words[at - 2].is_in("found");
    let counted = |at: usize| words[at - 1].number().is_some_and(|number| number > 0);
    !words.iter().any(|word| word.is_in(said::ERRORS)) && (0..words.len()).any(|at| is_found(at) && counted(at))
}

/// Whether a line tells of less than an error by how it begins: `warning: failed to read a source map`.
fn is_mild(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    ["warn", "Warn", "WARN", "info", "INFO", "note", "debug", "DEBUG"]
        .iter()
        .any(|word| line.starts_with(word))
}

/// `subprocess.CalledProcessError: Command died`, `[!] RollupError: Could not resolve "./x"`.
fn is_exception(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let Some((name, _)) = line.split_once(": ") else {
        return false;
    };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'));
    // `Error: (none)` is a field.
    is_name
        && ["Error", "Exception"]
            .iter()
            .any(|end| name.len() > end.len() && name.ends_with(end))
}

/// `Application bundle generation failed. [3.2 seconds]`
fn says_it_failed(line: &str) -> bool {
    ["failed", "FAILED"].iter().any(|word| {
        let behind = line.split(word).skip(1);
        let ends = |behind: &str| behind.is_empty() || behind == "." || behind == "!" || behind.starts_with(". ");
        line.split_whitespace().nth(1).is_some() && behind.into_iter().any(ends)
    })
}

/// Whether a line is a file that is not as it should be, as formatters list them, or begins with what is to be changed in one.
pub(super) fn is_listed(line: &str) -> bool {
    const LONGEST: usize = 512;
    let line = line.trim();
    let name = line.rsplit(['/', '\\']).next().unwrap_or_default();
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && ending.len() <= 5 && ending.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    let is_file = !line.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '<' | '>' | '(' | '='))
        && line.len() <= LONGEST
        && !name.is_empty()
        && (has_ending || name.len() < line.len());
    is_file || line.starts_with("diff ") || line.starts_with("--- ")
}

/// Whether nothing was printed, or a harness says so.
pub(crate) fn is_silent(result: &ToolResult) -> bool {
    const SIGNS: &[&str] = &["(no output)", "no output)", "without output", "produced no output"];
    let is_short = |line: &str| line.len() < 80 && SIGNS.iter().any(|sign| line.contains(sign));
    lines(result).all(|line| line.trim().is_empty() || is_short(line))
}

/// Whether a build or a lint says that it has come to its end and found nothing, in words that are not those of tests.
pub(super) fn says_it_is_well(result: &ToolResult) -> bool {
    const SIGNS: &[&str] = &[
        "built in ",
        "Finished `",
        "Finished dev",
        "Finished release",
        "Finished test",
        "finished in ",
        "Compiled ",
        "ompiled with warnings",
        "uild complete",
        "uild finished",
        "UILD COMPLETE",
        "ompilation complete",
        "[100%]",
        "Nothing to be done",
        "is up to date",
        "up-to-date",
        "All done",
        "Done in ",
        "no issues",
        "no problems",
        "no offenses",
        "No issues",
        "No problems",
        "0 issues",
        "0 problems",
        "No fixes applied",
        "10.00/10",
        "All matched files",
        "xit: 0",
        "EXIT: 0",
        "exit=0",
        "EXIT=0",
        "xit code: 0",
        "xit Code: 0",
        "xit code 0",
        "with code 0",
        "xit status 0",
        "<returncode>0<",
        "<exit_code>0<",
    ];
    // `0 problems` counts none, and `10 problems` some.
    let is_count = |text: &str, at: usize| text[..at].ends_with(|c: char| c.is_ascii_digit() || c == '.');
    let says = |text: &str, sign: &str| {
        let mut places = text.match_indices(sign);
        places.any(|(at, _)| !sign.starts_with(|c: char| c.is_ascii_digit()) || !is_count(text, at))
    };
    if states_none(result) {
        return true;
    }
    let mut ends = texts(result).flat_map(|text| outermost(text, FIRST, LAST));
    ends.any(|text| SIGNS.iter().any(|sign| says(text, sign)))
}

/// Whether an output ends with the status 0 that the command line has asked for, and states no other: `TSC_EXIT:0`.
fn states_none(result: &ToolResult) -> bool {
    let is_other = |line| stated(line).is_some_and(|status| status != 0);
    last_lines(result).next().and_then(stated) == Some(0) && !lines(result).any(is_other) && !may_be_ill(result)
}

/// The status that a line states and nothing else: `--- exit 0`, `rc=0`, `go vet EXIT_CODE: 0`.
fn stated(line: &str) -> Option<u32> {
    const NAMES: &[&str] = &[
        "exit",
        "exited",
        "code",
        "status",
        "rc",
        "exitcode",
        "exitstatus",
        "returncode",
    ];
    const LONGEST: usize = 48;
    const WORDS: usize = 5;
    let line = line.trim();
    if line.len() > LONGEST {
        return None;
    }
    let is_joint = |c: char| !c.is_alphanumeric();
    let words: Vec<&str> = line.split(is_joint).filter(|word| !word.is_empty()).collect();
    let [before @ .., name, status] = &words[..] else {
        return None;
    };
    let is_name = NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
    (is_name && before.len() + 2 <= WORDS).then(|| status.parse().ok())?
}

/// Whether a line names a place in a file, or a file that is not as it should be, as linters do that call nothing an error.
pub(super) fn shows_fault(result: &ToolResult) -> bool {
    const SIGNS: &[&str] = &[
        "would reformat",
        "would be reformatted",
        "Diff in ",
        "[warn]",
        "style issues found",
    ];
    let is_place = |line: &str| leads_with_place(line) || place(line).is_some_and(|_| line.starts_with("In "));
    let mut lines = lines(result).filter(|line| !is_fixed(line));
    lines.any(|line| is_place(line.trim()) || SIGNS.iter().any(|sign| line.contains(sign)))
}
