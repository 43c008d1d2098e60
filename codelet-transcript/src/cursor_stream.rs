//! Output of Cursor's agent in non-interactive mode (`--output-format stream-json`): one event per line, with each tool
//! call repeated with its result once it is done.

use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::{ReadError, Recording};
use codelet_context::message::{Origin, Role, ToolResult};
use codelet_context::refusal::RefusedBy;
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    ..Form::new(
        "cursor-stream",
        "what Cursor's agent prints as stream-json (JSON lines)",
        read,
    )
};

fn shows(first: &Seen) -> bool {
    match first.string("type") {
        Some("system") => first.string("subtype") == Some("init") && first.has("apiKeySource") && !first.has("tools"),
        Some("tool_call") => first.has("tool_call") && first.has("call_id"),
        _ => false,
    }
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut gather = Gather::default();
    let mut thought = String::new();
    while let Some(mut entry) = lines.next()? {
        let fields = &mut entry.fields;
        let kind = take::string(fields, "type").unwrap_or_default();
        if kind == "thinking" {
            // In fragments, of which the last is empty.
            thought.push_str(take::str(fields, "text"));
            continue;
        }
        gather.reply(gather::unsigned(std::mem::take(&mut thought)));
        match (kind.as_str(), take::str(fields, "subtype")) {
            ("user", _) => {
                let mut message = take::object(fields, "message").unwrap_or_default();
                gather.message(
                    Role::User,
                    gather::content(take::value(&mut message, "content"), Origin::Own),
                );
            }
            ("assistant", _) => {
                let mut message = take::object(fields, "message").unwrap_or_default();
                gather.reply(gather::content(take::value(&mut message, "content"), Origin::Own));
            }
            ("tool_call", "completed") => {
                let id = take::string(fields, "call_id").unwrap_or_default();
                let call = take::object(fields, "tool_call").unwrap_or_default();
                called(&mut gather, &id, call);
            }
            // Meant for the caller, or the starts of calls.
            ("system" | "result" | "interaction_query" | "connection" | "retry", _) | ("tool_call", _) => {}
            _ => lines.note_unknown(entry.line, &kind),
        }
    }
    gather.reply(gather::unsigned(thought));
    gather.warnings = lines.into_warnings();
    Ok(gather.finish(Format::CursorStream))
}

/// Adds a call with its result: an object named after its tool.
fn called(gather: &mut Gather, id: &str, call: Fields) {
    let Some((name, Value::Object(mut inner))) = call.into_iter().find(|(_, value)| value.is_object()) else {
        return;
    };
    let (tool, arguments) = match name.as_str() {
        // A tool without an object of its own.
        "function" => (
            take::string(&mut inner, "name").unwrap_or_default(),
            take::value(&mut inner, "arguments"),
        ),
        _ => (
            name.strip_suffix("ToolCall").unwrap_or(&name).to_owned(),
            take::value(&mut inner, "args"),
        ),
    };
    gather.reply([gather::call(id, tool, take::parameters(arguments))]);
    gather.result(result(id, take::object(&mut inner, "result").unwrap_or_default()));
}

fn result(id: &str, result: Fields) -> ToolResult {
    let Some((how, value)) = result.into_iter().next() else {
        return gather::result(id, None, None);
    };
    let mut fields = match value {
        Value::Object(fields) => fields,
        other => Fields::from_iter([("text".to_owned(), other)]),
    };
    let status = fields.get("exitCode").and_then(Value::as_i64);
    let success = match (how.as_str(), status) {
        (_, Some(status)) => Some(status == 0),
        ("success", None) => Some(true),
        _ => Some(false),
    };
    const WORDS: [&str; 8] = [
        "stdout", "stderr", "content", "output", "text", "message", "error", "errorMessage",
    ];
    let texts = WORDS.iter();
    let mut output: Vec<_> = texts
        .filter_map(|name| gather::text_in(&mut fields, name, Origin::Own))
        .collect();
    if output.is_empty() && fields.values().any(|value| value.is_array() || value.is_object()) {
        output.extend(gather::text(Origin::Own, Value::Object(fields.clone()).to_string()));
    }
    let mut answer = gather::result(id, success, output);
    if how == "rejected" {
        answer.refusal = Some(RefusedBy::User(take::str(&fields, "reason").into()));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;

    #[test]
    fn a_call_stands_where_it_is_done_with_its_answer() {
        let lines = [
            r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/w","session_id":"s","model":"Auto","permissionMode":"default"}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Build it."}]},"session_id":"s"}"#,
            r#"{"type":"thinking","subtype":"delta","text":"hm","session_id":"s"}"#,
            r#"{"type":"thinking","subtype":"completed","session_id":"s"}"#,
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I try."}]},"session_id":"s"}"#,
            r#"{"type":"tool_call","subtype":"started","call_id":"a","tool_call":{"shellToolCall":{"args":{"command":"make"}}},"session_id":"s"}"#,
            r#"{"type":"tool_call","subtype":"completed","call_id":"a","tool_call":{"shellToolCall":{"args":{"command":"make"},"result":{"success":{"command":"make","exitCode":2,"stdout":"built","stderr":"no rule"}}}},"session_id":"s"}"#,
            r#"{"type":"tool_call","subtype":"completed","call_id":"b","tool_call":{"readToolCall":{"args":{"path":"x"},"result":{"success":{"content":"x is","totalLines":1}}}},"session_id":"s"}"#,
            r#"{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"rm x"},"result":{"rejected":{"command":"rm x","reason":"keep it"}}}},"session_id":"s"}"#,
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"It fails."}]},"session_id":"s"}"#,
            r#"{"type":"result","subtype":"success","duration_ms":1,"is_error":false,"result":"I try.It fails.","session_id":"s"}"#,
        ]
        .join("\n");
        assert_eq!(crate::detect(lines.as_bytes()), Some(Format::CursorStream));
        check(
            read,
            &lines,
            r#"user: Build it.
               thinking: hm
               assistant: I try.
               call a: shell {"command":"make"}
               result a failed: built + no rule
               call b: read {"path":"x"}
               result b ok: x is
               call c: shell {"command":"rm x"}
               result c failed:
               assistant: It fails."#,
        );
        let document = read(lines.as_bytes()).expect("it is one").document;
        let mut results = document.messages.iter().flat_map(|message| message.tool_results());
        assert_eq!(
            results.nth(2).and_then(|result| result.refusal.clone()),
            Some(RefusedBy::User("keep it".into()))
        );
    }
}
