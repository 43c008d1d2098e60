//! What a call came to, as far as it tells whether something was finished.

use crate::evidence::check::{Check, CheckKind, passed};
use crate::message::{ActionKind, ToolCall, ToolResult};
use std::sync::Arc;

/// What a call came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// Files were changed, these if they are named.
    Changed(Vec<Arc<str>>),
    /// A test run succeeded.
    TestsPassed,
    /// Another check succeeded.
    BuildPassed,
    /// A check failed.
    CheckFailed { is_test: bool, failure: Failure },
    /// Something else succeeded or failed.
    Other { success: bool },
}

/// What had failed before files were changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    Build,
    Tests,
    /// Some other command or tool.
    Other,
}

/// What a call came to, by its recorded status; these checks are what its command line runs.
pub(crate) fn weigh(call: &ToolCall, checks: &[Check], result: &ToolResult) -> [Option<Event>; 2] {
    let action = &call.action;
    // What never ran has failed at nothing, and a change that could not be made breaks nothing: everything is as it was.
    let has_changed =
        result.success != Some(false) && (action.kind == ActionKind::Change || !action.changed().is_empty());
    match result.refusal.is_some() {
        true => [None, None],
        false => [
            has_changed.then(|| Event::Changed(action.paths.clone())),
            came(call, checks, result),
        ],
    }
}

/// What a call came to beside changes of files.
fn came(call: &ToolCall, checks: &[Check], result: &ToolResult) -> Option<Event> {
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
                false => {
                    let failure = if is_test { Failure::Tests } else { Failure::Build };
                    Some(Event::CheckFailed { is_test, failure })
                }
            }
        }
        ActionKind::Other => other(),
        _ => None,
    }
}
