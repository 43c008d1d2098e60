//! Handles: the short names under which removed content is read back, and the archive that keeps it.

use crate::body::Body;
use crate::hash;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The short name of something removed, such as `k3f9a2`. It is made from the content, so the same content has the same
/// handle in every run; where two contents would share one, the later gets a longer one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handle(Arc<str>);

impl Handle {
    /// A handle as somebody typed it; whether anything is kept under it is the archive's to say.
    pub fn new(name: &str) -> Self {
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

/// Letters that are hard to confuse (Crockford's base 32, small).
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of a handle unless it would clash: 30 bits.
const LENGTH: usize = 6;

/// Something that left the view.
#[derive(Clone, PartialEq, Debug)]
pub struct Removed {
    /// The bytes, exactly.
    pub body: Body,
    /// The tool that it came from, or the kind of part.
    pub tool: Arc<str>,
    /// Why it was removed: the name of the strategy or of the step of the compaction.
    pub reason: &'static str,
}

/// Keeps what left the view, by handle. Cloning shares the texts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Archive(BTreeMap<Handle, Removed>);

impl Archive {
    /// Keeps a text and returns its handle. The same text from the same tool is kept once.
    pub fn keep(&mut self, body: &Body, tool: &str, reason: &'static str) -> Handle {
        let full = spell(body.hash());
        for length in LENGTH..=full.len() {
            let handle = Handle(Arc::from(&full[..length]));
            match self.0.get(&handle) {
                Some(other) if other.body != *body => continue,
                Some(_) => {}
                None => {
                    self.0.insert(
                        handle.clone(),
                        Removed {
                            body: body.clone(),
                            tool: Arc::from(tool),
                            reason,
                        },
                    );
                }
            }
            return handle;
        }
        // Two texts with the same 64-bit hash: number them.
        let mut number = 1;
        loop {
            let handle = Handle(Arc::from(format!("{full}{number}")));
            match self.0.get(&handle) {
                Some(other) if other.body != *body => number += 1,
                Some(_) => return handle,
                None => {
                    let tool = Arc::from(tool);
                    self.0.insert(
                        handle.clone(),
                        Removed {
                            body: body.clone(),
                            tool,
                            reason,
                        },
                    );
                    return handle;
                }
            }
        }
    }

    /// What is kept under a handle.
    pub fn get(&self, handle: &str) -> Option<&Removed> {
        self.0.get(handle)
    }

    /// The original bytes under a handle, or the given range of them. A range beyond the end is shortened to what is
    /// there, and moved outwards to whole characters.
    pub fn recall(&self, handle: &str, range: Option<Range<usize>>) -> Option<&str> {
        let text = self.get(handle)?.body.as_str();
        let Some(range) = range else { return Some(text) };
        let start = text.floor_char_boundary(range.start.min(text.len()));
        let end = text.ceil_char_boundary(range.end.clamp(start, text.len()));
        Some(&text[start..end])
    }

    /// Everything kept, in the order of handles.
    pub fn iter(&self) -> impl Iterator<Item = (&Handle, &Removed)> {
        self.0.iter()
    }

    /// How many things are kept.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes over what another archive keeps.
    pub fn merge(&mut self, other: &Archive) {
        for (handle, removed) in &other.0 {
            self.0.entry(handle.clone()).or_insert_with(|| removed.clone());
        }
    }
}

fn spell(hash: u64) -> String {
    let hash = hash::pair(hash, 1);
    (0..13)
        .map(|i| char::from(ALPHABET[(hash >> (i * 5) & 31) as usize]))
        .collect()
}
