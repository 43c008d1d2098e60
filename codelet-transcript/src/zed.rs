//! Threads of Zed's agent as stored in its database: messages, with tool results next to their calls.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::Recording;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["messages"],
    ..Form::new("zed", "a thread of Zed's agent (its store, or JSON)", read)
};

fn shows(first: &Seen) -> bool {
    let is_message = |message: Skim| message.get("User").is_some() || message.get("Agent").is_some();
    let is_older = |message: Skim| message.get("segments").is_some() && message.get("role").is_some();
    let message = first.get("messages").and_then(|messages| messages.items().next());
    first.has("version") && message.is_some_and(|message| is_message(message) || is_older(message))
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a thread: an object with messages")?;
    let mut gather = Gather::of(warnings);
    for message in take::list(&mut file, "messages") {
        match message {
            Value::Object(mut message) => {
                if let Some(user) = take::object(&mut message, "User") {
                    self::user(&mut gather, user);
                } else if let Some(agent) = take::object(&mut message, "Agent") {
                    self::agent(&mut gather, agent);
                } else if message.contains_key("segments") {
                    older(&mut gather, message);
                } else {
                    gather.unknown(kind(&message));
                }
            }
            Value::String(kind) if kind == "Resume" => {
                let words = Part::text_from(Origin::Injected, "Continue where you left off");
                gather.message(Role::User, [words]);
            }
            other => gather.unknown(other.as_str().unwrap_or_default()),
        }
    }
    Ok(gather.finish(Format::Zed))
}

/// Returns the kind of an object: the name of its only field.
fn kind(fields: &Fields) -> &str {
    fields.keys().next().map_or("", String::as_str)
}

fn user(gather: &mut Gather, mut message: Fields) {
    let (mut parts, mut beside) = (Vec::new(), Vec::new());
    for mut item in take::objects(&mut message, "content") {
        match kind(&item) {
            "Text" => parts.extend(gather::text_in(&mut item, "Text", Origin::Own)),
            "Mention" => {
                let mut mention = take::object(&mut item, "Mention").unwrap_or_default();
                let name = first_text(&take::value(&mut mention, "uri")).map(|name| format!("@{name}"));
                parts.extend(name.and_then(|name| gather::text(Origin::Own, name)));
                beside.extend(gather::text_in(&mut mention, "content", Origin::Injected));
            }
            "Image" => parts.extend(picture(&mut item)),
            other => gather.unknown(other),
        }
    }
    parts.extend(beside);
    gather.message(Role::User, parts);
}

fn agent(gather: &mut Gather, mut message: Fields) {
    let mut parts = Vec::new();
    for mut item in take::objects(&mut message, "content") {
        match kind(&item) {
            "Text" => parts.extend(gather::text_in(&mut item, "Text", Origin::Own)),
            "Thinking" => parts.extend(take::object(&mut item, "Thinking").and_then(thinking)),
            "RedactedThinking" => {
                let data = take::string(&mut item, "RedactedThinking");
                parts.extend(gather::thinking(String::new(), None, data, Some("anthropic")));
            }
            "ToolUse" => parts.extend(take::object(&mut item, "ToolUse").map(call)),
            other => gather.unknown(other),
        }
    }
    let results = take::object(&mut message, "tool_results").unwrap_or_default();
    replied(gather, parts, results.into_iter().map(|(_, result)| result));
}

/// Adds a message of a version before 0.3.
fn older(gather: &mut Gather, mut message: Fields) {
    let mut parts = Vec::new();
    for mut segment in take::objects(&mut message, "segments") {
        match take::str(&segment, "type") {
            "text" => parts.extend(gather::text_in(&mut segment, "text", Origin::Own)),
            "thinking" => parts.extend(thinking(segment)),
            "redacted_thinking" => {}
            other => gather.unknown(other),
        }
    }
    match take::str(&message, "role") {
        "assistant" => {
            parts.extend(take::objects(&mut message, "tool_uses").map(call));
            replied(gather, parts, take::list(&mut message, "tool_results"));
        }
        "user" => {
            parts.extend(gather::text_in(&mut message, "context", Origin::Injected));
            gather.message(Role::User, parts);
        }
        // Notes of the program.
        _ => {}
    }
}

fn replied(gather: &mut Gather, parts: Vec<Part>, results: impl IntoIterator<Item = Value>) {
    gather.message(Role::Assistant, parts);
    for result in results {
        if let Value::Object(fields) = result {
            gather.result(self::result(fields));
        }
    }
}

/// Returns the first text in a value: the target of a mention.
fn first_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(fields) => fields.values().find_map(first_text),
        _ => None,
    }
}

fn picture(item: &mut Fields) -> Option<Part> {
    let mut image = take::object(item, "Image")?;
    Some(gather::image("image/png", take::string(&mut image, "source")?))
}

fn thinking(mut thought: Fields) -> Option<Part> {
    let words = take::string(&mut thought, "text").unwrap_or_default();
    gather::thinking(words, take::string(&mut thought, "signature"), None, Some("anthropic"))
}

fn call(mut call: Fields) -> Part {
    gather::call_in(&mut call, ["id", "name", "input"])
}

fn result(mut result: Fields) -> ToolResult {
    let id = take::string(&mut result, "tool_use_id").unwrap_or_default();
    let success = gather::success_of(take::str(&result, "tool_name"), take::flag(&result, "is_error"));
    let output: Vec<Part> = match take::value(&mut result, "content") {
        Value::Array(items) => items.into_iter().filter_map(output).collect(),
        other => output(other).into_iter().collect(),
    };
    gather::result(id, success, output)
}

/// Reads a text or an image, in the format of any version.
fn output(value: Value) -> Option<Part> {
    match value {
        Value::String(text) => gather::text(Origin::Own, text),
        Value::Object(mut fields) if fields.contains_key("Image") => picture(&mut fields),
        Value::Object(mut fields) => ["Text", "text"]
            .iter()
            .find_map(|name| gather::text_in(&mut fields, name, Origin::Own)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;
    use serde_json::json;

    #[test]
    fn threads_of_all_versions_are_read() {
        let thread = json!({"version": "0.3.0", "title": "t", "messages": [
            {"User": {"id": "1", "content": [{"Text": "Build "}, {"Mention": {"uri": {"File": {"abs_path": "/w/Makefile"}}, "content": "all:"}}]}},
            {"Agent": {"content": [
                {"Thinking": {"text": "hm", "signature": "sig"}}, {"Text": "I try."},
                {"ToolUse": {"id": "a", "name": "terminal", "raw_input": "", "input": {"command": "make"}, "is_input_complete": true}},
                {"ToolUse": {"id": "b", "name": "read_file", "input": {"path": "x"}}}],
              "tool_results": {
                "a": {"tool_use_id": "a", "tool_name": "terminal", "is_error": true, "content": [{"Text": "no rule"}], "output": null},
                "b": {"tool_use_id": "b", "tool_name": "read_file", "is_error": false, "content": {"Text": "x is"}}}}},
            "Resume",
            {"Agent": {"content": [{"Text": "It fails."}], "tool_results": {}}}]});
        assert_eq!(crate::detect(thread.to_string().as_bytes()), Some(Format::Zed));
        check(
            read,
            &thread.to_string(),
            r#"user: Build
               user: @/w/Makefile
               user (injected): all:
               thinking of anthropic signed sig: hm
               assistant: I try.
               call a: terminal {"command":"make"}
               call b: read_file {"path":"x"}
               result a failed: no rule
               result b ok: x is
               -
               user (injected): Continue where you left off
               assistant: It fails."#,
        );
        let older = json!({"version": "0.2.0", "summary": "t", "messages": [
            {"id": 0, "role": "user", "segments": [{"type": "text", "text": "Build it."}], "context": "all:"},
            {"id": 1, "role": "assistant", "segments": [{"type": "text", "text": "I try."}],
             "tool_uses": [{"id": "a", "name": "terminal", "input": {"command": "make"}}],
             "tool_results": [{"tool_use_id": "a", "is_error": true, "content": "no rule"}]}]});
        assert_eq!(crate::detect(older.to_string().as_bytes()), Some(Format::Zed));
        check(
            read,
            &older.to_string(),
            r#"user: Build it.
               user (injected): all:
               assistant: I try.
               call a: terminal {"command":"make"}
               result a failed: no rule"#,
        );
    }
}
