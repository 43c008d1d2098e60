//! Small databases of every kind, created as their agents create them, with the same work in each.
#![allow(dead_code)]

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::path::Path;

const PROMPT: &str = "Build the tea shop and run its tests.";

/// A database to create.
pub struct Made {
    /// The format of its conversations.
    pub agent: &'static str,
    pub file: &'static str,
    /// Its path in a home directory.
    pub home: &'static str,
    pub make: fn(&Path),
    /// The sessions that are listed, newest first; the first holds the work.
    pub ids: &'static [&'static str],
}

#[rustfmt::skip]
pub const ALL: &[Made] = &[
    Made { agent: "opencode", file: "opencode.db", home: ".local/share/opencode/opencode.db", make: opencode, ids: &["ses_tea", "ses_old"] },
    Made { agent: "goose", file: "goose.db", home: ".local/share/goose/sessions/sessions.db", make: goose, ids: &["20261124_2", "20261123_1"] },
    Made { agent: "crush", file: "crush.db", home: "work/tea/.crush/crush.db", make: crush, ids: &["5f0c-tea", "4e0b-old"] },
    Made { agent: "zed", file: "threads.db", home: ".local/share/zed/threads/threads.db", make: zed, ids: &["thread-tea", "thread-old"] },
    Made { agent: "kiro", file: "kiro.sqlite3", home: ".local/share/kiro-cli/data.sqlite3", make: kiro, ids: &["conv-tea", "conv-old"] },
    Made { agent: "kiro", file: "amazon-q.sqlite3", home: ".local/share/amazon-q/data.sqlite3", make: amazon_q,
        ids: &["/home/mira/kettle", "/home/mira/tea"] },
];

/// Runs statements in the database of a file, creating it if it is missing.
pub fn run(path: &Path, statements: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(statements).unwrap();
}

pub fn opencode(path: &Path) {
    run(
        path,
        "PRAGMA journal_mode = WAL;
         CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
            title text NOT NULL, version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL,
            cost real NOT NULL DEFAULT 0);
         CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
            time_updated integer NOT NULL, data text NOT NULL);
         CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
            time_updated integer NOT NULL, data text NOT NULL);
         CREATE INDEX message_session_idx ON message (session_id);
         CREATE INDEX part_message_idx ON part (message_id);",
    );
    let store = Connection::open(path).unwrap();
    let session = |id: &str, parent: Option<&str>, time: i64| {
        let columns =
            "INSERT INTO session VALUES (?1, 'p', ?2, 's', '/home/mira/tea', 'Tea shop', '1.4.0', NULL, ?3, ?3, 0.25)";
        store.execute(columns, params![id, parent, time]).unwrap();
    };
    let message = |session: &str, id: &str, time: i64, data: Value, parts: &[Value]| {
        let columns = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
        store
            .execute(columns, params![id, session, time, data.to_string()])
            .unwrap();
        for (at, part) in parts.iter().enumerate() {
            let columns = "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
            let part_id = format!("prt_{id}_{at}");
            store
                .execute(columns, params![part_id, id, session, time, part.to_string()])
                .unwrap();
        }
    };
    session("ses_old", None, 1_795_000_000_000);
    session("ses_tea", None, 1_795_514_400_000);
    session("ses_child", Some("ses_tea"), 1_795_514_500_000);
    message(
        "ses_old",
        "msg_0",
        1,
        json!({"role": "user"}),
        &[json!({"type": "text", "text": "Older words."})],
    );
    message(
        "ses_tea",
        "msg_1",
        1_795_514_400_000,
        json!({"role": "user"}),
        &[json!({"type": "text", "text": PROMPT})],
    );
    let tokens = json!({"input": 12, "output": 30, "reasoning": 0, "cache": {"read": 900, "write": 58}});
    let state = json!({"status": "completed", "input": {"command": "make test"}, "output": "2 failed", "title": "t", "metadata": {"exit": 2}, "time": {}});
    let parts = [
        json!({"type": "step-start"}),
        json!({"type": "tool", "callID": "t1", "tool": "bash", "state": state}),
        json!({"type": "step-finish", "reason": "tool-calls", "cost": 0.2, "tokens": tokens}),
        json!({"type": "step-start"}),
        json!({"type": "text", "text": "Two fail."}),
    ];
    message(
        "ses_tea",
        "msg_2",
        1_795_514_402_000,
        json!({"role": "assistant", "modelID": "m", "providerID": "v", "tokens": tokens}),
        &parts,
    );
    message(
        "ses_child",
        "msg_3",
        1,
        json!({"role": "user"}),
        &[json!({"type": "text", "text": "of a sub-agent"})],
    );
}

pub fn goose(path: &Path) {
    run(
        path,
        "PRAGMA journal_mode = WAL;
         CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
            user_set_name BOOLEAN DEFAULT FALSE,
            session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
            updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT DEFAULT '{}', total_tokens INTEGER);
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
            role TEXT NOT NULL, content_json TEXT NOT NULL,
            created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
         INSERT INTO sessions (id, name, description, session_type, working_dir, updated_at, total_tokens) VALUES
            ('20261123_1', '', 'Older', 'user', '/home/mira/tea', '2026-11-23 10:00:00', NULL),
            ('20261124_2', 'Tea shop', '', 'user', '/home/mira/tea', '2026-11-24 10:00:00', 1000),
            ('20261124_3', 'Helper', '', 'sub_agent', '/home/mira/tea', '2026-11-24 11:00:00', 10);",
    );
    let store = Connection::open(path).unwrap();
    let message = |session: &str, role: &str, time: i64, content: Value| {
        let columns = "INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES (?1, ?2, ?3, ?4, '{\"agentVisible\":true}')";
        store
            .execute(columns, params![session, role, content.to_string(), time])
            .unwrap();
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    message("20261123_1", "user", 1_795_400_000, text("Older words."));
    message("20261124_3", "user", 1_795_400_000, text("of a sub-agent"));
    message("20261124_2", "user", 1_795_514_400, text(PROMPT));
    let call =
        json!({"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "make test"}}});
    message(
        "20261124_2",
        "assistant",
        1_795_514_402,
        json!([{"type": "toolRequest", "id": "t1", "toolCall": call}]),
    );
    let answer =
        json!({"status": "success", "value": {"content": [{"type": "text", "text": "2 failed"}], "isError": true}});
    message(
        "20261124_2",
        "user",
        1_795_514_402,
        json!([{"type": "toolResponse", "id": "t1", "toolResult": answer}]),
    );
    message("20261124_2", "assistant", 1_795_514_406, text("Two fail."));
}

pub fn crush(path: &Path) {
    run(
        path,
        "PRAGMA journal_mode = WAL;
         CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
            message_count INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
            completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL,
            created_at INTEGER NOT NULL, summary_message_id TEXT);
         CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL default '[]',
            model TEXT, created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0 NOT NULL);
         CREATE TRIGGER count_them AFTER INSERT ON messages BEGIN UPDATE sessions SET message_count = message_count + 1 WHERE id = new.session_id; END;
         INSERT INTO sessions VALUES ('5f0c-tea', NULL, 'Tea shop', 0, 900, 100, 0.5, 1795514409, 1795514400, NULL), ('4e0b-old', NULL,
            'Older', 0, 0, 0, 0.0, 1795000000, 1795000000, NULL),
            ('6a1d', '5f0c-tea', 'Helper', 0, 0, 0, 0.0, 1795514500, 1795514500, NULL);",
    );
    let store = Connection::open(path).unwrap();
    let mut at = 0;
    let mut message = |session: &str, role: &str, parts: Value| {
        at += 1;
        let columns = "INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, 'm', ?5, ?5)";
        // Ids do not follow the order.
        store
            .execute(
                columns,
                params![
                    format!("{}", 100 - at),
                    session,
                    role,
                    parts.to_string(),
                    1_795_514_400 + at / 3
                ],
            )
            .unwrap();
    };
    message(
        "4e0b-old",
        "user",
        json!([{"type": "text", "data": {"text": "Older words."}}]),
    );
    message(
        "5f0c-tea",
        "user",
        json!([{"type": "text", "data": {"text": PROMPT}}, {"type": "finish", "data": {"reason": "stop", "time": 0}}]),
    );
    let call = json!({"id": "t1", "name": "bash", "input": "{\"command\":\"make test\"}", "provider_executed": false, "finished": true});
    message("5f0c-tea", "assistant", json!([{"type": "tool_call", "data": call}]));
    let answer = json!({"tool_call_id": "t1", "name": "bash", "content": "2 failed", "metadata": "", "is_error": true});
    message("5f0c-tea", "tool", json!([{"type": "tool_result", "data": answer}]));
    message(
        "5f0c-tea",
        "assistant",
        json!([{"type": "text", "data": {"text": "Two fail."}}]),
    );
    message(
        "6a1d",
        "user",
        json!([{"type": "text", "data": {"text": "of a sub-agent"}}]),
    );
}

pub fn zed(path: &Path) {
    run(
        path,
        "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL,
            data BLOB NOT NULL, parent_id TEXT,
            folder_paths TEXT, folder_paths_order TEXT, created_at TEXT);",
    );
    let store = Connection::open(path).unwrap();
    let thread = |id: &str, parent: Option<&str>, time: &str, kind: &str, data: &[u8]| {
        let columns = "INSERT INTO threads VALUES (?1, 'Tea shop', ?2, ?3, ?4, ?5, '/home/mira/tea', '0', ?2)";
        store.execute(columns, params![id, time, kind, data, parent]).unwrap();
    };
    let call = json!({"id": "t1", "name": "terminal", "raw_input": "", "input": {"command": "make test"}, "is_input_complete": true});
    let answer = json!({"tool_use_id": "t1", "tool_name": "terminal", "is_error": true, "content": [{"Text": "2 failed"}], "output": null});
    let tea = json!({"title": "Tea shop", "version": "0.3.0", "updated_at": "2026-11-24T10:00:00Z", "messages": [
        {"User": {"id": "1", "content": [{"Text": PROMPT}]}},
        {"Agent": {"content": [{"ToolUse": call}], "tool_results": {"t1": answer}}},
        {"Agent": {"content": [{"Text": "Two fail."}], "tool_results": {}}}]});
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let packed = ruzstd::encoding::compress_to_vec(tea.to_string().as_bytes(), level);
    thread("thread-tea", None, "2026-11-24T10:00:00+00:00", "zstd", &packed);
    let old = json!({"title": "Older", "version": "0.3.0", "messages": [{"User": {"id": "1", "content": [{"Text": "Older words."}]}}]});
    thread(
        "thread-old",
        None,
        "2026-11-23T10:00:00.123456789+00:00",
        "json",
        old.to_string().as_bytes(),
    );
    thread(
        "thread-child",
        Some("thread-tea"),
        "2026-11-24T10:00:00+00:00",
        "json",
        b"{}",
    );
}

fn pairs() -> (Value, Value) {
    let user = |content: Value| json!({"additional_context": "", "env_context": {"env_state": null}, "content": content, "timestamp": null, "images": null});
    let call = json!({"id": "t1", "name": "execute_bash", "orig_name": "execute_bash", "args": {"command": "make test"}, "orig_args": {}});
    let answer = json!({"tool_use_id": "t1", "content": [{"Json": {"exit_status": "2", "stdout": "2 failed", "stderr": ""}}], "status": "Success"});
    let tea = json!({"conversation_id": "conv-tea", "next_message": null, "history": [
        {"user": user(json!({"Prompt": {"prompt": PROMPT}})), "assistant": {"ToolUse": {"message_id": "m", "content": "", "tool_uses": [call]}}},
        {"user": user(json!({"ToolUseResults": {"tool_use_results": [answer]}})), "assistant": {"Response": {"message_id": "m", "content": "Two fail."}}}]});
    let old = json!({"conversation_id": "conv-old", "history": [
        {"user": user(json!({"Prompt": {"prompt": "Older words."}})), "assistant": {"Response": {"message_id": null, "content": "Yes."}}}]});
    (tea, old)
}

pub fn kiro(path: &Path) {
    run(
        path,
        "CREATE TABLE conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL, value TEXT NOT NULL,
            created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
            PRIMARY KEY (key, conversation_id));",
    );
    let store = Connection::open(path).unwrap();
    let (tea, old) = pairs();
    for (value, time) in [(tea, 1_795_514_400_000_i64), (old, 1_795_000_000_000)] {
        let columns = "INSERT INTO conversations_v2 VALUES ('/home/mira/tea', ?1, ?2, ?3, ?3)";
        store
            .execute(
                columns,
                params![value["conversation_id"].as_str(), value.to_string(), time],
            )
            .unwrap();
    }
}

pub fn amazon_q(path: &Path) {
    run(path, "CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);");
    let store = Connection::open(path).unwrap();
    let (tea, old) = pairs();
    // Sorted by directory, as times are not recorded.
    for (key, value) in [("/home/mira/kettle", tea), ("/home/mira/tea", old)] {
        store
            .execute(
                "INSERT INTO conversations VALUES (?1, ?2)",
                params![key, value.to_string()],
            )
            .unwrap();
    }
}
