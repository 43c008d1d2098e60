//! Checks a view against the request rules of all providers together.
//!
//! The following are no violations, since the writer of a request takes care of them: it merges adjacent user messages
//! if the provider demands it, hoists the system prompt, leaves out thinking of other providers and spells call ids for
//! the provider. Their type guarantees that parameters are an object. The rules are those that the providers document
//! or enforce with a refusal.

use crate::message::pending;
use crate::message::view::View;
use crate::message::{Message, Part, Role, ToolResult};
use crate::text::hash::QuickSet;
use std::collections::VecDeque;

/// A rule that a view breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The index into the view of the message that breaks it.
    pub message: usize,
    /// The violation, as a sentence.
    pub sentence: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "message {}: {}", self.message, self.sentence)
    }
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

/// The rules that the view breaks, in the order of messages: those of any provider, since a conversation may go on with
/// another. Linear in the view's size.
pub fn validate(view: &View) -> Vec<Violation> {
    let mut check = Validation {
        found: Vec::new(),
        ids: QuickSet::default(),
        open: VecDeque::new(),
        first: None,
    };
    for (index, message) in view.messages.iter().enumerate() {
        check.message(index, message);
    }
    for index in pending::left_open(&view.messages) {
        check.found(
            index,
            "What the vendor has begun in this reply is not finished, and something else follows it.",
        );
    }
    check.end(view);
    check.found
}

struct Validation<'a> {
    found: Vec<Violation>,
    ids: QuickSet<&'a str>,
    /// Unanswered calls of the newest assistant message.
    open: VecDeque<&'a str>,
    /// The first speaker after the system prompt.
    first: Option<Role>,
}

impl<'a> Validation<'a> {
    fn found(&mut self, message: usize, sentence: impl Into<String>) {
        self.found.push(Violation {
            message,
            sentence: sentence.into(),
        });
    }

    fn message(&mut self, index: usize, message: &'a Message) {
        if message.parts.is_empty() {
            self.found(index, "The message is empty.");
        }
        if message.role != Role::User {
            self.unanswered(index);
        }
        if message.role != Role::System && self.first.is_none() {
            self.first = Some(message.role);
            if message.role == Role::Assistant {
                self.found(index, "The conversation begins with the assistant.");
            }
        }
        for part in &message.parts {
            match part {
                Part::ToolCall(call) if message.role == Role::Assistant => {
                    self.id(index, &call.id);
                    self.tool(index, &call.tool);
                    self.open.push_back(&call.id);
                }
                Part::ToolCall(call) => self.found(index, format!("Call {:?} is not the assistant's.", call.id)),
                Part::ToolResult(result) if message.role == Role::User => self.result(index, result),
                Part::ToolResult(result) => {
                    self.found(
                        index,
                        format!("The result of {:?} is not in a user message.", result.call_id),
                    );
                }
                other => {
                    if message.role == Role::User {
                        self.unanswered(index);
                    }
                    if !may_be_said(message.role, other) {
                        self.found(
                            index,
                            match other {
                                Part::Text(_) => "A text is blank.",
                                _ if message.role == Role::Assistant => "Thinking is blank and unsigned.",
                                _ => "Thinking is not the assistant's.",
                            },
                        );
                    }
                }
            }
        }
    }

    /// Reports all open calls as unanswered: results come directly after their calls, so nothing else may come first.
    fn unanswered(&mut self, index: usize) {
        for id in std::mem::take(&mut self.open) {
            self.found(index, format!("Call {id:?} is not answered directly before this."));
        }
    }

    fn result(&mut self, index: usize, result: &ToolResult) {
        // One answer out of order closes all: searching for its call would be quadratic, and one violation is enough.
        if self.open.front() == Some(&&*result.call_id) {
            self.open.pop_front();
        } else if result.is_apart {
            // The provider knows the call.
        } else if self.open.is_empty() {
            self.found(
                index,
                format!("The result answers no call directly before it: {:?}.", result.call_id),
            );
        } else {
            self.found(
                index,
                format!("The result of {:?} is out of the order of calls.", result.call_id),
            );
            self.open.clear();
        }
        if !result.output.iter().all(|part| may_be_output(result, part)) {
            self.found(
                index,
                format!(
                    "A text in the result of {:?} is blank, or a block does not belong there.",
                    result.call_id
                ),
            );
        }
        if result.success == Some(false) && !says_something(result) {
            self.found(
                index,
                format!("The result of {:?} failed and says nothing.", result.call_id),
            );
        }
    }

    fn id(&mut self, index: usize, id: &'a str) {
        if id.trim().is_empty() {
            self.found(index, "A call has no id.");
        }
        if id.len() > LONGEST_ID {
            self.found(index, format!("The id {id:?} is longer than {LONGEST_ID} bytes."));
        }
        if !self.ids.insert(id) {
            self.found(index, format!("The id {id:?} was used before."));
        }
    }

    fn tool(&mut self, index: usize, name: &str) {
        if !is_tool(name) {
            self.found(
                index,
                format!("A tool's name has 1 to {LONGEST_TOOL} bytes, not as {name:?}."),
            );
        }
    }

    fn end(&mut self, view: &View) {
        let end = view.messages.len().saturating_sub(1);
        self.unanswered(end);
        match view.messages.iter().rposition(|message| message.role != Role::System) {
            None => self.found(end, "There is nothing to answer."),
            Some(last) if view.messages[last].role == Role::Assistant && !view.messages[last].is_paused() => {
                self.found(last, "The conversation ends with the assistant.");
            }
            Some(_) => {}
        }
    }
}
