//! The databases of Kiro CLI (`~/.local/share/kiro-cli/data.sqlite3`) and of its predecessor Amazon Q CLI
//! (`~/.local/share/amazon-q/data.sqlite3`): the state of a conversation as JSON, one per directory or, later, several.
//!
//! Source: `crates/chat-cli/src/database` and `src/cli/chat/conversation.rs` of aws/amazon-q-developer-cli at 15cc8f3,
//! April 2026. Kiro CLI is closed source: its table `conversations_v2` is known from programs that read it, and its
//! content is the same.

use crate::Session;
use crate::tables::{self, Conversation, Kind, bytes, number, some_text};
use rusqlite::{Connection, OptionalExtension};

pub(crate) const KIND: Kind = Kind {
    agent: "kiro",
    tables: &[("conversations_v2", &["key", "conversation_id", "value", "updated_at"])],
    sessions: |connection| {
        let query = format!("SELECT conversation_id, {PROMPT}, key, updated_at FROM conversations_v2");
        tables::sessions(connection, &query, session)
    },
    conversation: |connection, id| {
        value(
            connection,
            "SELECT value FROM conversations_v2 WHERE conversation_id = ?1",
            id,
        )
    },
};

pub(crate) const OLDER: Kind = Kind {
    agent: "kiro",
    tables: &[("conversations", &["key", "value"])],
    sessions: |connection| {
        let query = format!("SELECT key, {PROMPT}, key, NULL FROM conversations");
        tables::sessions(connection, &query, session)
    },
    conversation: |connection, id| value(connection, "SELECT value FROM conversations WHERE key = ?1", id),
};

/// The first prompt that is left in the conversation.
const PROMPT: &str =
    "CASE WHEN json_valid(value) THEN json_extract(value, '$.history[0].user.content.Prompt.prompt') END";

fn session(row: &rusqlite::Row<'_>) -> Option<Session> {
    Some(Session {
        id: some_text(row, 0)?,
        title: some_text(row, 1),
        project: some_text(row, 2),
        modified: number(row, 3),
        ..Session::default()
    })
}

fn value(connection: &Connection, query: &str, id: &str) -> Conversation {
    Ok(connection
        .query_row(query, [id], |row| Ok(bytes(row, 0).to_vec()))
        .optional()?)
}
