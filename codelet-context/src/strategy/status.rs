//! Recognises output lines that report success or progress, and so may be counted instead of shown.
//!
//! A passed test is recognised by the start *and* the end of its line, progress by its percentage and its bar; a single
//! word is not enough, since prose and code contain the same words. Reports of failure are never recognised.

/// The class of a status line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineClass {
    /// A passed test, with the label for a run of them.
    Passed(&'static str),
    /// A state of a progress display: of a run of lines that differ only in numbers and bars, the last one is shown.
    Progress,
}

/// The maximum bytes of a status line.
const LONGEST: usize = 400;

/// Signs of failure; a line with one is never folded as similar. Matched in any case: a false positive only shows one
/// more line.
#[rustfmt::skip]
const FAILURES: &[&str] = &[
    "fail", "error", "panic", "warn", "abort", "fatal", "exception", "denied", "refused", "timed out", "timeout", "✗", "✘", "✖",
];

/// The class of a line (without its line end).
pub(super) fn class(line: &str) -> Option<LineClass> {
    if line.len() > LONGEST {
        return None;
    }
    let is_progress = || line.contains('%') && line.chars().any(is_bar) && !tells_of_failure(line);
    passed(line.trim_end())
        .map(LineClass::Passed)
        .or_else(|| is_progress().then_some(LineClass::Progress))
}

/// The label for passed tests with lines like this one: of Rust and Python's unittest, of pytest, of Go.
fn passed(line: &str) -> Option<&'static str> {
    // `tests/test_a.py::test_b PASSED   [ 12%]`.
    let share = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '[');
    let line = line
        .strip_suffix("%]")
        .map_or(line, |line| line.trim_end_matches(share));
    let is_named = |name: &str, outcome| line.starts_with(name) && line.ends_with(outcome);
    match () {
        () if is_named("test", " ... ok") && line.matches(" ... ").count() == 1 => Some("test … ok"),
        () if is_named("", " PASSED") && line.contains(".py::") && !line.starts_with(char::is_whitespace) => {
            Some("… PASSED")
        }
        () if is_named("--- PASS: ", "s)") => Some("--- PASS: …"),
        () => None,
    }
}

/// The text around the number, after the label of lines that are counted instead of shown.
pub(super) const COUNTED: [&str; 2] = [" (× ", " alike lines)"];

fn is_bar(c: char) -> bool {
    matches!(
        c,
        '█' | '▉' | '▊' | '▋' | '▌' | '▍' | '▎' | '▏' | '░' | '▒' | '▓' | '━' | '╸' | '╺' | '\u{2800}'..='\u{28ff}'
    )
}

fn tells_of_failure(text: &str) -> bool {
    let lower = text.to_lowercase();
    FAILURES.iter().any(|word| lower.contains(word))
}

/// Returns whether two lines are the same except for numbers and bars.
pub(super) fn differ_by_numbers(a: &str, b: &str) -> bool {
    let plain = |c: &char| {
        !(c.is_ascii_digit() || is_bar(*c) || c.is_whitespace() || matches!(c, '.' | ',' | '#' | '=' | '>' | '-'))
    };
    a.chars().filter(plain).eq(b.chars().filter(plain))
}

/// Returns whether a terminal line showed an earlier and then a later state of the same progress. Words must be the
/// same, except for units after a number, and there must be a sign of progress: a percentage, a bar, "3 of 7", or
/// trailing dots.
pub(super) fn is_later_state(a: &str, b: &str) -> bool {
    let said = words(a);
    let shows = |s: &str| {
        s.contains('%')
            || s.chars().any(is_bar)
            || s.contains("##")
            || s.trim_end().ends_with("...")
            || (has_fraction(s) && !said.is_empty())
    };
    shows(a) && shows(b) && said == words(b) && !tells_of_failure(a)
}

/// `3/7`.
fn has_fraction(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|w| w[1] == b'/' && w[0].is_ascii_digit() && w[2].is_ascii_digit())
}

/// The words of a state without units: a short word after a number, such as `MB/s`, may change with it.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut after_number = false;
    for (index, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphabetic() || c == '_' {
            start.get_or_insert(index);
            continue;
        }
        if let Some(start) = start.take() {
            let word = &text[start..index];
            if !(after_number && word.len() <= 3) {
                words.push(word);
                after_number = false;
            }
        }
        after_number |= c.is_ascii_digit();
    }
    words
}

/// Returns whether identical lines like this come from a program that repeats itself, rather than code, data or a
/// drawing: words without indentation, and none of the characters that those use.
pub(super) fn may_repeat(line: &str) -> bool {
    !line.starts_with(char::is_whitespace)
        && line.len() <= LONGEST
        && !line.contains(|c: char| "{}()[];=<>|,\"'`\t\\#*@&$+".contains(c))
        && line
            .split_whitespace()
            .filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() >= 3)
            .count()
            >= 2
}
