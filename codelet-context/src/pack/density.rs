//! What a line says and costs while these lines are taken: its density.

use super::{GAP_BYTES, Packer, Unit, Use, files_header, list_bytes};
use crate::index::NONE;

/// A line with no chosen neighbour is charged this much more than its bytes: scattered lines cannot be read.
const LONELY_BYTES: f32 = 20.0;

impl Packer<'_> {
    /// Each line that may be chosen: the most that its density can ever be, and what it is while nothing is taken. In their
    /// order, since what is known of lines that stand together is found together.
    pub(super) fn weigh_lines(&mut self) {
        let mut bounds = vec![0.0; self.taken.len()];
        let mut alone = vec![0.0; self.taken.len()];
        let mut most = vec![0.0; self.taken.len()];
        for block in 0..self.lines_of.len() {
            if self.task.scope.uses[block] != Use::Choose {
                continue;
            }
            let first = self.first_gain(block);
            for line in self.looked_at(block) {
                if self.factors[line] > 0.0 {
                    let gain = self.gain(line);
                    bounds[line] = self.bound(line, gain, first);
                    alone[line] = self.alone(line, gain);
                    most[line] = self.density(line, gain).0;
                }
            }
        }
        (self.bounds, self.alone, self.most) = (bounds, alone, most);
    }

    /// What the command says that stands before the lines of this block.
    fn first_gain(&self, block: usize) -> f32 {
        match self.first_line[self.task.scope.unit_of[block] as usize] {
            NONE => 0.0,
            first => self.gain(first as usize),
        }
    }

    pub(super) fn gain(&self, line: usize) -> f32 {
        let mut gain = 0.0;
        for &item in self.index.items_of(self.lines.at(line)) {
            gain += self.values[item as usize];
        }
        gain
    }

    fn value_of(&self, item: u32) -> f32 {
        if item == NONE { 0.0 } else { self.values[item as usize] }
    }

    /// The item for this line and the one before it.
    pub(super) fn pair_above(&self, line: usize) -> u32 {
        self.index.lines[self.lines.at(line)].after
    }

    /// The item for this line and the one after it.
    pub(super) fn pair_below(&self, line: usize) -> u32 {
        let below = self.index.lines.get(self.lines.at(line) + 1);
        below.map_or(NONE, |next| next.after)
    }

    /// Bytes that a line takes when it is shown, with its line break.
    pub(super) fn shown_bytes(&self, line: usize) -> u32 {
        let info = &self.index.lines[self.lines.at(line)];
        // Room for the space in front of what looks like a line of the summary.
        u32::from(info.bytes) - u32::from(info.prefix()) + 1 + u32::from(info.poses())
    }

    /// No later density of this line, which says so much, is higher; `first` is what the command before it says.
    fn bound(&self, line: usize, gain: f32, first: f32) -> f32 {
        let bytes = self.shown_bytes(line);
        let pairs = self.value_of(self.pair_above(line)) + self.value_of(self.pair_below(line));
        let gain = gain + pairs + self.per_byte * bytes as f32;
        gain.max(gain + first) * self.factors[line] / bytes.saturating_sub(GAP_BYTES).max(1) as f32
    }

    /// No density of this line, which says so much, is higher while nothing beside it is taken.
    fn alone(&self, line: usize, gain: f32) -> f32 {
        let bytes = self.shown_bytes(line);
        let gain = gain + self.per_byte * bytes as f32;
        let unit = self.task.scope.unit_of[self.block_of[line] as usize] as usize;
        // A command may be listed, and is not lonely there.
        let is_listed = self.is_listed(unit, line);
        let lonely = if is_listed { 0.0 } else { LONELY_BYTES };
        gain * self.factors[line] / ((bytes + GAP_BYTES) as f32 + lonely)
    }

    /// Whether a line is the command of this unit itself, or comes with it.
    pub(super) fn is_listed(&self, unit: usize, line: usize) -> bool {
        self.task.units[unit].is_listed(self.lines.at(line) as u32)
    }

    /// Bytes of what comes with the command of this unit, beside this line.
    fn answer_bytes(&self, unit: usize, line: usize) -> u32 {
        let lines = self.answers[unit]
            .clone()
            .filter(|&other| other != line && !self.taken[other]);
        lines.map(|line| self.shown_bytes(line) + GAP_BYTES).sum()
    }

    /// Whether the line right above is in the same block and chosen.
    pub(super) fn is_taken_above(&self, line: usize) -> bool {
        self.is_taken_beside(line, self.lines.above(line))
    }

    /// Whether the one right below is.
    pub(super) fn is_taken_below(&self, line: usize) -> bool {
        self.is_taken_beside(line, self.lines.below(line))
    }

    fn is_taken_beside(&self, line: usize, other: Option<usize>) -> bool {
        other.is_some_and(|other| {
            self.taken[other] && !self.is_path[other] && self.block_of[other] == self.block_of[line]
        })
    }

    /// What a line that says so much is worth per byte now, and the bytes that taking it would cost.
    pub(super) fn density(&self, line: usize, gain: f32) -> (f32, u32) {
        let mut bytes = self.shown_bytes(line);
        let mut gain = gain + self.per_byte * bytes as f32;
        if self.is_path[line] {
            let density = gain * self.factors[line] / bytes as f32;
            let state = self.task.states.get(&(self.lines.at(line) as u32)).copied();
            if let Some(state) = state.filter(|state| !self.listed.contains(state)) {
                bytes += files_header(state).len() as u32;
            }
            return (density, bytes);
        }
        let (above, below) = (self.is_taken_above(line), self.is_taken_below(line));
        if above {
            gain += self.value_of(self.pair_above(line));
        }
        if below {
            gain += self.value_of(self.pair_below(line));
        }
        let (mut lonely, mut answer) = (0.0, 0);
        match (above, below) {
            (true, true) => bytes = bytes.saturating_sub(GAP_BYTES).max(1),
            (false, false) => {
                bytes += GAP_BYTES;
                lonely = LONELY_BYTES;
            }
            _ => {}
        }
        if let Some(head) = self.head_of(line).filter(|&head| !self.taken[head]) {
            bytes += self.shown_bytes(head) + GAP_BYTES;
        }
        let block = self.block_of[line] as usize;
        let unit = self.task.scope.unit_of[block] as usize;
        let Unit { header, came, .. } = self.task.units[unit];
        let first = self.first_line[unit];
        let listed = self.is_listed(unit, line);
        if !self.opened[unit] && !(listed && (above || below)) {
            if listed && first == line as u32 {
                // A command is listed by itself, without a header of its own.
                let density = gain * self.factors[line] / bytes as f32;
                let answer = self.answer_bytes(unit, line);
                return (density, bytes + answer + list_bytes(came) + self.relisting);
            }
            bytes += if listed {
                list_bytes(came) + self.relisting
            } else {
                header + self.reopening
            };
            if first != NONE && first != line as u32 && !self.taken[first as usize] {
                bytes += self.shown_bytes(first as usize) + GAP_BYTES;
                gain += self.gain(first as usize);
                answer = self.answer_bytes(unit, line);
            } else if first == line as u32 {
                answer = self.answer_bytes(unit, line);
            }
        }
        (gain * self.factors[line] / (bytes as f32 + lonely), bytes + answer)
    }
}
