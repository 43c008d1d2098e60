//! Checks incrementally whether a conversation is in order, so that a long one need not be read again.

use super::pairing::speaks;
use crate::message::pending;
use crate::message::validate::{is_id, is_tool, may_be_said};
use crate::message::{Message, Part, Role};
use crate::text::hash::QuickSet;
use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

/// The state after the messages appended so far. `I` is a call id, borrowed or owned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order<I> {
    /// The ids of all calls, and those of unanswered calls in order.
    ids: QuickSet<I>,
    open: VecDeque<I>,
    /// True if a repair is needed, whatever follows.
    is_broken: bool,
    /// True if the last reply has an operation that the provider may still continue.
    is_begun: bool,
    has_messages: bool,
    /// True if the first message after the system prompt is the user's; `None` before it.
    begins_well: Option<bool>,
    /// True if the last message is a reply in which the provider did not pause.
    ends_with_reply: bool,
}

impl<I: Eq + Hash + Clone + Default> Order<I> {
    /// Checks the next message; `id` converts ids for storage.
    pub fn append<'a>(&mut self, message: &'a Message, id: impl Fn(&'a Arc<str>) -> I) {
        if self.is_broken {
            return;
        }
        if !self.goes_on_with(message, id) {
            *self = Order {
                is_broken: true,
                ..Order::default()
            };
        }
    }

    fn goes_on_with<'a>(&mut self, message: &'a Message, id: impl Fn(&'a Arc<str>) -> I) -> bool {
        let is_reply = message.role == Role::Assistant;
        let is_late = message.role != Role::User && !self.open.is_empty();
        if message.parts.is_empty() || is_late || self.is_begun && !pending::goes_on(message) {
            return false;
        }
        if is_reply {
            self.is_begun = pending::is_open(message);
        }
        self.has_messages = true;
        if message.role != Role::System {
            self.begins_well.get_or_insert(!is_reply);
            self.ends_with_reply = is_reply && !message.is_paused();
        }
        message.parts.iter().all(|part| match part {
            Part::ToolCall(call) => {
                self.open.push_back(id(&call.id));
                is_reply && is_id(&call.id) && is_tool(&call.tool) && self.ids.insert(id(&call.id))
            }
            Part::ToolResult(result) if result.is_apart => message.role == Role::User && speaks(result),
            Part::ToolResult(result) => {
                message.role == Role::User && self.open.pop_front() == Some(id(&result.call_id)) && speaks(result)
            }
            other => may_be_said(message.role, other) && (is_reply || self.open.is_empty()),
        })
    }

    /// Returns whether no repair is needed.
    pub fn is_kept(&self) -> bool {
        self.is_kept_but_for_its_end() && !self.ends_with_reply
    }

    /// The same, except that a notice may be needed after the last reply.
    pub fn is_kept_but_for_its_end(&self) -> bool {
        !self.is_broken && self.open.is_empty() && self.begins_well.unwrap_or(!self.has_messages)
    }
}
