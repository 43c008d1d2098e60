//! Conversations of Kiro CLI, and its predecessor Amazon Q CLI, as stored in their database: pairs of prompt and reply.

use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::notes::note_unknown;
use crate::recording::{self, Recording, Requests};
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use crate::{ReadError, Warning};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;
use std::sync::Arc;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["history"],
    ..Form::new(
        "kiro",
        "a conversation of Kiro CLI or Amazon Q CLI (its store, or JSON)",
        record,
    )
};

fn shows(first: &Seen) -> bool {
    let is_pair = |pair: Skim| {
        pair.get("user").is_some() || pair.items().next().is_some_and(|user| user.get("content").is_some())
    };
    let pair = first.get("history").and_then(|history| history.items().next());
    first.has("conversation_id") && pair.is_some_and(is_pair)
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a conversation: an object with a history")?;
    let mut talk = Talk {
        warnings,
        ..Talk::default()
    };
    // The summary of a compaction is sent with the next prompt.
    if let Some(Value::String(summary)) = take::list(&mut file, "latest_summary").into_iter().next() {
        let parts = gather::text(Origin::Summary, summary).into_iter().collect();
        talk.gather.message(Role::User, parts);
    }
    for pair in take::list(&mut file, "history") {
        let (user, assistant, metadata) = match pair {
            Value::Object(mut pair) => {
                let mut side = |name| take::object(&mut pair, name).unwrap_or_default();
                (side("user"), side("assistant"), side("request_metadata"))
            }
            // Until 1.13 a pair was a list.
            Value::Array(sides) => {
                let mut sides = sides.into_iter().map(|side| match side {
                    Value::Object(side) => side,
                    _ => Fields::new(),
                });
                let mut side = || sides.next().unwrap_or_default();
                (side(), side(), side())
            }
            _ => continue,
        };
        let time = metadata.get("request_start_timestamp_ms").and_then(Value::as_u64);
        let said = recording::time(&user);
        talk.user(user);
        talk.requests.passed(time.or(said));
        let model = metadata.get("model_id").and_then(Value::as_str).map(Arc::from);
        talk.assistant(assistant, time, model);
        talk.requests
            .passed(metadata.get("stream_end_timestamp_ms").and_then(Value::as_u64));
    }
    if let Some(next) = take::object(&mut file, "next_message") {
        talk.user(next);
    }
    Ok(Recording {
        document: talk.gather.finish(Format::Kiro, talk.warnings),
        requests: talk.requests.into_list(),
    })
}

#[derive(Default)]
struct Talk {
    gather: Gather,
    requests: Requests,
    warnings: Vec<Warning>,
}

impl Talk {
    fn user(&mut self, mut message: Fields) {
        let mut content = take::object(&mut message, "content").unwrap_or_default();
        let context = take::string(&mut message, "additional_context").unwrap_or_default();
        let mut parts: Vec<Part> = gather::text(Origin::Injected, context).into_iter().collect();
        if let Some(mut prompt) = take::object(&mut content, "Prompt") {
            parts.extend(take::string(&mut prompt, "prompt").and_then(|text| gather::text(Origin::Own, text)));
        } else if let Some(mut answers) = take::object(&mut content, "ToolUseResults") {
            self.answers(&mut answers);
        } else if let Some(mut answers) = take::object(&mut content, "CancelledToolUses") {
            self.answers(&mut answers);
            parts.extend(take::string(&mut answers, "prompt").and_then(|text| gather::text(Origin::Own, text)));
        } else if let Some(kind) = content.keys().next() {
            note_unknown(&mut self.warnings, 1, kind);
        }
        if !parts.is_empty() {
            self.gather.message(Role::User, parts);
        }
    }

    fn answers(&mut self, answers: &mut Fields) {
        for answer in take::objects(answers, "tool_use_results") {
            self.gather.result(result(answer));
        }
    }

    fn assistant(&mut self, mut message: Fields, time: Option<u64>, model: Option<Arc<str>>) {
        let said = ["Response", "ToolUse"]
            .iter()
            .find_map(|name| take::object(&mut message, name));
        let Some(mut said) = said else {
            if let Some(kind) = message.keys().next() {
                note_unknown(&mut self.warnings, 1, kind);
            }
            return;
        };
        let text = take::string(&mut said, "content").unwrap_or_default();
        let mut parts: Vec<Part> = gather::text(Origin::Own, text).into_iter().collect();
        parts.extend(take::objects(&mut said, "tool_uses").map(|mut call| {
            let id = take::string(&mut call, "id").unwrap_or_default();
            let tool = take::string(&mut call, "name").unwrap_or_default();
            gather::call(id, tool, take::parameters(take::value(&mut call, "args")))
        }));
        if !parts.is_empty() {
            self.requests.replied(self.gather.len(), time, model, None);
            self.gather.message(Role::Assistant, parts);
        }
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
        if let Some(text) = take::string(&mut block, "Text") {
            output.extend(gather::text(Origin::Own, text));
            continue;
        }
        match take::value(&mut block, "Json") {
            Value::Object(mut ended) if ended.contains_key("exit_status") => {
                // If a command exits with a status other than 0, the tool still succeeds.
                let status = match &ended["exit_status"] {
                    Value::String(status) => status.trim().parse().ok(),
                    other => other.as_i64(),
                };
                success = success.filter(|success| !success).or(status.map(|status| status == 0));
                let said = ["stdout", "stderr"]
                    .iter()
                    .filter_map(|name| take::string(&mut ended, name));
                output.extend(said.filter_map(|text| gather::text(Origin::Own, text)));
            }
            Value::Null => {}
            other => output.extend(gather::text(Origin::Own, other.to_string())),
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
        let recording = record(file.to_string().as_bytes()).expect("it is one");
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
