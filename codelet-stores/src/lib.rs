//! Sessions that other agents keep in SQLite databases: lists them, and returns each as the bytes of a format that
//! `codelet-transcript` reads.
//!
//! A database is opened for reading and stays unchanged, even while its agent writes to it (`open`). The file is not
//! trusted: nothing in it is executed, and sizes and time are bounded. There is one module per agent for its tables,
//! with a row in `KINDS` (`store`).
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
mod store;
mod tables;
mod zed;

pub use store::Store;

use std::io;

/// The first bytes of every SQLite database.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// A session in a database.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Session {
    /// The id by which it is requested.
    pub id: String,
    /// Its title in its agent.
    pub title: Option<String>,
    /// Its working directory.
    pub project: Option<String>,
    /// The time of the last change, in milliseconds since 1970-01-01 UTC.
    pub modified: Option<u64>,
    /// The tokens of the newest request and its reply, if the agent records them.
    pub tokens: Option<u64>,
    /// The cost that the agent records, in US dollars.
    pub cost: Option<f64>,
}

/// The reason why a database cannot be read. The text follows a file name.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nothing identifies the agent.
    #[error("is an SQLite database of an unknown agent (for Cursor, use its transcripts)")]
    Unknown,
    /// Its writer has locked it, or wrote to it while it was read.
    #[error("is being written to by another program; try again")]
    Busy,
    /// It breaks the rules of its format.
    #[error("is a damaged SQLite database ({0})")]
    Damaged(String),
    /// A conversation, or a copy of the whole, exceeds the size limit.
    #[error("contains more than can be read at once")]
    TooLarge,
    /// A query took longer than any legitimate database needs.
    #[error("takes too long to search; it may be damaged")]
    TooSlow,
    /// It has no session with this id.
    #[error("contains no session with the id {0:?}")]
    NoSession(String),
}
