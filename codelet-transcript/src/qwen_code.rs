//! Session files of Qwen Code: each line is an entry with its own id and its parent's, and holds one content in
//! Gemini's format. A rewind leaves a branch behind.

use crate::attachment;
use crate::branch::{self, Branch, Parent};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::take::{self, Fields};
use crate::{Format, ReadError, Recording};
use codelet_context::message::{Origin, Part, Role};
use serde_json::Value;
use std::collections::HashMap;

pub(crate) fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut session = QwenSession::default();
    while let Some(entry) = lines.next()? {
        let mut fields = entry.fields;
        let kind = take::string(&mut fields, "type").unwrap_or_default();
        let said = match kind.as_str() {
            "user" | "assistant" | "tool_result" => match said(&kind, &mut fields) {
                Some(said) => said,
                None => {
                    lines.note_unread(entry.line, &kind);
                    QwenContent::Nothing
                }
            },
            "system" => QwenContent::Nothing,
            _ => {
                lines.note_unknown(entry.line, &kind);
                QwenContent::Nothing
            }
        };
        session.entry(fields, said);
    }
    let branch = session.branch();
    let mut warnings = lines.into_warnings();
    warnings.extend(branch.warnings(|at| !matches!(session.nodes[at].2, QwenContent::Nothing)));
    let mut gather = session.finish(branch.on);
    gather.warnings = warnings;
    Ok(gather.finish(Format::QwenCode))
}

#[derive(Default)]
struct QwenSession {
    nodes: Vec<(Option<Parent>, Option<String>, QwenContent)>,
    /// The index of each entry, by its id.
    places: HashMap<String, usize>,
}

enum QwenContent {
    /// Not shown to the model.
    Nothing,
    Message(Role, Vec<Part>),
}

impl QwenSession {
    fn entry(&mut self, mut fields: Fields, said: QwenContent) {
        let parent = take::string(&mut fields, "parentUuid");
        let is_first = fields.get("parentUuid").is_some_and(Value::is_null);
        let first = match takes_nothing_back(&fields) {
            true => Parent::Listed,
            false => Parent::Start,
        };
        if let Some(id) = take::string(&mut fields, "uuid") {
            self.places.entry(id).or_insert(self.nodes.len());
        }
        self.nodes.push((is_first.then_some(first), parent, said));
    }

    /// Returns the branch that ends at the last entry.
    fn branch(&self) -> Branch {
        let place = |id: &String| self.places.get(id).map(|place| Parent::After(*place));
        let parents: Vec<Parent> = self
            .nodes
            .iter()
            .map(|(start, parent, _)| start.or(parent.as_ref().and_then(place)).unwrap_or(Parent::Lost))
            .collect();
        // If not all entries name a parent, they do not form a tree.
        let is_tree = !self
            .nodes
            .iter()
            .any(|(start, parent, _)| start.is_none() && parent.is_none());
        match is_tree {
            true => branch::ending_at(parents.len().saturating_sub(1), &parents),
            false => Branch::of_all(parents.len()),
        }
    }

    fn finish(self, on: Vec<bool>) -> Gather {
        let mut gather = Gather::default();
        let mut calls = Calls::default();
        let mut last = Role::User;
        for ((.., said), _) in self.nodes.into_iter().zip(on).filter(|(_, on)| *on) {
            let QwenContent::Message(role, mut parts) = said else {
                continue;
            };
            if role == Role::Assistant && last != role {
                calls.answered = calls.made;
            }
            last = role;
            parts.iter_mut().for_each(|part| calls.name(part));
            if role == Role::Assistant {
                gather.message(role, parts);
                continue;
            }
            let (results, words): (Vec<Part>, Vec<Part>) =
                parts.into_iter().partition(|part| matches!(part, Part::ToolResult(_)));
            for part in results {
                if let Part::ToolResult(result) = part {
                    gather.result(result);
                }
            }
            gather.prompt(words);
        }
        gather
    }
}

/// Returns whether an entry is a rewind over no prompts: it names no entry to continue from, and is not a start.
fn takes_nothing_back(fields: &Fields) -> bool {
    take::str(fields, "subtype") == "rewind" && take::number(fields, &["systemPayload", "truncatedCount"]) == Some(0)
}

/// Assigns ids to calls without one, and to their results, which follow in the same order. A call that has no result
/// when the next reply begins was interrupted.
#[derive(Default)]
struct Calls {
    made: usize,
    answered: usize,
}

impl Calls {
    fn name(&mut self, part: &mut Part) {
        match part {
            Part::ToolCall(call) if call.id.is_empty() => {
                self.made += 1;
                call.id = format!("call_{}", self.made).into();
            }
            Part::ToolResult(result) if result.call_id.is_empty() => {
                self.answered += 1;
                result.call_id = format!("call_{}", self.answered).into();
            }
            _ => {}
        }
    }
}

/// Returns an entry's content; `None` if it has none to read.
fn said(kind: &str, fields: &mut Fields) -> Option<QwenContent> {
    let mut message = take::object(fields, "message")?;
    let list = match take::value(&mut message, "parts") {
        Value::Array(list) => list,
        one @ (Value::String(_) | Value::Object(_)) => vec![one],
        _ => return None,
    };
    // Text that nobody typed has a subtype, and so has text typed while the agent works.
    let is_typed = matches!(take::str(fields, "subtype"), "" | "mid_turn_user_message");
    let origin = if kind == "user" && !is_typed {
        Origin::Injected
    } else {
        Origin::Own
    };
    let status = take::at(fields, &["toolCallResult", "status"]);
    let success = match status.and_then(Value::as_str) {
        Some("success") => Some(true),
        Some("error" | "cancelled") => Some(false),
        _ => None,
    };
    let role = if kind == "assistant" {
        Role::Assistant
    } else {
        Role::User
    };
    let parts = list.into_iter().filter_map(|part| self::part(part, origin, success));
    let parts = parts.filter(|part| match part {
        // Only tools produce results and only the model makes calls, whatever a damaged file says.
        Part::ToolCall(_) | Part::Thinking(_) => role == Role::Assistant,
        Part::ToolResult(_) => role == Role::User,
        _ => true,
    });
    Some(QwenContent::Message(role, parts.collect()))
}

pub(crate) fn part(part: Value, origin: Origin, success: Option<bool>) -> Option<Part> {
    let mut fields = match part {
        Value::String(text) => return gather::text(origin, text),
        Value::Object(fields) => fields,
        _ => return None,
    };
    if let Some(text) = take::string(&mut fields, "text") {
        return match take::flag(&fields, "thought") {
            true => gather::unsigned(text),
            false => gather::text(origin, text),
        };
    }
    if let Some(mut call) = take::object(&mut fields, "functionCall") {
        return Some(gather::call_in(&mut call, ["id", "name", "args"]));
    }
    if let Some(mut answer) = take::object(&mut fields, "functionResponse") {
        let id = take::string(&mut answer, "id").unwrap_or_default();
        let response = take::object(&mut answer, "response").unwrap_or_default();
        let failed = response.contains_key("error") && !response.contains_key("output");
        let success = success.or(failed.then_some(false));
        let output = gather::text(Origin::Own, printed(response)).into_iter();
        let files = take::list(&mut answer, "parts").into_iter();
        let output = output.chain(files.filter_map(|file| self::part(file, Origin::Own, None)));
        return Some(Part::ToolResult(gather::result(id, success, output)));
    }
    if let Some(data) = fields.get("inlineData")
        && let (Some(media), Some(bytes)) = (data.get("mimeType"), data.get("data"))
        && let (Some(media), Some(bytes)) = (media.as_str(), bytes.as_str())
        && media.starts_with("image/")
    {
        return Some(gather::image(media, bytes.to_owned()));
    }
    let kind = fields.keys().next().cloned().unwrap_or_default();
    attachment::file(&kind, Value::Object(fields))
}

/// Returns a tool's output: the only text of its response, or the whole response if there is more to it.
fn printed(mut response: Fields) -> String {
    if response.len() == 1
        && let Some(text) = ["output", "error"]
            .iter()
            .find_map(|name| take::string(&mut response, name))
    {
        return text;
    }
    match response.is_empty() {
        true => String::new(),
        false => Value::Object(response).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Warning;
    use crate::sketch::{check, check_odd};

    fn entry(id: u32, parent: u32, kind: &str, rest: &str) -> String {
        let parent = if parent == 0 {
            String::from("null")
        } else {
            format!("\"u{parent}\"")
        };
        format!("{{\"uuid\":\"u{id}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"type\":\"{kind}\",{rest}}}\n")
    }

    fn says(id: u32, parent: u32, kind: &str, parts: &str) -> String {
        let role = if kind == "assistant" { "model" } else { "user" };
        entry(
            id,
            parent,
            kind,
            &format!(r#""message":{{"role":"{role}","parts":[{parts}]}}"#),
        )
    }

    #[test]
    fn prompts_calls_and_answers_are_read_and_what_nobody_typed_is_no_prompt() {
        let call = r#"{"text":"hm","thought":true},{"text":"Let me look."},{"functionCall":{"id":"c1","name":"read_file","args":{"path":"a.rs"}}}"#;
        let answer = r#""message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"fn a() {}"}}}]},"toolCallResult":{"callId":"c1","status":"success"}"#;
        let failed = r#"{"functionResponse":{"id":"c2","name":"run","response":{"error":"no such file"}}}"#;
        let told = r#""subtype":"notification","message":{"role":"user","parts":[{"text":"A task has ended."}]}"#;
        let file = [
            entry(9, 0, "system", r#""subtype":"ui_telemetry","systemPayload":{}"#),
            says(1, 9, "user", r#"{"text":"Mend it."}"#),
            says(2, 1, "assistant", call),
            entry(3, 2, "tool_result", answer),
            says(
                4,
                3,
                "assistant",
                r#"{"functionCall":{"id":"c2","name":"run","args":{}}}"#,
            ),
            says(5, 4, "tool_result", failed),
            entry(6, 5, "user", told),
            says(7, 6, "assistant", r#"{"text":"Done."}"#),
        ];
        check(
            read,
            &file.concat(),
            r#"user: Mend it.
            thinking: hm
            assistant: Let me look.
            call c1: read_file {"path":"a.rs"}
            result c1 ok: fn a() {}
            call c2: run {}
            result c2 failed: no such file
            -
            user (injected): A task has ended.
            assistant: Done."#,
        );
    }

    #[test]
    fn a_result_without_an_id_belongs_to_the_newest_reply_even_if_an_earlier_call_was_interrupted() {
        let call = |path: &str| format!(r#"{{"functionCall":{{"name":"read","args":{{"path":"{path}"}}}}}}"#);
        let answer =
            |text: &str| format!(r#"{{"functionResponse":{{"name":"read","response":{{"output":"{text}"}}}}}}"#);
        let file = [
            says(1, 0, "user", r#"{"text":"go"}"#),
            says(2, 1, "assistant", &call("a.rs")),
            says(3, 2, "user", r#"{"text":"no, b.rs and c.rs"}"#),
            says(4, 3, "assistant", &call("b.rs")),
            says(5, 4, "assistant", &call("c.rs")),
            says(6, 5, "tool_result", &answer("fn b() {}")),
            says(7, 6, "tool_result", &answer("fn c() {}")),
        ];
        check(
            read,
            &file.concat(),
            r#"user: go
            call call_1: read {"path":"a.rs"}
            user: no, b.rs and c.rs
            call call_2: read {"path":"b.rs"}
            -
            call call_3: read {"path":"c.rs"}
            result call_2 unknown: fn b() {}
            result call_3 unknown: fn c() {}"#,
        );
    }

    #[test]
    fn entries_that_do_not_say_what_they_follow_are_all_read() {
        let unlinked = |text: &str| {
            says(1, 0, "assistant", &format!(r#"{{"text":"{text}"}}"#)).replace(r#""parentUuid":null,"#, "")
        };
        let prompt = |id: u32, text: &str| says(id, 0, "user", &format!(r#"{{"text":"{text}"}}"#));
        let file = [prompt(2, "go"), unlinked("gone"), prompt(3, "on"), unlinked("done")];
        check(
            read,
            &file.concat(),
            "user: go\nassistant: gone\nuser: on\nassistant: done",
        );
    }

    #[test]
    fn a_rewind_by_no_prompt_takes_nothing_back() {
        let rewind = |count: u32| {
            entry(
                3,
                0,
                "system",
                &format!(r#""subtype":"rewind","systemPayload":{{"truncatedCount":{count}}}"#),
            )
        };
        let file = |count: u32| {
            let before = [
                says(1, 0, "user", r#"{"text":"go"}"#),
                says(2, 1, "assistant", r#"{"text":"gone"}"#),
            ];
            let after = says(4, 3, "user", r#"{"text":"on"}"#);
            [before.concat(), rewind(count), after].concat()
        };
        check(read, &file(0), "user: go\nassistant: gone\nuser: on");
        check_odd(read, &file(1), "user: on", &[Warning::BegunAnew { left: 2 }]);
    }

    #[test]
    fn what_a_rewind_left_behind_is_left_out_and_every_field_of_an_answer_is_kept() {
        let both = r#"{"functionResponse":{"name":"run","response":{"output":"a","exit_code":1}}}"#;
        let file = [
            says(1, 0, "user", r#"{"text":"go"}"#),
            says(2, 1, "user", r#"{"text":"left"}"#),
            says(3, 1, "user", r#"{"text":"right"}"#),
            says(4, 3, "assistant", r#"{"functionCall":{"name":"run","args":{}}}"#),
            says(5, 4, "tool_result", both),
        ];
        check(
            read,
            &file.concat(),
            r#"user: go
            -
            user: right
            call call_1: run {}
            result call_1 unknown: {"output":"a","exit_code":1}"#,
        );
    }
}
