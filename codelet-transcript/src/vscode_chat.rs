//! Chat sessions of VS Code (Copilot Chat): one object with the requests or, since 2026, a log of its changes: the
//! whole object, then values set, items appended, values deleted.

use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::{self, Lines};
use crate::recording::{Billed, Recording};
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use crate::{ReadError, Warning};
use codelet_context::message::{Origin, Part, Role};
use serde_json::Value;
use std::cmp::Ordering;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    ..Form::new(
        "vscode-chat",
        "a chat session of VS Code (JSON, or a log of changes)",
        record,
    )
};

fn shows(first: &Seen) -> bool {
    let is_session =
        |session: &Seen| session.get("requests").is_some_and(|list| list.is_list()) && session.has("sessionId");
    is_session(first) || first.has("kind") && first.get("v").is_some_and(|value| is_session(&Seen::new(value)))
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut session, warnings) = match Skim::of_file(bytes).get("kind").is_some() {
        true => replayed(bytes)?,
        false => lines::whole(bytes, "a session: an object with requests")?,
    };
    let mut gather = Gather::of(warnings);
    for request in take::objects(&mut session, "requests") {
        self::request(&mut gather, request);
    }
    Ok(gather.finish(Format::VscodeChat))
}

/// Returns the session after replaying the changes of a log.
fn replayed(bytes: &[u8]) -> Result<(Fields, Vec<Warning>), ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut state = Value::Null;
    while let Some(mut entry) = lines.next()? {
        let fields = &mut entry.fields;
        let value = take::value(fields, "v");
        let path = take::list(fields, "k");
        let place = || path.split_last();
        let is_done = match fields.get("kind").and_then(Value::as_u64) {
            Some(0) => {
                state = value;
                true
            }
            Some(1) => place()
                .and_then(|(last, way)| set(within(&mut state, way)?, last, value))
                .is_some(),
            Some(2) => {
                let from = fields.get("i").and_then(Value::as_u64);
                place()
                    .and_then(|(last, way)| push(within(&mut state, way)?, last, value, from))
                    .is_some()
            }
            Some(3) => place()
                .and_then(|(last, way)| set(within(&mut state, way)?, last, Value::Null))
                .is_some(),
            _ => false,
        };
        if !is_done {
            lines.note_unread(entry.line, "change");
        }
    }
    let state = match state {
        Value::Object(state) => state,
        _ => Fields::new(),
    };
    Ok((state, lines.into_warnings()))
}

fn within<'a>(state: &'a mut Value, way: &[Value]) -> Option<&'a mut Value> {
    way.iter().try_fold(state, |here, step| match step {
        Value::String(name) => here.get_mut(name.as_str()),
        step => here.get_mut(usize::try_from(step.as_u64()?).ok()?),
    })
}

fn set(within: &mut Value, place: &Value, value: Value) -> Option<()> {
    match (within, place) {
        (Value::Object(fields), Value::String(name)) => {
            fields.insert(name.clone(), value);
        }
        (Value::Array(items), place) => {
            let place = usize::try_from(place.as_u64()?).ok()?;
            // Indices have no gaps.
            match place.cmp(&items.len()) {
                Ordering::Less => items[place] = value,
                Ordering::Equal => items.push(value),
                Ordering::Greater => return None,
            }
        }
        _ => return None,
    }
    Some(())
}

/// Appends to a list, after truncating it to `from` items.
fn push(within: &mut Value, place: &Value, value: Value, from: Option<u64>) -> Option<()> {
    let list = match place {
        Value::String(name) => within
            .as_object_mut()?
            .entry(name.as_str())
            .or_insert_with(|| Value::Array(Vec::new())),
        place => within.get_mut(usize::try_from(place.as_u64()?).ok()?)?,
    };
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    let items = list.as_array_mut()?;
    if let Some(from) = from {
        items.truncate(usize::try_from(from).ok()?);
    }
    if let Value::Array(more) = value {
        items.extend(more);
    }
    Some(())
}

/// Adds a prompt and everything that followed from it.
fn request(gather: &mut Gather, mut request: Fields) {
    let mut message = take::object(&mut request, "message").unwrap_or_default();
    gather.message(Role::User, gather::text_in(&mut message, "text", Origin::Own));
    let mut result = take::object(&mut request, "result").unwrap_or_default();
    let mut metadata = take::object(&mut result, "metadata").unwrap_or_default();
    let rounds: Vec<Fields> = take::objects(&mut metadata, "toolCallRounds").collect();
    let model = take::name(&request, &["modelId"]);
    let began = take::number(&request, &["timestamp"]);
    if rounds.is_empty() {
        let at = gather.len();
        shown(gather, take::list(&mut request, "response"));
        if gather.len() > at {
            gather.requests.replied(at, began, model, None);
        }
        return;
    }
    let mut results = take::object(&mut metadata, "toolCallResults").unwrap_or_default();
    for mut round in rounds {
        let mut parts: Vec<Part> = thinking(&mut round).into_iter().collect();
        parts.extend(gather::text_in(&mut round, "response", Origin::Own));
        let calls: Vec<Fields> = take::objects(&mut round, "toolCalls").collect();
        let ids: Vec<String> = calls.iter().map(|call| take::str(call, "id").to_owned()).collect();
        let calls = calls.into_iter();
        parts.extend(calls.map(|mut call| gather::call_in(&mut call, ["id", "name", "arguments"])));
        gather.replied(parts, began, model.clone(), billed(&round));
        for id in ids {
            let output = take::object(&mut results, &id).and_then(|mut result| output(&mut result));
            // The file records whether a call was run, but not its result.
            gather.result(gather::result(id, None, output));
        }
        let summary = gather::text_in(&mut round, "summary", Origin::Summary);
        gather.prompt(summary.into_iter().collect());
    }
}

fn billed(round: &Fields) -> Option<Billed> {
    let count = |path: &[&str]| take::number(round, path);
    let cached = count(&["usage", "prompt_tokens_details", "cached_tokens"]).unwrap_or(0);
    let output = count(&["usage", "completion_tokens"]).unwrap_or(0);
    Billed::inclusive(count(&["usage", "prompt_tokens"])?, cached, output)
}

fn thinking(round: &mut Fields) -> Option<Part> {
    let mut thinking = take::object(round, "thinking")?;
    let words = match take::value(&mut thinking, "text") {
        Value::String(text) => text,
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    };
    gather::unsigned(words)
}

/// Returns a tool's output to the model: texts, or trees that hold texts.
fn output(result: &mut Fields) -> Option<Part> {
    let mut texts = Vec::new();
    for mut item in take::objects(result, "content") {
        match take::value(&mut item, "value") {
            Value::String(text) => texts.push(text),
            tree => leaves(tree, &mut texts),
        }
    }
    gather::text(Origin::Own, texts.concat())
}

/// Collects the texts of a tree, in order.
fn leaves(tree: Value, texts: &mut Vec<String>) {
    let mut open = vec![tree];
    while let Some(node) = open.pop() {
        let Value::Object(mut node) = node else { continue };
        if take::flag(&node, "lineBreakBefore") && !texts.is_empty() {
            texts.push("\n".to_owned());
        }
        texts.extend(take::string(&mut node, "text"));
        open.extend(take::list(&mut node, "children").into_iter().rev());
        open.extend(take::object(&mut node, "node").map(Value::Object));
    }
}

/// Adds the displayed text of a reply, if nothing else is recorded.
fn shown(gather: &mut Gather, response: Vec<Value>) {
    let words = |value: Value| match value {
        Value::String(text) => text,
        Value::Object(mut inner) => take::string(&mut inner, "value").unwrap_or_default(),
        _ => String::new(),
    };
    let mut said = String::new();
    for value in response {
        let Value::Object(mut part) = value else { continue };
        let kind = take::string(&mut part, "kind").unwrap_or_default();
        match kind.as_str() {
            "" => said.push_str(&words(take::value(&mut part, "value"))),
            "markdownContent" | "markdownVuln" => said.push_str(&words(take::value(&mut part, "content"))),
            "inlineReference" => said.push_str(&format!("`{}`", take::str(&part, "name"))),
            "thinking" => {
                gather.reply(gather::text(Origin::Own, std::mem::take(&mut said)));
                gather.reply(gather::unsigned(words(take::value(&mut part, "value"))));
            }
            "toolInvocationSerialized" => {
                gather.reply(gather::text(Origin::Own, std::mem::take(&mut said)));
                invoked(gather, part);
            }
            _ => {}
        }
    }
    gather.reply(gather::text(Origin::Own, said));
}

fn invoked(gather: &mut Gather, mut part: Fields) {
    let id = take::string(&mut part, "toolCallId").unwrap_or_default();
    let tool = take::string(&mut part, "toolId").unwrap_or_default();
    let mut data = take::object(&mut part, "toolSpecificData").unwrap_or_default();
    let line = match take::value(&mut data, "commandLine") {
        Value::Object(mut line) => ["toolEdited", "userEdited", "original"]
            .iter()
            .find_map(|name| take::string(&mut line, name)),
        Value::String(line) => Some(line),
        _ => take::string(&mut data, "command"),
    };
    let mut details = take::object(&mut part, "resultDetails").unwrap_or_default();
    let parameters = match line {
        Some(line) => Fields::from_iter([("command".to_owned(), Value::String(line))]),
        None => take::parameters(match take::value(&mut data, "rawInput") {
            Value::Null => take::value(&mut details, "input"),
            input => input,
        }),
    };
    gather.reply([gather::call(id.as_str(), tool, parameters)]);
    let code = take::at(&data, &["terminalCommandState", "exitCode"]).and_then(Value::as_i64);
    let has_failed = take::flag(&details, "isError").then_some(false);
    let mut texts: Vec<String> = take::objects(&mut details, "output")
        .filter_map(|mut output| take::string(&mut output, "value"))
        .collect();
    let printed = take::object(&mut data, "terminalCommandOutput");
    texts.extend(printed.and_then(|mut printed| take::string(&mut printed, "text")));
    let output = gather::text(Origin::Own, texts.join("\n"));
    gather.result(gather::result(id, code.map(|code| code == 0).or(has_failed), output));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
    use serde_json::json;

    const READ: &str = "user: Mend it.\n\
        thinking: hm\n\
        assistant: I look.\n\
        call c1: run_in_terminal {\"command\":\"npm test\"}\n\
        call c2: read_file {\"filePath\":\"a.rs\"}\n\
        result c1 failed: 2 failed|Command exited with code 1\n\
        result c2 unknown: fn a() {}|fn b() {}\n\
        assistant: Two fail.\n\
        user (summary): so far\n-\n\
        user: Go on.\n\
        assistant: Fine.\n\
        call v1: runInTerminal {\"command\":\"ls\"}\n\
        result v1 ok: a.rs\n\
        assistant: Done.\n";

    fn requests() -> [Value; 2] {
        let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "name": name, "arguments": arguments});
        let tree = json!({"node": {"type": 1, "children": [{"type": 2, "text": "fn a() {}"}, {"type": 2, "text": "fn b() {}", "lineBreakBefore": true}]}});
        let metadata = json!({
            "toolCallRounds": [
                {"id": "r1", "response": "I look.", "thinking": {"id": "t", "text": "hm"}, "usage": {"prompt_tokens": 90, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 30}},
                 "toolCalls": [call("c1", "run_in_terminal", r#"{"command":"npm test"}"#), call("c2", "read_file", r#"{"filePath":"a.rs"}"#)]},
                {"id": "r2", "response": "Two fail.", "toolCalls": [], "summary": "so far"}],
            "toolCallResults": {"c1": {"content": [{"$mid": 21, "value": "2 failed\nCommand exited with code 1"}]}, "c2": {"content": [{"$mid": 22, "value": tree}]}}});
        let response = json!([{"value": "Fine."}, {"kind": "prepareToolInvocation"},
            {"kind": "toolInvocationSerialized", "toolId": "runInTerminal", "toolCallId": "v1", "isComplete": true,
             "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "ls"}, "terminalCommandState": {"exitCode": 0}, "terminalCommandOutput": {"text": "a.rs"}}},
            {"value": "Done."}]);
        [
            json!({"requestId": "q1", "timestamp": 1_700_000_000_000_u64, "modelId": "copilot/gpt-6", "message": {"text": "Mend it.", "parts": []}, "response": [], "result": {"metadata": metadata}}),
            json!({"requestId": "q2", "message": {"text": "Go on."}, "response": response, "result": {}}),
        ]
    }

    fn said(file: &str) -> String {
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::VscodeChat), "{file}");
        sketch(&crate::read(file.as_bytes(), None).expect("it is one"))
    }

    #[test]
    fn a_session_says_the_same_as_an_object_and_as_a_log() {
        let [first, second] = requests();
        let whole = json!({"version": 3, "sessionId": "s", "requests": [first, second]});
        assert_eq!(said(&whole.to_string()), READ);
        let mut half = first.clone();
        half["result"] = Value::Null;
        let log = [
            json!({"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": []}}),
            json!({"kind": 2, "k": ["requests"], "v": [half, {"requestId": "taken back", "message": {"text": "No."}}]}),
            json!({"kind": 1, "k": ["requests", 0, "result"], "v": first["result"]}),
            json!({"kind": 1, "k": ["customTitle"], "v": "x"}),
            json!({"kind": 3, "k": ["customTitle"]}),
            json!({"kind": 2, "k": ["requests"], "v": [second], "i": 1}),
        ];
        let log: String = log.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(said(&log), READ);
        let recording = crate::record(whole.to_string().as_bytes(), None).expect("it is one");
        let billed = recording.requests[0].billed.expect("it is recorded").usage;
        assert_eq!((billed.prompt(), billed.cache_read, billed.output), (90, 30, 5));
    }

    #[test]
    fn a_change_that_leads_nowhere_is_counted_and_harms_nothing() {
        let [first, _] = requests();
        let start = json!({"kind": 0, "v": {"sessionId": "s", "requests": [first]}});
        let lost = [
            json!({"kind": 1, "k": ["requests", 7, "result"], "v": 1}),
            json!({"kind": 1, "k": [], "v": 1}),
            json!({"kind": 2, "k": ["requests", 0, "message", "text"], "v": [1]}),
            json!({"kind": 1, "k": ["requests", 4_000_000_000_u64], "v": 1}),
            json!({"kind": 9}),
        ];
        let log: String = std::iter::once(start)
            .chain(lost)
            .map(|line| format!("{line}\n"))
            .collect();
        let read = crate::record_anyway(log.as_bytes(), None);
        let warnings = read.map(|recording| recording.document.warnings);
        assert!(
            matches!(
                warnings.as_deref(),
                Ok([Warning::UnreadEntry { line: 2, count: 5, .. }, Warning::Missed { .. }])
            ),
            "{warnings:?}"
        );
    }
}
