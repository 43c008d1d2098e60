//! Session traces of the Hugging Face Hub ("Session Trace Simple Format"): a line about the session, then the messages.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::recording::Recording;
use crate::skim::Seen;
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role};

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    ..Form::new(
        "session-trace",
        "a session trace of the Hugging Face Hub (JSON lines)",
        record,
    )
};

fn shows(first: &Seen) -> bool {
    first.string("type") == Some("session") && first.string("harness").is_some()
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut gather = Gather::default();
    while let Some(mut entry) = lines.next()? {
        let kind = take::string(&mut entry.fields, "type").unwrap_or_default();
        match kind.as_str() {
            "message" => {
                let message = take::object(&mut entry.fields, "message").unwrap_or_default();
                if !self::message(&mut gather, message) {
                    lines.note_unread(entry.line, &kind);
                }
            }
            "session" => {}
            _ => lines.note_unknown(entry.line, &kind),
        }
    }
    gather.warnings = lines.into_warnings();
    Ok(gather.finish(Format::SessionTrace))
}

/// Adds a message; returns whether it could be read.
fn message(gather: &mut Gather, mut message: Fields) -> bool {
    let time = take::number(&message, &["timestamp"]);
    let said = gather::content(take::value(&mut message, "content"), Origin::Own);
    match take::str(&message, "role") {
        "system" => gather.system(gather::words(&said)),
        "user" => gather.message(Role::User, said),
        "assistant" => {
            let thought = gather::unsigned_thinking(&mut message, "reasoningContent");
            let mut parts: Vec<Part> = thought.into_iter().chain(said).collect();
            parts.extend(take::objects(&mut message, "toolCalls").map(gather::function_call));
            gather.replied(parts, time, take::name(&message, &["model"]), None);
        }
        "tool" => {
            let id = take::string(&mut message, "toolCallId").unwrap_or_default();
            gather.result(gather::result(id, None, said));
        }
        _ => return false,
    }
    gather.requests.passed(time);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;

    #[test]
    fn a_trace_is_a_line_a_message() {
        let lines = [
            r#"{"type":"session","harness":"my-agent","id":"s","name":"Tea"}"#,
            r#"{"type":"message","message":{"role":"system","content":"You code."}}"#,
            r#"{"type":"message","message":{"role":"user","content":"Build it.","timestamp":1000}}"#,
            r#"{"type":"message","message":{"role":"assistant","content":"","reasoningContent":"hm","toolCalls":[{"id":"a","function":{"name":"bash","arguments":"{\"command\":\"make\"}"}}],"timestamp":2000,"model":"m"}}"#,
            r#"{"type":"message","message":{"role":"tool","content":"no rule","toolCallId":"a"}}"#,
            r#"{"type":"message","message":{"role":"assistant","content":"It fails."}}"#,
        ]
        .join("\n");
        assert_eq!(crate::detect(lines.as_bytes()), Some(Format::SessionTrace));
        let recording = record(lines.as_bytes()).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "system: You code.\nuser: Build it.\nthinking: hm\ncall a: bash {\"command\":\"make\"}\nresult a unknown: no rule\nassistant: It fails.\n"
        );
        assert_eq!(recording.requests[0].began, Some(1_000));
        assert_eq!(recording.document.warnings, []);
    }
}
