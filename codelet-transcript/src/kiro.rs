//! Conversations of Kiro CLI, and its predecessor Amazon Q CLI, as stored in their database: pairs of prompt and reply.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::{self, Recording};
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;
use std::sync::Arc;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["history"],
    ..Form::new(
        "kiro",
        "a conversation of Kiro CLI or Amazon Q CLI (its store, or JSON)",
        read,
    )
};

fn shows(first: &Seen) -> bool {
    let is_pair = |pair: Skim| {
        pair.get("user").is_some() || pair.items().next().is_some_and(|user| user.get("content").is_some())
    };
    let pair = first.get("history").and_then(|history| history.items().next());
    first.has("conversation_id") && pair.is_some_and(is_pair)
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a conversation: an object with a history")?;
    let mut gather = Gather::of(warnings);
    // The summary of a compaction is sent with the next prompt.
    if let Some(Value::String(summary)) = take::list(&mut file, "latest_summary").into_iter().next() {
        gather.message(Role::User, gather::text(Origin::Summary, summary));
    }
    for pair in take::list(&mut file, "history") {
        let [user, assistant, metadata] = match pair {
            Value::Object(mut pair) => {
                ["user", "assistant", "request_metadata"].map(|name| take::object(&mut pair, name).unwrap_or_default())
            }
            // Until 1.13 a pair was a list.
            Value::Array(sides) => {
                let mut sides = sides.into_iter();
                [(); 3].map(|()| match sides.next() {
                    Some(Value::Object(side)) => side,
                    _ => Fields::new(),
                })
            }
            _ => continue,
        };
        let time = take::number(&metadata, &["request_start_timestamp_ms"]);
        let said = recording::time(&user);
        prompt(&mut gather, user);
        gather.requests.passed(time.or(said));
        reply(&mut gather, assistant, time, take::name(&metadata, &["model_id"]));
        gather
            .requests
            .passed(take::number(&metadata, &["stream_end_timestamp_ms"]));
    }
    if let Some(next) = take::object(&mut file, "next_message") {
        prompt(&mut gather, next);
    }
    Ok(gather.finish(Format::Kiro))
}

fn prompt(gather: &mut Gather, mut message: Fields) {
    let mut content = take::object(&mut message, "content").unwrap_or_default();
    let context = gather::text_in(&mut message, "additional_context", Origin::Injected);
    let mut parts: Vec<Part> = context.into_iter().collect();
    match content.keys().next().cloned().as_deref() {
        Some(kind @ ("Prompt" | "ToolUseResults" | "CancelledToolUses")) => {
            let mut said = take::object(&mut content, kind).unwrap_or_default();
            for answer in take::objects(&mut said, "tool_use_results") {
                gather.result(result(answer));
            }
            parts.extend(gather::text_in(&mut said, "prompt", Origin::Own));
        }
        Some(kind) => gather.unknown(kind),
        None => {}
    }
    gather.prompt(parts);
}

fn reply(gather: &mut Gather, mut message: Fields, time: Option<u64>, model: Option<Arc<str>>) {
    let said = ["Response", "ToolUse"]
        .iter()
        .find_map(|name| take::object(&mut message, name));
    let Some(mut said) = said else {
        if let Some(kind) = message.keys().next() {
            gather.unknown(kind);
        }
        return;
    };
    let mut parts: Vec<Part> = gather::text_in(&mut said, "content", Origin::Own).into_iter().collect();
    let calls = take::objects(&mut said, "tool_uses");
    parts.extend(calls.map(|mut call| gather::call_in(&mut call, ["id", "name", "args"])));
    if !parts.is_empty() {
        gather.replied(parts, time, model, None);
    }
}

fn result(mut answer: Fields) -> ToolResult {
    let id = take::string(&mut answer, "tool_use_id").unwrap_or_default();
    let mut success = match take::str(&answer, "status") {
        "Success" => Some(true),
        "Error" => Some(false),
        _ => None,
    };
    let mut output = Vec::new();
    for mut block in take::objects(&mut answer, "content") {
        output.extend(gather::text_in(&mut block, "Text", Origin::Own));
        match take::value(&mut block, "Json") {
            Value::Object(mut ended) if ended.contains_key("exit_status") => {
                // If a command exits with a status other than 0, the tool still succeeds.
                let status = match &ended["exit_status"] {
                    Value::String(status) => status.trim().parse().ok(),
                    other => other.as_i64(),
                };
                success = success.filter(|success| !success).or(status.map(|status| status == 0));
                let said = ["stdout", "stderr"].map(|name| gather::text_in(&mut ended, name, Origin::Own));
                output.extend(said.into_iter().flatten());
            }
            other => output.extend(gather::printed(other)),
        }
    }
    gather::result(id, success, output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
    use serde_json::json;

    #[test]
    fn pairs_are_what_the_user_and_the_model_said() {
        let user = |content: Value| json!({"additional_context": "", "env_context": {"env_state": null}, "content": content, "timestamp": null});
        let results = json!({"ToolUseResults": {"tool_use_results": [
            {"tool_use_id": "a", "content": [{"Json": {"exit_status": "2", "stdout": "built", "stderr": "no rule"}}], "status": "Success"}]}});
        let cancelled = json!({"CancelledToolUses": {"prompt": "Stop.", "tool_use_results": [
            {"tool_use_id": "b", "content": [{"Text": "Tool use was cancelled by the user"}], "status": "Error"}]}});
        let called = |id: &str, command: &str| {
            json!({"ToolUse": {"message_id": "m", "content": "I try.", "tool_uses": [
                {"id": id, "name": "execute_bash", "orig_name": "execute_bash", "args": {"command": command}, "orig_args": {}}]}})
        };
        let when = json!({"request_start_timestamp_ms": 1_000, "stream_end_timestamp_ms": 2_000, "model_id": "claude-sonnet-4.5"});
        let file = json!({"conversation_id": "c", "next_message": null, "latest_summary": ["so far", {}], "transcript": ["> x"], "history": [
            {"user": user(json!({"Prompt": {"prompt": "Build it."}})), "assistant": called("a", "make"), "request_metadata": when},
            {"user": user(results), "assistant": called("b", "ls")},
            {"user": user(cancelled), "assistant": {"Response": {"message_id": "m", "content": "It fails."}}, "request_metadata": null}]});
        assert_eq!(crate::detect(file.to_string().as_bytes()), Some(Format::Kiro));
        let recording = read(file.to_string().as_bytes()).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "user (summary): so far\n-\nuser: Build it.\nassistant: I try.\ncall a: execute_bash {\"command\":\"make\"}\n\
             result a failed: built + no rule\nassistant: I try.\ncall b: execute_bash {\"command\":\"ls\"}\n\
             result b failed: Tool use was cancelled by the user\n-\nuser: Stop.\nassistant: It fails.\n"
        );
        let first = &recording.requests[0];
        assert_eq!(
            (first.reply, first.began, first.model.as_deref()),
            (2, Some(1_000), Some("claude-sonnet-4.5"))
        );
        assert_eq!(recording.document.warnings, []);
        // The older form of pairs.
        let older = json!({"conversation_id": "c", "history": [[user(json!({"Prompt": {"prompt": "Hello."}})), {"Response": {"message_id": null, "content": "Hi."}}]]});
        let recording = crate::record(older.to_string().as_bytes(), None).expect("it is one");
        assert_eq!(sketch(&recording.document), "user: Hello.\nassistant: Hi.\n");
    }
}
