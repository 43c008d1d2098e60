//! Whether an answer says that files are as they were that were to be taken away, moved, or put back: nothing is done yet, the
//! user keeps them, or they are gone from a list of files and not from the disk.

use super::{HEAD, object};
use serde_json::{Map, Value};

/// Fields that say that it was not done, if they say no, …
const DONE: [&str; 8] = [
    "applied", "deleted", "moved", "removed", "renamed", "reverted", "success", "undone",
];
/// … and if they say yes.
const TRIED: [&str; 4] = ["dry_run", "dryRun", "requires_confirmation", "requiresConfirmation"];
/// Words of what is to be done only later, if at all.
const LATER: [&str; 5] = ["confirm", "confirmation", "dry-run", "preview", "would"];
const KEEPS: [&str; 4] = ["keep", "keeps", "kept", "retain"];
/// What is made of files elsewhere.
const MADE_OF: [&str; 3] = ["chunks", "embeddings", "vectors"];
/// From where files are taken that stay on the disk, …
const LISTS: [&str; 18] = [
    "cache",
    "chat",
    "collection",
    "collections",
    "context",
    "conversation",
    "database",
    "graph",
    "index",
    "knowledge",
    "list",
    "memory",
    "queue",
    "sandbox",
    "session",
    "staging",
    "store",
    "watchlist",
];
/// … within so many words behind `from`, before any of these.
const NEAR: usize = 5;
const ENDS: [&str; 5] = ["and", "disk", "filesystem", "to", "workspace"];

/// Whether an answer says so. In doubt it does not.
pub(super) fn spares(text: &str) -> bool {
    match object(text) {
        Some(map) => object_spares(&map),
        None => words_spare(text),
    }
}

fn object_spares(map: &Map<String, Value>) -> bool {
    map.iter().any(|(name, value)| match value {
        Value::Bool(is) => if *is { &TRIED[..] } else { &DONE[..] }.contains(&name.as_str()),
        Value::String(text) => words_spare(text),
        Value::Object(map) => object_spares(map),
        _ => false,
    })
}

/// Whether the beginning of a text says so, before what stands in the files.
fn words_spare(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(HEAD.min(text.len()))];
    let head = head.split_once(":\n").map_or(head, |(own, _)| own).to_lowercase();
    let words = head
        .split_whitespace()
        .map(|word| word.split('=').next().unwrap_or(word));
    let words: Vec<&str> = words
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    has(&LATER) || has(&MADE_OF) || has(&["user"]) && has(&KEEPS) || is_of_list(&words)
}

/// Whether something is taken from a list of files.
fn is_of_list(words: &[&str]) -> bool {
    let starts = words.iter().enumerate().filter(|(_, word)| **word == "from");
    let mut behind = starts.map(|(at, _)| words[at + 1..].iter().take(NEAR));
    behind.any(|mut words| {
        words
            .find(|word| LISTS.contains(word) || ENDS.contains(word))
            .is_some_and(|word| LISTS.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_say_that_a_file_stays_as_it_is() {
        for text in [
            "Removed 14 chunks of /w/src/a.py from the collection.",
            "Removed /w/src/a.py from the index.",
            "Removed /w/src/a.py from the chat context.",
            "Removed a.py from this session's context",
            "This would delete /w/src/a.py (1 file). Pass confirm=true to go on.",
            "Delete /w/src/a.py? Pass confirm=true.",
            "{\"deleted\": false, \"reason\": \"protected\"}",
            "{\"success\": false}",
            "{\"result\": {\"removed\": false}}",
            "{\"dry_run\": true, \"path\": \"a.py\"}",
            "{\"message\": \"Removed a.py from the index\"}",
            "User chose to keep the file.",
            "The user kept a.py.",
        ] {
            assert!(spares(text), "{text}");
        }
        for text in [
            "",
            "ok",
            "Deleted",
            "Deleted src/context/index.ts",
            "Deleted /w/would/keep.py from disk.",
            "Removed a.py from the project.",
            "Removed a.py from disk and from nowhere else",
            "Moved a.py from src to context",
            "The file was moved to the trash. (It can be restored.)",
            "{\"deleted\": true, \"existed\": true, \"is_folder\": false}",
            "Last edit to a.py undone successfully. It is now:\n1 if x would be from the cache",
        ] {
            assert!(!spares(text), "{text}");
        }
    }
}
