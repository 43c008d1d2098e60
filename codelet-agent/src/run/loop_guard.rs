//! The loop guard: counts calls that keep failing in the same way, and calls that succeed without new results.

use crate::run::call_key::CallKey;
use codelet_context::message::ActionKind;
use std::collections::{HashMap, HashSet};

/// The number of failures of the same call, with nothing new in between, at which the model is told.
pub(crate) const TELL: u32 = 3;
/// The number at which the run stops.
pub(crate) const STOP: u32 = 6;
/// The number of failures of the same call, whatever happened in between, at which the run stops; the model is told at
/// each third of it.
pub(crate) const MOST: u32 = 60;

/// The number of consecutive repeated calls with the same result at which the model is told.
pub(crate) const STALE_TELL: u32 = 3;
/// The number of them, all file changes, todo-list updates or notes, at which the run stops.
pub(crate) const STALE_CHANGES: u32 = 5;
/// The number of any kind at which the run stops: polling repeats the same call and sees the same result for a while.
pub(crate) const STALE_MOST: u32 = 30;

/// Counts failures of equal calls, which have the same [`CallKey`].
///
/// The recent count restarts when a call's circumstances may have changed. A successful file change resets it for every
/// call, so the same test may fail six times while the model works on it. A successful command resets it for commands
/// but not for edits: a model that fails to edit a file prints it with `cat`, and fails again. The total count restarts
/// only when the call succeeds.
///
/// A successful call is stale if the same call has had the same result before. Consecutive stale calls are counted
/// until something new appears: another call, or another result, as a poll waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopGuard {
    failures: HashMap<CallKey, Failures>,
    /// Calls with their results, as hashes.
    seen: HashSet<(CallKey, u64)>,
    /// The number of consecutive stale calls, and how many of the newest were changes.
    stale: u32,
    stale_changes: u32,
}

/// The number of failures of a call.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    /// True if the call would change files.
    is_change: bool,
    /// Since its circumstances may have changed.
    lately: u32,
    in_all: u32,
}

/// The verdict on a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoopAction {
    /// Nothing to do yet.
    Fine,
    /// Tell the model that the call has failed this many times.
    Tell(u32),
    /// Stop the run: the call has failed this many times.
    Stop(u32),
    /// Tell the model that this many consecutive calls produced nothing new.
    TellStale(u32),
    /// Stop the run: this many consecutive calls produced nothing new.
    StopStale(u32),
}

impl LoopGuard {
    /// Records the outcome of a call of this kind with this key. `changes` says that a successful one may have
    /// changed the world; `shown` is the hash of its output, and `None` if the model has not yet seen the outcome of
    /// the same call.
    pub(crate) fn take(
        &mut self,
        kind: ActionKind,
        call_key: CallKey,
        success: bool,
        changes: bool,
        shown: Option<u64>,
    ) -> LoopAction {
        let is_new = shown.is_none_or(|shown| self.seen.insert((call_key.clone(), shown)));
        if is_new {
            (self.stale, self.stale_changes) = (0, 0);
        }
        if success {
            self.failures.remove(&call_key);
            if !is_new {
                // A repeated call with the same result has changed nothing.
                return self.stale(changes && matches!(kind, ActionKind::Change | ActionKind::Todo | ActionKind::Note));
            }
            let is_change = changes && kind == ActionKind::Change;
            // A todo list or a note changes nothing that another call could depend on.
            let is_other = changes && !matches!(kind, ActionKind::Change | ActionKind::Todo | ActionKind::Note);
            for failures in self.failures.values_mut() {
                if is_change || (is_other && !failures.is_change) {
                    failures.lately = 0;
                }
            }
            return LoopAction::Fine;
        }
        let failures = self.failures.entry(call_key).or_default();
        failures.is_change = kind == ActionKind::Change;
        failures.lately += 1;
        failures.in_all += 1;
        match (failures.lately, failures.in_all) {
            (_, all @ MOST..) => LoopAction::Stop(all),
            (lately @ STOP.., _) => LoopAction::Stop(lately),
            (lately @ TELL.., _) => LoopAction::Tell(lately),
            (_, all) if all % (MOST / 3) == 0 => LoopAction::Tell(all),
            _ => LoopAction::Fine,
        }
    }
}

impl LoopGuard {
    fn stale(&mut self, is_change: bool) -> LoopAction {
        self.stale += 1;
        self.stale_changes = if is_change { self.stale_changes + 1 } else { 0 };
        match (self.stale, self.stale_changes) {
            (stale @ STALE_MOST.., _) => LoopAction::StopStale(stale),
            (_, changes @ STALE_CHANGES..) => LoopAction::StopStale(changes),
            (stale, _) if stale % STALE_TELL == 0 => LoopAction::TellStale(stale),
            _ => LoopAction::Fine,
        }
    }

    /// Forgets the results seen before, as they are no longer in the context: looking again shows something new.
    pub(crate) fn forget_seen(&mut self) {
        self.seen.clear();
        (self.stale, self.stale_changes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::ToolSpec;
    use crate::run::call_key::call_key;
    use codelet_context::message::ToolCall;
    use serde_json::{Value, json};

    fn call(tool: &str, parameters: &str) -> ToolCall {
        let parameters: Value = serde_json::from_str(parameters).unwrap();
        let mut call = ToolCall::new("id", tool, parameters.as_object().unwrap().clone());
        call.action.kind = match tool {
            "Edit" | "Write" => ActionKind::Change,
            "Bash" => ActionKind::Command,
            "Todo" => ActionKind::Todo,
            "Read" => ActionKind::Read,
            _ => ActionKind::Other,
        };
        call
    }

    fn take(loop_guard: &mut LoopGuard, call: &ToolCall, success: bool, changes: bool) -> LoopAction {
        let spec = ToolSpec {
            name: call.tool.clone(),
            description: "".into(),
            parameters: json!({"type": "object", "properties": {"a": {}, "b": {}, "command": {}, "timeout": {}}}),
        };
        loop_guard.take(call.action.kind, call_key(call, Some(&spec)), success, changes, None)
    }

    /// Returns the findings for successful calls, each with the hash of its output.
    fn well(calls: impl IntoIterator<Item = (ToolCall, u64)>) -> Vec<LoopAction> {
        let mut loop_guard = LoopGuard::default();
        let spec = |call: &ToolCall| ToolSpec {
            name: call.tool.clone(),
            description: "".into(),
            parameters: json!({"type": "object"}),
        };
        let mut take = |(call, shown): (ToolCall, u64)| {
            let changes = !matches!(call.action.kind, ActionKind::Read);
            loop_guard.take(
                call.action.kind,
                call_key(&call, Some(&spec(&call))),
                true,
                changes,
                Some(shown),
            )
        };
        calls.into_iter().map(&mut take).collect()
    }

    #[test]
    fn the_same_write_is_told_of_and_then_stopped() {
        use LoopAction::*;
        let same = (0..6).map(|_| (call("Write", r#"{"a":1}"#), 7));
        assert_eq!(well(same), [Fine, Fine, Fine, TellStale(3), Fine, StopStale(5)]);
    }

    #[test]
    fn lists_of_what_is_to_be_done_that_go_back_and_forth_are_stopped() {
        let lists = (0..9).map(|n| (call("Todo", [r#"{"a":1}"#, r#"{"a":2}"#][n % 2]), n as u64 % 2));
        assert!(well(lists).contains(&LoopAction::StopStale(STALE_CHANGES)));
    }

    #[test]
    fn a_command_whose_output_changes_is_never_stopped() {
        let polls = (0..200).map(|n| (call("Bash", r#"{"command":"progress"}"#), n));
        assert!(well(polls).iter().all(|found| *found == LoopAction::Fine));
    }

    #[test]
    fn who_waits_for_something_sees_the_same_for_a_while() {
        let polls = (0..200).map(|n| (call("Bash", r#"{"command":"is it there"}"#), n / 25));
        assert!(
            !well(polls)
                .iter()
                .any(|found| matches!(found, LoopAction::StopStale(_)))
        );
        let for_ever = (0..200).map(|_| (call("Bash", r#"{"command":"is it there"}"#), 1));
        assert_eq!(well(for_ever)[STALE_MOST as usize], LoopAction::StopStale(STALE_MOST));
    }

    #[test]
    fn a_new_call_in_between_makes_the_old_ones_worth_repeating() {
        let work = (0..200).map(|n| match n % 3 {
            0 => (call("Edit", &json!({ "a": n }).to_string()), 1),
            _ => (call("Bash", r#"{"command":"cargo test"}"#), 2),
        });
        assert!(well(work).iter().all(|found| *found == LoopAction::Fine));
    }

    #[test]
    fn a_change_that_is_made_again_does_not_start_the_count_of_failures_anew() {
        let mut loop_guard = LoopGuard::default();
        let [write, test] = [call("Write", r#"{"a":1}"#), call("Bash", r#"{"a":2}"#)];
        let [writes, tests] = [&write, &test].map(|call| call_key(call, None));
        let mut stopped = None;
        for count in 1..=STOP {
            loop_guard.take(write.action.kind, writes.clone(), true, true, Some(1));
            if let LoopAction::Stop(of) = loop_guard.take(test.action.kind, tests.clone(), false, true, Some(2)) {
                stopped = Some((count, of));
            }
        }
        assert!(stopped.is_some(), "the same test of the same text fails the same way");
    }

    #[test]
    fn a_word_that_the_tool_does_not_read_makes_no_new_try() {
        let mut loop_guard = LoopGuard::default();
        let find = |n| {
            let parameters = json!({"command": "false", "description": format!("try {n}")});
            take(&mut loop_guard, &call("Bash", &parameters.to_string()), false, true)
        };
        let findings: Vec<LoopAction> = (0..6).map(find).collect();
        assert_eq!(findings[5], LoopAction::Stop(STOP));
    }

    /// Repeats a failing call with a successful other one in between; returns when the model is told, and when the run
    /// stops.
    fn between(failing: &str, other: &str, changes: bool) -> (Option<u32>, u32) {
        let mut loop_guard = LoopGuard::default();
        let mut told = None;
        for count in 1.. {
            match take(&mut loop_guard, &call(failing, "{}"), false, true) {
                LoopAction::Fine => {}
                LoopAction::Tell(_) => told = told.or(Some(count)),
                LoopAction::Stop(of) => {
                    assert_eq!(of, count);
                    return (told, count);
                }
                found => panic!("{found:?}"),
            }
            take(&mut loop_guard, &call(other, "{}"), true, changes);
        }
        unreachable!("it ends at some count")
    }

    #[test]
    fn the_same_failing_call_is_told_at_three_and_stopped_at_six() {
        let mut loop_guard = LoopGuard::default();
        let findings: Vec<LoopAction> = (0..6)
            .map(|turn| {
                // The order of keys makes no difference.
                let parameters = [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#][turn % 2];
                take(&mut loop_guard, &call("Edit", parameters), false, true)
            })
            .collect();
        use LoopAction::*;
        assert_eq!(findings, [Fine, Fine, Tell(3), Tell(4), Tell(5), Stop(6)]);
    }

    #[test]
    fn a_test_that_fails_while_it_is_worked_on_is_no_loop_before_the_larger_bound() {
        assert_eq!(between("Bash", "Edit", true), (Some(20), MOST));
    }

    #[test]
    fn commands_between_edits_that_fail_do_not_start_anew() {
        for looking in ["Bash", "server__show"] {
            assert_eq!(between("Edit", looking, true), (Some(TELL), STOP), "{looking}");
        }
    }

    #[test]
    fn a_list_of_what_is_to_be_done_starts_nothing_anew() {
        for failing in ["Edit", "Bash"] {
            assert_eq!(between(failing, "Todo", true), (Some(TELL), STOP), "{failing}");
        }
    }

    #[test]
    fn a_change_between_edits_that_fail_is_a_new_situation() {
        assert_eq!(between("Edit", "Write", true), (Some(20), MOST));
    }

    #[test]
    fn a_command_may_fail_while_others_work_towards_it_up_to_the_larger_bound() {
        assert_eq!(between("server__poll", "Bash", true), (Some(20), MOST));
    }

    #[test]
    fn looking_around_between_two_failures_does_not_start_anew() {
        assert_eq!(between("Edit", "Read", false), (Some(TELL), STOP));
    }

    #[test]
    fn a_call_that_succeeds_has_never_failed() {
        let mut loop_guard = LoopGuard::default();
        for _ in 0..MOST * 2 {
            assert_eq!(
                take(&mut loop_guard, &call("Edit", "{}"), false, true),
                LoopAction::Fine
            );
            take(&mut loop_guard, &call("Edit", "{}"), true, true);
        }
    }
}
