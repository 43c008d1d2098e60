//! Failures inside a pipeline: a shell reports only the status of its last command, so `pytest | tail` succeeds.

use super::check::{commands_of_last_pipeline, program};
use crate::message::BROKEN_PIPE;
use std::sync::Arc;

/// A command of a pipeline that failed, although it was not the last one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedInPipe {
    /// The name of its program; `None` if the command line does not tell.
    pub program: Option<Arc<str>>,
    /// Its exit status.
    pub status: u8,
}

/// Returns the commands before the last one that failed, in order, from the command line and the exit statuses of its
/// last pipeline (`PIPESTATUS` in bash). A command whose reader had read enough has not failed.
pub fn failed(line: &str, statuses: &[u8]) -> Vec<FailedInPipe> {
    let Some((_, before)) = statuses.split_last() else {
        return Vec::new();
    };
    let has_failed = |status: u8| status != 0 && status != BROKEN_PIPE;
    if !before.iter().any(|status| has_failed(*status)) {
        return Vec::new();
    }
    let commands = commands_of_last_pipeline(line);
    let is_same = commands.len() == statuses.len();
    let failed = before.iter().enumerate().filter(|(_, status)| has_failed(**status));
    failed
        .map(|(at, status)| FailedInPipe {
            program: commands.get(at).filter(|_| is_same).and_then(|words| name(words)),
            status: *status,
        })
        .collect()
}

/// The name of a command's program, if its first word is one and not a part of the shell's grammar.
fn name(words: &[String]) -> Option<Arc<str>> {
    const GRAMMAR: [&str; 4] = ["done", "fi", "esac", "then"];
    let (name, _) = program(words)?;
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte));
    (is_name && !GRAMMAR.contains(&name)).then(|| name.into())
}

/// Returns the failures in one line: `pytest: exit 1`. Empty if there are none.
pub fn told(failed: &[FailedInPipe]) -> String {
    let each: Vec<String> = failed
        .iter()
        .map(|FailedInPipe { program, status }| match program {
            Some(program) => format!("{program}: exit {status}"),
            None => format!("exit {status} in the pipe"),
        })
        .collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_in_a_pipe_is_named_where_the_line_tells() {
        for (line, statuses, expected) in [
            ("pytest -q 2>&1 | tail -5", &[1, 0][..], "pytest: exit 1"),
            (
                "cd a && CI=1 /usr/bin/python3 -m pytest | tee log | tail",
                &[2, 0, 0],
                "python3: exit 2",
            ),
            ("false | grep x | wc -l", &[1, 1, 0], "false: exit 1, grep: exit 1"),
            // The last status is that of the line, and `yes` only had no reader any more.
            ("yes | head -1", &[141, 0], ""),
            ("true | false", &[0, 1], ""),
            ("cargo test", &[], ""),
            // A loop and a group.
            ("pytest <<E | tail\nE", &[1, 0], "pytest: exit 1"),
            ("for x in a b; do ./x; done | tail", &[3, 0], "exit 3 in the pipe"),
            ("(cd a; make) | tail", &[2, 0], "exit 2 in the pipe"),
        ] {
            assert_eq!(told(&failed(line, statuses)), expected, "{line}");
        }
    }
}
