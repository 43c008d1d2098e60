//! Output of results: to standard output, or to a file that appears complete or not at all.

use crate::escaped;
use crate::exit::Failure;
pub use codelet_tools::draft::Access;
use codelet_tools::draft::{Draft, is_folder};
use codelet_tools::{follow_links, open_plainly};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, IsTerminal as _, Read, Stdout, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The size of the write buffer, in bytes.
const BUFFER: usize = 64 * 1024;

/// A destination for one result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A file, a named pipe or a device.
    File(PathBuf),
}

impl Output {
    /// Returns the destination that a user names: `-` and the system's names for it mean standard output.
    pub fn named(path: &Path) -> Self {
        let stdout = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if stdout.iter().any(|name| path == Path::new(name)) {
            Output::Stdout
        } else {
            Output::File(path.to_owned())
        }
    }

    /// Returns whether both are the same destination, as far as their names tell.
    pub fn is_same(&self, other: &Output) -> bool {
        match (self, other) {
            (Output::File(a), Output::File(b)) => is_same_file(a, b),
            (a, b) => a == b,
        }
    }

    /// Resolves the destination and holds it open: if its name is redirected later, nothing else is written to.
    ///
    /// # Errors
    /// If no file can be there, or if a link on the path is inside one of the `fenced` folders, where others may have
    /// created it.
    pub fn pin(&self, access: Access, fenced: &[PathBuf]) -> Result<Pinned, Failure> {
        let Output::File(path) = self else {
            return Ok(Pinned {
                path: PathBuf::from("standard output"),
                access,
                target: Target::Stdout,
            });
        };
        let target = Target::of(path, fenced).map_err(|error| told(path, &error))?;
        let path = path.clone();
        Ok(Pinned { path, access, target })
    }

    /// Writes what `fill` writes. An existing file keeps its content until the new content is complete; pipes and
    /// devices are written to directly.
    ///
    /// # Errors
    /// If the destination is full or not writable; no half-written file remains.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        self.pin(Access::AsUsual, &[])?.write(fill)
    }
}

/// A resolved destination, which stays the same even if its name is redirected.
#[derive(Debug)]
pub struct Pinned {
    /// The path as the user gave it.
    path: PathBuf,
    access: Access,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout,
    /// A destination written to directly: a pipe, a device, an open file of this process, or a file in a folder that
    /// accepts no new files.
    Held(OwnedFd),
    /// A file that is replaced or created.
    Named {
        folder: OwnedFd,
        /// The resolved path of the folder, without links.
        at: PathBuf,
        name: OsString,
        /// The permissions of the existing file.
        permissions: Option<Permissions>,
    },
}

impl Target {
    fn of(path: &Path, fenced: &[PathBuf]) -> io::Result<Target> {
        if is_descriptor(path) {
            return hold(path);
        }
        let real = resolve(path, fenced)?;
        let found = match fs::symlink_metadata(&real) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(is_folder());
        };
        match &found {
            Some(found) if found.is_dir() => return Err(is_folder()),
            Some(found) if !found.is_file() => return hold(&real),
            Some(found) if found.permissions().readonly() => return Err(ErrorKind::PermissionDenied.into()),
            _ => {}
        }
        let (at, name) = (folder.to_owned(), name.to_owned());
        let folder = open_plainly(&at, FOLDER, Mode::empty())?;
        // In a folder that accepts no new files, an existing one may still be writable.
        let takes_no_new = rustix::fs::accessat(&folder, ".", rustix::fs::Access::WRITE_OK, AtFlags::EACCESS)
            .is_err_and(|error| error == rustix::io::Errno::ACCESS);
        if takes_no_new && found.is_some() {
            return hold(&real);
        }
        let permissions = found.map(|found| found.permissions());
        Ok(Target::Named {
            folder,
            at,
            name,
            permissions,
        })
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

impl Pinned {
    /// Checks that the destination is writable, without changing it.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self) -> Result<(), Failure> {
        let Target::Named { folder, name, .. } = &self.target else {
            return Ok(());
        };
        // A name may be too long for the file system.
        let tried = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(error) if error != rustix::io::Errno::NOENT => Err(error.into()),
            _ => Draft::within(folder, self.access).map(drop),
        };
        tried.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::at(self.path.display(), "cannot create a file there"),
            _ => Failure::io(&self.path, &error),
        })
    }

    /// Writes what `fill` writes, all of it or nothing.
    ///
    /// # Errors
    /// If the destination is full or not writable; no half-written file remains.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let done = match &self.target {
            Target::Stdout => return print(fill),
            Target::Held(held) => fill_in_place(held, &self.path, fill),
            Target::Named {
                folder,
                name,
                permissions,
                ..
            } => replace(folder, name, permissions.as_ref(), self.access, fill),
        };
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::PipeClosed),
            other => other.map_err(|error| match error.kind() {
                // The folder existed when it was pinned.
                ErrorKind::NotFound => self.failed("its folder was removed"),
                _ => Failure::io(&self.path, &error),
            }),
        }
    }

    /// Returns the failure to write to this destination.
    pub fn failed(&self, why: &str) -> Failure {
        Failure::at(self.path.display(), why)
    }

    /// Replaces the existing file by a new empty one for incremental writes; `None` if the destination is not a file. A
    /// file later created under its name is not written to.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn begin(&self) -> io::Result<Option<File>> {
        let Target::Named {
            folder,
            name,
            permissions,
            ..
        } = &self.target
        else {
            return Ok(None);
        };
        let draft = Draft::within(folder, self.access)?;
        if let Some(permissions) = permissions {
            draft.file.set_permissions(permissions.clone())?;
        }
        let file = draft.file.try_clone()?;
        // Before it has the name, so that nobody else claims it. If the file system does not support locks, the file is
        // used without one.
        let _ = file.try_lock();
        draft.become_file(name)?;
        Ok(Some(file))
    }

    /// Claims the file for this process, and creates it if it is missing; `None` if another process has claimed or
    /// [begun](Self::begin) it. What is written to directly, and a file system without locks, can be claimed by several.
    pub fn claim(&self) -> Option<Claim> {
        let Target::Named { folder, name, .. } = &self.target else {
            return Some(Claim::default());
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let new = rustix::fs::openat(
            folder,
            name,
            flags | OFlags::CREATE | OFlags::EXCL,
            Mode::RUSR | Mode::WUSR,
        );
        let is_new = new.is_ok();
        let Ok(file) = new.or_else(|_| rustix::fs::openat(folder, name, flags, Mode::empty())) else {
            return Some(Claim::default());
        };
        let file = File::from(file);
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let made = folder.try_clone().ok().filter(|_| is_new);
        Some(Claim {
            file: Some(file),
            made: made.map(|folder| (folder, name.clone())),
        })
    }

    /// Returns whether the file exists and is not empty.
    pub fn has_content(&self) -> bool {
        let found = match &self.target {
            Target::Named { folder, name, .. } => rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW),
            Target::Held(file) if !is_descriptor(&self.path) => rustix::fs::fstat(file),
            Target::Held(_) | Target::Stdout => return false,
        };
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_size > 0)
    }

    /// Returns the content of the existing file; `None` if there is none, or it has more than `most` bytes.
    pub fn text(&self, most: u64) -> Option<String> {
        let Target::Named { folder, name, .. } = &self.target else {
            return None;
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?);
        let is_fit = file
            .metadata()
            .is_ok_and(|found| found.is_file() && found.len() <= most);
        let mut text = String::new();
        let read = is_fit.then(|| file.take(most + 1).read_to_string(&mut text))?.ok()?;
        (read as u64 <= most).then_some(text)
    }

    /// Returns whether this is a pipe or another destination written to directly, but not a device.
    pub fn is_stream(&self) -> bool {
        matches!(self.target, Target::Held(_)) && !is_descriptor(&self.path) && !self.path.starts_with("/dev")
    }

    /// Returns whether a new file replaces the old one, so that all of it is written or nothing.
    pub fn is_replaced(&self) -> bool {
        matches!(self.target, Target::Named { .. })
    }

    /// Returns the same destination with access for the owner only, whatever the existing file permits.
    pub fn for_owner_only(mut self) -> Self {
        if let Target::Named { permissions, .. } = &mut self.target {
            *permissions = permissions.take().map(|_| Permissions::from_mode(0o600));
        }
        self
    }

    /// Removes this file if it still has the name.
    pub fn remove(&self, file: &File) {
        if let Target::Named { folder, name, .. } = &self.target {
            remove_named(folder, name, file);
        }
    }

    /// Returns whether the path still leads to the folder that was resolved; it may have been replaced or removed.
    pub fn is_in_place(&self) -> bool {
        let Target::Named { folder, at, .. } = &self.target else {
            return true;
        };
        match (rustix::fs::lstat(at), rustix::fs::fstat(folder)) {
            (Ok(named), Ok(held)) => (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino),
            _ => false,
        }
    }

    /// Returns whether the file exists now.
    pub fn exists(&self) -> bool {
        match &self.target {
            Target::Named { folder, name, .. } => rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok(),
            Target::Stdout | Target::Held(_) => false,
        }
    }
}

/// Removes a file if it still has this name.
fn remove_named(folder: &OwnedFd, name: &OsStr, file: &File) {
    let named = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    if let (Ok(named), Ok(own)) = (named, rustix::fs::fstat(file))
        && (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)
    {
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
}

/// A file that no other process claims meanwhile.
#[derive(Debug, Default)]
pub struct Claim {
    file: Option<File>,
    /// Its folder and name, if it was created for the claim. It is removed at the end unless a file with content has
    /// replaced it.
    made: Option<(OwnedFd, OsString)>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let (Some(file), Some((folder, name))) = (&self.file, &self.made) {
            remove_named(folder, name, file);
        }
    }
}

fn told(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::at(path.display(), "no such folder"),
        _ => Failure::io(path, error),
    }
}

/// Returns whether a name stands for an open file of this or another process, which a new file would not replace.
fn is_descriptor(path: &Path) -> bool {
    let is_in_fd = path.parent().is_some_and(|folder| folder.ends_with("fd"));
    let is_named = ["/dev/stdin", "/dev/stdout", "/dev/stderr"]
        .map(Path::new)
        .contains(&path);
    is_named || is_in_fd && (path.starts_with("/dev") || path.starts_with("/proc"))
}

/// Holds the existing file without opening it: opening a pipe would block until it has a reader.
#[cfg(target_os = "linux")]
fn hold(path: &Path) -> io::Result<Target> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let held = match is_descriptor(path) {
        true => rustix::fs::open(path, flags, Mode::empty())?,
        false => open_plainly(path, flags, Mode::empty())?,
    };
    Ok(Target::Held(held))
}

#[cfg(not(target_os = "linux"))]
fn hold(path: &Path) -> io::Result<Target> {
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(Target::Held(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Resolves a path through all links. Missing components are appended to the existing folders above them.
///
/// # Errors
/// If that fails, or a link on the path is inside one of the `fenced` folders.
pub fn resolve(path: &Path, fenced: &[PathBuf]) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let link = |folder: &Path| match fenced.iter().any(|fence| folder.starts_with(fence)) {
        true => Err(io::Error::other(
            "is reached through a link in a directory that commands can write to; name the link's target instead",
        )),
        false => Ok(()),
    };
    follow_links(&path, link, |_, _| None).map_err(|(_, error)| error)
}

/// Returns whether two names lead to the same file, as far as that is known without opening it.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        // Everything may be sent to the same device.
        (Ok(a), Ok(b)) => a == b && a.is_file(),
        (Err(_), Err(_)) => a == b,
        _ => false,
    }
}

fn print(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let stdout = stdout()?;
    if stdout.is_terminal() {
        let mut json = Vec::new();
        let filled = fill(&mut json);
        let shown = escaped::json(&String::from_utf8_lossy(&json));
        return printed(filled.and_then(|()| stdout.lock().write_all(shown.as_bytes())));
    }
    let mut out = BufWriter::with_capacity(BUFFER, stdout.lock());
    printed(fill(&mut out).and_then(|()| out.flush()))
}

/// Returns standard output.
///
/// # Errors
/// If it was closed at startup, since output would be lost.
pub fn stdout() -> Result<Stdout, Failure> {
    match codelet_stdio::stdout_was_closed() {
        true => Err(Failure::at("standard output", "it is closed")),
        false => Ok(io::stdout()),
    }
}

/// Converts the result of printing to standard output.
///
/// # Errors
/// If writing failed.
pub fn printed(done: io::Result<()>) -> Result<(), Failure> {
    done.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::PipeClosed,
        _ => Failure::at("standard output", crate::exit::words(&error)),
    })
}

fn replace(
    folder: &OwnedFd,
    name: &OsStr,
    permissions: Option<&Permissions>,
    access: Access,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut draft = Draft::within(folder, access)?;
    if let Some(permissions) = permissions {
        draft.file.set_permissions(permissions.clone())?;
    }
    let mut out = BufWriter::with_capacity(BUFFER, &mut draft.file);
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    if permissions.is_some() {
        // The old content must not be lost before the new content is safe.
        draft.file.sync_all()?;
    }
    draft.become_file(name)
}

#[cfg(target_os = "linux")]
fn fill_in_place(held: &OwnedFd, path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let opened = match File::create(format!("/proc/self/fd/{}", held.as_raw_fd())) {
        // Reached only without /proc, or for a socket, which cannot be opened as a file.
        Err(error) if error.kind() == ErrorKind::NotFound && is_descriptor(path) => File::create(path),
        opened => opened,
    };
    let mut out = BufWriter::with_capacity(BUFFER, opened?);
    fill(&mut out)?;
    out.flush()
}

#[cfg(not(target_os = "linux"))]
fn fill_in_place(held: &OwnedFd, _: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let file = File::from(held.try_clone()?);
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    let mut out = BufWriter::with_capacity(BUFFER, file);
    fill(&mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    struct Place {
        _folder: tempfile::TempDir,
        work: PathBuf,
        precious: PathBuf,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let base = folder.path().canonicalize().unwrap();
            let (work, precious) = (base.join("work"), base.join("precious"));
            fs::create_dir_all(work.join("out")).unwrap();
            fs::write(&precious, "mine").unwrap();
            Place {
                _folder: folder,
                work,
                precious,
            }
        }

        fn pin(&self, name: &str) -> Result<Pinned, String> {
            let output = Output::named(&self.work.join(name));
            output
                .pin(Access::OwnerOnly, std::slice::from_ref(&self.work))
                .map_err(|failure| match failure {
                    Failure::Told(why) => why,
                    Failure::PipeClosed => "closed".to_owned(),
                })
        }

        fn names(&self) -> Vec<OsString> {
            let entries = self
                .work
                .read_dir()
                .unwrap()
                .chain(self.work.join("out").read_dir().unwrap());
            let mut names: Vec<OsString> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        }
    }

    #[test]
    fn a_file_is_claimed_by_one_at_a_time_and_leaves_nothing_if_nothing_was_written() {
        let place = Place::new();
        let pinned = [0, 1].map(|_| place.pin("t.json").unwrap());
        let claim = pinned[0].claim();
        assert!(claim.is_some() && pinned[1].claim().is_none());
        drop(claim);
        assert!(!pinned[0].exists());
        let claim = pinned[0].claim();
        let begun = pinned[0].begin().unwrap();
        assert!(
            pinned[1].claim().is_none(),
            "the file that was begun is claimed as well"
        );
        drop((claim, begun));
        assert!(pinned[1].exists() && pinned[1].claim().is_some());
    }

    fn write(pinned: &Pinned) -> bool {
        pinned.write(|out| out.write_all(b"new")).is_ok()
    }

    #[test]
    fn whatever_was_put_under_a_pinned_name_is_replaced_and_not_followed() {
        for is_there_before in [false, true] {
            for trick in ["link", "dangling", "hard link", "pipe", "socket", "file"] {
                let place = Place::new();
                let file = place.work.join("run.json");
                if is_there_before {
                    fs::write(&file, "old").unwrap();
                }
                let pinned = place.pin("run.json").unwrap();
                let _ = fs::remove_file(&file);
                match trick {
                    "link" => symlink(&place.precious, &file).unwrap(),
                    "dangling" => symlink(place.precious.with_extension("new"), &file).unwrap(),
                    "hard link" => fs::hard_link(&place.precious, &file).unwrap(),
                    "pipe" => rustix::fs::mkfifoat(rustix::fs::CWD, &file, Mode::RWXU).unwrap(),
                    "socket" => drop(std::os::unix::net::UnixListener::bind(&file).unwrap()),
                    _ => fs::write(&file, "planted").unwrap(),
                }
                assert!(write(&pinned), "{trick}");
                let found = file.symlink_metadata().unwrap();
                assert!(found.is_file() && found.nlink() == 1, "{trick}");
                assert_eq!(fs::read(&file).unwrap(), b"new", "{trick}");
                assert_eq!(fs::read(&place.precious).unwrap(), b"mine", "{trick}");
                assert!(!place.precious.with_extension("new").exists());
                assert_eq!(place.names(), ["out", "run.json"], "{trick}");
            }
        }
    }

    #[test]
    fn a_folder_that_took_the_name_stays_and_so_does_what_took_the_name_of_its_folder() {
        let place = Place::new();
        let pinned = place.pin("run.json").unwrap();
        fs::create_dir_all(place.work.join("run.json/in")).unwrap();
        assert!(!write(&pinned));
        assert_eq!(place.names(), ["out", "run.json"]);
        // The folder was moved, and a link to another one put in its place.
        let (pinned, other) = (place.pin("out/t.json").unwrap(), place.work.with_file_name("other"));
        assert!(pinned.is_in_place());
        fs::create_dir(&other).unwrap();
        fs::rename(place.work.join("out"), place.work.join("moved")).unwrap();
        symlink(&other, place.work.join("out")).unwrap();
        assert!(!pinned.is_in_place() && write(&pinned));
        assert_eq!(other.read_dir().unwrap().count(), 0);
        assert_eq!(fs::read(place.work.join("moved/t.json")).unwrap(), b"new");
        // The folder is gone.
        fs::remove_dir_all(place.work.join("moved")).unwrap();
        assert!(!write(&pinned));
    }

    #[test]
    fn no_link_is_followed_where_commands_may_write_and_any_elsewhere() {
        let place = Place::new();
        let outside = place.work.with_file_name("outside");
        fs::create_dir(&outside).unwrap();
        symlink(&place.precious, place.work.join("a.json")).unwrap();
        symlink(place.precious.with_extension("new"), place.work.join("b.json")).unwrap();
        symlink(&outside, place.work.join("folder")).unwrap();
        symlink("out", place.work.join("within")).unwrap();
        for name in [
            "a.json", "b.json", "folder/t.json", "within/t.json", "out/../folder/t.json",
        ] {
            let why = place.pin(name).unwrap_err();
            assert!(why.contains("name the link's target instead"), "{why}");
        }
        // The user's own links.
        symlink(&place.precious, outside.join("c.json")).unwrap();
        symlink("../d.json", outside.join("d.json")).unwrap();
        for (name, leads_to) in [("c.json", "precious"), ("d.json", "d.json")] {
            assert!(write(&place.pin(&format!("../outside/{name}")).unwrap()));
            assert_eq!(fs::read(place.work.with_file_name(leads_to)).unwrap(), b"new");
            assert!(outside.join(name).is_symlink());
        }
    }

    #[test]
    fn a_new_file_is_its_owners_alone_and_one_that_was_there_keeps_its_permissions() {
        let place = Place::new();
        let mode = |name: &str| place.work.join(name).metadata().unwrap().mode() & 0o777;
        assert!(write(&place.pin("a").unwrap()));
        assert_eq!(mode("a"), 0o600);
        fs::set_permissions(place.work.join("a"), Permissions::from_mode(0o640)).unwrap();
        let pinned = place.pin("a").unwrap();
        fs::set_permissions(place.work.join("a"), Permissions::from_mode(0o666)).unwrap();
        assert!(write(&pinned));
        assert_eq!(mode("a"), 0o640);
        fs::set_permissions(place.work.join("a"), Permissions::from_mode(0o440)).unwrap();
        assert!(place.pin("a").is_err());
    }

    #[test]
    fn a_pipe_that_was_named_is_written_to_whatever_took_its_name() {
        let place = Place::new();
        let file = place.work.join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, Mode::RWXU).unwrap();
        let pinned = place.pin("pipe").unwrap();
        fs::rename(&file, place.work.join("moved")).unwrap();
        symlink(&place.precious, &file).unwrap();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| fs::read(place.work.join("moved")).unwrap());
            assert!(write(&pinned));
            assert_eq!(reader.join().unwrap(), b"new");
        });
        assert_eq!(fs::read(&place.precious).unwrap(), b"mine");
    }
}
