//! Exported sessions of OpenCode: messages made of parts, a tool's call and its answer being one part.

use crate::gather::{self, Gather};
use crate::lines;
use crate::take::{self, Fields};
use crate::{Document, Format, ReadError, Warning};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;
use std::collections::HashSet;

/// Reads an exported session.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    let expected = "an exported session: an object with info and messages";
    let (mut file, warnings) = lines::whole(bytes, expected)?;
    if !file.get("messages").is_some_and(Value::is_array) {
        let found = if file.contains_key("messages") {
            "no list"
        } else {
            "missing"
        };
        let place = String::from("messages");
        return Err(ReadError::Unexpected {
            line: 1,
            place,
            found: String::from(found),
            expected: "a list of messages",
        });
    }
    let mut info = take::object(&mut file, "info").unwrap_or_default();
    let mut revert = take::object(&mut info, "revert").unwrap_or_default();
    let mut session = Session {
        until_message: take::string(&mut revert, "messageID"),
        until_part: take::string(&mut revert, "partID"),
        warnings,
        ..Session::default()
    };
    for message in take::objects(&mut file, "messages") {
        if session.message(message) {
            break;
        }
    }
    Ok(session.gather.finish(Format::Opencode, session.warnings))
}

#[derive(Default)]
struct Session {
    gather: Gather,
    /// Where the user went back to, if so: what begins there is no longer sent.
    until_message: Option<String>,
    until_part: Option<String>,
    warnings: Vec<Warning>,
    unknown: HashSet<String>,
}

impl Session {
    /// Takes in a message; says whether the conversation ends with it.
    fn message(&mut self, mut message: Fields) -> bool {
        let info = take::object(&mut message, "info").unwrap_or_default();
        let is_last = self.until_message.as_deref() == Some(take::str(&info, "id"));
        if is_last && self.until_part.is_none() {
            return true;
        }
        let mut parts: Vec<Fields> = take::objects(&mut message, "parts").collect();
        if is_last {
            let cut = parts
                .iter()
                .position(|part| self.until_part.as_deref() == Some(take::str(part, "id")));
            parts.truncate(cut.unwrap_or_default());
        }
        match take::str(&info, "role") {
            "assistant" => {
                // The answer to a compaction is the summary.
                let summary = take::flag(&info, "summary");
                self.reply(parts, if summary { Origin::Summary } else { Origin::Own });
            }
            _ => {
                let parts = parts.into_iter().filter_map(|part| self.user_part(part)).collect();
                self.gather.message(Role::User, parts);
            }
        }
        is_last
    }

    fn user_part(&mut self, mut part: Fields) -> Option<Part> {
        let kind = take::string(&mut part, "type").unwrap_or_default();
        match kind.as_str() {
            "text" if take::flag(&part, "ignored") => None,
            "text" => {
                let origin = if take::flag(&part, "synthetic") {
                    Origin::Injected
                } else {
                    Origin::Own
                };
                gather::text(origin, take::string(&mut part, "text")?)
            }
            "file" => picture(part),
            // What the model is asked in the place of these two.
            "compaction" => Some(Part::text_from(Origin::Injected, "What did we do so far?")),
            "subtask" => gather::text(Origin::Injected, take::string(&mut part, "prompt")?),
            _ => {
                self.note_unknown(kind);
                None
            }
        }
    }

    /// A reply of one or several steps: a step ends where the answers of its tools are sent.
    fn reply(&mut self, parts: Vec<Fields>, origin: Origin) {
        let mut said = Vec::new();
        let mut results: Vec<ToolResult> = Vec::new();
        for mut part in parts {
            let kind = take::string(&mut part, "type").unwrap_or_default();
            match kind.as_str() {
                "step-start" => self.step(&mut said, &mut results),
                "text" if !take::flag(&part, "ignored") => {
                    said.extend(take::string(&mut part, "text").and_then(|text| gather::text(origin, text)));
                }
                "text" => {}
                "reasoning" => said.extend(reasoning(part)),
                "tool" => {
                    let (call, result) = tool(part);
                    said.push(call);
                    results.extend(result);
                }
                "file" => said.extend(picture(part)),
                _ => self.note_unknown(kind),
            }
        }
        self.step(&mut said, &mut results);
    }

    fn step(&mut self, said: &mut Vec<Part>, results: &mut Vec<ToolResult>) {
        if !said.is_empty() {
            self.gather.message(Role::Assistant, std::mem::take(said));
        }
        for result in results.drain(..) {
            self.gather.result(result);
        }
    }

    fn note_unknown(&mut self, kind: String) {
        const KNOWN: &[&str] = &[
            "agent",
            "patch",
            "retry",
            "snapshot",
            "step-finish",
            "step-start",
            "compaction",
            "subtask",
        ];
        const MOST: usize = 100;
        if !KNOWN.contains(&kind.as_str()) && self.unknown.len() < MOST && self.unknown.insert(kind.clone()) {
            let kind = kind.chars().take(80).collect();
            // The parts of an exported session know no lines.
            self.warnings.push(Warning::UnknownEntry { line: 1, kind });
        }
    }
}

/// Pictures come as data addresses; a text file's content stands in a synthetic text beside it.
fn picture(mut part: Fields) -> Option<Part> {
    let is_image = take::str(&part, "mime").starts_with("image/");
    take::string(&mut part, "url")
        .filter(|_| is_image)
        .map(gather::image_at)
}

fn reasoning(mut part: Fields) -> Option<Part> {
    let words = take::string(&mut part, "text").unwrap_or_default();
    let mut metadata = take::object(&mut part, "metadata").unwrap_or_default();
    if let Some(mut anthropic) = take::object(&mut metadata, "anthropic") {
        let signature = take::string(&mut anthropic, "signature");
        let redacted = take::string(&mut anthropic, "redactedData");
        return gather::thinking(words, signature, redacted, Some("anthropic"));
    }
    if let Some(mut openai) = take::object(&mut metadata, "openai") {
        let sealed = take::string(&mut openai, "reasoningEncryptedContent");
        return gather::thinking(words, None, sealed, Some("openai"));
    }
    gather::thinking(words, None, None, None)
}

/// A call, and its answer unless the tool still runs.
fn tool(mut part: Fields) -> (Part, Option<ToolResult>) {
    let id = take::string(&mut part, "callID").unwrap_or_default();
    let tool = take::string(&mut part, "tool").unwrap_or_default();
    let mut state = take::object(&mut part, "state").unwrap_or_default();
    let call = gather::call(id.as_str(), tool, take::parameters(take::value(&mut state, "input")));
    let result = match take::str(&state, "status") {
        "completed" => {
            let output = take::string(&mut state, "output").and_then(|text| gather::text(Origin::Own, text));
            let mut output: Vec<Part> = output.into_iter().collect();
            output.extend(take::objects(&mut state, "attachments").filter_map(picture));
            // A program that ended with another status than 0 completed as a tool.
            let success = match state.get("metadata").and_then(|metadata| metadata.get("exit")) {
                Some(status) => status.as_i64().map(|status| status == 0),
                None => Some(true),
            };
            Some(gather::result(id, success, output))
        }
        "error" => {
            let error = take::string(&mut state, "error").and_then(|text| gather::text(Origin::Own, text));
            Some(gather::result(id, Some(false), error.into_iter().collect()))
        }
        _ => None,
    };
    (call, result)
}
