//! The deeds of a turn: what was changed, run, tested and committed in it, and what was said at its end.

use super::gist::said;
use super::quotation::{harmless, quoted};
use super::{ITEM, PROMPT};
use crate::anchor;
use crate::deed::Deed;
use crate::message::{Message, Role};
use crate::outcome::{FileChange, FileState};
use crate::path;
use crate::testrun::CheckKind;
use crate::verdict::Verdict;
use std::collections::VecDeque;
use std::sync::Arc;

/// What is told of a turn of which something is still shown.
pub(super) const GOES_ON: &str = "goes on below";
/// Files of one turn that are counted.
const FILES: usize = 200;
/// Commits, and test runs with what was changed for them, of one turn that are told of: the newest.
const COMMITS: usize = 20;
const CHECKED: usize = 60;

/// What was done in a turn.
#[derive(Default)]
pub(super) struct Deeds {
    changed: Vec<Left>,
    read: Vec<Arc<str>>,
    commands: usize,
    tests: Option<Verdict>,
    build: Option<Verdict>,
    lint: Option<Verdict>,
    /// What was committed, and gone back to, with the message, counted from the first.
    pub(super) commits: VecDeque<(usize, String)>,
    /// Test runs after changes, and those that came out otherwise than the one before, with their message as above.
    pub(super) checked: VecDeque<(usize, String)>,
    /// A line of what the model said at the end.
    pub(super) said: Option<String>,
}

/// A file that was changed in a turn, as the turn has left it.
struct Left {
    path: Arc<str>,
    before: Option<FileState>,
    after: FileState,
    /// The turn has made it.
    is_made: bool,
    /// What the turn has written to it that stands, in calls, and whether it has written anything at all or taken anything
    /// back.
    writes: usize,
    is_written: bool,
    is_taken_back: bool,
}

impl Left {
    /// As it was before this, the first that was done to it.
    fn of(change: &FileChange) -> Left {
        let is_new = matches!(change.before, None | Some(FileState::Deleted));
        Left {
            path: change.path.clone(),
            before: change.before,
            after: change.after,
            is_made: is_new && change.after == FileState::Created,
            writes: 0,
            is_written: false,
            is_taken_back: false,
        }
    }

    /// Takes what was done to it next.
    fn take(&mut self, change: &FileChange) {
        self.after = change.after;
        self.writes = (self.writes + usize::from(change.is_written)).saturating_sub(change.undone);
        self.is_written |= change.is_written;
        self.is_taken_back |= change.undone > 0;
    }

    /// What is told as done to it.
    fn done(&self) -> Option<&'static str> {
        match self.after {
            FileState::Edited | FileState::Created if self.writes > 0 => Some("edited"),
            FileState::Edited | FileState::Created if self.is_taken_back => Some("reverted"),
            // What came and went in one turn is as it was.
            FileState::Deleted if !self.is_made => Some("deleted"),
            FileState::Read if self.is_written || self.before != Some(FileState::Read) => Some("reverted"),
            _ => None,
        }
    }
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
                Deed::Changed(changes) => {
                    for change in changes {
                        deeds.change(change);
                        untested.retain(|path| *path != change.path);
                        if change.is_written && untested.len() < FILES {
                            untested.push(change.path.clone());
                        }
                    }
                }
                Deed::Ran { check, is_beside } => deeds.ran(at, *check, *is_beside, &mut untested),
                Deed::Committed { words, stands: true } => {
                    keep_newest(
                        &mut deeds.commits,
                        (at, format!("committed {}", quoted(words, PROMPT))),
                        COMMITS,
                    );
                }
                Deed::Committed { .. } => {}
                Deed::Rewrote(behind) => {
                    let since = behind.iter().map(|name| format!(" since {}", harmless(name, ITEM)));
                    let told = format!("rewrote the commits{}", since.collect::<String>());
                    keep_newest(&mut deeds.commits, (at, told), COMMITS);
                }
                Deed::WentTo(name) => {
                    keep_newest(
                        &mut deeds.commits,
                        (at, format!("reset to {}", harmless(name, ITEM))),
                        COMMITS,
                    );
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

    fn change(&mut self, change: &FileChange) {
        let known = self.changed.iter().position(|left| left.path == change.path);
        let at = known.unwrap_or(self.changed.len());
        if at == FILES {
            return;
        }
        if known.is_none() {
            self.changed.push(Left::of(change));
        }
        self.changed[at].take(change);
    }

    /// What became of files, by what was done to them.
    fn files(&self) -> Vec<String> {
        let told = ["edited", "deleted", "reverted"].into_iter().map(|done| {
            let files = self.changed.iter().filter(|left| left.done() == Some(done));
            (done, told(files.map(|left| left.path.clone()).collect()))
        });
        told.filter(|(_, files)| !files.is_empty())
            .map(|(done, files)| format!("{done} {}", harmless(&anchor::names(&files), ITEM)))
            .collect()
    }

    fn ran(&mut self, at: usize, check: Option<(CheckKind, Verdict)>, is_beside: bool, untested: &mut Vec<Arc<str>>) {
        self.commands += 1;
        // What has failed in this turn and still does is not over because another one has passed.
        let so_far = |before: Option<Verdict>, verdict: Verdict| match (before, verdict) {
            (Some(Verdict::Failed), Verdict::Passed) if is_beside => Some(Verdict::Failed),
            _ => Some(verdict),
        };
        match check {
            Some((CheckKind::Test, verdict)) => {
                if let Some(outcome) = outcome(verdict)
                    && (!untested.is_empty() || self.tests != Some(verdict))
                {
                    let edited = edited(std::mem::take(untested));
                    let glue = if edited.is_empty() { "" } else { "; " };
                    keep_newest(
                        &mut self.checked,
                        (at, format!("{edited}{glue}tests {outcome}")),
                        CHECKED,
                    );
                }
                self.tests = so_far(self.tests, verdict);
            }
            Some((CheckKind::Build, verdict)) => self.build = so_far(self.build, verdict),
            Some((CheckKind::Lint, verdict)) => self.lint = so_far(self.lint, verdict),
            None => {}
        }
    }

    /// Whether something came of the turn that whoever goes on should know of: a change, a commit, a check that failed.
    pub(super) fn has_come_to_something(&self) -> bool {
        let has_failed = [self.tests, self.build, self.lint].contains(&Some(Verdict::Failed));
        has_failed || !self.commits.is_empty() || self.changed.iter().any(|left| left.done().is_some())
    }

    /// What was done in as few words as there are, what failed first.
    pub(super) fn in_short(&self) -> String {
        let mut done = self.checks();
        done.extend(self.files());
        if let Some((_, words)) = self.commits.back().filter(|_| done.is_empty()) {
            done.push(words.clone());
        }
        done.join("; ")
    }

    fn checks(&self) -> Vec<String> {
        // Tests that ran say more than a build or a lint beside them.
        let untested = |verdict: Option<Verdict>| verdict.filter(|_| self.tests.is_none());
        let checks = [
            ("tests", self.tests),
            ("build", untested(self.build)),
            ("lint", untested(self.lint)),
        ];
        let told = checks
            .into_iter()
            .filter_map(|(name, verdict)| Some((name, outcome(verdict?)?)));
        told.map(|(name, outcome)| format!("{name} {outcome}")).collect()
    }

    pub(super) fn what(&self, goes_on: bool) -> String {
        let mut what = self.files();
        if what.is_empty() && !self.read.is_empty() {
            what.push(format!("read {}", harmless(&anchor::names(&self.read), ITEM)));
        } else if what.is_empty() && self.commands > 0 && self.tests.or(self.build).or(self.lint).is_none() {
            let s = if self.commands == 1 { "" } else { "s" };
            what.push(format!("ran {} command{s}", self.commands));
        }
        what.extend(self.checks());
        if goes_on {
            what.push(GOES_ON.to_owned());
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

/// The files that have names, those that are put among temporary ones behind the others.
fn told(mut files: Vec<Arc<str>>) -> Vec<Arc<str>> {
    files.retain(|path| !path::is_open(path));
    files.sort_by_cached_key(|path| path::below_temporary(path).is_some());
    files
}

fn edited(files: Vec<Arc<str>>) -> String {
    let files = told(files);
    if files.is_empty() {
        return String::new();
    }
    format!("edited {}", harmless(&anchor::names(&files), ITEM))
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
