//! What a choice of lines asks of all blocks so far, noted as they come, so that no choice has to look at each of them.

use super::{Block, Came, NONE};
use crate::hash::{self, ByHash};

/// See the module.
#[derive(Clone, Default)]
pub struct Noted {
    /// The newest block of the user's own words.
    pub prompt: Option<u32>,
    /// The block that the work at hand begins with: the newest prompt that a call follows, or the first block.
    pub work: u32,
    /// The newest call that writes all of the list of what is to be done.
    pub list: Option<u32>,
    /// The calls that change files, oldest first.
    pub changes: Vec<u32>,
    /// By what a call reads or changes: the newest call about it.
    about: ByHash<u32>,
    /// How many calls run a command that could be listed, by what came of them.
    commands: [u32; Came::ALL.len()],
    /// For the first block of a unit the newest one of it, and for each of the others the one before it.
    older: Vec<u32>,
}

impl Noted {
    /// A block was begun, which belongs to the unit of this call, or is the first of its own.
    pub fn begin(&mut self, call: Option<u32>) {
        let number = self.older.len() as u32;
        match call {
            Some(call) => {
                let newest = std::mem::replace(&mut self.older[call as usize], number);
                self.older.push(newest);
            }
            None => self.older.push(number),
        }
    }

    /// A call was taken in as the block of this number. `line` is its first.
    pub fn call(&mut self, number: u32, block: &Block, line: &str) {
        self.work = self.prompt.unwrap_or_default();
        if block.change {
            self.changes.push(number);
        }
        if block.list {
            self.list = Some(number);
        }
        if block.subject {
            self.about.insert(about(block.path, line), number);
        }
        if !block.lead.is_empty() {
            self.commands[block.came as usize] += 1;
        }
    }

    /// What came of the call of this block is known now, and was taken to be this until then.
    pub fn answered(&mut self, block: &Block, before: Came) {
        if !block.lead.is_empty() {
            self.commands[before as usize] -= 1;
            self.commands[block.came as usize] += 1;
        }
    }

    /// The newest call that reads or changes this file.
    pub fn about_file(&self, file: u64) -> Option<u32> {
        self.about.get(&file).copied().filter(|_| file != 0)
    }

    /// Whether no newer call than this one is about the same; `line` is its first.
    pub fn is_newest(&self, number: u32, block: &Block, line: &str) -> bool {
        self.about.get(&about(block.path, line)) == Some(&number)
    }

    /// What came of the commands so far, each once.
    pub fn came(&self) -> impl Iterator<Item = Came> + '_ {
        Came::ALL.into_iter().filter(|came| self.commands[*came as usize] > 0)
    }

    /// The blocks of the unit that begins with this one, which comes last.
    pub fn unit(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.older.get(first as usize).copied().unwrap_or(NONE);
        let mut is_over = next == NONE;
        std::iter::from_fn(move || {
            let block = (!is_over).then_some(next)?;
            is_over = block == first;
            next = self.older[block as usize];
            Some(block)
        })
    }
}

/// What a call is about: its file, or what stands in its place.
fn about(file: u64, line: &str) -> u64 {
    if file == 0 {
        hash::pair(hash::bytes(line.as_bytes()), 5)
    } else {
        file
    }
}
