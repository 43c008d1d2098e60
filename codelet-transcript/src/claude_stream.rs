//! Output of Claude Code in non-interactive mode (`--output-format stream-json`, or `json` with `--verbose`): the
//! entries of a session without the tree, one per line or in one list.

use crate::claude_code::{self, ClaudeSession};
use crate::events;
use crate::format::{Form, Format};
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::{ReadError, Recording};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    is_items: true,
    blocks_of: Some(Format::Anthropic),
    ..Form::new(
        "claude-stream",
        "what claude -p prints as stream-json (JSON lines or a list)",
        record,
    )
};

fn shows(entry: &Seen) -> bool {
    let is_of_session = entry.has("session_id");
    is_of_session
        && match entry.string("type") {
            // Other agents begin in the same way, and have different entries for calls.
            Some("system") => entry.string("subtype") == Some("init") && entry.has("tools"),
            Some("user" | "assistant" | "stream_event") => entry.has("parent_tool_use_id"),
            Some("result") => entry.has("num_turns"),
            _ => false,
        }
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut session = ClaudeSession::default();
    let warnings = events::each(bytes, |entry, notes| {
        if let Some(kind) = claude_code::unread(&entry.fields) {
            notes.unread(entry.line, kind);
        }
        if let Some(kind) = take_in(&mut session, entry.fields) {
            notes.unknown(entry.line, &kind);
        }
    })?;
    let on = session.branch().on;
    Ok(session.finish(on, warnings).finish(Format::ClaudeStream))
}

/// Adds an entry; returns its kind if it is unknown.
fn take_in(session: &mut ClaudeSession, mut fields: Fields) -> Option<String> {
    // A subagent's work is a conversation of its own.
    if fields.get("parent_tool_use_id").is_some_and(Value::is_string) {
        return None;
    }
    match take::str(&fields, "type") {
        "user" | "assistant" => {}
        // Fragments of messages that follow in full, and metadata about the run.
        "system" | "result" | "stream_event" | "rate_limit_event" | "tool_progress" | "tool_use_summary"
        | "auth_status" | "prompt_suggestion" | "control_request" | "control_response" | "keep_alive" => return None,
        other => return Some(other.to_owned()),
    }
    // There is no tree: each entry follows the one before it.
    fields.remove("uuid");
    for (here, there) in [("tool_use_result", "toolUseResult"), ("isSynthetic", "isMeta")] {
        if let Some(value) = fields.remove(here) {
            fields.insert(there.to_owned(), value);
        }
    }
    session.entry(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch;

    const LINES: &[&str] = &[
        r#"{"type":"system","subtype":"init","session_id":"s","cwd":"/w","tools":["Bash"],"model":"claude-opus-5","uuid":"1"}"#,
        r#"{"type":"user","session_id":"s","uuid":"2","parent_tool_use_id":null,"message":{"role":"user","content":"Run the tests."}}"#,
        r#"{"type":"assistant","session_id":"s","uuid":"3","parent_tool_use_id":null,"message":{"id":"m1","role":"assistant","model":"claude-opus-5","content":[{"type":"text","text":"I run them."}],"usage":{"input_tokens":3,"cache_read_input_tokens":90,"output_tokens":5}}}"#,
        r#"{"type":"assistant","session_id":"s","uuid":"4","parent_tool_use_id":null,"message":{"id":"m1","role":"assistant","model":"claude-opus-5","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"test"}}],"usage":{"input_tokens":3,"cache_read_input_tokens":90,"output_tokens":25}}}"#,
        r#"{"type":"user","session_id":"s","uuid":"5","parent_tool_use_id":"t1","message":{"role":"user","content":[{"type":"text","text":"of the helper"}]}}"#,
        r#"{"type":"assistant","session_id":"s","uuid":"6","parent_tool_use_id":"t1","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"by the helper"}]}}"#,
        r#"{"type":"user","session_id":"s","uuid":"7","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"2 failed","is_error":true}]},"tool_use_result":"Error: 2 failed"}"#,
        r#"{"type":"user","session_id":"s","uuid":"8","parent_tool_use_id":null,"isSynthetic":true,"message":{"role":"user","content":"a note"}}"#,
        r#"{"type":"assistant","session_id":"s","uuid":"9","parent_tool_use_id":null,"message":{"id":"m3","role":"assistant","content":[{"type":"text","text":"Two fail."}]}}"#,
        r#"{"type":"result","subtype":"success","session_id":"s","num_turns":2,"result":"Two fail.","total_cost_usd":0.01}"#,
    ];

    #[test]
    fn a_stream_is_read_as_lines_and_as_a_list_without_what_helpers_said() {
        for file in [LINES.join("\n"), format!("[{}]", LINES.join(",\n"))] {
            assert_eq!(crate::detect(file.as_bytes()), Some(Format::ClaudeStream));
            let recording = record(file.as_bytes()).expect("it is one");
            assert_eq!(
                sketch::sketch(&recording.document),
                "user: Run the tests.\n\
                 assistant: I run them.\n\
                 call t1: Task {\"prompt\":\"test\"}\n\
                 result t1 failed: 2 failed\n-\n\
                 user (injected): a note\n\
                 assistant: Two fail.\n"
            );
            let first = recording.requests[0].billed.expect("it is recorded");
            assert_eq!((first.usage.prompt(), first.usage.output), (93, 25));
            assert_eq!(recording.document.warnings, []);
        }
    }
}
