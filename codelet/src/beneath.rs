//! A folder tree, accessed by names only: no link inside it is followed, not even one created meanwhile.

use crate::input;
use codelet_tools::draft::{Access, DRAFT, Draft};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// The maximum depth of nested folders that is searched.
const DEEPEST: usize = 100;
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A folder held open, even if it is renamed. All other names are relative to it.
pub struct Beneath(OwnedFd);

/// The contents of a folder tree.
#[derive(Default)]
pub struct Listed {
    /// The wanted regular files, sorted.
    pub files: Vec<PathBuf>,
    /// Folders that could not be read, with the errors.
    pub closed: Vec<(PathBuf, io::Error)>,
    /// The number of other files and non-files.
    pub others: usize,
    /// The number of links.
    pub links: usize,
    /// Drafts left by processes that ended while writing.
    drafts: Vec<PathBuf>,
}

impl Beneath {
    /// Opens the folder of this name, which may be a link.
    ///
    /// # Errors
    /// If it does not exist or cannot be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Beneath(rustix::fs::open(folder, flags, Mode::empty())?))
    }

    /// Lists the files whose names are wanted, and counts the rest.
    pub fn list(&self, is_wanted: &dyn Fn(&OsStr) -> bool) -> Listed {
        let mut listed = Listed::default();
        look_into(&self.0, Path::new(""), 0, is_wanted, &mut listed);
        listed.files.sort_unstable();
        listed
    }

    /// Returns whether the folder is empty apart from these names.
    ///
    /// # Errors
    /// If it cannot be read.
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

    /// Removes the drafts of processes that ended while writing. No other process may be writing there.
    pub fn clear(&self, listed: &Listed) {
        for draft in &listed.drafts {
            if let (Ok(folder), Some(name)) = (self.folder_of(draft, false), draft.file_name()) {
                let _ = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
            }
        }
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// If no file has this name, or it is a link.
    pub fn read(&self, file: &Path) -> io::Result<(File, Metadata)> {
        let folder = self.folder_of(file, false)?;
        read_in(&folder, file.file_name().unwrap_or_default())
    }

    /// Reads at most `most` bytes of the file in the same folder whose name satisfies `is_it`.
    pub fn beside(&self, file: &Path, most: u64, is_it: &dyn Fn(&str) -> bool) -> Option<Vec<u8>> {
        let folder = self.folder_of(file, false).ok()?;
        let mut entries = Dir::read_from(&folder).ok()?.flatten();
        let found = entries.find(|entry| entry.file_name().to_str().is_ok_and(is_it))?;
        let (file, found) = read_in(&folder, OsStr::from_bytes(found.file_name().to_bytes())).ok()?;
        input::all_of(file, &found, most)
    }

    /// Opens a file directly in this folder for reading and writing, and creates it if missing.
    ///
    /// # Errors
    /// If it cannot be opened, or the name belongs to something other than a file.
    pub fn own(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?);
        input::is_regular(&file.metadata()?)?;
        Ok(file)
    }

    /// Replaces a file directly in this folder with this text, and returns the new file, open for more writes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn replace(&self, name: &str, text: &[u8]) -> io::Result<File> {
        use io::Write as _;
        let mut draft = Draft::within(&self.0, Access::AsUsual)?;
        draft.file.write_all(text)?;
        let file = draft.file.try_clone()?;
        draft.become_file(OsStr::new(name))?;
        Ok(file)
    }

    /// Removes a file directly in this folder.
    ///
    /// # Errors
    /// If it does not exist or cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Creates a file with the content that `fill` writes, and its parent folders: all of it or nothing.
    ///
    /// # Errors
    /// If the name is taken, a parent is not a folder, or the file cannot be written.
    pub fn create(&self, file: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let folder = self.folder_of(file, true)?;
        let mut draft = Draft::unnamed(&folder)?;
        fill(&mut draft.file)?;
        draft.become_new_file(file.file_name().unwrap_or_default())
    }

    /// Opens the folder that contains a file; `is_made` creates it if missing.
    fn folder_of(&self, file: &Path, is_made: bool) -> io::Result<OwnedFd> {
        let mut folder = self.0.try_clone()?;
        for component in file.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(name) = component else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            folder = match rustix::fs::openat(&folder, name, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) if is_made => {
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                        // Another thread created it first.
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
                    false => Err(io::Error::other(format!("is nested more than {DEEPEST} folders deep"))),
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

/// Returns the type of an entry; some file systems report it only through `stat`.
fn kind(folder: &OwnedFd, entry: &rustix::fs::DirEntry) -> FileType {
    match entry.file_type() {
        FileType::Unknown => {
            let found = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode))
        }
        known => known,
    }
}

/// Returns whether a name is that of a draft: the common prefix and sixteen hexadecimal digits.
fn is_draft(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix(DRAFT));
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
