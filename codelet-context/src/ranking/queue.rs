//! A priority queue of candidate segments.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A candidate, with everything that its gain is computed from: in a long history, each list that is asked for one more
/// segment is a wait for the memory.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub segment: u32,
    pub block: u32,
    /// The beginning of its words in the list of all words, and their number.
    pub words: u32,
    pub count: u16,
    /// The bytes of its quoted form.
    pub bytes: u16,
}

/// A candidate that was not examined yet: its score, and the level of an upper bound of its gain.
#[derive(Clone, Copy)]
pub(crate) struct Unseen {
    pub level: u16,
    pub score: f32,
    pub candidate: Candidate,
}

/// A candidate with its value, and the gain that it had when last examined; the gain is not negative.
pub(crate) struct Waiting {
    pub gain: f32,
    pub worth: f32,
    pub candidate: Candidate,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        let later = || other.candidate.segment.cmp(&self.candidate.segment);
        self.gain.total_cmp(&other.gain).then_with(later)
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

/// Gains that differ only in this many low bits share a level. Gains above 1 share one level.
const LOWEST: u32 = 19;

/// A priority queue by gain. Most candidates are never examined, so they wait unsorted on levels, and only those above
/// the highest remaining level are sorted.
pub(crate) struct Queue {
    unseen: Vec<Unseen>,
    /// The unexamined candidates that are left, lowest level first, and the end of each level.
    order: Vec<u32>,
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
    /// Creates a queue of unexamined candidates.
    pub fn of(unseen: Vec<Unseen>) -> Self {
        let levels = usize::from(level(1.0)) + 1;
        let mut ends = vec![0; levels];
        unseen.iter().for_each(|unseen| ends[usize::from(unseen.level)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut order = vec![0; unseen.len()];
        for (unseen, number) in unseen.iter().zip(0..) {
            let end = &mut ends[usize::from(unseen.level)];
            order[*end] = number;
            *end += 1;
        }
        Queue {
            unseen,
            order,
            ends,
            levels: (0..levels).map(|_| Vec::new()).collect(),
            top: BinaryHeap::new(),
        }
    }

    /// Adds an examined candidate.
    pub fn push(&mut self, waiting: Waiting) {
        match self.levels.get_mut(usize::from(level(waiting.gain))) {
            Some(level) => level.push(waiting),
            None => self.top.push(waiting),
        }
    }

    /// The sorted candidate with the highest gain.
    pub fn peek(&self) -> Option<&Waiting> {
        self.top.peek()
    }

    /// Removes the sorted candidate with the highest gain.
    pub fn pop(&mut self) -> Option<Waiting> {
        self.top.pop()
    }

    /// Sorts the candidates of the highest level. Returns its unexamined ones, for the caller to examine and push. `None`
    /// if no level is left.
    pub fn lower(&mut self) -> Option<Vec<Unseen>> {
        self.top.extend(self.levels.pop()?);
        self.ends.pop();
        let order = self.order.drain(self.ends.last().copied().unwrap_or(0)..);
        Some(order.map(|number| self.unseen[number as usize]).collect())
    }
}
