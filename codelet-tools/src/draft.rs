//! Draft files, which appear under their final names complete or not at all.

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

/// The readers of a new file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Those that the user's umask permits.
    AsUsual,
    /// The owner only.
    OwnerOnly,
}

/// A draft file. It is deleted on drop unless it becomes its target.
pub struct Draft<'a> {
    /// The content so far.
    pub file: File,
    folder: &'a OwnedFd,
    name: Option<String>,
}

/// The prefix of draft names.
pub const DRAFT: &str = ".codelet-";

impl<'a> Draft<'a> {
    /// Creates a draft in this folder under an unpredictable name; an existing file is never opened.
    ///
    /// # Errors
    /// If no file can be created in the folder.
    pub fn within(folder: &'a OwnedFd, access: Access) -> io::Result<Self> {
        // Not derived from the target's name, which may already have the maximum length.
        let name = format!("{DRAFT}{:016x}", fastrand::u64(..));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(match access {
            Access::AsUsual => 0o666,
            Access::OwnerOnly => 0o600,
        });
        let file = File::from(rustix::fs::openat(folder, name.as_str(), flags, mode)?);
        let name = Some(name);
        Ok(Draft { file, folder, name })
    }

    /// Replaces whatever has this name: a link, a pipe, another hard link. Folders are not replaced.
    ///
    /// # Errors
    /// If the name belongs to a folder, or renaming fails.
    pub fn become_file(mut self, target: &OsStr) -> io::Result<()> {
        // Only a named file can replace another one.
        let name = self.name.as_deref().ok_or(ErrorKind::InvalidInput)?;
        rustix::fs::renameat(self.folder, name, self.folder, target).map_err(|error| match error {
            rustix::io::Errno::ISDIR => is_folder(),
            error => error.into(),
        })?;
        self.name = None;
        Ok(())
    }

    /// Creates a draft without a name where the system supports that, so that nothing remains of it however this
    /// process ends. Otherwise the same as [`within`](Draft::within).
    ///
    /// # Errors
    /// If no file can be created in the folder.
    pub fn unnamed(folder: &'a OwnedFd) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if Path::new(OPEN_FILES).exists() {
            let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
            if let Ok(file) = rustix::fs::openat(folder, ".", flags, Mode::from_raw_mode(0o666)) {
                let file = File::from(file);
                return Ok(Draft {
                    file,
                    folder,
                    name: None,
                });
            }
        }
        Draft::within(folder, Access::AsUsual)
    }

    /// Gives the draft this name, which must be free.
    ///
    /// # Errors
    /// If the name is taken, in which case the existing file stays, or if the folder accepts no file.
    pub fn become_new_file(mut self, target: &OsStr) -> io::Result<()> {
        match self.name.as_deref() {
            Some(name) => rename_to_new(self.folder, name, target)?,
            None => {
                let open = format!("{OPEN_FILES}/{}", self.file.as_raw_fd());
                rustix::fs::linkat(CWD, open, self.folder, target, AtFlags::SYMLINK_FOLLOW)?;
            }
        }
        self.name = None;
        Ok(())
    }
}

/// The folder that lists this process's open files by descriptor.
const OPEN_FILES: &str = "/proc/self/fd";

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_to_new(folder: &OwnedFd, from: &str, to: &OsStr) -> rustix::io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::renameat_with(folder, from, folder, to, rustix::fs::RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => rename_unless_there(folder, from, to),
        done => done,
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_to_new(folder: &OwnedFd, from: &str, to: &OsStr) -> rustix::io::Result<()> {
    rename_unless_there(folder, from, to)
}

/// Renames with a check first, for file systems without `RENAME_NOREPLACE`.
fn rename_unless_there(folder: &OwnedFd, from: &str, to: &OsStr) -> rustix::io::Result<()> {
    match rustix::fs::statat(folder, to, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(rustix::io::Errno::EXIST),
        Err(rustix::io::Errno::NOENT) => rustix::fs::renameat(folder, from, folder, to),
        Err(error) => Err(error),
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // A draft under this name disturbs nobody if it cannot be removed.
            let _ = rustix::fs::unlinkat(self.folder, name.as_str(), AtFlags::empty());
        }
    }
}

/// The error for a folder in place of a file.
pub fn is_folder() -> io::Error {
    io::Error::new(ErrorKind::IsADirectory, "is a folder, expected a file")
}
