//! Trajectories of mini-swe-agent: a chat in which each reply holds one command, as a fenced block or as a tool call,
//! and the next message is its result.

use crate::gather::{self, Gather};
use crate::lines;
use crate::take::{self, Fields};
use crate::trajectory;
use crate::{Format, ReadError, Recording};
use codelet_context::message::{Origin, Part, Role};
use serde_json::Value;

pub(crate) fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a trajectory: an object with messages")?;
    let messages = trajectory::messages(&mut file, "messages")?;
    let mut chat = Chat {
        gather: Gather::of(warnings),
        ..Chat::default()
    };
    for (index, message) in messages.enumerate() {
        chat.message(index, message);
    }
    Ok(chat.gather.finish(Format::MiniSweAgent))
}

#[derive(Default)]
struct Chat {
    gather: Gather,
    last: LastMessage,
}

/// The last message, which determines the meaning of a message in the user role.
#[derive(Default)]
enum LastMessage {
    #[default]
    Other,
    /// A reply with one command, under this call id, that has no result yet.
    Command(String),
    /// A reply without a command that the harness can run.
    NoCommand,
    /// A reply whose calls have their results in separate messages.
    Calls,
}

impl Chat {
    fn message(&mut self, index: usize, mut message: Fields) {
        let role = take::string(&mut message, "role").unwrap_or_default();
        // Some versions record the provider's items instead of messages.
        if take::str(&message, "type") == "function_call_output" {
            return self.answer(&mut message, "call_id", "output");
        }
        match role.as_str() {
            "system" | "developer" if self.gather.len() == 0 => {
                self.gather
                    .system(trajectory::plain(take::value(&mut message, "content")));
            }
            "assistant" => self.reply(index, message),
            "tool" => self.answer(&mut message, "tool_call_id", "content"),
            // The outcome of the run; the model never saw it.
            "exit" => {}
            "" if take::str(&message, "object") == "response" => self.items(message),
            "system" | "developer" => {
                let parts = gather::content(take::value(&mut message, "content"), Origin::Injected);
                self.gather.message(Role::User, parts);
            }
            _ => self.user(message),
        }
    }

    fn reply(&mut self, index: usize, mut message: Fields) {
        let mut parts = trajectory::thoughts(&mut message);
        let calls = trajectory::calls(&mut message);
        if !calls.is_empty() {
            parts.extend(gather::content(take::value(&mut message, "content"), Origin::Own));
            parts.extend(calls);
            self.gather.message(Role::Assistant, parts);
            self.last = LastMessage::Calls;
            return;
        }
        let content = trajectory::plain(take::value(&mut message, "content"));
        self.last = match command(&content) {
            Some((before, command, after)) => {
                let id = format!("step_{index}");
                let words = [before.trim_end(), after.trim()].join("\n\n");
                parts.extend(gather::text(Origin::Own, String::from(words.trim())));
                let parameters = Fields::from_iter([(String::from("command"), Value::from(command))]);
                parts.push(gather::call(id.as_str(), "bash", parameters));
                LastMessage::Command(id)
            }
            None => {
                parts.extend(gather::text(Origin::Own, content));
                LastMessage::NoCommand
            }
        };
        self.gather.message(Role::Assistant, parts);
    }

    fn user(&mut self, mut message: Fields) {
        let by_harness = message
            .get("extra")
            .is_some_and(|extra| extra.get("interrupt_type").is_some());
        match std::mem::take(&mut self.last) {
            LastMessage::Command(id) => {
                let success = status(&message);
                let output = gather::content(take::value(&mut message, "content"), Origin::Own);
                self.gather.result(gather::result(id, success, output));
            }
            last => {
                // After a reply without a command, the harness asks for one.
                let asked = by_harness || matches!(last, LastMessage::NoCommand);
                let origin = if asked { Origin::Injected } else { Origin::Own };
                let parts = gather::content(take::value(&mut message, "content"), origin);
                self.gather.message(Role::User, parts);
            }
        }
    }

    fn answer(&mut self, message: &mut Fields, id: &str, content: &str) {
        let success = status(message);
        let id = take::string(message, id).unwrap_or_default();
        let output = gather::content(take::value(message, content), Origin::Own);
        self.gather.result(gather::result(id, success, output));
        self.last = LastMessage::Other;
    }

    /// Reads a reply that is the provider's list of items.
    fn items(&mut self, mut message: Fields) {
        let mut parts = Vec::new();
        for mut item in take::objects(&mut message, "output") {
            match take::str(&item, "type") {
                "reasoning" => {
                    let words =
                        take::objects(&mut item, "summary").filter_map(|mut part| take::string(&mut part, "text"));
                    let words = words.collect::<Vec<_>>().join("\n\n");
                    let sealed = take::string(&mut item, "encrypted_content");
                    parts.extend(gather::thinking(words, None, sealed, Some("openai")));
                }
                "message" => parts.extend(gather::content(take::value(&mut item, "content"), Origin::Own)),
                "function_call" => {
                    parts.push(gather::call_in(&mut item, ["call_id", "name", "arguments"]));
                }
                _ => {}
            }
        }
        self.last = if parts.iter().any(|part| matches!(part, Part::ToolCall(_))) {
            LastMessage::Calls
        } else {
            LastMessage::NoCommand
        };
        self.gather.message(Role::Assistant, parts);
    }
}

/// Returns the only command of a reply, with the text before and after its block. The harness runs nothing if there are
/// two blocks or none.
fn command(content: &str) -> Option<(&str, &str, &str)> {
    ["```bash", "```mswea_bash_command"].iter().find_map(|fence| {
        let (before, inside, after) = fenced(content, fence)?;
        fenced(after, fence).is_none().then(|| (before, inside.trim(), after))
    })
}

/// Returns the first block between a line that ends with the fence and a line that begins with three backticks.
fn fenced<'a>(content: &'a str, fence: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let mut from = 0;
    while let Some(length) = content[from..].find('\n') {
        let line = content[from..from + length].trim_end();
        if line.ends_with(fence) {
            let start = from + line.len() - fence.len();
            let inside = from + length;
            // The newline before the closing fence may be the one after the opening fence.
            let end = inside + content[inside..].find("\n```")?;
            let after = &content[end + "\n```".len()..];
            return Some((
                &content[..start],
                content.get(inside + 1..end).unwrap_or_default(),
                after,
            ));
        }
        from += length + 1;
    }
    None
}

/// Returns whether a command succeeded: from its return code, in a field or in the envelope at the start of the output.
fn status(message: &Fields) -> Option<bool> {
    let field = message
        .get("extra")
        .and_then(|extra| extra.get("returncode"))
        .and_then(Value::as_i64);
    if let Some(code) = field {
        return Some(code == 0);
    }
    let text = match message.get("content").or(message.get("output"))? {
        Value::String(text) => text,
        Value::Array(blocks) => blocks.first()?.get("text")?.as_str()?,
        _ => return None,
    };
    if text.starts_with("The last command <command>") {
        // The phrase with which the harness reports that it killed a command after a timeout.
        return Some(false);
    }
    let (code, _) = text.strip_prefix("<returncode>")?.split_once("</returncode>")?;
    code.trim().parse::<i64>().ok().map(|code| code == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;
    use serde_json::json;

    fn trajectory(messages: Value) -> String {
        json!({"info": {"mini_version": "1.15.0"}, "messages": messages, "trajectory_format": "mini-swe-agent-1"})
            .to_string()
    }

    #[test]
    fn a_fenced_command_is_a_call_and_the_next_message_its_result() {
        let file = trajectory(json!([
            {"role": "system", "content": "Use bash."},
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls -la\n```", "extra": {"response": {}}},
            {"role": "user", "content": "<returncode>2</returncode>\n<output>\nno\n</output>"},
            {"role": "assistant", "content": "```bash\nmake\n```\nThat is all."},
            {"role": "user", "content": "The last command <command>make</command> timed out and has been killed."},
            {"role": "assistant", "content": "```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"},
            {"role": "user", "content": "diff --git a b"},
        ]));
        check(
            read,
            &file,
            r#"system: Use bash.
            user: Fix it.
            assistant: THOUGHT: look
            call step_2: bash {"command":"ls -la"}
            result step_2 failed: <returncode>2</returncode>|<output>|no|</output>
            assistant: That is all.
            call step_4: bash {"command":"make"}
            result step_4 failed: The last command <command>make</command> timed out and has been killed.
            call step_6: bash {"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}
            result step_6 unknown: diff --git a b"#,
        );
    }

    #[test]
    fn a_reply_without_one_command_is_followed_by_the_harness() {
        let file = trajectory(json!([
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "```bash\nls\n```\nand\n```bash\npwd\n```"},
            {"role": "user", "content": "Please always provide EXACTLY ONE action."},
            {"role": "assistant", "content": "```python\nprint(1)\n```"},
            {"role": "user", "content": "Please always provide EXACTLY ONE action."},
        ]));
        check(
            read,
            &file,
            "user: Fix it.
            assistant: ```bash|ls|```|and|```bash|pwd|```
            user (injected): Please always provide EXACTLY ONE action.
            assistant: ```python|print(1)|```
            user (injected): Please always provide EXACTLY ONE action.",
        );
    }

    #[test]
    fn later_versions_call_tools() {
        let call =
            json!({"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}});
        let file = trajectory(json!([
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": null, "tool_calls": [call], "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "sig"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "<output>\na.rs\n</output>", "extra": {"returncode": 0}},
            {"role": "assistant", "content": "I am done."},
            {"role": "user", "content": "No tool calls found.", "extra": {"interrupt_type": "FormatError"}},
            {"object": "response", "output": [
                {"type": "reasoning", "summary": [], "encrypted_content": "xyz"},
                {"type": "function_call", "call_id": "c2", "name": "bash", "arguments": "{}"}]},
            {"type": "function_call_output", "call_id": "c2", "output": "x", "extra": {"returncode": 1}},
            {"role": "exit", "content": "patch"},
        ]));
        check(
            read,
            &file,
            r#"user: Fix it.
            thinking of anthropic signed sig: hm
            call c1: bash {"command":"ls"}
            result c1 ok: <output>|a.rs|</output>
            assistant: I am done.
            user (injected): No tool calls found.
            thinking of openai sealed xyz:
            call c2: bash {}
            result c2 failed: x"#,
        );
    }

    #[test]
    fn a_fence_stands_alone_on_its_line() {
        assert_eq!(command("a\n```bash\nls\n```"), Some(("a\n", "ls", "")));
        assert_eq!(command("```bash  \n\nls\n\n```\nb"), Some(("", "ls", "\nb")));
        assert_eq!(
            command("see ```bash scripts```\n```bash\nls\n```").map(|(_, command, _)| command),
            Some("ls")
        );
        assert_eq!(command("```mswea_bash_command\nls\n```"), Some(("", "ls", "")));
        assert_eq!(command("```bash\n```"), Some(("", "", "")));
        assert_eq!(command("```bash\nls"), None);
        assert_eq!(command("```bash"), None);
    }
}
