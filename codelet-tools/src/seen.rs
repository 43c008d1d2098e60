//! The version of each file that the session has seen, so that unseen changes are not overwritten.

use crate::files::{self, Stamp};
use std::collections::HashMap;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The version of a file when it was last read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Identified by its contents.
    Whole { size: u64, hash: u64 },
    /// A file too large to be read whole, identified by its metadata.
    Outside(Stamp),
}

impl Look {
    /// The version with these bytes.
    pub(crate) fn at(bytes: &[u8]) -> Look {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(bytes);
        Look::Whole {
            size: bytes.len() as u64,
            hash: hasher.finish(),
        }
    }
}

/// The last version seen of each resolved path.
#[derive(Default)]
pub(crate) struct Seen {
    looks: Mutex<HashMap<PathBuf, Look>>,
    /// Files that were restored and not read since.
    restored: Mutex<HashMap<PathBuf, Look>>,
}

impl Seen {
    /// The last version seen of a file.
    pub(crate) fn last(&self, path: &Path) -> Option<Look> {
        self.looks().get(path).copied()
    }

    /// Returns whether a file is as it was last seen, or as it was restored.
    pub(crate) fn is_last(&self, path: &Path) -> bool {
        let known = [self.last(path), self.restored().get(path).copied()];
        if known == [None, None] {
            return false;
        }
        matches!(files::read(path), Ok(Some(whole)) if known.contains(&Some(Look::at(&whole.bytes))))
    }

    /// Records the current version.
    pub(crate) fn note(&self, path: &Path, look: Look) {
        self.looks().insert(path.to_owned(), look);
    }

    /// Records a restored version, which the model has not seen.
    pub(crate) fn note_restored(&self, path: &Path, look: Look) {
        self.restored().insert(path.to_owned(), look);
    }

    /// Forgets all versions seen.
    pub(crate) fn forget(&self) {
        self.looks().clear();
    }

    fn looks(&self) -> MutexGuard<'_, HashMap<PathBuf, Look>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn restored(&self) -> MutexGuard<'_, HashMap<PathBuf, Look>> {
        self.restored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_stands_as_it_was_looked_at_until_somebody_changes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let seen = Seen::default();
        std::fs::write(&path, "one").unwrap();
        assert!(!seen.is_last(&path));
        seen.note(&path, Look::at(b"one"));
        assert!(seen.is_last(&path));
        std::fs::write(&path, "two").unwrap();
        assert!(!seen.is_last(&path));
    }
}
