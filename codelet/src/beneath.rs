//! A folder and what lies below it, reached by names alone: no link in it is followed, also none that is put there meanwhile.

use crate::draft::{Access, DRAFT, Draft};
use crate::input;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// Folders within folders are looked into this deep.
const DEEPEST: usize = 100;
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A folder that is held, whatever becomes of its name. All other names are relative to it.
pub struct Beneath(OwnedFd);

/// What lies below a folder.
#[derive(Default)]
pub struct Listed {
    /// The regular files that were asked for, sorted.
    pub files: Vec<PathBuf>,
    /// Folders that could not be looked into, and why.
    pub closed: Vec<(PathBuf, io::Error)>,
    /// How many other files, and things that are no file, there are.
    pub others: usize,
    /// How many links there are.
    pub links: usize,
    /// Files that were in the making when a process ended.
    drafts: Vec<PathBuf>,
}

impl Beneath {
    /// Holds the folder of this name, which may be a link.
    ///
    /// # Errors
    /// When there is none, or it may not be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Beneath(rustix::fs::open(folder, flags, Mode::empty())?))
    }

    /// The files whose names are asked for, and how much else there is.
    pub fn list(&self, is_wanted: &dyn Fn(&OsStr) -> bool) -> Listed {
        let mut listed = Listed::default();
        look_into(&self.0, Path::new(""), 0, is_wanted, &mut listed);
        listed.files.sort_unstable();
        listed
    }

    /// Whether nothing is in it, but for these names.
    ///
    /// # Errors
    /// When it cannot be looked into.
    pub fn is_empty_but_for(&self, names: &[&str]) -> io::Result<bool> {
        let mut entries = Dir::read_from(&self.0)?;
        let is_other = |entry: rustix::io::Result<rustix::fs::DirEntry>| match entry {
            Ok(entry) => {
                let name = entry.file_name().to_bytes();
                !matches!(name, b"." | b"..") && !names.iter().any(|known| known.as_bytes() == name)
            }
            Err(_) => true,
        };
        Ok(!entries.any(is_other))
    }

    /// Takes away what processes left that ended in the middle. Nobody else may write there now.
    pub fn clear(&self, listed: &Listed) {
        for draft in &listed.drafts {
            if let (Ok(folder), Some(name)) = (self.folder_of(draft, false), draft.file_name()) {
                let _ = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
            }
        }
    }

    /// Opens a regular file to be read.
    ///
    /// # Errors
    /// When there is none by this name, or a link.
    pub fn read(&self, file: &Path) -> io::Result<(File, Metadata)> {
        let folder = self.folder_of(file, false)?;
        read_in(&folder, file.file_name().unwrap_or_default())
    }

    /// The bytes, so many at most, of the file in the same folder that has such a name.
    pub fn beside(&self, file: &Path, most: u64, is_it: &dyn Fn(&str) -> bool) -> Option<Vec<u8>> {
        let folder = self.folder_of(file, false).ok()?;
        let mut entries = Dir::read_from(&folder).ok()?.flatten();
        let found = entries.find(|entry| entry.file_name().to_str().is_ok_and(is_it))?;
        let (file, found) = read_in(&folder, OsStr::from_bytes(found.file_name().to_bytes())).ok()?;
        input::all_of(file, &found, most)
    }

    /// Opens a file of this folder itself to be read and written, and makes it where there is none.
    ///
    /// # Errors
    /// When it cannot be opened, or something else has the name.
    pub fn own(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?);
        input::is_regular(&file.metadata()?)?;
        Ok(file)
    }

    /// Replaces a file of this folder itself by one with this text, and hands over that file, open for more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn replace(&self, name: &str, text: &[u8]) -> io::Result<File> {
        use io::Write as _;
        let mut draft = Draft::within(&self.0, Access::AsUsual)?;
        draft.file.write_all(text)?;
        let file = draft.file.try_clone()?;
        draft.become_file(OsStr::new(name))?;
        Ok(file)
    }

    /// Takes away a file of this folder itself.
    ///
    /// # Errors
    /// When there is none, or it cannot be taken away.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Puts there what `fill` writes, with the folders above it: all of it, or nothing.
    ///
    /// # Errors
    /// When something has this name already, stands where a folder is to be, or when it cannot be written.
    pub fn create(&self, file: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let folder = self.folder_of(file, true)?;
        let mut draft = Draft::unnamed(&folder)?;
        fill(&mut draft.file)?;
        draft.become_new_file(file.file_name().unwrap_or_default())
    }

    /// The folder in which a file lies; with `is_made`, it is made where there is none.
    fn folder_of(&self, file: &Path, is_made: bool) -> io::Result<OwnedFd> {
        let mut folder = self.0.try_clone()?;
        for component in file.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(name) = component else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            folder = match rustix::fs::openat(&folder, name, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) if is_made => {
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                        // Another thread was faster.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?
                }
                opened => opened?,
            };
        }
        Ok(folder)
    }
}

fn read_in(folder: &OwnedFd, name: &OsStr) -> io::Result<(File, Metadata)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    let found = file.metadata()?;
    input::is_regular(&found)?;
    Ok((file, found))
}

fn look_into(folder: &OwnedFd, at: &Path, depth: usize, is_wanted: &dyn Fn(&OsStr) -> bool, listed: &mut Listed) {
    let entries = match Dir::read_from(folder) {
        Ok(entries) => entries,
        Err(error) => return listed.closed.push((at.to_owned(), error.into())),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                listed.closed.push((at.to_owned(), error.into()));
                continue;
            }
        };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        match kind(folder, &entry) {
            FileType::Directory => {
                let path = at.join(name);
                let opened = match depth < DEEPEST {
                    true => rustix::fs::openat(folder, name, FOLDER, Mode::empty()).map_err(io::Error::from),
                    false => Err(io::Error::other(format!("lies deeper than {DEEPEST} folders"))),
                };
                match opened {
                    Ok(within) => look_into(&within, &path, depth + 1, is_wanted, listed),
                    Err(error) => listed.closed.push((path, error)),
                }
            }
            FileType::Symlink => listed.links += 1,
            FileType::RegularFile if is_draft(name) => listed.drafts.push(at.join(name)),
            FileType::RegularFile if is_wanted(name) => listed.files.push(at.join(name)),
            _ => listed.others += 1,
        }
    }
}

/// What an entry is; some file systems tell only when they are asked.
fn kind(folder: &OwnedFd, entry: &rustix::fs::DirEntry) -> FileType {
    match entry.file_type() {
        FileType::Unknown => {
            let found = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode))
        }
        known => known,
    }
}

/// Whether it is a file in the making: sixteen digits behind what the names of all of them begin with.
fn is_draft(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix(DRAFT));
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
