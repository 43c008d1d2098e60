//! The rules of four vendors for a request, checked on the view that it would be written from.
//!
//! A writer merges adjacent messages of the user where its vendor demands it, hoists the system prompt and leaves out
//! thinking that is not its vendor's, and the ids of calls are spelled for a vendor before they are written, so none of
//! these is a violation here. That parameters are an object is certain by their type. Rules are those which the vendors
//! state, or answer with a refusal.

use crate::message::pending;
use crate::message::view::View;
use crate::message::{Message, Part, Role, ToolResult};
use crate::text::hash::QuickSet;
use std::collections::VecDeque;

/// Who is to accept a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Vendor {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini `generateContent`.
    Gemini,
}

impl Vendor {
    /// All of them.
    pub const ALL: [Vendor; 4] = [
        Vendor::Anthropic,
        Vendor::OpenaiChat,
        Vendor::OpenaiResponses,
        Vendor::Gemini,
    ];

    /// The name in messages to people.
    fn name(self) -> &'static str {
        match self {
            Vendor::Anthropic => "Anthropic",
            Vendor::OpenaiChat => "OpenAI (Chat Completions)",
            Vendor::OpenaiResponses => "OpenAI (Responses)",
            Vendor::Gemini => "Gemini",
        }
    }
}

impl std::fmt::Display for Vendor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A rule that a view breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The message where it is broken, as an index into the view.
    pub message: usize,
    /// What is wrong there, as a sentence.
    pub sentence: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "message {}: {}", self.message, self.sentence)
    }
}

/// What a vendor's rules differ in. How a vendor has ids and tools' names spelled is left to whoever writes the request.
struct Rules {
    /// Each call id is used once. A vendor that matches answers by their order does not look at ids.
    unique_ids: bool,
    /// The conversation begins with the user's message.
    user_first: bool,
    /// A failed result says something.
    failure_speaks: bool,
    /// What the vendor's own tools have begun in a reply is finished before anything else is said.
    finishes_own: bool,
}

impl Vendor {
    fn rules(self) -> Rules {
        let strict = Rules {
            unique_ids: true,
            user_first: true,
            failure_speaks: true,
            finishes_own: true,
        };
        match self {
            Vendor::Anthropic => strict,
            Vendor::OpenaiChat => Rules {
                user_first: false,
                failure_speaks: false,
                finishes_own: false,
                ..strict
            },
            Vendor::OpenaiResponses => Rules {
                user_first: false,
                failure_speaks: false,
                finishes_own: false,
                ..strict
            },
            Vendor::Gemini => Rules {
                unique_ids: false,
                failure_speaks: false,
                finishes_own: false,
                ..strict
            },
        }
    }
}

/// The most bytes of a call id: more than any vendor makes. Ids are not weighed, so one without a bound could fill a window.
pub(crate) const LONGEST_ID: usize = 128;
/// The same of a tool's name, of which vendors take 64 or 128.
pub(crate) const LONGEST_TOOL: usize = 128;

/// Whether a call may have this id.
pub(crate) fn is_id(id: &str) -> bool {
    !id.trim().is_empty() && id.len() <= LONGEST_ID
}

/// Whether a call may name this tool.
pub(crate) fn is_tool(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= LONGEST_TOOL
}

/// Whether a result shows anything: words, a picture, or a block that the engine does not know.
pub(crate) fn says_something(result: &ToolResult) -> bool {
    result.error.as_ref().is_some_and(|error| !error.is_blank())
        || result.output.iter().any(|part| match part {
            Part::Text(text) => !text.body.is_blank(),
            _ => true,
        })
}

/// Whether a block may stand in a result. Blank text may not, but for the empty string of a result that is one string.
pub(crate) fn may_be_output(result: &ToolResult, part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.body.is_blank() || (result.bare && result.output.len() == 1 && text.body.is_empty()),
        Part::Image(_) | Part::Opaque(_) => true,
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => false,
    }
}

/// Whether a part other than a call or a result may stand in a message of this role.
pub(crate) fn may_be_said(role: Role, part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.body.is_blank(),
        Part::Thinking(thinking) => {
            role == Role::Assistant && (!thinking.body.is_blank() || thinking.is_bound() || !thinking.extra.is_empty())
        }
        _ => true,
    }
}

/// Every rule of the vendor that the view breaks, in the order of messages. Linear in the view's size.
pub fn validate(view: &View, vendor: Vendor) -> Vec<Violation> {
    let mut check = Check {
        rules: vendor.rules(),
        found: Vec::new(),
        ids: QuickSet::default(),
        open: VecDeque::new(),
        first: None,
    };
    for (index, message) in view.messages.iter().enumerate() {
        check.message(index, message);
    }
    if check.rules.finishes_own {
        for index in pending::left_open(&view.messages) {
            check.found(
                index,
                "What the vendor has begun in this reply is not finished, and something else follows it.",
            );
        }
    }
    check.end(view);
    check.found
}

struct Check<'a> {
    rules: Rules,
    found: Vec<Violation>,
    ids: QuickSet<&'a str>,
    /// Calls of the newest assistant message that wait for their answer.
    open: VecDeque<&'a str>,
    /// Who spoke first after the system.
    first: Option<Role>,
}

impl<'a> Check<'a> {
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
            if message.role == Role::Assistant && self.rules.user_first {
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

    /// Results come first after their calls, so whatever else comes finds open calls unanswered.
    fn unanswered(&mut self, index: usize) {
        for id in std::mem::take(&mut self.open) {
            self.found(index, format!("Call {id:?} is not answered directly before this."));
        }
    }

    fn result(&mut self, index: usize, result: &ToolResult) {
        // One answer out of order closes all: to search for its call would be quadratic, and one violation is enough.
        if self.open.front() == Some(&&*result.call_id) {
            self.open.pop_front();
        } else if result.is_apart {
            // The vendor knows its call.
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
        if self.rules.failure_speaks && result.success == Some(false) && !says_something(result) {
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
        if self.rules.unique_ids && !self.ids.insert(id) {
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
