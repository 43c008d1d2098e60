//! The database of Goose (`~/.local/share/goose/sessions/sessions.db`), converted to the output of `goose session
//! export --format json`.
//!
//! Source: `crates/goose/src/session/session_manager.rs` of block/goose, schema versions 1 to 5 and later ones, 2025
//! and 2026.

use crate::json::Json;
use crate::tables::{self, Conversation, Kind, column, each, number, some_text, text};
use crate::{Session, StoreError};
use rusqlite::{Connection, OptionalExtension};

pub(crate) const KIND: Kind = Kind {
    agent: "goose",
    tables: &[
        ("sessions", &["id", "description", "working_dir", "updated_at"]),
        (
            "messages",
            &["id", "session_id", "role", "content_json", "created_timestamp"],
        ),
    ],
    sessions,
    conversation,
};

fn sessions(connection: &Connection) -> Result<Vec<Session>, StoreError> {
    let name = column(connection, "sessions", "name");
    let kind = column(connection, "sessions", "session_type");
    let tokens = column(connection, "sessions", "total_tokens");
    let query = format!(
        "SELECT id, coalesce(nullif({name}, ''), description), working_dir, 1000 * CAST(strftime('%s', updated_at) AS INTEGER), {tokens} \
         FROM sessions WHERE coalesce({kind}, 'user') NOT IN ('sub_agent', 'hidden') \
         AND EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)"
    );
    tables::sessions(connection, &query, |row| {
        Some(Session {
            id: some_text(row, 0)?,
            title: some_text(row, 1),
            project: some_text(row, 2),
            modified: number(row, 3),
            tokens: number(row, 4).filter(|tokens| *tokens > 0),
            cost: None,
        })
    })
}

fn conversation(connection: &Connection, id: &str) -> Conversation {
    let mut json = Json::new("{\"id\":");
    let query = "SELECT working_dir FROM sessions WHERE id = ?1";
    let found = connection.query_row(query, [id], |row| {
        json.string(id).push(",\"working_dir\":").string(&text(row, 0));
        json.push(",\"conversation\":[");
        Ok(())
    });
    if found.optional()?.is_none() {
        return Ok(None);
    }
    let metadata = column(connection, "messages", "metadata_json");
    // Goose orders rows by their creation time in seconds; rows of the same second are in the order of their ids.
    let query = format!(
        "SELECT role, created_timestamp, {metadata}, content_json FROM messages WHERE session_id = ?1 ORDER BY created_timestamp, id"
    );
    each(connection, &query, [id], |row| {
        json.comma().push("{\"role\":").string(&text(row, 0));
        json.push(",\"created\":")
            .push(&number(row, 1).unwrap_or(0).to_string());
        json.push(",\"metadata\":").cell(&text(row, 2), "null");
        json.push(",\"content\":")
            .cell(&text(row, 3), "[{\"type\":\"unreadable\"}]");
        json.push("}").bounded()
    })?;
    json.push("]}");
    Ok(Some(json.into_bytes()))
}
