//! Handles, the short names for reading back removed content, and the archive that stores it.

use crate::text::body::Body;
use crate::text::hash::{self, ByHash, QuickMap};
use std::ops::Range;
use std::sync::Arc;

/// The short name of removed content, such as `k3f9a2`. It is derived from the content, so the same content has the
/// same handle in every run; if two contents would share one, the later gets a longer one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handle(Arc<str>);

impl Handle {
    /// Creates a handle as typed by a person; it may not exist in the archive.
    pub(crate) fn new(name: &str) -> Self {
        Handle(Arc::from(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Handle {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Letters that are hard to confuse (Crockford's base 32, lower case).
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of a handle unless it would collide: 30 bits.
const LENGTH: usize = 6;

/// Content that was removed from the view.
#[derive(Clone, PartialEq, Debug)]
pub struct Removed {
    /// The exact bytes.
    pub body: Body,
    /// The tool that produced it, or the kind of part.
    pub tool: Arc<str>,
    /// The reason for the removal: the name of the strategy or of the compaction step.
    pub reason: &'static str,
}

/// Removed content by handle. Clones are cheap: they share what was archived before.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    /// Oldest entries first. Each shelf but the last two holds more than twice as much as the next, so there are few.
    shelves: Vec<Arc<Shelf>>,
}

/// Entries and their indexes.
#[derive(Clone, Debug, Default)]
struct Shelf {
    kept: Vec<(Handle, Removed)>,
    by_handle: QuickMap<Handle, u32>,
    /// The first entry with this hash of its bytes.
    by_hash: ByHash<u32>,
}

impl Shelf {
    fn insert(&mut self, handle: Handle, removed: Removed) {
        let at = self.kept.len() as u32;
        self.by_handle.insert(handle.clone(), at);
        self.by_hash.entry(removed.body.hash()).or_insert(at);
        self.kept.push((handle, removed));
    }
}

impl PartialEq for Archive {
    /// Compares contents; the order of insertion does not matter.
    fn eq(&self, other: &Self) -> bool {
        let same = |(handle, removed): &(Handle, Removed)| other.get(handle.as_str()) == Some(removed);
        self.len() == other.len() && self.oldest().all(same)
    }
}

impl Archive {
    /// Archives a text and returns its handle. Equal texts are stored once, with the tool and reason of the first.
    pub fn keep(&mut self, body: &Body, tool: &str, reason: &'static str) -> Handle {
        if let Some(handle) = self.handle_of(body) {
            return handle.clone();
        }
        let full = spell(body.hash());
        let short = (LENGTH..=full.len()).map(|length| full[..length].to_owned());
        // Two texts with the same 64-bit hash are numbered.
        let numbered = (1..).map(|number: u32| format!("{full}{number}"));
        let is_free = |name: &String| self.get(name).is_none_or(|other| other.body == *body);
        let name = short.chain(numbered).find(is_free).unwrap_or_default();
        let handle = Handle::new(&name);
        if self.get(&name).is_none() {
            // Most entries come from a few tools in turn, so their names are shared.
            let recent = self.newest().take(8).map(|(_, removed)| &removed.tool);
            let known = recent.into_iter().find(|name| ***name == *tool).cloned();
            let tool = known.unwrap_or_else(|| Arc::from(tool));
            let body = body.clone();
            self.insert(handle.clone(), Removed { body, tool, reason });
        }
        handle
    }

    /// The handle of a text, if it is archived.
    pub fn handle_of(&self, body: &Body) -> Option<&Handle> {
        let hash = body.hash();
        let first = |shelf: &'_ Arc<Shelf>| shelf.by_hash.get(&hash).copied();
        let (shelf, at) = self.shelves.iter().find_map(|shelf| Some((shelf, first(shelf)?)))?;
        let (handle, removed) = &shelf.kept[at as usize];
        // One with this hash that is empty was dropped.
        (removed.body == *body || removed.body.is_empty()).then_some(handle)
    }

    fn insert(&mut self, handle: Handle, removed: Removed) {
        if let Some(shelf) = self.shelves.last_mut().and_then(Arc::get_mut) {
            return shelf.insert(handle, removed);
        }
        // The last shelf is shared and stays unchanged. Only shelves of similar size are merged, so that each entry is
        // copied rarely.
        while let [.., before, last] = &self.shelves[..]
            && last.kept.len() * 2 >= before.kept.len()
            && let Some(last) = self.shelves.pop()
            && let Some(before) = self.shelves.last_mut()
        {
            let joined = Arc::make_mut(before);
            for (handle, removed) in &last.kept {
                joined.insert(handle.clone(), removed.clone());
            }
        }
        let mut shelf = Shelf::default();
        shelf.insert(handle, removed);
        self.shelves.push(Arc::new(shelf));
    }

    /// Drops the bytes of these entries. If the same bytes are removed again, they have the same handle as before. Earlier
    /// clones keep the bytes.
    pub(crate) fn drop_texts(&mut self, is_dropped: impl Fn(&Removed) -> bool) {
        let is_dropped = |removed: &Removed| !removed.body.is_empty() && is_dropped(removed);
        for shelf in &mut self.shelves {
            if shelf.kept.iter().any(|(_, removed)| is_dropped(removed)) {
                let kept = &mut Arc::make_mut(shelf).kept;
                let dropped = kept.iter_mut().map(|(_, removed)| removed).filter(|it| is_dropped(it));
                dropped.for_each(|removed| removed.body = removed.body.emptied());
            }
        }
    }

    /// The entry under a handle.
    pub fn get(&self, handle: &str) -> Option<&Removed> {
        let mut shelves = self.shelves.iter();
        let (shelf, at) = shelves.find_map(|shelf| Some((shelf, *shelf.by_handle.get(handle)?)))?;
        shelf.kept.get(at as usize).map(|(_, removed)| removed)
    }

    /// The original bytes under a handle, or a range of them. A range is clamped to the end and extended to whole
    /// characters.
    pub fn recall(&self, handle: &str, range: Option<Range<usize>>) -> Option<&str> {
        let text = self.get(handle)?.body.as_str();
        let Some(range) = range else { return Some(text) };
        let start = text.floor_char_boundary(range.start.min(text.len()));
        let end = text.ceil_char_boundary(range.end.clamp(start, text.len()));
        Some(&text[start..end])
    }

    /// All entries, ordered by handle.
    pub fn iter(&self) -> impl Iterator<Item = (&Handle, &Removed)> {
        let mut all: Vec<_> = self.oldest().map(|(handle, removed)| (handle, removed)).collect();
        all.sort_unstable_by_key(|(handle, _)| *handle);
        all.into_iter()
    }

    /// All entries, oldest first.
    fn oldest(&self) -> impl Iterator<Item = &(Handle, Removed)> {
        self.shelves.iter().flat_map(|shelf| &shelf.kept)
    }

    /// All entries, newest first.
    pub fn newest(&self) -> impl Iterator<Item = (&Handle, &Removed)> {
        let shelves = self.shelves.iter().rev();
        let kept = shelves.flat_map(|shelf| shelf.kept.iter().rev());
        kept.map(|(handle, removed)| (handle, removed))
    }

    /// The entries that are not in an earlier archive, under their handles.
    pub fn without(&self, earlier: &Archive) -> Archive {
        let mut rest = Archive::default();
        for (handle, removed) in self
            .oldest()
            .filter(|(handle, _)| earlier.get(handle.as_str()).is_none())
        {
            rest.insert(handle.clone(), removed.clone());
        }
        rest
    }

    /// The handles of the entries after the first `len`, oldest first.
    pub(crate) fn since(&self, len: usize) -> impl Iterator<Item = &Handle> {
        let mut before = 0;
        let shelves = self.shelves.iter().flat_map(move |shelf| {
            let skipped = len.saturating_sub(before).min(shelf.kept.len());
            before += shelf.kept.len();
            shelf.kept[skipped..].iter()
        });
        shelves.map(|(handle, _)| handle)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.shelves.iter().map(|shelf| shelf.kept.len()).sum()
    }

    /// Returns whether the archive is empty.
    pub fn is_empty(&self) -> bool {
        self.shelves.is_empty()
    }

    /// Adds the entries of another archive, in their order there.
    pub fn merge(&mut self, other: &Archive) {
        for (handle, removed) in other.oldest() {
            if self.get(handle.as_str()).is_none() {
                self.insert(handle.clone(), removed.clone());
            }
        }
    }
}

fn spell(hash: u64) -> String {
    let hash = hash::pair(hash, 1);
    (0..13)
        .map(|i| char::from(ALPHABET[(hash >> (i * 5) & 31) as usize]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_clone_shares_what_was_kept_and_each_thing_is_copied_seldom() {
        let mut archive = Archive::default();
        let mut copied = 0;
        for round in 0..100 {
            // As in a compaction: the old archive exists until the new one replaces it.
            let before = archive.clone();
            for number in 0..10 {
                archive.keep(&Body::new(format!("text {round} {number}")), "tool", "test");
            }
            assert_eq!(before.len() + 10, archive.len());
            let pairs = before.shelves.iter().zip(&archive.shelves);
            let shared = pairs.take_while(|(a, b)| Arc::ptr_eq(a, b));
            copied += before.len() - shared.map(|(shelf, _)| shelf.kept.len()).sum::<usize>();
            assert!(archive.shelves.len() < 12);
        }
        // Copying everything each time would be fifty thousand.
        assert!(copied < 10_000, "{copied}");
    }

    #[test]
    fn what_came_last_stays_the_newest_when_an_archive_is_taken_over() {
        let mut kept = Archive::default();
        for number in 0..9 {
            kept.keep(&Body::new(format!("page {number}")), "Read", "old");
        }
        let mut restored = Archive::default();
        restored.keep(&Body::new("page 4"), "Read", "old");
        restored.merge(&kept);
        let newest: Vec<&str> = restored.newest().map(|(_, removed)| removed.body.as_str()).collect();
        let expected = [8, 7, 6, 5, 3, 2, 1, 0, 4].map(|number| format!("page {number}"));
        assert_eq!(newest, expected);
    }

    proptest! {
        #[test]
        fn shelves_are_one_archive(steps in proptest::collection::vec((0u32..60, any::<bool>()), 0..120), from in 0usize..60) {
            let mut archive = Archive::default();
            let mut whole: Vec<Handle> = Vec::new();
            let mut earlier = Vec::new();
            for (text, is_shared) in steps {
                if is_shared {
                    earlier.push((archive.clone(), whole.clone()));
                }
                let body = Body::new(format!("text {text}"));
                let is_known = archive.handle_of(&body).is_some();
                let handle = archive.keep(&body, "tool", "test");
                prop_assert_eq!(archive.recall(handle.as_str(), None), Some(body.as_str()));
                prop_assert_eq!(is_known, whole.contains(&handle));
                if !is_known {
                    whole.push(handle);
                }
            }
            earlier.push((archive, whole));
            for (archive, whole) in earlier {
                let mut merged = Archive::default();
                merged.merge(&archive);
                merged.merge(&archive);
                prop_assert!(merged.newest().map(|(handle, _)| handle).eq(whole.iter().rev()));
                prop_assert_eq!(archive.len(), whole.len());
                prop_assert_eq!(archive.is_empty(), whole.is_empty());
                prop_assert!(archive.since(from).eq(whole.iter().skip(from)));
                prop_assert!(archive.newest().map(|(handle, _)| handle).eq(whole.iter().rev()));
            }
        }
    }
}
