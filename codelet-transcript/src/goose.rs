//! Sessions of Goose as exported (`goose session export --format json`): messages with tool requests and responses.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::notes::note_unknown;
use crate::recording::{Recording, Requests};
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["conversation"],
    ..Form::new("goose", "an exported session of Goose (JSON)", record)
};

fn shows(first: &Seen) -> bool {
    let message = first.get("conversation").and_then(|messages| messages.items().next());
    let is_message = |message: Skim| {
        let message = Seen::new(message);
        message.has("role") && message.has("created") && message.has("content")
    };
    message.is_some_and(is_message)
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, mut warnings) = lines::whole(bytes, "an exported session: an object with a conversation")?;
    let mut gather = Gather::default();
    let mut requests = Requests::default();
    for mut message in take::objects(&mut file, "conversation") {
        let seconds = message.get("created").and_then(Value::as_u64);
        let time = seconds.and_then(|seconds| seconds.checked_mul(1_000));
        let metadata = message.get("metadata");
        let is_hidden = metadata
            .and_then(|metadata| metadata.get("agentVisible"))
            .and_then(Value::as_bool)
            == Some(false);
        let is_users = take::str(&message, "role").eq_ignore_ascii_case("user");
        let at = gather.len();
        let mut parts = Vec::new();
        for block in take::objects(&mut message, "content") {
            match self::block(block) {
                Ok(Some(Said::Part(part))) => parts.push(part),
                // In either role.
                Ok(Some(Said::Result(result))) => gather.result(result),
                Ok(None) => {}
                Err(kind) => note_unknown(&mut warnings, 1, &kind),
            }
        }
        if is_users {
            if !parts.is_empty() {
                // Compacted messages stay in the file, but the model no longer sees them.
                gather.message(Role::User, parts);
            }
        } else if !parts.is_empty() {
            gather.message(Role::Assistant, parts);
            if !is_hidden {
                requests.replied(gather.len().max(at + 1) - 1, time, None, None);
            }
        }
        requests.passed(time);
    }
    Ok(Recording {
        document: gather.finish(Format::Goose, warnings),
        requests: requests.into_list(),
    })
}

enum Said {
    Part(Part),
    Result(ToolResult),
}

/// Reads a block; returns its kind as the error if it is unknown.
fn block(mut block: Fields) -> Result<Option<Said>, String> {
    let kind = take::string(&mut block, "type").unwrap_or_default();
    let id = take::string(&mut block, "id").unwrap_or_default();
    let part = match kind.as_str() {
        "text" => take::string(&mut block, "text").and_then(|text| gather::text(Origin::Own, text)),
        "thinking" => {
            let words = take::string(&mut block, "thinking").unwrap_or_default();
            gather::thinking(words, None, None, None)
        }
        "image" => take::string(&mut block, "data").map(|data| gather::image(take::str(&block, "mimeType"), data)),
        "toolRequest" | "frontendToolRequest" => {
            let mut call = take::object(&mut block, "toolCall").unwrap_or_default();
            // An error takes the place of a call that could not be parsed.
            let mut call = take::object(&mut call, "value").unwrap_or(call);
            let tool = take::string(&mut call, "name").unwrap_or_default();
            Some(gather::call(
                id,
                tool,
                take::parameters(take::value(&mut call, "arguments")),
            ))
        }
        "toolResponse" => return Ok(Some(Said::Result(result(id, &mut block)))),
        "redactedThinking"
        | "toolConfirmationRequest"
        | "systemNotification"
        | "contextLengthExceeded"
        | "summarizationRequested"
        | "conversationCompacted"
        | "actionRequired" => None,
        _ => return Err(kind),
    };
    Ok(part.map(Said::Part))
}

fn result(id: String, block: &mut Fields) -> ToolResult {
    let mut outer = take::object(block, "toolResult").unwrap_or_default();
    let has_failed = take::str(&outer, "status") == "error";
    let error = take::string(&mut outer, "error");
    let mut is_error = has_failed.then_some(true);
    let list = match take::value(&mut outer, "value") {
        Value::Object(mut value) => {
            is_error = is_error.or_else(|| value.get("isError").and_then(Value::as_bool));
            take::list(&mut value, "content")
        }
        Value::Array(list) => list,
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        _ => Vec::new(),
    };
    let part = |value: Value| {
        let Value::Object(mut fields) = value else { return None };
        // Content shown only to the user.
        let audience = fields
            .get("annotations")
            .and_then(|notes| notes.get("audience"))
            .and_then(Value::as_array);
        if audience.is_some_and(|audience| !audience.is_empty() && audience.iter().all(|one| one == "user")) {
            return None;
        }
        match take::str(&fields, "type") {
            "image" => {
                take::string(&mut fields, "data").map(|data| gather::image(take::str(&fields, "mimeType"), data))
            }
            _ => take::string(&mut fields, "text").and_then(|text| gather::text(Origin::Own, text)),
        }
    };
    let mut output: Vec<Part> = list.into_iter().filter_map(part).collect();
    output.extend(error.and_then(|text| gather::text(Origin::Own, text)));
    gather::result(id, is_error.map(|is_error| !is_error), output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
    use serde_json::json;

    #[test]
    fn requests_of_tools_are_calls_and_responses_are_their_results() {
        let file = json!({"id": "20261120_1", "working_dir": "/w", "conversation": [
            {"role": "user", "created": 1_795_514_400_u64, "content": [{"type": "text", "text": "Build it."}]},
            {"role": "assistant", "created": 1_795_514_403_u64, "content": [{"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "toolRequest", "id": "a", "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "make"}}}},
                {"type": "toolRequest", "id": "b", "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}}]},
            {"role": "user", "created": 1_795_514_405_u64, "content": [
                {"type": "toolResponse", "id": "a", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "no rule"},
                    {"type": "text", "text": "no rule, for the screen", "annotations": {"audience": ["user"]}}], "isError": true}}},
                {"type": "toolResponse", "id": "b", "toolResult": {"status": "error", "error": "declined"}}]},
            {"role": "assistant", "created": 1_795_514_409_u64, "content": [{"type": "text", "text": "It fails."}]}]});
        let text = file.to_string();
        assert_eq!(crate::detect(text.as_bytes()), Some(Format::Goose));
        let recording = record(text.as_bytes()).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "user: Build it.\nthinking: hm\ncall a: developer__shell {\"command\":\"make\"}\ncall b: developer__shell {\"command\":\"ls\"}\n\
             result a failed: no rule\nresult b failed: declined\nassistant: It fails.\n"
        );
        let replies: Vec<_> = recording
            .requests
            .iter()
            .map(|request| (request.reply, request.began))
            .collect();
        assert_eq!(replies, [(1, Some(1_795_514_400_000)), (3, Some(1_795_514_405_000))]);
        assert_eq!(recording.document.warnings, []);
    }
}
