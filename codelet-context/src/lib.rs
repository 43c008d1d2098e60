//! The context engine: keeps a conversation with a model small, valid and faithful, without asking a model.
//!
//! A [`Conversation`](conversation::Conversation) holds the [`History`](history::History), which is everything that was
//! said and only grows, and the [`View`](view::View), which is what would be sent. Between edit points the view grows at
//! its end only, so a provider's cache can be read. At an edit point the view is built anew from the history: prompts,
//! pins and recent work stay, the rest is told in a summary, and whatever was removed can be read back under a handle.
//!
//! What it leaves out: it knows no clock, no files, no network and no environment, and it calls no model. It answers
//! whether to compact ([`policy`]); the caller acts. A summary that a model is to write is returned as a request
//! ([`summary_request`]). Reading and writing the forms of vendors and agents is another crate's.
//!
//! Start with
//!
//! - [`compact()`](compact::compact) to make a whole conversation smaller once: a [`History`](history::History) and a
//!   [`Target`](compact::Target) in, a [`Compaction`](compact::Compaction) out;
//! - [`Conversation`](conversation::Conversation) for an agent at work: the example below, and `examples/agent.rs` with bounded
//!   outputs, bills and refusals;
//! - [`message`] for what both are made of, and [`Action`](message::Action) for what is to be said of each call;
//! - [`validate()`](validate::validate) for the rules of vendors that every view keeps, [`inspect`] for what fills a window.
//!
//! ```
//! use codelet_context::conversation::{Conversation, Report, Signals};
//! use codelet_context::message::{Action, Message, Part, Role, ToolCall, ToolResult};
//! use codelet_context::policy::CompactionConfig;
//! use codelet_context::usage::Usage;
//! use codelet_context::validate::{Vendor, validate};
//!
//! let mut conversation = Conversation::new(CompactionConfig::new(20_000), 0);
//! conversation.append(Message::user("Find out why the parser is slow."));
//! let mut steps = 0;
//! let due = loop {
//!     if let Some(due) = conversation.decide(Signals::default()) {
//!         break due;
//!     }
//!     // Each request is announced and reported: by that it is known what an edit would cost. The edges are where a vendor
//!     // that wants marks for its cache is to have them; `false`: the cache has not expired.
//!     let edges = conversation.sending(false);
//!     assert!(edges.last.is_none_or(|last| last < conversation.view().messages.len()));
//!     // Here the view goes to the model, and its reply comes back with what it has cost.
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
//! assert!(Vendor::ALL.iter().all(|&vendor| validate(conversation.view(), vendor).is_empty()));
//! let (handle, removed) = conversation.archive().iter().next().expect("something was removed");
//! assert_eq!(conversation.recall(handle.as_str(), None), Some(removed.body.as_str()));
//!
//! assert!(conversation.undo_compact());
//! assert_eq!(conversation.view().messages, before);
//! # Ok::<(), codelet_context::conversation::Refusal>(())
//! ```
//!
//! What an agent's tools do, no name of a tool tells: say it of every call, as an [`Action`](message::Action). On that rests
//! which files were changed, which checks fail, which outputs are out of date and what is quoted first; a call that does
//! anything else is only kept and shortened. The readers of `codelet-transcript` say it for the agents that they know.
//!
//! ```
//! use codelet_context::conversation::Conversation;
//! use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
//! use codelet_context::policy::CompactionConfig;
//!
//! fn action(tool: &str, subject: &str) -> Action {
//!     match tool {
//!         "view" => Action::on(ActionKind::Read, [subject]),
//!         // Its parameter `old` holds what it takes away from the file.
//!         "replace" => Action::on(ActionKind::Change, [subject]).replacing(["old"]),
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
//! **Numbers in your own JSON.** Parameters of calls are `serde_json` values here, and have to go back as they came, to the
//! digit: so this crate has [`serde_json`] built with `arbitrary_precision` and `preserve_order`, which cargo then turns on for the
//! whole program. Types of your own that are read through a buffer, as `#[serde(flatten)]`, `#[serde(tag)]` and
//! `#[serde(untagged)]` do, no longer take an `f64` field then. A field of [`serde_json::Number`] is taken everywhere, and its
//! `as_f64` is the figure:
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

/// What the package's page shows is run as the rest of the examples is.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The library whose values stand in [`message::Parameters`], in the version and with the features that they have here.
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
pub use evidence::{anchor, facts};
pub use session::{conversation, inspect};
pub use summary::summary_request;
pub use text::body;

/// Names for people that hold nothing that could pose as more.
pub mod cut {
    pub use crate::message::cut::plain_name;
}

/// Which result answers which call.
pub mod exchange {
    pub use crate::message::exchange::Calls;
}

/// What the model wrote down, a line each, when something was decided, found out or given up.
pub mod note {
    pub use crate::message::note::{Note, NoteKind};
}

/// The notice: what the user is told of a compaction, on one line, with warnings below it.
pub mod notice {
    pub use crate::compact::notice::{Notice, smaller, took};
}

/// What the user wants to stay, whatever is compacted; and the notes that the user wants gone.
pub mod pin {
    pub use crate::message::pin::Pin;
}

/// The archive that keeps what was removed, and the handles under which it is read back.
pub mod recall {
    pub use crate::message::recall::{Archive, Handle, Removed};
}

/// Calls that were not permitted: who has refused them, and what the user said beside no.
///
/// Whoever reads a recording, or runs a session, sets [`ToolResult::refusal`](crate::message::ToolResult::refusal) from a field of
/// the harness. What a tool prints decides nothing: a page, a file or a program can be worded like any refusal.
pub mod refusal {
    pub use crate::message::refusal::{NOT_RUN, PREFACE, Refusal, answer, by_user, is_posed, told_in, words_in};
}

/// What the model is told beside the conversation, one current text of each kind.
pub mod reminder {
    pub use crate::compact::reminder::{current, escape, render, update};
}

/// The list of what is to be done, as the calls that keep it say.
pub mod todo {
    pub use crate::message::todo::{TodoItem, TodoList, TodoState, is_whole};
}

/// How much things weigh: estimates, before a provider has counted.
pub mod tokens {
    pub use crate::message::tokens::{Tokens, bytes_in, estimate_bytes, estimate_message, estimate_part};
}

/// Turns and steps: ranges of the history, never copies of it.
pub mod turn {
    pub use crate::message::turn::{Turn, turns};
}

/// The rules of four vendors for a request, checked on the view that it would be written from.
///
/// A writer merges adjacent messages of the user where its vendor demands it, hoists the system prompt and leaves out
/// thinking that is not its vendor's, and the ids of calls are spelled for a vendor before they are written, so none of
/// these is a violation here. That parameters are an object is certain by their type. Rules are those which the vendors
/// state, or answer with a refusal.
pub mod validate {
    pub use crate::message::validate::{Vendor, Violation, validate};
}

/// What would be sent to the model: a view of the history.
pub mod view {
    pub use crate::message::view::View;
}
