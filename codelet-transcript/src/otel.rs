//! OpenTelemetry spans in which a program recorded its requests under the semantic conventions for generative AI, as
//! OTLP JSON: an object with `resourceSpans`, or one per line. Each request's span holds the conversation up to then.

use crate::ReadError;
use crate::events;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::recording::{Billed, Recorded, Recording};
use crate::source;
use crate::take::{self, Fields};
use codelet_context::message::{Message, Origin, Role};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const FORM: Form = Form {
    shows: Some(|first| first.has("resourceSpans")),
    is_lines: true,
    lists: &["resourceSpans"],
    ..Form::new(
        "otel",
        "spans of OpenTelemetry with gen_ai messages (OTLP, JSON)",
        record,
    )
};

/// A request as recorded in its span.
struct Span {
    /// The conversation that it belongs to: its id, or else its first message.
    talk: String,
    /// True if it is a request, rather than an agent's run as a whole.
    is_request: bool,
    /// In nanoseconds since 1970-01-01 UTC.
    began: u64,
    system: Option<String>,
    input: Vec<Value>,
    output: Vec<Value>,
    model: Option<Arc<str>>,
    billed: Option<Billed>,
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut spans = Vec::new();
    let mut failed = HashMap::new();
    let warnings = events::each(bytes, |mut entry, notes| {
        let before = spans.len();
        for mut resource in take::objects(&mut entry.fields, "resourceSpans") {
            for mut scope in take::objects(&mut resource, "scopeSpans") {
                for span in take::objects(&mut scope, "spans") {
                    self::span(span, &mut spans, &mut failed);
                }
            }
        }
        if spans.len() == before && !entry.fields.contains_key("resourceSpans") {
            notes.unknown(entry.line, "no spans");
        }
    })?;
    let mut gather = Gather::of(warnings);
    if spans.is_empty() {
        gather.unknown("spans without gen_ai.input.messages");
    }
    // The spans of agent runs only repeat their requests, if these are recorded.
    if spans.iter().any(|span| span.is_request) {
        spans.retain(|span| span.is_request);
    }
    spans.sort_by_key(|span| span.began);
    let spans = longest(spans);
    let Some(last) = spans.last() else {
        return Ok(gather.finish(Format::Otel));
    };
    gather.system(last.system.clone().unwrap_or_default());
    // The index among the gathered messages at which each message of the span begins.
    let mut starts = Vec::new();
    for said in last.input.iter().chain(&last.output) {
        starts.push(gather.len());
        message(&mut gather, said.clone(), &failed);
    }
    let all: Vec<&Value> = last.input.iter().chain(&last.output).collect();
    let mut requests = Vec::new();
    for span in &spans {
        let before = span.input.len();
        let is_before = before < all.len() && span.input.iter().zip(&all).all(|(one, other)| one == *other);
        let Some(reply) = starts.get(before).copied().filter(|_| is_before) else {
            continue;
        };
        let is_reply = |message: &Message| message.role == Role::Assistant;
        if gather.messages().get(reply).is_some_and(is_reply) {
            requests.push(Recorded {
                reply,
                began: Some(span.began / 1_000_000).filter(|began| *began > 0),
                model: span.model.clone(),
                billed: span.billed,
            });
        }
    }
    requests.dedup_by_key(|request| request.reply);
    gather.requests = requests.into();
    Ok(gather.finish(Format::Otel))
}

/// Returns the spans of the longest conversation: the others are those of subagents.
fn longest(spans: Vec<Span>) -> Vec<Span> {
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    for span in &spans {
        let size = sizes.entry(&span.talk).or_default();
        *size = (*size).max(span.input.len() + span.output.len());
    }
    // Of equally long ones, the first.
    let most = spans.iter().map(|span| sizes[&*span.talk]).max();
    let chosen = spans.iter().find(|span| Some(sizes[&*span.talk]) == most);
    let Some(talk) = chosen.map(|span| span.talk.clone()) else {
        return spans;
    };
    spans.into_iter().filter(|span| span.talk == talk).collect()
}

fn span(mut span: Fields, spans: &mut Vec<Span>, failed: &mut HashMap<String, bool>) {
    let mut attributes = attributes(&mut span);
    // If structured attributes are not supported, the messages are in an event.
    for mut event in take::objects(&mut span, "events") {
        for (name, value) in self::attributes(&mut event) {
            attributes.entry(name).or_insert(value);
        }
    }
    let operation = take::string(&mut attributes, "gen_ai.operation.name").unwrap_or_default();
    if operation == "execute_tool" {
        let status = span.get("status").and_then(|status| status.get("code"));
        let is_error = status.is_some_and(|code| *code == 2 || *code == "STATUS_CODE_ERROR");
        if let Some(id) = take::string(&mut attributes, "gen_ai.tool.call.id") {
            failed.insert(id, is_error || attributes.contains_key("error.type"));
        }
        return;
    }
    let input = messages(&mut attributes, "gen_ai.input.messages");
    let output = messages(&mut attributes, "gen_ai.output.messages");
    if input.is_empty() && output.is_empty() {
        return;
    }
    let system = messages(&mut attributes, "gen_ai.system_instructions");
    let texts = system.iter().filter_map(|part| part.get("content")?.as_str());
    let system: Vec<&str> = texts.collect();
    let named = take::string(&mut attributes, "gen_ai.conversation.id");
    let agent = take::string(&mut attributes, "gen_ai.agent.id");
    let first = || {
        input
            .iter()
            .find(|message| message.get("role").is_some_and(|role| role == "user"))
    };
    let talk = match named {
        Some(id) => format!("{id} {}", agent.unwrap_or_default()),
        None => first().map(Value::to_string).unwrap_or_default(),
    };
    let count = |name: &str| attributes.get(name).and_then(Value::as_u64);
    let prompt = count("gen_ai.usage.input_tokens").filter(|count| *count > 0);
    let cached = count("gen_ai.usage.cache_read.input_tokens").unwrap_or(0);
    let replied = count("gen_ai.usage.output_tokens").unwrap_or(0);
    let billed = prompt.and_then(|prompt| Billed::inclusive(prompt, cached, replied));
    let model = ["gen_ai.response.model", "gen_ai.request.model"];
    let model = model.iter().find_map(|name| take::string(&mut attributes, name));
    spans.push(Span {
        talk,
        is_request: operation != "invoke_agent" && operation != "create_agent",
        began: number(span.get("startTimeUnixNano")),
        system: Some(system.join("\n")).filter(|system| !system.is_empty()),
        input,
        output,
        model: model.map(Arc::from),
        billed,
    });
}

/// Reads a number; OTLP writes 64-bit numbers as strings.
fn number(value: Option<&Value>) -> u64 {
    let text = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
    value
        .and_then(|value| value.as_u64().or_else(|| text(value)))
        .unwrap_or(0)
}

/// Returns the attributes of a span or an event, by name.
fn attributes(fields: &mut Fields) -> Fields {
    let named = |mut attribute: Fields| {
        let name = take::string(&mut attribute, "key")?;
        Some((name, inner(take::value(&mut attribute, "value"))))
    };
    take::objects(fields, "attributes").filter_map(named).collect()
}

/// Unwraps an OTLP value.
fn inner(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return Value::Null;
    };
    let Some((kind, value)) = fields.into_iter().next() else {
        return Value::Null;
    };
    match (kind.as_str(), value) {
        ("intValue", value) => Value::from(number(Some(&value))),
        ("arrayValue", Value::Object(mut list)) => take::list(&mut list, "values").into_iter().map(inner).collect(),
        ("kvlistValue", Value::Object(mut list)) => {
            let named =
                |mut pair: Fields| Some((take::string(&mut pair, "key")?, inner(take::value(&mut pair, "value"))));
            Value::Object(take::objects(&mut list, "values").filter_map(named).collect())
        }
        (_, value) => value,
    }
}

/// Returns the messages in an attribute, stored as values or as a JSON string.
fn messages(attributes: &mut Fields, name: &str) -> Vec<Value> {
    match take::value(attributes, name) {
        Value::Array(list) => list,
        Value::String(text) => match source::embedded(&text) {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn message(gather: &mut Gather, message: Value, failed: &HashMap<String, bool>) {
    let Value::Object(mut message) = message else { return };
    let role = take::string(&mut message, "role").unwrap_or_default();
    let mut parts = Vec::new();
    for mut part in take::objects(&mut message, "parts") {
        let kind = take::string(&mut part, "type").unwrap_or_default();
        match kind.as_str() {
            "reasoning" => parts.extend(gather::unsigned_thinking(&mut part, "content")),
            "tool_call" => parts.push(gather::call_in(&mut part, ["id", "name", "arguments"])),
            "tool_call_response" => {
                let id = take::string(&mut part, "id").unwrap_or_default();
                let given = ["response", "result"].iter().find(|name| part.contains_key(**name));
                let output = given.map(|name| take::value(&mut part, name)).unwrap_or_default();
                let success = failed.get(&id).map(|failed| !failed);
                gather.result(gather::result(id, success, gather::printed(output)));
            }
            "blob" if take::str(&part, "mime_type").starts_with("image/") => {
                let data = ["content", "data"]
                    .iter()
                    .find_map(|name| take::string(&mut part, name));
                parts.extend(data.map(|data| gather::image(take::str(&part, "mime_type"), data)));
            }
            "uri" if take::str(&part, "modality") == "image" => {
                parts.extend(take::string(&mut part, "uri").map(gather::image_at));
            }
            _ => parts.extend(
                ["content", "text"]
                    .iter()
                    .find_map(|name| gather::text_in(&mut part, name, Origin::Own)),
            ),
        }
    }
    match role.as_str() {
        "system" => gather.system(gather::words(&parts)),
        "assistant" => gather.message(Role::Assistant, parts),
        _ => gather.prompt(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::{sketch, told};
    use serde_json::json;

    fn request(began: u64, input: &Value, output: &Value, tokens: u64) -> Value {
        let text = |name: &str, value: String| json!({"key": name, "value": {"stringValue": value}});
        json!({"traceId": "t", "spanId": "s", "name": "chat m", "kind": 3, "startTimeUnixNano": began.to_string(), "attributes": [
            text("gen_ai.operation.name", "chat".into()), text("gen_ai.response.model", "m".into()),
            text("gen_ai.input.messages", input.to_string()), text("gen_ai.output.messages", output.to_string()),
            text("gen_ai.system_instructions", json!([{"type": "text", "content": "You code."}]).to_string()),
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": tokens.to_string()}},
            {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "7"}}]})
    }

    fn line(spans: &[Value]) -> String {
        json!({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}).to_string()
    }

    #[test]
    fn the_longest_conversation_is_that_of_its_last_request() {
        let said = |role: &str, text: &str| json!({"role": role, "parts": [{"type": "text", "content": text}]});
        let call = json!({"role": "assistant", "parts": [{"type": "tool_call", "id": "a", "name": "bash", "arguments": {"command": "make"}}], "finish_reason": "tool_call"});
        let answer =
            json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": "a", "response": "no rule"}]});
        let first = request(2_000_000_000, &json!([said("user", "Build it.")]), &json!([call]), 90);
        let second = request(
            5_000_000_000,
            &json!([said("user", "Build it."), call, answer]),
            &json!([said("assistant", "It fails.")]),
            120,
        );
        let helper = request(
            3_000_000_000,
            &json!([said("user", "Look around.")]),
            &json!([said("assistant", "Nothing.")]),
            9,
        );
        let tool = json!({"name": "execute_tool bash", "status": {"code": 2}, "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}, {"key": "gen_ai.tool.call.id", "value": {"stringValue": "a"}}]});
        let other = json!({"name": "GET", "attributes": []});
        // Spans are written when they end.
        let file = [line(&[other, tool, first]), line(&[helper]), line(&[second])].join("\n");
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::Otel));
        let recording = crate::record(file.as_bytes(), None).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "system: You code.\nuser: Build it.\ncall a: bash {\"command\":\"make\"}\nresult a failed: no rule\nassistant: It fails.\n"
        );
        assert_eq!(
            told(&recording),
            [(2, Some(2_000), Some(90)), (4, Some(5_000), Some(120))]
        );
        assert_eq!(recording.document.warnings, []);
    }

    #[test]
    fn structured_attributes_are_read_and_spans_of_others_are_no_conversation() {
        let pair = |key: &str, value: Value| json!({"key": key, "value": value});
        let text = |text: &str| json!({"stringValue": text});
        let part = json!({"kvlistValue": {"values": [pair("type", text("text")), pair("content", text("Hello."))]}});
        let message = json!({"kvlistValue": {"values": [pair("role", text("user")), pair("parts", json!({"arrayValue": {"values": [part]}}))]}});
        let span = json!({"attributes": [pair("gen_ai.input.messages", json!({"arrayValue": {"values": [message]}}))]});
        let recording = crate::record(line(&[span]).as_bytes(), None).expect("it is one");
        assert_eq!(sketch(&recording.document), "user: Hello.\n");
        assert!(crate::record(line(&[json!({"name": "GET"})]).as_bytes(), None).is_err());
    }
}
