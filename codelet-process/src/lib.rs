//! Programs that this process starts, each with all its descendants, including those that left its session and lost
//! their parent: how they are found and ended, and reaped once they are children of this process.

#[cfg(target_os = "linux")]
mod limit;
mod reaper;
#[cfg(target_os = "linux")]
mod scan;
mod tree;

pub use reaper::reap;
pub use tree::{Adoption, MARK, Member, ProcessTree, end_all};
