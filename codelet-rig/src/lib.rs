//! The engine for agents that are built with [rig](https://rig.rs).

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
