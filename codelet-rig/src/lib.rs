//! The engine for agents that are built with [rig](https://rig.rs): keeps their conversations within the context window, without
//! asking a model.
//!
//! - [`CompactionHook`] keeps each request of a run within the window, however many steps it has. It edits what is sent; the run
//!   and its memory keep everything.
//! - [`CompactedMemory`] wraps any memory: that one keeps everything, and what is loaded fits. For conversations of many short
//!   runs. An agent has the hook or this memory, not both.
//! - [`Recall`] is the tool with which the model reads back what was removed.
//! - [`CompactionPolicy`], [`EstimatedTokens`] and [`Demoted`] are parts for `rig-memory`.
//! - [`read`] and [`write()`] convert rig's messages to the engine's and back without loss, for loops of your own.
//!
//! [`Settings`] say how large the window is and, with [`Actions`], what the tools do. `examples/agent.rs` is an agent with a run of
//! a hundred steps in a window of 32,000 tokens.
//!
//! ```
//! use codelet_rig::{CompactedMemory, Recalled, Settings};
//! use rig_core::memory::{ConversationMemory, InMemoryConversationMemory};
//! use rig_core::message::Message;
//!
//! # futures_util::FutureExt::now_or_never(async {
//! let memory = CompactedMemory::new(InMemoryConversationMemory::new(), Settings::window(8_000));
//! let conversation = "one".into();
//! for number in 0..40 {
//!     let answer = format!("Part {number} is fine, and here is why. ").repeat(20);
//!     let said = vec![Message::user(format!("How is part {number}?")), Message::assistant(answer)];
//!     memory.append(&conversation, said).await?;
//! }
//! let loaded = memory.load(&conversation).await?;
//! // The store has everything, and what was removed can be read back.
//! assert_eq!(memory.inner().load(&conversation).await?.len(), 80);
//! assert!(loaded.len() < 80);
//! let found = memory.recall(&conversation).read(&Recalled::search("Part 3 is fine"))?;
//! assert!(found.contains("here is why"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).expect("nothing here waits")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It sends nothing itself, and does not weigh the price of an edit. `docs/rig.md` says which part is for whom,
//! `docs/decisions/0056-rig.md` why.

mod convert;
mod demoted;
mod fold;
mod folds;
mod hook;
mod memory;
mod policy;
mod recall;
mod settings;

pub use convert::{Actions, read, write};
pub use demoted::{Demoted, Summary};
pub use hook::CompactionHook;
pub use memory::CompactedMemory;
pub use policy::{CompactionPolicy, EstimatedTokens};
pub use recall::{Recall, RecallError, Recalled};
pub use settings::Settings;
