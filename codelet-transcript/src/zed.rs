//! Threads of Zed's agent as stored in its database: messages, with tool results next to their calls.

use crate::ReadError;
use crate::actions;
use crate::format::{Form, Format, plain};
use crate::gather::{self, Gather};
use crate::lines;
use crate::notes::note_unknown;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use crate::{Document, Warning};
use codelet_context::message::{ActionKind, Origin, Part, Role, ToolResult};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["messages"],
    ..Form::new("zed", "a thread of Zed's agent (its store, or JSON)", |bytes| {
        plain(read(bytes))
    })
};

fn shows(first: &Seen) -> bool {
    let is_message = |message: Skim| message.get("User").is_some() || message.get("Agent").is_some();
    let is_older = |message: Skim| message.get("segments").is_some() && message.get("role").is_some();
    let message = first.get("messages").and_then(|messages| messages.items().next());
    first.has("version") && message.is_some_and(|message| is_message(message) || is_older(message))
}

fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a thread: an object with messages")?;
    let mut thread = Thread {
        gather: Gather::default(),
        warnings,
    };
    for message in take::list(&mut file, "messages") {
        match message {
            Value::Object(mut message) => {
                if let Some(user) = take::object(&mut message, "User") {
                    thread.user(user);
                } else if let Some(agent) = take::object(&mut message, "Agent") {
                    thread.agent(agent);
                } else if message.contains_key("segments") {
                    thread.older(message);
                } else {
                    let kind = message.keys().next().map_or("", String::as_str);
                    note_unknown(&mut thread.warnings, 1, kind);
                }
            }
            Value::String(kind) if kind == "Resume" => {
                let words = Part::text_from(Origin::Injected, "Continue where you left off");
                thread.gather.message(Role::User, vec![words]);
            }
            other => note_unknown(&mut thread.warnings, 1, other.as_str().unwrap_or_default()),
        }
    }
    Ok(thread.gather.finish(Format::Zed, thread.warnings))
}

struct Thread {
    gather: Gather,
    warnings: Vec<Warning>,
}

impl Thread {
    fn user(&mut self, mut message: Fields) {
        let mut parts = Vec::new();
        let mut beside = Vec::new();
        for mut item in take::objects(&mut message, "content") {
            if let Some(text) = take::string(&mut item, "Text") {
                parts.extend(gather::text(Origin::Own, text));
            } else if let Some(mut mention) = take::object(&mut item, "Mention") {
                let name = first_text(&take::value(&mut mention, "uri")).map(|name| format!("@{name}"));
                parts.extend(name.and_then(|name| gather::text(Origin::Own, name)));
                let content = take::string(&mut mention, "content").unwrap_or_default();
                beside.extend(gather::text(Origin::Injected, content));
            } else if let Some(image) = take::object(&mut item, "Image") {
                parts.extend(picture(image));
            } else {
                note_unknown(&mut self.warnings, 1, item.keys().next().map_or("", String::as_str));
            }
        }
        parts.extend(beside);
        self.gather.message(Role::User, parts);
    }

    fn agent(&mut self, mut message: Fields) {
        let mut parts = Vec::new();
        for mut item in take::objects(&mut message, "content") {
            if let Some(text) = take::string(&mut item, "Text") {
                parts.extend(gather::text(Origin::Own, text));
            } else if let Some(thought) = take::object(&mut item, "Thinking") {
                parts.extend(thinking(thought));
            } else if let Some(data) = take::string(&mut item, "RedactedThinking") {
                parts.extend(gather::thinking(String::new(), None, Some(data), Some("anthropic")));
            } else if let Some(call) = take::object(&mut item, "ToolUse") {
                parts.push(self::call(call));
            } else {
                note_unknown(&mut self.warnings, 1, item.keys().next().map_or("", String::as_str));
            }
        }
        let results = take::object(&mut message, "tool_results").unwrap_or_default();
        self.replied(parts, results.into_iter().map(|(_, result)| result));
    }

    /// Adds a message of a version before 0.3.
    fn older(&mut self, mut message: Fields) {
        let mut parts = Vec::new();
        for mut segment in take::objects(&mut message, "segments") {
            match take::str(&segment, "type") {
                "text" => {
                    parts.extend(take::string(&mut segment, "text").and_then(|text| gather::text(Origin::Own, text)))
                }
                "thinking" => parts.extend(thinking(segment)),
                "redacted_thinking" => {}
                other => note_unknown(&mut self.warnings, 1, other),
            }
        }
        match take::str(&message, "role") {
            "assistant" => {
                parts.extend(take::objects(&mut message, "tool_uses").map(call));
                let results = take::list(&mut message, "tool_results");
                self.replied(parts, results.into_iter());
            }
            "user" => {
                let context = take::string(&mut message, "context").unwrap_or_default();
                parts.extend(gather::text(Origin::Injected, context));
                self.gather.message(Role::User, parts);
            }
            // Notes of the program.
            _ => {}
        }
    }

    fn replied(&mut self, parts: Vec<Part>, results: impl Iterator<Item = Value>) {
        self.gather.message(Role::Assistant, parts);
        for result in results {
            if let Value::Object(fields) = result {
                self.gather.result(self::result(fields));
            }
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

fn picture(mut image: Fields) -> Option<Part> {
    take::string(&mut image, "source").map(|data| gather::image("image/png", data))
}

fn thinking(mut thought: Fields) -> Option<Part> {
    let words = take::string(&mut thought, "text").unwrap_or_default();
    gather::thinking(words, take::string(&mut thought, "signature"), None, Some("anthropic"))
}

fn call(mut call: Fields) -> Part {
    let id = take::string(&mut call, "id").unwrap_or_default();
    let tool = take::string(&mut call, "name").unwrap_or_default();
    gather::call(id, tool, take::parameters(take::value(&mut call, "input")))
}

fn result(mut result: Fields) -> ToolResult {
    let id = take::string(&mut result, "tool_use_id").unwrap_or_default();
    let tool = take::string(&mut result, "tool_name").unwrap_or_default();
    let is_command = actions::action(&tool, &Fields::new()).kind == ActionKind::Command;
    // If a command exits with a status other than 0, only the output says so.
    let success = match take::flag(&result, "is_error") {
        true => Some(false),
        false if is_command => None,
        false => Some(true),
    };
    let output = match take::value(&mut result, "content") {
        Value::Array(items) => items.into_iter().filter_map(output).collect(),
        other => output(other).into_iter().collect(),
    };
    gather::result(id, success, output)
}

/// Reads a text or an image, in the format of any version.
fn output(value: Value) -> Option<Part> {
    match value {
        Value::String(text) => gather::text(Origin::Own, text),
        Value::Object(mut fields) => {
            if let Some(image) = take::object(&mut fields, "Image") {
                return picture(image);
            }
            let text = ["Text", "text"].iter().find_map(|name| take::string(&mut fields, name));
            gather::text(Origin::Own, text?)
        }
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
