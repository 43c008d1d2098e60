//! The store of a program that was built without SQLite: there is none.

use crate::{Session, StoreError};
use std::convert::Infallible;
use std::path::Path;

/// A database with sessions, which nothing can open.
pub struct Store(Infallible);

impl Store {
    /// Opens nothing.
    ///
    /// # Errors
    /// Always: how to export instead.
    pub fn open(_: &Path) -> Result<Store, StoreError> {
        Err(StoreError::NotBuilt)
    }

    /// The name of the form that its conversations have.
    pub fn agent(&self) -> &'static str {
        match self.0 {}
    }

    /// The sessions that a user had.
    ///
    /// # Errors
    /// None, as there is no store.
    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        match self.0 {}
    }

    /// The conversation of a session.
    ///
    /// # Errors
    /// None, as there is no store.
    pub fn conversation(&self, _: &str) -> Result<Vec<u8>, StoreError> {
        match self.0 {}
    }
}
