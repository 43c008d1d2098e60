//! Exported sessions of OpenCode: messages made of parts, in which a tool call and its result are one part.

use crate::actions::is_own;
use crate::attachment;
use crate::gather::{self, Gather};
use crate::lines;
use crate::opencode2;
use crate::recording::{Billed, Recording};
use crate::refused;
use crate::share::{self, Share};
use crate::take::{self, Fields};
use crate::trajectory;
use crate::{Format, ReadError};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;
use std::sync::Arc;

/// Reads an exported session, with the usage of its steps.
pub(crate) fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let expected = "an exported session: an object with info and messages";
    let (mut file, warnings) = lines::whole(bytes, expected)?;
    let mut info = take::object(&mut file, "info").unwrap_or_default();
    let mut revert = take::object(&mut info, "revert").unwrap_or_default();
    let mut session = OpencodeSession {
        until_message: take::string(&mut revert, "messageID"),
        until_part: take::string(&mut revert, "partID"),
        gather: Gather::of(warnings),
        ..OpencodeSession::default()
    };
    for message in trajectory::messages(&mut file, "messages")? {
        if session.message(message) {
            break;
        }
    }
    session.gather.warnings.extend(session.share.warning());
    Ok(session.gather.finish(Format::Opencode))
}

#[derive(Default)]
struct OpencodeSession {
    gather: Gather,
    /// The point that the user went back to, if any: from there on, nothing is sent any more.
    until_message: Option<String>,
    until_part: Option<String>,
    share: Share,
}

/// The outcome of one request.
#[derive(Default)]
struct ReplyStep {
    said: Vec<Part>,
    results: Vec<ToolResult>,
    /// The start time of its message.
    time: Option<u64>,
    /// The time at which the last of its tools finished.
    ended: Option<u64>,
    model: Option<Arc<str>>,
}

impl OpencodeSession {
    /// Adds a message; returns whether the conversation ends with it.
    fn message(&mut self, mut message: Fields) -> bool {
        let mut info = take::object(&mut message, "info").unwrap_or_default();
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
        self.share.all += parts.iter().map(share::size).sum::<usize>();
        let time = take::number(&info, &["time", "created"]);
        match take::str(&info, "role") {
            "assistant" => {
                // The reply to a compaction is the summary.
                let summary = take::flag(&info, "summary");
                let origin = if summary { Origin::Summary } else { Origin::Own };
                let mut step = ReplyStep {
                    time,
                    model: take::string(&mut info, "modelID").map(Arc::from),
                    ..ReplyStep::default()
                };
                self.reply(parts, origin, &mut step);
                // A message without step markers is one request.
                let billed = info.get("tokens").and_then(opencode2::billed);
                self.step(&mut step, billed);
            }
            "user" => {
                let parts: Vec<Part> = parts.into_iter().filter_map(|part| self.user_part(part)).collect();
                self.gather.message(Role::User, parts);
            }
            // Its speaker is lost, as with a damaged row of the database.
            role => {
                self.share.missed += parts.iter().map(share::size).sum::<usize>();
                self.gather.unknown(&format!("message of {role:?}"));
            }
        }
        self.gather.requests.passed(time);
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
                gather::text_in(&mut part, "text", origin)
            }
            "file" => file(part),
            // The prompt that the model gets in place of these two.
            "compaction" => Some(Part::text_from(Origin::Injected, "What did we do so far?")),
            "subtask" => gather::text_in(&mut part, "prompt", Origin::Injected),
            _ => {
                self.note_unknown(&kind, &part);
                None
            }
        }
    }

    /// Adds a reply of one or more steps: a step ends when the results of its tools are sent. The last one stays open.
    fn reply(&mut self, parts: Vec<Fields>, origin: Origin, step: &mut ReplyStep) {
        for mut part in parts {
            let kind = take::string(&mut part, "type").unwrap_or_default();
            match kind.as_str() {
                "step-start" => self.step(step, None),
                "step-finish" => {
                    let billed = part.get("tokens").and_then(opencode2::billed);
                    self.step(step, billed);
                }
                "text" if !take::flag(&part, "ignored") => {
                    step.said.extend(gather::text_in(&mut part, "text", origin));
                }
                "text" => {}
                "reasoning" => step.said.extend(reasoning(part)),
                "tool" => {
                    step.ended = take::number(&part, &["state", "time", "end"]).or(step.ended);
                    let (call, result) = tool(part);
                    step.said.push(call);
                    step.results.extend(result);
                }
                "file" => step
                    .said
                    .extend(file(part).filter(|part| matches!(part, Part::Image(_)))),
                _ => self.note_unknown(&kind, &part),
            }
        }
    }

    /// Ends a step, with its usage.
    fn step(&mut self, step: &mut ReplyStep, billed: Option<Billed>) {
        if !step.said.is_empty() {
            let said = std::mem::take(&mut step.said);
            self.gather.replied(said, step.time, step.model.clone(), billed);
        }
        for result in step.results.drain(..) {
            self.gather.result(result);
        }
        // The next request is sent when the tools have finished.
        self.gather.requests.passed(step.ended.take());
    }

    fn note_unknown(&mut self, kind: &str, part: &Fields) {
        const KNOWN: &[&str] = &[
            "agent", "patch", "retry", "snapshot", "step-finish", "step-start", "compaction", "subtask",
        ];
        if KNOWN.contains(&kind) {
            return;
        }
        self.share.missed += share::size(part);
        self.gather.unknown(kind);
    }
}

/// Reads an attached file, given as a data URL; a text file's content, and a directory's listing, are in a separate
/// synthetic text.
fn file(mut part: Fields) -> Option<Part> {
    let media = take::str(&part, "mime").to_owned();
    match media.as_str() {
        "text/plain" | "application/x-directory" => None,
        image if image.starts_with("image/") => take::string(&mut part, "url").map(gather::image_at),
        _ => {
            part.insert(String::from("type"), Value::from("file"));
            attachment::file("file", Value::Object(part))
        }
    }
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
    gather::unsigned(words)
}

/// Returns a call, and its result unless the tool is still running.
fn tool(mut part: Fields) -> (Part, Option<ToolResult>) {
    let id = take::string(&mut part, "callID").unwrap_or_default();
    let tool = take::string(&mut part, "tool").unwrap_or_default();
    let mut state = take::object(&mut part, "state").unwrap_or_default();
    let is_own = is_own(&tool);
    let call = gather::call(id.as_str(), tool, take::parameters(take::value(&mut state, "input")));
    let result = match take::str(&state, "status") {
        "completed" => {
            let output = gather::text_in(&mut state, "output", Origin::Own);
            let files: Vec<Fields> = take::objects(&mut state, "attachments").collect();
            let output = output.into_iter().chain(files.into_iter().filter_map(file));
            Some(gather::result(id, opencode2::completed(&state), output))
        }
        "error" => {
            let mut result = gather::result(id, Some(false), gather::text_in(&mut state, "error", Origin::Own));
            // A program that ran counts as completed, whatever its status; a third-party tool fails with its own error.
            result.refusal = refused::by_user(&result).filter(|_| is_own);
            Some(result)
        }
        _ => None,
    };
    (call, result)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sketch::{check, told};

    #[test]
    fn each_step_is_a_request_with_what_it_was_billed() {
        let tokens = |input: u64| {
            format!(r#""tokens":{{"input":{input},"output":7,"reasoning":0,"cache":{{"read":90,"write":3}}}}"#)
        };
        let done = tool(
            "c1",
            r#""status":"completed","output":"a.rs","time":{"start":2500,"end":4000}"#,
        );
        let parts = [
            r#""type":"step-start""#.to_owned(),
            done,
            format!(r#""type":"step-finish",{}"#, tokens(10)),
            r#""type":"step-start""#.to_owned(),
            r#""type":"text","text":"done""#.to_owned(),
            format!(r#""type":"step-finish",{}"#, tokens(20)),
        ];
        let reply = message("b", "assistant", &parts.each_ref().map(String::as_str));
        let timed = |message: String, time: u64| {
            message.replacen(
                "\"role\"",
                &format!("\"modelID\":\"m\",\"time\":{{\"created\":{time}}},\"role\""),
                1,
            )
        };
        let short = message("d", "assistant", &[r#""type":"text","text":"yes""#]).replacen(
            "\"role\"",
            &format!("{},\"role\"", tokens(30)),
            1,
        );
        let go = message("a", "user", &[r#""type":"text","text":"go""#]);
        let file = session(
            "",
            &[
                timed(go.clone(), 1_000),
                timed(reply, 2_000),
                timed(go, 5_000),
                timed(short, 6_000),
            ],
        );
        let recording = record(file.as_bytes()).unwrap();
        assert_eq!(
            told(&recording),
            [
                (1, Some(1_000), Some(103)),
                (3, Some(4_000), Some(113)),
                (5, Some(5_000), Some(123))
            ]
        );
    }

    fn session(info: &str, messages: &[String]) -> String {
        format!(
            "{{\n \"info\":{{{info}}},\n \"messages\":[{}]\n}}\n",
            messages.join(",\n")
        )
    }

    fn message(id: &str, role: &str, parts: &[&str]) -> String {
        let parts: Vec<String> = parts
            .iter()
            .enumerate()
            .map(|(n, part)| format!(r#"{{"id":"{id}{n}",{part}}}"#))
            .collect();
        format!(
            r#"{{"info":{{"id":"{id}","role":"{role}"}},"parts":[{}]}}"#,
            parts.join(",")
        )
    }

    fn tool(id: &str, state: &str) -> String {
        format!(r#""type":"tool","tool":"bash","callID":"{id}","state":{{"input":{{"command":"ls"}},{state}}}"#)
    }

    #[test]
    fn a_message_of_several_steps_is_several_replies() {
        let done = tool("c1", r#""status":"completed","output":"a.rs","metadata":{"exit":0}"#);
        let failed = tool("c2", r#""status":"completed","output":"no","metadata":{"exit":2}"#);
        let refused = tool("c3", r#""status":"error","error":"invalid arguments""#);
        let running = tool("c4", r#""status":"running""#);
        let messages = [
            message("a", "user", &[r#""type":"text","text":"go""#]),
            message(
                "b",
                "assistant",
                &[
                    r#""type":"step-start""#,
                    r#""type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"sig"}}"#,
                    r#""type":"text","text":"looking""#,
                    &done,
                    &failed,
                    r#""type":"step-finish""#,
                    r#""type":"step-start""#,
                    &refused,
                    r#""type":"patch","files":[]"#,
                    r#""type":"step-start""#,
                    &running,
                ],
            ),
        ];
        check(
            record,
            &session("", &messages),
            r#"user: go
            thinking of anthropic signed sig: hm
            assistant: looking
            call c1: bash {"command":"ls"}
            call c2: bash {"command":"ls"}
            result c1 ok: a.rs
            result c2 failed: no
            call c3: bash {"command":"ls"}
            result c3 failed: invalid arguments
            call c4: bash {"command":"ls"}"#,
        );
    }

    #[test]
    fn what_is_synthetic_is_no_prompt_and_what_is_ignored_is_not_sent() {
        let parts = [
            r#""type":"text","text":"see @a.rs""#,
            r#""type":"text","text":"its content","synthetic":true"#,
            r#""type":"text","text":"for the screen","ignored":true"#,
            r#""type":"file","mime":"text/plain","url":"file:///a.rs""#,
            r#""type":"file","mime":"image/png","url":"data:image/png;base64,iV""#,
        ];
        check(
            record,
            &session("", &[message("a", "user", &parts)]),
            "user: see @a.rs\nuser (injected): its content\nuser image: image/png iV",
        );
    }

    #[test]
    fn the_answer_to_a_compaction_is_a_summary() {
        let answer = message("c", "assistant", &[r#""type":"text","text":"so far""#]);
        let answer = answer.replace(r#""role":"assistant""#, r#""role":"assistant","summary":true"#);
        let messages = [
            message("a", "user", &[r#""type":"text","text":"go""#]),
            message("b", "user", &[r#""type":"compaction","auto":true"#]),
            answer,
        ];
        check(
            record,
            &session("", &messages),
            "user: go\n-\nuser (injected): What did we do so far?\nassistant (summary): so far",
        );
    }

    #[test]
    fn what_was_reverted_is_left_out() {
        let messages = [
            message("a", "user", &[r#""type":"text","text":"go""#]),
            message(
                "b",
                "assistant",
                &[r#""type":"text","text":"one""#, r#""type":"text","text":"two""#],
            ),
            message("c", "user", &[r#""type":"text","text":"on""#]),
        ];
        check(record, &session(r#""revert":{"messageID":"b"}"#, &messages), "user: go");
        check(
            record,
            &session(r#""revert":{"messageID":"b","partID":"b1"}"#, &messages),
            "user: go\nassistant: one",
        );
    }

    #[test]
    fn a_file_without_messages_is_named_and_so_is_one_that_breaks_off() {
        let words = |file: &str| record(file.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            words("{\"info\":{}}"),
            "line 1: messages is missing, expected a list of messages"
        );
        assert!(words("{\"info\":{},\n\"messages\":[").starts_with("line 2, column 12: unexpected end of file"));
        assert!(words("[]").starts_with("line 1: the document is a list, expected an exported session"));
    }
}
