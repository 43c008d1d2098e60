//! Trajectories in the Agent Trajectory Interchange Format (ATIF) of Harbor and Terminal-Bench: steps with calls and
//! their observations. Read and written.

use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::{self, Billed, Recording};
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::{Document, ReadError, Warning};
use codelet_context::message::{Message, Origin, Part, Role, ToolResult};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["steps"],
    ..Form::new(
        "atif",
        "a trajectory in ATIF, of Harbor and Terminal-Bench (JSON)",
        record,
    )
};

const VERSION: &str = "ATIF-v1.4";
/// Field of a step's `extra` that holds the origin of text that is not the speaker's own.
const ORIGIN: &str = "codelet_origin";
/// Field of the `extra` of an observation's result that says whether the call succeeded.
const SUCCESS: &str = "codelet_success";

fn shows(first: &Seen) -> bool {
    let version = first.string("schema_version");
    version.is_some_and(|version| version.starts_with("ATIF-")) && first.has("steps")
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a trajectory: an object with schema_version and steps")?;
    let mut gather = Gather::of(warnings);
    let model = take::name(&file, &["agent", "model_name"]);
    for step in take::objects(&mut file, "steps") {
        self::step(&mut gather, model.as_ref(), step);
    }
    let mut recording = gather.finish(Format::Atif);
    // Totals over all steps do not hold for a changed conversation.
    file.retain(|name, _| name != "final_metrics");
    recording.document.envelope = file;
    Ok(recording)
}

fn step(gather: &mut Gather, model: Option<&Arc<str>>, mut step: Fields) {
    let time = recording::time(&step);
    let said = gather::content(take::value(&mut step, "message"), origin(&step));
    match take::str(&step, "source") {
        "system" if gather.len() == 0 && !gather.has_system() => gather.system(gather::words(&said)),
        // Messages of the harness.
        "system" => gather.message(Role::User, said.into_iter().map(injected)),
        "user" => gather.message(Role::User, said),
        "agent" => {
            let mut parts: Vec<Part> = gather::unsigned_thinking(&mut step, "reasoning_content")
                .into_iter()
                .collect();
            parts.extend(said);
            let calls = take::objects(&mut step, "tool_calls");
            let names = ["tool_call_id", "function_name", "arguments"];
            parts.extend(calls.map(|mut call| gather::call_in(&mut call, names)));
            let model = take::name(&step, &["model_name"]).or_else(|| model.cloned());
            gather.replied(parts, time, model, billed(&step));
        }
        other => gather.unknown(other),
    }
    let mut observation = take::object(&mut step, "observation").unwrap_or_default();
    for mut result in take::objects(&mut observation, "results") {
        let output = gather::content(take::value(&mut result, "content"), Origin::Own);
        match take::string(&mut result, "source_call_id") {
            Some(id) => {
                let noted = take::at(&result, &["extra", SUCCESS]).and_then(Value::as_bool);
                gather.result(gather::result(id, noted, output));
            }
            // The observation of an action that was not a call.
            None => gather.message(Role::User, output.into_iter().map(injected)),
        }
    }
    gather.requests.passed(time);
}

fn origin(step: &Fields) -> Origin {
    match take::at(step, &["extra", ORIGIN]).and_then(Value::as_str) {
        Some("summary") => Origin::Summary,
        Some("injected") => Origin::Injected,
        _ => Origin::Own,
    }
}

fn injected(part: Part) -> Part {
    match part {
        Part::Text(mut text) => {
            if text.origin == Origin::Own {
                text.origin = Origin::Injected;
            }
            Part::Text(text)
        }
        other => other,
    }
}

fn billed(step: &Fields) -> Option<Billed> {
    let count = |name| take::number(step, &["metrics", name]);
    let [cached, output] = ["cached_tokens", "completion_tokens"].map(|name| count(name).unwrap_or(0));
    Billed::inclusive(count("prompt_tokens")?, cached, output)
}

/// Writes a trajectory. It cannot hold thinking signatures or blocks that only one provider knows.
pub(crate) fn write(document: &Document) -> (String, Vec<Warning>) {
    let mut steps: Vec<Value> = Vec::new();
    // The step that made each call, by call id.
    let mut calls: HashMap<Arc<str>, usize> = HashMap::new();
    let mut left: Vec<(String, usize)> = Vec::new();
    let mut leave = |kind: &str| match left.iter_mut().find(|(known, _)| known == kind) {
        Some((_, count)) => *count += 1,
        None => left.push((kind.to_owned(), 1)),
    };
    for message in &document.messages {
        match message.role {
            Role::Assistant => {
                calls.extend(message.calls().map(|call| (call.id.clone(), steps.len())));
                reply(message, &mut steps, &mut leave);
            }
            role => said(message, role, &mut steps, &calls, &mut leave),
        }
    }
    for (at, step) in steps.iter_mut().enumerate() {
        step["step_id"] = json!(at + 1);
    }
    let mut whole = document.envelope.clone();
    if document.format != Format::Atif || !whole.contains_key("schema_version") {
        let agent = json!({"name": "codelet", "version": env!("CARGO_PKG_VERSION")});
        whole = Map::from_iter([
            ("schema_version".to_owned(), json!(VERSION)),
            ("session_id".to_owned(), json!("codelet")),
            ("agent".to_owned(), agent),
        ]);
    }
    whole.insert("steps".to_owned(), steps.into());
    let whole = Value::Object(whole);
    let warning = (!left.is_empty()).then_some(Warning::LeftOut {
        to: Format::Atif,
        kinds: left,
    });
    (whole.to_string(), warning.into_iter().collect())
}

fn reply(message: &Message, steps: &mut Vec<Value>, leave: &mut impl FnMut(&str)) {
    let mut step = Map::from_iter([("step_id".to_owned(), json!(0)), ("source".to_owned(), json!("agent"))]);
    let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Text(text) => texts.push(text.body.as_str()),
            Part::Thinking(thinking) if thinking.body.as_str().is_empty() => leave("thinking"),
            Part::Thinking(thinking) => thoughts.push(thinking.body.as_str()),
            Part::ToolCall(call) => calls.push(json!({
                "tool_call_id": &*call.id, "function_name": &*call.tool, "arguments": call.parameters.as_map(),
            })),
            Part::Image(_) => leave("image"),
            Part::Opaque(block) => leave(&block.kind),
            Part::ToolResult(_) => {}
        }
    }
    step.insert("message".to_owned(), json!(texts.join("\n\n")));
    if !thoughts.is_empty() {
        step.insert("reasoning_content".to_owned(), json!(thoughts.join("\n\n")));
    }
    if !calls.is_empty() {
        step.insert("tool_calls".to_owned(), calls.into());
    }
    steps.push(Value::Object(step));
}

/// Writes messages of the user, the harness and tools. Results belong to the step whose calls they answer.
fn said(
    message: &Message,
    role: Role,
    steps: &mut Vec<Value>,
    calls: &HashMap<Arc<str>, usize>,
    leave: &mut impl FnMut(&str),
) {
    for part in &message.parts {
        match part {
            Part::ToolResult(result) => observed(result, steps, calls, leave),
            Part::Text(text) => {
                let source = if role == Role::System { "system" } else { "user" };
                let mut step = json!({"step_id": 0, "source": source, "message": text.body.as_str()});
                match text.origin {
                    Origin::Own => {}
                    Origin::Summary => step["extra"] = json!({ORIGIN: "summary"}),
                    _ => step["extra"] = json!({ORIGIN: "injected"}),
                }
                steps.push(step);
            }
            Part::Image(_) => leave("image"),
            Part::Opaque(block) => leave(&block.kind),
            Part::Thinking(_) | Part::ToolCall(_) => {}
        }
    }
}

fn observed(result: &ToolResult, steps: &mut [Value], calls: &HashMap<Arc<str>, usize>, leave: &mut impl FnMut(&str)) {
    let mut texts = Vec::new();
    for part in &result.output {
        match part {
            Part::Text(text) => texts.push(text.body.as_str()),
            Part::Opaque(block) => leave(&block.kind),
            _ => leave("image"),
        }
    }
    let mut entry = json!({"source_call_id": &*result.call_id, "content": texts.join("\n")});
    if let Some(success) = result.success {
        entry["extra"] = json!({SUCCESS: success});
    }
    let Some(step) = calls.get(&result.call_id).and_then(|at| steps.get_mut(*at)) else {
        return leave("tool_result");
    };
    if step.get("observation").is_none() {
        step["observation"] = json!({"results": []});
    }
    if let Some(results) = step["observation"]["results"].as_array_mut() {
        results.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;

    fn trajectory() -> Value {
        json!({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a", "version": "1", "model_name": "m-1"}, "steps": [
            {"step_id": 1, "source": "system", "message": "Be brief."},
            {"step_id": 2, "timestamp": "2026-10-01T10:00:00Z", "source": "user", "message": [{"type": "text", "text": "Mend it."}]},
            {"step_id": 3, "timestamp": "2026-10-01T10:00:09Z", "source": "agent", "message": "I look.", "reasoning_content": "hm",
             "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "make"}},
                            {"tool_call_id": "c2", "function_name": "bash", "arguments": {"command": "ls"}}],
             "observation": {"results": [{"source_call_id": "c1", "content": "no rule\n[exit status 2]"}, {"source_call_id": "c2", "content": "a.rs"}]},
             "metrics": {"prompt_tokens": 100, "cached_tokens": 40, "completion_tokens": 7}},
            {"step_id": 4, "source": "system", "message": "The context was reset."},
            {"step_id": 5, "source": "agent", "message": "Done."}]})
    }

    #[test]
    fn steps_are_messages_with_calls_results_and_bills() {
        let file = trajectory().to_string();
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::Atif));
        let recording = crate::record(file.as_bytes(), None).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "system: Be brief.\nuser: Mend it.\nthinking: hm\nassistant: I look.\n\
             call c1: bash {\"command\":\"make\"}\ncall c2: bash {\"command\":\"ls\"}\n\
             result c1 failed: no rule|[exit status 2]\nresult c2 unknown: a.rs\n-\n\
             user (injected): The context was reset.\nassistant: Done.\n"
        );
        let request = &recording.requests[0];
        assert_eq!(
            (request.model.as_deref(), request.began),
            (Some("m-1"), recording::instant("2026-10-01T10:00:00Z"))
        );
        let usage = request.billed.expect("it is recorded").usage;
        assert_eq!((usage.prompt(), usage.cache_read, usage.output), (100, 40, 7));
    }

    #[test]
    fn what_is_written_says_the_same_when_it_is_read() {
        let read = crate::read(trajectory().to_string().as_bytes(), None).expect("it is one");
        let written = crate::write(&read, Format::Atif).expect("it is written");
        let again = crate::read(written.as_bytes(), None).expect("what is written can be read");
        assert_eq!(sketch(&again), sketch(&read));
        assert!(written.contains("\"model_name\":\"m-1\""), "{written}");
        assert_eq!(crate::write(&again, Format::Atif).expect("it is written"), written);
    }
}
