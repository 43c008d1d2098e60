//! What has come of a conversation, as its calls and their recorded answers state it.

use super::check::{Check, CheckKind};
use crate::message::note::Notes;
use crate::message::refusal::Refusal;
use crate::message::todo::TodoList;
use crate::message::{ActionKind, ChangeKind, ToolCall, ToolResult, values_within};
use codelet_text::short::clip_bytes;
use serde_json::Value;
use std::sync::Arc;

/// Files among which one is looked for that is touched again, the newest: older ones stand twice then.
const FILES: usize = 256;
/// Decisions that are kept, the newest; and bytes of a question or an answer.
const DECISIONS: usize = 20;
const WORDS: usize = 600;

/// What has come of a conversation so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Files that tools have read or changed, by when they were touched last, newest last.
    pub files: Vec<FileFact>,
    /// The last run of each kind of check, and of what tells how the repository stands; oldest first.
    pub checks: Vec<CheckRun>,
    /// What the user decided when asked, and the calls that the user refused and did not let be made later, newest last.
    pub decisions: Vec<Decision>,
    /// The list of what is to be done.
    pub(crate) todo: TodoList,
    /// What the model wrote down.
    pub(crate) notes: Notes,
}

/// A file that a tool has touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFact {
    /// Its path, as the last call names it.
    pub path: Arc<str>,
    /// A tool has changed it, and it was there afterwards.
    pub is_changed: bool,
    /// The same since the last commit.
    pub(crate) is_uncommitted: bool,
}

/// A run of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckRun {
    /// What it looks at.
    pub(crate) kind: CheckKind,
    /// The command line.
    pub command: Arc<str>,
    /// The recorded status: its own, or else that of the line.
    pub success: Option<bool>,
    /// It is the check's own; else it is that of what stands behind it, as in `cargo test | tail`.
    pub(crate) is_own: bool,
    /// The message with what it printed, and its part.
    pub(crate) place: (usize, usize),
    /// Changes of files since.
    pub(crate) changes_since: usize,
}

/// What the user decided when asked, or of a call that was to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What was asked, or the call.
    pub question: String,
    /// What the user said; may be empty where a call was refused.
    pub answer: String,
    /// The user has not let the call be made.
    pub is_refusal: bool,
}

impl Facts {
    /// Takes in a call with what its command line runs, and its answer, which stands at this message and part.
    pub(super) fn take(&mut self, call: &ToolCall, checks: &[Check], result: &ToolResult, place: (usize, usize)) {
        if let Some(refusal) = &result.refusal {
            if let Refusal::User(words) = refusal {
                self.decide(described(call), words, true);
            }
            return;
        }
        let action = &call.action;
        if result.success != Some(false) {
            self.settle(call);
        }
        match action.kind {
            ActionKind::Todo if result.success != Some(false) => self.todo.take(&call.parameters),
            ActionKind::Note if result.success != Some(false) => self.notes.take(&call.parameters),
            ActionKind::Ask if result.success != Some(false) => {
                let answer = result
                    .texts()
                    .map(|text| text.body.as_str())
                    .find(|text| !text.trim().is_empty());
                self.decide(asked(call), answer.unwrap_or_default(), false);
            }
            ActionKind::Read | ActionKind::Change if result.success != Some(false) => match action.kind {
                ActionKind::Change => self.changed(&action.paths, action.change != ChangeKind::Removes),
                _ => action.paths.iter().for_each(|path| self.touch(path, false)),
            },
            ActionKind::Command => {
                if result.success != Some(false) && !action.paths.is_empty() {
                    self.changed(&action.paths, true);
                }
                let line = action.command.as_ref().map_or("", |command| command.as_str());
                for check in checks {
                    let own = check.own_success(result);
                    if check.kind == CheckKind::Commit && own.or(result.success) != Some(false) {
                        self.files.iter_mut().for_each(|file| file.is_uncommitted = false);
                        // What git said before of what is committed holds no more.
                        let holds = |run: &CheckRun| run.kind != CheckKind::Status || run.place == place;
                        self.checks.retain(holds);
                    }
                    self.checks.retain(|other| other.kind != check.kind);
                    self.checks.push(CheckRun {
                        kind: check.kind,
                        command: line.into(),
                        success: own.or(result.success),
                        is_own: match result.success {
                            _ if own.is_some() => true,
                            Some(true) => check.succeeds_with_line,
                            _ => check.fails_with_line,
                        },
                        place,
                        changes_since: 0,
                    });
                }
            }
            _ => {}
        }
    }

    /// What the user refused and let be made after all, is refused no more; what is asked for approval, whatever it proposes now.
    fn settle(&mut self, call: &ToolCall) {
        if !self.decisions.iter().any(|decision| decision.is_refusal) {
            return;
        }
        let made = described(call);
        let tool = |described: &str| described.split(' ').next().map(str::to_owned);
        let is_made = |refused: &str| match call.action.kind {
            ActionKind::Ask => tool(refused) == tool(&made),
            _ => refused == clip_bytes(&made, WORDS),
        };
        self.decisions
            .retain(|decision| !decision.is_refusal || !is_made(&decision.question));
    }

    /// Files were changed, and are there afterwards or not.
    fn changed(&mut self, paths: &[Arc<str>], are_there: bool) {
        self.checks.iter_mut().for_each(|check| check.changes_since += 1);
        for path in paths {
            self.touch(path, are_there);
            if let Some(file) = self.files.last_mut().filter(|_| !are_there) {
                (file.is_changed, file.is_uncommitted) = (false, false);
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
            is_uncommitted: is_changed || before.is_some_and(|before| before.is_uncommitted),
        });
    }

    fn decide(&mut self, question: String, answer: &str, is_refusal: bool) {
        if self.decisions.len() == DECISIONS {
            self.decisions.remove(0);
        }
        self.decisions.push(Decision {
            question: clip_bytes(&question, WORDS).into_owned(),
            answer: clip_bytes(answer.trim(), WORDS).into_owned(),
            is_refusal,
        });
    }
}

/// What the user is asked: the questions of a call, or its longest text.
fn asked(call: &ToolCall) -> String {
    let map = call.parameters.as_map();
    let of = |value: &Value| value.get("question").and_then(Value::as_str).map(str::to_owned);
    if let Some(Value::Array(questions)) = map.get("questions") {
        return questions.iter().filter_map(of).collect::<Vec<_>>().join(" / ");
    }
    let texts = values_within(map).filter_map(Value::as_str);
    texts.max_by_key(|text| text.len()).unwrap_or_default().to_owned()
}

/// A call in a line: the tool with what it was to run or to change.
fn described(call: &ToolCall) -> String {
    let about = call.action.command.as_ref().map(|command| command.as_str());
    let about = about.or_else(|| call.action.paths.first().map(|path| &**path));
    let about = about.or_else(|| call.parameters.as_map().values().find_map(Value::as_str));
    let tool = crate::message::cut::plain_name(&call.tool);
    match about {
        Some(about) => format!("{tool} {}", about.trim()),
        None => tool,
    }
}
