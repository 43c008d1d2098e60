//! What a call came to, as far as it tells whether something was finished.

use crate::answer::{has_done, was_refused};
use crate::ledger::Ran;
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::running::Later;
use crate::testrun::{Check, CheckKind};
use crate::verdict::{self, Verdict};
use std::sync::Arc;

/// What a call came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
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
pub(super) enum Failure {
    Build,
    Tests,
    /// Some other command or tool.
    Other,
}

/// What a call came to: it may have changed files and checked something, too.
pub(super) fn weigh(call: &ToolCall, result: &ToolResult, ran: Option<&Ran>) -> [Option<Event>; 2] {
    let action = &call.action;
    // What never ran has failed at nothing.
    if was_refused(result) {
        return [None, None];
    }
    let by_scripts = ran.map_or(&[][..], |ran| &ran.written);
    let changed = || {
        let by_scripts = by_scripts.iter().map(|target| Arc::from(&*target.path));
        Some(Event::Changed(
            action.changed().iter().cloned().chain(by_scripts).collect(),
        ))
    };
    let other = |success: Option<bool>, is_question: bool| match success {
        Some(false) if is_question => None,
        success => success.map(|success| Event::Other { success }),
    };
    if let Some((ran, Later { result, .. })) = ran.and_then(|ran| Some((ran, ran.earlier()?))) {
        let event = match ran.last_check() {
            Some((check, verdict)) => judge(check, verdict, result),
            None => other(result.success, ran.line.is_question),
        };
        return [None, event];
    }
    match (action.kind, ran) {
        // A change that could not be made breaks nothing: everything is as it was.
        (ActionKind::Change, _) if has_done(action, result) => [changed(), None],
        (ActionKind::Other, _) => [None, other(result.success, false)],
        (ActionKind::Command, Some(ran)) => {
            // A command that failed may have written all the same, but nothing says so.
            let has_changed = !action.changed().is_empty() && result.success != Some(false) || !by_scripts.is_empty();
            let event = match ran.last_check() {
                Some((_, Verdict::Unknown)) if ran.fails_elsewhere() => other(Some(false), ran.line.is_question),
                Some((check, verdict)) => judge(check, verdict, result),
                None if ran.is_aside => None,
                None => other(ran.success(result), ran.line.is_question),
            };
            [changed().filter(|_| has_changed), event]
        }
        _ => [None, None],
    }
}

fn judge(check: &Check, verdict: Verdict, result: &ToolResult) -> Option<Event> {
    let is_test = check.kind == CheckKind::Test;
    match verdict {
        Verdict::Passed if is_test => Some(Event::TestsPassed),
        Verdict::Passed => Some(Event::BuildPassed),
        Verdict::Failed => {
            let is_build = !is_test || verdict::is_build_failure(result);
            let failure = if is_build { Failure::Build } else { Failure::Tests };
            Some(Event::CheckFailed { is_test, failure })
        }
        Verdict::Unknown => None,
    }
}
