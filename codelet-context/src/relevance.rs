//! Which lines of an output are near what the session is about.
//!
//! A file that the user named, a line near a name that the user said, and a line near names that the assistant uses in its
//! calls are needed several times as often as the rest of what was read.

use crate::candidates::Candidates;
use crate::index::{BlockKind, Index};
use crate::value;

/// Lines of a file that the user named.
const NAMED_FILE: f32 = 2.5;
/// Lines near a name that the user said.
const NEAR_PROMPTED: f32 = 2.5;
/// What each near line with a name from a call adds, and how many of them count.
const NEAR_CALLED: f32 = 0.3;
const MOST_CALLED: u32 = 4;
/// How many lines away is near.
pub(crate) const REACH: u32 = 5;

/// Multiplies the factors of the lines of what reading tools printed by how near they are, of those that are looked at.
pub(crate) fn weigh(index: &Index, candidates: &Candidates, factors: &mut [f32]) {
    let frequent = value::frequent(index);
    let said_by = |line: usize| {
        let mut said = (false, false);
        for &id in index.names_of(line).iter().filter(|&&id| index.items.is_said(id)) {
            let item = &index.items[id as usize];
            let is_rare = item.messages <= frequent;
            said.0 |= is_rare && item.is_prompted();
            said.1 |= is_rare && item.calls > 0;
        }
        said
    };
    let mut lines: Vec<usize> = Vec::new();
    // How many of the lines before each one have such a name: of the user's, and of a call.
    let mut sums: Vec<(u32, u32)> = Vec::new();
    for (number, block) in index.blocks.iter().enumerate() {
        if block.kind != BlockKind::Read {
            continue;
        }
        lines.clear();
        lines.extend(candidates.within(block.lines.clone()).map(|line| line as usize));
        let mut sum = (0, 0);
        sums.clear();
        sums.push(sum);
        for &line in &lines {
            let (prompted, called) = said_by(line);
            sum = (sum.0 + u32::from(prompted), sum.1 + u32::from(called));
            sums.push(sum);
        }
        let file = if index.is_named_by_user(number) {
            NAMED_FILE
        } else {
            1.0
        };
        // Those that are near go on from line to line.
        let (mut start, mut end) = (0, 0);
        for &line in &lines {
            while lines[start] + (REACH as usize) < line {
                start += 1;
            }
            while end < lines.len() && lines[end] <= line + REACH as usize {
                end += 1;
            }
            let called = sums[end].1 - sums[start].1;
            let said = if sums[end].0 > sums[start].0 {
                NEAR_PROMPTED
            } else {
                1.0
            };
            let used = 1.0 + NEAR_CALLED * called.min(MOST_CALLED) as f32;
            factors[line] *= file * said * used;
        }
    }
}
