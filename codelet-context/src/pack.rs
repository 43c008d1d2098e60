//! Choosing the lines that are most needed, under a budget: expected coverage.
//!
//! Every distinct thing in the old part of a conversation has a value (see `value.rs`). A line is worth the values of what
//! no chosen line has yet, per byte that it costs. The best lines are taken again and again, until the budget is full.
//! This is the greedy solution of a budgeted coverage problem; thresholds that fall step by step stand for a heap, which
//! needs no re-ordering when a line becomes cheaper because its neighbour was taken.

mod density;
pub(crate) mod factors;

use self::factors::Factors;
use crate::candidates::{Candidates, Ranked};
use crate::hash::QuickMap;
use crate::index::{Block, BlockKind, Came, Index, NONE};
use crate::items::KINDS;
use crate::outcome::FileState;
use crate::passes::Passes;
use crate::scope::{Lines, Scope};
use crate::{focus, relevance, value};
use std::borrow::Cow;
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
    /// The first line of a command or of another call without a file, which stands before anything else of the unit, the
    /// one that says why a change was not made, or [`NONE`].
    pub first: u32,
    /// Where the lines of the command end that begins there; `first` again if it is no command.
    pub end: u32,
    /// The lines of what a command has printed, or another tool has answered, that come with the first one, from here to
    /// `answer_end`; or [`NONE`] twice.
    pub answer: u32,
    pub answer_end: u32,
    /// What came of the call.
    pub came: Came,
}

impl Unit {
    /// Whether a line is the command itself, and so needs no header: it is listed with other commands.
    pub fn is_command(&self, line: u32) -> bool {
        (self.first..self.end).contains(&line)
    }

    /// Whether a line is of the answer that comes with the command, and is listed with it.
    pub fn is_answer(&self, line: u32) -> bool {
        self.end > self.first && (self.answer..self.answer_end).contains(&line)
    }

    /// Whether a line needs no header.
    pub fn is_listed(&self, line: u32) -> bool {
        self.is_command(line) || self.is_answer(line)
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
    pub states: &'a QuickMap<u32, FileState>,
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
/// What stands before a line of the answer of a command that is listed: as long as a gap, which may stand before it elsewhere.
pub(crate) const ANSWER: &str = "→ ";
/// The share of the room in which the paths of changed files are listed before anything else.
pub(crate) const CHANGED_SHARE: f64 = 0.1;
/// A path is worth more than its names say: it is what the next call will need, letter for letter.
const PATH_FACTOR: f32 = 2.0;
/// Each pass takes the lines above a threshold, which falls by this factor from pass to pass …
const FALL: f32 = 0.8;
/// … and not further than this below the best line.
const LOWEST: f32 = 1e-7;

/// What a reading tool begins its answer with: lines, and bytes around the path.
const FRAME_LINES: u32 = 3;
const FRAME_BYTES: usize = 24;

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
    /// For each unit: the places of the answer's lines that come with that line.
    answers: Vec<Range<usize>>,
    /// For each line: the place of the one that names its file, in a change of several, which stands before it; or [`NONE`].
    heads: Vec<u32>,
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
            answers: Vec::with_capacity(task.units.len()),
            heads: vec![NONE; count],
            lines,
            lines_of,
            beside,
        };
        let factors = Factors::new(index);
        for (at, (&number, &usage)) in scope.blocks.iter().zip(&scope.uses).enumerate() {
            let block = &index.blocks[number as usize];
            packer.block_of[packer.lines_of[at].clone()].fill(at as u32);
            if usage == Use::Shown {
                block.lines.clone().for_each(|line| packer.hide(line as usize, true));
                continue;
            }
            let heads = index.heads_of(block);
            for (nth, &head) in heads.iter().enumerate() {
                let end = heads.get(nth + 1).copied().unwrap_or(block.lines.end);
                let beneath = packer.lines.places(head + 1..end);
                let head = packer.lines.place(head).map_or(NONE, |head| head as u32);
                packer.heads[beneath].fill(head);
            }
            let factor = factors.of(number);
            for place in looked_at(&packer.lines_of, &packer.beside, at) {
                let line = &index.lines[packer.lines.at(place)];
                packer.factors[place] = factor * factors::within(block, line);
                if candidates.is_all() {
                    packer.bytes += u64::from(line.bytes);
                }
            }
            packer.pass_over_frame(block);
            let unit = scope.unit_of[at] as usize;
            packer.next_block[at] = std::mem::replace(&mut packer.first_block[unit], at as u32);
        }
        for (first, unit) in packer.first_line.iter_mut().zip(task.units) {
            let place = packer.lines.place(unit.first);
            *first = place.map_or(NONE, |place| place as u32);
            packer.answers.push(packer.lines.places(unit.answer..unit.answer_end));
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

    /// That a reading tool begins its answer with the path that it was given says nothing new.
    fn pass_over_frame(&mut self, block: &Block) {
        let call = block.call.map(|call| &self.index.blocks[call as usize]);
        let Some(call) = call.filter(|call| call.subject && block.kind == BlockKind::Read) else {
            return;
        };
        let path = self.index.text_of(call, call.lines.start as usize);
        let first = block.lines.start..(block.lines.start + FRAME_LINES).min(block.lines.end);
        for place in self.lines.places(first) {
            let text = self.index.text_of(block, self.lines.at(place));
            if text.len() <= path.len() + FRAME_BYTES && text.contains(path) {
                self.factors[place] = 0.0;
            }
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
        let mut ranked: Vec<Ranked> = Vec::with_capacity(self.lines.len());
        for (at, &number) in self.task.scope.blocks.iter().enumerate() {
            let Unit {
                first,
                answer,
                answer_end,
                ..
            } = self.task.units[self.task.scope.unit_of[at] as usize];
            let answer = answer..answer_end;
            if self.task.scope.uses[at] == Use::Shown {
                // What is shown now may be gone next time.
                let lines = index.blocks[number as usize].lines.clone();
                ranked.extend(lines.map(|line| Ranked {
                    line,
                    bytes: None,
                    worth: 0.0,
                    first,
                    answer: answer.clone(),
                    head: NONE,
                }));
                continue;
            }
            ranked.extend(self.looked_at(at).map(|place| Ranked {
                line: self.lines.at(place) as u32,
                bytes: (!self.taken[place]).then(|| self.shown_bytes(place)),
                worth: self.most[place].max(self.bounds[place] * COVERED),
                first,
                answer: answer.clone(),
                head: self.head_of(place).map_or(NONE, |head| self.lines.at(head) as u32),
            }));
        }
        Candidates::pick(&ranked, index.lines.len() as u32, room, self.sums, self.bytes)
            .unwrap_or_else(|| self.candidates.clone().into_owned())
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
        if !self.is_path[line] && !self.opened[unit] && !self.is_listed(unit, line) {
            self.opened[unit] = true;
            cheaper = true;
        }
        if !self.is_path[line] && first != NONE && !self.taken[first as usize] {
            self.taken[first as usize] = true;
            self.cover(first as usize);
            self.wake_beside(first as usize);
            cheaper = true;
        }
        if cheaper {
            self.take_answer(unit);
        }
        if let Some(head) = self.head_of(line).filter(|&head| !self.taken[head]) {
            self.taken[head] = true;
            self.cover(head);
            self.wake_beside(head);
            cheaper = true;
        }
        self.wake_beside(line);
        if cheaper {
            self.wake_unit(unit);
        }
    }

    /// The place of the line that names the file of this one, in a change of several.
    fn head_of(&self, line: usize) -> Option<usize> {
        Some(self.heads[line] as usize).filter(|_| self.heads[line] != NONE)
    }

    /// Takes what comes with the command of a unit, which is taken and has paid for it.
    fn take_answer(&mut self, unit: usize) {
        for line in self.answers[unit].clone() {
            if !std::mem::replace(&mut self.taken[line], true) {
                self.cover(line);
                self.wake_beside(line);
            }
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
        let lead = index.blocks[block.unit(number as usize)].lead.start;
        let mut first = match block.subject {
            true => Some(block.lines.start),
            false => Some(lead).filter(|line| block.lines.contains(line)),
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
mod tests;
