//! Opens and replaces files without following links, blocking on devices, or leaving a partial file.

use crate::draft::{Access, Draft};
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Largest file that is read whole, in bytes.
pub(crate) const LARGEST: u64 = 10 * 1024 * 1024;

/// Metadata that changes with each version of a file, as far as the file system records it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of an open file or of a path.
    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The state of a file when it was opened.
pub(crate) struct Standing {
    pub stamp: Stamp,
    metadata: Metadata,
}

impl Standing {
    /// The state of an open file.
    pub(crate) fn of(metadata: Metadata) -> Standing {
        let stamp = Stamp::of(&metadata);
        Standing { stamp, metadata }
    }

    /// Its permissions.
    pub(crate) fn mode(&self) -> u32 {
        self.metadata.mode() & 0o7777
    }
}

/// A file with its contents.
pub(crate) struct Whole {
    pub bytes: Vec<u8>,
    pub standing: Standing,
}

/// The system's description of an error, without the number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// Opens a regular file at a resolved path for reading.
///
/// # Errors
/// Says what is there instead.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), String> {
    let metadata = path.symlink_metadata().map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "there is no such file".to_owned(),
        _ => reason(&error),
    })?;
    // Opening a device may have side effects.
    regular(&metadata)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(open_plainly(path, flags, Mode::empty()).map_err(|error| reason(&error))?);
    let metadata = file.metadata().map_err(|error| reason(&error))?;
    regular(&metadata)?;
    Ok((file, metadata))
}

fn regular(metadata: &Metadata) -> Result<(), String> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    Err(if kind.is_dir() {
        "this is a folder"
    } else if kind.is_fifo() {
        "this is a pipe, not a file"
    } else if kind.is_socket() {
        "this is a socket, not a file"
    } else if kind.is_symlink() {
        "a link was put here while it was opened"
    } else {
        "this is a device, not a file"
    }
    .to_owned())
}

/// Reads a whole regular file; `None` if it has more than [`LARGEST`] bytes.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Option<Whole>, String> {
    let (file, metadata) = open(path)?;
    let mut bytes = Vec::new();
    // The size is only a hint: kernel files report none, and others grow.
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| reason(&error))?;
    let standing = Standing::of(metadata);
    Ok((bytes.len() as u64 <= LARGEST).then_some(Whole { bytes, standing }))
}

/// Opens the folder at a resolved path for reading.
pub(crate) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    open_plainly(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// Opens a descriptor for a resolved path, which stays valid whatever happens to its name.
///
/// # Errors
/// If there is nothing, or a link was put on the way.
pub(crate) fn hold(path: &Path) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let held = open_plainly(path, flags, Mode::empty())?;
    // With `O_PATH`, the descriptor may refer to a link itself.
    match fs::FileType::from_raw_mode(fs::fstat(&held)?.st_mode) {
        fs::FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Ok(held),
    }
}

/// Opens a descriptor for a folder.
///
/// # Errors
/// If there is none, or a link was put on the way.
pub(crate) fn hold_folder(path: &Path) -> io::Result<OwnedFd> {
    let held = hold(path)?;
    match fs::FileType::from_raw_mode(fs::fstat(&held)?.st_mode) {
        fs::FileType::Directory => Ok(held),
        _ => Err(Errno::NOTDIR.into()),
    }
}

/// Returns a path to the descriptor's file, valid also for a program that is being started; `None` if the system has no
/// such paths.
pub(crate) fn name_of(held: &OwnedFd) -> Option<PathBuf> {
    let name = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    name.exists().then_some(name)
}

/// Opens a resolved path; fails if a link was put on the way since.
///
/// # Errors
/// If the system refuses.
pub fn open_plainly(path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        match fs::openat2(CWD, path, flags, mode, ResolveFlags::NO_SYMLINKS) {
            // Before Linux 5.6, or in a container that does not support newer calls.
            Err(Errno::NOSYS | Errno::PERM) => {}
            done => return Ok(done?),
        }
    }
    Ok(fs::openat(CWD, path, flags, mode)?)
}

/// Writes a file at a resolved path, whole or not at all. Missing folders are created. `replaced` is the current file;
/// its permissions and owner are kept. If a new file could not keep its attributes, it is written in place: a
/// concurrent reader, or a crash, may then find part of the text.
///
/// # Errors
/// Says why. The old file remains or, if it was written in place, its text is restored; if even that fails, the error
/// says so. Also fails if the file is no longer the one to be replaced.
pub(crate) fn put(path: &Path, bytes: &[u8], replaced: Option<&Standing>) -> Result<Stamp, String> {
    put_with(path, bytes, replaced, None)
}

/// Creates a file with these permissions where there is none.
///
/// # Errors
/// Those of [`put`].
pub(crate) fn create(path: &Path, bytes: &[u8], mode: u32) -> Result<Stamp, String> {
    put_with(path, bytes, None, Some(mode))
}

/// Deletes the file at a resolved path, if it is still the one that was opened.
///
/// # Errors
/// Says why it was not deleted.
pub(crate) fn remove(path: &Path, old: &Standing) -> Result<(), String> {
    let name = path.file_name().ok_or("this is a folder")?;
    let folder = open_folder(path.parent().ok_or("this is a folder")?).map_err(|error| reason(&error))?;
    writable(path, old)?;
    unchanged(path, old)?;
    fs::unlinkat(&folder, name, AtFlags::empty()).map_err(|error| reason(&error.into()))?;
    let _ = fs::fsync(&folder);
    Ok(())
}

/// Removes the empty folders above a path, up to and including `top`.
pub(crate) fn remove_empty(path: &Path, top: &Path) {
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    for folder in folders {
        let (Some(name), Some(Ok(above))) = (folder.file_name(), folder.parent().map(open_folder)) else {
            return;
        };
        // Fails if the folder is not empty.
        if fs::unlinkat(&above, name, AtFlags::REMOVEDIR).is_err() {
            return;
        }
    }
}

/// Writes a file; a new one gets these permissions, or the default ones.
fn put_with(path: &Path, bytes: &[u8], replaced: Option<&Standing>, mode: Option<u32>) -> Result<Stamp, String> {
    let kept = mode.map(std::os::unix::fs::PermissionsExt::from_mode);
    let kept = replaced.map(|old| old.metadata.permissions()).or(kept);
    let name = path.file_name().ok_or("this is a folder")?;
    let folder = folder(path.parent().ok_or("this is a folder")?)?;
    if let Some(old) = replaced {
        writable(path, old)?;
        // A new file would leave the old text under the other hard links, and lose attributes.
        if old.metadata.nlink() > 1 || has_notes(path) {
            return overwrite(path, bytes, old);
        }
    }
    // Private until it has the permissions of the old file.
    let access = if kept.is_some() {
        Access::OwnerOnly
    } else {
        Access::AsUsual
    };
    let draft = match (Draft::within(&folder, access), replaced) {
        (Ok(draft), _) => draft,
        // A file may be writable in a folder that is not.
        (Err(error), Some(old)) if error.kind() == ErrorKind::PermissionDenied => return overwrite(path, bytes, old),
        (Err(error), _) => return Err(reason(&error)),
    };
    if let Some(old) = replaced
        && !belongs_alike(&draft.file, &old.metadata)
    {
        return overwrite(path, bytes, old);
    }
    let stamp = fill(&draft.file, bytes, kept)?;
    match replaced {
        Some(old) => {
            unchanged(path, old)?;
            draft.become_file(name).map_err(|error| reason(&error))?;
        }
        None => draft.become_new_file(name).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => "a file has appeared there; Read it first".to_owned(),
            _ => reason(&error),
        })?,
    }
    // Not every file system supports it; the file itself is synced.
    let _ = fs::fsync(&folder);
    // Renaming changes the ctime.
    Ok(path.symlink_metadata().map_or(stamp, |metadata| Stamp::of(&metadata)))
}

fn fill(mut file: &File, bytes: &[u8], kept: Option<std::fs::Permissions>) -> Result<Stamp, String> {
    let fail = |error: io::Error| reason(&error);
    file.write_all(bytes).map_err(fail)?;
    if let Some(permissions) = kept {
        // Writing and changing the owner clear some of them.
        file.set_permissions(permissions).map_err(fail)?;
    }
    file.sync_all().map_err(fail)?;
    Ok(Stamp::of(&file.metadata().map_err(fail)?))
}

/// Checks whether the existing file may be written. Replacing it would need write access only to its folder.
fn writable(path: &Path, old: &Standing) -> Result<(), String> {
    let mode = old.metadata.mode() & 0o7777;
    // Root may write to everything; still, the write protection is intentional.
    if old.metadata.permissions().readonly() {
        return Err(format!("it is write-protected (mode {mode:04o}); nothing was written"));
    }
    let ask = |flags| fs::accessat(CWD, path, fs::Access::WRITE_OK, flags);
    let answer = match ask(AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW) {
        // Containers that do not know the call with flags (Linux 5.8) may answer this.
        Err(Errno::PERM) => ask(AtFlags::empty()),
        answer => answer,
    };
    match answer {
        Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => {
            let (why, owner) = (reason(&error.into()), old.metadata.uid());
            Err(format!(
                "it may not be written to ({why}; it belongs to user {owner}, mode {mode:04o}); nothing was written"
            ))
        }
        // If the check fails, the write is tried.
        _ => Ok(()),
    }
}

/// Gives a draft the owner of the old file; returns whether it has it. Only a privileged user can change owners.
fn belongs_alike(draft: &File, old: &Metadata) -> bool {
    let owners = |metadata: &Metadata| (metadata.uid(), metadata.gid());
    draft.metadata().is_ok_and(|new| owners(&new) == owners(old))
        || std::os::unix::fs::fchown(draft, Some(old.uid()), Some(old.gid())).is_ok()
}

/// Returns whether a file has access control lists or user attributes, which a new file would lose.
fn has_notes(path: &Path) -> bool {
    /// Longest list of attribute names, in bytes (the limit of Linux).
    const NAMES: usize = 64 * 1024;
    let mut names = vec![0; NAMES];
    let Ok(length) = fs::llistxattr(path, names.as_mut_slice()) else {
        return false;
    };
    let mut names = names[..length].split(|byte| *byte == 0);
    names.any(|name| name.starts_with(b"user.") || name.starts_with(b"system.posix_acl"))
}

fn unchanged(path: &Path, old: &Standing) -> Result<(), String> {
    let now = path.symlink_metadata().map_err(|error| reason(&error))?;
    if Stamp::of(&now) == old.stamp {
        Ok(())
    } else {
        Err("the file was changed by somebody else just now; Read it again".to_owned())
    }
}

/// Writes into the existing file; if that fails, restores its old text.
fn overwrite(path: &Path, bytes: &[u8], old: &Standing) -> Result<Stamp, String> {
    let fail = |error: io::Error| reason(&error);
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(open_plainly(path, flags, Mode::empty()).map_err(fail)?);
    let now = file.metadata().map_err(fail)?;
    regular(&now)?;
    if Stamp::of(&now) != old.stamp {
        return Err("the file was changed by somebody else just now; Read it again".to_owned());
    }
    let mut before = Vec::new();
    (&file).read_to_end(&mut before).map_err(fail)?;
    rewrite(&file, bytes).map_err(|error| match rewrite(&file, &before) {
        Ok(()) => format!("{}; the file is unchanged", reason(&error)),
        Err(again) => format!(
            "{}, and the old text could not be put back ({}): the file is damaged",
            reason(&error),
            reason(&again)
        ),
    })?;
    Ok(Stamp::of(&file.metadata().map_err(fail)?))
}

fn rewrite(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Opens a folder at a resolved path, and creates the missing ones.
fn folder(path: &Path) -> Result<OwnedFd, String> {
    let mut missing = Vec::new();
    let mut there = path;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut folder = loop {
        match open_plainly(there, flags, Mode::empty()) {
            Ok(folder) => break folder,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                missing.extend(there.file_name());
                there = there.parent().ok_or_else(|| reason(&error))?;
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(format!("{} is not a folder", there.display()));
            }
            Err(error) => return Err(format!("{}: {}", there.display(), reason(&error))),
        }
    };
    for name in missing.into_iter().rev() {
        match fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(format!("{}: {}", path.display(), reason(&error.into()))),
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = fs::openat(folder.as_fd(), name, flags, Mode::empty()).map_err(|error| reason(&error.into()))?;
    }
    Ok(folder)
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions_and_leaves_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("run.sh");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let old = read(&path).unwrap().unwrap();
        put(&path, b"new", Some(&old.standing)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(names(folder.path()), ["run.sh"]);
    }

    #[test]
    fn a_write_protected_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let old = read(&path).unwrap().unwrap();
        let why = put(&path, b"new", Some(&old.standing)).unwrap_err();
        assert!(why.contains("write-protected (mode 0444)"), "{why}");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_file_keeps_its_owner_special_permissions_and_attributes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a");
        std::fs::write(&path, "a longer text").unwrap();
        // Only root can change owners; for others, owner and group stay.
        let owner = std::os::unix::fs::chown(&path, Some(12345), Some(12345))
            .map_or(path.metadata().unwrap().uid(), |()| 12345);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4751)).unwrap();
        for attributed in [false, true] {
            if attributed && fs::setxattr(&path, "user.note", b"kept", fs::XattrFlags::empty()).is_err() {
                continue;
            }
            let old = read(&path).unwrap().unwrap();
            put(&path, b"new", Some(&old.standing)).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"new");
            let metadata = path.metadata().unwrap();
            assert_eq!(metadata.uid(), owner);
            let mut value = [0; 8];
            assert_eq!(
                fs::getxattr(&path, "user.note", value.as_mut_slice()).is_ok(),
                attributed
            );
            if !attributed {
                assert_eq!(metadata.permissions().mode() & 0o7777, 0o4751);
            }
        }
    }

    /// Runs a closure on a thread for which the kernel refuses a call with this argument.
    #[cfg(target_os = "linux")]
    pub(crate) fn without<T: Send>(
        call: i64,
        argument: Option<(u8, u64)>,
        errno: i32,
        act: impl FnOnce() -> T + Send,
    ) -> T {
        use seccompiler::{
            BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        };
        let condition =
            |(number, value)| SeccompCondition::new(number, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value).unwrap();
        let rules = argument.map(|argument| SeccompRule::new(vec![condition(argument)]).unwrap());
        let refused = SeccompAction::Errno(errno as u32);
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let rules = [(call, rules.into_iter().collect())].into();
        let filter: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)
            .unwrap()
            .try_into()
            .unwrap();
        let acting = move || {
            seccompiler::apply_filter(&filter).unwrap();
            act()
        };
        std::thread::scope(|scope| scope.spawn(acting).join().unwrap())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_container_that_knows_no_newer_calls_keeps_nobody_from_writing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a");
        std::fs::write(&path, "old").unwrap();
        let old = read(&path).unwrap().unwrap();
        let done = without(libc::SYS_faccessat2, None, libc::EPERM, || {
            put(&path, b"new", Some(&old.standing))
        });
        assert!(done.is_ok(), "{done:?}");
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_write_in_place_that_fails_on_the_way_leaves_the_old_text() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let path = base.join("a");
        std::fs::write(&path, "a longer text").unwrap();
        // A file with two hard links is written in place.
        std::fs::hard_link(&path, base.join("b")).unwrap();
        let old = read(&path).unwrap().unwrap();
        // The length is set after the new text has been written.
        let why = without(libc::SYS_ftruncate, Some((1, 3)), libc::EIO, || {
            put(&path, b"new", Some(&old.standing)).unwrap_err()
        });
        assert!(why.ends_with("the file is unchanged"), "{why}");
        assert_eq!(std::fs::read(&path).unwrap(), b"a longer text");
        let old = read(&path).unwrap().unwrap();
        let why = without(libc::SYS_ftruncate, None, libc::EIO, || {
            put(&path, b"new", Some(&old.standing)).unwrap_err()
        });
        assert!(why.ends_with("the file is damaged"), "{why}");
    }

    #[test]
    fn a_file_changed_in_the_meantime_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a");
        std::fs::write(&path, "old").unwrap();
        let old = read(&path).unwrap().unwrap();
        std::fs::write(&path, "other").unwrap();
        assert!(
            put(&path, b"new", Some(&old.standing))
                .unwrap_err()
                .contains("somebody else")
        );
        assert!(put(&path, b"new", None).unwrap_err().contains("has appeared"));
        assert_eq!(std::fs::read(&path).unwrap(), b"other");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn all_names_of_a_file_see_the_new_text() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::write(base.join("a"), "a longer text").unwrap();
        std::fs::hard_link(base.join("a"), base.join("b")).unwrap();
        let old = read(&base.join("a")).unwrap().unwrap();
        put(&base.join("a"), b"new", Some(&old.standing)).unwrap();
        assert_eq!(std::fs::read(base.join("b")).unwrap(), b"new");
    }

    #[test]
    fn a_link_put_on_the_way_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("other")).unwrap();
        symlink("other", base.join("way")).unwrap();
        std::fs::write(base.join("other/a"), "x").unwrap();
        assert!(open(&base.join("way/a")).is_err());
        assert!(put(&base.join("way/b"), b"new", None).is_err());
        assert!(put(&base.join("way/new/b"), b"new", None).is_err());
        assert_eq!(names(&base.join("other")), ["a"]);
    }

    #[test]
    fn folders_above_a_new_file_are_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("x/y/z.txt");
        put(&path, b"new", None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(
            put(&path.join("under"), b"", None)
                .unwrap_err()
                .contains("is not a folder")
        );
    }
}
