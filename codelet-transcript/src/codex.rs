//! Session files (rollouts) of Codex. The model saw the response items; the events next to them repeat them for
//! display, but also tell which text was typed and how a program ended.

use crate::attachment;
use crate::convert::{NAMESPACE, in_namespace};
use crate::gather::{self, Gather};
use crate::harness::is_fragment;
use crate::lines::Lines;
use crate::recording::{self, Billed, Recorded, Recording};
use crate::source;
use crate::status::{self, Frame};
use crate::take::{self, Fields};
use crate::{Format, ReadError, Warning};
use codelet_context::body::Body;
use codelet_context::message::{Extra, Message, Origin, Part, Role, ToolResult};
use codelet_context::refusal::RefusedBy;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Reads a rollout, with each request's usage.
pub(crate) fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut rollout = Rollout::default();
    while let Some(mut entry) = lines.next()? {
        let time = recording::time(&entry.fields);
        let known = match take::object(&mut entry.fields, "payload") {
            Some(payload) => rollout.entry(take::str(&entry.fields, "type"), payload),
            // The first versions wrote bare items, after a line about the session.
            None => !entry.fields.contains_key("type") || rollout.item(&mut entry.fields),
        };
        if !known {
            let kind = take::string(&mut entry.fields, "type").unwrap_or_default();
            lines.note_unknown(entry.line, &kind);
        }
        rollout.note(time);
    }
    Ok(rollout.finish(lines))
}

#[derive(Default)]
struct Rollout {
    gather: Gather,
    has_meta: bool,
    /// The earlier part, if the file refers to another one: a path, or an id that the other file's name ends with.
    elsewhere: Option<String>,
    /// The number of web searches by the provider so far: they have no ids.
    searches: usize,
    /// The index of the last message in the user role.
    last_user: Option<usize>,
    /// The tools of the calls, by call id.
    tools: HashMap<String, String>,
    /// The success of calls, if an event reports it, by call id.
    ended: HashMap<String, bool>,
    /// Calls that the user declined, according to an event.
    declined: HashSet<String>,
    /// The texts before a compaction by their hashes, and the number of messages that they cover.
    said: HashMap<u64, Vec<Body>>,
    covered: usize,
    /// Messages before this index hold no prompt, so there is nothing to roll back to.
    promptless: usize,
    /// The requests so far, in order of their replies among the gathered messages.
    requests: Vec<Recorded>,
    /// The time of the newest entry.
    latest: Option<u64>,
    /// The number of messages at that time.
    noted: usize,
    model: Option<Arc<str>>,
}

impl Rollout {
    /// Records the effect of an entry written at `time`: a new reply means a new request.
    fn note(&mut self, time: Option<u64>) {
        let messages = self.gather.messages();
        self.requests.retain(|request| request.reply < messages.len());
        let before = self.noted.min(messages.len());
        let begun = messages[before..]
            .iter()
            .rposition(|message| message.role == Role::Assistant);
        if let Some(at) = begun {
            self.requests.push(Recorded {
                reply: before + at,
                began: self.latest.or(time),
                model: self.model.clone(),
                billed: None,
            });
        }
        self.latest = time.or(self.latest);
        self.noted = messages.len();
    }

    /// Records the newest request's usage: the prompt count includes tokens read from the cache.
    fn billed(&mut self, payload: &Fields) {
        let count = |name| take::number(payload, &["info", "last_token_usage", name]).unwrap_or(0);
        let [prompt, cached, output] = ["input_tokens", "cached_input_tokens", "output_tokens"].map(count);
        if let (Some(request), Some(billed)) = (self.requests.last_mut(), Billed::inclusive(prompt, cached, output)) {
            request.billed = Some(billed);
        }
    }

    fn finish(mut self, lines: Lines<'_>) -> Recording {
        self.gather.requests = self.requests.into();
        self.gather.warnings = lines.into_warnings();
        let elsewhere = self.elsewhere.map(|at| Warning::EarlierElsewhere { at });
        self.gather.warnings.extend(elsewhere);
        self.gather.finish(Format::Codex)
    }

    /// Adds an entry; returns whether its kind is known.
    fn entry(&mut self, kind: &str, mut payload: Fields) -> bool {
        match kind {
            "session_meta" => {
                // The file of a fork also holds the other session's entry.
                if !self.has_meta
                    && let Some(mut base) = take::object(&mut payload, "base_instructions")
                    && let Some(text) = take::string(&mut base, "text")
                {
                    self.gather.system(text);
                }
                self.has_meta = true;
                self.base(&payload);
            }
            "response_item" => return self.item(&mut payload),
            "compacted" => self.compacted(payload),
            "event_msg" => self.event(payload),
            "turn_context" => self.model = take::string(&mut payload, "model").map(Arc::from).or(self.model.take()),
            "session_state" | "world_state" => {}
            "rollout_reference" => self.refers(&Value::Object(payload)),
            _ => return false,
        }
        true
    }

    /// Notes that the file continues another one, which holds the earlier part.
    fn base(&mut self, meta: &Fields) {
        if let Some(base) = meta.get("history_base").filter(|base| !base.is_null()) {
            self.refers(base);
        }
    }

    fn refers(&mut self, to: &Value) {
        let names = [
            "rollout_path", "path", "file", "thread_id", "session_id", "rollout_id", "id",
        ];
        let name = to
            .as_str()
            .or_else(|| names.iter().find_map(|name| to.get(*name)?.as_str()));
        self.elsewhere
            .get_or_insert_with(|| name.unwrap_or_default().chars().take(LONGEST_REFERENCE).collect());
    }

    fn item(&mut self, item: &mut Fields) -> bool {
        let kind = take::str(item, "type").to_owned();
        match kind.as_str() {
            "message" => self.message(item),
            "reasoning" => self.gather.reply(reasoning(item)),
            "function_call" => {
                let parameters = take::parameters(take::value(item, "arguments"));
                let tool = take::string(item, "name").unwrap_or_default();
                self.call(item, tool, parameters);
            }
            "agent_message" | "inter_agent_communication" => self.task(item),
            "custom_tool_call" => {
                let input = take::value(item, "input");
                let tool = take::string(item, "name").unwrap_or_default();
                self.call(item, tool, Fields::from_iter([(String::from("input"), input)]));
            }
            "local_shell_call" => {
                let mut action = take::object(item, "action").unwrap_or_default();
                action.retain(|name, value| name != "type" && !value.is_null());
                self.call(item, String::from("local_shell"), action);
            }
            "tool_search_call" => {
                let parameters = take::parameters(take::value(item, "arguments"));
                self.call(item, String::from("tool_search"), parameters);
            }
            "function_call_output" | "custom_tool_call_output" => self.output(item),
            "tool_search_output" => {
                let id = take::string(item, "call_id").unwrap_or_default();
                let success = completed(item);
                let tools = take::value(item, "tools").to_string();
                self.gather.result(gather::result(id, success, [Part::text(tools)]));
            }
            "web_search_call" => self.search(item),
            "image_generation_call" => self.gather.reply([opaque(&kind, item)]),
            "compaction" | "compaction_summary" | "context_compaction" => {
                self.gather.message(Role::User, [opaque(&kind, item)]);
            }
            "ghost_snapshot" | "other" => {}
            _ => return item.contains_key("record_type"),
        }
        true
    }

    fn message(&mut self, item: &mut Fields) {
        let role = take::str(item, "role").to_owned();
        let mut parts = content(take::value(item, "content"));
        if role == "assistant" {
            return self.gather.reply(parts);
        }
        let by_harness = role != "user";
        for part in &mut parts {
            if let Part::Text(text) = part
                && (by_harness || is_fragment(text.body.as_str()))
            {
                text.origin = Origin::Injected;
            }
        }
        self.last_user = Some(self.gather.len()).filter(|_| !by_harness && !parts.is_empty());
        self.gather.message(Role::User, parts);
    }

    fn call(&mut self, item: &mut Fields, tool: String, parameters: Fields) {
        let id = take::string(item, "call_id")
            .or_else(|| take::string(item, "id"))
            .unwrap_or_default();
        self.tools.insert(id.clone(), tool.clone());
        let namespace = take::string(item, NAMESPACE).filter(|space| !space.is_empty());
        let Some(namespace) = namespace else {
            return self.gather.reply([gather::call(id, tool, parameters)]);
        };
        let mut part = gather::call(id, in_namespace(Some(&namespace), tool), parameters);
        if let Part::ToolCall(call) = &mut part {
            call.extra = Extra::new(Fields::from_iter([(
                NAMESPACE.to_owned(),
                Value::from(namespace.trim_end_matches('_')),
            )]));
        }
        self.gather.reply([part]);
    }

    /// Adds a message from one agent to another: a new task is the prompt of the agent that receives it.
    fn task(&mut self, item: &mut Fields) {
        let mut parts = content(take::value(item, "content"));
        for part in &mut parts {
            if let Part::Text(text) = part
                && let Some(kind) = text.body.as_str().strip_prefix("Message Type: ")
                && !kind.starts_with("NEW_TASK")
            {
                text.origin = Origin::Injected;
            }
        }
        self.last_user = None;
        self.gather.message(Role::User, parts);
    }

    /// Adds a web search that the provider ran within its reply: the query is recorded, the results are not.
    fn search(&mut self, item: &mut Fields) {
        let id = take::string(item, "id").unwrap_or_else(|| format!("search_{}", self.searches));
        self.searches += 1;
        let action = take::object(item, "action").unwrap_or_default();
        self.gather.reply([gather::call(id.as_str(), "web_search", action)]);
        if take::str(item, "status") != "in_progress" {
            let note = Part::text_from(Origin::Injected, "[run by the vendor; what it found was not recorded]");
            self.gather.result(gather::result(id, completed(item), [note]));
        }
    }

    fn output(&mut self, item: &mut Fields) {
        let id = take::string(item, "call_id").unwrap_or_default();
        let mut success = self.ended.remove(&id);
        let output = match take::value(item, "output") {
            Value::Object(mut output) => {
                success = success.or(output.get("success").and_then(Value::as_bool));
                take::value(&mut output, "content")
            }
            output => output,
        };
        let parts = content(output);
        let runs_programs = self
            .tools
            .get(&id)
            .is_some_and(|tool| PROGRAMS.contains(&tool.as_str()));
        if let (None, true, Some(Part::Text(text))) = (success, runs_programs, parts.first()) {
            success = exit_status(text.body.as_str()).map(|status| status == 0);
        }
        let mut result = gather::result(id.as_str(), success, parts);
        // A program's output comes after its status, so a program cannot print this.
        let is_said = |result: &ToolResult| {
            let mut texts = result.texts();
            texts.next().is_some_and(|text| REJECTED.contains(&text.body.as_str()))
        };
        if self.declined.remove(&id) || runs_programs && success != Some(true) && is_said(&result) {
            result.refusal = Some(RefusedBy::User("".into()));
        }
        self.gather.result(result);
    }

    fn event(&mut self, mut event: Fields) {
        let id = take::string(&mut event, "call_id").unwrap_or_default();
        match take::str(&event, "type") {
            "user_message" if matches!(take::str(&event, "kind"), "" | "plain") => {
                self.typed(take::str(&event, "message"));
            }
            "exec_command_end" | "patch_apply_end" if take::str(&event, "status") == "declined" => {
                self.ended.insert(id.clone(), false);
                self.declined.insert(id);
            }
            "exec_command_end" => {
                if let Some(status) = event.get("exit_code").and_then(Value::as_i64) {
                    self.ended.insert(id, status == 0);
                }
            }
            "patch_apply_end" => {
                if let Some(success) = event.get("success").and_then(Value::as_bool) {
                    self.ended.insert(id, success);
                }
            }
            "mcp_tool_call_end" => {
                let result = event.get("result");
                let failed = result.and_then(|result| result.get("Ok")).map(|ok| {
                    let flag = ok.get("isError").or_else(|| ok.get("is_error"));
                    flag.and_then(Value::as_bool).unwrap_or_default()
                });
                if let Some(success) = failed
                    .map(|failed| !failed)
                    .or(result.and_then(|r| r.get("Err")).map(|_| false))
                {
                    self.ended.insert(id, success);
                }
            }
            "token_count" => self.billed(&event),
            "thread_rolled_back" => {
                let turns = event.get("num_turns").and_then(Value::as_u64).unwrap_or_default();
                self.roll_back(turns);
            }
            _ => {}
        }
    }

    /// Marks the text that an event repeats as the user's message as typed, whatever it looks like.
    fn typed(&mut self, words: &str) {
        let Some(index) = self.last_user.take() else { return };
        let Some(message) = self.gather.message_mut(index) else {
            return;
        };
        self.promptless = self.promptless.min(index);
        let mut rest = words.trim();
        for part in &mut message.parts {
            if let Part::Text(text) = part
                && let Some(after) = rest.strip_prefix(text.body.as_str().trim())
            {
                text.origin = Origin::Own;
                rest = after.trim_start();
            }
        }
    }

    fn roll_back(&mut self, turns: u64) {
        let searched = &self.gather.messages()[self.promptless..];
        let prompts = searched
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, message)| message.is_prompt());
        let first = prompts.take(usize::try_from(turns).unwrap_or(usize::MAX)).last();
        match first.map(|(index, _)| self.promptless + index) {
            Some(index) => {
                self.gather.truncate(index);
                self.covered = self.covered.min(index);
                self.last_user = None;
            }
            None if turns > 0 => self.promptless = self.gather.len(),
            None => {}
        }
    }

    /// Handles a compaction, which replaces the history: of the replacement, only the summary is new.
    fn compacted(&mut self, mut payload: Fields) {
        for message in &self.gather.messages()[self.covered..] {
            for text in texts(message) {
                let alike = self.said.entry(text.body.hash()).or_default();
                if !alike.contains(&text.body) {
                    alike.push(text.body.clone());
                }
            }
        }
        self.covered = self.gather.len();
        self.gather.close();
        self.prompts_before(&mut payload);
        let summary = gather::text_in(&mut payload, "message", Origin::Summary);
        let mut parts: Vec<Part> = summary.into_iter().collect();
        for mut item in take::objects(&mut payload, "replacement_history") {
            match take::str(&item, "type") {
                "message" if parts.is_empty() && take::str(&item, "role") != "developer" => {
                    parts.extend(self.summary(&mut item));
                }
                kind @ ("compaction" | "compaction_summary" | "context_compaction") => {
                    let kind = kind.to_owned();
                    parts.push(opaque(&kind, &mut item));
                }
                _ => {}
            }
        }
        self.gather.message(Role::User, parts);
    }

    /// Recovers the prompts before a compaction at the start of a file: only the replacement history holds them. Of its
    /// user messages, the one that contains the summary is not a prompt; if none does, the last one is not, unless the
    /// summary is encrypted.
    fn prompts_before(&mut self, payload: &mut Fields) {
        let summary = take::str(payload, "message").to_owned();
        let Some(Value::Array(items)) = payload.get_mut("replacement_history") else {
            return;
        };
        if self.gather.messages().iter().any(Message::is_prompt) {
            return;
        }
        let kind = |item: &Value| item.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_user = |item: &Value| item.get("role").is_some_and(|role| role == "user") && kind(item) == "message";
        let is_sealed = items.iter().any(|item| kind(item).contains("compaction"));
        let told = match summary.trim() {
            "" if is_sealed => None,
            "" => items.iter().rposition(is_user),
            told => items.iter().rposition(|item| is_user(item) && says(item, told)),
        };
        let mut at = 0;
        let is_prompt = |item: &mut Value| {
            at += 1;
            is_user(item) && Some(at - 1) != told
        };
        for item in items.extract_if(.., is_prompt).collect::<Vec<_>>() {
            if let Value::Object(mut item) = item {
                self.message(&mut item);
            }
        }
        self.last_user = None;
        self.covered = self.gather.len();
    }

    fn summary(&self, item: &mut Fields) -> Vec<Part> {
        let was_said = |body: &Body| self.said.get(&body.hash()).is_some_and(|alike| alike.contains(body));
        let mut parts = content(take::value(item, "content"));
        parts.retain_mut(|part| match part {
            Part::Text(text) => {
                let is_new = !was_said(&text.body) && !is_fragment(text.body.as_str());
                text.origin = Origin::Summary;
                is_new
            }
            _ => false,
        });
        parts
    }
}

/// Returns whether a recorded message contains this text.
fn says(item: &Value, words: &str) -> bool {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    let mut texts = parts.filter_map(|part| part.get("text")?.as_str());
    texts.any(|text| text.contains(words))
}

fn texts(message: &Message) -> impl Iterator<Item = &codelet_context::message::Text> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    })
}

/// Returns whether an item that carries its status succeeded.
fn completed(item: &Fields) -> Option<bool> {
    match take::str(item, "status") {
        "completed" => Some(true),
        "failed" => Some(false),
        _ => None,
    }
}

fn opaque(kind: &str, item: &mut Fields) -> Part {
    attachment::part(kind, Value::Object(std::mem::take(item)))
}

fn content(value: Value) -> Vec<Part> {
    let part = |mut item: Fields| match take::str(&item, "type") {
        "input_text" | "output_text" | "text" | "refusal" => {
            let text = take::string(&mut item, "text").or_else(|| take::string(&mut item, "refusal"))?;
            gather::text(Origin::Own, text)
        }
        "input_image" if item.get("image_url").is_some_and(Value::is_string) => {
            Some(gather::image_at(take::string(&mut item, "image_url")?))
        }
        kind => {
            let kind = kind.to_owned();
            Some(opaque(&kind, &mut item))
        }
    };
    match value {
        Value::String(text) => gather::text(Origin::Own, text).into_iter().collect(),
        Value::Array(items) => items
            .into_iter()
            .filter_map(|item| match item {
                Value::Object(item) => part(item),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn reasoning(item: &mut Fields) -> Option<Part> {
    let mut paragraphs = Vec::new();
    for name in ["summary", "content"] {
        if paragraphs.is_empty() {
            paragraphs.extend(take::objects(item, name).filter_map(|mut part| take::string(&mut part, "text")));
        }
    }
    gather::thinking(
        paragraphs.join("\n\n"),
        None,
        take::string(item, "encrypted_content"),
        Some("openai"),
    )
}

/// The maximum length of a path or id that refers to another file, in characters.
const LONGEST_REFERENCE: usize = 1000;

/// Outputs that tell the model that the user declined the call.
const REJECTED: &[&str] = &["exec command rejected by user", "patch rejected by user"];

/// Tools whose output begins with an envelope that holds the exit status.
const PROGRAMS: &[&str] = &[
    "apply_patch", "container.exec", "exec", "exec_command", "local_shell", "shell", "shell_command", "unified_exec",
    "write_stdin",
];

/// Returns the exit status in the envelope around a program's output: lines above it, or a JSON object.
fn exit_status(output: &str) -> Option<i64> {
    if output.starts_with("{\"output\":") {
        return status::of_object(source::embedded(output)?.as_object()?);
    }
    match status::above(output) {
        Some(Frame::Ended(status)) => Some(status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::sketch::check;

    fn item(payload: &str) -> String {
        format!("{{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{{{payload}}}}}\n")
    }

    fn event(payload: &str) -> String {
        format!("{{\"timestamp\":\"t\",\"type\":\"event_msg\",\"payload\":{{{payload}}}}}\n")
    }

    fn user(text: &str) -> String {
        let content = format!(r#"[{{"type":"input_text","text":"{text}"}}]"#);
        item(&format!(r#""type":"message","role":"user","content":{content}"#))
    }

    fn said(text: &str) -> String {
        let content = format!(r#"[{{"type":"output_text","text":"{text}"}}]"#);
        item(&format!(
            r#""type":"message","role":"assistant","content":{content},"phase":"commentary""#
        ))
    }

    fn call(id: &str, tool: &str) -> String {
        item(&format!(
            r#""type":"function_call","name":"{tool}","arguments":"{{\"cmd\":\"ls\"}}","call_id":"{id}""#
        ))
    }

    fn output(id: &str, output: &str) -> String {
        item(&format!(
            r#""type":"function_call_output","call_id":"{id}","output":{output}"#
        ))
    }

    #[test]
    fn items_of_one_reply_are_one_message_and_so_are_its_results() {
        let meta = "{\"type\":\"session_meta\",\"payload\":{\"base_instructions\":{\"text\":\"Be Codex.\"}}}\n";
        let thought = r#""type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"xyz""#;
        let file = [
            String::from(meta),
            user("go"),
            item(thought),
            said("looking"),
            call("c1", "exec_command"),
            call("c2", "exec_command"),
            output("c1", "\"one\""),
            event(r#""type":"token_count""#),
            output(
                "c2",
                r#"[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"data:image/png;base64,iV"}]"#,
            ),
            item(r#""type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}"#),
            said("done"),
        ];
        check(
            record,
            &file.concat(),
            r#"system: Be Codex.
            user: go
            thinking of openai sealed xyz: hm
            assistant: looking
            call c1: exec_command {"cmd":"ls"}
            call c2: exec_command {"cmd":"ls"}
            result c1 unknown: one
            result c2 unknown: two + its image: image/png iV
            call search_0: web_search {"type":"search","query":"q"}
            result search_0 ok: [run by the vendor; what it found was not recorded]
            assistant: done"#,
        );
    }

    #[test]
    fn an_exit_status_is_read_from_the_envelope_alone() {
        let unified =
            |line| format!("Chunk ID: ab\nWall time: 0.1 seconds\n{line}\nOriginal token count: 9\nOutput:\nx");
        assert_eq!(exit_status(&unified("Process exited with code 0")), Some(0));
        assert_eq!(exit_status(&unified("Process exited with code 101")), Some(101));
        assert_eq!(exit_status(&unified("Process running with session ID 7")), None);
        assert_eq!(exit_status("Exit code: 1\nWall time: 0 seconds\nOutput:\nx"), Some(1));
        assert_eq!(
            exit_status(r#"{"output":"x","metadata":{"exit_code":2,"duration_seconds":0.1}}"#),
            Some(2)
        );
        assert_eq!(
            exit_status("Wall time: 1 seconds\nOutput:\nProcess exited with code 0"),
            None
        );
        assert_eq!(
            exit_status("all passed\nProcess exited with code 0\nExit code: 0"),
            None
        );
    }

    #[test]
    fn only_tools_that_run_programs_have_the_envelope() {
        let text = r#""Exit code: 1\nWall time: 0 seconds\nOutput:\nx""#;
        let file = [
            call("c1", "read_file"),
            output("c1", text),
            call("c2", "shell"),
            output("c2", text),
        ];
        check(
            record,
            &file.concat(),
            r#"call c1: read_file {"cmd":"ls"}
            result c1 unknown: Exit code: 1|Wall time: 0 seconds|Output:|x
            call c2: shell {"cmd":"ls"}
            result c2 failed: Exit code: 1|Wall time: 0 seconds|Output:|x"#,
        );
    }

    #[test]
    fn an_event_that_tells_how_a_call_ended_counts_first() {
        let file = [
            item(r#""type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** Begin Patch""#),
            event(r#""type":"patch_apply_end","call_id":"c1","success":false"#),
            item(r#""type":"custom_tool_call_output","call_id":"c1","output":"Failed""#),
            item(r#""type":"local_shell_call","call_id":"c2","action":{"type":"exec","command":["ls"],"user":null}"#),
            event(r#""type":"exec_command_end","call_id":"c2","exit_code":0"#),
            output("c2", "\"a.rs\""),
            call("c3", "mcp__x__y"),
            event(r#""type":"mcp_tool_call_end","call_id":"c3","result":{"Err":"gone"}"#),
            output("c3", r#"{"content":"gone","success":true}"#),
        ];
        check(
            record,
            &file.concat(),
            r#"call c1: apply_patch {"input":"*** Begin Patch"}
            result c1 failed: Failed
            call c2: local_shell {"command":["ls"]}
            result c2 ok: a.rs
            call c3: mcp__x__y {"cmd":"ls"}
            result c3 failed: gone"#,
        );
    }

    #[test]
    fn context_that_codex_adds_is_no_prompt_and_what_was_typed_always_is() {
        let pasted = "<turn_aborted>why?</turn_aborted>";
        let file = [
            item(r#""type":"message","role":"developer","content":[{"type":"input_text","text":"no network"}]"#),
            user("<environment_context><cwd>/x</cwd></environment_context>"),
            user("# AGENTS.md instructions for /x<INSTRUCTIONS>be kind</INSTRUCTIONS>"),
            user(pasted),
            event(&format!(r#""type":"user_message","message":"{pasted}""#)),
            user("<environment_context> is unclear to me"),
        ];
        check(
            record,
            &file.concat(),
            "user (injected): no network
            -
            user (injected): <environment_context><cwd>/x</cwd></environment_context>
            -
            user (injected): # AGENTS.md instructions for /x<INSTRUCTIONS>be kind</INSTRUCTIONS>
            -
            user: <turn_aborted>why?</turn_aborted>
            -
            user: <environment_context> is unclear to me",
        );
    }

    #[test]
    fn of_what_replaces_the_history_only_the_summary_is_new() {
        let replacement = r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
            {"type":"message","role":"user","content":[{"type":"input_text","text":"So far: gone."}]}]"#
            .replace('\n', "");
        let compacted = |rest: &str| format!("{{\"type\":\"compacted\",\"payload\":{{{rest}}}}}\n");
        let told = [
            user("go"),
            said("going"),
            compacted(r#""message":"So far.","replacement_history":null"#),
            said("gone"),
        ];
        check(
            record,
            &told.concat(),
            "user: go\nassistant: going\nuser (summary): So far.\nassistant: gone",
        );
        let found = compacted(&format!(r#""message":"","replacement_history":{replacement}"#));
        let found = [user("go"), said("going"), found, said("gone")];
        check(
            record,
            &found.concat(),
            "user: go\nassistant: going\nuser (summary): So far: gone.\nassistant: gone",
        );
        let sealed = r#""message":"","replacement_history":[{"type":"compaction","encrypted_content":"xyz"}]"#;
        check(
            record,
            &[user("go"), compacted(sealed)].concat(),
            r#"user: go
            -
            user compaction: {"type":"compaction","encrypted_content":"xyz"}"#,
        );
    }

    #[test]
    fn prompts_of_a_file_that_begins_with_a_compaction_stay_prompts() {
        let message = |text: &str| {
            format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#)
        };
        let compacted = |told: &str, history: &[&str]| {
            let history = history.iter().map(|text| message(text)).collect::<Vec<_>>().join(",");
            format!(
                "{{\"type\":\"compacted\",\"payload\":{{\"message\":\"{told}\",\"replacement_history\":[{history}]}}}}\n"
            )
        };
        let prompts = "user: No floats.\n-\nuser: Stay green.\n-\n";
        let history = ["No floats.", "Stay green.", "Summary: so far."];
        for told in ["", "so far."] {
            let summary = if told.is_empty() { "Summary: so far." } else { told };
            let file = compacted(told, &history);
            check(record, &file, &format!("{prompts}user (summary): {summary}"));
        }
    }

    #[test]
    fn turns_that_were_rolled_back_are_left_out() {
        let back = |turns| event(&format!(r#""type":"thread_rolled_back","num_turns":{turns}"#));
        let file = [
            user("one"),
            said("1"),
            user("two"),
            said("2"),
            user("three"),
            said("3"),
            back(2),
            user("four"),
        ];
        check(record, &file.concat(), "user: one\nassistant: 1\nuser: four");
        check(record, &[user("one"), back(99), user("two")].concat(), "user: two");
    }

    #[test]
    fn the_first_versions_wrote_bare_items() {
        let file = "{\"id\":\"x\",\"timestamp\":\"t\",\"instructions\":null}\n{\"record_type\":\"state\"}\n\
            {\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"go\"}]}\n\
            {\"type\":\"function_call\",\"name\":\"shell\",\"arguments\":\"{}\",\"call_id\":\"c1\"}\n\
            {\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"{\\\"output\\\":\\\"x\\\",\\\"metadata\\\":{\\\"exit_code\\\":1}}\"}\n";
        check(
            record,
            file,
            r#"user: go
            call c1: shell {}
            result c1 failed: {"output":"x","metadata":{"exit_code":1}}"#,
        );
    }

    #[test]
    fn a_token_count_is_the_bill_of_the_reply_before_it() {
        let entry = |second: u32, kind: &str, payload: &str| {
            let time = format!("1970-01-01T00:00:{second:02}Z");
            format!("{{\"timestamp\":\"{time}\",\"type\":\"{kind}\",\"payload\":{{{payload}}}}}\n")
        };
        let words = |role: &str, kind: &str| {
            format!(r#""type":"message","role":"{role}","content":[{{"type":"{kind}","text":"words"}}]"#)
        };
        let count = r#""type":"token_count","info":{"last_token_usage":{"input_tokens":100,"cached_input_tokens":60,"output_tokens":4}}"#;
        let file = [
            entry(1, "session_meta", r#""base_instructions":{"text":"Be Codex."}"#),
            entry(1, "turn_context", r#""model":"gpt-x""#),
            entry(2, "response_item", &words("user", "input_text")),
            entry(5, "response_item", &words("assistant", "output_text")),
            entry(6, "event_msg", count),
        ]
        .concat();
        let requests = record(file.as_bytes()).unwrap().requests;
        let [request] = requests.as_slice() else {
            panic!("{requests:?}")
        };
        assert_eq!((request.reply, request.began), (2, Some(2_000)));
        assert_eq!(request.model.as_deref(), Some("gpt-x"));
        assert_eq!(
            request.billed.unwrap().usage,
            codelet_context::usage::Usage::from_inclusive(100, 60, 4)
        );
    }
}
