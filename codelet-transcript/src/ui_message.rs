//! Messages of the AI SDK as a page displays and stores them (`UIMessage`): a tool call and its result are one part.

use crate::ReadError;
use crate::events;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::Recording;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role};
use codelet_context::refusal::RefusedBy;
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_items: true,
    lists: &["messages"],
    ..Form::new("ui-message", "messages of the AI SDK (UIMessage, JSON)", read)
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

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    if Skim::of_file(bytes).get("messages").is_some() {
        let (mut file, warnings) = lines::whole(bytes, "an object with messages")?;
        let mut gather = Gather::of(warnings);
        for fields in take::objects(&mut file, "messages") {
            message(&mut gather, fields).unwrap_or_else(|kind| gather.unknown(&kind));
        }
        return Ok(gather.finish(Format::UiMessage));
    }
    let mut gather = Gather::default();
    gather.warnings = events::each(bytes, |entry, notes| {
        message(&mut gather, entry.fields).unwrap_or_else(|kind| notes.unknown(entry.line, &kind));
    })?;
    Ok(gather.finish(Format::UiMessage))
}

/// Adds a message; returns the last kind in it that is unknown as the error.
fn message(gather: &mut Gather, mut message: Fields) -> Result<(), String> {
    let role = take::string(&mut message, "role").unwrap_or_default();
    let parts = take::objects(&mut message, "parts");
    let mut known = Ok(());
    let mut noted = |said: Result<Option<Part>, String>| {
        said.unwrap_or_else(|kind| {
            known = Err(kind);
            None
        })
    };
    match role.as_str() {
        "system" => {
            let texts = parts.filter_map(|mut part| take::string(&mut part, "text"));
            gather.system(texts.collect::<Vec<_>>().join("\n"));
        }
        "user" => gather.message(Role::User, parts.filter_map(|part| noted(said(part)))),
        "assistant" => {
            gather.close();
            for part in parts {
                match take::str(&part, "type") {
                    "step-start" => gather.close(),
                    kind if kind.starts_with("tool-") || kind == "dynamic-tool" => called(gather, part),
                    _ => gather.reply(noted(said(part))),
                }
            }
        }
        _ => return Err(role),
    }
    known
}

/// Reads a part; returns its kind as the error if it is unknown.
fn said(mut part: Fields) -> Result<Option<Part>, String> {
    let kind = take::string(&mut part, "type").unwrap_or_default();
    Ok(match kind.as_str() {
        "text" => gather::text_in(&mut part, "text", Origin::Own),
        "reasoning" => ["text", "reasoning"]
            .iter()
            .find_map(|name| gather::unsigned_thinking(&mut part, name)),
        "file" if take::str(&part, "mediaType").starts_with("image/") => {
            take::string(&mut part, "url").map(gather::image_at)
        }
        "file" | "source-url" | "source-document" | "source" | "step-start" => None,
        // Data that a page displays.
        kind if kind.starts_with("data-") => None,
        _ => return Err(kind),
    })
}

/// Adds a call, and its result unless the tool is still running.
fn called(gather: &mut Gather, mut part: Fields) {
    let kind = take::string(&mut part, "type").unwrap_or_default();
    // Older versions nest all of it in one field, under other names.
    let mut call = take::object(&mut part, "toolInvocation").unwrap_or(part);
    let tool = take::string(&mut call, "toolName");
    let tool = tool.unwrap_or_else(|| kind.trim_start_matches("tool-").to_owned());
    let id = take::string(&mut call, "toolCallId").unwrap_or_default();
    let mut first = |names: &[&str]| {
        let values = names.iter().map(|name| take::value(&mut call, name));
        values.into_iter().find(|value| !value.is_null()).unwrap_or_default()
    };
    let parameters = take::parameters(first(&["input", "args", "rawInput"]));
    let output = first(&["output", "result"]);
    gather.reply([gather::call(id.as_str(), tool, parameters)]);
    let result = match take::str(&call, "state") {
        "output-available" | "result" => gather::result(id, None, gather::printed(output)),
        "output-error" => gather::result(id, Some(false), gather::text_in(&mut call, "errorText", Origin::Own)),
        "output-denied" => {
            let why = take::at(&call, &["approval", "reason"])
                .and_then(Value::as_str)
                .unwrap_or_default();
            let mut result = gather::result(id, Some(false), gather::text(Origin::Own, why.to_owned()));
            result.refusal = Some(RefusedBy::User(why.into()));
            result
        }
        _ => return,
    };
    gather.result(result);
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
