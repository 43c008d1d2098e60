//! Sessions of Goose: messages with tool requests and responses, as exported (`goose session export --format json`), or
//! as its versions before 1.10 kept them: a line about the session, then one line per message.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::{self, Lines};
use crate::recording::Recording;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["conversation"],
    ..Form::new(
        "goose",
        "a session of Goose, exported (JSON) or kept by old versions (JSON lines)",
        read,
    )
};

fn shows(first: &Seen) -> bool {
    let message = first.get("conversation").and_then(|messages| messages.items().next());
    message.is_some_and(|message| is_message(&Seen::new(message)))
}

/// Returns whether an object is a message of Goose.
pub(crate) fn is_message(message: &Seen) -> bool {
    message.has("role") && message.has("created") && message.get("content").is_some_and(|content| content.is_list())
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut gather = Gather::default();
    let is_export = Skim::of_file(bytes)
        .get("conversation")
        .is_some_and(|list| list.is_list());
    if is_export {
        let (mut file, warnings) = lines::whole(bytes, "an exported session: an object with a conversation")?;
        gather.warnings = warnings;
        for message in take::objects(&mut file, "conversation") {
            for kind in self::message(&mut gather, message) {
                gather.unknown(&kind);
            }
        }
        return Ok(gather.finish(Format::Goose));
    }
    let mut lines = Lines::new(bytes)?;
    while let Some(entry) = lines.next()? {
        if entry.fields.contains_key("role") {
            for kind in message(&mut gather, entry.fields) {
                lines.note_unknown(entry.line, &kind);
            }
        } else if !is_metadata(&entry.fields) {
            lines.note_unknown(entry.line, take::str(&entry.fields, "type"));
        }
    }
    gather.warnings = lines.into_warnings();
    Ok(gather.finish(Format::Goose))
}

/// Returns whether this is the first line of a session file, which describes the session.
fn is_metadata(fields: &Fields) -> bool {
    fields.contains_key("message_count") || fields.contains_key("working_dir")
}

/// Reads a message; returns the kinds of its unknown blocks.
fn message(gather: &mut Gather, mut message: Fields) -> Vec<String> {
    let seconds = take::number(&message, &["created"]);
    let time = seconds.and_then(|seconds| seconds.checked_mul(1_000));
    let is_hidden = take::at(&message, &["metadata", "agentVisible"]).is_some_and(|visible| *visible == false);
    let is_users = take::str(&message, "role").eq_ignore_ascii_case("user");
    let (mut parts, mut unknown) = (Vec::new(), Vec::new());
    for block in take::objects(&mut message, "content") {
        match self::block(block) {
            // In either role.
            Ok(Some(Part::ToolResult(result))) => gather.result(result),
            Ok(part) => parts.extend(part),
            Err(kind) => unknown.push(kind),
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
    unknown
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

    #[test]
    fn a_session_file_is_read_line_by_line_and_what_is_odd_in_it_is_told() {
        let shell = |id: &str| json!({"type": "toolRequest", "id": id, "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "make"}}}});
        let entries = [
            json!({"working_dir": "/w", "description": "Build", "message_count": 5, "total_tokens": 900}),
            json!({"id": null, "role": "user", "created": 1_795_514_400_u64, "content": [{"type": "text", "text": "Build it."}]}),
            json!({"id": null, "role": "assistant", "created": 1_795_514_403_u64, "content": [shell("a"), {"type": "novelty"}]}),
            json!({"id": null, "role": "user", "created": 1_795_514_405_u64, "content": [
                {"type": "toolResponse", "id": "a", "toolResult": {"status": "success", "value": [{"type": "text", "text": "no rule"}]}}]}),
            json!({"id": null, "role": "assistant", "created": 1_795_514_409_u64, "content": [{"type": "text", "text": "It fails."}]}),
        ];
        let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
        let told = "user: Build it.\ncall a: developer__shell {\"command\":\"make\"}\nresult a unknown: no rule\nassistant: It fails.\n";
        let novelty = crate::Warning::UnknownEntry {
            line: 3,
            kind: "novelty".to_owned(),
        };
        let cut = crate::Warning::CutLastLine { line: 6 };
        for (text, more) in [
            (entries.join("\n"), None),
            (format!("\u{feff}{}\r\n", entries.join("\r\n")), None),
            (format!("{}\n{}", entries.join("\n"), &entries[1][..60]), Some(cut)),
        ] {
            assert_eq!(crate::detect(text.as_bytes()), Some(Format::Goose));
            let recording = read(text.as_bytes()).expect("it is one");
            assert_eq!(sketch(&recording.document), told);
            for warning in more.iter().chain([&novelty]) {
                assert!(
                    recording.document.warnings.contains(warning),
                    "{:?}",
                    recording.document.warnings
                );
            }
        }
        // Without its first line.
        assert_eq!(crate::detect(entries[1..].join("\n").as_bytes()), Some(Format::Goose));
    }
}
