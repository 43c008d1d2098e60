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
