//! What each thing in a history is worth: a guess that the assistant will need it again from memory.
//!
//! The classes and their sizes come from counting, over recorded conversations of several agents, how often a thing of a
//! class was written by the assistant later without having been shown again (`docs/measurements.md`). Only ratios
//! matter, and they are coarse: halving or doubling any of them changes recall by about a point.

use crate::candidates::Candidates;
use crate::exact;
use crate::index::{Index, NONE};
use crate::items::{Item, ItemKind, KINDS};

/// By kind of item: a name, a pair of names, a line (or two neighbouring lines).
type ByKind = [f32; 3];

/// Said in a call, and in what a file still holds.
const CALLED_LIVE: ByKind = [5.6, 5.6, 5.6];
/// Said in a call, and printed by no tool: what the assistant made up itself.
const CALLED_ONLY: ByKind = [5.0, 8.0, 8.0];
/// Said in a call, and read from a file that was changed since.
const CALLED_STALE: ByKind = [1.4, 1.4, 1.4];
/// Said in a call, and printed by a command or a search.
const CALLED_PRINTED: ByKind = [2.5, 1.5, 1.5];
/// Read from a file that was not changed since: the unit of this scale.
const LIVE: ByKind = [1.0, 1.0, 1.0];
/// Printed from a file by a command, where the agent has a tool that reads files and uses that before it changes one.
const LOOKED_AT: ByKind = [0.3, 0.3, 0.3];
/// Read from a file that was changed since: it was used already, or is wrong by now.
const STALE: ByKind = [0.2, 0.12, 0.12];
/// Printed by a command.
const COMMAND: ByKind = [0.14, 0.08, 0.07];
/// Printed by a search.
const SEARCH: ByKind = [0.2, 0.12, 0.02];
/// Printed by another tool.
const OTHER: ByKind = [0.1, 0.1, 0.03];
/// In the assistant's own words.
const ANSWERED: ByKind = [0.9, 0.4, 0.04];
/// In the assistant's own words as well as elsewhere.
const ALSO_ANSWERED: f32 = 1.6;
/// In the user's words.
const PROMPTED: ByKind = [0.7, 1.5, 0.6];
/// How the value grows with the number of calls and of results that have the thing: as powers, in 64ths.
const CALLS_EXPONENT: u32 = 29;
const RESULTS_EXPONENT: u32 = 26;
/// The value falls with the distance `d` in tokens as `(1 + d / 1000)^-0.25`.
const DISTANCE: f32 = 1_000.0;
const DISTANCE_EXPONENT: u32 = exact::PARTS / 4;
/// A name in more than this share of the messages is known anyway. Short conversations have no such names.
const FREQUENT: f32 = 0.3;
const FREQUENT_FROM: u32 = 10;
/// What the lines of a conversation are worth together, beside its names and its pairs of names, which are worth 1 each.
const LINES: f32 = 1.4;

/// The most messages that a name may stand in and still be worth something.
pub(crate) fn frequent(index: &Index) -> u16 {
    if index.messages < FREQUENT_FROM {
        return u16::MAX;
    }
    (index.messages as f32 * FREQUENT).min(f32::from(u16::MAX)) as u16
}

/// What things are worth.
pub(crate) struct Values {
    /// For each item; nothing for what stands only in lines that are not looked at.
    pub of: Vec<f32>,
    /// What all items of each kind are worth together, before they were scaled; of candidates, as when all were looked at.
    pub sums: [f64; KINDS],
}

/// The value of each item of the lines that are looked at, each kind of items scaled to the same sum.
pub(crate) fn values(index: &Index, candidates: &Candidates) -> Values {
    let frequent = frequent(index);
    let stale: Vec<bool> = (0..index.blocks.len()).map(|block| index.is_stale(block)).collect();
    let curves = Curves::new(index.position);
    let distances: Vec<f32> = index
        .blocks
        .iter()
        .map(|block| curves.of_distance(index.position - block.position))
        .collect();
    let value = |item: &Item| {
        if item.kind == ItemKind::Name && item.messages > frequent {
            return 0.0;
        }
        class(item, index, &stale) * curves.of(item, distances[item.block as usize])
    };
    let mut sums = candidates.sums;
    let mut values: Vec<f32>;
    // The items that are looked at, unless all are.
    let mut known: Vec<u32> = Vec::new();
    if candidates.is_all() {
        let mut add = |item: &Item| {
            let value = value(item);
            sums[item.kind as usize] += f64::from(value);
            value
        };
        values = index.items.iter().map(&mut add).collect();
    } else {
        values = vec![0.0; index.items.len()];
        for line in candidates.within(0..index.lines.len() as u32) {
            let after = index.lines[line as usize].after;
            let items = index.items_of(line as usize).iter().copied();
            for id in items.chain((after != NONE).then_some(after)) {
                let item = &index.items[id as usize];
                if values[id as usize] == 0.0 {
                    values[id as usize] = value(item);
                    known.push(id);
                }
            }
        }
    }
    let share = [1.0, 1.0, LINES, LINES];
    let scale: [f32; KINDS] = std::array::from_fn(|kind| {
        if sums[kind] > 0.0 {
            share[kind] / sums[kind] as f32
        } else {
            0.0
        }
    });
    if candidates.is_all() {
        for (value, item) in values.iter_mut().zip(index.items.iter()) {
            *value *= scale[item.kind as usize];
        }
    }
    for &id in &known {
        values[id as usize] *= scale[index.items[id as usize].kind as usize];
    }
    Values { of: values, sums }
}

fn class(item: &Item, index: &Index, stale: &[bool]) -> f32 {
    let kind = (item.kind as usize).min(2);
    let read = item.read != NONE;
    let live = read && !stale[item.read as usize];
    let aside = read && index.has_reader && index.blocks[item.read as usize].look;
    let table = match (item.calls > 0, live, read) {
        (true, true, _) => CALLED_LIVE,
        (true, _, true) => CALLED_STALE,
        (true, ..) if item.results > 0 => CALLED_PRINTED,
        (true, ..) => CALLED_ONLY,
        (false, true, _) if aside => LOOKED_AT,
        (false, true, _) => LIVE,
        (false, _, true) => STALE,
        _ if item.is_from_command() => COMMAND,
        _ if item.is_from_search() => SEARCH,
        _ if item.results > 0 => OTHER,
        _ => [0.0; 3],
    };
    let mut value = table[kind];
    if item.is_answered() {
        let elsewhere = item.results > 0 || item.calls > 0;
        value = value.max(ANSWERED[kind]) * if elsewhere { ALSO_ANSWERED } else { 1.0 };
    }
    if item.is_prompted() {
        value = value.max(PROMPTED[kind]);
    }
    value
}

/// The powers that the values need, as tables: there are millions of items.
struct Curves {
    calls: [f32; 64],
    results: [f32; 64],
    /// By distance, in steps of one part in [`STEPS`] of the whole.
    distance: Vec<f32>,
    per_token: f32,
}

const STEPS: usize = 4_096;

impl Curves {
    fn new(position: u32) -> Self {
        // The steps are even in the square root of the distance: fine where the curve is steep.
        let longest = (position as f32).sqrt().max(1.0);
        let distance = (0..=STEPS)
            .map(|step| {
                let root = step as f32 * longest / STEPS as f32;
                1.0 / exact::power(1.0 + root * root / DISTANCE, DISTANCE_EXPONENT)
            })
            .collect();
        let power = |exponent| std::array::from_fn(|count| exact::power(count.max(1) as f32, exponent));
        Curves {
            calls: power(CALLS_EXPONENT),
            results: power(RESULTS_EXPONENT),
            distance,
            per_token: STEPS as f32 / longest,
        }
    }

    fn of_distance(&self, tokens: u32) -> f32 {
        let step = ((tokens as f32).sqrt() * self.per_token) as usize;
        self.distance[step.min(STEPS)]
    }

    fn of(&self, item: &Item, distance: f32) -> f32 {
        self.calls[usize::from(item.calls).min(63)] * self.results[usize::from(item.results).min(63)] * distance
    }
}
