//! Selects the segments to keep: those with the most new information per byte, until the budget is filled.
//!
//! Segments are selected greedily by value × share of their words that nothing selected contains yet ÷ a power of their
//! bytes. The first two only fall as more is selected, so a segment that still leads after its gain is recomputed is
//! the best one (lazy greedy, Minoux 1978, "Accelerated greedy algorithms for maximizing submodular set functions").

use super::features;
use super::focus::Focus;
use super::index::{RankingIndex, Word};
use super::look::bit;
use super::queue::{self, Queue, Waiting};
use super::weights::{self, Score, Weights};
use super::whole::Whole;
use crate::text::hash::{self, ByHash};
use std::sync::LazyLock;

/// A word that was selected n times counts 1 ÷ (1 + n × this).
const REPETITION: f32 = 0.7;
/// The power of the bytes that a value is divided by, and the constant added to the bytes, so that segments don't win
/// by being short.
const POWER: f32 = 0.8;
const FRAME: f32 = 12.0;
/// The bytes of the line break and the omission marker beside a segment.
const LINE: usize = 3;
/// The number of segments too large for the room after which the search ends.
const PATIENCE: usize = 400;

/// The candidates and constraints of a selection.
pub(crate) struct Task<'a> {
    pub index: &'a RankingIndex,
    pub weights: &'a Weights,
    /// By block: true if its segments may be selected.
    pub open: &'a [bool],
    /// Segments that are shown anyway, ascending: their words are not new.
    pub shown: &'a [u32],
    /// Words of a text beside the record.
    pub beside: &'a [u32],
    /// The bytes of the framing lines above a block's first selected segment, given the turns and blocks already
    /// opened.
    pub frame: &'a dyn Fn(u32, &Opened) -> usize,
    /// The user's focus.
    pub focus: Option<&'a Focus>,
}

/// The blocks and turns with selected segments.
pub(crate) struct Opened {
    /// By block.
    pub blocks: Vec<bool>,
    /// By turn.
    pub turns: Vec<bool>,
}

/// An examined segment, with what its gain is computed from, which stands too far apart in the index to be looked up
/// again and again.
#[derive(Clone, Copy)]
struct Examined {
    segment: u32,
    block: u32,
    worth: f32,
    /// The beginning of its words in the list of all words, and their number.
    words: u32,
    count: u16,
    /// The bytes of its quoted form, and of what is quoted with it.
    bytes: u32,
    /// The rarity of its words, together.
    all: f32,
    /// The number of selected segments when its gain was computed: until the next one, the gain is exact.
    selected: u32,
}

/// Selects segments of open blocks in one pass, without framing lines; returns them in ascending order.
pub(crate) fn choose(index: &RankingIndex, weights: &Weights, open: &[bool], shown: &[u32], bytes: usize) -> Vec<u32> {
    let task = Task {
        index,
        weights,
        open,
        shown,
        beside: &[],
        frame: &|_, _| LINE,
        focus: None,
    };
    let mut packing = Packing::new(&task);
    packing.fill(bytes);
    packing.taken()
}

fn power(bytes: usize) -> f32 {
    libm::powf(bytes as f32 + FRAME, POWER)
}

/// Cached powers of small numbers, since most segments are short.
static POWERS: LazyLock<Vec<f32>> = LazyLock::new(|| (0..1024).map(power).collect());

/// The divisor for the value of something of this size.
fn price(powers: &[f32], bytes: usize) -> f32 {
    powers.get(bytes).copied().unwrap_or_else(|| power(bytes))
}

/// A selection in progress.
pub(crate) struct Packing<'a> {
    task: &'a Task<'a>,
    whole: Whole<'a>,
    /// By word number: the value that is left, and the number of selected segments that contain it. The values stand
    /// alone, since they are read very often.
    new: Vec<f32>,
    covered: Vec<u32>,
    opened: Opened,
    examined: Vec<Examined>,
    queue: Queue,
    /// Hashes of selected lines that are repetitions.
    said: ByHash<()>,
    /// By block: the size of its frame, and whether its turn and its call were open when that was computed.
    frames: Vec<Option<((bool, bool), u32)>>,
    /// The scores by segment, each with the rarity of its words, together.
    scores: Vec<(f32, f32)>,
    /// By block: true if it belongs to a file in the user's focus; empty without a focus.
    named: Vec<bool>,
    /// Segments in the order of selection.
    order: Vec<u32>,
    /// By segment: true if it is shown, selected or was given up.
    settled: Vec<bool>,
}

impl<'a> Packing<'a> {
    /// Computes the score of each segment; nothing is selected yet.
    pub fn new(task: &'a Task<'a>) -> Self {
        let index = task.index;
        let whole = Whole::of(index);
        let (scores, levels) = scored(task, &whole);
        let names_file = |focus: &Focus| {
            let blocks = 0..index.blocks.len() as u32;
            blocks.map(|block| focus.names_file_of(index, block)).collect()
        };
        let mut packing = Packing {
            task,
            new: (0..index.known.len()).map(|word| whole.rarity(word)).collect(),
            covered: vec![0; index.known.len()],
            whole,
            opened: Opened {
                blocks: vec![false; index.blocks.len()],
                turns: vec![false; index.blocks.last().map_or(0, |block| block.turn as usize + 1)],
            },
            examined: Vec::new(),
            queue: Queue::of(&index.blocks, &levels),
            scores,
            said: ByHash::default(),
            frames: vec![None; index.blocks.len()],
            named: task.focus.map_or_else(Vec::new, names_file),
            order: Vec::new(),
            settled: index.segments.iter().map(|segment| segment.bytes == 0).collect(),
        };
        for &segment in task.shown {
            packing.settled[segment as usize] = true;
            packing.cover(index.words_of(segment));
        }
        task.beside.iter().for_each(|&word| packing.cover_word(word as usize));
        packing
    }

    /// Selects further segments of at most this many bytes, including their frames; returns whether any were selected.
    pub fn fill(&mut self, bytes: usize) -> bool {
        let (mut room, taken) = (bytes, self.order.len());
        let mut too_large = Vec::new();
        while self.peek().is_some()
            && let Some(waiting) = self.queue.pop()
        {
            let next = self.examined[waiting.number as usize];
            let (gain, cost) = match next.selected == self.order.len() as u32 {
                true => (waiting.gain(), self.cost(&next)),
                false => self.gain(&next),
            };
            if gain < waiting.gain() && self.peek().is_some_and(|other| gain < other.gain()) {
                self.examined[waiting.number as usize].selected = self.order.len() as u32;
                self.queue.push(Waiting::new(gain, next.segment, waiting.number));
                continue;
            }
            if self.settled[next.segment as usize] || self.is_taken_again(&next) {
                continue;
            }
            if cost > room {
                too_large.push(waiting);
                if too_large.len() == PATIENCE {
                    break;
                }
                continue;
            }
            room -= cost;
            self.take(&next);
        }
        too_large.into_iter().for_each(|waiting| self.queue.push(waiting));
        self.order.len() > taken
    }

    /// Drops the segments selected last, of this many bytes together or all, for good; returns whether there were any.
    pub fn give_up(&mut self, bytes: usize) -> bool {
        let (mut sum, before) = (0, self.order.len());
        while let Some(last) = self.order.pop_if(|_| sum < bytes) {
            sum += self.task.index.bytes_of(last) + LINE;
        }
        self.order.len() < before
    }

    /// The selected segments, ascending.
    pub fn taken(&self) -> Vec<u32> {
        let mut taken = self.order.clone();
        taken.sort_unstable();
        taken
    }

    /// The candidate with the highest gain.
    fn peek(&mut self) -> Option<Waiting> {
        while self.queue.peek().is_none() {
            for (segment, block) in self.queue.lower()? {
                let next = self.examine(segment, block);
                let (gain, _) = self.gain(&next);
                self.queue.push(Waiting::new(gain, segment, self.examined.len() as u32));
                self.examined.push(next);
            }
        }
        self.queue.peek()
    }

    fn examine(&self, segment: u32, block: u32) -> Examined {
        let index = self.task.index;
        let words = index.words_before(segment);
        let known = &index.segments[segment as usize];
        let (score, all) = self.scores[segment as usize];
        let factor = |focus: &Focus| focus.factor(index.text_of(block, segment), self.named[block as usize]);
        Examined {
            segment,
            block,
            worth: weights::worth(score) * self.task.focus.map_or(1.0, factor),
            words: words as u32,
            count: (known.words as usize - words) as u16,
            bytes: u32::from(known.bytes) + self.beside(segment, block) as u32,
            all,
            selected: self.order.len() as u32,
        }
    }

    fn words_of(&self, next: &Examined) -> &'a [Word] {
        let start = next.words as usize;
        self.task.index.words_in(start..start + usize::from(next.count))
    }

    fn cover(&mut self, words: &[Word]) {
        words.iter().for_each(|word| self.cover_word(word.number()));
    }

    fn cover_word(&mut self, word: usize) {
        self.covered[word] += 1;
        self.new[word] = self.whole.rarity(word) / (1.0 + REPETITION * self.covered[word] as f32);
    }

    fn take(&mut self, next: &Examined) {
        let block = &self.task.index.blocks[next.block as usize];
        self.opened.blocks[next.block as usize] = true;
        self.opened.turns[block.turn as usize] = true;
        if let Some(call) = block.call {
            self.opened.blocks[call as usize] = true;
        }
        if self.comes_again(next) {
            self.said.insert(self.line(next), ());
        }
        let companions = self.task.index.companions(next.block, next.segment);
        for segment in companions.chain([next.segment]) {
            if !std::mem::replace(&mut self.settled[segment as usize], true) {
                self.cover(self.task.index.words_of(segment));
                self.order.push(segment);
            }
        }
    }

    /// The bytes of what is quoted together with a segment.
    fn beside(&self, segment: u32, block: u32) -> usize {
        let companions = self.task.index.companions(block, segment);
        let others = companions.filter(|&other| other != segment && !self.settled[other as usize]);
        others.map(|other| self.task.index.bytes_of(other) + LINE).sum()
    }

    /// The hash of a segment's quoted form.
    fn line(&self, next: &Examined) -> u64 {
        hash::bytes(self.task.index.quoted(next.block, next.segment).as_bytes())
    }

    /// Returns whether the same line occurred before.
    fn comes_again(&self, next: &Examined) -> bool {
        self.task.index.segments[next.segment as usize].looks & const { bit("dup") } != 0
    }

    /// Returns whether this is a repetition of which a copy was already selected.
    fn is_taken_again(&self, next: &Examined) -> bool {
        self.comes_again(next) && self.said.contains_key(&self.line(next))
    }

    /// The value of a segment, scaled by the share of its words that is new, for what it costs; and that cost in bytes.
    fn gain(&mut self, next: &Examined) -> (f32, usize) {
        let words = self.words_of(next).iter();
        let new = words.fold(0.0, |new, word| new + self.new[word.number()]);
        let gain = if next.all > 0.0 {
            next.worth * new / next.all
        } else {
            next.worth
        };
        let cost = self.cost(next);
        (gain / price(&POWERS, cost), cost)
    }

    /// The bytes that a segment adds: its own, with a line break and an omission marker, and those of the frame that it
    /// requires.
    fn cost(&mut self, next: &Examined) -> usize {
        let own = next.bytes as usize + LINE;
        if self.opened.blocks[next.block as usize] {
            return own;
        }
        let block = &self.task.index.blocks[next.block as usize];
        let call = block.call.is_some_and(|call| self.opened.blocks[call as usize]);
        let now = (self.opened.turns[block.turn as usize], call);
        let known = self.frames[next.block as usize].filter(|(then, _)| *then == now);
        let (_, frame) = known.unwrap_or_else(|| (now, (self.task.frame)(next.block, &self.opened) as u32));
        self.frames[next.block as usize] = Some((now, frame));
        own + frame as usize
    }
}

/// Computes the scores by segment, each with the rarity of its words, and upper bounds of the levels of those that may be
/// selected.
fn scored(task: &Task<'_>, whole: &Whole<'_>) -> (Vec<(f32, f32)>, Vec<u16>) {
    let index = task.index;
    let is_built_in = std::ptr::eq(task.weights, Weights::built_in());
    let mut scores = vec![(0.0, 0.0); index.segments.len()];
    let mut levels = vec![queue::NO_LEVEL; index.segments.len()];
    let mut shown = task.shown.iter().copied();
    let mut next_shown = shown.next();
    for (number, block) in index.blocks.iter().enumerate().filter(|(number, _)| task.open[*number]) {
        let mut of_block = Score::new(task.weights);
        whole.block(&mut of_block, number);
        let mut start = index.words_before(block.segments.start);
        for (place, segment) in block.segments.clone().enumerate() {
            let known = &index.segments[segment as usize];
            let words = index.words_in(std::mem::replace(&mut start, known.words as usize)..known.words as usize);
            while next_shown.is_some_and(|shown| shown < segment) {
                next_shown = shown.next();
            }
            if known.bytes == 0 || next_shown == Some(segment) {
                continue;
            }
            let mut score = Score::new(task.weights);
            match is_built_in {
                true => score.sum = known.score,
                false => features::of_text(&mut score, block, place, known),
            }
            score.sum += of_block.sum;
            let all = whole.words(&mut score, number as u32, words);
            scores[segment as usize] = (score.sum, all);
            levels[segment as usize] = 0;
        }
    }
    // In a loop of its own, in which nothing waits for the words.
    let worth_at_most = weights::worth_at_most();
    let prices: &[f32] = &POWERS;
    let candidates = levels.iter_mut().zip(scores.iter().zip(&index.segments));
    for (level, (&(score, _), known)) in candidates.filter(|(level, _)| **level != queue::NO_LEVEL) {
        *level = queue::level(match task.focus {
            // The user's focus may multiply the value without limit.
            Some(_) => f32::MAX,
            None => worth_at_most(score) / price(prices, usize::from(known.bytes) + LINE),
        });
    }
    (scores, levels)
}
