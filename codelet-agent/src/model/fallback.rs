//! A fallback: another model that takes over while a provider stays overloaded, until the current prompt is done.
//!
//! It receives what any other model of a session receives: text and calls, but none of the first model's thinking or
//! signatures. The first model returns when the prompt is done, and its cache may still be warm. If it was overloaded
//! then, its first failure is enough the next time: the user has waited once.

use crate::model::Model;
use std::sync::Arc;

/// Called with the model in use from then on.
pub type Changed = Box<dyn Fn(&dyn Model) + Send + Sync>;

/// A model on standby.
pub struct Fallback {
    /// The fallback; while that is in use, the first model.
    pub(crate) standby: Option<Arc<dyn Model>>,
    /// The fallback's description for the user: its name and where it is hosted.
    pub(crate) shown: String,
    pub(crate) changed: Changed,
    pub(crate) is_asked: bool,
    /// True if the first model was given up and has not answered since.
    pub(crate) is_doubted: bool,
}

impl Fallback {
    /// Creates a fallback with this model, described to the user as `shown`. `changed` is called with each model in use
    /// from then on, for example to tell the tools whether it accepts images.
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
