//! Anthropic Messages.

use super::{Faults, is_blank, parts, text};
use crate::vendor::blocks::{is_server_call, is_server_result};
use serde_json::Value;
use std::collections::HashSet;

/// The maximum number of cache breakpoints in a request ("Prompt caching", platform.claude.com, November 2026).
const MOST_MARKS: usize = 4;

/// The types of images ("Vision", platform.claude.com, November 2026).
const IMAGES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The types of content blocks besides the results of the provider's own tools ("Messages", platform.claude.com, November 2026).
const BLOCKS: &[&str] = &[
    "text", "image", "document", "search_result", "thinking", "redacted_thinking", "tool_use", "tool_result",
    "server_tool_use", "mcp_tool_use", "container_upload", "compaction", "tool_reference",
];

pub(super) fn check(request: &Value, messages: &[Value], faults: &mut Faults) {
    cache_marks(request, messages, faults);
    let mut check = AnthropicCheck::default();
    for (at, message) in messages.iter().enumerate() {
        let content = message.get("content");
        let blocks = content.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let role = text(message, "role");
        let is_prefill = at + 1 == messages.len() && role == "assistant";
        if is_blank(content) && !is_prefill && !is_setting(message) {
            faults.add(format!("{at}.content"), "The message is empty.");
        }
        match role {
            "user" => check.user(at, content, blocks, faults),
            "assistant" => check.assistant(at, blocks, faults),
            "system" => check.system(at, message, faults),
            other => faults.add(format!("{at}.role"), format!("Unknown role {other:?}.")),
        }
        for (number, block) in blocks.iter().enumerate() {
            if text(block, "type") == "text" && is_blank(block.get("text")) {
                faults.add(format!("{at}.content.{number}"), "A text is empty or only white space.");
            }
            if !is_server_result(text(block, "type")) {
                faults.type_of(format!("{at}.content.{number}"), text(block, "type"), BLOCKS);
            }
            image(&format!("{at}.content.{number}"), block, faults);
            for (inner, block) in parts(block) {
                image(&format!("{at}.content.{number}.content.{inner}"), block, faults);
            }
        }
    }
    check.end(messages, faults);
}

/// Returns whether a message is a system message without text, which only changes a setting.
fn is_setting(message: &Value) -> bool {
    text(message, "role") == "system" && message.get("output_config").is_some_and(Value::is_object)
}

fn image(place: &str, block: &Value, faults: &mut Faults) {
    if text(block, "type") == "image"
        && let Some(source) = block.get("source")
        && let Some(kind) = source.get("media_type").and_then(Value::as_str)
    {
        faults.type_of(format!("{place}.source.media_type"), kind, IMAGES);
    }
}

/// Checks the number of cache marks, and their order in a prompt: tools, system, messages.
fn cache_marks(request: &Value, messages: &[Value], faults: &mut Faults) {
    let mut found = Vec::new();
    for name in ["tools", "system"] {
        request.get(name).into_iter().for_each(|value| marks(value, &mut found));
    }
    messages.iter().for_each(|message| marks(message, &mut found));
    let whole = request.get(MARK).filter(|mark| !mark.is_null());
    let count = found.len() + usize::from(whole.is_some());
    if count > MOST_MARKS {
        faults.add("", format!("{count} blocks have cache_control; {MOST_MARKS} may."));
    }
    if !found.is_sorted_by_key(|mark| text(mark, "ttl") != "1h") {
        faults.add(
            "",
            "A cache mark with a ttl of 1h follows one of 5m; it must precede it.",
        );
    }
}

const MARK: &str = "cache_control";

fn marks<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            let inner = fields
                .iter()
                .filter(|(name, _)| !["input", MARK].contains(&name.as_str()));
            inner.for_each(|(_, value)| marks(value, found));
            found.extend(fields.get(MARK).filter(|mark| !mark.is_null()));
        }
        Value::Array(items) => items.iter().for_each(|item| marks(item, found)),
        _ => {}
    }
}

#[derive(Default)]
struct AnthropicCheck<'a> {
    /// The role of the last message, ignoring system messages.
    last: &'a str,
    /// System messages that must be followed by a reply or the end: the index of the first.
    system: Option<usize>,
    ids: HashSet<&'a str>,
    /// Calls of the newest reply without a result.
    open: Vec<&'a str>,
    /// Other text of the user follows the newest reply.
    has_spoken: bool,
    /// A program made some of them, and is waiting.
    is_program: bool,
    /// Server tool calls in the current reply, and those of them without a result.
    server: HashSet<&'a str>,
    running: Vec<(usize, &'a str)>,
}

impl<'a> AnthropicCheck<'a> {
    fn user(&mut self, at: usize, content: Option<&'a Value>, blocks: &'a [Value], faults: &mut Faults) {
        if self.system.take().is_some() {
            faults.add(
                at.to_string(),
                "A system message cannot come directly before a user message.",
            );
        }
        let others = blocks.iter().any(|block| text(block, "type") != "tool_result");
        let speaks = content.is_some_and(Value::is_string) || others;
        if self.is_program && speaks {
            let sentence = "A program waits for these results, so the message may hold nothing else.";
            faults.add(at.to_string(), sentence);
        }
        if speaks {
            for (_, id) in std::mem::take(&mut self.running) {
                faults.add(
                    at.to_string(),
                    format!("The vendor's own call {id:?} has no result before this message."),
                );
            }
            self.server.clear();
        }
        for (number, block) in blocks.iter().enumerate() {
            if text(block, "type") != "tool_result" {
                self.has_spoken = true;
                continue;
            }
            let place = format!("{at}.content.{number}");
            let id = text(block, "tool_use_id");
            match self.open.iter().position(|open| *open == id) {
                Some(open) => drop(self.open.remove(open)),
                None => faults.add(
                    &place,
                    format!("The result answers no call directly before it: {id:?}."),
                ),
            }
            if self.has_spoken {
                faults.add(&place, "Results must come first in a message.");
            }
        }
        self.has_spoken |= content.is_some_and(Value::is_string);
        self.last = "user";
    }

    fn assistant(&mut self, at: usize, blocks: &'a [Value], faults: &mut Faults) {
        if self.last.is_empty() {
            faults.add(at.to_string(), "The conversation must start with a user message.");
        }
        // Two consecutive replies are one.
        if self.last == "user" {
            faults.unanswered(at, std::mem::take(&mut self.open));
            self.is_program = false;
        }
        (self.system, self.last, self.has_spoken) = (None, "assistant", false);
        for (number, block) in blocks.iter().enumerate() {
            let place = format!("{at}.content.{number}");
            let id = text(block, "id");
            match text(block, "type") {
                "tool_use" => self.call(&place, id, block, faults),
                kind if is_server_call(kind) => {
                    self.server.insert(id);
                    self.running.push((at, id));
                }
                kind if is_server_result(kind) => {
                    let id = text(block, "tool_use_id");
                    self.running.retain(|(_, running)| *running != id);
                    if !self.server.contains(id) {
                        faults.add(&place, format!("The {kind} has no call in this reply: {id:?}."));
                    }
                }
                "thinking" if text(block, "signature").is_empty() => faults.add(&place, "Thinking has no signature."),
                _ => {}
            }
        }
    }

    fn call(&mut self, place: &str, id: &'a str, block: &'a Value, faults: &mut Faults) {
        if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
            faults.add(
                place,
                format!("The id {id:?} has characters that are not allowed, or is empty."),
            );
        }
        if !self.ids.insert(id) {
            faults.add(place, format!("The id {id:?} was used before."));
        }
        if !block.get("input").is_some_and(Value::is_object) {
            faults.add(place, "The input is not an object.");
        }
        self.open.push(id);
        let caller = block
            .get("caller")
            .filter(|caller| !matches!(text(caller, "type"), "" | "direct"));
        if let Some(caller) = caller {
            self.is_program = true;
            if !self.server.contains(text(caller, "tool_id")) {
                faults.add(
                    place,
                    format!("The caller {:?} is not in this reply.", text(caller, "tool_id")),
                );
            }
        }
    }

    fn system(&mut self, at: usize, message: &'a Value, faults: &mut Faults) {
        let is_setting = is_setting(message) && is_blank(message.get("content"));
        if is_setting && self.system.is_none() {
            return;
        }
        if self.last != "user" {
            faults.add(at.to_string(), "A system message must follow a user message.");
        }
        self.system.get_or_insert(at);
    }

    fn end(self, messages: &[Value], faults: &mut Faults) {
        let end = messages.len() - 1;
        faults.unanswered(end, self.open);
        let last = messages[end].get("content");
        let blocks = last.and_then(Value::as_array).and_then(|blocks| blocks.last());
        let words = blocks.map_or(last.and_then(Value::as_str).unwrap_or_default(), |block| {
            text(block, "text")
        });
        if self.last == "assistant" && words != words.trim_end() {
            faults.add(format!("{end}.content"), "The last reply ends with a space.");
        }
    }
}
