//! Exported sessions of OpenCode 2: typed messages, with each tool call and its result in one item of a reply.

use crate::actions::is_own;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::notes::note_unknown;
use crate::recording::{Billed, Recording, Requests};
use crate::refused;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use crate::{ReadError, Warning};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use codelet_context::usage::Usage;
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["messages"],
    ..Form::new("opencode-2", "an exported session of OpenCode 2 (JSON)", record)
};

fn shows(first: &Seen) -> bool {
    let message = first.get("messages").and_then(|messages| messages.items().next());
    let is_typed = |message: Skim| {
        let message = Seen::new(message);
        message.string("type").is_some() && message.has("time") && !message.has("role") && !message.has("info")
    };
    first.has("info") && message.is_some_and(is_typed)
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "an exported session: an object with info and messages")?;
    let mut session = Session {
        warnings,
        ..Session::default()
    };
    let mut info = take::object(&mut file, "info").unwrap_or_default();
    let until = take::object(&mut info, "revert").and_then(|mut revert| take::string(&mut revert, "messageID"));
    for message in take::objects(&mut file, "messages") {
        if until.as_deref().is_some_and(|until| until == take::str(&message, "id")) {
            break;
        }
        session.message(message);
    }
    Ok(Recording {
        document: session.gather.finish(Format::Opencode2, session.warnings),
        requests: session.requests.into_list(),
    })
}

#[derive(Default)]
struct Session {
    gather: Gather,
    requests: Requests,
    warnings: Vec<Warning>,
}

impl Session {
    fn message(&mut self, mut message: Fields) {
        let time = message
            .get("time")
            .and_then(|time| time.get("created"))
            .and_then(Value::as_u64);
        let kind = take::string(&mut message, "type").unwrap_or_default();
        let text = take::string(&mut message, "text").unwrap_or_default();
        let said = |origin, text| gather::text(origin, text).into_iter().collect::<Vec<Part>>();
        match kind.as_str() {
            "user" => {
                let skill = |mut skill: Fields| gather::text(Origin::Injected, take::string(&mut skill, "text")?);
                let mut parts: Vec<Part> = take::objects(&mut message, "skills").filter_map(skill).collect();
                parts.extend(said(Origin::Own, text));
                parts.extend(take::objects(&mut message, "files").filter_map(file));
                self.gather.message(Role::User, parts);
            }
            "synthetic" | "skill" => self.gather.message(Role::User, said(Origin::Injected, text)),
            "system" if self.gather.len() == 0 => self.gather.system(text),
            "system" => self.gather.message(Role::User, said(Origin::Injected, text)),
            "shell" => {
                let output = message
                    .get("output")
                    .and_then(|output| output.get("output"))
                    .and_then(Value::as_str);
                let command = take::str(&message, "command");
                let told = format!("The user ran `{command}`\n{}", output.unwrap_or_default());
                self.gather
                    .message(Role::User, vec![Part::text_from(Origin::Injected, told)]);
            }
            "compaction" => {
                let words = ["summary", "recent"]
                    .iter()
                    .filter_map(|name| take::string(&mut message, name));
                let parts = words.filter_map(|text| gather::text(Origin::Summary, text)).collect();
                self.gather.message(Role::User, parts);
            }
            "assistant" => self.reply(message, time),
            // Shown to the user only.
            "agent-switched" | "model-switched" | "location-switched" | "idle" => {}
            other => note_unknown(&mut self.warnings, 1, other),
        }
        self.requests.passed(time);
    }

    fn reply(&mut self, mut message: Fields, time: Option<u64>) {
        let at = self.gather.len();
        let (mut parts, mut results) = (Vec::new(), Vec::new());
        for mut item in take::objects(&mut message, "content") {
            let kind = take::string(&mut item, "type").unwrap_or_default();
            match kind.as_str() {
                "text" => {
                    parts.extend(take::string(&mut item, "text").and_then(|text| gather::text(Origin::Own, text)))
                }
                "reasoning" => {
                    let words = take::string(&mut item, "text").unwrap_or_default();
                    parts.extend(gather::thinking(words, None, None, None));
                }
                "tool" => {
                    let (call, result) = tool(item);
                    parts.push(call);
                    results.extend(result);
                }
                other => note_unknown(&mut self.warnings, 1, other),
            }
        }
        self.gather.message(Role::Assistant, parts);
        results.into_iter().for_each(|result| self.gather.result(result));
        if self.gather.len() > at {
            let model = message
                .get("model")
                .and_then(|model| model.get("id"))
                .and_then(Value::as_str);
            let billed = message.get("tokens").and_then(billed);
            self.requests.replied(at, time, model.map(Into::into), billed);
        }
    }
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
        "completed" => {
            let exit = state.get("metadata").and_then(|metadata| metadata.get("exit"));
            // If a program exits with a status other than 0, the tool still completes.
            let success = match exit {
                Some(status) => status.as_i64().map(|status| status == 0),
                None => Some(true),
            };
            let output = gather::text(Origin::Own, texts.join("\n"));
            Some(gather::result(id, success, output.into_iter().collect()))
        }
        "error" => {
            let error = match take::value(&mut state, "error") {
                Value::String(text) => Some(text),
                Value::Object(mut error) => take::string(&mut error, "message"),
                _ => None,
            };
            texts.extend(error);
            let output = gather::text(Origin::Own, texts.join("\n"));
            let mut result = gather::result(id, Some(false), output.into_iter().collect());
            result.refusal = refused::by_user(&result).filter(|_| is_own);
            Some(result)
        }
        _ => None,
    };
    (call, result)
}

pub(crate) fn billed(tokens: &Value) -> Option<Billed> {
    let count = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cache = tokens.get("cache").unwrap_or(&Value::Null);
    let output = count(tokens, "output") + count(tokens, "reasoning");
    let usage = Usage::from_exclusive(
        count(tokens, "input"),
        count(cache, "write"),
        count(cache, "read"),
        output,
    );
    (usage.prompt() > 0).then_some(Billed { usage, hour: 0 })
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
        let recording = record(text.as_bytes()).expect("it is one");
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
        let recording = record(reverted.as_bytes()).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "user (injected): a skill\nuser: Mend it.\n"
        );
    }
}
