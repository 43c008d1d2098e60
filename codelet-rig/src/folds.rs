//! The conversations that are remembered between two requests. All of them may be lost at any time.

use crate::fold::Fold;
use codelet_context::recall::Archive;
use rig_core::message::Message;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of conversations that are remembered. A forgotten one is read again from its messages, which takes time; then what was
/// removed from it can be read back again.
const MOST: usize = 32;

struct Known<K> {
    key: K,
    fold: Fold,
    /// The texts that were removed from it.
    archive: Archive,
}

/// Conversations by key, the most recently used one last.
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
        // Whoever panicked held it between two complete changes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation with this key, if these messages begin with it.
    pub fn of(&self, key: &K, messages: &[Message]) -> Option<Fold> {
        let all = self.lock();
        let found = all.iter().find(|known| known.key == *key)?;
        found.fold.is_begun_by(messages).then(|| found.fold.clone())
    }

    /// The longest of the conversations that these messages begin with.
    pub fn longest(&self, messages: &[Message]) -> Option<Fold> {
        let all = self.lock();
        let begun = all
            .iter()
            .map(|known| &known.fold)
            .filter(|fold| fold.is_begun_by(messages));
        begun.max_by_key(|fold| fold.len()).cloned()
    }

    /// Remembers a conversation and the texts that were removed from it, in place of the least recently used one if there are too many.
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

    /// The texts that were removed from a conversation.
    pub fn archive(&self, key: &K) -> Option<Archive> {
        let all = self.lock();
        all.iter()
            .find(|known| known.key == *key)
            .map(|known| known.archive.clone())
    }

    /// The texts that were removed from all conversations.
    pub fn archives(&self) -> Vec<Archive> {
        self.lock().iter().map(|known| known.archive.clone()).collect()
    }
}
