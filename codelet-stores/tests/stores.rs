//! Databases that are being written to, left by a crash, damaged, or malicious.
#![allow(clippy::unwrap_used)]

mod made;

use codelet_stores::{Store, StoreError};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// Returns the sizes and times of the files in a directory, by name.
fn lies_in(folder: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let stamp = |entry: fs::DirEntry| {
        let data = entry.metadata().unwrap();
        (
            entry.file_name().into_string().unwrap(),
            (data.len(), data.modified().unwrap()),
        )
    };
    entries.map(stamp).collect()
}

fn ids(path: &Path) -> Result<Vec<String>, StoreError> {
    Ok(Store::open(path)?
        .sessions()?
        .into_iter()
        .map(|session| session.id)
        .collect())
}

fn words(path: &Path) -> String {
    ids(path).unwrap_err().to_string()
}

#[test]
fn sessions_are_listed_and_handed_over_and_nothing_is_left_beside_them() {
    for made in made::ALL {
        let folder = tempfile::tempdir().unwrap();
        // Characters with a meaning in a URI.
        let path = folder.path().join(format!("50%?#{}", made.file));
        (made.make)(&path);
        let before = lies_in(folder.path());
        let store = Store::open(&path).unwrap();
        assert_eq!(store.agent(), made.agent);
        let sessions = store.sessions().unwrap();
        let ids: Vec<&str> = sessions.iter().map(|session| &*session.id).collect();
        assert_eq!(ids, made.ids, "{}", made.agent);
        for session in &sessions {
            let bytes = store.conversation(&session.id).unwrap();
            let whole: Value = serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", made.agent));
            assert!(whole.is_object());
        }
        let none = store.conversation("none").unwrap_err();
        assert_eq!(none.to_string(), "contains no session with the id \"none\"");
        drop(store);
        assert_eq!(lies_in(folder.path()), before, "{}", made.agent);
    }
}

#[test]
fn what_an_agent_notes_of_a_session_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let first = |at: usize| {
        let made = &made::ALL[at];
        let path = folder.path().join(made.file);
        (made.make)(&path);
        Store::open(&path).unwrap().sessions().unwrap().swap_remove(0)
    };
    let opencode = first(0);
    assert_eq!(opencode.title.as_deref(), Some("Tea shop"));
    assert_eq!(opencode.project.as_deref(), Some("/home/mira/tea"));
    assert_eq!(
        (opencode.modified, opencode.tokens, opencode.cost),
        (Some(1_795_514_400_000), Some(1_000), Some(0.25))
    );
    let goose = first(1);
    assert_eq!((goose.modified, goose.tokens), (Some(1_795_514_400_000), Some(1_000)));
    let crush = first(2);
    assert_eq!(
        (crush.modified, crush.tokens, crush.cost),
        (Some(1_795_514_409_000), Some(1_000), Some(0.5))
    );
    let zed = first(3);
    assert_eq!(
        (zed.modified, zed.project.as_deref()),
        (Some(1_795_514_400_000), Some("/home/mira/tea"))
    );
    let kiro = first(4);
    assert_eq!(kiro.title.as_deref(), Some("Build the tea shop and run its tests."));
}

#[test]
fn messages_of_opencode_2_are_handed_over_by_their_type_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    made::opencode(&path);
    let typed = "CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
                    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
                 INSERT INTO session VALUES ('ses_two', 'p', NULL, 's', '/w', 'Two', '2.0.0', '{\"messageID\":\"msg_9\"}', 1, 2, 0);
                 INSERT INTO session_message VALUES ('a', 'ses_two', 'assistant', 2, 1, 1, '{\"time\":{\"created\":2},\"content\":[]}'),
                    ('b', 'ses_two', 'user', 1, 1, 1, '{\"time\":{\"created\":1},\"text\":\"Hello.\"}'), ('c', 'ses_two', 'user', 3, 1, 1, 'no');";
    made::run(&path, typed);
    let bytes = Store::open(&path).unwrap().conversation("ses_two").unwrap();
    let whole: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(whole["info"]["revert"]["messageID"], "msg_9");
    let messages: Vec<String> = whole["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    assert_eq!(
        messages,
        [
            r#"{"id":"b","type":"user","time":{"created":1},"text":"Hello."}"#,
            r#"{"id":"a","type":"assistant","time":{"created":2},"content":[]}"#,
            r#"{"id":"c","type":"user","text":"no"}"#,
        ]
    );
}

#[test]
fn a_store_is_read_beside_its_writer_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("goose.db");
    made::goose(&path);
    let writer = Connection::open(&path).unwrap();
    let add = "INSERT INTO sessions (id, working_dir, updated_at) VALUES ('new', '/w', '2026-11-25 10:00:00');
               INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('new', 'user', '[]', 1)";
    writer.execute_batch(add).unwrap();
    let before = lies_in(folder.path());
    assert!(
        before.contains_key("goose.db-wal"),
        "the writer has not written its log"
    );
    assert_eq!(ids(&path).unwrap(), ["new", "20261124_2", "20261123_1"]);
    // Uncommitted changes are not visible.
    writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM messages").unwrap();
    assert_eq!(ids(&path).unwrap().len(), 3);
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(lies_in(folder.path()), before);
    writer
        .execute_batch("DELETE FROM messages WHERE session_id = 'new'")
        .unwrap();
    assert_eq!(ids(&path).unwrap().len(), 2, "the reader holds nobody back");
}

#[test]
fn what_a_crash_left_is_put_in_order_in_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (live, left) = (folder.path().join("live"), folder.path().join("left"));
    fs::create_dir(&live).unwrap();
    fs::create_dir(&left).unwrap();
    let path = live.join("crush.db");
    made::crush(&path);
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("UPDATE sessions SET title = 'In the log' WHERE id = '5f0c-tea'")
        .unwrap();
    for name in ["crush.db", "crush.db-wal"] {
        fs::copy(live.join(name), left.join(name)).unwrap();
    }
    drop(writer);
    let before = lies_in(&left);
    let sessions = Store::open(&left.join("crush.db")).unwrap().sessions().unwrap();
    assert_eq!(sessions[0].title.as_deref(), Some("In the log"));
    assert_eq!(lies_in(&left), before);
    // A WAL that is a link may belong to anyone.
    fs::remove_file(left.join("crush.db-wal")).unwrap();
    std::os::unix::fs::symlink("crush.db", left.join("crush.db-wal")).unwrap();
    assert_eq!(
        words(&left.join("crush.db")),
        "the -wal file beside it is not a regular file"
    );
}

#[test]
fn nothing_is_left_beside_a_store_whatever_lies_there() {
    // The header identifies a WAL; the rest may be anything.
    let head = [0x37, 0x7f, 0x06, 0x82, 0x00, 0x2d, 0xe2, 0x18];
    let logs = [
        Vec::new(),
        [&head[..], &[0; 24]].concat(),
        vec![b'x'; 32],
        vec![0; 8_192],
    ];
    let indexes = [None, Some(Vec::new()), Some(vec![0; 32_768])];
    // SQLite waits for a possible writer in some cases, so all are opened in parallel.
    std::thread::scope(|scope| {
        for mode in ["delete", "wal"] {
            for log in &logs {
                for index in &indexes {
                    scope.spawn(move || nothing_is_left_beside(mode, log, index.as_deref()));
                }
            }
        }
    });
}

/// Checks that a database in this mode with this WAL and index is read, and that all files stay unchanged.
fn nothing_is_left_beside(mode: &str, log: &[u8], index: Option<&[u8]>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crush.db");
    made::crush(&path);
    let change = Connection::open(&path).unwrap();
    change.pragma_update(None, "journal_mode", mode).unwrap();
    drop(change);
    fs::write(folder.path().join("crush.db-wal"), log).unwrap();
    if let Some(index) = index {
        fs::write(folder.path().join("crush.db-shm"), index).unwrap();
    }
    let before = lies_in(folder.path());
    let read = ids(&path);
    let what = format!("{mode}, a log of {}, index {:?}", log.len(), index.map(<[u8]>::len));
    assert_eq!(lies_in(folder.path()), before, "{what}: {read:?}");
    assert!(read.is_ok(), "{what}: {read:?}");
}

#[test]
fn a_writer_that_lets_nobody_in_is_waited_for_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zed.db");
    made::zed(&path);
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(words(&path), "is being written to by another program; try again");
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ids(&path).unwrap().len(), 2);
}

#[test]
fn a_table_that_a_program_computes_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.db");
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS key, x AS value FROM n";
    made::run(&path, &format!("CREATE VIEW conversations AS {endless}"));
    assert!(matches!(ids(&path), Err(StoreError::Unknown)));
    // A table that exists, with a generated column that is computed on reading.
    let path = folder.path().join("computed.db");
    made::run(
        &path,
        "CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT AS (hex(zeroblob(400000000))) VIRTUAL);",
    );
    made::run(&path, "INSERT INTO conversations (key) VALUES ('/w')");
    assert!(Store::open(&path).and_then(|store| store.conversation("/w")).is_err());
}

#[test]
fn a_thread_that_unpacks_to_very_much_or_to_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zed.db");
    made::zed(&path);
    Connection::open(&path)
        .unwrap()
        .execute("UPDATE threads SET data = x'28b52ffd0000'", [])
        .unwrap();
    let store = Store::open(&path).unwrap();
    let told = store.conversation("thread-tea").unwrap_err().to_string();
    assert!(
        told.starts_with("is a damaged SQLite database (a thread cannot be unpacked"),
        "{told}"
    );
}

#[test]
fn cells_that_hold_no_json_are_handed_over_as_what_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    for made in &made::ALL[..3] {
        let path = folder.path().join(made.file);
        (made.make)(&path);
        let store = Connection::open(&path).unwrap();
        let spoil = match made.agent {
            "opencode" => "UPDATE part SET data = '{\"type\":'; UPDATE message SET data = x'ff00' WHERE id = 'msg_2'",
            "goose" => "UPDATE messages SET content_json = '[}', metadata_json = 7",
            _ => "UPDATE messages SET parts = 'no', model = NULL",
        };
        store.execute_batch(spoil).unwrap();
        drop(store);
        let bytes = Store::open(&path).unwrap().conversation(made.ids[0]).unwrap();
        let whole: Value = serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", made.agent));
        assert!(whole.to_string().contains("\"type\":\"unreadable\""), "{whole}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_damaged_store_is_read_or_refused_and_stays_as_it_is(
        pick in 0..made::ALL.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in prop::option::of(any::<prop::sample::Index>()),
        keeps_head in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        static WHOLE: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
        let whole = |made: &made::Made| {
            let path = folder.path().join(made.file);
            (made.make)(&path);
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(path).unwrap();
            bytes
        };
        let mut bytes = WHOLE.get_or_init(|| made::ALL.iter().map(whole).collect())[pick].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            if !keeps_head || at >= 100 {
                bytes[at] = byte;
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&path, &bytes).unwrap();
        // A file written just now would be checked again a moment later.
        let written = fs::File::options().write(true).open(&path).unwrap();
        written.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        let read = |path: &Path| -> Result<usize, StoreError> {
            let store = Store::open(path)?;
            let sessions = store.sessions()?;
            Ok(sessions.iter().filter(|session| store.conversation(&session.id).is_ok()).count())
        };
        if let Err(error) = read(&path) {
            prop_assert!(!error.to_string().contains('\n'));
        }
        prop_assert_eq!(fs::read(&path).unwrap(), bytes);
        prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
