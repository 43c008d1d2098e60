//! rig's messages as the engine's, and back, without loss.
//!
//! What the engine works with becomes a part of its own: texts, calls with what they do, results, pictures, reasoning. What it
//! does not read travels with the part that it belongs to: provider items (`native`), citations, where a turn came from and how
//! it ended. Files and a provider's own items are blocks that nobody alters. So a message that was not edited is the same
//! message again, and of one that was edited all that still holds is kept; rig itself drops a provider item whose block has
//! changed.
//!
//! A result's `is_error` is its status. JSON in a result is shown to the engine as its text and is JSON again unless it was
//! shortened. Citations that rig no longer reads, because their text was edited after they were made, are left out as rig's own
//! store leaves them out.

mod field;
mod media;
mod read;
mod write;

pub use read::read;
pub use write::write;

use codelet_context::message::Action;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Says what a call of a tool does, by the tool's name and the arguments of the call.
///
/// On that rests which files were changed, which checks fail, which outputs are out of date and what is quoted first; a call of
/// which nothing is said is only kept and shortened.
#[derive(Clone)]
pub struct Actions(Arc<Function>);

type Function = dyn Fn(&str, &Map<String, Value>) -> Action + Send + Sync;

impl Actions {
    /// Asks this function.
    pub fn new(action: impl Fn(&str, &Map<String, Value>) -> Action + Send + Sync + 'static) -> Self {
        Actions(Arc::new(action))
    }

    /// What this call does.
    pub fn of(&self, tool: &str, arguments: &Map<String, Value>) -> Action {
        (self.0)(tool, arguments)
    }
}

impl Default for Actions {
    /// The names that coding agents give to their tools (`read_file`, `bash`, `apply_patch`), and for others the names of
    /// their parameters: [`codelet_transcript::actions`].
    fn default() -> Self {
        Actions::new(codelet_transcript::actions::action)
    }
}

impl std::fmt::Debug for Actions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Actions")
    }
}
