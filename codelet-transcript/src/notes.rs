//! What is odd about the entries of a recording, and how much of what they say was understood.

use crate::Warning;
use crate::lines::Entry;
use crate::share::{self, Share};

/// What a reader notes of the entries that it is given.
#[derive(Default)]
pub(crate) struct Notes {
    share: Share,
    /// The bytes of the newest entry, until they are counted as missed, and whether it says anything.
    newest: usize,
    speaks: bool,
    warnings: Vec<Warning>,
}

impl Notes {
    /// Behind these warnings.
    pub(crate) fn new(warnings: Vec<Warning>) -> Self {
        Notes {
            warnings,
            ..Notes::default()
        }
    }

    /// Notes that this entry is looked at now.
    pub(crate) fn given(&mut self, entry: &Entry) {
        self.newest = entry.bytes;
        self.speaks = share::speaks(&entry.fields);
        if self.speaks {
            self.share.all += entry.bytes;
        }
    }

    /// Notes an entry of a kind that this version does not know.
    pub(crate) fn unknown(&mut self, line: usize, kind: &str) {
        self.missed();
        note_unknown(&mut self.warnings, line, kind);
    }

    /// Notes an entry that should hold something that was said and does not.
    pub(crate) fn unread(&mut self, line: usize, kind: &str) {
        // It should say something, whatever its fields are called.
        if !self.speaks {
            self.share.all += self.newest;
        }
        self.speaks = true;
        self.missed();
        for warning in &mut self.warnings {
            if let Warning::UnreadEntry { count, .. } = warning {
                *count += 1;
                return;
            }
        }
        let kind = shortened(kind).to_owned();
        self.warnings.push(Warning::UnreadEntry { line, kind, count: 1 });
    }

    /// Notes so many bytes of which no entry could be made. They may have said something.
    pub(crate) fn lost(&mut self, bytes: usize) {
        self.share.all += bytes;
        self.share.missed += bytes;
    }

    /// Tells of something else that is odd, unless something like it was told before.
    pub(crate) fn warn_once(&mut self, warning: Warning) {
        let is_like_it = |told: &Warning| std::mem::discriminant(told) == std::mem::discriminant(&warning);
        if !self.warnings.iter().any(is_like_it) {
            self.warnings.push(warning);
        }
    }

    /// What the newest entry says was not understood.
    fn missed(&mut self) {
        if self.speaks {
            self.share.missed += std::mem::take(&mut self.newest);
        }
    }

    /// All that was odd.
    pub(crate) fn into_warnings(mut self) -> Vec<Warning> {
        self.warnings.extend(self.share.warning());
        self.warnings
    }
}

/// Notes something of a kind that this version does not know; each kind is mentioned once.
pub(crate) fn note_unknown(warnings: &mut Vec<Warning>, line: usize, kind: &str) {
    // A hostile file may call everything something else; nobody reads more than a few such warnings.
    const MOST: usize = 100;
    let kind = shortened(kind);
    let is_it = |told: &Warning| matches!(told, Warning::UnknownEntry { kind: other, .. } if other == kind);
    if warnings.len() < MOST && !warnings.iter().any(is_it) {
        let kind = kind.to_owned();
        warnings.push(Warning::UnknownEntry { line, kind });
    }
}

/// As much of a kind as is told.
fn shortened(kind: &str) -> &str {
    const LONGEST: usize = 80;
    kind.char_indices().nth(LONGEST).map_or(kind, |(end, _)| &kind[..end])
}
