//! Temporary folders of a session, and what sessions have left that were killed.
//!
//! Each folder has a file in it that its session holds locked. The kernel gives the lock back however a session ends, so a
//! lock that can be had says that nobody needs the folder any more.

use crate::files;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

/// How the names of all such folders begin.
const PREFIX: &str = "codelet-";
/// The file that is locked.
const HELD: &str = "held";
/// Entries of the folder for temporary files that are looked at, and entries of a folder of a session's; one with more is
/// not like any that a session makes.
const LOOKED_AT: usize = 20_000;
const ENTRIES: usize = 64;

/// A temporary folder, which is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    /// Given back after the folder has gone.
    _held: File,
}

impl Scratch {
    /// A new one in the folder for temporary files; `what` is a part of its name.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn new(what: &str, temporary: &Path) -> io::Result<Scratch> {
        let prefix = format!("{PREFIX}{what}");
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix(&prefix).permissions(Permissions::from_mode(0o700));
        let folder = folder.tempdir_in(temporary)?;
        // Whoever finds it under its name finds it locked.
        let new = folder.path().join("held.new");
        let held = File::create_new(&new)?;
        held.lock()?;
        std::fs::rename(new, folder.path().join(HELD))?;
        Ok(Scratch { folder, _held: held })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of sessions that are no more. What is not surely one, or another user's, stays.
pub(crate) fn clear(temporary: &Path) {
    // The lock is opened past no link.
    let Ok(temporary) = temporary.canonicalize() else {
        return;
    };
    let user = rustix::process::geteuid().as_raw();
    for entry in temporary.read_dir().into_iter().flatten().take(LOOKED_AT).flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let path = entry.path();
        let is_private = |metadata: std::fs::Metadata| {
            metadata.is_dir() && metadata.uid() == user && metadata.permissions().mode() & 0o077 == 0
        };
        if !path.symlink_metadata().is_ok_and(is_private) {
            continue;
        }
        let Ok((held, _)) = files::open(&path.join(HELD)) else {
            continue;
        };
        let is_left = held.try_lock().is_ok();
        let is_small = || {
            path.read_dir()
                .is_ok_and(|entries| entries.take(ENTRIES + 1).count() <= ENTRIES)
        };
        if is_left && is_small() {
            // A link that was put in its place meanwhile is removed, and not what it leads to.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// As if its session had been killed.
    fn left(scratch: Scratch) -> PathBuf {
        scratch.folder.keep()
    }

    #[test]
    fn what_a_killed_session_has_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let temporary = folder.path();
        let live = Scratch::new("", temporary).unwrap();
        let of_git = Scratch::new("git-", temporary).unwrap();
        let dead = [Scratch::new("", temporary), Scratch::new("git-", temporary)].map(|made| left(made.unwrap()));
        for path in &dead {
            fs::create_dir(path.join("info")).unwrap();
            fs::write(path.join("info/directory"), "/\n").unwrap();
            symlink(live.path(), path.join("objects")).unwrap();
        }
        let stays = |name: &str, change: &dyn Fn(&Path)| {
            let path = left(Scratch::new(name, temporary).unwrap());
            change(&path);
            path
        };
        let open = Permissions::from_mode(0o777);
        let stay = [
            // One that is only being made, or was made by an older version.
            stays("a-", &|path| fs::remove_file(path.join(HELD)).unwrap()),
            stays("b-", &|path| fs::set_permissions(path, open.clone()).unwrap()),
            // What holds the lock of somebody else's is not asked.
            stays("c-", &|path| {
                fs::rename(path.join(HELD), path.join("other")).unwrap();
                symlink("other", path.join(HELD)).unwrap();
            }),
            stays("d-", &|path| {
                for number in 0..ENTRIES {
                    fs::write(path.join(number.to_string()), "").unwrap();
                }
            }),
        ];
        let elsewhere = left(Scratch::new("", tempfile::tempdir_in(temporary).unwrap().keep().as_path()).unwrap());
        symlink(&elsewhere, temporary.join("codelet-link")).unwrap();
        fs::write(temporary.join("codelet-file"), "").unwrap();
        let others = temporary.join("others-one");
        fs::rename(stays("e-", &|_| {}), &others).unwrap();
        // A program that another test starts has all that is open for a moment.
        let began = std::time::Instant::now();
        while dead.iter().any(|path| path.exists()) {
            assert!(began.elapsed().as_secs() < 20, "{dead:?}");
            clear(temporary);
        }
        for path in stay.iter().chain([&elsewhere, &others]) {
            assert!(path.is_dir(), "{}", path.display());
        }
        assert!(temporary.join("codelet-file").exists() && temporary.join("codelet-link").is_symlink());
        assert!(live.path().join(HELD).exists() && of_git.path().join(HELD).exists());
        // Nobody's folder is left by a session that ends as it should.
        let path = live.path().to_owned();
        drop(live);
        assert!(!path.exists());
    }

    #[test]
    fn another_users_folder_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = left(Scratch::new("", folder.path()).unwrap());
        // Only a superuser can give it away.
        if std::os::unix::fs::chown(&path, Some(65534), None).is_ok() {
            clear(folder.path());
            assert!(path.is_dir());
        }
    }
}
