//! A fallback: another model that takes over where a provider stays overloaded, until the prompt under way is done.
//!
//! What goes to it is what goes to any other model of a session: words and calls, nothing that the first one thought or signed. The first
//! model stands again when the prompt is done, and its cache may still be warm. If it was overloaded then, its first failure is enough
//! the next time: the user has waited once.

use crate::model::Model;
use std::sync::Arc;

/// Hears which model is asked from then on.
pub type Changed = Box<dyn Fn(&dyn Model) + Send + Sync>;

/// A model that waits for its turn.
pub struct Fallback {
    /// The fallback; while that is asked, the first model.
    pub(crate) standby: Option<Arc<dyn Model>>,
    /// What a person is told of it: its name and where it is asked.
    pub(crate) shown: String,
    pub(crate) changed: Changed,
    pub(crate) is_asked: bool,
    /// The first model was given up, and has not answered since.
    pub(crate) is_doubted: bool,
}

impl Fallback {
    /// This model, told to a person as `shown`. `changed` hears of each model that is asked from then on, such as to tell the tools
    /// whether it takes pictures.
    pub fn new(model: Box<dyn Model>, shown: String, changed: Changed) -> Self {
        Fallback {
            standby: Some(model.into()),
            shown,
            changed,
            is_asked: false,
            is_doubted: false,
        }
    }
}
