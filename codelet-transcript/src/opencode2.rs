//! Exported sessions of OpenCode 2: typed messages, with each tool call and its result in one item of a reply.

use crate::ReadError;
use crate::actions::is_own;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::{Billed, Recording};
use crate::refused;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["messages"],
    ..Form::new("opencode-2", "an exported session of OpenCode 2 (JSON)", read)
};

fn shows(first: &Seen) -> bool {
    let message = first.get("messages").and_then(|messages| messages.items().next());
    let is_typed = |message: Skim| {
        let message = Seen::new(message);
        message.string("type").is_some() && message.has("time") && !message.has("role") && !message.has("info")
    };
    first.has("info") && message.is_some_and(is_typed)
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "an exported session: an object with info and messages")?;
    let mut gather = Gather::of(warnings);
    let until = take::name(&file, &["info", "revert", "messageID"]);
    for fields in take::objects(&mut file, "messages") {
        if until.as_deref().is_some_and(|until| until == take::str(&fields, "id")) {
            break;
        }
        message(&mut gather, fields);
    }
    Ok(gather.finish(Format::Opencode2))
}

fn message(gather: &mut Gather, mut message: Fields) {
    let time = take::number(&message, &["time", "created"]);
    let kind = take::string(&mut message, "type").unwrap_or_default();
    match kind.as_str() {
        "user" => {
            let skill = |mut skill: Fields| gather::text_in(&mut skill, "text", Origin::Injected);
            let mut parts: Vec<Part> = take::objects(&mut message, "skills").filter_map(skill).collect();
            parts.extend(gather::text_in(&mut message, "text", Origin::Own));
            parts.extend(take::objects(&mut message, "files").filter_map(file));
            gather.message(Role::User, parts);
        }
        "system" if gather.len() == 0 => gather.system(take::string(&mut message, "text").unwrap_or_default()),
        "synthetic" | "skill" | "system" => {
            gather.message(Role::User, gather::text_in(&mut message, "text", Origin::Injected));
        }
        "shell" => {
            let output = take::at(&message, &["output", "output"]).and_then(Value::as_str);
            gather.message(
                Role::User,
                gather::ran(take::str(&message, "command"), output.unwrap_or_default()),
            );
        }
        "compaction" => {
            let words = ["summary", "recent"].map(|name| gather::text_in(&mut message, name, Origin::Summary));
            gather.message(Role::User, words.into_iter().flatten());
        }
        "assistant" => reply(gather, message, time),
        // Shown to the user only.
        "agent-switched" | "model-switched" | "location-switched" | "idle" => {}
        other => gather.unknown(other),
    }
    gather.requests.passed(time);
}

fn reply(gather: &mut Gather, mut message: Fields, time: Option<u64>) {
    let (mut parts, mut results) = (Vec::new(), Vec::new());
    for mut item in take::objects(&mut message, "content") {
        match take::str(&item, "type") {
            "text" => parts.extend(gather::text_in(&mut item, "text", Origin::Own)),
            "reasoning" => parts.extend(gather::unsigned_thinking(&mut item, "text")),
            "tool" => {
                let (call, result) = tool(item);
                parts.push(call);
                results.extend(result);
            }
            other => gather.unknown(other),
        }
    }
    let billed = message.get("tokens").and_then(billed);
    gather.replied(parts, time, take::name(&message, &["model", "id"]), billed);
    results.into_iter().for_each(|result| gather.result(result));
}

fn file(mut file: Fields) -> Option<Part> {
    let media = take::string(&mut file, "mime")?;
    let data = take::string(&mut file, "data")?;
    media.starts_with("image/").then(|| gather::image(&media, data))
}

/// Returns a call, and its result unless the tool is still running.
fn tool(mut item: Fields) -> (Part, Option<ToolResult>) {
    let id = take::string(&mut item, "id").unwrap_or_default();
    let tool = take::string(&mut item, "name").unwrap_or_default();
    let mut state = take::object(&mut item, "state").unwrap_or_default();
    let is_own = is_own(&tool);
    let call = gather::call(id.as_str(), tool, take::parameters(take::value(&mut state, "input")));
    let mut texts: Vec<String> = take::objects(&mut state, "content")
        .filter_map(|mut part| take::string(&mut part, "text"))
        .collect();
    let result = match take::str(&state, "status") {
        "completed" => gather::result(id, completed(&state), gather::text(Origin::Own, texts.join("\n"))),
        "error" => {
            texts.extend(match take::value(&mut state, "error") {
                Value::String(text) => Some(text),
                Value::Object(mut error) => take::string(&mut error, "message"),
                _ => None,
            });
            let mut result = gather::result(id, Some(false), gather::text(Origin::Own, texts.join("\n")));
            result.refusal = refused::by_user(&result).filter(|_| is_own);
            result
        }
        _ => return (call, None),
    };
    (call, Some(result))
}

/// Returns whether a completed call succeeded: if a program exits with a status other than 0, the tool still completes.
pub(crate) fn completed(state: &Fields) -> Option<bool> {
    match take::at(state, &["metadata", "exit"]) {
        Some(status) => status.as_i64().map(|status| status == 0),
        None => Some(true),
    }
}

pub(crate) fn billed(tokens: &Value) -> Option<Billed> {
    let tokens = tokens.as_object()?;
    let count = |path: &[&str]| take::number(tokens, path).unwrap_or(0);
    let output = count(&["output"]) + count(&["reasoning"]);
    Billed::exclusive(
        count(&["input"]),
        count(&["cache", "write"]),
        count(&["cache", "read"]),
        output,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
    use serde_json::json;

    #[test]
    fn messages_are_read_by_their_type() {
        let time = json!({"created": 1_700_000_000_000_u64});
        let tool =
            |id: &str, state: Value| json!({"type": "tool", "id": id, "name": "bash", "state": state, "time": {}});
        let file = json!({"info": {"id": "ses_1", "location": {"directory": "/w"}}, "messages": [
            {"id": "m0", "type": "model-switched", "time": time},
            {"id": "m1", "type": "user", "time": time, "text": "Mend it.", "skills": [{"name": "s", "text": "a skill"}]},
            {"id": "m2", "type": "synthetic", "time": time, "text": "a note"},
            {"id": "m3", "type": "assistant", "time": time, "model": {"id": "m-1", "providerID": "p"}, "tokens": {"input": 9, "output": 2, "reasoning": 1, "cache": {"read": 30, "write": 4}}, "content": [
                {"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I look."},
                tool("c1", json!({"status": "completed", "input": {"command": "make"}, "content": [{"type": "text", "text": "no rule"}], "metadata": {"exit": 2}})),
                tool("c2", json!({"status": "error", "input": {}, "error": {"type": "x", "message": "no such file"}})),
                tool("c3", json!({"status": "running", "input": {}}))]},
            {"id": "m4", "type": "compaction", "time": time, "status": "completed", "summary": "so far", "recent": ""},
            {"id": "m5", "type": "user", "time": time, "text": "Go on."}]});
        let text = file.to_string();
        assert_eq!(crate::detect(text.as_bytes()), Some(Format::Opencode2));
        let recording = read(text.as_bytes()).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "user (injected): a skill\nuser: Mend it.\n-\nuser (injected): a note\n\
             thinking: hm\nassistant: I look.\ncall c1: bash {\"command\":\"make\"}\ncall c2: bash {}\ncall c3: bash {}\n\
             result c1 failed: no rule\nresult c2 failed: no such file\n-\nuser (summary): so far\n-\nuser: Go on.\n"
        );
        assert_eq!(
            recording.requests[0].billed.map(|billed| billed.usage.prompt()),
            Some(43)
        );
        assert_eq!(recording.document.warnings, []);
        let reverted = text.replace("\"id\":\"ses_1\"", "\"id\":\"ses_1\",\"revert\":{\"messageID\":\"m2\"}");
        let recording = read(reverted.as_bytes()).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "user (injected): a skill\nuser: Mend it.\n"
        );
    }
}
