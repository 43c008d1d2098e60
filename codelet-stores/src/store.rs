//! A database with sessions, opened to be read; whose it is, its tables tell.

use crate::open::{self, Opened};
use crate::{Session, StoreError};
use crate::{crush, goose, kiro, opencode, tables, zed};
use rusqlite::Connection;
use rusqlite::ffi::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// The most bytes of one conversation.
pub const MAX_BYTES: usize = 1 << 30;
/// The most sessions of one store.
pub const MAX_SESSIONS: usize = 100_000;

/// An agent's tables, and how they are read.
pub struct Kind {
    /// The name of the form that its conversations are handed over in.
    pub agent: &'static str,
    /// The tables and columns that tell it from others.
    pub tables: &'static [(&'static str, &'static [&'static str])],
    /// Lists its sessions, in any order.
    pub sessions: fn(&Connection) -> Result<Vec<Session>, StoreError>,
    /// Reads one conversation; `None` where there is none with this id.
    pub conversation: fn(&Connection, &str) -> Conversation,
}

/// The bytes of a conversation, where there is one.
pub type Conversation = Result<Option<Vec<u8>>, StoreError>;

/// The stores that are understood. To add one: a module with its `KIND`, and a row here.
const KINDS: &[&Kind] = &[
    &opencode::KIND,
    &goose::KIND,
    &crush::KIND,
    &zed::KIND,
    &kiro::KIND,
    &kiro::OLDER,
];

/// A database with sessions, opened to be read.
pub struct Store {
    path: PathBuf,
    opened: Opened,
    kind: &'static Kind,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
            Some(ErrorCode::OperationInterrupted) => StoreError::TooSlow,
            Some(ErrorCode::TooBig | ErrorCode::OutOfMemory) => StoreError::TooLarge,
            Some(ErrorCode::PermissionDenied) => StoreError::Io(io::ErrorKind::PermissionDenied.into()),
            _ => StoreError::Damaged(error.to_string().replace('\n', " ")),
        }
    }
}

impl Store {
    /// Opens the store in this file, and finds out whose it is.
    ///
    /// # Errors
    /// When it cannot be read, or is no store that is known.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let path = path.to_owned();
        let opened = open::open(&path)?;
        let (opened, kind) = consistent(&path, opened, kind_of)?;
        Ok(Store { path, opened, kind })
    }

    /// The name of the form that its conversations have.
    pub fn agent(&self) -> &'static str {
        self.kind.agent
    }

    /// The sessions that a user had, the newest first, without those that an agent had with itself.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.read(self.kind.sessions)?;
        sessions.sort_by(|one, other| {
            let newest = other.modified.cmp(&one.modified);
            newest.then_with(|| one.id.cmp(&other.id))
        });
        Ok(sessions)
    }

    /// The conversation of a session, as a file of the form [`agent`](Store::agent).
    ///
    /// # Errors
    /// When there is none with this id, or it cannot be read.
    pub fn conversation(&self, id: &str) -> Result<Vec<u8>, StoreError> {
        let bytes = self.read(|connection| (self.kind.conversation)(connection, id))?;
        bytes.ok_or_else(|| StoreError::NoSession(id.to_owned()))
    }

    /// Reads something, once more from the beginning where it was written to meanwhile.
    fn read<T>(&self, take: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let taken = take(self.opened.connection());
        match self.opened.check() {
            Ok(()) => taken,
            Err(StoreError::Busy) => consistent(&self.path, open::open(&self.path)?, take).map(|(_, taken)| taken),
            Err(error) => Err(error),
        }
    }
}

/// How often something is read that changes while it is.
const TRIES: usize = 5;

/// Something of a database that was not written to while it was read, and the database as it was then.
fn consistent<T>(
    path: &Path,
    mut opened: Opened,
    take: impl Fn(&Connection) -> Result<T, StoreError>,
) -> Result<(Opened, T), StoreError> {
    for _ in 0..TRIES {
        let taken = take(opened.connection());
        match opened.check() {
            Ok(()) => return taken.map(|taken| (opened, taken)),
            Err(StoreError::Busy) => std::thread::sleep(open::PAUSE),
            Err(error) => return Err(error),
        }
        opened = open::open(path)?;
    }
    Err(StoreError::Busy)
}

/// Whose tables a database has.
fn kind_of(connection: &Connection) -> Result<&'static Kind, StoreError> {
    for kind in KINDS {
        let mut tables = kind.tables.iter();
        if tables.all(|(table, columns)| tables::has(connection, table, columns)) {
            return Ok(kind);
        }
    }
    // Of a damaged file no table can be seen, and that is worth more words.
    tables::check(connection)?;
    Err(StoreError::Unknown)
}
