//! The loop of a coding agent: asks the model, runs tools, compacts, and can be interrupted at any point.
//!
//! A [`Session`](session::Session) holds one conversation and its dependencies: a [`Model`](model::Model), the
//! [`Tool`](tool::Tool)s, a [`Gate`](permission::Gate) that decides on permissions, and the
//! [`Surroundings`](environment::Surroundings) from which reminders are built. A prompt starts a [run], a state
//! machine without side effects: it says what comes next, and the driver does it. One place decides whether to compact:
//! before every request, even in the middle of a turn. Everything that happens is reported as an
//! [`Event`](event::Event), the same to every front end.
//!
//! Left out: this crate opens no files and no connections, and prints nothing. Other crates at the edges do.
//!
//! The modules are layers, highest first; each imports only from those below it:
//!
//! - [`prompts`], commands that expand to prompts, and [`task`], the tool that delegates work to a second session;
//! - `turn`, the actions: the driver, a step's calls, requests, compactions;
//! - [`session`], the state they act on, and how to take changes back;
//! - [`tool`], the tool trait, with the events and hooks that report on calls;
//! - [`environment`], everything read for the model, and [`run`], what comes next and when to stop;
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
