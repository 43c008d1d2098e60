//! The database of Zed's agent (`~/.local/share/zed/threads/threads.db`): one thread per row, as JSON compressed with
//! zstd.
//!
//! Source: `crates/agent/src/db.rs` of zed-industries/zed, threads of version 0.3.0 and older ones, 2026.

use crate::tables::{self, Conversation, Kind, MAX_BYTES, bytes, column, number, some_text, text};
use crate::{Session, StoreError};
use rusqlite::{Connection, OptionalExtension};
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

pub(crate) const KIND: Kind = Kind {
    agent: "zed",
    tables: &[("threads", &["id", "summary", "updated_at", "data_type", "data"])],
    sessions,
    conversation,
};

fn sessions(connection: &Connection) -> Result<Vec<Session>, StoreError> {
    let parent = column(connection, "threads", "parent_id");
    let folders = column(connection, "threads", "folder_paths");
    let query = format!(
        "SELECT id, summary, {folders}, 1000 * CAST(strftime('%s', updated_at) AS INTEGER) FROM threads WHERE {parent} IS NULL"
    );
    tables::sessions(connection, &query, |row| {
        Some(Session {
            id: some_text(row, 0)?,
            title: some_text(row, 1),
            // Several directories are on separate lines.
            project: text(row, 2).lines().next().map(str::to_owned),
            modified: number(row, 3),
            ..Session::default()
        })
    })
}

fn conversation(connection: &Connection, id: &str) -> Conversation {
    let query = "SELECT data_type, data FROM threads WHERE id = ?1";
    let found = connection.query_row(query, [id], |row| {
        Ok((text(row, 0).into_owned(), bytes(row, 1).to_vec()))
    });
    let Some((kind, data)) = found.optional()? else {
        return Ok(None);
    };
    match kind.as_str() {
        "zstd" => unpacked(&data).map(Some),
        _ => Ok(Some(data)),
    }
}

fn unpacked(data: &[u8]) -> Result<Vec<u8>, StoreError> {
    let damaged = |error: &dyn std::fmt::Display| StoreError::Damaged(format!("a thread cannot be unpacked: {error}"));
    let decoder = StreamingDecoder::new(data).map_err(|error| damaged(&error))?;
    let mut bytes = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    decoder
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| damaged(&error))?;
    match bytes.len() > MAX_BYTES {
        true => Err(StoreError::TooLarge),
        false => Ok(bytes),
    }
}
