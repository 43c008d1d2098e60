//! rig's messages as the engine's, and back, without loss.
//!
//! Texts, calls with their effects, results, pictures and reasoning become parts of the engine's own. Everything else travels
//! with the part that it belongs to: provider items (`native`), citations, origin and stop reason of a turn. Files and a
//! provider's own items are blocks that are never changed. So a message that was not edited comes back the same, and an edited
//! one keeps all that still holds; rig itself drops a provider item whose block has changed.
//!
//! `is_error` of a result is its status. The engine sees JSON in a result as text; it becomes JSON again unless it was shortened.
//! Citations whose text was edited later are left out, as rig's own store does.

mod field;
mod media;
mod read;
mod write;

pub use read::read;
pub use write::write;

use codelet_context::message::Action;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The effect of a tool call, from the name of the tool and the arguments of the call.
///
/// The engine derives from it which files were changed, which checks fail, which outputs are out of date and what to quote first.
/// A call without a known effect is only kept and shortened.
#[derive(Clone)]
pub struct Actions(Arc<Function>);

type Function = dyn Fn(&str, &Map<String, Value>) -> Action + Send + Sync;

impl Actions {
    /// Actions that this function returns.
    pub fn new(action: impl Fn(&str, &Map<String, Value>) -> Action + Send + Sync + 'static) -> Self {
        Actions(Arc::new(action))
    }

    /// The effect of this call.
    pub fn of(&self, tool: &str, arguments: &Map<String, Value>) -> Action {
        (self.0)(tool, arguments)
    }
}

impl Default for Actions {
    /// Knows the names that coding agents give to their tools (`read_file`, `bash`, `apply_patch`), and otherwise goes by the names
    /// of the parameters: [`codelet_transcript::actions`].
    fn default() -> Self {
        Actions::new(codelet_transcript::actions::action)
    }
}

impl std::fmt::Debug for Actions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Actions")
    }
}
