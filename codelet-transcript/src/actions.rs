//! What the tools of the known agents do, in the engine's notions: a table from names to actions.

use codelet_context::message::Action;
use serde_json::{Map, Value};

/// What a call of this tool with these parameters does. A name that no row knows is judged by its parameters.
pub fn action(_tool: &str, _parameters: &Map<String, Value>) -> Action {
    Action::default()
}
