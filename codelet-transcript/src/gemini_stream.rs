//! Output of Gemini CLI in non-interactive mode (`--output-format stream-json`): an event per line, replies in
//! fragments.

use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::skim::Seen;
use crate::take;
use crate::{ReadError, Recording};
use codelet_context::message::{Origin, Role};

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    ..Form::new("gemini-stream", "what gemini prints as stream-json (JSON lines)", read)
};

fn shows(first: &Seen) -> bool {
    match first.string("type") {
        Some("init") => first.has("session_id") && first.has("model") && first.has("timestamp"),
        Some("tool_use") => first.has("tool_name") && first.has("tool_id"),
        Some("tool_result") => first.has("tool_id") && first.has("status"),
        _ => false,
    }
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut gather = Gather::default();
    // The fragments of a reply.
    let mut said = String::new();
    while let Some(mut entry) = lines.next()? {
        let fields = &mut entry.fields;
        let kind = take::string(fields, "type").unwrap_or_default();
        let is_piece = kind == "message" && take::str(fields, "role") == "assistant";
        if is_piece {
            said.push_str(take::str(fields, "content"));
            if take::flag(fields, "delta") {
                continue;
            }
        }
        gather.reply(gather::text(Origin::Own, std::mem::take(&mut said)));
        match kind.as_str() {
            "message" if is_piece => gather.close(),
            "message" => gather.message(Role::User, gather::text_in(fields, "content", Origin::Own)),
            "tool_use" => gather.reply([gather::call_in(fields, ["tool_id", "tool_name", "parameters"])]),
            "tool_result" => {
                let id = take::string(fields, "tool_id").unwrap_or_default();
                let has_failed = take::str(fields, "status") == "error";
                let error = take::object(fields, "error").and_then(|mut error| take::string(&mut error, "message"));
                let output = take::string(fields, "output").or(error).unwrap_or_default();
                // A success of the tool may be a failed command: the exit status is in the output.
                let output = gather::text(Origin::Own, output);
                gather.result(gather::result(id, has_failed.then_some(false), output));
            }
            // Meant for the caller.
            "init" | "error" | "result" => {}
            _ => lines.note_unknown(entry.line, &kind),
        }
    }
    gather.reply(gather::text(Origin::Own, said));
    gather.warnings = lines.into_warnings();
    Ok(gather.finish(Format::GeminiStream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;

    #[test]
    fn pieces_are_one_reply_and_events_are_calls_with_their_results() {
        let file = [
            r#"{"type":"init","timestamp":"t","session_id":"s","model":"gemini-3-pro"}"#,
            r#"{"type":"message","timestamp":"t","role":"user","content":"Build it."}"#,
            r#"{"type":"message","timestamp":"t","role":"assistant","content":"I ","delta":true}"#,
            r#"{"type":"message","timestamp":"t","role":"assistant","content":"try.","delta":true}"#,
            r#"{"type":"tool_use","timestamp":"t","tool_name":"run_shell_command","tool_id":"a","parameters":{"command":"make"}}"#,
            r#"{"type":"tool_result","timestamp":"t","tool_id":"a","status":"success","output":"no rule\nExit Code: 2"}"#,
            r#"{"type":"message","timestamp":"t","role":"assistant","content":"It fails.","delta":true}"#,
            r#"{"type":"result","timestamp":"t","status":"success","stats":{"total_tokens":1}}"#,
        ]
        .join("\n");
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::GeminiStream));
        let document = crate::read(file.as_bytes(), None).expect("it is one");
        assert_eq!(
            document.messages[2]
                .tool_results()
                .next()
                .and_then(|result| result.success),
            Some(false)
        );
        check(
            read,
            &file,
            r#"user: Build it.
            assistant: I try.
            call a: run_shell_command {"command":"make"}
            result a unknown: no rule|Exit Code: 2
            assistant: It fails."#,
        );
    }
}
