//! Sessions of Crush as its database holds them, and as `crush session show --json` prints them: messages with parts,
//! in which tool results are separate messages.

use crate::ReadError;
use crate::actions;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::notes::note_unknown;
use crate::recording::{self, Recording, Requests};
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{ActionKind, Origin, Part, Role, ToolResult};
use serde_json::Value;
use std::sync::Arc;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["messages"],
    ..Form::new("crush", "a session of Crush (its store, or JSON)", record)
};

fn shows(first: &Seen) -> bool {
    let is_message = |message: Skim| message.get("parts").is_some() && message.get("role").is_some();
    let message = first.get("messages").and_then(|messages| messages.items().next());
    let has_id = first.get("meta").is_some_and(|meta| meta.get("uuid").is_some());
    has_id && message.is_some_and(is_message)
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, mut warnings) = lines::whole(bytes, "a session: an object with meta and messages")?;
    let mut gather = Gather::default();
    let mut requests = Requests::default();
    for mut message in take::objects(&mut file, "messages") {
        let created = message.get("created");
        let time = created
            .and_then(Value::as_u64)
            .or_else(|| recording::instant(created?.as_str()?));
        let is_summary = take::flag(&message, "is_summary");
        let origin = if is_summary { Origin::Summary } else { Origin::Own };
        let at = gather.len();
        let mut parts = Vec::new();
        for part in take::objects(&mut message, "parts") {
            match self::part(part, origin) {
                Ok(Some(Said::Part(part))) => parts.push(part),
                Ok(Some(Said::Result(result))) => gather.result(result),
                Ok(None) => {}
                Err(kind) => note_unknown(&mut warnings, 1, &kind),
            }
        }
        match take::str(&message, "role") {
            "system" => {}
            // A summary is sent in the user role.
            "assistant" if !is_summary && !parts.is_empty() => {
                gather.message(Role::Assistant, parts);
                let model = take::string(&mut message, "model").filter(|model| !model.is_empty());
                requests.replied(at, time, model.map(Arc::from), None);
            }
            _ if !parts.is_empty() => gather.message(Role::User, parts),
            _ => {}
        }
        requests.passed(time);
    }
    Ok(Recording {
        document: gather.finish(Format::Crush, warnings),
        requests: requests.into_list(),
    })
}

enum Said {
    Part(Part),
    Result(ToolResult),
}

/// Reads a part; returns its kind as the error if it is unknown.
fn part(mut part: Fields, origin: Origin) -> Result<Option<Said>, String> {
    let kind = take::string(&mut part, "type").unwrap_or_default();
    // The database nests a part's fields.
    let mut part = take::object(&mut part, "data").unwrap_or(part);
    let said = match kind.as_str() {
        "text" => take::string(&mut part, "text").and_then(|text| gather::text(origin, text)),
        "reasoning" => {
            let words = take::string(&mut part, "thinking").unwrap_or_default();
            gather::thinking(words, take::string(&mut part, "signature"), None, Some("anthropic"))
        }
        "image_url" => take::string(&mut part, "url").map(gather::image_at),
        "binary" => {
            let media = ["MIMEType", "mime_type"]
                .iter()
                .find_map(|name| take::string(&mut part, name));
            let data = take::string(&mut part, "Data");
            match (media, data) {
                (Some(media), Some(data)) if media.starts_with("image/") => Some(gather::image(&media, data)),
                _ => None,
            }
        }
        "tool_call" => {
            let id = ["id", "tool_call_id"]
                .iter()
                .find_map(|name| take::string(&mut part, name));
            let tool = take::string(&mut part, "name").unwrap_or_default();
            let parameters = take::parameters(take::value(&mut part, "input"));
            Some(gather::call(id.unwrap_or_default(), tool, parameters))
        }
        "tool_result" => return Ok(Some(Said::Result(result(part)))),
        "shell_command" => {
            let command = take::str(&part, "command");
            let told = format!("The user ran `{command}`\n{}", take::str(&part, "output"));
            Some(Part::text_from(Origin::Injected, told))
        }
        "finish" => None,
        _ => return Err(kind),
    };
    Ok(said.map(Said::Part))
}

fn result(mut part: Fields) -> ToolResult {
    let tool = take::string(&mut part, "name").unwrap_or_default();
    let is_command = actions::action(&tool, &Fields::new()).kind == ActionKind::Command;
    // A command that exits with a status other than 0 is not an error of the tool.
    let success = match take::flag(&part, "is_error") {
        true => Some(false),
        false if is_command => None,
        false => Some(true),
    };
    let id = take::string(&mut part, "tool_call_id").unwrap_or_default();
    let text = take::string(&mut part, "content").unwrap_or_default();
    gather::result(id, success, gather::text(Origin::Own, text).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
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
            record(text.as_bytes()).expect("it is one")
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
        assert_eq!(
            sketch(&read(printed).document),
            "user: Build it.\ncall a: bash {\"command\":\"make\"}\nresult a failed: no rule\n"
        );
    }
}
