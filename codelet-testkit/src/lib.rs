//! Test support for this workspace, never shipped: conversations that are generated, written in shape notation, or
//! recorded.
//!
//! - [`check`] compares a conversation before and after a change, in shape notation; [`messages`] and [`assert_shape`]
//!   are its halves.
//! - [`conversation()`], [`tidy`], [`broken`] and [`long`] are strategies for property tests; [`target`] generates
//!   compaction targets.
//! - [`conversation_from_bytes`] decodes conversations from a fuzzer's bytes.
//! - [`shape`] parses shape notation, and writes it so that it is read back.
//! - [`session`] generates long, plausible sessions for benchmarks; [`larder_session`] is the bundled, hand-written
//!   one.
//! - [`invariants`] checks the invariants of every compaction.
//! - `server` (with the feature of that name) imitates a provider on loopback, with pacing, faults and request checks.
//! - [`mcp`] imitates an MCP server, over pipes and over HTTP, including faults.
//! - [`Stopwatch`] measures a computation and [`MachineClock`] a wait, excluding other load on the machine.
//! - [`wait_a_moment`] stands between two looks at something that is waited for.
//! - [`corpus()`] finds the recorded conversations, [`fixture`] reads a fixture.

mod bytes;
mod check;
mod conversation;
mod corpus;
pub mod invariants;
pub mod mcp;
pub mod plan;
mod prng;
mod project;
pub mod request;
mod scribe;
#[cfg(feature = "server")]
pub mod server;
mod session;
pub mod shape;
mod stopwatch;
mod story;
pub mod words;

pub use bytes::conversation_from_bytes;
pub use check::{assert_shape, check, messages};
pub use conversation::{Conversation, any_words, broken, conversation, long, target, telling_words, tidy};
pub use corpus::{corpus, fixture, workspace};
pub use invariants::Kept;
pub use prng::Prng;
pub use session::{Spec, session};
pub use stopwatch::{MachineClock, Stopwatch, wait_a_moment};
pub use story::larder_session;
