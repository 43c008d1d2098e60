//! What is remembered of conversations between their requests. All of it may be lost at any time.

use super::fold::Fold;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// As much of conversations is remembered as takes about so many bytes.
const MOST_BYTES: usize = 64 << 20;
/// Of so many conversations it is remembered that they were refused.
const MOST_SHRUNK: usize = 10_000;

/// What a conversation is known by: under which terms it is edited, and all its items up to some one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub identity: u64,
    pub hash: u64,
}

/// Conversations as far as they went.
#[derive(Default)]
pub(super) struct Memory(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    folds: HashMap<Place, (u64, Fold)>,
    bytes: usize,
    /// Counts what was put here, to tell what is oldest.
    clock: u64,
    /// By the hash of all up to the last reply of the request that was refused.
    shrinks: HashMap<u64, i32>,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        // Whoever panicked held it between two whole changes, or lost a conversation, which is allowed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a conversation that went as far as this. It is to be put back at its new place.
    pub fn take(&self, place: Place) -> Option<Fold> {
        let mut all = self.lock();
        let (_, fold) = all.folds.remove(&place)?;
        all.bytes -= fold.bytes();
        Some(fold)
    }

    /// Remembers a conversation, and forgets those that were longest not asked for.
    pub fn put(&self, place: Place, fold: Fold) {
        let mut all = self.lock();
        all.clock += 1;
        let clock = all.clock;
        all.bytes += fold.bytes();
        if let Some((_, other)) = all.folds.insert(place, (clock, fold)) {
            all.bytes -= other.bytes();
        }
        while all.bytes > MOST_BYTES && all.folds.len() > 1 {
            let oldest = all
                .folds
                .iter()
                .min_by_key(|(_, (put, _))| *put)
                .map(|(place, _)| *place);
            let Some((_, gone)) = oldest.and_then(|oldest| all.folds.remove(&oldest)) else {
                break;
            };
            all.bytes -= gone.bytes();
        }
    }

    /// The text that was removed from a conversation under this handle.
    pub fn recall(&self, handle: &str) -> Option<String> {
        let all = self.lock();
        let mut folds = all.folds.values();
        folds.find_map(|(_, fold)| fold.recall(handle).map(str::to_owned))
    }

    /// How many times the window of a conversation was made smaller, since it was refused as too long: that one, and none that only begins
    /// like it. `hashes` are those of all up to each item.
    pub fn shrinks(&self, hashes: &[u64]) -> i32 {
        let all = self.lock();
        let known = hashes.iter().rev().find_map(|hash| all.shrinks.get(hash));
        known.copied().unwrap_or(0)
    }

    /// Remembers that.
    pub fn shrink(&self, hash: u64, times: i32) {
        let mut all = self.lock();
        if all.shrinks.len() >= MOST_SHRUNK {
            all.shrinks.clear();
        }
        all.shrinks.insert(hash, times);
    }
}
