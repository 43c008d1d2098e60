//! Determines whether Claude Code requested thinking. A prompt cache stores messages of requests with thinking
//! separately from those of requests without.
//!
//! Each typed prompt records a thinking budget. Prompts that the harness injected (a skill, a command, an accepted
//! plan) have none, and up to version 2.1.37 the requests after them were made without thinking, until the next typed
//! prompt. Later versions use thinking there as well.

use crate::recording::Recorded;
use crate::take::{self, Fields};
use codelet_context::message::Part;
use serde_json::Value;

/// The last version in which the newest prompt alone decides: 2.1.38 and later were never observed to do so.
const LAST: [u64; 3] = [2, 1, 37];

/// Returns whether a user entry requests thinking for later requests; `None` if it only holds results or a summary.
pub(super) fn asked_by(fields: &Fields, parts: &[Part]) -> Option<bool> {
    let answers = |part: &Part| matches!(part, Part::ToolResult(_));
    if parts.iter().any(answers) || take::flag(fields, "isCompactSummary") {
        return None;
    }
    match fields.get("thinkingMetadata") {
        Some(said) => {
            let is_off = said.get("disabled").and_then(Value::as_bool) == Some(true);
            Some(!is_off && said.get("maxThinkingTokens").and_then(Value::as_u64) != Some(0))
        }
        None => is_early(take::str(fields, "version")).then_some(false),
    }
}

fn is_early(version: &str) -> bool {
    let numbers: Result<Vec<u64>, _> = version.split('.').map(str::parse).collect();
    numbers.is_ok_and(|numbers| numbers.len() == LAST.len() && numbers.as_slice() <= LAST.as_slice())
}

/// Tracks, entry by entry, whether requests are made without thinking.
#[derive(Default)]
pub(super) struct Thinking {
    /// The newest prompt does not request thinking.
    pub(super) is_off: bool,
    /// The index of the first request after it.
    since: usize,
}

impl Thinking {
    /// Handles a user entry that sets thinking for the requests that follow, after `requests` earlier ones.
    pub(super) fn prompted(&mut self, asks: Option<bool>, requests: usize) {
        if let Some(asks) = asks {
            (self.is_off, self.since) = (!asks, requests);
        }
    }

    /// Handles thinking in the reply to the newest request: it was requested, whatever the prompt says.
    pub(super) fn thought(&mut self, requests: &mut [Recorded]) {
        if std::mem::take(&mut self.is_off) {
            let behind = requests.iter_mut().skip(self.since);
            behind.for_each(|request| request.without_thinking = false);
        }
    }
}
