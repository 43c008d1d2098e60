//! Calls with their answers, in the order in which the answers come.

use crate::message::{Message, Part, ToolCall, ToolResult};
use std::collections::HashMap;
use std::sync::Arc;

/// The calls that wait for their answer. An id that is used again means the newest call; an answer to no call, or a second
/// answer, belongs to nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    open: HashMap<Arc<str>, (Arc<Message>, usize)>,
}

impl Exchanges {
    /// Takes the next message, and gives each of its results with the call that it answers to `answered`.
    pub fn next(&mut self, message: &Arc<Message>, mut answered: impl FnMut(&ToolCall, &ToolResult)) {
        for (index, part) in message.parts.iter().enumerate() {
            match part {
                Part::ToolCall(call) => {
                    self.open.insert(call.id.clone(), (message.clone(), index));
                }
                Part::ToolResult(result) => {
                    if let Some((caller, index)) = self.open.remove(&result.call_id)
                        && let Part::ToolCall(call) = &caller.parts[index]
                    {
                        answered(call, result);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether a change was made, by the tool's own word; where that is missing, unless its answer begins with a complaint.
pub(crate) fn is_done(result: &ToolResult) -> bool {
    const COMPLAINTS: &[&str] = &[
        "error",
        "<tool_use_error",
        "failed",
        "failure",
        "invalid",
        "cannot",
        "could not",
        "no such",
    ];
    result.success.unwrap_or_else(|| {
        let first = result.texts().next().map_or("", |text| text.body.as_str());
        let first = first.trim_start();
        let begins = |with: &str| {
            first
                .get(..with.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(with))
        };
        result.error.is_none() && !COMPLAINTS.iter().any(|complaint| begins(complaint))
    })
}

/// Whether a call that did not succeed was not carried out to its end: the user refused or interrupted it, or its answer is
/// lost.
/// Harnesses report that as an error of the tool, in words of their own, which stand at the beginning.
pub(crate) fn was_refused(result: &ToolResult) -> bool {
    const REFUSALS: &[&str] = &[
        "the user doesn't want to",
        "the user rejected",
        "the user denied",
        "the user cancelled",
        "the user declined",
        "user rejected",
        "user denied",
        "user cancelled",
        "user declined",
        "tool use was rejected",
        "tool call was rejected",
        "[request interrupted",
        "[interrupted by the user",
        "refused: ",
        "[interrupted",
        "[no result",
        "[tool call interrupted",
        "interrupted by user",
        "cancelled by user",
        "aborted by user",
        "command was cancelled",
        "user aborted",
    ];
    // What had begun is told so of behind what it had printed.
    const STOPPED: &[&str] = &["command aborted", "command cancelled", "operation aborted"];
    let text = result.texts().next().map_or("", |text| text.body.as_str()).trim();
    let begins = |with: &&str| {
        text.get(..with.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(with))
    };
    let last = text.rsplit('\n').next().unwrap_or_default();
    let ends = |with: &&str| last.trim_end_matches('.').eq_ignore_ascii_case(with);
    result.success != Some(true) && (REFUSALS.iter().any(begins) || STOPPED.iter().any(ends))
}
