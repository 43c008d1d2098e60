//! Sessions of Gemini CLI: one object with the messages or, since 2026, one line for each, in which later lines modify
//! earlier ones (`$set`, `$rewindTo`, a message repeated under its id).

use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::{self, Lines};
use crate::recording::{self, Billed, Recording};
use crate::refused;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use crate::{ReadError, Warning, qwen_code};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;
use std::collections::HashMap;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    ..Form::new(
        "gemini-cli",
        "a session file of Gemini CLI (JSON or JSON lines)",
        record,
    )
};

fn shows(first: &Seen) -> bool {
    first.has("sessionId") && first.has("projectHash")
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut session = GeminiSession::default();
    let warnings = match Skim::of_file(bytes)
        .get("messages")
        .is_some_and(|messages| messages.is_list())
    {
        true => {
            let (mut file, warnings) = lines::whole(bytes, "a session: an object with messages")?;
            session.replace(take::objects(&mut file, "messages"));
            warnings
        }
        false => session.lines(bytes)?,
    };
    Ok(session.finish(warnings))
}

#[derive(Default)]
struct GeminiSession {
    messages: Vec<Fields>,
    /// The index of each message, by its id.
    places: HashMap<String, usize>,
}

impl GeminiSession {
    fn lines(&mut self, bytes: &[u8]) -> Result<Vec<Warning>, ReadError> {
        let mut lines = Lines::new(bytes)?;
        while let Some(mut entry) = lines.next()? {
            if let Some(id) = take::string(&mut entry.fields, "$rewindTo") {
                match self.places.get(&id) {
                    Some(place) => self.rewind(*place),
                    // The target is unknown, so nothing is removed.
                    None => lines.note_unread(entry.line, "$rewindTo"),
                }
            } else if let Some(mut set) = take::object(&mut entry.fields, "$set") {
                if set.get("messages").is_some_and(Value::is_array) {
                    self.replace(take::objects(&mut set, "messages"));
                }
            } else if entry.fields.get("id").is_some_and(Value::is_string) {
                self.message(entry.fields);
            } else if !entry.fields.contains_key("sessionId") {
                lines.note_unread(entry.line, take::str(&entry.fields, "type"));
            }
        }
        Ok(lines.into_warnings())
    }

    fn rewind(&mut self, place: usize) {
        self.messages.truncate(place);
        self.places.retain(|_, other| *other < place);
    }

    fn replace(&mut self, messages: impl Iterator<Item = Fields>) {
        self.rewind(0);
        messages.for_each(|message| self.message(message));
    }

    /// Adds a message, or updates it.
    fn message(&mut self, message: Fields) {
        let id = take::str(&message, "id").to_owned();
        match self.places.get(&id) {
            Some(place) if !id.is_empty() => self.messages[*place] = message,
            _ => {
                self.places.insert(id, self.messages.len());
                self.messages.push(message);
            }
        }
    }

    fn finish(self, warnings: Vec<Warning>) -> Recording {
        let mut gather = Gather::of(warnings);
        for mut message in self.messages {
            let time = recording::time(&message);
            match take::str(&message, "type") {
                "user" => gather.message(Role::User, content(take::value(&mut message, "content"))),
                "gemini" => reply(&mut gather, message, time),
                // Shown to the user only.
                "info" | "error" | "warning" => continue,
                other => gather.unknown(other),
            }
            gather.requests.passed(time);
        }
        gather.finish(Format::GeminiCli)
    }
}

/// Reads content: a part, a list of parts, or a text.
fn content(value: Value) -> Vec<Part> {
    let list = match value {
        Value::Array(list) => list,
        one => vec![one],
    };
    let is_said = |part: &Part| !matches!(part, Part::ToolCall(_) | Part::ToolResult(_));
    list.into_iter()
        .filter_map(|part| qwen_code::part(part, Origin::Own, None))
        .filter(is_said)
        .collect()
}

/// Adds a reply with its calls and their results.
fn reply(gather: &mut Gather, mut message: Fields, time: Option<u64>) {
    let thought = |thought: Fields| {
        let told = ["subject", "description"].map(|name| take::str(&thought, name));
        let words: Vec<&str> = told.into_iter().filter(|words| !words.is_empty()).collect();
        gather::unsigned(words.join("\n"))
    };
    let mut parts: Vec<Part> = take::objects(&mut message, "thoughts").filter_map(thought).collect();
    parts.extend(content(take::value(&mut message, "content")));
    let mut results = Vec::new();
    for mut call in take::objects(&mut message, "toolCalls") {
        let id = take::str(&call, "id").to_owned();
        parts.push(gather::call_in(&mut call, ["id", "name", "args"]));
        results.extend(result(id, &mut call));
    }
    gather.replied(parts, time, take::name(&message, &["model"]), billed(&message));
    results.into_iter().for_each(|result| gather.result(result));
}

/// Returns a tool result, unless the tool is still running.
fn result(id: String, call: &mut Fields) -> Option<ToolResult> {
    let status = take::string(call, "status").unwrap_or_default();
    let success = match status.as_str() {
        "success" => None,
        "error" | "cancelled" => Some(false),
        _ => return None,
    };
    let list = match take::value(call, "result") {
        Value::Array(list) => list,
        Value::Null => Vec::new(),
        one => vec![one],
    };
    let mut output = Vec::new();
    let mut of_answer = None;
    for part in list
        .into_iter()
        .filter_map(|part| qwen_code::part(part, Origin::Own, None))
    {
        match part {
            Part::ToolResult(result) => {
                of_answer = of_answer.or(result.success);
                output.extend(result.output);
            }
            Part::ToolCall(_) | Part::Thinking(_) => {}
            other => output.push(other),
        }
    }
    // If a command fails, the tool still succeeds: the exit status is in the output.
    let has_worked = success.or(of_answer);
    let mut result = gather::result(id, has_worked, output);
    if status == "cancelled" {
        result.refusal = refused::by_user(&result);
    }
    Some(result)
}

fn billed(message: &Fields) -> Option<Billed> {
    let count = |name| take::number(message, &["tokens", name]);
    let of = |name| count(name).unwrap_or(0);
    Billed::inclusive(count("input")?, of("cached"), of("output") + of("thoughts"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;

    const USER: &str =
        r#"{"id":"u1","timestamp":"2026-09-01T10:00:00.000Z","type":"user","content":[{"text":"Mend it."}]}"#;
    const ASKED: &str = r#"{"id":"a1","timestamp":"2026-09-01T10:00:04.000Z","type":"gemini","content":"I look.","model":"gemini-3-pro"}"#;
    const DONE: &str = r#"{"id":"a1","timestamp":"2026-09-01T10:00:04.000Z","type":"gemini","content":"I look.","model":"gemini-3-pro","thoughts":[{"subject":"Plan","description":"Look first."}],"tokens":{"input":100,"output":7,"cached":60,"thoughts":3,"total":110},"toolCalls":[{"id":"c1","name":"run_shell_command","args":{"command":"make"},"status":"success","result":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"Output: no rule\nExit Code: 2"}}}]},{"id":"c2","name":"read_file","args":{"file_path":"a.rs"},"status":"error","result":[{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"no such file"}}}]},{"id":"c3","name":"glob","args":{},"status":"executing"}]}"#;
    const READ: &str = "user: Mend it.\n\
        thinking: Plan\nLook first.\n\
        assistant: I look.\n\
        call c1: run_shell_command {\"command\":\"make\"}\n\
        call c2: read_file {\"file_path\":\"a.rs\"}\n\
        call c3: glob {}\n\
        result c1 failed: Output: no rule|Exit Code: 2\n\
        result c2 failed: no such file\n";

    fn read(file: &str) -> (String, Recording) {
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::GeminiCli), "{file}");
        let recording = crate::record_anyway(file.as_bytes(), None).expect("it is one");
        (sketch(&recording.document), recording)
    }

    #[test]
    fn one_object_and_a_line_a_message_say_the_same_with_the_newest_state_of_each() {
        let head = r#""sessionId":"s","projectHash":"h","startTime":"2026-09-01T10:00:00.000Z""#;
        let info = r#"{"id":"i","timestamp":"t","type":"info","content":"Updated."}"#;
        let whole = format!("{{{head},\"messages\":[{USER},{info},{DONE}]}}");
        let lines = [
            &format!("{{{head}}}"),
            USER,
            ASKED,
            info,
            DONE,
            r#"{"$set":{"summary":"x"}}"#,
        ]
        .join("\n");
        for file in [&whole, &lines] {
            let (said, recording) = read(file);
            assert_eq!(said, READ);
            let request = &recording.requests[0];
            let billed = request.billed.expect("it is recorded");
            assert_eq!(
                (billed.usage.cache_read, billed.usage.prompt(), billed.usage.output),
                (60, 100, 10)
            );
            assert_eq!(
                (request.reply, request.began),
                (1, recording::instant("2026-09-01T10:00:00Z"))
            );
        }
    }

    #[test]
    fn a_rewind_takes_back_what_it_names_and_a_checkpoint_replaces_everything() {
        let head = r#"{"sessionId":"s","projectHash":"h"}"#;
        let other = r#"{"id":"u2","type":"user","content":"Again."}"#;
        let (said, _) = read(&[head, USER, DONE, r#"{"$rewindTo":"a1"}"#, other].join("\n"));
        assert_eq!(said, "user: Mend it.\n-\nuser: Again.\n");
        let (said, recording) = read(&[head, USER, r#"{"$rewindTo":"gone"}"#, other].join("\n"));
        assert_eq!(said, "user: Mend it.\n-\nuser: Again.\n");
        assert!(matches!(
            recording.document.warnings[..],
            [Warning::UnreadEntry { line: 3, .. }, Warning::Missed { .. }]
        ));
        let set = format!("{{\"$set\":{{\"messages\":[{other}]}}}}");
        let (said, _) = read(&[head, USER, DONE, &set, USER].join("\n"));
        assert_eq!(said, "user: Again.\n-\nuser: Mend it.\n");
    }
}
