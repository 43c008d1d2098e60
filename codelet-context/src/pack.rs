//! Choosing the lines that are most needed, under a budget: expected coverage.
//!
//! Every distinct thing in the old part of a conversation has a value (see `value.rs`). A line is worth the values of what
//! no chosen line has yet, per byte that it costs. The best lines are taken again and again, until the budget is full.
//! This is the greedy solution of a budgeted coverage problem; thresholds that fall step by step stand for a heap, which
//! needs no re-ordering when a line becomes cheaper because its neighbour was taken.

use crate::index::{BlockKind, Index, NONE};
use crate::{relevance, value};

/// What a block may be used for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Use {
    /// Its text stands in the view: its items are covered.
    Shown,
    /// Its lines may be chosen.
    Choose,
}

/// Lines of one unit (a call with its results, or a text) share a header, which is paid for once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// Bytes of the header and its line break.
    pub header: u32,
    /// The first line of a command's call, which stands before any output of it, or [`NONE`].
    pub first: u32,
}

/// What may be chosen, and for how much.
pub(crate) struct Task<'a> {
    pub index: &'a Index,
    /// For each block.
    pub uses: &'a [Use],
    /// For each block: its unit.
    pub unit_of: &'a [u32],
    pub units: &'a [Unit],
    /// The most bytes that the rendered lines may take.
    pub bytes: usize,
}

/// Bytes of the mark where lines are left out, with its line break.
pub(crate) const GAP_BYTES: u32 = 4;
/// Bytes of the header above calls that are listed without their output, with its line break.
pub(crate) const LIST_BYTES: u32 = 6;
/// A line with no chosen neighbour is charged this much more than its bytes: scattered lines cannot be read.
const LONELY_BYTES: f32 = 20.0;
/// What the assistant put into calls is worth more, line by line, than what tools printed.
const CALL_FACTOR: f32 = 2.0;
/// Outputs that are no live look at a file are worth less, line by line.
const OUTPUT_FACTOR: f32 = 0.5;
/// A path is worth more than its names say: it is what the next call will need, letter for letter.
const PATH_FACTOR: f32 = 2.0;
/// Each pass takes the lines above a threshold, which falls by this factor from pass to pass …
const FALL: f32 = 0.8;
/// … and not further than this below the best line.
const LOWEST: f32 = 1e-7;

/// Which lines are chosen, as a flag for each line of the index.
pub(crate) fn choose(task: &Task<'_>) -> Vec<bool> {
    let mut packer = Packer::new(task);
    packer.fill();
    packer.taken
}

struct Packer<'a> {
    task: &'a Task<'a>,
    index: &'a Index,
    values: Vec<f32>,
    covered: Vec<bool>,
    taken: Vec<bool>,
    /// For each line: its block.
    block_of: Vec<u32>,
    /// For each line: how many times what its items say; 0 for lines that may not be chosen.
    factors: Vec<f32>,
    /// For each line: it is the path that a call is about, which stands in a list of its own.
    is_path: Vec<bool>,
    /// For each unit: its header is paid for.
    opened: Vec<bool>,
    /// What a byte of text is worth by itself.
    per_byte: f32,
    left: i64,
}

impl<'a> Packer<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        let index = task.index;
        let lines = index.lines.len();
        let mut packer = Packer {
            task,
            index,
            values: value::values(index),
            covered: vec![false; index.items.len()],
            taken: vec![false; lines],
            block_of: vec![0; lines],
            factors: vec![0.0; lines],
            is_path: vec![false; lines],
            opened: vec![false; task.units.len()],
            per_byte: 0.0,
            left: task.bytes as i64,
        };
        let mut bytes = 0_u64;
        for (number, (block, &usage)) in index.blocks.iter().zip(task.uses).enumerate() {
            for line in block.lines.clone() {
                let line = line as usize;
                packer.block_of[line] = number as u32;
                match usage {
                    Use::Shown => packer.cover(line),
                    Use::Choose => {
                        packer.factors[line] = match block.kind {
                            BlockKind::Call => CALL_FACTOR,
                            BlockKind::Read if index.is_stale(number) => OUTPUT_FACTOR,
                            BlockKind::Command | BlockKind::Search | BlockKind::Other => OUTPUT_FACTOR,
                            _ => 1.0,
                        };
                        bytes += u64::from(index.lines[line].bytes);
                    }
                }
            }
        }
        packer.per_byte = if bytes > 0 { 1.0 / bytes as f32 } else { 0.0 };
        relevance::weigh(index, &mut packer.factors);
        packer.list_paths();
        packer
    }

    /// Each path can be chosen once, at its newest place.
    fn list_paths(&mut self) {
        let mut seen = std::collections::HashSet::new();
        for (block, usage) in self.index.blocks.iter().zip(self.task.uses).rev() {
            if block.subject {
                let line = block.lines.start as usize;
                self.is_path[line] = true;
                let first = seen.insert(self.index.text_of(block, line));
                self.factors[line] = if first && *usage == Use::Choose {
                    PATH_FACTOR
                } else {
                    0.0
                };
            }
        }
    }

    fn fill(&mut self) {
        let mut bounds = vec![0.0_f32; self.taken.len()];
        let mut top = 0.0_f32;
        for (line, bound) in bounds.iter_mut().enumerate() {
            if self.factors[line] > 0.0 {
                *bound = self.bound(line);
                top = top.max(*bound);
            }
        }
        let mut open: Vec<u32> = (0..bounds.len() as u32)
            .filter(|&line| bounds[line as usize] > 0.0)
            .collect();
        let mut threshold = top;
        while self.left > i64::from(GAP_BYTES) && threshold > top * LOWEST && !open.is_empty() {
            threshold *= FALL;
            // From new to old: a line that is taken makes the one before it cheaper.
            for &line in open.iter().rev() {
                let line = line as usize;
                if bounds[line] < threshold || self.taken[line] {
                    continue;
                }
                let (density, bytes) = self.density(line);
                if density >= threshold && i64::from(bytes) <= self.left {
                    self.take(line, bytes);
                }
            }
            open.retain(|&line| !self.taken[line as usize]);
        }
    }

    fn gain(&self, line: usize) -> f32 {
        let mut gain = 0.0;
        for &item in self.index.items_of(line) {
            if !self.covered[item as usize] {
                gain += self.values[item as usize];
            }
        }
        gain
    }

    fn value_of(&self, item: u32) -> f32 {
        if item == NONE || self.covered[item as usize] {
            0.0
        } else {
            self.values[item as usize]
        }
    }

    /// The item for this line and the one after it.
    fn pair_below(&self, line: usize) -> u32 {
        self.index.lines.get(line + 1).map_or(NONE, |next| next.after)
    }

    /// Bytes that a line takes when it is shown, with its line break.
    fn shown_bytes(&self, line: usize) -> u32 {
        let info = &self.index.lines[line];
        // Room for the space in front of what looks like a header.
        let text = self.index.blocks[self.block_of[line] as usize].text.as_str().as_bytes();
        let escaped = text[info.start as usize + usize::from(info.prefix)] == b'[';
        u32::from(info.bytes) - u32::from(info.prefix) + 1 + u32::from(escaped)
    }

    /// No later density of this line is higher.
    fn bound(&self, line: usize) -> f32 {
        let bytes = self.shown_bytes(line);
        let pairs = self.value_of(self.index.lines[line].after) + self.value_of(self.pair_below(line));
        let gain = self.gain(line) + pairs + self.per_byte * bytes as f32;
        let first = self.task.units[self.task.unit_of[self.block_of[line] as usize] as usize].first;
        let first = if first == NONE { 0.0 } else { self.gain(first as usize) };
        gain.max(gain + first) * self.factors[line] / bytes.saturating_sub(GAP_BYTES).max(1) as f32
    }

    /// Whether a neighbour in the same block is chosen.
    fn is_taken_beside(&self, line: usize, other: Option<usize>) -> bool {
        other.is_some_and(|other| {
            self.taken.get(other) == Some(&true) && !self.is_path[other] && self.block_of[other] == self.block_of[line]
        })
    }

    /// What a line is worth per byte now, and the bytes that taking it would cost.
    fn density(&self, line: usize) -> (f32, u32) {
        let mut bytes = self.shown_bytes(line);
        let mut gain = self.gain(line) + self.per_byte * bytes as f32;
        if self.is_path[line] {
            return (gain * self.factors[line] / bytes as f32, bytes);
        }
        let above = self.is_taken_beside(line, line.checked_sub(1));
        let below = self.is_taken_beside(line, Some(line + 1));
        if above {
            gain += self.value_of(self.index.lines[line].after);
        }
        if below {
            gain += self.value_of(self.pair_below(line));
        }
        let mut lonely = 0.0;
        match (above, below) {
            (true, true) => bytes = bytes.saturating_sub(GAP_BYTES).max(1),
            (false, false) => {
                bytes += GAP_BYTES;
                lonely = LONELY_BYTES;
            }
            _ => {}
        }
        let block = self.block_of[line] as usize;
        let unit = self.task.unit_of[block] as usize;
        let listed = self.is_listed(block, unit);
        if !self.opened[unit] && !(listed && (above || below)) {
            let Unit { header, first } = self.task.units[unit];
            if first == line as u32 {
                // A command is listed by itself, without a header of its own.
                return (gain * self.factors[line] / bytes as f32, bytes + LIST_BYTES);
            }
            bytes += if listed { LIST_BYTES } else { header };
            if first != NONE && !self.taken[first as usize] {
                bytes += self.shown_bytes(first as usize) + GAP_BYTES;
                gain += self.gain(first as usize);
            }
        }
        (gain * self.factors[line] / (bytes as f32 + lonely), bytes)
    }

    /// Lines of a command's call need no header: they are listed with other commands.
    fn is_listed(&self, block: usize, unit: usize) -> bool {
        self.index.blocks[block].kind == BlockKind::Call && self.task.units[unit].first != NONE
    }

    fn take(&mut self, line: usize, bytes: u32) {
        self.left -= i64::from(bytes);
        self.taken[line] = true;
        self.cover(line);
        let block = self.block_of[line];
        let unit = self.task.unit_of[block as usize] as usize;
        if !self.is_path[line] && !self.opened[unit] && !self.is_listed(block as usize, unit) {
            self.opened[unit] = true;
        }
        let first = self.task.units[unit].first;
        if !self.is_path[line] && first != NONE && !self.taken[first as usize] {
            self.taken[first as usize] = true;
            self.cover(first as usize);
        }
    }

    /// The items of a line are in the view now, and its pairs with the neighbours that are there too.
    fn cover(&mut self, line: usize) {
        for &item in self.index.items_of(line) {
            self.covered[item as usize] = true;
        }
        let shown = self.task.uses[self.block_of[line] as usize] == Use::Shown;
        let after = self.index.lines[line].after;
        if after != NONE && (shown || self.is_taken_beside(line, line.checked_sub(1))) {
            self.covered[after as usize] = true;
        }
        let below = self.pair_below(line);
        if below != NONE && !shown && self.is_taken_beside(line, Some(line + 1)) {
            self.covered[below as usize] = true;
        }
    }
}
