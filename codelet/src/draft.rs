//! Files in the making, which appear under their names whole or not at all.

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

/// Who may read a new file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Whoever the user lets read new files.
    AsUsual,
    /// Its owner alone.
    OwnerOnly,
}

/// A file in the making. Unless it becomes the file that it is for, it vanishes.
pub struct Draft<'a> {
    /// What is written so far.
    pub file: File,
    folder: &'a OwnedFd,
    name: Option<String>,
}

/// How the names of drafts begin.
pub const DRAFT: &str = ".codelet-";

impl<'a> Draft<'a> {
    /// A new one in this folder, under a name that nobody can know before: what was put there is never opened.
    ///
    /// # Errors
    /// When the folder takes no file.
    pub fn within(folder: &'a OwnedFd, access: Access) -> io::Result<Self> {
        // Not made from the target's name, which may be as long as names can be.
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

    /// Takes the place of whatever has this name now: a link, a pipe, another name of a file. A folder stays.
    ///
    /// # Errors
    /// When a folder has the name, or nothing can be renamed there.
    pub fn become_file(mut self, target: &OsStr) -> io::Result<()> {
        // Only a name can take the place of another one.
        let name = self.name.as_deref().ok_or(ErrorKind::InvalidInput)?;
        rustix::fs::renameat(self.folder, name, self.folder, target).map_err(|error| match error {
            rustix::io::Errno::ISDIR => is_folder(),
            error => error.into(),
        })?;
        self.name = None;
        Ok(())
    }

    /// A new one without a name, where the system has such files: nothing is left of it, however this process ends. Else as
    /// [`within`](Draft::within).
    ///
    /// # Errors
    /// When the folder takes no file.
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

    /// Takes this name, which nothing has yet.
    ///
    /// # Errors
    /// When something has it: that stays. When the folder takes no file.
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

/// Where this process finds its open files by their numbers.
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

/// For file systems that know no other way.
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
            // It is in nobody's way under this name.
            let _ = rustix::fs::unlinkat(self.folder, name.as_str(), AtFlags::empty());
        }
    }
}

/// That a folder stands where a file is to be.
pub fn is_folder() -> io::Error {
    io::Error::new(ErrorKind::IsADirectory, "is a folder, expected a file")
}
