//! For the tests of this workspace, never shipped: conversations made up, written down and found.
//!
//! - [`check`] compares a conversation before and after a change, in shape notation; [`messages`] and [`assert_shape`] are
//!   its halves.
//! - [`conversation()`], [`tidy`], [`broken`] and [`long`] are strategies for property tests; [`target`] is what to compact to.
//! - [`conversation_from_bytes`] spells conversations in a fuzzer's bytes.
//! - [`session`] makes long, plausible sessions for benchmarks; [`larder_session`] is the bundled one, told by hand.
//! - [`invariants`] asks of a compaction what every compaction must keep.
//! - `server` (behind the feature of that name) plays a provider on loopback: paced, cut, refused and checked.
//! - [`mcp`] plays a server of tools, over pipes and over HTTP, with its faults.
//! - [`Stopwatch`] measures how long something takes, whatever else the machine does.
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
pub use stopwatch::Stopwatch;
pub use story::larder_session;
