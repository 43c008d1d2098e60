//! What is checked while the work is put aside: of the work itself it says nothing.
//!
//! Who stashes what was changed, runs a check and fetches it again compares with how it was before. Where the work is not
//! fetched again, it goes on with the next change from what is there then.

use super::Line;
use crate::answer::{is_done, was_refused};
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::wrapped::{base, first_word, is_in};

/// What a command does to the work as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stash {
    /// It is put aside.
    Away,
    /// It is there again, or is given up.
    Back,
}

impl Stash {
    /// What a command without its wrappers does, if it is one that does.
    pub fn of(words: &[String]) -> Option<Stash> {
        let (git, rest) = words.split_first()?;
        let (verb, rest) = first_word(rest, "-C -c --git-dir --work-tree")?;
        if base(git) != "git" || verb != "stash" {
            return None;
        }
        match rest.iter().map(String::as_str).find(|word| !word.starts_with('-')) {
            // What is about to be committed stays, or what somebody chooses.
            None | Some("push" | "save") if rest.iter().any(|word| is_in(word, PARTS)) => None,
            None | Some("push" | "save") => Some(Stash::Away),
            Some("pop" | "apply" | "branch" | "drop" | "clear") => Some(Stash::Back),
            Some(_) => None,
        }
    }
}

/// The options by which not all is put aside that was changed.
const PARTS: &str = "-k --keep-index -S --staged -p --patch";

/// Whether the work is put aside, call by call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aside {
    is_away: bool,
}

impl Aside {
    /// Takes a call with its answer, and gives the checks of its line that ran while the work was put aside, by their number.
    pub fn take(&mut self, call: &ToolCall, result: &ToolResult, line: Option<&Line>) -> Vec<usize> {
        let Some(line) = line else {
            self.is_away &= call.action.kind != ActionKind::Change || !is_done(call.action.kind, result);
            return Vec::new();
        };
        if line.stashes.is_empty() && !self.is_away || was_refused(result) {
            return Vec::new();
        }
        if line.stashes.is_empty() && result.success != Some(false) && !call.action.changed().is_empty() {
            self.is_away = false;
            return Vec::new();
        }
        let says = |signs: &[&str]| {
            let mut lines = result.texts().flat_map(|text| text.body.as_str().lines());
            lines.any(|line| signs.iter().any(|sign| line.trim_start().starts_with(sign)))
        };
        // A program that is tested may say so, too: then less is told.
        let is_nothing = says(&["No local changes to save", "fatal: "]);
        let is_kept = says(&["The stash entry is kept", "error: could not restore untracked"]);
        let mut aside = Vec::new();
        let mut stashes = line.stashes.iter().peekable();
        for at in 0..=line.checks.len() {
            while let Some((_, stash)) = stashes.next_if(|(before, _)| *before <= at) {
                self.is_away = match stash {
                    Stash::Away => self.is_away || !is_nothing,
                    Stash::Back => self.is_away && is_kept,
                };
            }
            if self.is_away && at < line.checks.len() {
                aside.push(at);
            }
        }
        aside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Action;
    use proptest::prelude::*;

    const CHANGE: &str = "(change)";

    /// Of each line in turn, the checks that say something of the work.
    fn told(lines: &[(&str, &str)]) -> Vec<String> {
        let mut aside = Aside::default();
        let mut told = Vec::new();
        for (line, output) in lines {
            let action = match *line {
                CHANGE => Action::on(ActionKind::Change, ["a.rs"]),
                line => Action::command(line),
            };
            let read = action.command.as_ref().map(|line| line.said().clone());
            let call = ToolCall::new("1", "t", serde_json::Map::new()).doing(action);
            let dropped = aside.take(&call, &ToolResult::new("1", Some(true), *output), read.as_deref());
            let checks = read.iter().flat_map(|line| line.checks.iter().enumerate());
            let left = checks.filter(|(at, _)| !dropped.contains(at));
            told.extend(left.map(|(_, check)| check.name.clone()));
        }
        told
    }

    const SAVED: &str = "Saved working directory and index state WIP on main: 1 a";
    const NONE: [&str; 0] = [];

    #[test]
    fn what_is_checked_between_putting_aside_and_fetching_says_nothing() {
        for line in [
            "git stash && npm test; git stash pop",
            "git stash -u && npm run lint 2>&1 | tail -5; git stash pop",
            "git stash push -m wip && make test && git stash pop",
            "git -C /w stash && cargo test; git -C /w stash apply",
            "cd a && git stash -q && pytest; git stash pop -q",
            "git stash; bash -c 'pytest -q'; git stash pop",
            "git stash && git checkout main && pytest; git checkout - && git stash pop",
        ] {
            assert_eq!(told(&[(line, SAVED)]), NONE, "{line}");
        }
        assert_eq!(
            told(&[("pytest; git stash; cargo test; git stash pop; go test", SAVED)]),
            ["pytest", "go test"]
        );
        assert_eq!(
            told(&[
                ("git stash", SAVED),
                ("npm test", "4 passed"),
                ("git stash pop", ""),
                ("npm test", "")
            ]),
            ["npm test"]
        );
        assert_eq!(told(&[("git stash", SAVED), ("npm test; git stash pop", "")]), NONE);
    }

    #[test]
    fn what_is_checked_otherwise_is_told() {
        for line in [
            "git stash list && npm test",
            "git stash show -p; npm test",
            "git stash -k && npm test; git stash pop",
            "git stash pop && npm test",
            "npm test && git stash",
            "echo git stash && npm test",
            "git diff --quiet || git stash; npm test",
            "ssh host git stash; npm test",
        ] {
            assert_eq!(told(&[(line, "")]), ["npm test"], "{line}");
        }
        // Nothing was there to be put aside, or it could not be.
        for output in ["No local changes to save", "fatal: not a git repository"] {
            assert_eq!(
                told(&[("git stash", output), ("npm test", "")]),
                ["npm test"],
                "{output}"
            );
        }
    }

    #[test]
    fn work_goes_on_with_the_next_change_or_where_it_was_given_up() {
        for line in [
            CHANGE,
            "git stash drop",
            "git stash clear",
            "git stash pop",
            "sed -i s/a/b/ a.rs",
        ] {
            let lines = [("git stash", SAVED), ("pytest", ""), (line, ""), ("npm test", "")];
            assert_eq!(told(&lines), ["npm test"], "{line}");
        }
        let lines = [
            ("git stash", SAVED),
            (
                "git stash pop",
                "CONFLICT (content): a\nThe stash entry is kept in case you need it again.",
            ),
            ("npm test", ""),
        ];
        assert_eq!(told(&lines), NONE);
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r"(git stash|git stash pop|pytest|make| \|\| | && |; |\(|\)|bash -c '|'){0,20}", output in r"(\PC|fatal: |\n){0,10}") {
            told(&[(&line, &output), ("pytest", ""), (&line, "")]);
        }
    }
}
