//! The loop guard: counts calls that fail again and again in the same way.

use crate::essence::Essence;
use codelet_context::message::{ActionKind, ToolCall};
use std::collections::HashMap;
use std::sync::Arc;

/// So many failures of the same call with nothing new in between, and the model is told.
pub const TELL: u32 = 3;
/// So many, and the run stops.
pub const STOP: u32 = 6;
/// So many failures of the same call, whatever happened in between, and the run stops; the model is told at each third of it.
pub const MOST: u32 = 60;

/// Counts failures of equal calls: of the same tool, with the same [`Essence`].
///
/// What may have changed a call's situation starts its count anew: a successful change of files that of every call, so that
/// the same test may fail six times while it is worked on; a successful command that of commands, and not that of edits:
/// who fails to edit a file prints it with `cat`, and fails again. The larger count begins anew only when the call succeeds.
#[derive(Clone, Debug, Default)]
pub struct Tally(HashMap<(Arc<str>, u64), Failures>);

/// How often a call has failed.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    /// The call would change files.
    is_change: bool,
    /// Since its situation may have changed.
    lately: u32,
    in_all: u32,
}

/// How a call went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Went {
    /// It did what it was to do.
    Well,
    /// It failed.
    Wrong,
    /// It failed, maybe for want of time.
    OutOfTime,
}

/// What to do about a call that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Nothing yet.
    Fine,
    /// The model is to be told that it has failed so often.
    Tell(u32),
    /// The run is to stop: it has failed so often.
    Stop(u32),
}

impl Tally {
    /// Takes note of how a call with this essence went. `changes` says that a successful call of this kind may have changed
    /// the world.
    pub fn take(&mut self, call: &ToolCall, essence: Essence, went: Went, changes: bool) -> Finding {
        let kind = call.action.kind;
        if went == Went::Well {
            for essence in [essence.timed, essence.untimed] {
                self.0.remove(&(call.tool.clone(), essence));
            }
            let is_change = changes && kind == ActionKind::Change;
            // A list of what is to be done changes nothing that a call could depend on.
            let is_other = changes && !matches!(kind, ActionKind::Change | ActionKind::Todo);
            for failures in self.0.values_mut() {
                if is_change || (is_other && !failures.is_change) {
                    failures.lately = 0;
                }
            }
            return Finding::Fine;
        }
        let failures = self.0.entry(key(call, essence, went)).or_default();
        failures.is_change = kind == ActionKind::Change;
        failures.lately += 1;
        failures.in_all += 1;
        match (failures.lately, failures.in_all) {
            (_, all @ MOST..) => Finding::Stop(all),
            (lately @ STOP.., _) => Finding::Stop(lately),
            (lately @ TELL.., _) => Finding::Tell(lately),
            (_, all) if all % (MOST / 3) == 0 => Finding::Tell(all),
            _ => Finding::Fine,
        }
    }
}

/// What failures of a call are counted under: with a longer time it is another call only where time was what it lacked.
pub(crate) fn key(call: &ToolCall, essence: Essence, went: Went) -> (Arc<str>, u64) {
    let essence = match went {
        Went::OutOfTime => essence.timed,
        Went::Well | Went::Wrong => essence.untimed,
    };
    (call.tool.clone(), essence)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::essence::essence;
    use crate::model::ToolSpec;
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

    fn take(tally: &mut Tally, call: &ToolCall, went: Went, changes: bool) -> Finding {
        let spec = ToolSpec {
            name: call.tool.clone(),
            description: "".into(),
            parameters: json!({"type": "object", "properties": {"a": {}, "b": {}, "command": {}, "timeout": {}}}),
        };
        tally.take(call, essence(call, Some(&spec)), went, changes)
    }

    /// Nine calls that fail, each a little different: what is found of them.
    fn nine(parameters: impl Fn(usize) -> Value, went: Went) -> Vec<Finding> {
        let mut tally = Tally::default();
        let find = |n| take(&mut tally, &call("Bash", &parameters(n).to_string()), went, true);
        (0..9).map(find).collect()
    }

    #[test]
    fn a_word_that_the_tool_does_not_read_or_a_blank_makes_no_new_try() {
        for vary in [
            |n| json!({"command": "false", "description": format!("try {n}")}),
            |n| json!({"command": format!("false{}", " ".repeat(n))}),
            |n| json!({"command": "false", "timeout": 60_000 + n}),
        ] {
            assert_eq!(nine(vary, Went::Wrong)[5], Finding::Stop(STOP));
        }
    }

    #[test]
    fn a_longer_time_is_a_new_try_of_what_ran_out_of_it() {
        let longer = |n| json!({"command": "make", "timeout": 60_000 * (n + 1)});
        assert_eq!(nine(longer, Went::OutOfTime), [Finding::Fine; 9]);
        let same = |_| json!({"command": "make", "timeout": 60_000});
        assert_eq!(nine(same, Went::OutOfTime)[5], Finding::Stop(STOP));
    }

    #[test]
    fn a_success_with_any_time_ends_the_counts_with_every_other() {
        let mut tally = Tally::default();
        for _ in 0..MOST {
            let timed = call("Bash", r#"{"command":"make","timeout":9}"#);
            assert_eq!(take(&mut tally, &timed, Went::Wrong, true), Finding::Fine);
            assert_eq!(take(&mut tally, &timed, Went::OutOfTime, true), Finding::Fine);
            take(&mut tally, &timed, Went::Well, true);
        }
    }

    /// The same call fails again and again, and another one succeeds in between: when the model is told, and when it ends.
    fn between(failing: &str, other: &str, changes: bool) -> (Option<u32>, u32) {
        let mut tally = Tally::default();
        let mut told = None;
        for count in 1.. {
            match take(&mut tally, &call(failing, "{}"), Went::Wrong, true) {
                Finding::Fine => {}
                Finding::Tell(_) => told = told.or(Some(count)),
                Finding::Stop(of) => {
                    assert_eq!(of, count);
                    return (told, count);
                }
            }
            take(&mut tally, &call(other, "{}"), Went::Well, changes);
        }
        unreachable!("it ends at some count")
    }

    #[test]
    fn the_same_failing_call_is_told_at_three_and_stopped_at_six() {
        let mut tally = Tally::default();
        let findings: Vec<Finding> = (0..6)
            .map(|turn| {
                // The order of keys does not make another call of it.
                let parameters = [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#][turn % 2];
                take(&mut tally, &call("Edit", parameters), Went::Wrong, true)
            })
            .collect();
        use Finding::*;
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
        let mut tally = Tally::default();
        for _ in 0..MOST * 2 {
            assert_eq!(take(&mut tally, &call("Edit", "{}"), Went::Wrong, true), Finding::Fine);
            take(&mut tally, &call("Edit", "{}"), Went::Well, true);
        }
    }
}
