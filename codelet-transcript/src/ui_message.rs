//! Messages of the AI SDK as a page displays and stores them (`UIMessage`): a tool call and its result are one part.

use crate::events;
use crate::format::{Form, Format, plain};
use crate::gather::{self, Gather};
use crate::lines;
use crate::notes::note_unknown;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use crate::{Document, ReadError, Warning};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use codelet_context::refusal::Refusal;
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_items: true,
    lists: &["messages"],
    ..Form::new("ui-message", "messages of the AI SDK (UIMessage, JSON)", |bytes| {
        plain(read(bytes))
    })
};

/// Parts of Gemini have no type, and messages of OpenCode have no role at this level.
fn shows(first: &Seen) -> bool {
    let is_typed = |part: Skim| part.get_string("type").is_some();
    let is_message = |message: &Seen| {
        let part = message.get("parts").and_then(|parts| parts.items().next());
        message.has("role") && !message.has("info") && part.is_some_and(is_typed)
    };
    let within = first.get("messages").and_then(|messages| messages.items().next());
    is_message(first) || within.is_some_and(|message| is_message(&Seen::new(message)))
}

fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    let head = Skim::new(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let mut gather = Gather::default();
    if head.get("messages").is_some() {
        let (mut file, mut warnings) = lines::whole(bytes, "an object with messages")?;
        for fields in take::objects(&mut file, "messages") {
            message(&mut gather, fields, &mut |kind| note_unknown(&mut warnings, 1, kind));
        }
        return Ok(gather.finish(Format::UiMessage, warnings));
    }
    let warnings: Vec<Warning> = events::each(bytes, |entry, notes| {
        let line = entry.line;
        message(&mut gather, entry.fields, &mut |kind| notes.unknown(line, kind));
    })?;
    Ok(gather.finish(Format::UiMessage, warnings))
}

fn message(gather: &mut Gather, mut message: Fields, unknown: &mut dyn FnMut(&str)) {
    let role = take::string(&mut message, "role").unwrap_or_default();
    let parts: Vec<Fields> = take::objects(&mut message, "parts").collect();
    match role.as_str() {
        "system" => {
            let texts = parts.into_iter().filter_map(|mut part| take::string(&mut part, "text"));
            gather.system(texts.collect::<Vec<_>>().join("\n"));
        }
        "user" => {
            let parts = parts.into_iter().filter_map(|part| said(part, unknown)).collect();
            gather.message(Role::User, parts);
        }
        "assistant" => {
            gather.close();
            for part in parts {
                match take::str(&part, "type") {
                    "step-start" => gather.close(),
                    kind if kind.starts_with("tool-") || kind == "dynamic-tool" => called(gather, part),
                    _ => gather.reply(said(part, unknown).into_iter().collect()),
                }
            }
        }
        other => unknown(other),
    }
}

fn said(mut part: Fields, unknown: &mut dyn FnMut(&str)) -> Option<Part> {
    let kind = take::string(&mut part, "type").unwrap_or_default();
    match kind.as_str() {
        "text" => gather::text(Origin::Own, take::string(&mut part, "text")?),
        "reasoning" => {
            let words = ["text", "reasoning"]
                .iter()
                .find_map(|name| take::string(&mut part, name));
            gather::thinking(words?, None, None, None)
        }
        "file" if take::str(&part, "mediaType").starts_with("image/") => {
            Some(gather::image_at(take::string(&mut part, "url")?))
        }
        "file" | "source-url" | "source-document" | "source" | "step-start" => None,
        // Data that a page displays.
        kind if kind.starts_with("data-") => None,
        other => {
            unknown(other);
            None
        }
    }
}

/// Adds a call, and its result unless the tool is still running.
fn called(gather: &mut Gather, mut part: Fields) {
    let kind = take::string(&mut part, "type").unwrap_or_default();
    // Older versions nest all of it in one field, under other names.
    let mut call = take::object(&mut part, "toolInvocation").unwrap_or(part);
    let tool = take::string(&mut call, "toolName");
    let tool = tool.unwrap_or_else(|| kind.trim_start_matches("tool-").to_owned());
    let id = take::string(&mut call, "toolCallId").unwrap_or_default();
    let given = ["input", "args", "rawInput"]
        .iter()
        .find(|name| call.get(**name).is_some_and(|value| !value.is_null()));
    let parameters = given.map(|name| take::value(&mut call, name)).unwrap_or_default();
    gather.reply(vec![gather::call(id.as_str(), tool, take::parameters(parameters))]);
    let result: Option<ToolResult> = match take::str(&call, "state") {
        "output-available" | "result" => {
            let given = ["output", "result"].iter().find(|name| call.contains_key(**name));
            let output = given.map(|name| take::value(&mut call, name)).unwrap_or_default();
            Some(gather::result(id, None, words(output)))
        }
        "output-error" => {
            let error = take::string(&mut call, "errorText").unwrap_or_default();
            Some(gather::result(id, Some(false), words(Value::String(error))))
        }
        "output-denied" => {
            let approval = call.get("approval").and_then(|approval| approval.get("reason"));
            let why = approval.and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut result = gather::result(id, Some(false), words(Value::String(why.clone())));
            result.refusal = Some(Refusal::User(why.into()));
            Some(result)
        }
        _ => None,
    };
    if let Some(result) = result {
        gather.result(result);
    }
}

fn words(value: Value) -> Vec<Part> {
    let text = match value {
        Value::Null => return Vec::new(),
        Value::String(text) => text,
        other => other.to_string(),
    };
    gather::text(Origin::Own, text).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;
    use serde_json::json;

    #[test]
    fn a_part_of_a_tool_is_a_call_with_its_answer() {
        let list = json!([
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Build it."}]},
            {"id": "2", "role": "assistant", "parts": [
                {"type": "step-start"}, {"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I try."},
                {"type": "tool-bash", "toolCallId": "a", "state": "output-available", "input": {"command": "make"}, "output": "no rule"},
                {"type": "dynamic-tool", "toolName": "read", "toolCallId": "b", "state": "output-error", "input": {"path": "x"}, "errorText": "gone"},
                {"type": "step-start"},
                {"type": "tool-invocation", "toolInvocation": {"toolName": "ls", "toolCallId": "c", "state": "result", "args": {}, "result": {"files": 1}}},
                {"type": "data-weather", "data": {}},
                {"type": "text", "text": "It fails."}]},
        ]);
        let expected = r#"user: Build it.
            thinking: hm
            assistant: I try.
            call a: bash {"command":"make"}
            result a unknown: no rule
            call b: read {"path":"x"}
            result b failed: gone
            call c: ls {}
            result c unknown: {"files":1}
            assistant: It fails."#;
        let whole = json!({"id": "chat", "messages": list});
        for file in [list.to_string(), whole.to_string()] {
            assert_eq!(crate::detect(file.as_bytes()), Some(Format::UiMessage));
            check(read, &file, expected);
        }
    }
}
