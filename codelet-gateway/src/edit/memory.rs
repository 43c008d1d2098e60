//! A cache of conversations between their requests. All of it may be lost at any time.

use super::fold::Fold;
use codelet_context::conversation::Texts;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The memory for conversations by default, in bytes, by estimate.
const USUAL_BYTES: usize = 240 << 20;
/// The share of it up to which texts are kept that are no longer shown and that only reading back needs.
const WHOLE_SHARE: f64 = 1.0 / 3.0;
/// The maximum number of refused conversations that are remembered, for each kind of refusal.
const MOST_REFUSED: usize = 10_000;

/// The key of a conversation: the terms under which it is edited, and all its items up to some one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub identity: u64,
    pub hash: u64,
}

/// Conversations as far as they went.
pub(super) struct Memory {
    remembered: Mutex<Remembered>,
    most_bytes: usize,
}

#[derive(Default)]
struct Remembered {
    folds: HashMap<Place, (u64, Fold)>,
    /// The same by their texts, and by the clock when they were put here: the oldest first.
    ages: BTreeMap<(Texts, u64), Place>,
    bytes: usize,
    /// Counts what was put here.
    clock: u64,
    /// By the model, and all up to the last reply of the request that was refused as too long.
    shrinks: HashMap<Place, i32>,
    /// The same for requests that were refused only as they were edited.
    left: HashSet<Place>,
}

impl Remembered {
    fn remove(&mut self, place: Place) -> Option<Fold> {
        let (put, fold) = self.folds.remove(&place)?;
        self.ages.remove(&(fold.texts(), put));
        self.bytes -= fold.bytes();
        Some(fold)
    }

    fn insert(&mut self, place: Place, put: u64, fold: Fold) {
        self.bytes += fold.bytes();
        self.ages.insert((fold.texts(), put), place);
        self.folds.insert(place, (put, fold));
    }

    /// Leaves a conversation with fewer texts, or forgets it where that cannot be.
    fn drop_texts(&mut self, place: Place) {
        let put = self.folds.get(&place).map_or(0, |(put, _)| *put);
        let Some(mut fold) = self.remove(place) else { return };
        let before = fold.texts();
        if before == Texts::All {
            fold.drop_texts(Texts::Shown);
        }
        if fold.texts() == before {
            fold.drop_texts(Texts::Newest);
        }
        if fold.texts() != before {
            self.insert(place, put, fold);
        }
    }

    /// The conversation with these texts that was longest not asked for.
    fn oldest(&self, texts: Texts) -> Option<Place> {
        let mut oldest = self.ages.range((texts, 0)..(texts, self.clock));
        oldest.next().map(|(_, place)| *place)
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory::of(USUAL_BYTES)
    }
}

impl Memory {
    /// Remembers nothing yet, and later about so many bytes.
    pub fn of(most_bytes: usize) -> Self {
        Memory {
            remembered: Mutex::default(),
            most_bytes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        // Whoever panicked held it between two whole changes, or lost a conversation, which is allowed.
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a conversation that went as far as this. It is to be put back at its new place.
    pub fn take(&self, place: Place) -> Option<Fold> {
        let mut all = self.lock();
        all.remove(place)
    }

    /// Remembers a conversation. Where there is no room, those that were longest not asked for are left with the texts that are shown, then without
    /// texts, and at last forgotten.
    pub fn put(&self, place: Place, mut fold: Fold) {
        fold.drop_texts(fold.texts());
        let mut all = self.lock();
        all.clock += 1;
        let clock = all.clock;
        all.remove(place);
        all.insert(place, clock, fold);
        let most_whole = (self.most_bytes as f64 * WHOLE_SHARE) as usize;
        while all.bytes > most_whole
            && let Some(whole) = all.oldest(Texts::All)
        {
            all.drop_texts(whole);
        }
        while all.bytes > self.most_bytes {
            // The one that was asked for last keeps its texts as long as there is anything else to let go of.
            let next = all.oldest(Texts::Shown).or_else(|| all.oldest(Texts::Newest));
            let is_least = |(_, fold): &(u64, Fold)| fold.texts() == Texts::Newest;
            if next.is_none() && all.folds.get(&place).is_none_or(is_least) {
                break;
            }
            all.drop_texts(next.unwrap_or(place));
        }
    }

    /// The text that was removed from a conversation under this handle. A handle is short, so conversations may have different texts under one:
    /// two of them are enough to see that. Where the text was dropped, the conversation is forgotten, so that its next request brings it again.
    pub fn recall(&self, handle: &str) -> Vec<String> {
        let mut all = self.lock();
        let (mut texts, mut dropped) = (Vec::new(), Vec::new());
        for (place, (_, fold)) in &all.folds {
            match fold.recall(handle) {
                Some("") => dropped.push(*place),
                Some(text) if texts.len() < 2 && texts.iter().all(|other| other != text) => texts.push(text.to_owned()),
                _ => {}
            }
        }
        for place in dropped {
            all.remove(place);
        }
        texts
    }

    /// How many times the window of a conversation was made smaller, since it was refused as too long: that one, and none that only begins
    /// like it. `places` are those of all up to each item.
    pub fn shrinks(&self, places: &[Place]) -> i32 {
        let all = self.lock();
        let known = places.iter().rev().find_map(|place| all.shrinks.get(place));
        known.copied().unwrap_or(0)
    }

    /// Remembers that.
    pub fn shrink(&self, place: Place, times: i32) {
        let mut all = self.lock();
        if all.shrinks.len() >= MOST_REFUSED {
            all.shrinks.clear();
        }
        all.shrinks.insert(place, times);
    }

    /// Whether a conversation is left as it is, since the provider refused it only as it was edited.
    pub fn is_left(&self, places: &[Place]) -> bool {
        let all = self.lock();
        !all.left.is_empty() && places.iter().any(|place| all.left.contains(place))
    }

    /// Remembers that.
    pub fn leave(&self, place: Place) {
        let mut all = self.lock();
        if all.left.len() >= MOST_REFUSED {
            all.left.clear();
        }
        all.left.insert(place);
    }
}
