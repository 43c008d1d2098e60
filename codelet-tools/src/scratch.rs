//! Folders for short-lived named files, and the removal of those left by sessions that were killed. They are where no
//! sandboxed command can change anything: anyone who could would control what is written where, and what is read.
//!
//! Each folder contains a file that its session keeps locked. The kernel releases the lock however a session ends, so a
//! lock that can be acquired means that the folder is no longer needed.

use crate::files;
use crate::owned::as_it_would_be;
use crate::sandbox::Sandbox;
use rustix::fs::{Mode, OFlags, mkdirat, openat, renameat, symlinkat};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// Prefix of the names of all such folders.
const PREFIX: &str = "codelet-";
/// The locked file.
const HELD: &str = "held";
/// Entries examined in the parent of all such folders, and in one of them; a folder with more was not created by a
/// session.
const LOOKED_AT: usize = 20_000;
const ENTRIES: usize = 64;
/// Attempts to find an unused name.
const TRIES: usize = 16;

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    folder: OwnedFd,
    /// Unlocked after the folder has been removed.
    _held: File,
}

impl Scratch {
    /// Creates one in a [private](private) folder.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn new(private: &Path) -> io::Result<Scratch> {
        let parent = files::hold_folder(private)?;
        let made = (0..TRIES).find_map(|_| {
            let name = format!("{PREFIX}{:016x}", fastrand::u64(..));
            match mkdirat(&parent, &name, Mode::RWXU) {
                Err(Errno::EXIST) => None,
                done => Some(done.map(|()| name)),
            }
        });
        let name = made.ok_or(Errno::EXIST)??;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(&parent, &name, flags, Mode::empty())?;
        // Renamed only once locked, so that nobody finds it unlocked.
        let held = create(&folder, "held.new")?;
        held.lock()?;
        renameat(&folder, "held.new", &folder, HELD)?;
        Ok(Scratch {
            path: private.join(name),
            folder,
            _held: held,
        })
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file in it.
    ///
    /// # Errors
    /// If the name exists, or the file cannot be written.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        create(&self.folder, name)?.write_all(text.as_bytes())
    }

    /// Creates a folder in it.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        Ok(mkdirat(&self.folder, name, Mode::RWXU)?)
    }

    /// Creates a symbolic link in it.
    pub(crate) fn link(&self, target: &Path, name: &Path) -> io::Result<()> {
        Ok(symlinkat(target, &self.folder, name)?)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If it cannot be removed, a later session tries again.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn create(folder: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Returns a folder that belongs to the user alone, with links resolved, and creates it if missing; `None` if a command
/// in this sandbox can change anything in it or on the way to it.
pub(crate) fn private(folder: &Path, sandbox: &Sandbox) -> Option<PathBuf> {
    let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    if !folder.is_absolute() || !folder.components().all(is_plain) {
        return None;
    }
    let is_out_of_reach = |path: &PathBuf| !sandbox.writes(path) && !sandbox.writes_below(path);
    // Places where commands can write are not even searched.
    as_it_would_be(folder).filter(is_out_of_reach)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
    let real = folder.canonicalize().ok().filter(is_out_of_reach)?;
    let user = rustix::process::geteuid().as_raw();
    let is_own = |metadata: Metadata| metadata.uid() == user && metadata.permissions().mode() & 0o022 == 0;
    real.symlink_metadata().is_ok_and(is_own).then_some(real)
}

/// Removes the folders of sessions that have ended. Anything that is not certainly one, or belongs to another user,
/// stays.
pub(crate) fn clear(private: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in private.read_dir().into_iter().flatten().take(LOOKED_AT).flatten() {
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
            // If a link has replaced it meanwhile, the link is removed, not its target.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::symlink;

    /// The folder as its session leaves it when killed.
    fn left(scratch: Scratch) -> PathBuf {
        let path = scratch.path.clone();
        let moved = path.with_extension("moved");
        fs::rename(&path, &moved).unwrap();
        drop(scratch);
        fs::rename(moved, &path).unwrap();
        path
    }

    fn base() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        (folder, base)
    }

    #[test]
    fn what_a_killed_session_has_left_is_removed_and_nothing_else() {
        let (_folder, private) = base();
        let live = Scratch::new(&private).unwrap();
        let dead = [(); 2].map(|()| left(Scratch::new(&private).unwrap()));
        for path in &dead {
            fs::create_dir(path.join("info")).unwrap();
            fs::write(path.join("info/directory"), "/\n").unwrap();
            symlink(live.path(), path.join("objects")).unwrap();
        }
        let stays = |change: &dyn Fn(&Path)| {
            let path = left(Scratch::new(&private).unwrap());
            change(&path);
            path
        };
        let open = Permissions::from_mode(0o777);
        let stay = [
            // A folder that is still being created.
            stays(&|path| fs::remove_file(path.join(HELD)).unwrap()),
            stays(&|path| fs::set_permissions(path, open.clone()).unwrap()),
            // Another file's lock does not count.
            stays(&|path| {
                fs::rename(path.join(HELD), path.join("other")).unwrap();
                symlink("other", path.join(HELD)).unwrap();
            }),
            stays(&|path| {
                for number in 0..ENTRIES {
                    fs::write(path.join(number.to_string()), "").unwrap();
                }
            }),
        ];
        fs::create_dir(private.join("elsewhere")).unwrap();
        let elsewhere = left(Scratch::new(&private.join("elsewhere")).unwrap());
        symlink(&elsewhere, private.join("codelet-link")).unwrap();
        fs::write(private.join("codelet-file"), "").unwrap();
        let others = private.join("others-one");
        fs::rename(stays(&|_| {}), &others).unwrap();
        // A program started by another test briefly inherits all open descriptors.
        let began = std::time::Instant::now();
        while dead.iter().any(|path| path.exists()) {
            assert!(began.elapsed().as_secs() < 20, "{dead:?}");
            clear(&private);
        }
        for path in stay.iter().chain([&elsewhere, &others]) {
            assert!(path.is_dir(), "{}", path.display());
        }
        assert!(private.join("codelet-file").exists() && private.join("codelet-link").is_symlink());
        assert!(live.path().join(HELD).exists());
        // A session that ends normally leaves no folder.
        let path = live.path().to_owned();
        drop(live);
        assert!(!path.exists());
    }

    #[test]
    fn another_users_folder_stays() {
        let (_folder, private) = base();
        let path = left(Scratch::new(&private).unwrap());
        // Only root can change the owner.
        if std::os::unix::fs::chown(&path, Some(65534), None).is_ok() {
            clear(&private);
            assert!(path.is_dir());
        }
    }

    #[test]
    fn what_is_there_already_is_neither_followed_nor_replaced() {
        let (_folder, base) = base();
        let kept = base.join("kept");
        fs::write(&kept, "kept").unwrap();
        let scratch = Scratch::new(&base).unwrap();
        symlink(&kept, scratch.path().join("HEAD")).unwrap();
        assert!(scratch.write("HEAD", "evil").is_err());
        assert_eq!(fs::read(&kept).unwrap(), b"kept");
    }

    #[test]
    fn a_private_folder_is_the_users_alone_and_out_of_reach_of_commands() {
        let (_folder, base) = base();
        let writable = base.join("tmp");
        fs::create_dir(&writable).unwrap();
        symlink("tmp", base.join("way")).unwrap();
        symlink("tmp/gone", base.join("nowhere")).unwrap();
        let sandbox = Sandbox::new([writable.clone()]);
        let is_private = |path: &Path| private(path, &sandbox).is_some();
        for (name, expected) in [
            ("cache/codelet", true),
            ("tmp", false),
            ("tmp/run/codelet", false),
            ("way/run/codelet", false),
            ("nowhere", false),
            ("nowhere/codelet", false),
            ("", false),
            ("cache/../tmp/x", false),
        ] {
            assert_eq!(is_private(&base.join(name)), expected, "{name}");
        }
        assert_eq!(fs::read_dir(&writable).unwrap().count(), 0);
        assert_eq!(private(Path::new("cache"), &sandbox), None);
        assert_eq!(private(Path::new("/dev/shm/codelet"), &sandbox), None);
        let made = base.join("cache/codelet");
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&made, Permissions::from_mode(0o777)).unwrap();
        assert!(!is_private(&made));
    }
}
