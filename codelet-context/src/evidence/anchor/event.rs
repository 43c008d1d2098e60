//! The effects of calls, as far as they show whether something was finished.

use crate::evidence::check::{Check, CheckKind, passed};
use crate::message::{ActionKind, ToolCall, ToolResult};
use std::sync::Arc;

/// The effect of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// Files were changed, with their paths if they are known.
    Changed(Vec<Arc<str>>),
    /// Something was run, and succeeded or failed.
    Ran { kind: RunKind, success: bool },
}

/// The kinds of runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunKind {
    Tests,
    /// A build or another check.
    Build,
    /// Some other command or tool.
    Other,
}

/// The effects of a call, by its recorded status; `checks` are the checks of its command line.
pub(crate) fn weigh(call: &ToolCall, checks: &[Check], result: &ToolResult) -> [Option<Event>; 2] {
    let action = &call.action;
    // A call that never ran, or may not have run, has not failed, and a failed change breaks nothing: everything is unchanged.
    let has_changed =
        result.success != Some(false) && (action.kind == ActionKind::Change || !action.changed().is_empty());
    match result.refusal.is_some() || result.is_unanswered() {
        true => [None, None],
        false => [
            has_changed.then(|| Event::Changed(action.paths.clone())),
            outcome(call, checks, result),
        ],
    }
}

/// The effect of a call apart from file changes.
fn outcome(call: &ToolCall, checks: &[Check], result: &ToolResult) -> Option<Event> {
    let check = match call.action.kind {
        ActionKind::Command => checks.iter().find(|check| check.kind.judges()),
        ActionKind::Other => None,
        _ => return None,
    };
    let (kind, success) = match check {
        Some(check) if check.kind == CheckKind::Test => (RunKind::Tests, passed(*check, result)),
        Some(check) => (RunKind::Build, passed(*check, result)),
        None => (RunKind::Other, result.success),
    };
    success.map(|success| Event::Ran { kind, success })
}
