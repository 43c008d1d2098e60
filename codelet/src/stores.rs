//! Session databases of other agents, opened by `codelet-stores`.

pub use codelet_stores::{MAGIC, Session, Store, StoreError};

use std::path::Path;

/// Opens a store for reading.
///
/// # Errors
/// If it cannot be read, or its tables belong to no known agent.
pub fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path)
}

/// Explains why a store cannot be read, as a fragment after its name.
pub fn words(error: &StoreError) -> String {
    match error {
        StoreError::Io(error) => crate::exit::words(error),
        error => error.to_string(),
    }
}
