//! What stands in for the reader of databases in a program that was built without it: says how to export.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::path::Path;

/// The first bytes of every SQLite database.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// No store can be opened.
pub struct Store(Infallible);

/// A session in a store, of which there is none.
#[derive(Clone, Default)]
pub struct Session {
    pub id: String,
    pub title: Option<String>,
    pub project: Option<String>,
    pub modified: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
}

/// Why nothing is read.
#[derive(Debug)]
pub enum StoreError {
    Unknown,
    #[allow(dead_code)]
    Io(io::Error),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "is an SQLite database, which this build does not read: export the conversation (OpenCode: opencode export ID; \
             Goose: goose session export --session-id ID --format json)",
        )
    }
}

impl Store {
    pub fn open(_: &Path) -> Result<Store, StoreError> {
        Err(StoreError::Unknown)
    }

    pub fn agent(&self) -> &'static str {
        match self.0 {}
    }

    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        match self.0 {}
    }

    pub fn conversation(&self, _: &str) -> Result<Vec<u8>, StoreError> {
        match self.0 {}
    }
}
