//! Whether Claude Code asked the model to think. A prompt cache keeps the messages of requests that ask for it apart from
//! those of requests that do not.
//!
//! The budget for thinking stands with each prompt that somebody typed. What the harness itself put in as a prompt (a skill,
//! a command, a plan that was accepted) has none, and up to version 2.1.37 the requests behind it were made without
//! thinking, until the next typed prompt. Later versions think there as well.

use crate::recording::Recorded;
use crate::take::{self, Fields};
use codelet_context::message::Part;
use serde_json::Value;

/// The last version that asked by the newest prompt alone: none of 2.1.38 and later was seen to.
const LAST: [u64; 3] = [2, 1, 37];

/// What a user's entry says of the requests behind it; nothing if it only answers calls, or summarises.
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

/// Whether requests are made without thinking, as entries come.
#[derive(Default)]
pub(super) struct Thinking {
    /// The newest prompt asks for none.
    pub(super) is_off: bool,
    /// The first request since it.
    since: usize,
}

impl Thinking {
    /// A user's entry says this of the requests that come now, after `requests` others.
    pub(super) fn prompted(&mut self, asks: Option<bool>, requests: usize) {
        if let Some(asks) = asks {
            (self.is_off, self.since) = (!asks, requests);
        }
    }

    /// The reply to the newest request shows that the model has thought: so it was asked to, whatever the prompt says.
    pub(super) fn thought(&mut self, requests: &mut [Recorded]) {
        if std::mem::take(&mut self.is_off) {
            let behind = requests.iter_mut().skip(self.since);
            behind.for_each(|request| request.without_thinking = false);
        }
    }
}
