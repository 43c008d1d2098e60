//! Some of many things that are numbered from 0, a bit for each: this many fit where they are quickly looked up.

/// The numbers that are marked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marked(Vec<u64>);

impl Marked {
    /// None of so many things.
    pub fn with_room(count: usize) -> Self {
        let mut none = Marked::default();
        none.make_room(count);
        none
    }

    /// Room for so many things, of which the new ones are not marked.
    pub fn make_room(&mut self, count: usize) {
        self.0.resize(count.div_ceil(64), 0);
    }

    /// Marks a thing that there is room for.
    pub fn mark(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }

    /// Whether a thing is marked that there is room for.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.0[number as usize / 64] >> (number % 64) & 1 == 1
    }
}
