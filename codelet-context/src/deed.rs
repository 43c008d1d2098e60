//! What a call has done, once it was answered.

use crate::answer::{has_done, was_refused};
use crate::ledger::Ran;
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::outcome::FileChange;
use crate::testrun::CheckKind;
use crate::verdict::Verdict;
use std::sync::Arc;

/// One thing that a call has done.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Files were read.
    Read(Vec<Arc<str>>),
    /// Files were changed, made, taken away or put back.
    Changed(Vec<FileChange>),
    /// A command was run.
    Ran {
        /// The check that tells what came of it.
        check: Option<(CheckKind, Verdict)>,
        /// Another one of its kind fails behind it.
        is_beside: bool,
    },
    /// Something was committed, with this first line of its message.
    Committed {
        /// The line.
        words: String,
        /// No later command has taken it back, or put another in its place.
        stands: bool,
    },
    /// The newest commit was made to be this one, and nobody knows which of those above still stand.
    WentTo(String),
    /// The commits behind this one were written anew, if it is known, and nobody knows which of those above still stand.
    Rewrote(Option<String>),
}

impl Deed {
    /// What a call has done by its answer, in the order in which it is told; `ran` is how its command was read,
    /// `changes` what has become of files by it, and `fails` says which checks fail by now.
    pub(crate) fn of(
        call: &ToolCall,
        result: &ToolResult,
        ran: Option<&Ran>,
        changes: Vec<FileChange>,
        fails: impl Fn(CheckKind) -> bool,
    ) -> impl Iterator<Item = Deed> {
        let action = &call.action;
        let is_done = has_done(action, result);
        let read = (action.kind == ActionKind::Read && is_done).then(|| Deed::Read(action.paths.clone()));
        let changed = (!changes.is_empty()).then_some(Deed::Changed(changes));
        let ran = ran.filter(|_| !was_refused(result)).map(|ran| {
            let check = ran.last_check().map(|(check, verdict)| (check.kind, verdict));
            Deed::Ran {
                check,
                is_beside: check.is_some_and(|(kind, _)| fails(kind)),
            }
        });
        [read, changed, ran].into_iter().flatten()
    }
}
