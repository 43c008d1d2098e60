//! Sessions that other agents keep in databases, opened by `codelet-stores`; without the feature `stores` that says how to export them.

pub use codelet_stores::{MAGIC, Session, Store, StoreError};

use std::path::Path;

/// Opens a store to be read.
///
/// # Errors
/// When it cannot be read, or none is known that has such tables.
pub fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path)
}

/// Why a store cannot be read, behind its name.
pub fn words(error: &StoreError) -> String {
    match error {
        StoreError::Io(error) => crate::exit::words(error),
        error => error.to_string(),
    }
}
