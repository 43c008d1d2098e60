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

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

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
pub use compact::{notice, reminder};
pub use evidence::{anchor, facts, pipe};
pub use message::{cut, exchange, note, pin, recall, refusal, todo, tokens, turn, validate, view};
pub use session::{conversation, inspect};
pub use summary::summary_request;
pub use text::body;
