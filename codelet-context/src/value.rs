//! What each thing in a history is worth: a guess that the assistant will need it again from memory.
//!
//! The classes and their sizes come from counting, over recorded conversations of several agents, how often a thing of a
//! class was written by the assistant later without having been shown again (`docs/decisions/0006-which-lines-are-quoted.md`).
//! Only ratios matter, and they are coarse: halving or doubling any of them changes recall by about a point.

use crate::candidates::Candidates;
use crate::exact;
use crate::index::{Index, NONE};
use crate::items::{ANSWERED, FROM_COMMAND, FROM_SEARCH, Item, ItemKind, KINDS, MARKS, PROMPTED};

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
const SAID: ByKind = [0.9, 0.4, 0.04];
/// In the assistant's own words as well as elsewhere.
const ALSO_SAID: f32 = 1.6;
/// In the user's words.
const ASKED: ByKind = [0.7, 1.5, 0.6];
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

/// So many items are looked up side by side.
const BATCH: usize = 64;

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
    let classes = Classes::new();
    let curves = Curves::new(index.position);
    // There are many more items than blocks, and what is asked of a block is near then.
    let blocks = 0..index.blocks.len() as u32;
    let distance = |block: u32| curves.of_distance(index.position - index.blocks[block as usize].position);
    let distances: Vec<f32> = blocks.clone().map(distance).collect();
    let reads: Vec<u16> = blocks.map(|block| read_in(index, block)).collect();
    let value = |item: &Item| {
        if item.kind == ItemKind::Name && item.messages > frequent {
            return 0.0;
        }
        let read = reads.get(item.read as usize).copied().unwrap_or_default();
        classes.of(item, read) * curves.of(item, distances[item.block as usize])
    };
    if candidates.is_all() {
        let mut sums = candidates.sums;
        let mut add = |item: &Item| {
            let value = value(item);
            sums[item.kind as usize] += f64::from(value);
            value
        };
        let mut values: Vec<f32> = index.items.iter().map(&mut add).collect();
        let scale = scale(&sums);
        for (value, item) in values.iter_mut().zip(index.items.iter()) {
            *value *= scale[item.kind as usize];
        }
        return Values { of: values, sums };
    }
    let scale = scale(&candidates.sums);
    let mut values = vec![0.0; index.items.len()];
    let mut looked_at: Vec<u32> = Vec::new();
    for line in candidates.within(0..index.lines.len() as u32) {
        let after = index.lines[line as usize].after;
        looked_at.extend(index.items_of(line as usize));
        looked_at.extend((after != NONE).then_some(after));
    }
    // Most of the time goes into waiting for memory: those of a batch are waited for at once.
    let mut batch: Vec<Item> = Vec::with_capacity(BATCH);
    for ids in looked_at.chunks(BATCH) {
        batch.clear();
        batch.extend(ids.iter().map(|&id| index.items[id as usize]));
        for (&id, item) in ids.iter().zip(&batch) {
            values[id as usize] = value(item) * scale[item.kind as usize];
        }
    }
    Values {
        of: values,
        sums: candidates.sums,
    }
}

/// By what each kind of items is multiplied so that it is worth its share.
fn scale(sums: &[f64; KINDS]) -> [f32; KINDS] {
    let share = [1.0, 1.0, LINES, LINES];
    std::array::from_fn(|kind| {
        if sums[kind] > 0.0 {
            share[kind] / sums[kind] as f32
        } else {
            0.0
        }
    })
}

/// What decides the class of an item, a bit for each, beside the marks of who said it: a call has it …
const CALLED: usize = 1 << MARKS;
/// … an output has it …
const PRINTED: usize = CALLED << 1;
/// … a reading tool read it …
const READ: usize = PRINTED << 1;
/// … from a file that was not changed since …
const FRESH: usize = READ << 1;
/// … by the way, with a command.
const ASIDE: usize = FRESH << 1;
const CLASSES: usize = ASIDE << 1;

/// What an item of each class is worth. There are millions of items, and hundreds of classes.
struct Classes {
    values: Vec<[f32; KINDS]>,
}

impl Classes {
    fn new() -> Self {
        let of_kinds = |class| std::array::from_fn(|kind| value_of(class, kind.min(2)));
        Classes {
            values: (0..CLASSES).map(of_kinds).collect(),
        }
    }

    /// `read` is what the block says that it was read last in.
    fn of(&self, item: &Item, read: u16) -> f32 {
        let called = usize::from(item.calls > 0) * CALLED;
        let printed = usize::from(item.results > 0) * PRINTED;
        let class = usize::from(item.marks()) | called | printed | usize::from(read);
        self.values[class][item.kind as usize]
    }
}

/// What a block says of an item that was read last there.
fn read_in(index: &Index, block: u32) -> u16 {
    let fresh = if index.is_stale(block as usize) { 0 } else { FRESH };
    let is_aside = index.has_reader && index.blocks[block as usize].look;
    (READ | fresh | if is_aside { ASIDE } else { 0 }) as u16
}

fn value_of(class: usize, kind: usize) -> f32 {
    let has = |bits: usize| class & bits != 0;
    let marked = |mark: u8| has(usize::from(mark));
    let table = match (has(CALLED), has(FRESH), has(READ)) {
        (true, true, _) => CALLED_LIVE,
        (true, _, true) => CALLED_STALE,
        (true, ..) if has(PRINTED) => CALLED_PRINTED,
        (true, ..) => CALLED_ONLY,
        (false, true, _) if has(ASIDE) => LOOKED_AT,
        (false, true, _) => LIVE,
        (false, _, true) => STALE,
        _ if marked(FROM_COMMAND) => COMMAND,
        _ if marked(FROM_SEARCH) => SEARCH,
        _ if has(PRINTED) => OTHER,
        _ => [0.0; 3],
    };
    let mut value = table[kind];
    if marked(ANSWERED) {
        value = value.max(SAID[kind]) * if has(PRINTED | CALLED) { ALSO_SAID } else { 1.0 };
    }
    if marked(PROMPTED) {
        value = value.max(ASKED[kind]);
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
