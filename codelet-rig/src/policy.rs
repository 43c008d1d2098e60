//! The engine as a policy of `rig-memory`, and its estimate as a token counter.

use crate::convert::{Actions, read};
use crate::fold::{EditPoints, Fold};
use crate::folds::Folds;
use crate::recall::Recall;
use crate::settings::Settings;
use codelet_context::tokens::estimate_message;
use rig_core::memory::MemoryError;
use rig_core::message::Message;
use rig_memory::{MemoryPolicy, TokenCounter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A [`MemoryPolicy`] that shapes a loaded history as [`CompactedMemory`](crate::CompactedMemory) does, for memories built from
/// `rig-memory`'s parts.
///
/// It demotes all messages before those that are kept unchanged; it may keep prompts among them too.
///
/// A policy does not know which conversation it shapes. So its [`recall`](Self::recall) reads back what was removed from any of
/// the last ones: use one policy for each user.
#[derive(Clone)]
pub struct CompactionPolicy {
    settings: Settings,
    folds: Folds<u64>,
    number: Arc<AtomicU64>,
}

impl CompactionPolicy {
    /// A policy with these settings.
    pub fn new(settings: Settings) -> Self {
        CompactionPolicy {
            settings,
            folds: Folds::default(),
            number: Arc::default(),
        }
    }

    /// The tool that reads back what was removed.
    pub fn recall(&self) -> Recall {
        let folds = self.folds.clone();
        Recall::new(move |_| folds.archives())
    }

    fn shaped(&self, messages: &[Message]) -> Fold {
        let known = self.folds.longest(messages);
        let new = || Fold::new(&self.settings, EditPoints::Runs, self.settings.overhead, None);
        let mut fold = known.unwrap_or_else(new);
        fold.advance(messages, None);
        let here = fold.here();
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.folds.put(number, fold, here.archive().clone());
        here
    }
}

impl MemoryPolicy for CompactionPolicy {
    fn apply(&self, messages: Vec<Message>) -> Result<Vec<Message>, MemoryError> {
        Ok(self.shaped(&messages).shown())
    }

    fn apply_with_demoted(&self, mut messages: Vec<Message>) -> Result<(Vec<Message>, Vec<Message>), MemoryError> {
        let shaped = self.shaped(&messages);
        messages.truncate(shaped.kept_from());
        Ok((shaped.shown(), messages))
    }
}

/// A [`TokenCounter`] that estimates as the engine does: four bytes of text are a token, pictures and files have fixed sizes, and the
/// sum is scaled by [`Settings::tokens_per_four_bytes`].
#[derive(Clone, Debug)]
pub struct EstimatedTokens {
    settings: Settings,
}

impl EstimatedTokens {
    /// An estimate for a model with these settings.
    pub fn new(settings: Settings) -> Self {
        EstimatedTokens { settings }
    }
}

impl TokenCounter for EstimatedTokens {
    fn count(&self, message: &Message) -> usize {
        let actions = Actions::new(|_, _| codelet_context::message::Action::default());
        self.settings.scale(estimate_message(&read(message, &actions))) as usize
    }
}
