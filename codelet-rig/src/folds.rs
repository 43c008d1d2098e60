//! The conversations that are remembered between two requests. All of them may be lost at any time.

use crate::fold::Fold;
use codelet_context::recall::Archive;
use rig_core::message::Message;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many are remembered. One that is forgotten is read anew from its messages, which takes time; what left it can be read back
/// again after that.
const MOST: usize = 32;

struct Known<K> {
    key: K,
    fold: Fold,
    /// What left it as it was shown last.
    archive: Archive,
}

/// Conversations by what they are known by, the one that was used last at the end.
pub(crate) struct Folds<K>(Arc<Mutex<Vec<Known<K>>>>);

impl<K> Clone for Folds<K> {
    fn clone(&self) -> Self {
        Folds(self.0.clone())
    }
}

impl<K> Default for Folds<K> {
    fn default() -> Self {
        Folds(Arc::default())
    }
}

impl<K: PartialEq + Clone> Folds<K> {
    fn lock(&self) -> MutexGuard<'_, Vec<Known<K>>> {
        // Whoever panicked held it between two whole changes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation that is known by this, as far as these messages go.
    pub fn of(&self, key: &K, messages: &[Message]) -> Option<Fold> {
        let all = self.lock();
        let found = all.iter().find(|known| known.key == *key)?;
        found.fold.is_begun_by(messages).then(|| found.fold.clone())
    }

    /// The conversation that goes furthest of those that these messages begin with.
    pub fn longest(&self, messages: &[Message]) -> Option<Fold> {
        let all = self.lock();
        let begun = all
            .iter()
            .map(|known| &known.fold)
            .filter(|fold| fold.is_begun_by(messages));
        begun.max_by_key(|fold| fold.len()).cloned()
    }

    /// Remembers a conversation and what left it, in place of the one that was used least recently where there are too many.
    pub fn put(&self, key: K, fold: Fold, archive: Archive) {
        let mut all = self.lock();
        all.retain(|known| known.key != key);
        all.push(Known { key, fold, archive });
        let more = all.len().saturating_sub(MOST);
        all.drain(..more);
    }

    /// Forgets a conversation.
    pub fn forget(&self, key: &K) {
        self.lock().retain(|known| known.key != *key);
    }

    /// What left a conversation.
    pub fn archive(&self, key: &K) -> Option<Archive> {
        let all = self.lock();
        all.iter()
            .find(|known| known.key == *key)
            .map(|known| known.archive.clone())
    }

    /// What left any of them.
    pub fn archives(&self) -> Vec<Archive> {
        self.lock().iter().map(|known| known.archive.clone()).collect()
    }
}
