//! The deeds of a turn: what was changed, run, tested and committed in it, and what was said at its end.

use super::ITEM;
use super::gist::said;
use super::quotation::harmless;
use crate::anchor;
use crate::deed::Deed;
use crate::message::{Message, Role};
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
    lint: Option<Verdict>,
    /// With the message, counted from the first.
    pub(super) commits: VecDeque<(usize, String)>,
    /// Test runs after changes, and those that came out otherwise than the one before, with their message as above.
    pub(super) checked: VecDeque<(usize, String)>,
    /// A line of what the model said at the end.
    pub(super) said: Option<String>,
}

impl Deeds {
    /// Of the messages from this one on, whose deeds these are.
    pub(super) fn of(messages: &[Arc<Message>], start: usize, done: &[(usize, Deed)]) -> Deeds {
        let mut deeds = Deeds::default();
        let mut untested: Vec<Arc<str>> = Vec::new();
        for (at, deed) in done {
            let at = at - start;
            match deed {
                Deed::Read(files) => note(&mut deeds.read, files),
                Deed::Changed(files) => {
                    note(&mut deeds.changed, files);
                    note(&mut untested, files);
                }
                Deed::Ran { check, commit } => {
                    deeds.ran(at, *check, &mut untested);
                    if let Some(words) = commit {
                        keep_newest(&mut deeds.commits, (at, words.clone()), COMMITS);
                    }
                }
            }
        }
        // Only the last words: earlier ones announce what is told of as done.
        let last = messages
            .last()
            .filter(|message| message.role == Role::Assistant && message.calls().next().is_none());
        deeds.said = last.and_then(|message| said(message));
        deeds
    }

    fn ran(&mut self, at: usize, check: Option<(CheckKind, Verdict)>, untested: &mut Vec<Arc<str>>) {
        self.commands += 1;
        match check {
            Some((CheckKind::Test, verdict)) => {
                if let Some(outcome) = outcome(verdict)
                    && (!untested.is_empty() || self.tests != Some(verdict))
                {
                    let edited = edited(&std::mem::take(untested));
                    let glue = if edited.is_empty() { "" } else { "; " };
                    keep_newest(
                        &mut self.checked,
                        (at, format!("{edited}{glue}tests {outcome}")),
                        CHECKED,
                    );
                }
                self.tests = Some(verdict);
            }
            Some((CheckKind::Build, verdict)) => self.build = Some(verdict),
            Some((CheckKind::Lint, verdict)) => self.lint = Some(verdict),
            None => {}
        }
    }

    pub(super) fn what(&self, goes_on: bool) -> String {
        let mut what = Vec::new();
        if !self.changed.is_empty() {
            what.push(edited(&self.changed));
        } else if !self.read.is_empty() {
            what.push(format!("read {}", harmless(&anchor::names(&self.read), ITEM)));
        } else if self.commands > 0 && self.tests.or(self.build).or(self.lint).is_none() {
            let s = if self.commands == 1 { "" } else { "s" };
            what.push(format!("ran {} command{s}", self.commands));
        }
        // Tests that ran say more than a build or a lint beside them.
        let untested = |verdict: Option<Verdict>| verdict.filter(|_| self.tests.is_none());
        let checks = [
            ("tests", self.tests),
            ("build", untested(self.build)),
            ("lint", untested(self.lint)),
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
