//! The loop of a coding agent: asks the model, runs tools, compacts, and can be interrupted anywhere.
//!
//! A [`Session`](session::Session) holds one conversation and the parts that it lives on: a [`Model`](model::Model), the
//! [`Tool`](tool::Tool)s, a [`Gate`](permission::Gate) that permits their calls, and the [`Surroundings`](surroundings::Surroundings)
//! that reminders are made of. A prompt starts a [`Run`](run::Run), a state machine that does nothing itself: it says
//! what comes next, the driver does it. One place decides to compact, before every request, so also in the middle of
//! a turn. Whatever happens is an [`Event`](event::Event), and every front end listens to the same ones.
//!
//! What it leaves out: it opens no file and no connection and prints nothing. The edges do, in crates of their own.
//!
//! Where to read next: [`run`] for the machine, [`session`] for what it runs in, [`retry`] and [`tally`] for when to give up.
//!
//! ```
//! use codelet_agent::interrupt::Interrupt;
//! use codelet_agent::model::{Profile, Reply};
//! use codelet_agent::permission::Rules;
//! use codelet_agent::run::Ending;
//! use codelet_agent::scripted::Scripted;
//! use codelet_agent::session::{Parts, Session, Settings};
//! use codelet_agent::surroundings::Nowhere;
//! use codelet_context::message::Message;
//! use std::sync::Arc;
//!
//! let model = Scripted::new(Profile::unknown("scripted/one"), [Ok(Reply::of(Message::assistant("Hello.")))]);
//! let parts = Parts {
//!     model: Arc::new(model),
//!     tools: Vec::new(),
//!     gate: Arc::new(Rules::default()),
//!     world: Arc::new(Nowhere),
//! };
//! let mut session = Session::new(parts, Settings::default());
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! let ending = runtime.block_on(session.prompt("Say hello.".into(), &Interrupt::new(), &mut |_| {}));
//! assert_eq!(ending, Ending::Answered("Hello.".to_owned()));
//! # Ok::<(), std::io::Error>(())
//! ```

mod account;
mod again;
pub mod answer;
mod ask;
pub mod asking;
mod begins;
pub mod bill;
mod call;
pub mod commands;
pub mod commit;
mod commit_message;
mod compaction;
pub mod definitions;
mod driver;
pub mod effort;
pub mod essence;
pub mod event;
pub mod fallback;
pub mod glance;
mod hooked;
mod hooked_call;
pub mod hooks;
pub mod instructions;
pub mod interrupt;
pub mod journal;
mod keep_alive;
mod lending;
pub mod mention;
pub mod model;
mod models;
pub mod narrowed;
mod nearer;
mod need;
pub mod orders;
mod output;
mod past;
pub mod permission;
pub mod picture;
pub mod plan;
mod prompt;
pub mod prompts;
pub mod question;
mod refused;
pub mod retry;
pub mod rewind;
pub mod run;
pub mod scripted;
pub mod session;
mod settings;
pub mod skills;
pub mod spelling;
mod step;
pub mod surroundings;
pub mod tally;
pub mod task;
mod tasks;
mod text_tool_calls;
pub mod tool;
mod user;
pub mod wish;
