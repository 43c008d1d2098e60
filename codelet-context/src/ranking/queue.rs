//! A priority queue of candidate segments.

use super::block::Block;
use std::collections::BinaryHeap;

/// An examined candidate: ordered by its gain when last examined, which is not negative, and, of two with the same, the
/// earlier segment first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiting {
    rank: u64,
    /// The number of the candidate.
    pub number: u32,
}

impl Waiting {
    /// The candidate with this number, for a segment.
    pub fn new(gain: f32, segment: u32, number: u32) -> Self {
        let rank = u64::from(gain.to_bits()) << 32 | u64::from(!segment);
        Waiting { rank, number }
    }

    /// Its gain when last examined.
    pub fn gain(self) -> f32 {
        f32::from_bits((self.rank >> 32) as u32)
    }
}

/// Gains that differ only in this many low bits share a level. Gains above 1 share one level.
const LOWEST: u32 = 19;

/// The level of what is no candidate.
pub(crate) const NO_LEVEL: u16 = u16::MAX;

/// A priority queue by gain. Most candidates are never examined, so they wait unsorted on levels, and only those above
/// the highest remaining level are sorted.
pub(crate) struct Queue {
    /// Unexamined segments with their blocks, lowest level first; and the end of each level.
    unseen: Vec<(u32, u32)>,
    ends: Vec<usize>,
    /// Examined candidates on each level.
    levels: Vec<Vec<Waiting>>,
    top: BinaryHeap<Waiting>,
}

/// The level of a gain, or of an upper bound of it.
pub(crate) fn level(gain: f32) -> u16 {
    (gain.min(1.0).to_bits() >> LOWEST) as u16
}

impl Queue {
    /// Creates a queue of the unexamined segments of these blocks, given the level of each segment or [`NO_LEVEL`].
    pub fn of(blocks: &[Block], levels: &[u16]) -> Self {
        let mut ends = vec![0; usize::from(level(1.0)) + 1];
        let waiting = levels.iter().filter(|level| **level != NO_LEVEL);
        waiting.for_each(|level| ends[usize::from(*level)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut unseen = vec![(0, 0); sum];
        for (block, number) in blocks.iter().zip(0..) {
            for segment in block.segments.clone() {
                if let Some(end) = ends.get_mut(usize::from(levels[segment as usize])) {
                    unseen[*end] = (segment, number);
                    *end += 1;
                }
            }
        }
        Queue {
            unseen,
            levels: ends.iter().map(|_| Vec::new()).collect(),
            ends,
            top: BinaryHeap::new(),
        }
    }

    /// Adds an examined candidate.
    pub fn push(&mut self, waiting: Waiting) {
        match self.levels.get_mut(usize::from(level(waiting.gain()))) {
            Some(level) => level.push(waiting),
            None => self.top.push(waiting),
        }
    }

    /// The sorted candidate with the highest gain.
    pub fn peek(&self) -> Option<Waiting> {
        self.top.peek().copied()
    }

    /// Removes the sorted candidate with the highest gain.
    pub fn pop(&mut self) -> Option<Waiting> {
        self.top.pop()
    }

    /// Sorts the candidates of the highest level. Returns its unexamined segments, for the caller to examine and push.
    /// `None` if no level is left.
    pub fn lower(&mut self) -> Option<Vec<(u32, u32)>> {
        self.top.extend(self.levels.pop()?);
        self.ends.pop();
        Some(self.unseen.split_off(self.ends.last().copied().unwrap_or(0)))
    }
}
