//! Session traces of the Hugging Face Hub ("Session Trace Simple Format"): a line about the session, then the messages.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::recording::{Recording, Requests};
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::trajectory;
use codelet_context::message::{Origin, Part, Role};
use serde_json::Value;
use std::sync::Arc;

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
    let mut requests = Requests::default();
    while let Some(mut entry) = lines.next()? {
        let kind = take::string(&mut entry.fields, "type").unwrap_or_default();
        match kind.as_str() {
            "message" => {
                let message = take::object(&mut entry.fields, "message").unwrap_or_default();
                if !self::message(&mut gather, &mut requests, message) {
                    lines.note_unread(entry.line, &kind);
                }
            }
            "session" => {}
            _ => lines.note_unknown(entry.line, &kind),
        }
    }
    Ok(Recording {
        document: gather.finish(Format::SessionTrace, lines.into_warnings()),
        requests: requests.into_list(),
    })
}

/// Adds a message; returns whether it could be read.
fn message(gather: &mut Gather, requests: &mut Requests, mut message: Fields) -> bool {
    let time = message.get("timestamp").and_then(Value::as_u64);
    let content = take::value(&mut message, "content");
    match take::str(&message, "role") {
        "system" => gather.system(trajectory::plain(content)),
        "user" => gather.message(Role::User, trajectory::content(content, Origin::Own)),
        "assistant" => {
            let words = take::string(&mut message, "reasoningContent").unwrap_or_default();
            let mut parts: Vec<Part> = gather::thinking(words, None, None, None).into_iter().collect();
            parts.extend(trajectory::content(content, Origin::Own));
            parts.extend(take::objects(&mut message, "toolCalls").map(call));
            if !parts.is_empty() {
                let model = take::string(&mut message, "model").map(Arc::from);
                requests.replied(gather.len(), time, model, None);
            }
            gather.message(Role::Assistant, parts);
        }
        "tool" => {
            let id = take::string(&mut message, "toolCallId").unwrap_or_default();
            gather.result(gather::result(id, None, trajectory::content(content, Origin::Own)));
        }
        _ => return false,
    }
    requests.passed(time);
    true
}

fn call(mut call: Fields) -> Part {
    let id = take::string(&mut call, "id").unwrap_or_default();
    let mut function = take::object(&mut call, "function").unwrap_or_default();
    let tool = take::string(&mut function, "name").unwrap_or_default();
    gather::call(id, tool, take::parameters(take::value(&mut function, "arguments")))
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
