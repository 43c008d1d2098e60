//! A database with sessions, open for reading; its tables identify the agent.

use crate::open::{self, Opened};
use crate::tables::{self, Kind};
use crate::{Session, StoreError};
use crate::{crush, goose, kiro, opencode, zed};
use rusqlite::Connection;
use rusqlite::ffi::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// The supported databases. To add one: a module with its `KIND`, and a row here.
const KINDS: &[&Kind] = &[
    &opencode::KIND,
    &goose::KIND,
    &crush::KIND,
    &zed::KIND,
    &kiro::KIND,
    &kiro::OLDER,
];

/// A database with sessions, open for reading.
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
    /// Opens the database in this file, and identifies its agent.
    ///
    /// # Errors
    /// If it cannot be read, or is not a known agent's.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let path = path.to_owned();
        let opened = open::open(&path)?;
        let (opened, kind) = consistent(&path, opened, kind_of)?;
        Ok(Store { path, opened, kind })
    }

    /// The name of the format of its conversations.
    pub fn agent(&self) -> &'static str {
        self.kind.agent
    }

    /// Returns the user's sessions, newest first, without those of subagents.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.read(self.kind.sessions)?;
        sessions.sort_by(|one, other| {
            let newest = other.modified.cmp(&one.modified);
            newest.then_with(|| one.id.cmp(&other.id))
        });
        Ok(sessions)
    }

    /// Returns the conversation of a session, as a file of the format [`agent`](Store::agent).
    ///
    /// # Errors
    /// If there is none with this id, or it cannot be read.
    pub fn conversation(&self, id: &str) -> Result<Vec<u8>, StoreError> {
        let bytes = self.read(|connection| (self.kind.conversation)(connection, id))?;
        bytes.ok_or_else(|| StoreError::NoSession(id.to_owned()))
    }

    /// Reads something, and retries from the beginning if the database was written to in the meantime.
    fn read<T>(&self, take: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let taken = take(self.opened.connection());
        match self.opened.check() {
            Ok(()) => taken,
            Err(StoreError::Busy) => consistent(&self.path, open::open(&self.path)?, take).map(|(_, taken)| taken),
            Err(error) => Err(error),
        }
    }
}

/// The maximum number of attempts to read something that changes while it is read.
const TRIES: usize = 5;

/// Reads something from a database that does not change meanwhile; returns it and the opened database.
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

/// Identifies the agent of a database by its tables.
fn kind_of(connection: &Connection) -> Result<&'static Kind, StoreError> {
    for kind in KINDS {
        let mut tables = kind.tables.iter();
        if tables.all(|(table, columns)| tables::has(connection, table, columns)) {
            return Ok(kind);
        }
    }
    // In a damaged file no tables are visible; that deserves a more precise error.
    tables::check(connection)?;
    Err(StoreError::Unknown)
}
