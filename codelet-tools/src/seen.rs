//! What the session has seen of each file, so that nothing is overwritten that nobody has looked at.

use crate::files::{self, Stamp};
use std::collections::HashMap;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file as it was when it was read or written last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// By its bytes.
    Whole { size: u64, hash: u64 },
    /// A file too large to be read as a whole: by what the file system says.
    Outside(Stamp),
}

impl Look {
    /// At these bytes.
    pub(crate) fn at(bytes: &[u8]) -> Look {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(bytes);
        Look::Whole {
            size: bytes.len() as u64,
            hash: hasher.finish(),
        }
    }
}

/// Looks by resolved path.
#[derive(Default)]
pub(crate) struct Seen {
    looks: Mutex<HashMap<PathBuf, Look>>,
    /// Files that were put back, which nobody has looked at since.
    restored: Mutex<HashMap<PathBuf, Look>>,
}

impl Seen {
    /// The last look at a file.
    pub(crate) fn last(&self, path: &Path) -> Option<Look> {
        self.looks().get(path).copied()
    }

    /// Whether a file stands there as it was looked at last, or as it was put back.
    pub(crate) fn is_last(&self, path: &Path) -> bool {
        let known = [self.last(path), self.restored().get(path).copied()];
        if known == [None, None] {
            return false;
        }
        matches!(files::read(path), Ok(Some(whole)) if known.contains(&Some(Look::at(&whole.bytes))))
    }

    /// The file looks like this now.
    pub(crate) fn note(&self, path: &Path, look: Look) {
        self.looks().insert(path.to_owned(), look);
    }

    /// The file was put back to this, and the model has not seen it.
    pub(crate) fn note_restored(&self, path: &Path, look: Look) {
        self.restored().insert(path.to_owned(), look);
    }

    /// Nothing was looked at.
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
