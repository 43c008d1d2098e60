//! Opens a database that another program may be writing to, without leaving any files next to it.
//!
//! SQLite itself would create files next to a database in WAL mode, and recover from a crash, even for a reader. So the
//! files that exist decide: if a writer's files exist, its locks are shared and its index is only read; if there can be
//! no writer, the file is opened as immutable, and a change is detected; after a crash, recovery runs on a copy.

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

/// The timeout for a writer's lock.
const PATIENCE: Duration = Duration::from_secs(3);
/// The number of attempts to open a database that keeps changing, and the pause between them.
const TRIES: usize = 20;
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// The time difference that file systems can distinguish.
const TICK: Duration = Duration::from_millis(40);
/// The maximum size of a copy, in bytes.
const MAX_COPY: u64 = 4 << 30;
/// The number of SQLite virtual machine steps between two checks, and the maximum number of checks: minutes of work.
const STEPS: i32 = 1_000_000;
const MOST: u32 = 5_000;

pub(crate) struct Opened {
    connection: Connection,
    guard: Guard,
}

/// The mechanism that ensures consistent reads.
enum Guard {
    /// The locks that writers respect.
    Locks,
    /// None: the file must not have changed.
    Unchanged(PathBuf, Files),
    /// It is a private copy.
    Copy { _folder: TempDir },
}

/// The state of the database, its WAL, the index of that, and the rollback journal.
#[derive(Clone, Copy, PartialEq)]
struct Files([Option<(u64, Option<SystemTime>)>; 4]);

const ENDS: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Indices in [`ENDS`].
const LOG: usize = 1;
const INDEX: usize = 2;

impl Files {
    fn of(path: &Path) -> Result<Self, StoreError> {
        let mut files = [None; 4];
        for (file, end) in files.iter_mut().zip(ENDS) {
            *file = match fs::symlink_metadata(companion(path, end)) {
                Ok(data) if data.is_file() => Some((data.len(), data.modified().ok())),
                // SQLite would follow a link, and whoever created it could point it anywhere.
                Ok(_) => {
                    return Err(io::Error::other(format!("the {end} file beside it is not a regular file")).into());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error.into()),
            };
        }
        Ok(Files(files))
    }

    /// Returns whether one of them was written so recently that the file system may give the next write the same time.
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

    /// Checks that everything read so far is consistent.
    ///
    /// # Errors
    /// If the file was written to in the meantime.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match &self.guard {
            Guard::Unchanged(path, before) if Files::of(path)? != *before => Err(StoreError::Busy),
            _ => Ok(()),
        }
    }
}

/// Opens a database for reading.
///
/// # Errors
/// If it cannot be read, is not a database, or changes all the time.
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

/// Opens it in the way that the files next to it require; `None` if these changed in the meantime.
fn attempt(path: &Path) -> Result<Option<Opened>, StoreError> {
    let head = head(path)?;
    let before = Files::of(path)?;
    let has = |end: usize| before.0[end].is_some();
    let has_log = before.0[LOG].is_some_and(|(size, _)| size > 0);
    // SQLite applies a WAL whatever the database header says, and creates an index for it.
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
        // Recovery after a crash requires writing.
        Err(StoreError::Damaged(_)) => match Files::of(path)? == before {
            true => copied(path, &before),
            false => Ok(None),
        },
        Err(error) => Err(error),
    }
}

/// Returns the header; every database is at least this long.
fn head(path: &Path) -> Result<[u8; 100], StoreError> {
    let mut head = [0; 100];
    // Opening a device may have effects, and opening a pipe would block.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("expected a file").into());
    }
    match File::open(path)?.read_exact(&mut head) {
        Ok(()) if head.starts_with(MAGIC) => Ok(head),
        Ok(()) => Err(StoreError::Damaged(
            "it does not start like an SQLite database".to_owned(),
        )),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(StoreError::Damaged("it is cut off in its header".to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the path of a file that SQLite keeps next to a database.
fn companion(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}

fn with(path: &Path, parameters: &str, guard: Guard) -> Result<Opened, StoreError> {
    /// Characters with a meaning in a URI, and control characters.
    const MEANT: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');
    let place = percent_encode(path.as_os_str().as_bytes(), MEANT);
    let address = format!("file:{place}?{parameters}");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    hardened(Connection::open_with_flags(address, flags)?, guard)
}

/// Returns a recovered copy in a temporary directory; `None` if the files changed in the meantime.
fn copied(path: &Path, before: &Files) -> Result<Option<Opened>, StoreError> {
    if before.are_new() {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("codelet-store-").tempdir()?;
    let copy = folder.path().join("store.db");
    let mut left = MAX_COPY;
    for (at, end) in ENDS.into_iter().enumerate() {
        // The index is rebuilt.
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

/// Disables everything that the file could trigger, and reads it once.
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
