//! The context engine: keeps a conversation with a model small, valid and faithful, without asking a model.
//!
//! A [`Conversation`](conversation::Conversation) holds the append-only [`History`](history::History) of all messages,
//! and the [`View`](view::View) that would be sent. Between edit points the view only grows at its end, so the
//! provider's prompt cache stays readable. At an edit point the view is rebuilt from the history: prompts, pins and
//! recent work stay, a summary replaces the rest, and everything removed can be read back under a handle.
//!
//! The crate uses no clock, files, network or environment, and calls no model. It decides whether to compact
//! ([`policy`]); the caller acts. If a model should write the summary, the crate returns the request
//! ([`summary_request`]). Another crate reads and writes the formats of vendors and agents.
//!
//! Start with
//!
//! - [`compact()`](compact::compact) to shrink a whole conversation once: a [`History`](history::History) and a
//!   [`Target`](compact::Target) in, a [`Compaction`](compact::Compaction) out;
//! - [`Conversation`](conversation::Conversation) for a running agent: the example below, and `examples/agent.rs` with
//!   bounded outputs, costs and refusals;
//! - [`message`] for the building blocks of both, and [`Action`](message::Action) for describing the effect of each
//!   call;
//! - [`validate()`](validate::validate) for the vendor rules that every view obeys, [`inspect`] for the contents of a
//!   window.
//!
//! ```
//! use codelet_context::conversation::{Conversation, Report, Signals};
//! use codelet_context::message::{Action, Message, Part, Role, ToolCall, ToolResult};
//! use codelet_context::policy::CompactionConfig;
//! use codelet_context::usage::Usage;
//! use codelet_context::validate::validate;
//!
//! let mut conversation = Conversation::new(CompactionConfig::new(20_000), 0);
//! conversation.append(Message::user("Find out why the parser is slow."));
//! let mut steps = 0;
//! let due = loop {
//!     if let Some(due) = conversation.decide(Signals::default()) {
//!         break due;
//!     }
//!     // Announce and report each request, so that the cost of an edit is known. The edges are the places for the
//!     // cache breakpoints of vendors that need them; `false`: the cache has not expired.
//!     let edges = conversation.sending(false);
//!     assert!(edges.last.is_none_or(|last| last < conversation.view().messages.len()));
//!     // Here the view goes to the model, and the reply arrives with its usage.
//!     let id = format!("call_{steps}");
//!     let call = ToolCall::new(id.as_str(), "run", Default::default()).doing(Action::command("perf report"));
//!     let reply = Message::new(Role::Assistant, vec![Part::ToolCall(call)]);
//!     let usage = Usage::from_exclusive(conversation.state("", 0).current, 0, 0, 40);
//!     conversation.replied(reply, Report { usage, reasoning: 0, is_whole: true });
//!     let output = format!("run {steps}: most time is spent in skip_blank()\n").repeat(40);
//!     conversation.append(Message::results(vec![ToolResult::new(id, Some(true), output)]));
//!     steps += 1;
//! };
//! let before = conversation.view().messages.clone();
//!
//! let notice = conversation.compact(due)?;
//!
//! assert!(notice.to_string().starts_with("Context compacted: "));
//! assert!(notice.after <= conversation.config().target());
//! assert_eq!(validate(conversation.view()), []);
//! let (handle, removed) = conversation.archive().iter().next().expect("something was removed");
//! assert_eq!(conversation.recall(handle.as_str(), None), Some(removed.body.as_str()));
//!
//! assert!(conversation.undo_compact());
//! assert_eq!(conversation.view().messages, before);
//! # Ok::<(), codelet_context::conversation::Refusal>(())
//! ```
//!
//! Tool names do not reveal what tools do, so describe every call with an [`Action`](message::Action). The engine
//! derives from it which files were changed, which checks fail, which outputs are out of date and which lines are
//! quoted first; other calls are only kept and shortened. The readers of `codelet-transcript` set it for the agents
//! that they support.
//!
//! ```
//! use codelet_context::conversation::Conversation;
//! use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
//! use codelet_context::policy::CompactionConfig;
//!
//! fn action(tool: &str, subject: &str) -> Action {
//!     match tool {
//!         "view" => Action::on(ActionKind::Read, [subject]),
//!         "replace" => Action::on(ActionKind::Change, [subject]),
//!         "find" => Action::on(ActionKind::Search, []),
//!         "run" => Action::command(subject),
//!         _ => Action::default(),
//!     }
//! }
//!
//! let mut conversation = Conversation::new(CompactionConfig::new(20_000), 0);
//! let steps = [("replace", "src/parser.rs", true, "done"), ("run", "cargo test", false, "error: expected `;`")];
//! for (number, (tool, subject, success, output)) in steps.into_iter().enumerate() {
//!     let id = number.to_string();
//!     let call = ToolCall::new(id.as_str(), tool, Default::default()).doing(action(tool, subject));
//!     conversation.append(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
//!     conversation.append(Message::results(vec![ToolResult::new(id, Some(success), output)]));
//! }
//! let facts = conversation.facts();
//! assert_eq!(&*facts.files[0].path, "src/parser.rs");
//! assert_eq!((&*facts.checks[0].command, facts.checks[0].success), ("cargo test", Some(false)));
//! ```
//!
//! **Numbers in your own JSON.** Call parameters are `serde_json` values and must be sent back unchanged, to the digit,
//! so this crate enables the features `arbitrary_precision` and `preserve_order` of [`serde_json`], which Cargo then
//! enables for the whole program. As a result, your own types that are deserialised through a buffer, with
//! `#[serde(flatten)]`, `#[serde(tag)]` or `#[serde(untagged)]`, no longer accept an `f64` field. A field of type
//! [`serde_json::Number`] works everywhere, and its `as_f64` returns the value:
//!
//! ```
//! #[derive(serde::Deserialize)]
//! #[serde(untagged)]
//! enum Size {
//!     Share(codelet_context::serde_json::Number),
//!     Name(String),
//! }
//!
//! let size = serde_json::from_str("0.25")?;
//! assert!(matches!(size, Size::Share(share) if share.as_f64() == Some(0.25)));
//! # Ok::<(), serde_json::Error>(())
//! ```

/// Runs the README's examples as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The crate of the values in [`message::Parameters`], in the version and with the features used here.
pub use serde_json;

mod budget;
pub mod compact;
mod evidence;
pub mod history;
pub mod message;
#[doc(hidden)] // For the training of the weights alone.
pub mod ranking;
mod session;
pub mod strategy;
mod summary;
mod text;

pub use budget::{breaks, economics, policy, price, tracker, usage};
pub use evidence::{anchor, facts, pipe};
pub use session::{conversation, inspect};
pub use summary::summary_request;
pub use text::body;

/// Tool names for display, sanitised so that they cannot pose as anything else.
pub mod cut {
    pub use crate::message::cut::plain_name;
}

/// The matching of results with calls.
pub mod exchange {
    pub use crate::message::exchange::Calls;
}

/// The model's notes: one line each for a decision, a finding or an abandoned approach.
pub mod note {
    pub use crate::message::note::{Note, NoteKind};
}

/// The notice: the report of a compaction to the user, on one line, with warnings below it.
pub mod notice {
    pub use crate::compact::notice::{Notice, smaller, took};
}

/// The user's pins, which every compaction keeps, and the notes that the user dropped.
pub mod pin {
    pub use crate::message::pin::Pin;
}

/// The archive of removed content, and the handles for reading it back.
pub mod recall {
    pub use crate::message::recall::{Archive, Handle, Removed};
}

/// Refused calls: who refused them, and the user's words with the refusal.
///
/// The reader of a recording, or the code that runs a session, sets
/// [`ToolResult::refusal`](crate::message::ToolResult::refusal) from a field of the harness. Tool output never decides
/// this: a page, a file or a program can imitate any refusal.
pub mod refusal {
    pub use crate::message::refusal::{NOT_RUN, PREFACE, RefusedBy, answer, by_user, is_posed, told_in, words_in};
}

/// Context for the model besides the conversation, one current text of each kind.
pub mod reminder {
    pub use crate::compact::reminder::{current, escape, render, update};
}

/// The to-do list, from the calls that maintain it.
pub mod todo {
    pub use crate::message::todo::{TodoItem, TodoList, TodoState, is_whole};
}

/// Token estimates, for use before a provider has counted.
pub mod tokens {
    pub use crate::message::tokens::{Tokens, bytes_in, estimate_bytes, estimate_message, estimate_part};
}

/// Turns and steps: ranges of the history, never copies of it.
pub mod turn {
    pub use crate::message::turn::{Turn, turns};
}

/// The request rules of all vendors together, checked on the view from which a request is written.
///
/// A writer merges adjacent user messages if its vendor requires it, hoists the system prompt and leaves out thinking
/// of other vendors, and call ids are converted for a vendor before writing, so none of these is a violation here. The
/// type guarantees that parameters are an object. The rules are those that vendors document or enforce by refusing
/// requests.
pub mod validate {
    pub use crate::message::validate::{Violation, validate};
}

/// The view of the history that would be sent to the model.
pub mod view {
    pub use crate::message::view::View;
}
