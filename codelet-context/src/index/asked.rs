//! What is asked of an index.

use super::{Block, Index, Line};
use std::collections::HashSet;
use std::ops::Range;

impl Index {
    /// What stands between a line of a block and the one before it, if both are pieces of one long line: at most one byte,
    /// so that it takes no more than a line break.
    pub fn between<'a>(&self, block: &'a Block, line: u32) -> Option<&'a str> {
        let before = line.checked_sub(1).filter(|before| block.lines.contains(before))?;
        let (before, line) = (&self.lines[before as usize], &self.lines[line as usize]);
        let end = before.start as usize + usize::from(before.bytes);
        let between = &block.text.as_str()[end..line.start as usize];
        match between.chars().next() {
            // Encoded bytes that have no line of their own are not to vanish within one.
            _ if between.contains('\n') || !between.trim().is_empty() => None,
            None => Some(""),
            Some(c) if c.is_ascii() => Some(&between[..1]),
            Some(_) => Some(" "),
        }
    }

    /// The lines of a block that name the files of a change, where it is of several.
    pub fn heads_of(&self, block: &Block) -> &[u32] {
        let before = |line: u32| self.heads.partition_point(|&head| head < line);
        match self.heads.is_empty() {
            true => &[],
            false => &self.heads[before(block.lines.start)..before(block.lines.end)],
        }
    }

    /// The places (message and part) whose output the message taken in last uses things of, each with how many of them; a
    /// name counts once, what is more telling twice.
    pub fn used(&self) -> Vec<((u32, u32), u32)> {
        let mut places: Vec<(u32, u32)> = self
            .scratch
            .used
            .iter()
            .filter_map(|&block| self.blocks.get(block as usize))
            .filter(|block| block.kind.is_output())
            .map(|block| (block.message, block.part))
            .collect();
        places.sort_unstable();
        let counted = places.chunk_by(|a, b| a == b);
        counted.map(|alike| (alike[0], alike.len() as u32)).collect()
    }

    /// Whether what this block shows of a file is no longer so: the file was changed later.
    pub fn is_stale(&self, block: usize) -> bool {
        let path = self.blocks[block].path;
        path != 0 && self.changed.get(&path).is_some_and(|&change| change as usize > block)
    }

    /// Whether a tool printed this block for work that was done before the one at hand.
    pub fn is_finished(&self, block: usize) -> bool {
        (block as u32) < self.noted.work && self.blocks[block].kind.is_output()
    }

    /// The file that a path means by what calls have named so far; see [`crate::files`].
    pub fn file(&self, path: &str) -> Option<u64> {
        self.files.find(path)
    }

    /// The file that the call at this place of the history (message and part) reads or changes, or 0.
    pub fn subject(&self, (message, part): (u32, u32)) -> u64 {
        let blocks = &self.blocks[self.blocks_of(message)];
        let first = blocks.partition_point(|block| block.part < part);
        blocks
            .get(first)
            .filter(|block| block.part == part)
            .map_or(0, |block| block.path)
    }

    /// Whether the user has named the file that this block shows.
    pub fn is_named_by_user(&self, block: usize) -> bool {
        let name = self.names_of_paths.get(&self.blocks[block].path);
        let name = name.and_then(|&name| self.items.find(name));
        name.is_some_and(|name| self.items[name as usize].is_prompted())
    }

    /// The numbers of the blocks of a message.
    pub fn blocks_of(&self, message: u32) -> Range<usize> {
        let start = self.blocks.partition_point(|block| block.message < message);
        // A message has few of them.
        let blocks = self.blocks[start..].iter();
        start..start + blocks.take_while(|block| block.message == message).count()
    }

    /// The blocks about a file, oldest first.
    pub fn blocks_about(&self, path: u64) -> &[u32] {
        self.about.get(&path).map_or(&[], Vec::as_slice)
    }

    /// The files of whose names this is true.
    pub fn files_named(&self, is_name: impl Fn(u32) -> bool) -> HashSet<u64> {
        let is_named = |name: u64| self.items.find(name).is_some_and(&is_name);
        let paths = self.names_of_paths.iter();
        paths
            .filter(|(_, name)| is_named(**name))
            .map(|(path, _)| *path)
            .collect()
    }

    /// The items of a line.
    pub fn items_of(&self, line: usize) -> &[u32] {
        let end = self
            .lines
            .get(line + 1)
            .map_or(self.line_items.len(), |next| next.items as usize);
        &self.line_items[self.lines[line].items as usize..end]
    }

    /// The names among the items of a line.
    pub fn names_of(&self, line: usize) -> &[u32] {
        let Line { items, names, .. } = self.lines[line];
        &self.line_items[items as usize..items as usize + usize::from(names)]
    }

    /// A line as it was.
    pub fn whole_text_of<'a>(&self, block: &'a Block, line: usize) -> &'a str {
        let line = &self.lines[line];
        let start = line.start as usize;
        &block.text.as_str()[start..start + line.bytes as usize]
    }

    /// A line as it is shown: without a line number in front.
    pub fn text_of<'a>(&self, block: &'a Block, line: usize) -> &'a str {
        let line = &self.lines[line];
        let start = line.start as usize;
        let text = block.text.as_str();
        &text[start + line.prefix() as usize..start + line.bytes as usize]
    }
}
