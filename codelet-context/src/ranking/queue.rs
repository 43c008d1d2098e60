//! What waits to be chosen, the best first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A segment that waits, with the gain that it had when it was last looked at, which is not negative.
pub(crate) struct Waiting {
    pub gain: f32,
    pub segment: u32,
    pub block: u32,
    pub worth: f32,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.segment.cmp(&self.segment))
    }
}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Waiting {}

/// Gains that are alike but for so many of their lowest bits share a level. Those above 1 have none of their own.
const LOWEST: u32 = 19;

/// A queue in the order of the gains. Most of what waits is never looked at: it lies on levels, unsorted, and only what is above the
/// highest of them is in order.
pub(crate) struct Queue {
    levels: Vec<Level>,
    top: BinaryHeap<Waiting>,
}

/// What has about the same gain.
#[derive(Default)]
struct Level {
    /// Segments with their blocks of which it is only known that their gain is no higher.
    unseen: Vec<(u32, u32)>,
    seen: Vec<Waiting>,
}

fn level(gain: f32) -> usize {
    (gain.to_bits() >> LOWEST) as usize
}

impl Queue {
    pub fn new() -> Self {
        Queue {
            levels: (0..=level(1.0)).map(|_| Level::default()).collect(),
            top: BinaryHeap::new(),
        }
    }

    /// Adds a segment of a block that has no higher gain than this.
    pub fn add(&mut self, most: f32, segment: u32, block: u32) {
        let level = level(most).min(self.levels.len() - 1);
        self.levels[level].unseen.push((segment, block));
    }

    pub fn push(&mut self, waiting: Waiting) {
        match self.levels.get_mut(level(waiting.gain)) {
            Some(level) => level.seen.push(waiting),
            None => self.top.push(waiting),
        }
    }

    /// What has the highest gain; `look` tells of a segment and its block what it waits with.
    pub fn peek(&mut self, look: impl Fn(u32, u32) -> Waiting) -> Option<&Waiting> {
        while self.top.is_empty() {
            let level = self.levels.pop()?;
            self.top = BinaryHeap::from(level.seen);
            for (segment, block) in level.unseen {
                self.push(look(segment, block));
            }
        }
        self.top.peek()
    }

    /// Takes out what has the highest gain; see [`peek`](Self::peek).
    pub fn pop(&mut self, look: impl Fn(u32, u32) -> Waiting) -> Option<Waiting> {
        self.peek(look)?;
        self.top.pop()
    }
}
