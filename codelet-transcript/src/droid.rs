//! Sessions of Factory's Droid: a line about the session, then one line per message in Anthropic's format.

use crate::ReadError;
use crate::blocks;
use crate::claude_code::user_parts;
use crate::format::{Form, Format};
use crate::gather::Gather;
use crate::lines::Lines;
use crate::recording::{self, Recording};
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::told;
use codelet_context::message::{Origin, Part};

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    blocks_of: Some(Format::Anthropic),
    ..Form::new("droid", "a session file of Factory's Droid (JSON lines)", record)
};

fn shows(first: &Seen) -> bool {
    first.string("type") == Some("session_start") && first.has("id")
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut gather = Gather::default();
    while let Some(mut entry) = lines.next()? {
        let kind = take::string(&mut entry.fields, "type").unwrap_or_default();
        let time = recording::time(&entry.fields);
        match kind.as_str() {
            "message" => {
                let message = take::object(&mut entry.fields, "message").unwrap_or_default();
                if !self::message(&mut gather, message, time) {
                    lines.note_unread(entry.line, &kind);
                }
                gather.requests.passed(time);
            }
            // Notes of the program.
            "session_start" | "session_settings" | "todo_state" | "agent_turn_outcome" | "compaction_state" => {}
            _ => lines.note_unknown(entry.line, &kind),
        }
    }
    gather.warnings = lines.into_warnings();
    let mut recording = gather.finish(Format::Droid);
    // Reminders are mixed with the user's text, in the tags of a harness.
    told::mark(&mut recording.document.messages);
    Ok(recording)
}

/// Adds a message; returns whether it could be read.
fn message(gather: &mut Gather, mut message: Fields, time: Option<u64>) -> bool {
    let content = take::value(&mut message, "content");
    if !content.is_string() && !content.is_array() {
        return false;
    }
    let mut parts = blocks::content(content, Origin::Own);
    match take::str(&message, "role") {
        "assistant" => {
            parts.retain(|part| !matches!(part, Part::ToolResult(_)));
            gather.replied(parts, time, None, None);
        }
        "user" => {
            parts.retain(|part| !matches!(part, Part::ToolCall(_)));
            user_parts(gather, parts);
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;

    #[test]
    fn messages_are_read_with_the_status_in_the_frame_of_an_output() {
        let lines = [
            r#"{"type":"session_start","id":"s","title":"x","cwd":"/w","version":2}"#,
            r#"{"type":"message","id":"1","timestamp":"2026-10-01T10:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"<system-reminder>\nToday.\n</system-reminder>"},{"type":"text","text":"Build it."}]}}"#,
            r#"{"type":"message","id":"2","timestamp":"2026-10-01T10:00:03.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"t1","name":"Execute","input":{"command":"make"}}]}}"#,
            r#"{"type":"message","id":"3","timestamp":"2026-10-01T10:00:05.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Error: Command failed (exit code: 2)\nno rule"}]}}"#,
            r#"{"type":"todo_state","id":"4","timestamp":"t","todos":{}}"#,
            r#"{"type":"message","id":"5","timestamp":"2026-10-01T10:00:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"It fails."}]}}"#,
        ]
        .join("\n");
        assert_eq!(crate::detect(lines.as_bytes()), Some(Format::Droid));
        let recording = crate::record(lines.as_bytes(), None).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "user (injected): <system-reminder>|Today.|</system-reminder>\nuser: Build it.\n\
             thinking of anthropic signed sig: hm\ncall t1: Execute {\"command\":\"make\"}\n\
             result t1 failed: Error: Command failed (exit code: 2)|no rule\nassistant: It fails.\n"
        );
        let began: Vec<_> = recording.requests.iter().map(|request| request.began).collect();
        assert_eq!(
            began,
            ["2026-10-01T10:00:00Z", "2026-10-01T10:00:05Z"].map(recording::instant)
        );
        assert_eq!(recording.document.warnings, []);
    }
}
