//! Sessions of Goose as exported (`goose session export --format json`): messages with tool requests and responses.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::Recording;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["conversation"],
    ..Form::new("goose", "an exported session of Goose (JSON)", read)
};

fn shows(first: &Seen) -> bool {
    let message = first.get("conversation").and_then(|messages| messages.items().next());
    let is_message = |message: Skim| {
        let message = Seen::new(message);
        message.has("role") && message.has("created") && message.has("content")
    };
    message.is_some_and(is_message)
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "an exported session: an object with a conversation")?;
    let mut gather = Gather::of(warnings);
    for mut message in take::objects(&mut file, "conversation") {
        let seconds = take::number(&message, &["created"]);
        let time = seconds.and_then(|seconds| seconds.checked_mul(1_000));
        let is_hidden = take::at(&message, &["metadata", "agentVisible"]).is_some_and(|visible| *visible == false);
        let is_users = take::str(&message, "role").eq_ignore_ascii_case("user");
        let mut parts = Vec::new();
        for block in take::objects(&mut message, "content") {
            match self::block(block) {
                // In either role.
                Ok(Some(Part::ToolResult(result))) => gather.result(result),
                Ok(part) => parts.extend(part),
                Err(kind) => gather.unknown(&kind),
            }
        }
        match () {
            // Compacted messages stay in the file, but the model no longer sees them.
            () if is_users => gather.prompt(parts),
            () if parts.is_empty() => {}
            () if is_hidden => gather.message(Role::Assistant, parts),
            () => gather.replied(parts, time, None, None),
        }
        gather.requests.passed(time);
    }
    Ok(gather.finish(Format::Goose))
}

/// Reads a block; returns its kind as the error if it is unknown.
fn block(mut block: Fields) -> Result<Option<Part>, String> {
    let kind = take::string(&mut block, "type").unwrap_or_default();
    Ok(match kind.as_str() {
        "text" => gather::text_in(&mut block, "text", Origin::Own),
        "thinking" => gather::unsigned_thinking(&mut block, "thinking"),
        "image" => take::string(&mut block, "data").map(|data| gather::image(take::str(&block, "mimeType"), data)),
        "toolRequest" | "frontendToolRequest" => {
            let mut call = take::object(&mut block, "toolCall").unwrap_or_default();
            // An error takes the place of a call that could not be parsed.
            let mut call = take::object(&mut call, "value").unwrap_or(call);
            call.insert("id".to_owned(), take::value(&mut block, "id"));
            Some(gather::call_in(&mut call, ["id", "name", "arguments"]))
        }
        "toolResponse" => Some(Part::ToolResult(result(&mut block))),
        "redactedThinking"
        | "toolConfirmationRequest"
        | "systemNotification"
        | "contextLengthExceeded"
        | "summarizationRequested"
        | "conversationCompacted"
        | "actionRequired" => None,
        _ => return Err(kind),
    })
}

fn result(block: &mut Fields) -> ToolResult {
    let id = take::string(block, "id").unwrap_or_default();
    let mut outer = take::object(block, "toolResult").unwrap_or_default();
    let has_failed = take::str(&outer, "status") == "error";
    let mut success = has_failed.then_some(false);
    let list = match take::value(&mut outer, "value") {
        Value::Object(mut value) => {
            success = success.or_else(|| take::success(&value, "isError"));
            take::value(&mut value, "content")
        }
        other => other,
    };
    // Content shown only to the user.
    let is_for_user = |value: &Value| {
        let audience = value
            .get("annotations")
            .and_then(|notes| notes.get("audience")?.as_array());
        audience.is_some_and(|audience| !audience.is_empty() && audience.iter().all(|one| one == "user"))
    };
    let list = match list {
        Value::Array(list) => list.into_iter().filter(|value| !is_for_user(value)).collect(),
        other => other,
    };
    let mut output = gather::content(list, Origin::Own);
    output.extend(gather::text_in(&mut outer, "error", Origin::Own));
    gather::result(id, success, output)
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
        let recording = read(text.as_bytes()).expect("it is one");
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
