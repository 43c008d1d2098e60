//! Threads of Amp, as stored and as exported (`amp threads export`): messages with blocks much like Anthropic's, in
//! which a tool result is a run with a status.

use crate::ReadError;
use crate::blocks;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::{Billed, Recording, instant};
use crate::refused;
use crate::skim::Seen;
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use codelet_context::refusal::RefusedBy;
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["messages"],
    ..Form::new("amp", "a thread of Amp (JSON)", read)
};

fn shows(first: &Seen) -> bool {
    let is_thread = first.string("id").is_some_and(|id| id.starts_with("T-"));
    is_thread && first.get("messages").is_some_and(|messages| messages.is_list())
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a thread: an object with id and messages")?;
    let mut gather = Gather::of(warnings);
    for fields in take::objects(&mut file, "messages") {
        message(&mut gather, fields);
    }
    Ok(gather.finish(Format::Amp))
}

fn message(gather: &mut Gather, mut message: Fields) {
    match take::str(&message, "role") {
        "assistant" => {
            let time = take::at(&message, &["usage", "timestamp"]).and_then(Value::as_str);
            let time = time.and_then(instant);
            let (model, billed) = (take::name(&message, &["usage", "model"]), billed(&message));
            let blocks = take::list(&mut message, "content");
            let mut parts = blocks::content(Value::Array(blocks), Origin::Own);
            parts.retain(|part| !matches!(part, Part::ToolResult(_)));
            parts.iter_mut().for_each(unsigned);
            gather.replied(parts, time, model, billed);
            gather.requests.passed(time);
        }
        "user" => {
            let mut said = Vec::new();
            for mut block in take::objects(&mut message, "content") {
                match take::str(&block, "type") {
                    "tool_result" => gather.result(result(&mut block)),
                    _ => said.push(Value::Object(block)),
                }
            }
            let mut parts = blocks::content(Value::Array(said), Origin::Own);
            parts.retain(|part| !matches!(part, Part::ToolCall(_)));
            gather.prompt(parts);
            gather.requests.passed(take::number(&message, &["meta", "sentAt"]));
        }
        // Information that the thread was started with.
        "info" => {
            let parts = gather::content(take::value(&mut message, "content"), Origin::Injected);
            gather.message(Role::User, parts);
        }
        other => gather.unknown(other),
    }
}

/// Removes the signature: a thread may use several providers and does not record which one signed a thinking block.
fn unsigned(part: &mut Part) {
    if let Part::Thinking(thinking) = part
        && let Some(plain) = gather::unsigned(thinking.body.as_str().to_owned())
    {
        *part = plain;
    }
}

fn result(block: &mut Fields) -> ToolResult {
    let id = take::string(block, "toolUseID").unwrap_or_default();
    let mut run = take::object(block, "run").unwrap_or_default();
    let status = take::string(&mut run, "status").unwrap_or_default();
    let exit = take::at(&run, &["result", "exitCode"]).and_then(Value::as_i64);
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
        result.refusal = refused::by_user(&result).or_else(|| Some(RefusedBy::User("".into())));
    }
    result
}

/// Returns a tool's output as text; it may be a string, an object that holds one, or any other object.
fn words(value: Value) -> Vec<Part> {
    let text = match value {
        Value::Object(mut fields) => ["output", "content", "result"]
            .iter()
            .find_map(|name| take::string(&mut fields, name))
            .unwrap_or_else(|| Value::Object(fields).to_string()),
        Value::Array(blocks) if blocks.iter().all(|block| block.get("type").is_some()) => {
            return blocks::content(Value::Array(blocks), Origin::Own);
        }
        other => return gather::printed(other).into_iter().collect(),
    };
    gather::text(Origin::Own, text).into_iter().collect()
}

fn billed(message: &Fields) -> Option<Billed> {
    let count = |name| take::number(message, &["usage", name]);
    let of = |name| count(name).unwrap_or(0);
    Billed::exclusive(
        count("inputTokens")?,
        of("cacheCreationInputTokens"),
        of("cacheReadInputTokens"),
        of("outputTokens"),
    )
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
        let recording = read(file.as_bytes()).expect("it is one");
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
