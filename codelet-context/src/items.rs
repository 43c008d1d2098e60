//! The things that occur in a history, each known by its hash, with what is known of it.

use crate::index::BlockKind;
use crate::marked::Marked;

/// No item.
pub const NONE: u32 = u32::MAX;

/// The kinds of things that are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ItemKind {
    /// A name.
    Name,
    /// Two names that follow each other.
    Pair,
    /// A whole line.
    Line,
    /// Two lines that follow each other.
    LinePair,
}

/// How many kinds there are.
pub const KINDS: usize = 4;

/// What is known of a thing that occurs in the history. There are several hundred thousand in a long one, so it is small.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    hash: u64,
    /// The newest block that has it.
    pub block: u32,
    /// The newest output of a reading tool that has it, or [`NONE`].
    pub read: u32,
    /// Blocks of parameters that have it.
    pub calls: u16,
    /// Blocks of output that have it.
    pub results: u16,
    /// Messages that have it.
    pub messages: u16,
    pub kind: ItemKind,
    marks: u8,
    /// Of a name: the newest of its [places](Items::blocks_of), or [`NONE`].
    newest: u32,
}

/// A block that has a name, and the place of the name before this one.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: u32,
    before: u32,
}

/// A thing in more blocks of output than this points at none of them.
const COMMON: u16 = 3;

/// The user said it.
pub const PROMPTED: u8 = 1;
/// The assistant said it in its own words.
pub const ANSWERED: u8 = 2;
/// A command printed it.
pub const FROM_COMMAND: u8 = 4;
/// A search printed it.
pub const FROM_SEARCH: u8 = 8;
/// How many of these marks there are.
pub const MARKS: u32 = 4;

impl Item {
    /// The user said it.
    pub fn is_prompted(&self) -> bool {
        self.marks & PROMPTED != 0
    }

    /// Who said it, as a sum of marks.
    pub fn marks(&self) -> u8 {
        self.marks
    }

    /// The blocks of output that somebody who says it has probably read it in: the newest one, unless it stands in so many
    /// that it points at none.
    fn sources(&self, used: &mut Vec<u32>) {
        if !(1..=COMMON).contains(&self.results) {
            return;
        }
        let weight = if self.kind == ItemKind::Name { 1 } else { 2 };
        for source in [self.block, self.read] {
            if source != NONE {
                used.extend(std::iter::repeat_n(source, weight));
            }
        }
    }

    /// Counts a block that has it, and its message unless `counted` tells that this message was counted with another block.
    fn see(&mut self, block: u32, kind: BlockKind, counted: bool) {
        self.block = block;
        match kind {
            BlockKind::Prompt => self.marks |= PROMPTED,
            BlockKind::Answer => self.marks |= ANSWERED,
            BlockKind::Call => self.calls = self.calls.saturating_add(1),
            BlockKind::Read | BlockKind::Command | BlockKind::Search | BlockKind::Report | BlockKind::Other => {
                self.results = self.results.saturating_add(1);
                match kind {
                    BlockKind::Read => self.read = block,
                    BlockKind::Command => self.marks |= FROM_COMMAND,
                    BlockKind::Search => self.marks |= FROM_SEARCH,
                    // Said by somebody like the assistant.
                    BlockKind::Report => self.marks |= ANSWERED,
                    _ => {}
                }
            }
            BlockKind::Injected | BlockKind::Thinking => {}
        }
        if !counted {
            self.messages = self.messages.saturating_add(1);
        }
    }
}

/// A thing in the block that is being taken in, not counted yet.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    pub hash: u64,
    pub kind: ItemKind,
    /// What it counts as.
    pub place: BlockKind,
}

/// So many sightings are looked up side by side: most of the time goes into waiting for memory.
const BATCH: usize = 64;

/// All items, by number and by hash.
#[derive(Clone, Default)]
pub struct Items {
    items: Vec<Item>,
    /// Numbers of items or [`NONE`], each at the first free place from its hash on. Never more than half full.
    slots: Vec<u32>,
    /// The names that the user or a call has said. Most names of what was read are not.
    said: Marked,
    /// Where the names stand, oldest first.
    places: Vec<Place>,
}

impl std::ops::Deref for Items {
    type Target = [Item];

    fn deref(&self) -> &[Item] {
        &self.items
    }
}

impl Items {
    /// The number of the item with this hash.
    pub fn find(&self, hash: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let id = self.slots[self.place(hash)];
        (id != NONE).then_some(id)
    }

    /// Whether an item is a name that the user said, or that stands in a call.
    pub fn is_said(&self, id: u32) -> bool {
        self.said.has(id)
    }

    /// The blocks that have a name, newest first.
    pub fn blocks_of(&self, name: u32) -> impl Iterator<Item = u32> + '_ {
        let place = |number: u32| self.places.get(number as usize);
        let newest = self.items.get(name as usize).and_then(|item| place(item.newest));
        std::iter::successors(newest, move |newer| place(newer.before)).map(|place| place.block)
    }

    /// Counts what was seen in a block, and appends the numbers of the items to `ids`. `first` is the first block of the
    /// message. Where `used` is given, it gets the blocks from which the block may have what it says, once for each thing.
    pub fn count(
        &mut self,
        seen: &[Sighting],
        block: u32,
        first: u32,
        ids: &mut Vec<u32>,
        mut used: Option<&mut Vec<u32>>,
    ) {
        for batch in seen.chunks(BATCH) {
            self.reserve(batch.len());
            let mask = self.slots.len() - 1;
            let mut likely = [NONE; BATCH];
            for (id, sighting) in likely.iter_mut().zip(batch) {
                *id = self.slots[sighting.hash as usize & mask];
            }
            for (id, sighting) in likely.iter_mut().zip(batch) {
                if self
                    .items
                    .get(*id as usize)
                    .is_none_or(|item| item.hash != sighting.hash)
                {
                    *id = NONE;
                }
            }
            for (&id, sighting) in likely.iter().zip(batch) {
                let id = if id == NONE {
                    self.find_or_add(sighting.hash, sighting.kind)
                } else {
                    id
                };
                let item = &mut self.items[id as usize];
                if item.block != block {
                    if let Some(used) = &mut used {
                        item.sources(used);
                    }
                    let counted = item.block != NONE && item.block >= first;
                    item.see(block, sighting.place, counted);
                    if item.kind == ItemKind::Name {
                        let before = std::mem::replace(&mut item.newest, self.places.len() as u32);
                        self.places.push(Place { block, before });
                        if matches!(sighting.place, BlockKind::Prompt | BlockKind::Call) {
                            self.said.mark(id);
                        }
                    }
                }
                ids.push(id);
            }
        }
    }

    fn find_or_add(&mut self, hash: u64, kind: ItemKind) -> u32 {
        let place = self.place(hash);
        if self.slots[place] == NONE {
            self.slots[place] = self.items.len() as u32;
            self.said.make_room(self.items.len() + 1);
            self.items.push(Item {
                hash,
                block: NONE,
                read: NONE,
                calls: 0,
                results: 0,
                messages: 0,
                kind,
                marks: 0,
                newest: NONE,
            });
        }
        self.slots[place]
    }

    /// Where the number of the item with this hash is, or would be. There is always a free place.
    fn place(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.items.get(self.slots[at] as usize) {
                Some(item) if item.hash != hash => at = (at + 1) & mask,
                _ => return at,
            }
        }
    }

    /// Makes room for this many more.
    fn reserve(&mut self, more: usize) {
        let wanted = (self.items.len() + more) * 2;
        if wanted <= self.slots.len() {
            return;
        }
        let size = wanted.next_power_of_two().max(1_024);
        // The old places go first, so that old and new are never in memory together.
        self.slots = Vec::new();
        self.slots = vec![NONE; size];
        let mask = size - 1;
        for (id, item) in self.items.iter().enumerate() {
            let mut at = item.hash as usize & mask;
            while self.slots[at] != NONE {
                at = (at + 1) & mask;
            }
            self.slots[at] = id as u32;
        }
    }
}
