//! Selects the model that a session uses: the one that the user has chosen, with the chosen effort, or the fallback.

use crate::model::effort::{CacheAfter, Effort};
use crate::model::fallback::Fallback;
use crate::model::{Model, ModelError};
use crate::run::Run;
use crate::session::{Session, config, economics};
use crate::tool::event::{Event, Listen};
use std::sync::Arc;

impl Session {
    /// Switches to another model. It receives everything that the earlier one said and did, but none of its thinking or
    /// signatures.
    pub fn change_model(&mut self, model: Box<dyn Model>) {
        self.exchange_model(model.into());
        self.trusts_model();
    }

    /// Does the same; returns the earlier one.
    pub(crate) fn exchange_model(&mut self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        let profile = model.profile();
        self.conversation.configure(config(profile, self.settings.compact_at));
        self.conversation
            .set_economics(economics(&*model, self.settings.policy));
        let earlier = std::mem::replace(&mut self.parts.model, model);
        // Another model has its own cache.
        (self.sent, self.asked) = (None, None);
        (self.unwritten, self.has_thought) = (0, false);
        earlier
    }

    /// Changes the thinking effort, or returns to the provider's default, from the next request on. Returns the effect
    /// on the prompt cache; `None` if the model does not support the effort, in which case nothing changes.
    pub fn change_effort(&mut self, effort: Option<Effort>) -> Option<CacheAfter> {
        let model = self.parts.model.with_effort(effort)?;
        let after = self.parts.model.cache_after(effort);
        self.parts.model = model.into();
        if after == CacheAfter::Lost {
            (self.sent, self.asked) = (None, None);
        }
        Some(after)
    }

    /// Sets the model to use while the provider stays overloaded.
    pub fn falls_back_to(&mut self, fallback: Fallback) {
        self.fallback = Some(fallback);
    }

    /// Returns whether this failure alone triggers the fallback: the model was given up before, and has not answered
    /// since.
    fn is_enough(&self, error: &ModelError) -> bool {
        let is_doubted = self.fallback.as_ref().is_some_and(|it| it.is_doubted && !it.is_asked);
        is_doubted && matches!(error, ModelError::Busy { .. })
    }

    /// Records that the model has answered.
    pub(crate) fn trusts_model(&mut self) {
        if let Some(fallback) = self.fallback.as_mut().filter(|fallback| !fallback.is_asked) {
            fallback.is_doubted = false;
        }
    }

    /// Returns to the first model, if the fallback is in use.
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

/// Handles a failure: the run tries again or ends, or, if the provider is overloaded and `on_error`, which informs the
/// run, makes it give up, continues with the fallback.
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
