//! Messages of LangChain: as objects with a `type`, as `messages_to_dict` writes them, or as its serialized
//! constructors; in a list, or in the inputs and outputs of a LangSmith run.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::recording::Recording;
use crate::skim::{Seen, Skim};
use crate::source::Source;
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Role};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_items: true,
    lists: &["messages", "inputs"],
    ..Form::new("langchain", "messages of LangChain, or a run of LangSmith (JSON)", read)
};

const EXPECTED: &str = "a list of messages, or an object with messages";

fn shows(first: &Seen) -> bool {
    is_message(first) || messages_in(first).is_some()
}

fn is_message(message: &Seen) -> bool {
    let is_named = |kind: &str| {
        matches!(
            kind,
            "human" | "ai" | "system" | "HumanMessage" | "AIMessage" | "SystemMessage"
        )
    };
    let kind = message.string("type");
    let is_written = kind == Some("constructor") && message.has("lc") && message.has("kwargs");
    let is_others = ["role", "timestamp", "uuid", "session_id"]
        .iter()
        .any(|name| message.has(name));
    let is_said = !is_others && (message.has("content") || message.has("data"));
    is_written || kind.is_some_and(is_named) && is_said
}

/// Returns the first message in an object that holds some, such as the inputs of a run.
fn messages_in<'a>(holder: &Seen<'a>) -> Option<Skim<'a>> {
    let list = match holder.get("inputs") {
        Some(inputs) => inputs.get("messages"),
        None => holder.get("messages"),
    };
    let first = list?.items().next()?;
    // A run has one list for each of several conversations.
    let first = first.items().next().unwrap_or(first);
    is_message(&Seen::new(first)).then_some(first)
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut source = Source::new(bytes, EXPECTED)?;
    let parsed = source.parse(EXPECTED)?;
    let mut gather = Gather::of(std::mem::take(&mut source.warnings));
    match parsed {
        Value::Array(list) => list.into_iter().for_each(|value| message(&mut gather, value)),
        Value::Object(mut run) => {
            let mut inputs = take::object(&mut run, "inputs").unwrap_or_else(|| std::mem::take(&mut run));
            // A chain's prompt may name its messages `input`.
            let lists = ["messages", "input"].map(|name| take::list(&mut inputs, name));
            for value in lists.into_iter().flatten() {
                match value {
                    Value::Array(list) => list.into_iter().for_each(|value| message(&mut gather, value)),
                    value => message(&mut gather, value),
                }
            }
            answered(&mut gather, run);
        }
        _ => {}
    }
    Ok(gather.finish(Format::Langchain))
}

/// Adds the outputs of a run: a message, or lists of generations with one.
fn answered(gather: &mut Gather, mut run: Fields) {
    let Some(mut outputs) = take::object(&mut run, "outputs") else {
        return;
    };
    if outputs.contains_key("messages") {
        // The whole conversation, including the inputs.
        gather.truncate(0);
        take::list(&mut outputs, "messages")
            .into_iter()
            .for_each(|value| message(gather, value));
        return;
    }
    let generation = take::list(&mut outputs, "generations").into_iter().next();
    let generation = match generation {
        Some(Value::Array(list)) => list.into_iter().next(),
        other => other,
    };
    if let Some(Value::Object(mut generation)) = generation {
        message(gather, take::value(&mut generation, "message"));
    }
}

fn message(gather: &mut Gather, value: Value) {
    let Value::Object(mut fields) = value else { return };
    let kind = match take::object(&mut fields, "kwargs") {
        Some(inner) => {
            let named = take::list(&mut fields, "id").pop();
            fields = inner;
            named
                .and_then(|name| name.as_str().map(str::to_owned))
                .unwrap_or_default()
        }
        None => {
            let kind = take::string(&mut fields, "type").unwrap_or_default();
            fields = take::object(&mut fields, "data").unwrap_or(fields);
            kind
        }
    };
    let kind = kind
        .trim_end_matches("Chunk")
        .trim_end_matches("Message")
        .to_ascii_lowercase();
    // Calls among the blocks are also in a separate field.
    let said = gather::content(take::value(&mut fields, "content"), Origin::Own);
    match kind.as_str() {
        "system" => gather.system(gather::words(&said)),
        "human" => gather.message(Role::User, said),
        "ai" => {
            let calls = take::objects(&mut fields, "tool_calls");
            let calls = calls.map(|mut call| gather::call_in(&mut call, ["id", "name", "args"]));
            gather.message(Role::Assistant, said.into_iter().chain(calls));
        }
        "tool" => {
            let id = take::string(&mut fields, "tool_call_id").unwrap_or_default();
            let success = (take::str(&fields, "status") == "error").then_some(false);
            gather.result(gather::result(id, success, said));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;
    use serde_json::json;

    const READ: &str = r#"system: Be brief.
        user: Build it.
        assistant: I try.
        call c: bash {"command":"make"}
        result c failed: no rule
        assistant: It fails."#;

    fn said() -> [(&'static str, Value); 5] {
        [
            ("system", json!({"content": "Be brief."})),
            ("human", json!({"content": [{"type": "text", "text": "Build it."}]})),
            (
                "ai",
                json!({"content": [{"type": "text", "text": "I try."}, {"type": "tool_use", "id": "c"}], "tool_calls": [{"name": "bash", "args": {"command": "make"}, "id": "c"}]}),
            ),
            (
                "tool",
                json!({"content": "no rule", "tool_call_id": "c", "status": "error"}),
            ),
            ("ai", json!({"content": "It fails.", "tool_calls": []})),
        ]
    }

    #[test]
    fn messages_are_read_however_they_were_written() {
        let plain = said().map(|(kind, mut fields)| {
            fields["type"] = kind.into();
            fields
        });
        let dicts = said().map(|(kind, fields)| json!({"type": kind, "data": fields}));
        let name = |kind: &str| match kind {
            "ai" => "AIMessage".to_owned(),
            kind => format!("{}{}Message", kind[..1].to_uppercase(), &kind[1..]),
        };
        let written = said().map(|(kind, fields)| {
            json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name(kind)], "kwargs": fields})
        });
        let run = json!({"id": "r", "run_type": "llm", "inputs": {"messages": [written[..4]]},
            "outputs": {"generations": [[{"text": "It fails.", "message": written[4]}]]}});
        for file in [
            json!(plain),
            json!({"messages": plain}),
            json!(dicts),
            json!(written),
            run,
        ] {
            let file = file.to_string();
            assert_eq!(crate::detect(file.as_bytes()), Some(Format::Langchain), "{file}");
            check(read, &file, READ);
        }
    }
}
