//! Codex sessions that continue another file: finds its name and joins the two. Opens no files.

use crate::skim::Skim;
use crate::source;
use serde_json::Value;
use std::ops::Range;

/// The location of the earlier part of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Earlier {
    /// The name of the other file, or an id that its name ends with.
    name: String,
    /// The length of the earlier part, in bytes from the beginning of that file; the whole file if `None`.
    bytes: Option<usize>,
    /// The line that holds the reference.
    line: Range<usize>,
}

/// The number of lines searched: the reference is at the beginning of a session.
const LINES: usize = 50;
/// The maximum length of a file name.
const LONGEST: usize = 400;

/// Returns the location and length of the earlier part of a session, if its file continues another one.
pub fn earlier(bytes: &[u8]) -> Option<Earlier> {
    let mut at = 0;
    for text in bytes.split_inclusive(|byte| *byte == b'\n').take(LINES) {
        let line = at..at + text.len();
        at = line.end;
        let entry = Skim::new(text);
        if entry.first() != Some(b'{') {
            continue;
        }
        let payload = match entry.get_string("type") {
            Some("session_meta") => entry.get("payload").and_then(|payload| payload.get("history_base")),
            Some("rollout_reference") => entry.get("payload"),
            _ => None,
        };
        let reference: Option<Value> =
            payload.and_then(|value| source::embedded(std::str::from_utf8(value.slice()?).ok()?));
        if let Some((name, bytes)) = reference.as_ref().and_then(referred) {
            return Some(Earlier { name, bytes, line });
        }
    }
    None
}

/// Returns the name in a reference, and the length in bytes.
fn referred(to: &Value) -> Option<(String, Option<usize>)> {
    // The reference ends at a prompt given by number, but which prompts count is unknown.
    if to.get("nth_user_message").is_some_and(|prompt| !prompt.is_null()) {
        return None;
    }
    let names = ["rollout_path", "rollout_id", "thread_id"];
    let name = names.iter().find_map(|name| to.get(*name)?.as_str())?;
    // The original directory is ignored: only this file's directory is searched.
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let end = to.get("end_byte_offset").and_then(Value::as_u64);
    let is_name = !name.is_empty() && name.len() <= LONGEST && !name.starts_with('.');
    is_name.then(|| (name.to_owned(), end.and_then(|end| usize::try_from(end).ok())))
}

impl Earlier {
    /// Returns whether a file of this name is the one referred to.
    pub fn is_named(&self, file: &str) -> bool {
        let stem = file.strip_suffix(".jsonl");
        file == self.name
            || stem.is_some_and(|stem| stem.strip_suffix(&self.name).is_some_and(|rest| rest.ends_with('-')))
    }

    /// Joins the session into one file, with the earlier part from `other` in place of the line that refers to it.
    pub fn join(&self, other: &[u8], bytes: &[u8]) -> Vec<u8> {
        let other = self.bytes.and_then(|end| other.get(..end)).unwrap_or(other);
        let mut joined = Vec::with_capacity(other.len() + bytes.len());
        joined.extend_from_slice(&bytes[..self.line.start]);
        joined.extend_from_slice(other);
        if !other.ends_with(b"\n") {
            joined.push(b'\n');
        }
        joined.extend_from_slice(&bytes[self.line.end..]);
        joined
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sketch::sketch;

    #[test]
    fn a_session_and_what_it_goes_on_from_are_one_conversation() {
        let say = |text: &str| {
            format!(
                "{{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":\"{text}\"}}]}}}}\n"
            )
        };
        let meta = "{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{\"id\":\"0a\",\"cwd\":\"/w\"}}\n";
        let first = format!("{meta}{}", say("One."));
        let other = format!("{first}{}", say("Taken back."));
        let base = format!(
            "{{\"thread_id\":\"0a1b-2c\",\"end_ordinal_exclusive\":2,\"end_byte_offset\":{}}}",
            first.len()
        );
        let file = format!(
            "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"0b\",\"history_base\":{base}}}}}\n{}",
            say("Two.")
        );
        let found = earlier(file.as_bytes()).unwrap();
        assert!(
            found.is_named("rollout-2026-11-24T10-00-00-0a1b-2c.jsonl") && !found.is_named("rollout-x0a1b-2c.jsonl")
        );
        let joined = found.join(other.as_bytes(), file.as_bytes());
        assert_eq!(earlier(&joined), None);
        let document = crate::read(&joined, None).unwrap();
        assert_eq!(sketch(&document), "user: One.\n-\nuser: Two.\n");
        assert_eq!(document.warnings, []);
        let refers = |payload: &str| {
            earlier(
                format!(
                    "{meta}{{\"type\":\"rollout_reference\",\"payload\":{payload}}}\n{}",
                    say("Two.")
                )
                .as_bytes(),
            )
        };
        let named = refers("{\"rollout_path\":\"/home/mira/.codex/sessions/2026/11/24/rollout-a.jsonl\"}").unwrap();
        assert!(named.is_named("rollout-a.jsonl") && named.bytes.is_none());
        // Neither an incomplete reference nor an invalid name.
        for payload in [
            "{\"rollout_path\":\"a.jsonl\",\"nth_user_message\":3}",
            "{\"rollout_path\":\"..\"}",
            "{}",
            "7",
        ] {
            assert_eq!(refers(payload), None, "{payload}");
        }
    }
}
