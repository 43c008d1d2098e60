//! Choosing the lines that are most needed, under a budget: expected coverage.
//!
//! Every distinct thing in the old part of a conversation has a value (see `value.rs`). A line is worth the values of what
//! no chosen line has yet, per byte that it costs. The best lines are taken again and again, until the budget is full.
//! This is the greedy solution of a budgeted coverage problem; thresholds that fall step by step stand for a heap, which
//! needs no re-ordering when a line becomes cheaper because its neighbour was taken.

use crate::candidates::{Candidates, Ranked};
use crate::index::{BlockKind, Came, Index, NONE};
use crate::items::KINDS;
use crate::outcome::FileState;
use crate::passes::Passes;
use crate::scope::{Lines, Scope};
use crate::{focus, relevance, value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

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
    /// The first line of a command or of another call without a file, which stands before anything else of the unit, or
    /// [`NONE`].
    pub first: u32,
    /// Where the lines of the command end that begins there; `first` again if it is no command.
    pub end: u32,
    /// What came of the call.
    pub came: Came,
}

impl Unit {
    /// Whether a line is the command itself, and so needs no header: it is listed with other commands.
    pub fn is_command(&self, line: u32) -> bool {
        (self.first..self.end).contains(&line)
    }
}

/// What may be chosen, and for how much.
pub(crate) struct Task<'a> {
    pub index: &'a Index,
    /// Where there is something to choose.
    pub scope: &'a Scope,
    /// Lines of other blocks that stand in the view too, ascending: what is left of a part that was cut.
    pub shown: &'a [u32],
    /// For each unit of the scope.
    pub units: &'a [Unit],
    /// By the line that a path stands in: how the file was left, if it was not only read.
    pub states: &'a HashMap<u32, FileState>,
    /// The most bytes that the rendered lines may take.
    pub bytes: usize,
    /// What the user asks the summary to attend to.
    pub focus: Option<&'a str>,
    /// The lines to look at, [for this room](Candidates::for_room); `None` for all of them, and where no other choice will
    /// follow in this history.
    pub candidates: Option<&'a Candidates>,
}

/// What was chosen.
pub(crate) struct Choice {
    /// The lines, ascending.
    pub taken: Vec<u32>,
    /// What the next choice should look at, if one may follow.
    pub candidates: Option<Candidates>,
}

/// Bytes of the mark where lines are left out, with its line break.
pub(crate) const GAP_BYTES: u32 = 4;
/// A line with no chosen neighbour is charged this much more than its bytes: scattered lines cannot be read.
const LONELY_BYTES: f32 = 20.0;
/// What the assistant put into calls is worth more, line by line, than what tools printed.
const CALL_FACTOR: f32 = 3.0;
/// A change that failed will be tried again, and what it says stands in no file.
const FAILED_FACTOR: f32 = 12.0;
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
/// One of many lines that are alike but for numbers is worth this much of what it says: it hides the one that is not.
const ALIKE_FACTOR: f32 = 0.2;
/// The share of the room in which the paths of changed files are listed before anything else.
pub(crate) const CHANGED_SHARE: f64 = 0.1;
/// A path is worth more than its names say: it is what the next call will need, letter for letter.
const PATH_FACTOR: f32 = 2.0;
/// Each pass takes the lines above a threshold, which falls by this factor from pass to pass …
const FALL: f32 = 0.8;
/// … and not further than this below the best line.
const LOWEST: f32 = 1e-7;

/// With less than this left of the room, in bytes and as one of so many parts, no line is looked for once more.
const WORTH_FILLING: usize = 40;
const WORTH_PART: usize = 200;
/// A line that was covered by others may be needed once they are gone; this is what remains of its worth.
const COVERED: f32 = 0.1;

/// What stands above the files that were left so, in the list of files.
pub(crate) fn files_header(state: FileState) -> &'static str {
    match state {
        FileState::Read => "",
        FileState::Edited => "[edited]\n",
        FileState::Created => "[new]\n",
        FileState::Deleted => "[deleted]\n",
    }
}

/// What stands above commands that are listed without their output. Those that failed are not listed with those that ran.
pub(crate) fn list_header(came: Came) -> &'static str {
    match came {
        Came::Done => "[ran]\n",
        Came::Failed => "[failed]\n",
        Came::Refused => "[refused]\n",
        Came::Stopped => "[stopped]\n",
    }
}

/// Bytes of that header.
fn list_bytes(came: Came) -> u32 {
    list_header(came).len() as u32
}

/// Chooses lines, and returns them as `render` writes them, in at most the task's bytes, with which they are.
///
/// What each line costs is counted before its neighbours are known, so what is written is a little shorter than counted. The
/// room that is left so is filled as well.
pub(crate) fn choose(task: &Task<'_>, render: impl Fn(&[u32]) -> String) -> (String, Choice) {
    let mut packer = Packer::new(task);
    packer.fill();
    let mut chosen = packer.chosen();
    let mut text = render(&chosen);
    let room = task.bytes.saturating_sub(text.len());
    if room >= WORTH_FILLING.max(task.bytes / WORTH_PART) {
        let taken = packer.taken.clone();
        packer.fill_up(room);
        let more = packer.chosen();
        let longer = render(&more);
        if longer.len() <= task.bytes {
            (text, chosen) = (longer, more);
        } else {
            packer.taken = taken;
        }
    }
    let candidates = task.candidates.is_some().then(|| packer.candidates());
    let choice = Choice {
        taken: chosen,
        candidates,
    };
    (text, choice)
}

/// The lines that the next choice in this history should look at, as if one were made now.
pub(crate) fn candidates(task: &Task<'_>) -> Candidates {
    let mut packer = Packer::new(task);
    packer.fill();
    packer.candidates()
}

struct Packer<'a> {
    task: &'a Task<'a>,
    index: &'a Index,
    /// The lines to look at.
    candidates: Cow<'a, Candidates>,
    /// What each item is worth; nothing once a line that has it is in the view.
    values: Vec<f32>,
    /// The lines that are looked at, and those that come with them. Each is known by its place among them.
    lines: Lines,
    /// For each block of the scope: the places of its lines.
    lines_of: Vec<Range<usize>>,
    /// For each block: a line among them that is not looked at by itself, or [`NONE`].
    beside: Vec<u32>,
    taken: Vec<bool>,
    /// For each line: its block, by its place in the scope.
    block_of: Vec<u32>,
    /// For each line: how many times what its items say; 0 for lines that may not be chosen.
    factors: Vec<f32>,
    /// For each line: it is the path that a call is about, which stands in a list of its own.
    is_path: Vec<bool>,
    /// The states of files whose header in that list is paid for.
    listed: Vec<FileState>,
    /// For each unit: its header is paid for.
    opened: Vec<bool>,
    /// What all things of each kind are worth, and the bytes of all lines that were ever looked at.
    sums: [f64; KINDS],
    bytes: u64,
    /// What a byte of text is worth by itself.
    per_byte: f32,
    left: i64,
    /// Bytes that a unit's header may cost beside its own, and the header of a list.
    reopening: u32,
    relisting: u32,
    /// For each line: no density of it is ever higher.
    bounds: Vec<f32>,
    /// … or, while nothing beside it is taken, higher than this …
    alone: Vec<f32>,
    /// … and none is higher than this, until something near it is taken, see [`Packer::wake`].
    most: Vec<f32>,
    passes: Passes,
    /// What a line is worth a byte to be taken in this pass; `None` when there is none left.
    threshold: Option<f32>,
    /// For each unit and each block: the first and the next block of the unit, or [`NONE`].
    first_block: Vec<u32>,
    next_block: Vec<u32>,
    /// For each unit: the place of the line that stands before anything else of it, or [`NONE`].
    first_line: Vec<u32>,
}

impl<'a> Packer<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        let (index, scope) = (task.index, task.scope);
        let candidates = task.candidates.map(Cow::Borrowed).unwrap_or_default();
        let values = value::values(index, &candidates);
        let blocks = scope.blocks.len();
        let (lines, lines_of, beside) = lines_in(index, scope, &candidates);
        let count = lines.len();
        let mut packer = Packer {
            task,
            index,
            bytes: candidates.bytes,
            candidates: candidates.clone(),
            values: values.of,
            taken: vec![false; count],
            block_of: vec![0; count],
            factors: vec![0.0; count],
            is_path: vec![false; count],
            listed: Vec::new(),
            opened: vec![false; task.units.len()],
            sums: values.sums,
            per_byte: 0.0,
            left: task.bytes as i64,
            reopening: 0,
            relisting: 0,
            bounds: Vec::new(),
            alone: Vec::new(),
            most: Vec::new(),
            passes: Passes::default(),
            threshold: None,
            first_block: vec![NONE; task.units.len()],
            next_block: vec![NONE; blocks],
            first_line: vec![NONE; task.units.len()],
            lines,
            lines_of,
            beside,
        };
        let changes = &index.noted.changes;
        let newest_changes = &changes[changes.len().saturating_sub(NEWEST_CHANGES)..];
        for (at, (&number, &usage)) in scope.blocks.iter().zip(&scope.uses).enumerate() {
            let block = &index.blocks[number as usize];
            packer.block_of[packer.lines_of[at].clone()].fill(at as u32);
            if usage == Use::Shown {
                block.lines.clone().for_each(|line| packer.hide(line as usize, true));
                continue;
            }
            let list = block.unit(number as usize) as u32;
            let factor = match block.kind {
                // What the list was before would be taken for what it is.
                _ if index.blocks[list as usize].list && index.noted.list != Some(list) => 0.0,
                BlockKind::Call if block.change && block.came == Came::Failed && !index.is_stale(number as usize) => {
                    FAILED_FACTOR
                }
                BlockKind::Call => CALL_FACTOR,
                BlockKind::Read if index.is_stale(number as usize) => OUTPUT_FACTOR,
                BlockKind::Read if block.look && index.has_reader => ASIDE_FACTOR,
                BlockKind::Read if block.look => LOOK_FACTOR,
                BlockKind::Command | BlockKind::Search | BlockKind::Other => OUTPUT_FACTOR,
                _ => 1.0,
            };
            let newest = if newest_changes.contains(&number) {
                NEWEST_FACTOR
            } else {
                1.0
            };
            for place in looked_at(&packer.lines_of, &packer.beside, at) {
                let line = &index.lines[packer.lines.at(place)];
                // What a change has taken away is nowhere any more, and would be taken for what stands there.
                let is_gone = block.came == Came::Done && line.is_removed();
                let alike = if line.is_alike() { ALIKE_FACTOR } else { 1.0 };
                packer.factors[place] = if is_gone { 0.0 } else { factor * alike * newest };
                if candidates.is_all() {
                    packer.bytes += u64::from(line.bytes);
                }
            }
            let unit = scope.unit_of[at] as usize;
            packer.next_block[at] = std::mem::replace(&mut packer.first_block[unit], at as u32);
        }
        for (first, unit) in packer.first_line.iter_mut().zip(task.units) {
            let place = packer.lines.place(unit.first);
            *first = place.map_or(NONE, |place| place as u32);
        }
        packer.per_byte = if packer.bytes > 0 {
            1.0 / packer.bytes as f32
        } else {
            0.0
        };
        let Packer { lines, factors, .. } = &mut packer;
        relevance::weigh(index, &candidates, &scope.blocks, lines, factors);
        relevance::weigh_asked(index, &candidates, &scope.blocks, lines, factors);
        relevance::weigh_severe(index, task.bytes, lines, factors);
        if let Some(words) = task.focus {
            focus::weigh(index, words, lines, factors);
        }
        packer.list_paths();
        packer.cover_shown();
        packer
    }

    /// The lines that are taken, ascending.
    fn chosen(&self) -> Vec<u32> {
        let lines = self.lines.iter().zip(&self.taken);
        lines.filter(|(_, taken)| **taken).map(|(line, _)| line).collect()
    }

    /// The places of the lines of a block that are looked at.
    fn looked_at(&self, block: usize) -> impl Iterator<Item = usize> + use<> {
        looked_at(&self.lines_of, &self.beside, block)
    }

    /// What is left of parts that were cut need not be quoted.
    fn cover_shown(&mut self) {
        let mut above = None;
        for &line in self.task.shown {
            if let Some(place) = self.lines.place(line) {
                self.factors[place] = 0.0;
            }
            self.hide(line as usize, above.is_some() && above == line.checked_sub(1));
            above = Some(line);
        }
    }

    /// Each file can be chosen once, by its newest path.
    fn list_paths(&mut self) {
        let blocks = self.task.scope.blocks.iter().zip(&self.task.scope.uses);
        for (&number, usage) in blocks {
            let block = &self.index.blocks[number as usize];
            let line = block.lines.start;
            let Some(place) = self.lines.place(line).filter(|_| block.subject) else {
                continue;
            };
            self.is_path[place] = true;
            let path = self.index.text_of(block, line as usize);
            let is_newest = self.index.noted.is_newest(number, block, path);
            self.factors[place] = if is_newest && *usage == Use::Choose {
                PATH_FACTOR
            } else {
                0.0
            };
        }
    }

    /// Takes the best lines, pass by pass.
    ///
    /// A density only falls while other lines cover its items, unless something near is taken. So a line sleeps until the
    /// threshold is down to the last density that it had, and is looked at a few times instead of once in each pass.
    fn fill(&mut self) {
        self.weigh_lines();
        let top = self.bounds.iter().copied().fold(0.0, f32::max);
        self.start(top);
        self.take_changed();
        self.take_best();
    }

    /// Takes the paths of files that were changed, the newest first, in their share of the room: which they are is told
    /// whatever else says their names.
    fn take_changed(&mut self) {
        let mut room = (self.task.bytes as f64 * CHANGED_SHARE) as u32;
        for &number in self.task.scope.blocks.iter().rev() {
            let block = &self.index.blocks[number as usize];
            let line = block.lines.start;
            let state = self.task.states.get(&line).filter(|_| block.subject).copied();
            let Some(state) = state.filter(|state| *state != FileState::Read) else {
                continue;
            };
            let line = self.lines.place(line);
            let Some(line) = line.filter(|&line| self.factors[line] != 0.0 && !self.taken[line]) else {
                continue;
            };
            let header = if self.listed.contains(&state) {
                0
            } else {
                files_header(state).len() as u32
            };
            let bytes = self.shown_bytes(line) + header;
            let Some(left) = room.checked_sub(bytes) else { return };
            room = left;
            self.take(line, bytes);
        }
    }

    /// Once more, with so many bytes; what was too long then may fit now.
    fn fill_up(&mut self, bytes: usize) {
        self.left = bytes as i64;
        // A list of commands may have to be begun again behind a unit that gets a header now, or that is listed otherwise.
        let lists: Vec<u32> = self.index.noted.came().map(list_bytes).collect();
        self.reopening = lists.iter().copied().max().unwrap_or_default();
        self.relisting = if lists.windows(2).any(|two| two[0] != two[1]) {
            self.reopening
        } else {
            0
        };
        for (most, &taken) in self.most.iter_mut().zip(&self.taken) {
            *most = if taken { 0.0 } else { *most };
        }
        let top = self.most.iter().copied().fold(0.0, f32::max);
        self.start(top);
        self.take_best();
    }

    /// Begins with the lines that are worth as much as `top` a byte.
    fn start(&mut self, top: f32) {
        self.passes = Passes::new(&self.most, top, FALL, LOWEST);
        self.threshold = self.passes.next_pass();
    }

    /// Takes the best lines, pass by pass.
    fn take_best(&mut self) {
        while self.left > i64::from(GAP_BYTES)
            && let Some(threshold) = self.threshold
        {
            // From new to old: a line that is taken makes the one before it cheaper.
            while let Some(line) = self.passes.next_line() {
                let line = line as usize;
                if self.taken[line] {
                    continue;
                }
                // What was weighed anew meanwhile may have to wait for longer than it did.
                if self.most[line] < threshold {
                    self.passes.sleep(line as u32, self.most[line]);
                    continue;
                }
                let (density, bytes) = self.density(line, self.gain(line));
                if density < threshold {
                    self.most[line] = self.most[line].min(density);
                    self.passes.sleep(line as u32, self.most[line]);
                } else if i64::from(bytes) <= self.left {
                    self.take(line, bytes);
                }
                // What does not fit now never does, unless something near is taken.
            }
            self.threshold = self.passes.next_pass();
        }
    }

    /// What the next choice in this history should look at.
    fn candidates(&self) -> Candidates {
        let (index, room) = (self.index, self.task.bytes);
        if self.candidates.is_all() && Candidates::is_few(self.bytes, room) {
            return Candidates::default();
        }
        let mut ranked: Vec<Ranked> = Vec::new();
        for (at, &number) in self.task.scope.blocks.iter().enumerate() {
            let first = self.task.units[self.task.scope.unit_of[at] as usize].first;
            if self.task.scope.uses[at] == Use::Shown {
                // What is shown now may be gone next time.
                let lines = index.blocks[number as usize].lines.clone();
                ranked.extend(lines.map(|line| Ranked {
                    line,
                    bytes: None,
                    worth: 0.0,
                    first,
                }));
                continue;
            }
            ranked.extend(self.looked_at(at).map(|place| Ranked {
                line: self.lines.at(place) as u32,
                bytes: (!self.taken[place]).then(|| self.shown_bytes(place)),
                worth: self.most[place].max(self.bounds[place] * COVERED),
                first,
            }));
        }
        Candidates::pick(&ranked, index.lines.len() as u32, room, self.sums, self.bytes)
            .unwrap_or_else(|| self.candidates.clone().into_owned())
    }

    /// Each line that may be chosen: the most that its density can ever be, and what it is while nothing is taken. In their
    /// order, since what is known of lines that stand together is found together.
    fn weigh_lines(&mut self) {
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

    /// Something near a line was taken: it may cost less now.
    fn wake(&mut self, line: usize, most: f32) {
        self.most[line] = most;
        self.passes.wake(line as u32, most);
    }

    fn may_be_taken(&self, line: usize) -> bool {
        self.bounds[line] > 0.0 && !self.taken[line]
    }

    /// A line was taken: its neighbours need no mark of what is left out, and make pairs with it.
    fn wake_beside(&mut self, line: usize) {
        for beside in self.lines.above(line).into_iter().chain(self.lines.below(line)) {
            if self.may_be_taken(beside) {
                let (density, _) = self.density(beside, self.gain(beside));
                self.wake(beside, density);
            }
        }
    }

    /// The header of a unit is paid for, or what stands before all its lines. They are many, and few of them have a neighbour
    /// that is taken: that is accounted for already.
    fn wake_unit(&mut self, unit: usize) {
        let mut block = self.first_block[unit];
        while let Some(lines) = self.lines_of.get(block as usize).cloned() {
            for line in lines {
                if !self.may_be_taken(line) {
                    continue;
                }
                let is_alone = !self.is_taken_above(line) && !self.is_taken_below(line);
                let most = if is_alone {
                    self.alone[line].max(self.most[line])
                } else {
                    self.density(line, self.gain(line)).0
                };
                self.wake(line, most);
            }
            block = self.next_block[block as usize];
        }
    }

    fn gain(&self, line: usize) -> f32 {
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
    fn pair_above(&self, line: usize) -> u32 {
        self.index.lines[self.lines.at(line)].after
    }

    /// The item for this line and the one after it.
    fn pair_below(&self, line: usize) -> u32 {
        let below = self.index.lines.get(self.lines.at(line) + 1);
        below.map_or(NONE, |next| next.after)
    }

    /// Bytes that a line takes when it is shown, with its line break.
    fn shown_bytes(&self, line: usize) -> u32 {
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
        let is_listed = self.is_command(unit, line);
        let lonely = if is_listed { 0.0 } else { LONELY_BYTES };
        gain * self.factors[line] / ((bytes + GAP_BYTES) as f32 + lonely)
    }

    /// Whether a line is the command of this unit itself.
    fn is_command(&self, unit: usize, line: usize) -> bool {
        self.task.units[unit].is_command(self.lines.at(line) as u32)
    }

    /// Whether the line right above is in the same block and chosen.
    fn is_taken_above(&self, line: usize) -> bool {
        self.is_taken_beside(line, self.lines.above(line))
    }

    /// Whether the one right below is.
    fn is_taken_below(&self, line: usize) -> bool {
        self.is_taken_beside(line, self.lines.below(line))
    }

    fn is_taken_beside(&self, line: usize, other: Option<usize>) -> bool {
        other.is_some_and(|other| {
            self.taken[other] && !self.is_path[other] && self.block_of[other] == self.block_of[line]
        })
    }

    /// What a line that says so much is worth per byte now, and the bytes that taking it would cost.
    fn density(&self, line: usize, gain: f32) -> (f32, u32) {
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
        let unit = self.task.scope.unit_of[block] as usize;
        let Unit { header, came, .. } = self.task.units[unit];
        let first = self.first_line[unit];
        let listed = self.is_command(unit, line);
        if !self.opened[unit] && !(listed && (above || below)) {
            if listed && first == line as u32 {
                // A command is listed by itself, without a header of its own.
                return (
                    gain * self.factors[line] / bytes as f32,
                    bytes + list_bytes(came) + self.relisting,
                );
            }
            bytes += if listed {
                list_bytes(came) + self.relisting
            } else {
                header + self.reopening
            };
            if first != NONE && first != line as u32 && !self.taken[first as usize] {
                bytes += self.shown_bytes(first as usize) + GAP_BYTES;
                gain += self.gain(first as usize);
            }
        }
        (gain * self.factors[line] / (bytes as f32 + lonely), bytes)
    }

    fn take(&mut self, line: usize, bytes: u32) {
        self.left -= i64::from(bytes);
        self.taken[line] = true;
        if self.is_path[line]
            && let Some(&state) = self.task.states.get(&(self.lines.at(line) as u32))
            && !self.listed.contains(&state)
        {
            self.listed.push(state);
        }
        self.cover(line);
        let block = self.block_of[line];
        let unit = self.task.scope.unit_of[block as usize] as usize;
        let first = self.first_line[unit];
        let mut cheaper = first == line as u32;
        if !self.is_path[line] && !self.opened[unit] && !self.is_command(unit, line) {
            self.opened[unit] = true;
            cheaper = true;
        }
        if !self.is_path[line] && first != NONE && !self.taken[first as usize] {
            self.taken[first as usize] = true;
            self.cover(first as usize);
            self.wake_beside(first as usize);
            cheaper = true;
        }
        self.wake_beside(line);
        if cheaper {
            self.wake_unit(unit);
        }
    }

    /// The items of a line are in the view now, and its pairs with the neighbours that are there too.
    fn cover(&mut self, line: usize) {
        let shown = self.task.scope.uses[self.block_of[line] as usize] == Use::Shown;
        self.hide(self.lines.at(line), shown || self.is_taken_above(line));
        let below = self.pair_below(line);
        if below != NONE && !shown && self.is_taken_below(line) {
            self.values[below as usize] = 0.0;
        }
    }

    /// The items of a line of the index are in the view now, and its pair with the line above too if that is there.
    fn hide(&mut self, line: usize, has_above: bool) {
        for &item in self.index.items_of(line) {
            self.values[item as usize] = 0.0;
        }
        let after = self.index.lines[line].after;
        if after != NONE && has_above {
            self.values[after as usize] = 0.0;
        }
    }
}

/// The lines of a scope that are looked at, and those that may be taken with them: the path that a file is listed by, and
/// what stands before anything else of a unit. With their places by block, and which of them are not looked at.
fn lines_in(index: &Index, scope: &Scope, candidates: &Candidates) -> (Lines, Vec<Range<usize>>, Vec<u32>) {
    let mut lines: Vec<u32> = Vec::new();
    let mut lines_of = Vec::with_capacity(scope.blocks.len());
    let mut beside = vec![NONE; scope.blocks.len()];
    for (beside, &number) in beside.iter_mut().zip(&scope.blocks) {
        let block = &index.blocks[number as usize];
        let start = lines.len();
        let mut first = match block.subject {
            true => Some(block.lines.start),
            false => Some(block.lead.start).filter(|line| block.lines.contains(line)),
        };
        let mut wait = |first: &mut Option<u32>, lines: &mut Vec<u32>, line: u32| {
            if let Some(passed) = first.take_if(|first| *first < line) {
                *beside = lines.len() as u32;
                lines.push(passed);
            }
            first.take_if(|first| *first == line);
        };
        for line in candidates.within(block.lines.clone()) {
            wait(&mut first, &mut lines, line);
            lines.push(line);
        }
        wait(&mut first, &mut lines, block.lines.end);
        lines_of.push(start..lines.len());
    }
    (Lines::new(lines), lines_of, beside)
}

/// The places of the lines of a block that are looked at.
fn looked_at(lines_of: &[Range<usize>], beside: &[u32], block: usize) -> impl Iterator<Item = usize> + use<> {
    let beside = beside[block] as usize;
    lines_of[block].clone().filter(move |&place| place != beside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::tests::{call, quoted, run, with_task};
    use crate::history::History;
    use crate::items::ItemKind;
    use crate::message::{Action, ActionKind};
    use proptest::prelude::*;
    use serde_json::json;

    const FAILED: (Option<bool>, &str) = (Some(false), "old text not found");
    const DONE: (Option<bool>, &str) = (Some(true), "done");

    fn edit(history: &mut History, file: &str, text: &str, answer: (Option<bool>, &str)) {
        let parameters = json!({"file_path": file, "new_string": text});
        call(
            history,
            "Edit",
            Action::on(ActionKind::Change, [file]),
            parameters,
            answer,
        );
    }

    /// Whether of two changes that say as much the older is quoted, and not the newer, in room for one.
    fn is_older_quoted(answer: (Option<bool>, &str), later: Option<&str>) -> bool {
        let mut history = History::new();
        edit(
            &mut history,
            "src/one.rs",
            "let walnut_count = almond_count(7);",
            answer,
        );
        edit(&mut history, "src/two.rs", "let cherry_count = damson_count(7);", DONE);
        if let Some(file) = later {
            edit(&mut history, file, "}", DONE);
        }
        let text = quoted(&history, &[], 72);
        let (older, newer) = (text.contains("walnut"), text.contains("cherry"));
        assert!(older != newer, "{text}");
        older
    }

    /// The same choice without a schedule: in each pass every line is weighed.
    fn fill_plainly(packer: &mut Packer<'_>) {
        packer.weigh_lines();
        let top = packer.bounds.iter().copied().fold(0.0, f32::max);
        packer.passes = Passes::new(&packer.bounds, top, FALL, LOWEST);
        let mut schedule = Passes::new(&packer.bounds, top, FALL, LOWEST);
        packer.passes.next_pass();
        packer.take_changed();
        while packer.left > i64::from(GAP_BYTES)
            && let Some(threshold) = schedule.next_pass()
        {
            for line in (0..packer.taken.len()).rev() {
                if packer.taken[line] || packer.factors[line] <= 0.0 || packer.bounds[line] <= 0.0 {
                    continue;
                }
                let (density, bytes) = packer.density(line, packer.gain(line));
                if density >= threshold && i64::from(bytes) <= packer.left {
                    packer.take(line, bytes);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_schedule_chooses_what_weighing_every_line_in_every_pass_chooses(
            steps in proptest::collection::vec(
                (0usize..4, proptest::collection::vec("(let|use|fn) [a-d]{1,2}_[a-e]{1,3}( = [0-9]{1,4};)?", 0..14)),
                1..16,
            ),
            room in 0usize..1_500,
        ) {
            let mut history = History::new();
            for (number, (kind, lines)) in steps.iter().enumerate() {
                let text = lines.join("\n");
                match kind {
                    0 => run(&mut history, &format!("./look {number}\necho {text}"), &text),
                    1 => edit(&mut history, &format!("src/{}.rs", number % 3), &text, DONE),
                    2 => edit(&mut history, &format!("src/{}.rs", number % 3), &text, FAILED),
                    _ => {
                        let file = format!("src/{}.rs", number % 3);
                        let action = Action::on(ActionKind::Read, [file.as_str()]);
                        call(&mut history, "Read", action, json!({"file_path": file}), (Some(true), &text));
                    }
                }
            }
            let (scheduled, plain) = with_task(&history, room, |task, _| {
                let mut scheduled = Packer::new(&task);
                scheduled.fill();
                let mut plain = Packer::new(&task);
                fill_plainly(&mut plain);
                (scheduled.taken, plain.taken)
            });
            prop_assert_eq!(scheduled, plain);
        }
    }

    #[test]
    fn a_failed_change_is_worth_more_until_its_file_is_changed() {
        assert!(is_older_quoted(FAILED, None));
        assert!(is_older_quoted(FAILED, Some("src/else.rs")));
        assert!(!is_older_quoted(FAILED, Some("src/one.rs")));
        assert!(!is_older_quoted(DONE, None));
    }

    #[test]
    fn what_a_change_has_taken_away_is_not_quoted_unless_the_change_failed() {
        let (old, new) = ("let walnut_count = 7;", "let cherry_count = 8;");
        let blocks = format!("<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE");
        for (replaced, parameters) in [
            ("old_string", json!({"old_string": old, "new_string": new})),
            (
                "TargetContent",
                json!({"TargetContent": old, "ReplacementContent": new}),
            ),
            ("find", json!({"edits": [{"find": old, "replace": new}]})),
            ("", json!({"diff": blocks})),
        ] {
            for (answer, has_old) in [(DONE, false), (FAILED, true)] {
                let mut history = History::new();
                let action = Action::on(ActionKind::Change, ["src/one.rs"]).replacing([replaced]);
                call(&mut history, "Edit", action, parameters.clone(), answer);
                let text = quoted(&history, &[], 1_000);
                assert_eq!(
                    (
                        text.contains("walnut"),
                        text.contains("(failed)"),
                        text.contains("cherry")
                    ),
                    (has_old, has_old, true),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn what_is_named_old_is_quoted_where_nothing_is_taken_away() {
        let parameters = json!({"older_than": "cherry_release_42", "oldest_first": "quince_sort_3"});
        let mut history = History::new();
        call(&mut history, "list_issues", Action::default(), parameters, DONE);
        let text = quoted(&history, &[], 1_000);
        assert!(
            text.contains("cherry_release_42") && text.contains("quince_sort_3"),
            "{text}"
        );
    }

    #[test]
    fn among_lines_that_are_alike_the_one_that_is_not_is_quoted() {
        let log = |odd: usize| {
            let lines = (0..200).map(|line| match line == odd {
                true => String::from("14:02:07 ERROR checkout pool exhausted: 40/40 connections to ledger-db-2"),
                false => format!(
                    "14:02:{:02} INFO request req_{:x} served by node-{} in {} ms",
                    line % 60,
                    line * 7_919,
                    line % 7,
                    line * 37 % 400
                ),
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        let mut history = History::new();
        run(&mut history, "kubectl logs checkout", &log(93));
        run(&mut history, "kubectl logs ledger", &log(usize::MAX));
        let text = quoted(&history, &[], 600);
        assert!(text.contains("pool exhausted"), "{text}");
    }

    #[test]
    fn of_the_lists_of_what_is_to_be_done_only_the_newest_is_quoted() {
        let mut history = History::new();
        for state in ["pending", "completed"] {
            let list = json!({"todos": [{"content": format!("count the {state} walnuts"), "status": state}]});
            let action = Action::on(ActionKind::Todo, []);
            call(&mut history, "TodoWrite", action, list, (Some(true), "ok"));
        }
        let text = quoted(&history, &[], 1_000);
        assert!(
            text.contains("completed walnuts") && !text.contains("pending"),
            "{text}"
        );
    }

    #[test]
    fn the_newest_changes_count_twice() {
        let mut history = History::new();
        for number in 0..5 {
            run(&mut history, "./look", "nothing");
            let text = format!("let walnut_count = {number};");
            edit(&mut history, &format!("src/{number}.rs"), &text, DONE);
        }
        let index = history.index();
        let factors_of = with_task(&history, 100, |task, _| Packer::new(&task).factors);
        let changes = index.blocks.iter().filter(|block| block.change);
        let factors: Vec<f32> = changes
            .map(|block| factors_of[block.lines.end as usize - 1] / CALL_FACTOR)
            .collect();
        assert_eq!(factors, [1.0, 1.0, 2.0, 2.0, 2.0]);
        let command = index.blocks.iter().rev().find(|block| block.text.as_str() == "./look");
        let factor = command.map(|block| factors_of[block.lines.start as usize]);
        assert_eq!(factor, Some(CALL_FACTOR), "a command is no change");
    }

    #[test]
    fn what_was_cut_and_is_shown_is_not_quoted_again() {
        let output = "walnut_count is 7 or more\nalmond_count is 8 or more\ncherry_count is 9 or more";
        let mut history = History::new();
        run(&mut history, "./count", output);
        // The whole output once more, where nothing of it was shown.
        run(&mut history, "./count again", output);
        let index = history.index();
        let first = index.blocks.iter().find(|block| block.kind == BlockKind::Command);
        let start = first.map_or(0, |block| block.lines.start);
        // Room for all of it, and for both headers.
        let text = quoted(&history, &[start, start + 1], 85);
        assert!(text.contains("cherry") && !text.contains("walnut"), "{text}");
        let text = quoted(&history, &[start, start + 1, start + 2], 10_000);
        assert_eq!(
            text.matches("walnut").count(),
            1,
            "only the output that was not shown: {text}"
        );
        assert_eq!(quoted(&history, &[], 10_000).matches("walnut").count(), 2);
    }

    #[test]
    fn short_commands_are_things_of_their_own() {
        let mut history = History::new();
        run(&mut history, "make", "make");
        run(&mut history, "ls", "");
        let index = history.index();
        let has_line = |number: usize| {
            let line = index.blocks[number].lines.start as usize;
            let mut items = index.items_of(line).iter();
            items.any(|&item| index.items[item as usize].kind == ItemKind::Line)
        };
        assert!(has_line(0), "the call");
        assert!(!has_line(1), "the same word in its output");
        assert!(!has_line(2), "shorter still");
    }

    #[test]
    fn a_look_with_a_command_counts_less_where_the_agent_has_a_reading_tool() {
        let factor = |has_reader: bool| {
            let mut history = History::new();
            if has_reader {
                let path = json!({"file_path": "src/two.rs"});
                let action = Action::on(ActionKind::Read, ["src/two.rs"]);
                call(
                    &mut history,
                    "Read",
                    action,
                    path,
                    (Some(true), "let cherry_count = 7;"),
                );
            } else {
                run(&mut history, "cat src/two.rs", "let cherry_count = 7;");
            }
            run(&mut history, "cat src/one.rs", "let walnut_count = 7;");
            let index = history.index();
            let look = index.blocks.iter().rev().find(|block| block.look);
            let line = look.map_or(0, |block| block.lines.start);
            assert!(line > 0, "the command is a look");
            with_task(&history, 100, |task, _| Packer::new(&task).factors[line as usize])
        };
        assert!(factor(true) < factor(false));
    }
}
