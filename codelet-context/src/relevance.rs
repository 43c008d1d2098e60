//! Which lines of an output are near what the session is about.
//!
//! A file that the user named, a line near a name that the user said, and a line near names that the assistant uses in its
//! calls are needed several times as often as the rest of what was read.

use crate::candidates::Candidates;
use crate::index::{BlockKind, Index};
use crate::items::ItemKind;
use crate::value;

/// Lines of a file that the user named.
const NAMED_FILE: f32 = 2.5;
/// Lines near a name that the user said.
const NEAR_PROMPTED: f32 = 2.5;
/// What each near line with a name from a call adds, and how many of them count.
const NEAR_CALLED: f32 = 0.3;
const MOST_CALLED: u32 = 4;
/// How many lines away is near.
const REACH: usize = 5;

/// Multiplies the factors of the lines of what reading tools printed by how near they are, of those that are looked at.
pub(crate) fn weigh(index: &Index, candidates: &Candidates, factors: &mut [f32]) {
    let frequent = value::frequent(index);
    let said_by = |line: usize| {
        let mut said = (false, false);
        for &id in index.items_of(line) {
            let item = &index.items[id as usize];
            let is_rare = item.kind == ItemKind::Name && item.messages <= frequent;
            said.0 |= is_rare && item.is_prompted();
            said.1 |= is_rare && item.calls > 0;
        }
        said
    };
    let mut near: Vec<(bool, bool)> = Vec::new();
    for (number, block) in index.blocks.iter().enumerate() {
        if block.kind != BlockKind::Read {
            continue;
        }
        let first = block.lines.start as usize;
        let count = block.lines.len();
        let lines = candidates.within(block.lines.clone()).map(|line| line as usize - first);
        let lines = lines.filter(|at| factors[first + at] > 0.0);
        near.clear();
        near.resize(count, (false, false));
        let mut read = 0;
        for at in lines.clone() {
            let end = (at + REACH + 1).min(count);
            let start = at.saturating_sub(REACH).max(read);
            for (said, line) in near[start..end].iter_mut().zip(first + start..) {
                *said = said_by(line);
            }
            read = end;
        }
        if read == 0 {
            continue;
        }
        let file = if index.is_named_by_user(number) {
            NAMED_FILE
        } else {
            1.0
        };
        let lines: Vec<usize> = lines.collect();
        for at in lines {
            let beside = &near[at.saturating_sub(REACH)..(at + REACH + 1).min(count)];
            let called = beside.iter().filter(|(_, called)| *called).count() as u32;
            let said = if beside.iter().any(|(prompted, _)| *prompted) {
                NEAR_PROMPTED
            } else {
                1.0
            };
            let used = 1.0 + NEAR_CALLED * called.min(MOST_CALLED) as f32;
            factors[first + at] *= file * said * used;
        }
    }
}
