//! Calls that the user has not let be made, as their harness records it: in a field, or in an answer that is wholly the
//! harness's own, beside a status that says that the call failed.
//!
//! A program prints what it likes and ends as it likes, so that an answer which may be a command's own never counts: it is told
//! as an output that failed, in its words.

use crate::Format;
use crate::actions::{asks_and_prints_nothing, is_of_server};
use codelet_context::exchange::Calls;
use codelet_context::message::{Message, Part, ToolResult};
use codelet_context::refusal::{Refusal, words_in};
use std::sync::Arc;

/// Who has refused a call and in which words, if its answer is one that a harness gives in place of an output.
pub(crate) fn by_user(result: &ToolResult) -> Option<Refusal> {
    let words = words_in(result.texts().next()?.body.as_str())?;
    Some(Refusal::User(words.into()))
}

/// Notes what the answers of a conversation record as refused.
pub(crate) fn tell(messages: &mut [Message], format: Format) {
    let mut calls: Calls<Arc<str>, Arc<str>> = Calls::default();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            Part::ToolCall(call) => calls.called(call.id.clone(), call.tool.clone()),
            Part::ToolResult(result) => {
                let tool = calls.of(result).cloned().unwrap_or_default();
                let has_failed = result.success == Some(false);
                match format {
                    // An error of a server is passed on as it came.
                    Format::ClaudeCode if is_of_server(&tool) => result.refusal = None,
                    // One flag for whatever went wrong.
                    Format::Anthropic | Format::Corpus if asks_and_prints_nothing(&tool) && has_failed => {
                        result.refusal = result.refusal.take().or_else(|| by_user(result));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "refused/tests.rs"]
mod tests;
