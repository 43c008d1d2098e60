//! Calls that the user has not let be made, as their harness records it: in a field, or in an answer that is wholly the
//! harness's own, beside a status that says that the call failed.
//!
//! A program prints what it likes and ends as it likes. So the answer of a command counts only where the status beside it cannot
//! be the command's, and gives no words of the user where that is not known.

use crate::Format;
use crate::actions::{asks_and_prints_nothing, is_of_server};
use codelet_context::exchange::Calls;
use codelet_context::message::{Message, Part, ToolResult};
use codelet_context::refusal::{Refusal, words_in};
use std::sync::Arc;

/// Who has refused a call, if its answer is one that a harness gives in place of an output; the words in it count where it is
/// known to be the harness's.
pub(crate) fn by_user(result: &ToolResult, is_harness: bool) -> Option<Refusal> {
    let words = words_in(result.texts().next()?.body.as_str())?;
    Some(Refusal::User(if is_harness { words } else { "" }.into()))
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
                    Format::ClaudeCode if is_of_server(&tool) && result.refusal.is_some() => {
                        result.refusal = Some(Refusal::User("".into()));
                    }
                    // One flag for whatever went wrong, so that of a command nobody knows whose the answer is.
                    Format::Anthropic | Format::Corpus if has_failed && result.refusal.is_none() => {
                        result.refusal = by_user(result, asks_and_prints_nothing(&tool));
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
