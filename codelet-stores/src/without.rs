//! Replaces the database in a build without SQLite: it cannot be opened.

use crate::{Session, StoreError};
use std::convert::Infallible;
use std::path::Path;

/// A database with sessions, which cannot be opened.
pub struct Store(Infallible);

impl Store {
    /// Opens nothing.
    ///
    /// # Errors
    /// Always; the error says how to export instead.
    pub fn open(_: &Path) -> Result<Store, StoreError> {
        Err(StoreError::NotBuilt)
    }

    /// The name of the format of its conversations.
    pub fn agent(&self) -> &'static str {
        match self.0 {}
    }

    /// Returns the user's sessions.
    ///
    /// # Errors
    /// None, as there is no database.
    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        match self.0 {}
    }

    /// Returns the conversation of a session.
    ///
    /// # Errors
    /// None, as there is no database.
    pub fn conversation(&self, _: &str) -> Result<Vec<u8>, StoreError> {
        match self.0 {}
    }
}
