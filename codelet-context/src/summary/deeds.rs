//! The deeds of a turn: what was changed, run, tested and committed in it, and what was said at its end.

use super::ITEM;
use super::gist::said;
use super::quotation::harmless;
use crate::anchor;
use crate::answer::{is_done, was_refused};
use crate::exchange::Exchanges;
use crate::ledger::Ran;
use crate::message::{ActionKind, Message, Role};
use crate::shell;
use crate::testrun::CheckKind;
use crate::verdict::Verdict;
use std::collections::VecDeque;
use std::sync::Arc;

/// Files of one turn that are counted.
const FILES: usize = 200;
/// Commits, and test runs with what was changed for them, of one turn that are told of: the newest.
const COMMITS: usize = 20;
const CHECKED: usize = 60;

/// What was done in a turn.
#[derive(Default)]
pub(super) struct Deeds {
    changed: Vec<Arc<str>>,
    read: Vec<Arc<str>>,
    commands: usize,
    tests: Option<Verdict>,
    build: Option<Verdict>,
    /// With the message, counted from the first.
    pub(super) commits: VecDeque<(usize, String)>,
    /// Test runs after changes, and those that came out otherwise than the one before, with their message as above.
    pub(super) checked: VecDeque<(usize, String)>,
    /// A line of what the model said at the end.
    pub(super) said: Option<String>,
}

impl Deeds {
    pub(super) fn of(messages: &[Arc<Message>]) -> Deeds {
        let mut deeds = Deeds::default();
        let mut exchanges = Exchanges::default();
        let mut untested: Vec<Arc<str>> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            exchanges.next(message, |call, result| {
                let action = &call.action;
                if action.kind == ActionKind::Read && is_done(action.kind, result) {
                    note(&mut deeds.read, &action.paths);
                }
                if !action.changed().is_empty() && is_done(action.kind, result) {
                    note(&mut deeds.changed, action.changed());
                    note(&mut untested, action.changed());
                }
                if was_refused(result) {
                    return;
                }
                let Some(ran) = Ran::of(call, result) else { return };
                deeds.commands += 1;
                match ran.last_check() {
                    Some((check, verdict)) if check.kind == CheckKind::Test => {
                        if let Some(outcome) = outcome(verdict)
                            && (!untested.is_empty() || deeds.tests != Some(verdict))
                        {
                            let edited = edited(&std::mem::take(&mut untested));
                            let glue = if edited.is_empty() { "" } else { "; " };
                            keep_newest(
                                &mut deeds.checked,
                                (at, format!("{edited}{glue}tests {outcome}")),
                                CHECKED,
                            );
                        }
                        deeds.tests = Some(verdict);
                    }
                    Some((_, verdict)) => deeds.build = Some(verdict),
                    None => {}
                }
                if result.success != Some(false)
                    && let Some(words) = action.command.as_deref().and_then(commit)
                {
                    keep_newest(&mut deeds.commits, (at, words), COMMITS);
                }
            });
        }
        // Only the last words: earlier ones announce what is told of as done.
        let last = messages
            .last()
            .filter(|message| message.role == Role::Assistant && message.calls().next().is_none());
        deeds.said = last.and_then(|message| said(message));
        deeds
    }

    pub(super) fn what(&self, goes_on: bool) -> String {
        let mut what = Vec::new();
        if !self.changed.is_empty() {
            what.push(edited(&self.changed));
        } else if !self.read.is_empty() {
            what.push(format!("read {}", harmless(&anchor::names(&self.read), ITEM)));
        } else if self.commands > 0 && self.tests.or(self.build).is_none() {
            let s = if self.commands == 1 { "" } else { "s" };
            what.push(format!("ran {} command{s}", self.commands));
        }
        // Tests that ran say more than a build that went before them.
        let checks = [
            ("tests", self.tests),
            ("build", self.build.filter(|_| self.tests.is_none())),
        ];
        for (name, verdict) in checks {
            if let Some(outcome) = verdict.and_then(outcome) {
                what.push(format!("{name} {outcome}"));
            }
        }
        if goes_on {
            what.push("goes on below".to_owned());
        }
        what.join("; ")
    }
}

fn outcome(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Passed => Some("passed"),
        Verdict::Failed => Some("failed"),
        Verdict::Unknown => None,
    }
}

fn edited(files: &[Arc<str>]) -> String {
    if files.is_empty() {
        return String::new();
    }
    format!("edited {}", harmless(&anchor::names(files), ITEM))
}

fn note(files: &mut Vec<Arc<str>>, more: &[Arc<str>]) {
    for path in more {
        if !files.contains(path) && files.len() < FILES {
            files.push(path.clone());
        }
    }
}

fn keep_newest<T>(kept: &mut VecDeque<T>, new: T, most: usize) {
    if kept.len() == most {
        kept.pop_front();
    }
    kept.push_back(new);
}

/// The first line of the message that a command commits with.
fn commit(line: &str) -> Option<String> {
    if !line.contains("commit") {
        return None;
    }
    let commands = shell::commands(line);
    commands.iter().find_map(|command| {
        let words = &command.words;
        let is_commit = words.first().is_some_and(|first| first == "git") && words.iter().any(|word| word == "commit");
        let at = words
            .iter()
            .position(|word| matches!(word.as_str(), "-m" | "-am" | "--message"))?;
        let message = words.get(at + 1).filter(|_| is_commit)?;
        let mut lines = message.lines();
        // `-m "$(cat <<'EOF' …)"`: the message stands in the lines behind.
        let first = lines.find(|line| !line.trim().is_empty() && !line.trim_start().starts_with("$("))?;
        Some(first.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_by_its_message() {
        let table = [
            ("git commit -m 'one\ntwo'", Some("one")),
            ("git add -A && git -C x commit -am one", Some("one")),
            ("git commit -m \"$(cat <<'EOF'\none\n\ntwo\nEOF\n)\"", Some("one")),
            ("echo git commit -m one", None),
            ("git log", None),
        ];
        for (line, expected) in table {
            assert_eq!(commit(line).as_deref(), expected, "{line}");
        }
    }
}
