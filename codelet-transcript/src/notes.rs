//! Collects anomalies in the entries of a recording, and the share of the content that was understood.

use crate::Warning;
use crate::share::{self, Share};
use crate::take::Fields;

#[derive(Default)]
pub(crate) struct Notes {
    share: Share,
    /// The bytes of the newest entry, until they are counted as missed, and whether it has content.
    newest: usize,
    speaks: bool,
    warnings: Vec<Warning>,
}

impl Notes {
    pub(crate) fn new(warnings: Vec<Warning>) -> Self {
        Notes {
            warnings,
            ..Notes::default()
        }
    }

    /// Records the entry that is being read, and its length.
    pub(crate) fn given(&mut self, fields: &Fields, bytes: usize) {
        self.newest = bytes;
        self.speaks = share::speaks(fields);
        if self.speaks {
            self.share.all += bytes;
        }
    }

    /// Records an entry of a kind unknown to this version.
    pub(crate) fn unknown(&mut self, line: usize, kind: &str) {
        self.missed();
        note_unknown(&mut self.warnings, line, kind);
    }

    /// Records an entry that should have content but has none that can be read.
    pub(crate) fn unread(&mut self, line: usize, kind: &str) {
        // It should have content, whatever its fields are called.
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

    /// Records bytes that could not be read as an entry. They may have had content.
    pub(crate) fn lost(&mut self, bytes: usize) {
        self.share.all += bytes;
        self.share.missed += bytes;
    }

    /// Adds another warning, unless there is one of its kind.
    pub(crate) fn warn_once(&mut self, warning: Warning) {
        let is_like_it = |told: &Warning| std::mem::discriminant(told) == std::mem::discriminant(&warning);
        if !self.warnings.iter().any(is_like_it) {
            self.warnings.push(warning);
        }
    }

    /// Counts the newest entry's content as not understood.
    fn missed(&mut self) {
        if self.speaks {
            self.share.missed += std::mem::take(&mut self.newest);
        }
    }

    pub(crate) fn into_warnings(mut self) -> Vec<Warning> {
        self.warnings.extend(self.share.warning());
        self.warnings
    }
}

/// Records something of a kind unknown to this version; each kind is reported once.
pub(crate) fn note_unknown(warnings: &mut Vec<Warning>, line: usize, kind: &str) {
    // A malicious file may give each entry a different kind; nobody reads more than a few such warnings.
    const MOST: usize = 100;
    let kind = shortened(kind);
    let is_it = |told: &Warning| matches!(told, Warning::UnknownEntry { kind: other, .. } if other == kind);
    if warnings.len() < MOST && !warnings.iter().any(is_it) {
        let kind = kind.to_owned();
        warnings.push(Warning::UnknownEntry { line, kind });
    }
}

/// Returns the part of a kind that is shown.
fn shortened(kind: &str) -> &str {
    const LONGEST: usize = 80;
    kind.char_indices().nth(LONGEST).map_or(kind, |(end, _)| &kind[..end])
}
