//! Threads of Amp, as stored and as exported (`amp threads export`): messages with blocks much like Anthropic's, in
//! which a tool result is a run with a status.

use crate::blocks;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::notes::note_unknown;
use crate::recording::{Billed, Recording, Requests};
use crate::refused;
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::{ReadError, Warning};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use codelet_context::usage::Usage;
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["messages"],
    ..Form::new("amp", "a thread of Amp (JSON)", record)
};

fn shows(first: &Seen) -> bool {
    let is_thread = first.string("id").is_some_and(|id| id.starts_with("T-"));
    is_thread && first.get("messages").is_some_and(|messages| messages.is_list())
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a thread: an object with id and messages")?;
    let mut thread = Thread {
        warnings,
        ..Thread::default()
    };
    for message in take::objects(&mut file, "messages") {
        thread.message(message);
    }
    Ok(Recording {
        document: thread.gather.finish(Format::Amp, thread.warnings),
        requests: thread.requests.into_list(),
    })
}

#[derive(Default)]
struct Thread {
    gather: Gather,
    requests: Requests,
    warnings: Vec<Warning>,
}

impl Thread {
    fn message(&mut self, mut message: Fields) {
        let sent = message
            .get("meta")
            .and_then(|meta| meta.get("sentAt"))
            .and_then(Value::as_u64);
        match take::str(&message, "role") {
            "assistant" => {
                let at = self.gather.len();
                let (model, billed, time) = noted(&message);
                let blocks = take::list(&mut message, "content");
                let mut parts = blocks::content(Value::Array(blocks), Origin::Own);
                parts.retain(|part| !matches!(part, Part::ToolResult(_)));
                parts.iter_mut().for_each(unsigned);
                self.gather.message(Role::Assistant, parts);
                if self.gather.len() > at {
                    self.requests.replied(at, time, model, billed);
                }
                self.requests.passed(time);
            }
            "user" => {
                let mut said = Vec::new();
                for mut block in take::objects(&mut message, "content") {
                    match take::str(&block, "type") {
                        "tool_result" => self.gather.result(result(&mut block)),
                        _ => said.push(Value::Object(block)),
                    }
                }
                let mut parts = blocks::content(Value::Array(said), Origin::Own);
                parts.retain(|part| !matches!(part, Part::ToolCall(_)));
                if !parts.is_empty() {
                    self.gather.message(Role::User, parts);
                }
                self.requests.passed(sent);
            }
            // Information that the thread was started with.
            "info" => {
                let words =
                    take::objects(&mut message, "content").filter_map(|mut block| take::string(&mut block, "text"));
                let parts: Vec<Part> = words.filter_map(|text| gather::text(Origin::Injected, text)).collect();
                self.gather.message(Role::User, parts);
            }
            other => note_unknown(&mut self.warnings, 1, other),
        }
    }
}

/// Removes the signature: a thread may use several providers and does not record which one signed a thinking block.
fn unsigned(part: &mut Part) {
    if let Part::Thinking(thinking) = part
        && let Some(Part::Thinking(plain)) = gather::thinking(thinking.body.as_str().to_owned(), None, None, None)
    {
        *thinking = plain;
    }
}

fn result(block: &mut Fields) -> ToolResult {
    let id = take::string(block, "toolUseID").unwrap_or_default();
    let mut run = take::object(block, "run").unwrap_or_default();
    let status = take::string(&mut run, "status").unwrap_or_default();
    let exit = run
        .get("result")
        .and_then(|result| result.get("exitCode"))
        .and_then(Value::as_i64);
    let success = match (status.as_str(), exit) {
        ("done", Some(code)) => Some(code == 0),
        ("done", None) => Some(true),
        ("error" | "cancelled" | "rejected-by-user" | "cancellation-requested", _) => Some(false),
        _ => None,
    };
    let output = match (take::value(&mut run, "result"), take::value(&mut run, "error")) {
        (Value::Null, Value::Object(mut error)) => match take::string(&mut error, "message") {
            Some(message) => words(Value::String(message)),
            None => words(Value::Object(error)),
        },
        (Value::Null, other) => words(other),
        (result, _) => words(result),
    };
    let mut result = gather::result(id, success, output);
    if status == "rejected-by-user" {
        let none = || codelet_context::refusal::Refusal::User("".into());
        result.refusal = Some(refused::by_user(&result).unwrap_or_else(none));
    }
    result
}

/// Returns a tool's output as text; it may be a string, an object that holds one, or any other object.
fn words(value: Value) -> Vec<Part> {
    let text = match value {
        Value::Null => return Vec::new(),
        Value::String(text) => text,
        Value::Object(mut fields) => {
            let whole = |fields: &Fields| Value::Object(fields.clone()).to_string();
            match ["output", "content", "result"]
                .iter()
                .find(|name| fields.get(**name).is_some_and(Value::is_string))
            {
                Some(name) => take::string(&mut fields, name).unwrap_or_default(),
                None => whole(&fields),
            }
        }
        Value::Array(blocks) if blocks.iter().all(|block| block.get("type").is_some()) => {
            return blocks::content(Value::Array(blocks), Origin::Own);
        }
        other => other.to_string(),
    };
    gather::text(Origin::Own, text).into_iter().collect()
}

fn noted(message: &Fields) -> (Option<std::sync::Arc<str>>, Option<Billed>, Option<u64>) {
    let usage = message.get("usage");
    let model = usage
        .and_then(|usage| usage.get("model"))
        .and_then(Value::as_str)
        .map(Into::into);
    let time = usage.and_then(|usage| usage.get("timestamp")).and_then(Value::as_str);
    let count = |name: &str| usage?.get(name)?.as_u64();
    let billed = count("inputTokens").map(|input| {
        let [write, read, output] =
            ["cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens"].map(|name| count(name).unwrap_or(0));
        Billed {
            usage: Usage::from_exclusive(input, write, read, output),
            hour: 0,
        }
    });
    let billed = billed.filter(|billed| billed.usage.prompt() > 0);
    (model, billed, time.and_then(crate::recording::instant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
    use serde_json::json;

    #[test]
    fn a_run_is_an_answer_with_its_status() {
        let run = |id: &str, run: Value| json!({"type": "tool_result", "toolUseID": id, "run": run});
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"cmd": "make"}, "complete": true});
        let thread = json!({"v": 3, "id": "T-1", "created": 1, "messages": [
            {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Build it."}], "meta": {"sentAt": 1_700_000_000_000_u64}},
            {"role": "assistant", "messageId": 1, "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, call("a"), call("b"), call("c"), call("d")],
             "usage": {"model": "claude-opus-5", "inputTokens": 3, "cacheReadInputTokens": 50, "cacheCreationInputTokens": 7, "outputTokens": 9}},
            {"role": "user", "messageId": 2, "content": [
                run("a", json!({"status": "done", "result": {"output": "all well", "exitCode": 0}})),
                run("b", json!({"status": "done", "result": {"output": "no rule", "exitCode": 2}})),
                run("c", json!({"status": "error", "error": {"message": "no such file"}})),
                run("d", json!({"status": "rejected-by-user"}))]},
        ]});
        let file = thread.to_string();
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::Amp));
        let recording = record(file.as_bytes()).expect("it is one");
        let said = sketch(&recording.document);
        let results = said
            .split_once("result ")
            .map(|(_, rest)| format!("result {rest}"))
            .unwrap_or_default();
        assert_eq!(
            results,
            "result a ok: all well\nresult b failed: no rule\nresult c failed: no such file\nresult d failed: \n"
        );
        assert!(
            said.starts_with("user: Build it.\nthinking: hm\ncall a: Bash {\"cmd\":\"make\"}\n"),
            "{said}"
        );
        let refused = recording.document.messages[2]
            .tool_results()
            .filter(|result| result.refusal.is_some());
        assert_eq!(refused.map(|result| &*result.call_id).collect::<Vec<_>>(), ["d"]);
        let request = &recording.requests[0];
        assert_eq!((request.reply, request.began), (1, Some(1_700_000_000_000)));
        assert_eq!(request.billed.map(|billed| billed.usage.prompt()), Some(60));
    }
}
