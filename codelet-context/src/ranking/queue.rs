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
    /// Segments that nobody has looked at, with their blocks, the lowest level first; and where each level ends.
    unseen: Vec<(u32, u32)>,
    ends: Vec<usize>,
    /// What waits on each level and was looked at.
    levels: Vec<Vec<Waiting>>,
    top: BinaryHeap<Waiting>,
}

/// The level of a gain, or of what is known to be no lower.
pub(crate) fn level(gain: f32) -> u16 {
    (gain.min(1.0).to_bits() >> LOWEST) as u16
}

impl Queue {
    /// Segments with their blocks and levels wait to be looked at.
    pub fn of(segments: &[(u32, u32, u16)]) -> Self {
        let levels = usize::from(level(1.0)) + 1;
        let mut ends = vec![0; levels];
        segments.iter().for_each(|(.., level)| ends[usize::from(*level)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut unseen = vec![(0, 0); segments.len()];
        for &(segment, block, level) in segments {
            let end = &mut ends[usize::from(level)];
            unseen[*end] = (segment, block);
            *end += 1;
        }
        Queue {
            unseen,
            ends,
            levels: (0..levels).map(|_| Vec::new()).collect(),
            top: BinaryHeap::new(),
        }
    }

    /// Adds what was looked at.
    pub fn push(&mut self, waiting: Waiting) {
        match self.levels.get_mut(usize::from(level(waiting.gain))) {
            Some(level) => level.push(waiting),
            None => self.top.push(waiting),
        }
    }

    /// What has the highest gain, of what is in order.
    pub fn peek(&self) -> Option<&Waiting> {
        self.top.peek()
    }

    /// Takes out what has the highest gain, of what is in order.
    pub fn pop(&mut self) -> Option<Waiting> {
        self.top.pop()
    }

    /// Brings what lies on the highest level into order. What is unseen there is given back: it is to be looked at, and pushed.
    /// `None` if there is no level left.
    pub fn lower(&mut self) -> Option<Vec<(u32, u32)>> {
        self.top.extend(self.levels.pop()?);
        self.ends.pop();
        Some(self.unseen.split_off(self.ends.last().copied().unwrap_or(0)))
    }
}
