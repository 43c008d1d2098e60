//! The loop guard: counts calls that fail again and again in the same way.

use codelet_context::message::ToolCall;
use std::collections::HashMap;
use std::sync::Arc;

/// So many failures of the same call, and the model is told.
pub const TELL: u32 = 3;
/// So many, and the run stops.
pub const STOP: u32 = 6;

/// Counts failures of equal calls: same tool, same parameters in whatever order.
///
/// What changes the world starts the count anew: the same test may fail six times while it is worked on. The call's own success does so as well.
#[derive(Clone, Debug, Default)]
pub struct Tally(HashMap<(Arc<str>, u64), u32>);

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
    /// Takes note of a result. `changes` says that a successful call of this kind may have changed the world.
    pub fn take(&mut self, call: &ToolCall, success: bool, changes: bool) -> Finding {
        let key = (call.tool.clone(), call.parameters.canonical_hash());
        if success {
            self.0.remove(&key);
            if changes {
                self.0.clear();
            }
            return Finding::Fine;
        }
        let count = self.0.entry(key).or_default();
        *count += 1;
        match *count {
            STOP.. => Finding::Stop(*count),
            TELL.. => Finding::Tell(*count),
            _ => Finding::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::Value;

    fn call(tool: &str, parameters: &str) -> ToolCall {
        let parameters: Value = serde_json::from_str(parameters).unwrap();
        ToolCall::new("id", tool, parameters.as_object().unwrap().clone())
    }

    #[test]
    fn the_same_failing_call_is_told_at_three_and_stopped_at_six() {
        let mut tally = Tally::default();
        let findings: Vec<Finding> = (0..6)
            .map(|turn| {
                // The order of keys does not make another call of it.
                let parameters = [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#][turn % 2];
                tally.take(&call("Edit", parameters), false, true)
            })
            .collect();
        use Finding::*;
        assert_eq!(findings, [Fine, Fine, Tell(3), Tell(4), Tell(5), Stop(6)]);
    }

    #[test]
    fn a_test_that_fails_while_it_is_worked_on_is_no_loop() {
        let mut tally = Tally::default();
        for _ in 0..20 {
            assert_eq!(
                tally.take(&call("Bash", r#"{"command":"cargo test"}"#), false, true),
                Finding::Fine
            );
            tally.take(&call("Edit", "{}"), true, true);
        }
    }

    #[test]
    fn looking_around_between_two_failures_does_not_start_anew() {
        let mut tally = Tally::default();
        let mut last = Finding::Fine;
        for _ in 0..6 {
            last = tally.take(&call("Edit", "{}"), false, true);
            tally.take(&call("Read", "{}"), true, false);
        }
        assert_eq!(last, Finding::Stop(6));
    }
}
