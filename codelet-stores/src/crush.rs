//! The database of Crush (`.crush/crush.db` in a project): sessions, and messages with their parts as JSON.
//!
//! Source: `internal/db/migrations` and `internal/message` of charmbracelet/crush at 37f36e9, August 2026.

use crate::json::Json;
use crate::tables::{self, Conversation, Kind, column, each, number, some_text, text};
use crate::{Session, StoreError};
use rusqlite::{Connection, OptionalExtension};

pub(crate) const KIND: Kind = Kind {
    agent: "crush",
    tables: &[
        (
            "sessions",
            &[
                "id", "parent_session_id", "title", "prompt_tokens", "completion_tokens", "cost", "updated_at",
            ],
        ),
        (
            "messages",
            &["id", "session_id", "role", "parts", "model", "created_at"],
        ),
    ],
    sessions,
    conversation,
};

fn sessions(connection: &Connection) -> Result<Vec<Session>, StoreError> {
    let query = "SELECT id, title, updated_at, prompt_tokens + completion_tokens, cost FROM sessions \
                 WHERE parent_session_id IS NULL AND EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)";
    tables::sessions(connection, query, |row| {
        Some(Session {
            id: some_text(row, 0)?,
            title: some_text(row, 1),
            project: None,
            modified: number(row, 2).map(milliseconds),
            tokens: number(row, 3).filter(|tokens| *tokens > 0),
            cost: tables::cost(row, 4),
        })
    })
}

/// Converts a time to milliseconds: the schema says milliseconds, but the values are seconds.
fn milliseconds(time: u64) -> u64 {
    const SECONDS: u64 = 100_000_000_000;
    if time < SECONDS {
        time.saturating_mul(1_000)
    } else {
        time
    }
}

fn conversation(connection: &Connection, id: &str) -> Conversation {
    let mut json = Json::new("{\"meta\":{\"uuid\":");
    let found = connection.query_row("SELECT title FROM sessions WHERE id = ?1", [id], |row| {
        json.string(id)
            .push(",\"title\":")
            .string(&text(row, 0))
            .push("},\"messages\":[");
        Ok(())
    });
    if found.optional()?.is_none() {
        return Ok(None);
    }
    let summary = column(connection, "messages", "is_summary_message");
    // Many messages may have the same second; they keep the order in which they were inserted.
    let query = format!(
        "SELECT role, created_at, model, {summary}, parts FROM messages WHERE session_id = ?1 ORDER BY created_at, rowid"
    );
    each(connection, &query, [id], |row| {
        json.comma().push("{\"role\":").string(&text(row, 0));
        let created = milliseconds(number(row, 1).unwrap_or(0));
        json.push(",\"created\":").push(&created.to_string());
        json.push(",\"model\":").string(&text(row, 2));
        let is_summary = number(row, 3).is_some_and(|summary| summary > 0);
        json.push(if is_summary { ",\"is_summary\":true" } else { "" });
        json.push(",\"parts\":")
            .cell(&text(row, 4), "[{\"type\":\"unreadable\"}]");
        json.push("}").bounded()
    })?;
    json.push("]}");
    Ok(Some(json.into_bytes()))
}
