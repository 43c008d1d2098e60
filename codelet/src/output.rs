//! Where results go: standard output, or a file that appears whole or not at all.

use crate::exit::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written.
const BUFFER: usize = 64 * 1024;

/// A place for one result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A file, a named pipe or a device.
    File(PathBuf),
}

impl Output {
    /// The place that a user names: `-` and the system's own names of it are standard output.
    pub fn named(path: &Path) -> Self {
        let stdout = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if stdout.iter().any(|name| path == Path::new(name)) {
            Output::Stdout
        } else {
            Output::File(path.to_owned())
        }
    }

    /// Whether both are the same place, as far as their names tell.
    pub fn is_same(&self, other: &Output) -> bool {
        match (self, other) {
            (Output::File(a), Output::File(b)) => is_same_file(a, b),
            (a, b) => a == b,
        }
    }

    /// Looks whether the place can be written to, and leaves it as it is.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check(&self) -> Result<(), Failure> {
        let Output::File(path) = self else { return Ok(()) };
        let tried = match fs::metadata(path) {
            Ok(found) if found.is_file() => OpenOptions::new().append(true).open(path).map(drop),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
                Draft::beside(path).map(drop)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        tried.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::at(path.display(), "no file can be made there"),
            _ => Failure::io(path, &error),
        })
    }

    /// Writes what `fill` writes. A file that exists keeps what it holds until all of the new content is there; pipes and
    /// devices are written to as they are.
    ///
    /// # Errors
    /// When the place takes no more or cannot be written to at all; nothing is left half-written in a file then.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let path = match self {
            Output::Stdout => return print(fill),
            Output::File(path) => path,
        };
        match fill_file(path, fill) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::PipeClosed),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::at(path.display(), "no such folder")),
            other => other.map_err(|error| Failure::io(path, &error)),
        }
    }
}

/// Whether two names lead to the same file, as far as can be told without opening it.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        // Everything may be sent to the same device.
        (Ok(a), Ok(b)) => a == b && a.is_file(),
        (Err(_), Err(_)) => a == b,
        _ => false,
    }
}

fn print(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(BUFFER, stdout()?.lock());
    printed(fill(&mut out).and_then(|()| out.flush()))
}

/// Standard output.
///
/// # Errors
/// When it was closed when the program was started, since what is written there is lost.
pub fn stdout() -> Result<Stdout, Failure> {
    match codelet_stdio::stdout_was_closed() {
        true => Err(Failure::at("standard output", "it is closed")),
        false => Ok(io::stdout()),
    }
}

/// How printing on standard output ended.
///
/// # Errors
/// When it takes no more.
pub fn printed(done: io::Result<()>) -> Result<(), Failure> {
    done.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::PipeClosed,
        _ => Failure::at("standard output", crate::exit::words(&error)),
    })
}

fn fill_file(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if found.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(io::Error::new(ErrorKind::IsADirectory, "is a folder, expected a file"));
    }
    // Names below these folders stand for something that is already open, which a new file would not replace.
    let stands_for_another = path.starts_with("/dev") || path.starts_with("/proc");
    let replaceable = found.as_ref().is_none_or(fs::Metadata::is_file) && !stands_for_another;
    // A link is followed, so that what it leads to is replaced and not the link. One that leads nowhere is written through.
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(_) if fs::symlink_metadata(path).is_ok() => return fill_in_place(path, fill),
        Err(_) => path.to_owned(),
    };
    if !replaceable {
        return fill_in_place(path, fill);
    }
    let mut draft = match Draft::beside(&target) {
        // In a folder that takes no new files, an existing one may still be written to.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && found.is_some() => {
            return fill_in_place(path, fill);
        }
        draft => draft?,
    };
    if let Some(found) = &found {
        if found.permissions().readonly() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        draft.file.set_permissions(found.permissions())?;
    }
    let mut out = BufWriter::with_capacity(BUFFER, &mut draft.file);
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    if found.is_some() {
        // The old content must not be given up before the new one is safe.
        draft.file.sync_all()?;
    }
    draft.become_file(&target)
}

fn fill_in_place(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, File::create(path)?);
    fill(&mut out)?;
    out.flush()
}

/// A file in the making. Unless it becomes the file that it is for, it vanishes.
struct Draft {
    file: File,
    path: Option<PathBuf>,
}

impl Draft {
    fn beside(target: &Path) -> io::Result<Self> {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        let process = std::process::id();
        let mut tries = 0;
        loop {
            // Not made from the target's name, which may be as long as names can be.
            let path = folder.join(format!(".codelet-{process}-{tries}.tmp"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let path = Some(path);
                    return Ok(Draft { file, path });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < 100 => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn become_file(mut self, target: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            fs::rename(path, target)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // It is in nobody's way under this name.
            let _ = fs::remove_file(path);
        }
    }
}
