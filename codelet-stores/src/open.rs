//! Opening a database that somebody else may be writing to, without leaving anything behind beside it.
//!
//! SQLite itself would create files beside a database in WAL mode, and put what a crash left in order, even for a reader.
//! So what lies there decides: with the files of a writer its locks are shared and its index is only read; where there
//! can be no writer, the file is read as one that does not change, and a change is noticed; what a crash left is put in
//! order in a copy.

use crate::{MAGIC, StoreError};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// How long a writer is waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a database is opened that changes meanwhile, and how long is waited before it is tried again.
const TRIES: usize = 20;
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// File systems tell times apart that are so far from one another.
const TICK: Duration = Duration::from_millis(40);
/// The most bytes of a copy.
const MAX_COPY: u64 = 4 << 30;
/// Steps of SQLite's machine between two looks at how many there were, and how often that may be: minutes of work.
const STEPS: i32 = 1_000_000;
const MOST: u32 = 5_000;

/// A database that is open.
pub(crate) struct Opened {
    connection: Connection,
    guard: Guard,
}

/// What makes that all that is read belongs together.
enum Guard {
    /// The locks that its writers heed.
    Locks,
    /// Nothing: it must not have changed.
    Unchanged(PathBuf, Files),
    /// It is a copy that nobody else has.
    Copy { _folder: TempDir },
}

/// The database, its log, the index of that, and the log of another mode, as they lie there.
#[derive(Clone, Copy, PartialEq)]
struct Files([Option<(u64, Option<SystemTime>)>; 4]);

const ENDS: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Places in [`ENDS`].
const LOG: usize = 1;
const INDEX: usize = 2;

impl Files {
    fn of(path: &Path) -> Result<Self, StoreError> {
        let mut files = [None; 4];
        for (file, end) in files.iter_mut().zip(ENDS) {
            *file = match fs::symlink_metadata(companion(path, end)) {
                Ok(data) if data.is_file() => Some((data.len(), data.modified().ok())),
                // SQLite would follow it, and whoever put it there may mean anything.
                Ok(_) => return Err(io::Error::other(format!("the {end} file beside it is no file")).into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error.into()),
            };
        }
        Ok(Files(files))
    }

    /// Whether one of them was written to so short a time ago that it may be written to again at what is the same time to the
    /// file system.
    fn are_new(&self) -> bool {
        let now = SystemTime::now();
        let is_new = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age < TICK);
        self.0.iter().flatten().filter_map(|(_, time)| *time).any(is_new)
    }
}

impl Opened {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Makes sure that what was read until now belongs together.
    ///
    /// # Errors
    /// When the file was written to meanwhile.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match &self.guard {
            Guard::Unchanged(path, before) if Files::of(path)? != *before => Err(StoreError::Busy),
            _ => Ok(()),
        }
    }
}

/// Opens a database to be read.
///
/// # Errors
/// When it cannot be read, is none, or changes all the time.
pub(crate) fn open(path: &Path) -> Result<Opened, StoreError> {
    let path = path.canonicalize()?;
    for _ in 0..TRIES {
        if let Some(opened) = attempt(&path)? {
            return Ok(opened);
        }
        std::thread::sleep(PAUSE);
    }
    Err(StoreError::Busy)
}

/// Opens it as what lies beside it asks for; `None` where that changed meanwhile.
fn attempt(path: &Path) -> Result<Option<Opened>, StoreError> {
    let head = head(path)?;
    let before = Files::of(path)?;
    let has = |end: usize| before.0[end].is_some();
    let has_log = before.0[LOG].is_some_and(|(size, _)| size > 0);
    // SQLite takes a log for what it says, whatever the head says, and makes an index for it.
    let is_wal = head[18] == 2 || head[19] == 2 || has_log;
    let opened = match (is_wal, has(INDEX), has(LOG)) {
        (false, ..) => with(path, "mode=ro", Guard::Locks),
        (true, true, true) => with(path, "mode=ro&readonly_shm=1", Guard::Locks),
        (true, false, _) if !has_log => {
            if before.are_new() {
                return Ok(None);
            }
            let guard = Guard::Unchanged(path.to_owned(), before);
            with(path, "mode=ro&immutable=1", guard)
        }
        (true, ..) => return copied(path, &before),
    };
    match opened {
        Ok(opened) => Ok(opened.check().is_ok().then_some(opened)),
        // What a crash left can only be put in order by writing.
        Err(StoreError::Damaged(_)) => match Files::of(path)? == before {
            true => copied(path, &before),
            false => Ok(None),
        },
        Err(error) => Err(error),
    }
}

/// The first bytes, of which all files have so many.
fn head(path: &Path) -> Result<[u8; 100], StoreError> {
    let mut head = [0; 100];
    // A device may do something when it is opened, and a pipe would be waited for.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("expected a file").into());
    }
    match File::open(path)?.read_exact(&mut head) {
        Ok(()) if head.starts_with(MAGIC) => Ok(head),
        Ok(()) => Err(StoreError::Damaged("it begins with other bytes".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(StoreError::Damaged("it ends within its head".to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The path of what SQLite keeps beside a database.
fn companion(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}

fn with(path: &Path, parameters: &str, guard: Guard) -> Result<Opened, StoreError> {
    /// What has a meaning in an address, beside what cannot be seen.
    const MEANT: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');
    let place = percent_encode(path.as_os_str().as_bytes(), MEANT);
    let address = format!("file:{place}?{parameters}");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    hardened(Connection::open_with_flags(address, flags)?, guard)
}

/// A copy in a folder of its own, put in order; `None` where the files changed meanwhile.
fn copied(path: &Path, before: &Files) -> Result<Option<Opened>, StoreError> {
    if before.are_new() {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("codelet-store-").tempdir()?;
    let copy = folder.path().join("store.db");
    let mut left = MAX_COPY;
    for (at, end) in ENDS.into_iter().enumerate() {
        // The index is made anew.
        if at == INDEX || before.0[at].is_none() {
            continue;
        }
        let mut from = match File::open(companion(path, end)) {
            Ok(file) => file.take(left + 1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut to = File::create_new(companion(&copy, end))?;
        let size = io::copy(&mut from, &mut to)?;
        left = left.checked_sub(size).ok_or(StoreError::TooLarge)?;
    }
    if Files::of(path)? != *before {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&copy, flags)?;
    hardened(connection, Guard::Copy { _folder: folder }).map(Some)
}

/// Takes every power from what stands in the file, and looks at it once.
fn hardened(mut connection: Connection, guard: Guard) -> Result<Opened, StoreError> {
    for (config, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(config, is_on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, 512 << 20),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_COLUMN, 200),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.busy_timeout(PATIENCE)?;
    let mut rounds = 0;
    let is_enough = move || {
        rounds += 1;
        rounds > MOST
    };
    connection.progress_handler(STEPS, Some(is_enough))?;
    for (pragma, value) in [("mmap_size", 0), ("cell_size_check", 1), ("temp_store", 2)] {
        connection.pragma_update(None, pragma, value)?;
    }
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    connection.pragma_update(None, "query_only", 1)?;
    Ok(Opened { connection, guard })
}
