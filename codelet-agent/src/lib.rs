//! The loop of a coding agent: asks the model, runs tools, compacts, and can be interrupted anywhere.
//!
//! A [`Session`](session::Session) holds one conversation and the parts that it lives on: a [`Model`](model::Model), the
//! [`Tool`](tool::Tool)s, a [`Gate`](permission::Gate) that permits their calls, and the [`Surroundings`](environment::Surroundings)
//! that reminders are made of. A prompt starts a [run], a state machine that does nothing itself: it says
//! what comes next, the driver does it. One place decides to compact, before every request, so also in the middle of
//! a turn. Whatever happens is an [`Event`](event::Event), and every front end listens to the same ones.
//!
//! What it leaves out: it opens no file and no connection and prints nothing. The edges do, in crates of their own.
//!
//! The folders are floors, the highest first, and each imports only those below it:
//!
//! - [`prompts`], commands that stand for prompts, and [`task`], the tool that hands work on to a second session;
//! - `turn`, what is done: the driver, a step's calls, requests, compactions;
//! - [`session`], what it is done to, and how that is taken back;
//! - [`tool`], what a tool is, with the events and hooks that tell of it;
//! - [`surroundings`], what is read for the model, and [`run`], what comes next and when to give up;
//! - [`permission`], [`model`], [`interrupt`].
//!
//! ```
//! use codelet_agent::interrupt::Interrupt;
//! use codelet_agent::model::{Profile, Reply};
//! use codelet_agent::permission::Rules;
//! use codelet_agent::run::Ending;
//! use codelet_agent::scripted::Scripted;
//! use codelet_agent::session::{Parts, Session, Settings};
//! use codelet_agent::environment::Nowhere;
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

pub mod environment;
pub mod interrupt;
pub mod model;
pub mod permission;
pub mod prompts;
pub mod run;
pub mod session;
pub mod task;
pub mod tool;
mod turn;

pub use environment::{commit, definitions, file_reference, instructions, journal, spelling};
pub use model::{bill, effort, fallback, picture, scripted};
pub use permission::{asking, narrowed, orders, question};
pub use prompts::commands;
pub use run::{answer, retry};
pub use session::{plan, rewind, snapshot};
pub use tool::{event, hooks, skills, wish};
