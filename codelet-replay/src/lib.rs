//! Replays recorded conversations under policies for editing their history, and computes what each would have cost.
//!
//! A [`Session`](session::Session) is a recording divided into its requests. [`play`](play::play) runs it under a
//! [`Policy`](policy::Policy): before each request the policy may edit what has been sent, the [`cache`] determines
//! which tokens are read and which are written, a price card gives their cost, and the run tracks whether content that
//! the reply referred to was still shown. The outcome is a [`Run`](run::Run) with a [`Step`](run::Step) for each
//! request. [`report`] makes a page of it; [`totals`] combines many sessions; [`check`] compares the cache model with
//! the recorded usage.
//!
//! It opens no files, reads no clock and starts no threads: callers with many files read them and distribute the work.
//!
//! ```
//! use codelet_context::price;
//! use codelet_replay::play::play;
//! use codelet_replay::policy::{Policy, Settings};
//! use codelet_replay::session::Session;
//!
//! let request = br#"{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"good day"}]}"#;
//! let recording = codelet_transcript::record(request, None)?;
//! let session = Session::new("greeting", recording);
//! let run = play(&session, Policy::Never, &Settings::new(200_000, price::usual()));
//! assert_eq!(run.steps.len(), 1);
//! assert_eq!(run.steps[0].usage.prompt(), run.steps[0].occupancy.total());
//! # Ok::<(), codelet_transcript::ReadError>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod cache;
pub mod check;
pub mod csv;
mod editor;
mod engine;
pub mod json;
mod mask;
mod names;
pub mod options;
pub mod play;
pub mod policy;
pub mod prompt;
mod reference;
pub mod report;
pub mod run;
pub mod session;
mod settings;
mod sketch;
mod stats;
pub mod totals;
