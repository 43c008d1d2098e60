//! Facts about a conversation, as stated by its calls and their recorded results.

use super::check::{self, Check, CheckKind};
use crate::message::note::Notes;
use crate::message::refusal::RefusedBy;
use crate::message::todo::TodoList;
use crate::message::{ActionKind, ChangeKind, ToolCall, ToolResult};
use codelet_text::short::clip_bytes;
use serde_json::Value;
use std::sync::Arc;

/// The number of newest files that are searched for a touched path; an older one is listed twice.
const FILES: usize = 256;
/// The number of newest refusals that are kept, and the maximum bytes of a call or of the user's words.
const REFUSALS: usize = 20;
const WORDS: usize = 600;

/// The facts about a conversation so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Files that tools have read or changed, by last touch, newest last.
    pub files: Vec<FileFact>,
    /// The last run of each kind of check, git status included, and a later one without a recorded result; oldest first.
    pub checks: Vec<CheckRun>,
    /// The files of the last failed change, if no change has succeeded since, and no commit.
    pub(crate) unchanged: Vec<Arc<str>>,
    /// True if a commit was made.
    pub(crate) has_commit: bool,
    /// The calls that the user refused and did not permit later, newest last.
    pub refusals: Vec<RefusedCall>,
    /// The to-do list.
    pub(crate) todo: TodoList,
    /// The model's notes.
    pub(crate) notes: Notes,
}

/// A file that a tool has touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFact {
    /// Its path, as the last call names it.
    pub path: Arc<str>,
    /// True if a tool has changed it and it existed afterwards.
    pub is_changed: bool,
    /// The number of changes to it since the last commit.
    pub(crate) edits: usize,
}

/// A run of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckRun {
    /// The kind of check.
    pub(crate) kind: CheckKind,
    /// The command line.
    pub command: Arc<str>,
    /// The recorded status: the check's own, or else that of the command line.
    pub success: Option<bool>,
    /// True if its result was recorded; otherwise it may have run or not, and the run before it is in the list, too.
    pub(crate) is_recorded: bool,
    /// True if `success` is the check's own status; false if it is that of a later command, as in `cargo test | tail`.
    pub(crate) is_own: bool,
    /// True if an earlier command of the line may have kept it from running.
    pub(crate) may_not_have_run: bool,
    /// The message and part with its output.
    pub(crate) place: (usize, usize),
    /// The number of file changes since.
    pub(crate) changes_since: usize,
}

impl CheckRun {
    /// The run of a check by this call, with its result at this message and part.
    fn of(check: Check, call: &ToolCall, result: &ToolResult, place: (usize, usize)) -> Self {
        let own = check.success(result);
        CheckRun {
            kind: check.kind,
            command: call.action.command.as_deref().unwrap_or_default().into(),
            success: own.or(result.success),
            is_recorded: true,
            is_own: own.is_some(),
            may_not_have_run: own.is_none() && result.success != Some(true) && !check.surely_runs,
            place,
            changes_since: 0,
        }
    }
}

/// A call that the user refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedCall {
    /// The call in one line.
    pub call: String,
    /// The user's words; may be empty.
    pub words: String,
}

impl Facts {
    /// Records a call with its checks and its result, which is at this message and part.
    pub(super) fn take(&mut self, call: &ToolCall, checks: &[Check], result: &ToolResult, place: (usize, usize)) {
        if let Some(refusal) = &result.refusal {
            if let RefusedBy::User(words) = refusal {
                self.refused(described(call), words);
            }
            return;
        }
        let action = &call.action;
        if result.is_unanswered() {
            for check in checks {
                self.ran(CheckRun {
                    is_recorded: false,
                    success: None,
                    ..CheckRun::of(*check, call, result, place)
                });
            }
            return;
        }
        let has_failed = result.success == Some(false);
        if !has_failed {
            self.settle(call);
        }
        match action.kind {
            ActionKind::Change if has_failed => self.unchanged.clone_from(&action.paths),
            _ if has_failed && action.kind != ActionKind::Command => {}
            ActionKind::Todo => {
                let answer = result.texts().next().map_or("", |text| text.body.as_str());
                self.todo.take(&call.parameters, answer);
            }
            ActionKind::Note => self.notes.take(&call.parameters),
            ActionKind::Read => action.paths.iter().for_each(|path| self.touch(path, false)),
            ActionKind::Change => self.changed(&action.paths, action.change != ChangeKind::Removes),
            ActionKind::Command => {
                if !has_failed && !action.paths.is_empty() {
                    self.changed(&action.paths, true);
                }
                for check in checks {
                    let own = check.success(result);
                    let is_made = || {
                        result
                            .texts()
                            .any(|text| text.body.as_str().lines().any(check::is_commit))
                    };
                    if check.kind == CheckKind::Commit && own.unwrap_or_else(is_made) {
                        self.has_commit = true;
                        self.unchanged.clear();
                        self.files.iter_mut().for_each(|file| file.edits = 0);
                        // An earlier git status of the committed files no longer holds.
                        let holds = |run: &CheckRun| run.kind != CheckKind::Status || run.place == place;
                        self.checks.retain(holds);
                    }
                    self.ran(CheckRun::of(*check, call, result, place));
                }
            }
            _ => {}
        }
    }

    /// Records a run in place of the last one of its kind; beside it, if its result was not recorded.
    fn ran(&mut self, run: CheckRun) {
        let stays = |other: &CheckRun| other.kind != run.kind || other.is_recorded && !run.is_recorded;
        self.checks.retain(stays);
        self.checks.push(run);
    }

    /// Drops refusals that the user has since reversed: of the same call, or of any request for approval with the same
    /// tool, whatever it proposes now.
    fn settle(&mut self, call: &ToolCall) {
        if self.refusals.is_empty() {
            return;
        }
        let made = described(call);
        let tool = |described: &str| described.split(' ').next().map(str::to_owned);
        let is_made = |refused: &str| match call.action.kind {
            ActionKind::Ask => tool(refused) == tool(&made),
            _ => refused == clip_bytes(&made, WORDS),
        };
        self.refusals.retain(|refusal| !is_made(&refusal.call));
    }

    /// Records that files were changed, and whether they exist afterwards.
    fn changed(&mut self, paths: &[Arc<str>], are_there: bool) {
        self.unchanged.clear();
        self.checks.iter_mut().for_each(|check| check.changes_since += 1);
        for path in paths {
            self.touch(path, are_there);
            if let Some(file) = self.files.last_mut().filter(|_| !are_there) {
                (file.is_changed, file.edits) = (false, 0);
            }
        }
    }

    fn touch(&mut self, path: &Arc<str>, is_changed: bool) {
        let recent = self.files.len().saturating_sub(FILES);
        let known = self.files[recent..].iter().position(|file| file.path == *path);
        let before = known.map(|at| self.files.remove(recent + at));
        self.files.push(FileFact {
            path: path.clone(),
            is_changed: is_changed || before.as_ref().is_some_and(|before| before.is_changed),
            edits: usize::from(is_changed) + before.map_or(0, |before| before.edits),
        });
    }

    fn refused(&mut self, call: String, words: &str) {
        if self.refusals.len() == REFUSALS {
            self.refusals.remove(0);
        }
        self.refusals.push(RefusedCall {
            call: clip_bytes(&call, WORDS).into_owned(),
            words: clip_bytes(words.trim(), WORDS).into_owned(),
        });
    }
}

/// Describes a call in one line: the tool with its command, path or first text.
fn described(call: &ToolCall) -> String {
    let about = call.action.command.as_deref();
    let about = about.or_else(|| call.action.paths.first().map(|path| &**path));
    let about = about.or_else(|| call.parameters.as_map().values().find_map(Value::as_str));
    let tool = crate::message::cut::plain_name(&call.tool);
    match about {
        Some(about) => format!("{tool} {}", about.trim()),
        None => tool,
    }
}
