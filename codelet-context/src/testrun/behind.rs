//! What runs behind a check in its line: where the line has failed, whether that may be another command's doing.

use super::Check;
use crate::command::Command;
use crate::shell::Next;
use crate::word_list::is_in;
use std::ops::Range;

/// What runs behind a check, whose status that of a line that failed may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Behind {
    /// Nothing that could fail: it is the check's own.
    #[default]
    Nothing,
    /// Only other checks that run if it has succeeded: one of them has failed.
    Checks,
    /// Something that runs if it has succeeded: either may have failed.
    Others,
    /// Something that runs whatever comes of it, and whose status is that of the line; or what has failed before is not shown.
    Apart,
}

/// What a command of a line may come to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Weight {
    /// It does not fail.
    Silent,
    /// It is a check, or holds nothing else.
    Check,
    /// It may fail.
    Other,
}

impl Weight {
    /// That of a command that is no check.
    fn of(command: &Command) -> Weight {
        const NEVER: &str = "echo printf true : set export unset shopt trap wait sleep date pwd local declare source . exit return fi \
                             done esac } ] write-host write-output";
        let name = command.name();
        let is_assignment = command.words().is_empty() || command.simple.words.iter().all(|word| word.contains('='));
        match command.goes() || is_assignment || is_in(&name, NEVER) {
            true => Weight::Silent,
            false => Weight::Other,
        }
    }
}

/// Tells each check what runs behind it; `found` are the checks of each of these commands that is or holds any, by their numbers.
pub(super) fn tell(commands: &[Command], found: &[(usize, Range<usize>)], checks: &mut [Check]) {
    if found.is_empty() {
        return;
    }
    let mut weights: Vec<Weight> = commands.iter().map(Weight::of).collect();
    for (index, held) in found {
        let script = commands[*index].script.as_ref();
        let is_all = script.is_none_or(|script| may_fail(&script.commands) <= held.len());
        if !held.is_empty() && is_all {
            weights[*index] = Weight::Check;
        }
    }
    let behind = behind(commands, &weights);
    for (index, held) in found {
        for check in &mut checks[held.clone()] {
            check.behind = check.behind.max(behind[*index]);
        }
    }
}

/// How many of these commands can fail.
fn may_fail(commands: &[Command]) -> usize {
    let weights = commands.iter().map(Weight::of);
    weights.filter(|weight| *weight > Weight::Silent).count()
}

/// For each command, what runs behind it; `weights` tells what each of them may come to.
fn behind(commands: &[Command], weights: &[Weight]) -> Vec<Behind> {
    let last = last_list(commands);
    let ends = weights[last..].iter().any(|weight| *weight > Weight::Silent);
    let stops = commands.iter().position(stops_at_failures);
    let mut found = vec![Behind::Nothing; commands.len()];
    // What runs behind the next one if all have succeeded, and whether the status of one before may be passed on.
    let (mut chain, mut passes_on) = (Weight::Silent, false);
    for index in (0..commands.len()).rev() {
        // Behind the last sign of a line nothing may stand.
        let next = weights.get(index + 1).copied().unwrap_or(Weight::Silent);
        let is_stopping = stops.is_some_and(|at| at < index);
        chain = match commands[index].simple.then {
            Next::Pipe => chain,
            Next::And => chain.max(next),
            Next::Then if is_stopping => chain.max(next),
            Next::Then | Next::Background | Next::Or | Next::End => Weight::Silent,
        };
        found[index] = match chain {
            _ if passes_on => Behind::Nothing,
            _ if index < last && ends && !is_stopping => Behind::Apart,
            Weight::Silent => Behind::Nothing,
            // What it prints is not shown.
            Weight::Other if !commands[index].simple.outputs.is_empty() => Behind::Apart,
            Weight::Other => Behind::Others,
            Weight::Check => Behind::Checks,
        };
        passes_on |= passes_status_on(&commands[index]);
    }
    found
}

/// Where the last of the lists of commands begins that a line runs whatever came of those before.
fn last_list(commands: &[Command]) -> usize {
    let is_end = |command: &Command| matches!(command.simple.then, Next::Then | Next::Background);
    let before = &commands[..commands.len().saturating_sub(1)];
    before.iter().rposition(is_end).map_or(0, |at| at + 1)
}

/// Whether a command tells the shell to end with the first that fails.
fn stops_at_failures(command: &Command) -> bool {
    let is_flag = |flag: &String| flag == "errexit" || flag.starts_with('-') && flag.contains('e');
    matches!(&command.simple.words[..], [set, flags @ ..] if set == "set" && flags.iter().any(is_flag))
}

/// Whether a command may end the line with a status that was told before: `exit $rc`, `[ $? -eq 0 ]`, `rc=$?`.
fn passes_status_on(command: &Command) -> bool {
    const STATUSES: &[&str] = &["$?", "${?}", "PIPESTATUS", "pipestatus", "LASTEXITCODE"];
    let words = &command.simple.words;
    let ends = matches!(command.words(), [first, rest @ ..] if is_in(first, "exit return") && rest.first().is_none_or(|word| word != "0"));
    let is_told = is_in(&command.name(), "echo printf write-host write-output");
    ends || !is_told
        && words
            .iter()
            .any(|word| STATUSES.iter().any(|status| word.contains(status)))
}

#[cfg(test)]
mod tests {
    use super::Behind::{self, Apart, Checks, Nothing, Others};
    use crate::testrun::checks;
    use proptest::prelude::*;

    fn behind(line: &str) -> Vec<Behind> {
        checks(line).into_iter().map(|check| check.behind).collect()
    }

    #[test]
    fn the_status_of_a_line_that_failed_is_that_of_a_check_or_of_what_runs_behind_it() {
        for (line, expected) in [
            ("pytest", &[Nothing][..]),
            ("cd a && pytest", &[Nothing]),
            ("pytest && echo done", &[Nothing]),
            ("pytest; echo done", &[Nothing]),
            ("pytest && git push", &[Others]),
            ("pytest && git add -A && git commit -m x", &[Others]),
            ("pytest -q | tail -3 && git push", &[Others]),
            ("pytest > log && git push", &[Apart]),
            ("pytest && ruff check .", &[Checks, Nothing]),
            ("pytest && ruff check . && git push", &[Others, Others]),
            ("pytest; grep -rn TODO src", &[Apart]),
            ("pytest\ngrep -rn TODO src", &[Apart]),
            ("pytest && git push; ls", &[Apart]),
            ("pytest && git push; echo done", &[Others]),
            ("pytest; ruff check .", &[Apart, Nothing]),
            ("pytest || echo no; git push", &[Apart]),
            ("set -e; pytest; git push", &[Others]),
            ("bash -c 'cd a && pytest' && git push", &[Others]),
            ("(cd a && pytest) && git push", &[Others]),
            ("bash -c 'pytest; ls a'", &[Apart]),
            ("pytest && bash -c 'ruff check . && mypy .'", &[Checks, Checks, Nothing]),
        ] {
            assert_eq!(behind(line), expected, "{line}");
        }
    }

    #[test]
    fn who_passes_the_status_of_a_check_on_is_not_what_failed() {
        for line in [
            "pytest > log; rc=$?; tail -5 log; exit $rc",
            "pytest | tail -5; exit ${PIPESTATUS[0]}",
            "pytest; [ $? -eq 0 ] && git push",
            "pytest || exit 1; git push",
            "if ! pytest; then exit 1; fi; git push",
            "pytest | tail -5; test ${PIPESTATUS[0]} -eq 0",
        ] {
            assert_eq!(behind(line), [Nothing], "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"(pytest|make|ls|exit|set -e|\$\?|echo|if|fi|bash -c|['"(){}]|&&|\|\||[ ;|&\n]){0,30}"#) {
            behind(&line);
        }
    }
}
