//! Collects evidence from calls and their results as messages are appended.

use super::anchor::{Event, weigh};
use super::check::checks_of;
use super::facts::Facts;
use crate::message::exchange::Calls;
use crate::message::{Message, Part};
use std::sync::Arc;

/// The evidence of a conversation so far. Grows with it and reads each message once.
#[derive(Clone, Default)]
pub(crate) struct Evidence {
    messages: usize,
    /// Calls without a result so far, with the message and the part.
    open: Calls<Arc<str>, (Arc<Message>, usize)>,
    pub facts: Facts,
    /// The effects of calls, by the messages of their results.
    pub events: Vec<(usize, Event)>,
}

impl Evidence {
    /// Adds the next message.
    pub fn append(&mut self, message: &Arc<Message>) {
        for (number, part) in message.parts.iter().enumerate() {
            match part {
                Part::ToolCall(call) => self.open.called(call.id.clone(), (message.clone(), number)),
                Part::ToolResult(result) => {
                    let Some((caller, called)) = self.open.answered(result) else {
                        continue;
                    };
                    let Part::ToolCall(call) = &caller.parts[called] else {
                        continue;
                    };
                    let checks = call.action.command.as_deref().map_or_else(Vec::new, checks_of);
                    self.facts.take(call, &checks, result, (self.messages, number));
                    let events = weigh(call, &checks, result).into_iter().flatten();
                    self.events.extend(events.map(|event| (self.messages, event)));
                }
                _ => {}
            }
        }
        self.messages += 1;
    }
}
