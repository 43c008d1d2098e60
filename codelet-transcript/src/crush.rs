//! Sessions of Crush as its database holds them, and as `crush session show --json` prints them: messages with parts,
//! in which tool results are separate messages.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::{self, Recording};
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part};
use serde_json::Value;
use std::sync::Arc;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["messages"],
    ..Form::new("crush", "a session of Crush (its store, or JSON)", read)
};

fn shows(first: &Seen) -> bool {
    let is_message = |message: Skim| message.get("parts").is_some() && message.get("role").is_some();
    let message = first.get("messages").and_then(|messages| messages.items().next());
    let has_id = first.get("meta").is_some_and(|meta| meta.get("uuid").is_some());
    has_id && message.is_some_and(is_message)
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a session: an object with meta and messages")?;
    let mut gather = Gather::of(warnings);
    for mut message in take::objects(&mut file, "messages") {
        let created = message.get("created");
        let time = created
            .and_then(Value::as_u64)
            .or_else(|| recording::instant(created?.as_str()?));
        let is_summary = take::flag(&message, "is_summary");
        let origin = if is_summary { Origin::Summary } else { Origin::Own };
        let mut parts = Vec::new();
        for part in take::objects(&mut message, "parts") {
            match self::part(part, origin) {
                Ok(Some(Part::ToolResult(result))) => gather.result(result),
                Ok(part) => parts.extend(part),
                Err(kind) => gather.unknown(&kind),
            }
        }
        match take::str(&message, "role") {
            "system" => {}
            // A summary is sent in the user role.
            "assistant" if !is_summary && !parts.is_empty() => {
                let model = take::string(&mut message, "model").filter(|model| !model.is_empty());
                gather.replied(parts, time, model.map(Arc::from), None);
            }
            _ => gather.prompt(parts),
        }
        gather.requests.passed(time);
    }
    Ok(gather.finish(Format::Crush))
}

/// Reads a part; returns its kind as the error if it is unknown.
fn part(mut part: Fields, origin: Origin) -> Result<Option<Part>, String> {
    let kind = take::string(&mut part, "type").unwrap_or_default();
    // The database nests a part's fields.
    let mut part = take::object(&mut part, "data").unwrap_or(part);
    Ok(match kind.as_str() {
        "text" => gather::text_in(&mut part, "text", origin),
        "reasoning" => {
            let words = take::string(&mut part, "thinking").unwrap_or_default();
            gather::thinking(words, take::string(&mut part, "signature"), None, Some("anthropic"))
        }
        "image_url" => take::string(&mut part, "url").map(gather::image_at),
        "binary" => {
            let mut media = ["MIMEType", "mime_type"]
                .iter()
                .filter_map(|name| take::string(&mut part, name));
            let media = media.next().filter(|media| media.starts_with("image/"));
            media.and_then(|media| Some(gather::image(&media, take::string(&mut part, "Data")?)))
        }
        "tool_call" => {
            let id = if part.contains_key("id") { "id" } else { "tool_call_id" };
            Some(gather::call_in(&mut part, [id, "name", "input"]))
        }
        "tool_result" => {
            let id = take::string(&mut part, "tool_call_id").unwrap_or_default();
            let success = gather::success_of(take::str(&part, "name"), take::flag(&part, "is_error"));
            let output = gather::text_in(&mut part, "content", Origin::Own);
            Some(Part::ToolResult(gather::result(id, success, output)))
        }
        "shell_command" => gather::ran(take::str(&part, "command"), take::str(&part, "output")),
        "finish" => None,
        _ => return Err(kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
    use codelet_context::message::Role;
    use serde_json::json;

    #[test]
    fn parts_are_read_as_the_store_keeps_them_and_as_they_are_printed() {
        let kept = json!([
            {"role": "user", "created": 1_795_514_400_000_u64, "parts": [{"type": "text", "data": {"text": "Build it."}}, {"type": "finish", "data": {"reason": "stop"}}]},
            {"role": "assistant", "created": 1_795_514_403_000_u64, "model": "m", "parts": [
                {"type": "reasoning", "data": {"thinking": "hm", "signature": "sig"}},
                {"type": "tool_call", "data": {"id": "a", "name": "bash", "input": "{\"command\":\"make\"}", "finished": true}}]},
            {"role": "tool", "created": 1_795_514_405_000_u64, "parts": [
                {"type": "tool_result", "data": {"tool_call_id": "a", "name": "bash", "content": "no rule", "is_error": true}}]},
            {"role": "assistant", "is_summary": true, "parts": [{"type": "text", "data": {"text": "so far"}}]},
            {"role": "assistant", "created": 1_795_514_409_000_u64, "parts": [{"type": "text", "data": {"text": "It fails."}}]}]);
        let printed = json!([
            {"role": "user", "created": "2026-11-24T10:00:00Z", "parts": [{"type": "text", "text": "Build it."}]},
            {"role": "assistant", "created": "2026-11-24T10:00:03Z", "parts": [
                {"type": "tool_call", "tool_call_id": "a", "name": "bash", "input": "{\"command\":\"make\"}"}]},
            {"role": "tool", "parts": [{"type": "tool_result", "tool_call_id": "a", "name": "bash", "content": "no rule", "is_error": true}]}]);
        let read = |messages: Value| {
            let text = json!({"meta": {"uuid": "u", "title": "t"}, "messages": messages}).to_string();
            assert_eq!(crate::detect(text.as_bytes()), Some(Format::Crush));
            read(text.as_bytes()).expect("it is one")
        };
        let recording = read(kept);
        assert_eq!(
            sketch(&recording.document),
            "user: Build it.\nthinking of anthropic signed sig: hm\ncall a: bash {\"command\":\"make\"}\nresult a failed: no rule\n-\n\
             user (summary): so far\nassistant: It fails.\n"
        );
        let replies: Vec<_> = recording
            .requests
            .iter()
            .map(|request| (request.reply, request.began))
            .collect();
        assert_eq!(replies, [(1, Some(1_795_514_400_000)), (4, Some(1_795_514_405_000))]);
        // Only a reply has calls, whoever a damaged file says made them.
        let damaged = json!([{"role": "user", "parts": [
            {"type": "tool_call", "tool_call_id": "a", "name": "bash", "input": "{}"}, {"type": "text", "text": "Build it."}]}]);
        let messages = read(damaged).document.messages;
        let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant]);
        assert_eq!(
            sketch(&read(printed).document),
            "user: Build it.\ncall a: bash {\"command\":\"make\"}\nresult a failed: no rule\n"
        );
    }
}
