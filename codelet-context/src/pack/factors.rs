//! How much more or less than what it says a line is worth, by where it stands.

use crate::index::{Block, BlockKind, Came, Index, Line};

/// What the assistant put into calls is worth more, line by line, than what tools printed.
pub(super) const CALL_FACTOR: f32 = 3.0;
/// A change that failed will be tried again, and what it says stands in no file.
const FAILED_FACTOR: f32 = 12.0;
/// A change that the user has stopped was not made, and is not what is wanted now: it counts no more than what was read from a
/// file that has changed since.
const STOPPED_FACTOR: f32 = 1.0;
/// What was changed last is what is worked on, and is written on or written again: the newest of all changes …
const NEWEST_CHANGES: usize = 3;
/// … are worth this many times as much.
const NEWEST_FACTOR: f32 = 2.0;
/// Lines that a command printed from a file are worth less than those that a reading tool printed, if there is one …
const ASIDE_FACTOR: f32 = 0.5;
/// … and if there is none: a command prints more than is needed.
const LOOK_FACTOR: f32 = 0.7;
/// Outputs that are no live look at a file are worth less, line by line.
const OUTPUT_FACTOR: f32 = 0.5;
/// What tools printed for an earlier prompt is worth this much of it: that work is done, and what it needed was used.
pub(crate) const FINISHED_FACTOR: f32 = 0.35;
/// One of many lines that are alike but for numbers, one of numbers, or one that says what a call is for, is worth this much of
/// what it says: it hides the one that is not.
const LITTLE_FACTOR: f32 = 0.2;

/// The blocks of a history by how much their lines are worth.
pub(super) struct Factors<'a> {
    index: &'a Index,
    newest_changes: &'a [u32],
}

impl<'a> Factors<'a> {
    pub fn new(index: &'a Index) -> Self {
        let changes = &index.noted.changes;
        Factors {
            index,
            newest_changes: &changes[changes.len().saturating_sub(NEWEST_CHANGES)..],
        }
    }

    /// For the lines of the block of this number; 0 where none may be chosen.
    pub fn of(&self, number: u32) -> f32 {
        let index = self.index;
        let block = &index.blocks[number as usize];
        let unit = block.unit(number as usize) as u32;
        let factor = match block.kind {
            // What the list was before would be taken for what it is.
            _ if index.blocks[unit as usize].list && index.noted.list != Some(unit) => 0.0,
            BlockKind::Call if block.change && block.came == Came::Failed && !index.is_stale(number as usize) => {
                FAILED_FACTOR
            }
            BlockKind::Call if block.change && block.came == Came::Stopped => STOPPED_FACTOR,
            BlockKind::Call => CALL_FACTOR,
            BlockKind::Read if index.is_stale(number as usize) => OUTPUT_FACTOR,
            BlockKind::Read if block.look && index.has_reader => ASIDE_FACTOR,
            BlockKind::Read if block.look => LOOK_FACTOR,
            BlockKind::Command | BlockKind::Search | BlockKind::Report | BlockKind::Other => OUTPUT_FACTOR,
            _ => 1.0,
        };
        if self.newest_changes.contains(&number) {
            factor * NEWEST_FACTOR
        } else if index.is_finished(number as usize) {
            factor * FINISHED_FACTOR
        } else {
            factor
        }
    }
}

/// For this line of a block, beside what holds for all of them.
pub(super) fn within(block: &Block, line: &Line) -> f32 {
    // What a change has taken away is nowhere any more, and would be taken for what stands there.
    let is_gone = block.came == Came::Done && line.is_removed();
    match (is_gone, line.says_little()) {
        (true, _) => 0.0,
        (false, true) => LITTLE_FACTOR,
        (false, false) => 1.0,
    }
}
