//! A fallback: another model that takes over where a provider stays overloaded, until the prompt under way is done.
//!
//! What goes to it is what goes to any other model of a session: words and calls, nothing that the first one thought or signed. The first
//! model stands again when the prompt is done, and its cache may still be warm. If it was overloaded then, its first failure is enough
//! the next time: the user has waited once.

use crate::event::{Event, Listen};
use crate::model::{Model, ModelError};
use crate::run::Run;
use crate::session::Session;
use std::sync::Arc;

/// Hears which model is asked from then on.
pub type Changed = Box<dyn Fn(&dyn Model) + Send + Sync>;

/// A model that waits for its turn.
pub struct Fallback {
    /// The fallback; while that is asked, the first model.
    standby: Option<Arc<dyn Model>>,
    /// What a person is told of it: its name and where it is asked.
    shown: String,
    changed: Changed,
    is_asked: bool,
    /// The first model was given up, and has not answered since.
    is_doubted: bool,
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

impl Session {
    /// Has another model asked where the provider stays overloaded.
    pub fn falls_back_to(&mut self, fallback: Fallback) {
        self.fallback = Some(fallback);
    }

    /// Whether this failure is enough to ask the fallback: the model was given up before, and has not answered since.
    fn is_enough(&self, error: &ModelError) -> bool {
        let is_doubted = self.fallback.as_ref().is_some_and(|it| it.is_doubted && !it.is_asked);
        is_doubted && matches!(error, ModelError::Busy { .. })
    }

    /// The model has answered.
    pub(crate) fn trusts_model(&mut self) {
        if let Some(fallback) = self.fallback.as_mut().filter(|fallback| !fallback.is_asked) {
            fallback.is_doubted = false;
        }
    }

    /// Asks the first model again, if the fallback was asked.
    pub(crate) fn returns_from_fallback(&mut self) {
        if self.fallback.as_ref().is_some_and(|fallback| fallback.is_asked) {
            self.swap_models();
        }
    }

    fn swap_models(&mut self) {
        let Some(standby) = self.fallback.as_mut().and_then(|fallback| fallback.standby.take()) else {
            return;
        };
        let earlier = self.exchange_model(standby);
        if let Some(fallback) = &mut self.fallback {
            fallback.standby = Some(earlier);
            fallback.is_asked = !fallback.is_asked;
            (fallback.changed)(&*self.parts.model);
        }
    }
}

/// Takes a failure up: the run tries again, ends, or goes on with the fallback where the provider is overloaded and `on_error`, which tells
/// the run, gives it up.
pub(crate) fn on_error(
    session: &mut Session,
    run: &mut Run,
    error: ModelError,
    listener: &mut dyn Listen,
    on_error: impl FnOnce(&mut Run, ModelError),
) {
    let said = match (&error, session.is_enough(&error)) {
        (ModelError::Busy { said, .. }, true) => said.clone(),
        _ => {
            on_error(run, error);
            match run.given_up_busy() {
                Some(said) => said.to_owned(),
                None => return,
            }
        }
    };
    let Some(fallback) = session.fallback.as_mut().filter(|fallback| !fallback.is_asked) else {
        return;
    };
    fallback.is_doubted = true;
    let first = &session.parts.model.profile().name;
    listener.on(Event::Notice(format!(
        "{first} stays overloaded ({said}); asking {} until this prompt is done",
        fallback.shown
    )));
    session.swap_models();
    run.on_other_model();
}
