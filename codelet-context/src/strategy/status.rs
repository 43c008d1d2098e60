//! Which lines of an output report success or progress, and may be counted instead of shown.
//!
//! A passed test is recognised by what stands at its line's beginning *and* at its end, a progress by its share and its bar; a
//! word alone is not enough, since prose and code have words too. What tells of a failure is never recognised.

/// What a line of status is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A test that passed; a run of them is called this.
    Passed(&'static str),
    /// A state of a progress: of a run, whose lines differ by numbers and bars, the last one counts.
    Progress,
}

/// No line of status is longer, in bytes.
const LONGEST: usize = 400;

/// Words of a failure; a line that has one is never folded by likeness. In any letters: whoever finds one too many only shows a line more.
#[rustfmt::skip]
const FAILURES: &[&str] = &[
    "fail", "error", "panic", "warn", "abort", "fatal", "exception", "denied", "refused", "timed out", "timeout", "✗", "✘", "✖",
];

/// What a line (without its line end) reports.
pub(super) fn class(line: &str) -> Option<Class> {
    if line.len() > LONGEST {
        return None;
    }
    let is_progress = || line.contains('%') && line.chars().any(is_bar) && !tells_of_failure(line);
    passed(line.trim_end())
        .map(Class::Passed)
        .or_else(|| is_progress().then_some(Class::Progress))
}

/// What passed tests are called whose lines are like this one: of Rust and Python's unittest, of pytest, of Go.
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

/// What stands behind the label of lines that are counted instead of shown, around their number.
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

/// Whether two lines say the same but for numbers and the bars that picture them.
pub(super) fn differ_by_numbers(a: &str, b: &str) -> bool {
    let plain = |c: &char| {
        !(c.is_ascii_digit() || is_bar(*c) || c.is_whitespace() || matches!(c, '.' | ',' | '#' | '=' | '>' | '-'))
    };
    a.chars().filter(plain).eq(b.chars().filter(plain))
}

/// Whether a terminal line was first in one state of a progress and then in a later one. Words must be the same but for
/// units after a number, and something must show that it is progress: a share, a bar, "3 of 7", or dots that wait.
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

/// Whether lines like this, repeated to the byte, are the output of something that repeats itself, and not code, data or a
/// drawing: words at the margin, and no sign that those use.
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
