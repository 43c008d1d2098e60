//! Descriptors that a command gets besides the standard streams. Their names cannot be removed or replaced by anybody.

use crate::files;
use command_fds::FdMapping;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{OwnedFd, RawFd};

/// Upper bound of the descriptor numbers, unless the limit of open files is lower. Scripts use those up to 9, and some
/// shells those from 10 up and from 255 down.
const END: u64 = 200;
/// A shell uses the numbers below for itself.
const BEGIN: u64 = 12;

/// The descriptor numbers that a command gets.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    pub note: RawFd,
    pub script: RawFd,
}

impl Numbers {
    /// Chooses the highest numbers that the limit of open files allows.
    ///
    /// # Errors
    /// Says that there is none.
    pub(crate) fn free() -> Result<Numbers, String> {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(END);
        let end = limit.min(END);
        let number = |from_end| RawFd::try_from(end.checked_sub(from_end).filter(|number| *number >= BEGIN)?).ok();
        let numbers = || {
            Some(Numbers {
                note: number(2)?,
                script: number(1)?,
            })
        };
        numbers().ok_or_else(|| format!("only {limit} files may be open at once (ulimit -n)"))
    }
}

/// Maps a descriptor to a number in the child.
pub(crate) fn hand(held: impl Into<OwnedFd>, number: RawFd) -> FdMapping {
    FdMapping {
        parent_fd: held.into(),
        child_fd: number,
    }
}

/// The path through which a shell reads the descriptor. It is part of the shell's command line, and fewer people search
/// processes for `self` than for `dev`.
pub(crate) fn name(number: RawFd) -> String {
    let folder = if cfg!(target_os = "linux") {
        "/proc/self/fd"
    } else {
        "/dev/fd"
    };
    format!("{folder}/{number}")
}

/// Writes a script to an unnamed file that cannot be changed.
///
/// # Errors
/// Says why there is no room for it.
pub(crate) fn script(line: impl AsRef<[u8]>) -> Result<OwnedFd, String> {
    let written = || -> io::Result<OwnedFd> {
        let mut file = nameless()?;
        file.write_all(line.as_ref())?;
        file.rewind()?;
        sealed(file)
    };
    written().map_err(|error| format!("there is no room for the script: {}", files::reason(&error)))
}

#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Some systems require a memfd to be marked as non-executable; before Linux 6.3 the flag does not exist.
    let made = memfd_create("script", flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| memfd_create("script", flags))?;
    Ok(made.into())
}

#[cfg(target_os = "linux")]
fn sealed(file: File) -> io::Result<OwnedFd> {
    use rustix::fs::{SealFlags, fcntl_add_seals};
    fcntl_add_seals(
        &file,
        SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE,
    )?;
    Ok(file.into())
}

/// No command runs in a sandbox on this system, so an unlinked file is good enough.
#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    tempfile::tempfile()
}

#[cfg(not(target_os = "linux"))]
fn sealed(file: File) -> io::Result<OwnedFd> {
    Ok(file.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::io::Read;

    #[test]
    fn a_script_that_is_handed_on_cannot_be_changed_any_more() {
        let mut script = File::from(script("echo one\n").unwrap());
        assert!(script.write_all(b"evil").is_err() && script.set_len(0).is_err());
        let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&script));
        let opened = File::options().write(true).open(again);
        assert!(opened.is_err() || opened.is_ok_and(|mut opened| opened.write_all(b"evil").is_err()));
        let mut text = String::new();
        script.read_to_string(&mut text).unwrap();
        assert_eq!(text, "echo one\n");
    }
}
