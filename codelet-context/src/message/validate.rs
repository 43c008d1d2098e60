//! Checks a view against the request rules of all providers together.

use crate::message::pending;
use crate::message::view::View;
use crate::message::{Message, Part, Role, ToolCall, ToolResult};
use crate::text::hash::QuickSet;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// A rule that a view breaks.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("message {message}: {sentence}")]
pub struct Violation {
    /// The index into the view of the message that breaks it.
    pub message: usize,
    /// The violation, as a sentence.
    pub sentence: String,
}

/// The maximum bytes of a call id: more than any provider uses. Ids are not counted as tokens, so unlimited ones could
/// fill a window.
pub(crate) const LONGEST_ID: usize = 128;
/// The maximum bytes of a tool name; providers allow 64 or 128.
pub(crate) const LONGEST_TOOL: usize = 128;

/// Returns whether a call id is acceptable.
pub(crate) fn is_id(id: &str) -> bool {
    !id.trim().is_empty() && id.len() <= LONGEST_ID
}

/// Returns whether a tool name is acceptable.
pub(crate) fn is_tool(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= LONGEST_TOOL
}

/// Returns whether a result has content: text, a picture or an unknown block.
pub(crate) fn says_something(result: &ToolResult) -> bool {
    result.error.as_ref().is_some_and(|error| !error.is_blank())
        || result.output.iter().any(|part| match part {
            Part::Text(text) => !text.body.is_blank(),
            _ => true,
        })
}

/// Returns whether a result may contain this block. Blank text is not allowed, except the empty string of a result that
/// is one string.
pub(crate) fn may_be_output(result: &ToolResult, part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.body.is_blank() || (result.bare && result.output.len() == 1 && text.body.is_empty()),
        Part::Image(_) | Part::Opaque(_) => true,
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => false,
    }
}

/// Returns whether a message of this role may contain this part, which is neither a call nor a result.
pub(crate) fn may_be_said(role: Role, part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.body.is_blank(),
        Part::Thinking(thinking) => {
            role == Role::Assistant && (!thinking.body.is_blank() || thinking.is_bound() || !thinking.extra.is_empty())
        }
        _ => true,
    }
}

/// Returns whether a result's output can be sent unchanged.
pub(crate) fn speaks(result: &ToolResult) -> bool {
    result.output.iter().all(|part| may_be_output(result, part))
        && (result.success != Some(false) || says_something(result))
}

/// The rules that the view breaks: those of any provider, since a conversation may go on with another. Linear in the
/// view's size.
pub fn validate(view: &View) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut found = |message, sentence: fmt::Arguments<'_>| {
        let sentence = sentence.to_string();
        violations.push(Violation { message, sentence });
    };
    let mut order = Order::default();
    for message in &view.messages {
        order.read(message, &mut found);
    }
    order.end(&mut found);
    violations
}

/// Whether a conversation is in order, message by message, so that a long one need not be read again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    messages: usize,
    /// The ids of all calls, and those of the newest reply's unanswered calls in order.
    ids: QuickSet<Arc<str>>,
    open: VecDeque<Arc<str>>,
    /// True if a rule was broken that no later message can keep.
    is_broken: bool,
    /// The last reply, if it has an operation that the provider may still continue.
    begun: Option<usize>,
    /// The first speaker after the system prompt.
    first: Option<Role>,
    /// True if the last message is a reply in which the provider did not pause.
    ends_with_reply: bool,
}

/// Takes a broken rule: the message that breaks it, and a sentence about it.
type Found<'f> = dyn FnMut(usize, fmt::Arguments<'_>) + 'f;

impl Order {
    /// Takes the next message, to be asked only whether all is in order.
    pub fn append(&mut self, message: &Message) {
        let mut is_broken = self.is_broken;
        if !is_broken {
            self.read(message, &mut |_, _| is_broken = true);
        }
        if is_broken {
            *self = Order {
                is_broken,
                ..Order::default()
            };
        }
    }

    /// Returns whether no repair is needed.
    pub fn is_kept(&self) -> bool {
        self.is_kept_but_for_its_end() && !self.ends_with_reply
    }

    /// The same, except that a notice may be needed after the last reply.
    pub fn is_kept_but_for_its_end(&self) -> bool {
        !self.is_broken && self.open.is_empty() && (self.first.is_some() || self.messages == 0)
    }

    fn read(&mut self, message: &Message, found: &mut Found<'_>) {
        let at = self.messages;
        self.messages += 1;
        let is_reply = message.role == Role::Assistant;
        if message.parts.is_empty() {
            found(at, format_args!("The message is empty."));
        }
        if let Some(begun) = self.begun.filter(|_| !pending::goes_on(message)) {
            found(
                begun,
                format_args!("What the vendor has begun in this reply is not finished, and something else follows it."),
            );
            self.begun = None;
        }
        if is_reply {
            self.begun = pending::is_open(message).then_some(at);
        }
        if message.role != Role::User {
            self.unanswered(at, found);
        }
        if message.role != Role::System {
            if is_reply && self.first.is_none() {
                found(at, format_args!("The conversation begins with the assistant."));
            }
            self.first.get_or_insert(message.role);
            self.ends_with_reply = is_reply && !message.is_paused();
        }
        for part in &message.parts {
            match part {
                Part::ToolCall(call) if is_reply => self.call(at, call, found),
                Part::ToolCall(call) => found(at, format_args!("Call {:?} is not the assistant's.", call.id)),
                Part::ToolResult(result) if message.role == Role::User => self.result(at, result, found),
                Part::ToolResult(result) => {
                    let id = &result.call_id;
                    found(at, format_args!("The result of {id:?} is not in a user message."));
                }
                other => {
                    if message.role == Role::User {
                        self.unanswered(at, found);
                    }
                    if !may_be_said(message.role, other) {
                        let why = match other {
                            Part::Text(_) => "A text is blank.",
                            _ if is_reply => "Thinking is blank and unsigned.",
                            _ => "Thinking is not the assistant's.",
                        };
                        found(at, format_args!("{why}"));
                    }
                }
            }
        }
    }

    /// Reports all open calls as unanswered: results come directly after their calls, so nothing else may come first.
    fn unanswered(&mut self, at: usize, found: &mut Found<'_>) {
        for id in self.open.drain(..) {
            found(at, format_args!("Call {id:?} is not answered directly before this."));
        }
    }

    fn call(&mut self, at: usize, call: &ToolCall, found: &mut Found<'_>) {
        let id = &call.id;
        if id.trim().is_empty() {
            found(at, format_args!("A call has no id."));
        }
        if id.len() > LONGEST_ID {
            found(at, format_args!("The id {id:?} is longer than {LONGEST_ID} bytes."));
        }
        if !is_tool(&call.tool) {
            let name = &call.tool;
            found(
                at,
                format_args!("A tool's name has 1 to {LONGEST_TOOL} bytes, not as {name:?}."),
            );
        }
        self.open.push_back(id.clone());
        if !self.ids.insert(id.clone()) {
            found(at, format_args!("The id {id:?} was used before."));
        }
    }

    fn result(&mut self, at: usize, result: &ToolResult, found: &mut Found<'_>) {
        let id = &result.call_id;
        // The provider knows the call of one that is apart. Another out of order closes all: searching for its call would
        // be quadratic, and one violation is enough.
        let is_next = |open: &mut Arc<str>| open == id;
        if !result.is_apart && self.open.pop_front_if(is_next).is_none() {
            match self.open.is_empty() {
                true => found(
                    at,
                    format_args!("The result answers no call directly before it: {id:?}."),
                ),
                false => found(at, format_args!("The result of {id:?} is out of the order of calls.")),
            }
            self.open.clear();
        }
        if !result.output.iter().all(|part| may_be_output(result, part)) {
            found(
                at,
                format_args!("A text in the result of {id:?} is blank, or a block does not belong there."),
            );
        }
        if result.success == Some(false) && !says_something(result) {
            found(at, format_args!("The result of {id:?} failed and says nothing."));
        }
    }

    fn end(&mut self, found: &mut Found<'_>) {
        let end = self.messages.saturating_sub(1);
        self.unanswered(end, found);
        if self.first.is_none() {
            found(end, format_args!("There is nothing to answer."));
        } else if self.ends_with_reply {
            found(end, format_args!("The conversation ends with the assistant."));
        }
    }
}
