//! Reads a database: whether tables and columns exist, and its cells as text.

use crate::{Session, StoreError};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};
use std::borrow::Cow;

/// The maximum size of one conversation, in bytes.
pub const MAX_BYTES: usize = 1 << 30;
/// The maximum number of sessions in one database.
const MAX_SESSIONS: usize = 100_000;

/// An agent's tables, and how they are read.
pub struct Kind {
    /// The name of the format that its conversations are returned in.
    pub agent: &'static str,
    /// The tables and columns that identify it.
    pub tables: &'static [(&'static str, &'static [&'static str])],
    /// Lists its sessions, in any order.
    pub sessions: fn(&Connection) -> Result<Vec<Session>, StoreError>,
    /// Reads one conversation; `None` if there is none with this id.
    pub conversation: fn(&Connection, &str) -> Conversation,
}

/// The bytes of a conversation, if it exists.
pub type Conversation = Result<Option<Vec<u8>>, StoreError>;

/// Returns whether there is a table with these columns. Views and virtual tables do not count.
pub(crate) fn has(connection: &Connection, table: &str, columns: &[&str]) -> bool {
    let is_table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name = ?1";
    connection.query_row(is_table, [table], |_| Ok(())).is_ok()
        && columns.iter().all(|column| has_column(connection, table, column))
}

fn has_column(connection: &Connection, table: &str, column: &str) -> bool {
    let is_there = "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2";
    connection.query_row(is_there, [table, column], |_| Ok(())).is_ok()
}

/// Returns the column's name, or `NULL` if this version of a database has no such column.
pub(crate) fn column<'a>(connection: &Connection, table: &str, column: &'a str) -> &'a str {
    if has_column(connection, table, column) {
        column
    } else {
        "NULL"
    }
}

/// Reads the list of tables, so that a damaged file is reported.
///
/// # Errors
/// If they cannot be listed.
pub(crate) fn check(connection: &Connection) -> Result<(), StoreError> {
    let mut statement = connection.prepare("SELECT name FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Lists sessions, reading each row with `read`.
pub(crate) fn sessions(
    connection: &Connection,
    query: &str,
    mut read: impl FnMut(&Row<'_>) -> Option<Session>,
) -> Result<Vec<Session>, StoreError> {
    let mut sessions = Vec::new();
    each(connection, query, [], |row| {
        sessions.extend(read(row));
        match sessions.len() > MAX_SESSIONS {
            true => Err(StoreError::TooLarge),
            false => Ok(()),
        }
    })?;
    Ok(sessions)
}

/// Passes each row of a query to `take`.
pub(crate) fn each(
    connection: &Connection,
    query: &str,
    parameters: impl Params,
    mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

/// Returns the bytes of a text or blob cell; empty for any other.
pub(crate) fn bytes<'a>(row: &'a Row<'_>, at: usize) -> &'a [u8] {
    match row.get_ref(at) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes,
        _ => &[],
    }
}

/// Returns a cell as text; invalid UTF-8 is replaced.
pub(crate) fn text<'a>(row: &'a Row<'_>, at: usize) -> Cow<'a, str> {
    String::from_utf8_lossy(bytes(row, at))
}

/// Returns a cell as text, unless it is empty.
pub(crate) fn some_text(row: &Row<'_>, at: usize) -> Option<String> {
    let text = text(row, at);
    (!text.trim().is_empty()).then(|| text.into_owned())
}

/// Returns a cell as a non-negative number.
pub(crate) fn number(row: &Row<'_>, at: usize) -> Option<u64> {
    match row.get_ref(at) {
        Ok(ValueRef::Integer(number)) => u64::try_from(number).ok(),
        _ => None,
    }
}

/// Returns a cell as a cost.
pub(crate) fn cost(row: &Row<'_>, at: usize) -> Option<f64> {
    match row.get_ref(at) {
        Ok(ValueRef::Real(cost)) if cost.is_finite() && cost > 0.0 => Some(cost),
        _ => None,
    }
}
