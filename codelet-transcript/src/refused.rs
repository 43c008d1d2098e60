//! Calls that the user refused, as their harness records it: in a field, or in a result that is entirely the harness's
//! text, with a status that says that the call failed.
//!
//! A program controls its output and exit status, so a result that may be a command's own never counts: it stays a
//! failed output with its text.

use crate::Format;
use crate::actions::{asks_and_prints_nothing, is_of_server};
use crate::harness::stops_a_call;
use codelet_context::exchange::Calls;
use codelet_context::message::{Message, Part, ToolResult};
use codelet_context::refusal::{RefusedBy, words_in};
use std::sync::Arc;

/// Returns the user's refusal and their words, if the result is one that a harness writes in place of an output.
pub(crate) fn by_user(result: &ToolResult) -> Option<RefusedBy> {
    let words = words_in(result.texts().next()?.body.as_str())?;
    Some(RefusedBy::User(words.into()))
}

/// Marks the results of a conversation that record a refusal.
pub(crate) fn tell(messages: &mut [Message], format: Format) {
    let mut calls: Calls<Arc<str>, Arc<str>> = Calls::default();
    for message in messages {
        // Text beside the results is not a tool's.
        let is_stopped = message
            .parts
            .iter()
            .any(|part| matches!(part, Part::Text(text) if stops_a_call(text.body.as_str())));
        for part in &mut message.parts {
            match part {
                Part::ToolCall(call) => calls.called(call.id.clone(), call.tool.clone()),
                Part::ToolResult(result) => {
                    let tool = calls.of(result).cloned().unwrap_or_default();
                    let has_failed = result.success == Some(false);
                    let is_certain = is_stopped || asks_and_prints_nothing(&tool);
                    match format {
                        // A server's error is passed on unchanged.
                        Format::ClaudeCode if is_of_server(&tool) => result.refusal = None,
                        // One flag for all kinds of errors.
                        Format::Anthropic | Format::Corpus if is_certain && has_failed => {
                            result.refusal = result.refusal.take().or_else(|| by_user(result));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "refused/tests.rs"]
mod tests;
