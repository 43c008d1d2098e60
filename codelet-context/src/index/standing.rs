//! Where the lines of files stand that calls change, so that what a change takes away is found wherever it was shown before.
//!
//! A file that is edited a thousand times has been shown a thousand times. So its lines are known by what they say, and each
//! is taken in once: when a change first looks for what was shown before it.

use super::line::REMOVED;
use super::{BlockKind, Came, Index, NONE};
use crate::hash::{self, ByHash};
use crate::items::ItemKind;
use crate::replaced;

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Standing {
    /// By file. None that no change has taken anything from.
    files: ByHash<Known>,
    places: Vec<Place>,
}

/// What a change has taken away: lines that stood in its file by all that was known.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    lines: Vec<Shown>,
    bare: Vec<u32>,
}

/// What is known of the lines of a file that nothing has taken away.
#[derive(Clone, Default)]
struct Known {
    /// So many of the blocks about the file are taken in, the oldest.
    taken: usize,
    /// By the number of their items, mixed.
    lines: ByHash<Shown>,
    /// Lines that are no items, for they are short.
    bare: Vec<u32>,
}

/// A line that stands in a file.
#[derive(Clone, Copy, Debug)]
struct Shown {
    item: u32,
    /// The newest of its places.
    newest: u32,
    /// How often it stands there, as far as that is known.
    times: u32,
    /// How often the newest block with it has it.
    here: u32,
}

/// A line of the index that shows it.
#[derive(Clone, Copy)]
struct Place {
    line: u32,
    /// The place before this one, or [`NONE`].
    before: u32,
    /// It is certain to show the file, and no other.
    is_certain: bool,
}

/// What a block tells of a file by a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tells {
    /// That the line stands there, as often as the block shows it.
    Shown,
    /// That it stands there.
    Named,
    /// That it is there as often as this, and nothing else is.
    Whole,
    /// That there is one more.
    Added,
}

impl Index {
    /// The call of this block was carried out: what it takes away stands no longer in its file, whatever showed it there
    /// before. A line that stands there more often than it was taken away, unless it was everywhere, is still there.
    pub(super) fn take_away(&mut self, call: u32, is_everywhere: bool) -> Taken {
        let block = &self.blocks[call as usize];
        let (path, is_whole) = (block.path, block.whole);
        let sides = self.gone_and_come(call);
        self.take_from(path, call, sides, is_whole, is_everywhere)
    }

    /// The call of this block has taken the first of these lines away from a file, and the others stand there, each side as
    /// items in order; where it wrote the whole, no others do.
    pub(super) fn take_from(
        &mut self,
        path: u64,
        call: u32,
        (mut gone, mut stays): (Vec<u32>, Vec<u32>),
        is_whole: bool,
        is_everywhere: bool,
    ) -> Taken {
        gone.retain(|item| stays.binary_search(item).is_err());
        let mut taken = Taken::default();
        if gone.is_empty() && !is_whole {
            return taken;
        }
        let mut standing = std::mem::take(&mut self.standing);
        let Standing { files, places } = &mut standing;
        let known = files.entry(path).or_default();
        self.know(known, places, path, call);
        if is_whole {
            stays.dedup();
            // Not in place: the next one is to take no longer for how much there once was.
            let lines = std::mem::take(&mut known.lines);
            for (key, shown) in lines {
                match stays.binary_search(&shown.item) {
                    Ok(_) => _ = known.lines.insert(key, shown),
                    Err(_) => {
                        self.remove(shown, places, true);
                        taken.lines.push(shown);
                    }
                }
            }
            taken.bare = std::mem::take(&mut known.bare);
            for &line in &taken.bare {
                self.lines[line as usize].front |= REMOVED;
            }
        } else {
            for alike in gone.chunk_by(|a, b| a == b) {
                let key = key(alike[0]);
                let Some(shown) = known.lines.get_mut(&key) else {
                    continue;
                };
                let before = *shown;
                shown.times = shown.times.saturating_sub(alike.len() as u32);
                if shown.times == 0 || is_everywhere {
                    known.lines.remove(&key);
                    self.remove(before, places, false);
                    taken.lines.push(before);
                }
            }
        }
        self.standing = standing;
        taken
    }

    /// What a change has taken away from a file stands there again, wherever it was shown before that.
    pub(super) fn stands_again(&mut self, path: u64, taken: Taken) {
        let mut standing = std::mem::take(&mut self.standing);
        let Standing { files, places } = &mut standing;
        let known = files.entry(path).or_default();
        for &line in &taken.bare {
            self.lines[line as usize].front &= !REMOVED;
        }
        known.bare.extend(taken.bare);
        for mut shown in taken.lines {
            let mut next = shown.newest;
            let mut oldest = NONE;
            while let Some(place) = places.get(next as usize) {
                self.lines[place.line as usize].front &= !REMOVED;
                (oldest, next) = (next, place.before);
            }
            let key = key(shown.item);
            // It was shown since.
            if let Some(newer) = known.lines.remove(&key) {
                if let Some(oldest) = places.get_mut(oldest as usize) {
                    oldest.before = newer.newest;
                }
                shown.times += newer.times;
            }
            known.lines.insert(key, shown);
        }
        self.standing = standing;
    }

    /// The lines that a change takes away from its file and those that stand in it then, as items, each side in order.
    fn gone_and_come(&self, call: u32) -> (Vec<u32>, Vec<u32>) {
        let block = &self.blocks[call as usize];
        let is_patch = replaced::is_patch(block.text.as_str());
        let (mut gone, mut stays) = (Vec::new(), Vec::new());
        for line in block.lines.clone() {
            let is_removed = self.is_taken(call, line, is_patch);
            let side = if is_removed { &mut gone } else { &mut stays };
            side.extend(self.line_item(line));
        }
        gone.sort_unstable();
        stays.sort_unstable();
        (gone, stays)
    }

    /// Whether a change, which is a patch or is none, takes this line of it away.
    fn is_taken(&self, change: u32, line: u32, is_patch: bool) -> bool {
        let block = &self.blocks[change as usize];
        self.lines[line as usize].is_removed() || is_patch && self.text_of(block, line as usize).starts_with('-')
    }

    /// Takes in the blocks about a file that came before a call and are not taken in yet.
    fn know(&self, known: &mut Known, places: &mut Vec<Place>, path: u64, call: u32) {
        while let Some(&number) = self.blocks_about(path).get(known.taken)
            && number < call
        {
            known.taken += 1;
            self.take_in(known, places, number);
        }
    }

    fn take_in(&self, known: &mut Known, places: &mut Vec<Place>, number: u32) {
        let block = &self.blocks[number as usize];
        // What was not carried out tells nothing of the file.
        let is_change = block.kind == BlockKind::Call && block.change;
        if is_change && block.came != Came::Done {
            return;
        }
        let is_patch = is_change && replaced::is_patch(block.text.as_str());
        let gone = match is_change && !block.whole {
            true => self.gone_and_come(number).0,
            false => Vec::new(),
        };
        let first = block.lines.start + u32::from(block.subject);
        for line in first..block.lines.end {
            if is_change && self.is_taken(number, line, is_patch) {
                continue;
            }
            let is_certain = block.alone
                && match block.kind {
                    BlockKind::Call => is_change,
                    BlockKind::Read => true,
                    // What a tool says of a change, and where it shows the lines around it.
                    _ => self.lines[line as usize].prefix() > 0,
                };
            let Some(item) = self.line_item(line) else {
                if is_certain {
                    known.bare.push(line);
                }
                continue;
            };
            let tells = match block.kind {
                _ if block.whole => Tells::Whole,
                // What takes nothing away may write all of the file anew.
                BlockKind::Call if is_change && gone.is_empty() => Tells::Shown,
                BlockKind::Call if is_change && gone.binary_search(&item).is_err() => Tells::Added,
                BlockKind::Call => Tells::Named,
                _ => Tells::Shown,
            };
            let shown = known.lines.entry(key(item)).or_insert(Shown {
                item,
                newest: NONE,
                times: 0,
                here: 0,
            });
            let is_again = places
                .get(shown.newest as usize)
                .is_some_and(|place| place.line >= block.lines.start);
            shown.here = if is_again { shown.here + 1 } else { 1 };
            shown.times = match tells {
                Tells::Shown => shown.times.max(shown.here),
                Tells::Named => shown.times.max(1),
                Tells::Whole => shown.here,
                Tells::Added => shown.times + 1,
            };
            places.push(Place {
                line,
                before: shown.newest,
                is_certain,
            });
            shown.newest = places.len() as u32 - 1;
        }
    }

    /// Marks a line as taken away wherever it was shown, or where that is certain to be the file.
    fn remove(&mut self, shown: Shown, places: &[Place], only_certain: bool) {
        let mut next = shown.newest;
        while let Some(place) = places.get(next as usize) {
            if place.is_certain || !only_certain {
                self.lines[place.line as usize].front |= REMOVED;
            }
            next = place.before;
        }
    }

    /// The item that stands for a whole line, where it has one.
    pub(super) fn line_item(&self, line: u32) -> Option<u32> {
        let last = self.items_of(line as usize).last().copied();
        last.filter(|&item| self.items[item as usize].kind == ItemKind::Line)
    }
}

/// Where an item is kept: a map by hashes wants its keys to differ in every bit.
fn key(item: u32) -> u64 {
    hash::pair(u64::from(item), 11)
}

#[cfg(test)]
mod tests;
