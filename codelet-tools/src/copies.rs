//! In-memory copies of files as they were before the tools changed them, and how they are restored.

use crate::diff;
use crate::files::{self, Standing as Stood};
use crate::path::Paths;
use crate::secrets::Secrets;
use crate::seen::{Look, Seen};
use crate::text;
use crate::walk;
use codelet_agent::journal::{Change, ChangedFile, Mark, Restore, Restored, Standing};
use codelet_text::short::{clip, on_one_line};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of copies that are kept; the oldest are dropped first.
const MOST: usize = 64 * 1024 * 1024;
/// Largest file, in bytes, that is compared just to count lines.
const COUNTED: usize = 1024 * 1024;
/// Characters of a command that are kept.
const COMMAND: usize = 200;

/// The contents of a path.
#[derive(Clone, PartialEq)]
enum Version {
    /// No file.
    Absent,
    /// A file with its permissions and, as long as there is room, its bytes.
    File {
        look: Look,
        mode: u32,
        bytes: Option<Arc<[u8]>>,
    },
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Absent => f.write_str("Absent"),
            // File contents do not belong in a log.
            Version::File { look, mode, .. } => write!(f, "File({look:?}, {mode:o})"),
        }
    }
}

impl Version {
    fn of(bytes: &[u8], mode: u32) -> Version {
        Version::File {
            look: Look::at(bytes),
            mode,
            bytes: Some(bytes.into()),
        }
    }

    /// Returns whether both have the same contents, regardless of permissions.
    fn is_like(&self, other: &Version) -> bool {
        match (self, other) {
            (Version::Absent, Version::Absent) => true,
            (Version::File { look: one, .. }, Version::File { look: other, .. }) => one == other,
            _ => false,
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Version::Absent => Some(&[]),
            Version::File { bytes, .. } => bytes.as_deref(),
        }
    }

    fn kept(&self) -> Option<&Arc<[u8]>> {
        match self {
            Version::Absent => None,
            Version::File { bytes, .. } => bytes.as_ref(),
        }
    }

    fn let_go(&mut self) {
        if let Version::File { bytes, .. } = self {
            *bytes = None;
        }
    }
}

/// The kind of change from one version to another.
fn change(before: &Version, after: &Version) -> Change {
    match (before, after) {
        (Version::Absent, _) => Change::Created,
        (_, Version::Absent) => Change::Deleted,
        _ => Change::Altered,
    }
}

/// A change of a file.
#[derive(Clone, Debug)]
struct FileChange {
    path: PathBuf,
    before: Version,
    after: Version,
    /// The topmost folder that was created for it.
    made: Option<PathBuf>,
}

#[derive(Clone, Debug)]
enum Record {
    Change(FileChange),
    Command(String),
}

/// Everything that happened, in order.
#[derive(Debug, Default)]
struct Records {
    all: Vec<Record>,
    /// Bytes of the copies; copies shared by two records may count twice.
    bytes: usize,
}

impl Records {
    fn changes(&self, from: usize, to: usize) -> impl DoubleEndedIterator<Item = &FileChange> {
        let to = to.min(self.all.len());
        let records = self.all.get(from.min(to)..to).unwrap_or_default().iter();
        records.filter_map(|record| match record {
            Record::Change(entry) => Some(entry),
            Record::Command(_) => None,
        })
    }

    /// The net change of each file between two marks: its first and last versions.
    fn net(&self, from: usize, to: usize) -> BTreeMap<&Path, (&Version, &Version)> {
        let mut net: BTreeMap<&Path, (&Version, &Version)> = BTreeMap::new();
        for entry in self.changes(from, to) {
            let both = net.entry(&entry.path).or_insert((&entry.before, &entry.after));
            both.1 = &entry.after;
        }
        net
    }

    fn push(&mut self, mut entry: FileChange, most: usize) {
        // The earlier contents are usually those left by the last change, so share that copy.
        let last = self.changes(0, usize::MAX).rev().find(|last| last.path == entry.path);
        if let Some(last) = last
            && last.after == entry.before
        {
            entry.before = last.after.clone();
        }
        let versions = [&entry.before, &entry.after];
        self.bytes += versions
            .iter()
            .filter_map(|version| version.kept())
            .map(|bytes| bytes.len())
            .sum::<usize>();
        self.all.push(Record::Change(entry));
        if self.bytes > most {
            self.make_room(most);
        }
    }

    /// Drops the oldest copies.
    fn make_room(&mut self, most: usize) {
        let mut known: HashSet<*const u8> = HashSet::new();
        // Frees some extra space, so that this does not run again at once.
        let (mut bytes, most) = (0, most - most / 8);
        for record in self.all.iter_mut().rev() {
            let Record::Change(entry) = record else { continue };
            for version in [&mut entry.after, &mut entry.before] {
                let Some(kept) = version.kept() else { continue };
                let (copy, length) = (kept.as_ptr(), kept.len());
                let more = if known.contains(&copy) { 0 } else { length };
                match bytes + more > most {
                    true => version.let_go(),
                    false => {
                        known.insert(copy);
                        bytes += more;
                    }
                }
            }
        }
        self.bytes = bytes;
    }
}

/// The records of a session, shared with the tools of its tasks.
#[derive(Debug)]
pub(crate) struct Copies {
    /// True once copies are kept for a rewind.
    is_kept: AtomicBool,
    records: Mutex<Records>,
    /// Held by whoever writes a file until the change is recorded, so that records have the order of the writes.
    writing: Mutex<()>,
    most: usize,
}

impl Default for Copies {
    fn default() -> Self {
        Copies::of(MOST)
    }
}

impl Copies {
    fn of(most: usize) -> Self {
        Copies {
            is_kept: AtomicBool::new(false),
            records: Mutex::default(),
            writing: Mutex::default(),
            most,
        }
    }

    /// Keeps copies from here on.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the current position.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.records().all.len())
    }

    /// Records that a command was run.
    pub(crate) fn note_command(&self, command: &str) {
        if self.is_kept.load(Ordering::Relaxed) {
            let line: String = on_one_line(command).take(COMMAND + 1).collect();
            let record = Record::Command(clip(line.trim(), COMMAND).into_owned());
            self.records().all.push(record);
        }
    }

    /// The commands between two marks.
    pub(crate) fn commands(&self, from: Mark, to: Mark) -> Vec<String> {
        let records = self.records();
        let to = to.0.min(records.all.len());
        let records = records.all.get(from.0.min(to)..to).unwrap_or_default().iter();
        let commands = records.filter_map(|record| match record {
            Record::Command(command) => Some(command.clone()),
            Record::Change(_) => None,
        });
        commands.collect()
    }

    /// Replaces a file as [`files::put`] does, and records both versions.
    ///
    /// # Errors
    /// Those of [`files::put`].
    pub(crate) fn put(&self, path: &Path, bytes: &[u8], old: Option<Old<'_>>) -> Result<(), String> {
        if !self.is_kept.load(Ordering::Relaxed) {
            return files::put(path, bytes, old.map(|old| old.standing)).map(drop);
        }
        let _writing = self.writing();
        let before = old.as_ref().map_or(Version::Absent, Old::version);
        self.put_noted(path, bytes, before, |bytes| {
            files::put(path, bytes, old.map(|old| old.standing)).map(drop)
        })
    }

    /// Writes a file and records its actual contents, even if the write failed.
    fn put_noted(
        &self,
        path: &Path,
        bytes: &[u8],
        before: Version,
        write: impl FnOnce(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let made = first_missing(path);
        let done = write(bytes);
        let after = match &done {
            Ok(()) => Version::of(bytes, mode_of(path).unwrap_or(0o644)),
            // The write in place failed, and the old contents were not restored.
            Err(_) => match files::read(path) {
                Ok(Some(now)) => Version::of(&now.bytes, now.standing.mode()),
                _ => return done,
            },
        };
        if !(done.is_err() && after.is_like(&before)) {
            let path = path.to_owned();
            self.records().push(
                FileChange {
                    path,
                    before,
                    after,
                    made,
                },
                self.most,
            );
        }
        done
    }

    /// The files that the tools have changed since this mark and that differ from their version then.
    fn due(&self, to: Mark) -> Vec<Due> {
        // Cloned, so that reading the files does not block the records.
        let net: Vec<(PathBuf, Version, Version)> = {
            let records = self.records();
            let net = records.net(to.0, usize::MAX).into_iter();
            net.map(|(path, (first, last))| (path.to_owned(), first.clone(), last.clone()))
                .collect()
        };
        let due = net.into_iter();
        due.filter_map(|(path, first, last)| Due::of(&path, (&first, &last)))
            .collect()
    }

    /// A preview of restoring files.
    pub(crate) fn restores(&self, to: Mark, paths: &Paths, secrets: &Secrets) -> Vec<Restore> {
        let restore = |due: Due| Restore {
            name: paths.show(&due.path),
            diff: due.difference(paths, secrets),
            change: due.change,
            standing: due.standing,
        };
        self.due(to).into_iter().map(restore).collect()
    }

    /// Restores files.
    pub(crate) fn restore(&self, to: Mark, overwrite: bool, paths: &Paths, seen: &Seen) -> Vec<Restored> {
        let _writing = self.writing();
        let made: Vec<PathBuf> = {
            let records = self.records();
            records
                .changes(to.0, usize::MAX)
                .filter_map(|entry| entry.made.clone())
                .collect()
        };
        let due = self.due(to);
        let deleted: Vec<PathBuf> = due
            .iter()
            .filter(|due| due.change == Change::Deleted)
            .map(|due| due.path.clone())
            .collect();
        let restored = |due: Due| {
            let done = match &due.standing {
                Standing::Lost(why) => Err(why.clone()),
                Standing::ChangedSince if !overwrite => Err("changed since".to_owned()),
                _ => due.put_back(self),
            };
            if done.is_ok()
                && let Version::File { look, .. } = due.target
            {
                seen.note_restored(&due.path, look);
            }
            Restored {
                name: paths.show(&due.path),
                change: due.change,
                done,
            }
        };
        let restored = due.into_iter().map(restored).collect();
        // Folders created for files are removed if they are empty now.
        for path in &deleted {
            made.iter().for_each(|made| files::remove_empty(path, made));
        }
        restored
    }

    /// The files that differ between two marks.
    pub(crate) fn changed(&self, from: Mark, to: Mark, paths: &Paths) -> Vec<ChangedFile> {
        let records = self.records();
        let net = records.net(from.0, to.0).into_iter();
        let net = net.filter(|(_, (first, last))| !first.is_like(last));
        net.map(|(path, (first, last))| ChangedFile {
            name: paths.show(path),
            change: change(first, last),
            lines: lines(first, last),
        })
        .collect()
    }
}

/// A file that is about to be replaced.
pub(crate) struct Old<'a> {
    /// Its state when it was opened.
    pub standing: &'a Stood,
    /// Its contents; `None` if it is too large to read.
    pub bytes: Option<&'a [u8]>,
}

impl Old<'_> {
    fn version(&self) -> Version {
        match self.bytes {
            Some(bytes) => Version::of(bytes, self.standing.mode()),
            None => Version::File {
                look: Look::Outside(self.standing.stamp),
                mode: self.standing.mode(),
                bytes: None,
            },
        }
    }
}

fn mode_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    path.symlink_metadata().ok().map(|metadata| metadata.mode() & 0o7777)
}

/// The topmost folder above a path that does not exist.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let above = path.ancestors().skip(1);
    let missing = above.take_while(|folder| folder.symlink_metadata().is_err());
    missing.last().map(Path::to_owned)
}

/// The current contents of a path.
enum Now {
    Nothing,
    File(Box<files::Whole>),
    /// Something that is not replaced, and why.
    Other(String),
}

impl Now {
    fn at(path: &Path) -> Now {
        match path.symlink_metadata() {
            Err(error) if walk::is_absence(&error) => return Now::Nothing,
            Ok(metadata) if metadata.file_type().is_symlink() => return Now::Other("a link is there now".to_owned()),
            _ => {}
        }
        match files::read(path) {
            Ok(Some(whole)) => Now::File(Box::new(whole)),
            Ok(None) => {
                Now::Other("there is a file of more than 10 MiB now, of which no copy could be kept".to_owned())
            }
            Err(why) => Now::Other(why),
        }
    }

    fn version(&self) -> Option<Version> {
        match self {
            Now::Nothing => Some(Version::Absent),
            Now::File(whole) => Some(Version::of(&whole.bytes, whole.standing.mode())),
            Now::Other(_) => None,
        }
    }
}

/// A file that differs from its version at a mark.
struct Due {
    path: PathBuf,
    target: Version,
    now: Now,
    standing: Standing,
    change: Change,
}

impl Due {
    /// Compares a file with an earlier version; `None` if it is the same.
    fn of(path: &Path, (target, left): (&Version, &Version)) -> Option<Due> {
        let now = Now::at(path);
        let version = now.version();
        if version.as_ref().is_some_and(|now| now.is_like(target)) {
            return None;
        }
        let standing = match (&now, target) {
            (Now::Other(why), _) => Standing::Lost(why.clone()),
            (
                _,
                Version::File {
                    look: Look::Outside(_), ..
                },
            ) => Standing::Lost("it had more than 10 MiB, so no copy was kept".to_owned()),
            (_, Version::File { bytes: None, .. }) => Standing::Lost(format!(
                "its copy was dropped: at most {} MiB are kept",
                MOST / 1024 / 1024
            )),
            _ if version.as_ref().is_some_and(|now| now.is_like(left)) => Standing::AsLeft,
            _ => Standing::ChangedSince,
        };
        Some(Due {
            path: path.to_owned(),
            target: target.clone(),
            change: change(version.as_ref().unwrap_or(left), target),
            now,
            standing,
        })
    }

    fn difference(&self, paths: &Paths, secrets: &Secrets) -> String {
        let (Some(now), Some(target)) = (self.now.version(), self.target.bytes()) else {
            return String::new();
        };
        let now = now.bytes().unwrap_or_default();
        if [now, target].iter().any(|bytes| text::binary_kind(bytes).is_some()) {
            return diff::remark("It is not text");
        }
        let (now, target) = (text::decode(now).text, text::decode(target).text);
        let told = diff::unified(&paths.show(&self.path), &now, &target, secrets);
        secrets.hide(&told).into_owned()
    }

    /// Restores the file.
    fn put_back(&self, copies: &Copies) -> Result<(), String> {
        let before = self.now.version().ok_or("it cannot be read")?;
        match (&self.now, &self.target) {
            (Now::File(whole), Version::Absent) => {
                files::remove(&self.path, &whole.standing)?;
                let entry = FileChange {
                    path: self.path.clone(),
                    before,
                    after: Version::Absent,
                    made: None,
                };
                copies.records().push(entry, copies.most);
                Ok(())
            }
            (Now::File(whole), Version::File { bytes: Some(bytes), .. }) => {
                copies.put_noted(&self.path, bytes, before, |bytes| {
                    files::put(&self.path, bytes, Some(&whole.standing)).map(drop)
                })
            }
            (
                Now::Nothing,
                Version::File {
                    bytes: Some(bytes),
                    mode,
                    ..
                },
            ) => copies.put_noted(&self.path, bytes, before, |bytes| {
                files::create(&self.path, bytes, *mode).map(drop)
            }),
            _ => Err("it cannot be put back".to_owned()),
        }
    }
}

/// The lines added and removed; `None` if they were not compared.
fn lines(first: &Version, last: &Version) -> Option<(u64, u64)> {
    let (old, new) = (first.bytes()?, last.bytes()?);
    let is_compared = |bytes: &[u8]| bytes.len() <= COUNTED && text::binary_kind(bytes).is_none();
    if !is_compared(old) || !is_compared(new) {
        return None;
    }
    Some(diff::count(&text::decode(old).text, &text::decode(new).text))
}

#[cfg(test)]
mod tests;
