//! Databases of OpenCode since 1.2 and of its forks (`~/.local/share/opencode/opencode.db`): sessions, messages and
//! parts, each a row with its JSON in `data`. OpenCode 2 stores messages of another format in `session_message`.
//!
//! Source: `packages/opencode/src/session/session.sql.ts` and `packages/core/src/session/sql.ts` of anomalyco/opencode,
//! 2026.

use crate::json::Json;
use crate::tables::{self, Conversation, Kind, bytes, column, each, number, some_text, text};
use crate::{Session, StoreError};
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

pub(crate) const KIND: Kind = Kind {
    agent: "opencode",
    tables: &[
        (
            "session",
            &["id", "directory", "title", "time_created", "time_updated", "parent_id"],
        ),
        ("message", &["id", "session_id", "time_created", "data"]),
        ("part", &["id", "message_id", "data"]),
    ],
    sessions,
    conversation,
};

fn sessions(connection: &Connection) -> Result<Vec<Session>, StoreError> {
    let cost = column(connection, "session", "cost");
    let query = format!("SELECT id, title, directory, time_updated, {cost} FROM session WHERE parent_id IS NULL");
    let mut sessions = tables::sessions(connection, &query, |row| {
        Some(Session {
            id: some_text(row, 0)?,
            title: some_text(row, 1),
            project: some_text(row, 2),
            modified: number(row, 3),
            tokens: None,
            cost: tables::cost(row, 4),
        })
    })?;
    for session in &mut sessions {
        session.tokens = tokens(connection, &session.id)?;
    }
    Ok(sessions)
}

/// Returns the tokens of the newest reply among the last few messages.
fn tokens(connection: &Connection, session: &str) -> Result<Option<u64>, StoreError> {
    let mut found = None;
    let newest = "SELECT data FROM message WHERE session_id = ?1 ORDER BY time_created DESC, id DESC LIMIT 4";
    each(connection, newest, [session], |row| {
        let message: Value = serde_json::from_slice(bytes(row, 0)).unwrap_or_default();
        let count = |place: &str| message.pointer(place).and_then(Value::as_u64).unwrap_or(0);
        let sum = [
            "/tokens/input", "/tokens/output", "/tokens/cache/read", "/tokens/cache/write",
        ]
        .map(count)
        .into_iter()
        .fold(0, u64::saturating_add);
        found = found.or(Some(sum).filter(|sum| *sum > 0));
        Ok(())
    })?;
    Ok(found)
}

fn conversation(connection: &Connection, id: &str) -> Conversation {
    let revert = column(connection, "session", "revert");
    let query = format!("SELECT title, directory, {revert} FROM session WHERE id = ?1");
    let mut json = Json::new("{\"info\":{\"id\":");
    let found = connection.query_row(&query, [id], |row| {
        json.string(id).push(",\"title\":").string(&text(row, 0));
        json.push(",\"directory\":").string(&text(row, 1));
        json.push(",\"revert\":")
            .cell(&text(row, 2), "null")
            .push("},\"messages\":[");
        Ok(())
    });
    if found.optional()?.is_none() {
        return Ok(None);
    }
    let mut messages = 0;
    let query = "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id";
    each(connection, query, [id], |row| {
        messages += 1;
        let message = text(row, 0);
        json.comma().push("{\"info\":{\"id\":").string(&message);
        json.fields(&text(row, 1));
        json.push("},\"parts\":[");
        parts(connection, &message, &mut json)?;
        json.push("]}").bounded()
    })?;
    if messages == 0
        && tables::has(
            connection,
            "session_message",
            &["id", "session_id", "type", "data", "time_created"],
        )
    {
        typed(connection, id, &mut json)?;
    }
    json.push("]}");
    Ok(Some(json.into_bytes()))
}

fn parts(connection: &Connection, message: &str, json: &mut Json) -> Result<(), StoreError> {
    let query = "SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id";
    each(connection, query, [message], |row| {
        json.comma().push("{\"id\":").string(&text(row, 0));
        let data = text(row, 1);
        if !json.fields(&data) {
            // The reader then reports how much it did not understand.
            json.push(",\"type\":\"unreadable\",\"text\":").string(&data);
        }
        json.push("}").bounded()
    })
}

/// Writes the messages of OpenCode 2.
fn typed(connection: &Connection, session: &str, json: &mut Json) -> Result<(), StoreError> {
    let order = match column(connection, "session_message", "seq") {
        "seq" => "seq",
        _ => "time_created, id",
    };
    let query = format!("SELECT id, type, data FROM session_message WHERE session_id = ?1 ORDER BY {order}");
    each(connection, &query, [session], |row| {
        json.comma().push("{\"id\":").string(&text(row, 0));
        json.push(",\"type\":").string(&text(row, 1));
        let data = text(row, 2);
        if !json.fields(&data) {
            json.push(",\"text\":").string(&data);
        }
        json.push("}").bounded()
    })
}
