//! Sessions that other agents keep in SQLite databases: lists them, and hands each over as the bytes of a form that
//! `codelet-transcript` reads.
//!
//! A store is opened to be read and stays as it is, also while its agent writes to it (`open`). Whoever made the file is not
//! trusted: nothing in it runs, and sizes and time are bounded. Which tables mean what: one module per agent, a row of `KINDS`
//! each.
//!
//! ```no_run
//! use codelet_stores::Store;
//! use std::path::Path;
//!
//! let store = Store::open(Path::new("opencode.db"))?;
//! for session in store.sessions()? {
//!     let export = store.conversation(&session.id)?;
//!     assert!(export.starts_with(b"{"));
//! }
//! # Ok::<(), codelet_stores::StoreError>(())
//! ```

mod crush;
mod goose;
mod json;
mod kiro;
mod open;
mod opencode;
mod tables;
mod zed;

use open::Opened;
use rusqlite::Connection;
use rusqlite::ffi::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// The most bytes of one conversation.
const MAX_BYTES: usize = 1 << 30;
/// The most sessions of one store.
const MAX_SESSIONS: usize = 100_000;

/// The first bytes of every SQLite database.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// A session in a store.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Session {
    /// The id by which it is asked for.
    pub id: String,
    /// What its agent calls it.
    pub title: Option<String>,
    /// The folder that was worked in.
    pub project: Option<String>,
    /// The time of the last change, in milliseconds since 1970-01-01 UTC.
    pub modified: Option<u64>,
    /// The tokens of the newest request and its reply, where the agent notes them.
    pub tokens: Option<u64>,
    /// The costs that the agent notes, in US dollars.
    pub cost: Option<f64>,
}

/// An agent's tables, and how they are read.
struct Kind {
    /// The name of the form that its conversations are handed over in.
    agent: &'static str,
    /// The tables and columns that tell it from others.
    tables: &'static [(&'static str, &'static [&'static str])],
    /// Lists its sessions, in any order.
    sessions: fn(&Connection) -> Result<Vec<Session>, StoreError>,
    /// Reads one conversation; `None` where there is none with this id.
    conversation: fn(&Connection, &str) -> Conversation,
}

/// The bytes of a conversation, where there is one.
type Conversation = Result<Option<Vec<u8>>, StoreError>;

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

/// Why a store cannot be read. The words follow a file's name.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nothing shows whose database it is.
    #[error("is an SQLite database, but of no agent whose tables are known (of Cursor the transcripts are read)")]
    Unknown,
    /// Its writer holds it, or wrote to it meanwhile.
    #[error("is being written to by another program; try again")]
    Busy,
    /// It breaks the rules of its format.
    #[error("is a damaged SQLite database ({0})")]
    Damaged(String),
    /// A conversation, or a copy of the whole, is larger than is read.
    #[error("holds more than can be read at once")]
    TooLarge,
    /// A query took longer than any honest store needs.
    #[error("takes too long to search; it may be damaged")]
    TooSlow,
    /// It has no session with this id.
    #[error("holds no session with the id {0:?}")]
    NoSession(String),
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
