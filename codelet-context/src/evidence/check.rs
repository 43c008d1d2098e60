//! Checks: recognises command lines that run a test, a build or a linter or query the repository, and derives their
//! success from the recorded status.

use crate::message::{BROKEN_PIPE, ToolResult};
use std::sync::LazyLock;

/// The kind of a command whose last run describes the current state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub(crate) enum CheckKind {
    /// Runs tests.
    Test,
    /// Builds.
    Build,
    /// Analyses the source.
    Lint,
    /// Commits.
    Commit,
    /// Pushes commits.
    Push,
    /// Opens, merges or closes a pull request.
    PullRequest,
    /// Lists uncommitted changes.
    Status,
}

impl CheckKind {
    /// All kinds, with their names.
    const ALL: [(CheckKind, &str); 7] = [
        (CheckKind::Test, "test"),
        (CheckKind::Build, "build"),
        (CheckKind::Lint, "lint"),
        (CheckKind::Commit, "commit"),
        (CheckKind::Push, "push"),
        (CheckKind::PullRequest, "pull request"),
        (CheckKind::Status, "git status"),
    ];

    /// The kind's name.
    pub(crate) fn name(self) -> &'static str {
        let known = CheckKind::ALL.iter().find(|(kind, _)| *kind == self);
        known.map_or("", |(_, name)| name)
    }

    /// Returns whether commands of this kind pass or fail depending on the code.
    pub(crate) fn judges(self) -> bool {
        matches!(self, CheckKind::Test | CheckKind::Build | CheckKind::Lint)
    }
}

/// A check in a command line: its last command of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Check {
    /// The kind of check.
    pub(crate) kind: CheckKind,
    /// True if exit status 0 of the line implies success of the check: only `&&` follows it.
    pub(crate) succeeds_with_line: bool,
    /// True if nothing earlier in the line can keep it from running.
    pub(crate) surely_runs: bool,
    /// True if failure of the line implies failure of the check: it is the last command, surely runs, and stands in no pipe.
    pub(crate) fails_with_line: bool,
    /// Its index in the last pipeline of the line, and the number of commands in that pipeline.
    in_pipe: Option<(usize, usize)>,
}

impl Check {
    /// The check's own success: by its recorded status or, where that of the line decides it, by that.
    pub(crate) fn success(self, result: &ToolResult) -> Option<bool> {
        let decides = |success: &bool| match success {
            true => self.succeeds_with_line,
            false => self.fails_with_line,
        };
        self.success_in_pipe(result).or(result.success.filter(decides))
    }

    /// The same by the [statuses](ToolResult::pipe) of the last pipeline, if they are recorded and the check is part of
    /// it. A command killed by SIGPIPE has neither passed nor failed.
    fn success_in_pipe(self, result: &ToolResult) -> Option<bool> {
        let (at, count) = self.in_pipe.filter(|_| !result.pipe.is_empty())?;
        let status = result.pipe.get(at).filter(|_| result.pipe.len() == count)?;
        (*status != BROKEN_PIPE).then_some(*status == 0)
    }
}

/// The table: kinds and words.
static CHECKS: LazyLock<Vec<(CheckKind, Vec<&'static str>)>> = LazyLock::new(|| {
    let rows = include_str!("checks.txt")
        .lines()
        .filter_map(|line| line.split_once(": "));
    let kind = |name: &str| Some(CheckKind::ALL.iter().find(|(_, known)| *known == name)?.0);
    rows.filter_map(|(name, words)| Some((kind(name)?, words.split(' ').collect())))
        .collect()
});

/// The separator between two commands of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Between {
    And,
    Pipe,
    Other,
}

/// The checks of a command line, at most one per kind, in the order of the kinds.
pub(crate) fn checks_of(line: &str) -> Vec<Check> {
    let commands = commands(line);
    let kinds: Vec<_> = commands.iter().map(|(words, _)| kind_of(words)).collect();
    let last = |kind: CheckKind| {
        kinds
            .iter()
            .rposition(|known| *known == Some(kind))
            .map(|at| (kind, at))
    };
    let found = CheckKind::ALL.into_iter().filter_map(|(kind, _)| last(kind));
    found.map(|(kind, at)| check(&commands, kind, at)).collect()
}

/// Describes the command at `at` as a check.
fn check(commands: &[(Vec<String>, Option<Between>)], kind: CheckKind, at: usize) -> Check {
    let begins = last_pipeline(commands);
    let mut behind = commands[at..].iter().filter_map(|(_, between)| *between);
    let mut before = commands[..at].iter();
    let is_sure = |(words, between): &(Vec<String>, Option<Between>)| {
        let goes_there = words
            .first()
            .is_some_and(|word| matches!(word.as_str(), "cd" | "export" | "set" | "source"));
        *between == Some(Between::Other) || goes_there
    };
    // All commands of a pipe run, but under `pipefail` its status may be that of an earlier one.
    let runs_on = |command| is_sure(command) || command.1 == Some(Between::Pipe);
    Check {
        kind,
        surely_runs: before.clone().all(runs_on),
        fails_with_line: behind.clone().next().is_none() && before.all(is_sure),
        succeeds_with_line: behind.all(|between| between == Between::And),
        in_pipe: (at >= begins).then(|| (at - begins, commands.len() - begins)),
    }
}

/// The index of the first command of the last pipeline.
fn last_pipeline(commands: &[(Vec<String>, Option<Between>)]) -> usize {
    let before = commands
        .iter()
        .rposition(|(_, between)| matches!(between, Some(between) if *between != Between::Pipe));
    before.map_or(0, |before| before + 1)
}

/// The commands of the last pipeline of a line, as words.
pub(crate) fn commands_of_last_pipeline(line: &str) -> Vec<Vec<String>> {
    let mut commands = commands(line);
    let begins = last_pipeline(&commands);
    commands.drain(begins..).map(|(words, _)| words).collect()
}

/// Returns whether a check has passed, by [its own success](Check::success) or, if unknown, by its [output](says_passed). `None`
/// if unknown: a test that the output does not report as passed has not necessarily failed.
pub(crate) fn passed(check: Check, result: &ToolResult) -> Option<bool> {
    check.success(result).or_else(|| match result.success {
        Some(false) if check.succeeds_with_line => None,
        _ => says_passed(result).then_some(true),
    })
}

/// Returns whether an output without its own status reports passed tests: it contains the word `test`, one of `pass`,
/// `passed` and `success`, and no nonzero count of failures.
pub(crate) fn says_passed(result: &ToolResult) -> bool {
    const TEST: [&str; 2] = ["test", "tests"];
    const PASSED: [&str; 3] = ["pass", "passed", "success"];
    const FAILED: [&str; 6] = ["fail", "failed", "failure", "failures", "error", "errors"];
    let is_of = |word: &str, names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    let (mut tests, mut passes, mut fails) = (false, false, false);
    // One word after the other: an output may be larger than what a list of its words would leave room for.
    for text in result.texts() {
        let text = text.body.as_str();
        let mut before: Option<&str> = None;
        for word in text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let count = before.and_then(|before| before.parse::<u64>().ok());
            tests |= is_of(word, &TEST);
            passes |= is_of(word, &PASSED) && count != Some(0);
            fails |= is_of(word, &FAILED) && count.is_some_and(|count| count > 0);
            fails |=
                before.is_some_and(|before| is_of(before, &FAILED)) && word.parse().is_ok_and(|count: u64| count > 0);
            before = Some(word);
        }
        let is_failed = |line: &str| line.to_ascii_lowercase().contains("test result: failed");
        fails |= text.lines().any(is_failed);
    }
    tests && passes && !fails
}

/// Returns whether a line is git's own about a new commit: `[main 3f2a9c1] …`, `[main (root-commit) 3f2a9c1] …`.
pub(crate) fn is_commit(line: &str) -> bool {
    let head = line.strip_prefix('[').and_then(|line| line.split_once("] "));
    let hash = head.and_then(|(head, _)| head.rsplit_once(' '));
    hash.is_some_and(|(_, hash)| hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The name of a command's program without its folder, and the words that follow it. Settings and wrappers such as
/// `env` are skipped.
pub(crate) fn program(words: &[String]) -> Option<(&str, &[String])> {
    let at = words.iter().position(|word| {
        let is_setting = word
            .split_once('=')
            .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        let is_wrapper = matches!(
            word.as_str(),
            "time" | "timeout" | "env" | "sudo" | "nice" | "command" | "exec" | "rtk"
        );
        let is_figure = word.bytes().next().is_some_and(|b| b.is_ascii_digit());
        !(is_setting || is_wrapper || is_figure)
    })?;
    Some((words[at].rsplit(['/', '\\']).next()?, &words[at + 1..]))
}

/// The kind of a command, from its words.
fn kind_of(words: &[String]) -> Option<CheckKind> {
    let (program, words) = program(words)?;
    let is = |known: &str, word: &str| match known.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => known == word,
    };
    let matches = |row: &&(CheckKind, Vec<&str>)| {
        let Some((first, rest)) = row.1.split_first() else {
            return false;
        };
        let mut said = words.iter();
        is(first, program)
            && rest.iter().all(|known| {
                let is_option = known.starts_with('-');
                said.by_ref()
                    .find(|word| is_option || !word.starts_with(['-', '+']))
                    .is_some_and(|word| is(known, word))
            })
    };
    CHECKS.iter().filter(matches).map(|(kind, _)| *kind).min()
}

/// Splits a line into commands, as words, each with the separator after it. Quoted text is one word; a substitution is
/// part of its word; comments and here-documents are not commands.
fn commands(line: &str) -> Vec<(Vec<String>, Option<Between>)> {
    // The last lines of the here-documents that begin behind this line.
    let mut documents: Vec<String> = Vec::new();
    let mut found: Vec<(Vec<String>, Option<Between>)> = Vec::new();
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let between = match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                while let Some(inner) = chars.next().filter(|inner| *inner != c) {
                    if inner == '\\' && c == '"' {
                        word.extend(chars.next());
                    } else {
                        word.push(inner);
                    }
                }
                continue;
            }
            '\\' => {
                match chars.next() {
                    Some('\n') | None => {}
                    Some(next) => word.get_or_insert_default().push(next),
                }
                continue;
            }
            '#' if word.is_none() => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            '<' if chars.next_if_eq(&'<').is_some() => {
                if chars.next_if_eq(&'<').is_none() {
                    while chars.next_if(|c| matches!(c, '-' | ' ' | '\t')).is_some() {}
                    let end = std::iter::from_fn(|| chars.next_if(|c| !c.is_whitespace() && !";|&>)".contains(*c)));
                    documents.push(end.filter(|c| !matches!(c, '\'' | '"' | '\\')).collect());
                }
                continue;
            }
            '&' if chars.next_if_eq(&'&').is_some() => Between::And,
            '|' if chars.next_if_eq(&'|').is_some() => Between::Other,
            '|' => {
                chars.next_if_eq(&'&');
                Between::Pipe
            }
            // `2>&1`, `&>`
            '&' if word.as_ref().is_some_and(|word| word.ends_with('>')) || chars.peek() == Some(&'>') => {
                word.get_or_insert_default().push(c);
                continue;
            }
            ';' | '\n' | '&' => Between::Other,
            ' ' | '\t' | '\r' => {
                words.extend(word.take());
                continue;
            }
            _ => {
                word.get_or_insert_default().push(c);
                continue;
            }
        };
        words.extend(word.take());
        if !words.is_empty() {
            found.push((std::mem::take(&mut words), Some(between)));
        }
        let begun = if c == '\n' { 0 } else { documents.len() };
        for end in documents.split_off(begun) {
            let mut lines = std::iter::from_fn(|| {
                chars.peek()?;
                Some(chars.by_ref().take_while(|c| *c != '\n').collect::<String>())
            });
            lines.find(|line| line.trim_start_matches('\t') == end);
        }
    }
    words.extend(word.take());
    match words.is_empty() {
        false => found.push((words, None)),
        // A trailing separator separates nothing.
        true => {
            if let Some((_, between)) = found.last_mut() {
                *between = None;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::{labels, quoting};

    /// The check of a line: a test, or else a build, or else a linter.
    fn check_of(line: &str) -> Option<Check> {
        checks_of(line).into_iter().find(|check| check.kind.judges())
    }

    #[test]
    fn every_row_of_the_table_is_of_a_kind_and_no_quoted_line_begins_as_one_that_tells_of_it() {
        let rows = include_str!("checks.txt")
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(rows.count(), CHECKS.len());
        for (kind, name) in CheckKind::ALL {
            assert!(CHECKS.iter().any(|(known, _)| *known == kind), "{kind:?}");
            let line = format!("{}{}: exit status 0", labels::LAST, name);
            assert!(quoting::poses(&line), "{line}");
        }
    }

    #[test]
    fn checks_are_known_by_a_table_of_commands() {
        use CheckKind::{Build, Lint, Test};
        for (line, kind) in [
            ("cargo test -p parser", Some(Test)),
            ("cargo +nightly test", Some(Test)),
            ("cd /w && RUST_LOG=1 cargo test 2>&1 | tail -5", Some(Test)),
            ("npm run test:unit", Some(Test)),
            ("./node_modules/.bin/jest --ci", Some(Test)),
            ("timeout 60 pytest -q", Some(Test)),
            ("python -m pytest tests", Some(Test)),
            ("cargo build && cargo test", Some(Test)),
            ("npm run build", Some(Build)),
            ("cargo clippy; cargo check", Some(Build)),
            ("cargo clippy --all-targets", Some(Lint)),
            ("echo cargo test", None),
            ("git commit -m 'cargo test'", None),
            ("cat > run.sh <<EOF\ncargo test\nEOF", None),
            ("cat > a.rs <<'EOF'\nfn main() {}\nEOF\ncargo test", Some(Test)),
            ("cat <<-EOF | sh && cargo build\n\tcargo test\n\tEOF\n", Some(Build)),
            ("cat <<A <<B; ls\nA\ncargo test\nB\ncargo clippy", Some(Lint)),
            ("sed s/a/b/ <<< $x; cargo test", Some(Test)),
            ("# cargo test\nls", None),
            ("grep -rn \"cargo test\" .", None),
        ] {
            assert_eq!(check_of(line).map(|check| check.kind), kind, "{line}");
        }
    }

    /// Checks the verdict on a line with this status and output.
    fn check(line: &str, success: Option<bool>, output: &str, expected: Option<bool>) {
        let result = ToolResult::new("a", success, output);
        let found = check_of(line).and_then(|check| passed(check, &result));
        assert_eq!(found, expected, "{line} {success:?} {output}");
    }

    #[test]
    fn a_status_that_is_the_checks_own_decides() {
        check("cargo test", Some(true), "0 passed", Some(true));
        check("cd a && cargo test", Some(false), "all tests passed", Some(false));
        check("cargo test && git push", Some(true), "", Some(true));
        check("cargo test && git push", Some(false), "2 tests passed", None);
        check("cargo build && cargo test", Some(false), "", None);
    }

    #[test]
    fn in_a_pipe_the_recorded_status_of_the_check_decides() {
        for (line, pipe, expected) in [
            ("cargo test | tail -5", vec![101, 0], Some(false)),
            ("cd a && cargo test 2>&1 | tail -5", vec![0, 0], Some(true)),
            // Killed by SIGPIPE; in another pipeline than the last; without recorded statuses.
            ("cargo test | head -1", vec![141, 0], None),
            ("cargo test | tail; ls | wc", vec![1, 0], None),
            ("cargo test | tail", Vec::new(), None),
        ] {
            let mut result = ToolResult::new("a", Some(true), "done");
            result.pipe = pipe.into();
            assert_eq!(
                check_of(line).and_then(|check| passed(check, &result)),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn without_one_the_output_has_to_say_that_tests_passed() {
        for line in ["cargo test | tail", "cargo test; echo done"] {
            check(line, Some(true), "test result: ok. 3 passed; 0 failed", Some(true));
            check(line, Some(true), "test result: FAILED. 2 passed; 1 failed", None);
            check(line, Some(true), "done", None);
        }
        check("pytest", None, "3 tests passed", Some(true));
        for output in [
            "the test password", "0 passed, no test", "test bypass", "tests: 2 passed, 1 failed", "3 passed",
        ] {
            check("pytest", None, output, None);
        }
    }
}
