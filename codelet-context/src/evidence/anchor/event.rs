//! The effects of calls, as far as they show whether something was finished.

use crate::evidence::check::{Check, CheckKind, passed};
use crate::message::{ActionKind, ToolCall, ToolResult};
use std::sync::Arc;

/// The effect of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// Files were changed, with their paths if they are known.
    Changed(Vec<Arc<str>>),
    /// A test run succeeded.
    TestsPassed,
    /// Another check succeeded.
    BuildPassed,
    /// A check failed.
    CheckFailed(FailureKind),
    /// Something else succeeded or failed.
    Other { success: bool },
}

/// The failure before a change of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailureKind {
    Build,
    Tests,
    /// Some other command or tool.
    Other,
}

/// The effects of a call, by its recorded status; `checks` are the checks of its command line.
pub(crate) fn weigh(call: &ToolCall, checks: &[Check], result: &ToolResult) -> [Option<Event>; 2] {
    let action = &call.action;
    // A call that never ran has not failed, and a failed change breaks nothing: everything is unchanged.
    let has_changed =
        result.success != Some(false) && (action.kind == ActionKind::Change || !action.changed().is_empty());
    match result.refusal.is_some() {
        true => [None, None],
        false => [
            has_changed.then(|| Event::Changed(action.paths.clone())),
            outcome(call, checks, result),
        ],
    }
}

/// The effect of a call apart from file changes.
fn outcome(call: &ToolCall, checks: &[Check], result: &ToolResult) -> Option<Event> {
    let action = &call.action;
    let other = || result.success.map(|success| Event::Other { success });
    match action.kind {
        ActionKind::Command => {
            let Some(&check) = checks.iter().find(|check| check.kind.judges()) else {
                return other();
            };
            let is_test = check.kind == CheckKind::Test;
            match passed(check, result)? {
                true if is_test => Some(Event::TestsPassed),
                true => Some(Event::BuildPassed),
                false if is_test => Some(Event::CheckFailed(FailureKind::Tests)),
                false => Some(Event::CheckFailed(FailureKind::Build)),
            }
        }
        ActionKind::Other => other(),
        _ => None,
    }
}
