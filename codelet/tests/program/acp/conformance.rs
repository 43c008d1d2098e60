//! The published JSON Schema of the protocol, against which every message is held that the program writes.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Where whole messages stand in the schema: those of agents, and those of either side whose methods begin with `$/`.
const OF_AGENTS: &str = "#/anyOf/0";
const OF_EITHER: &str = "#/anyOf/2";
/// What we say and the stable schema of that version does not name yet, and where.
const UNSTABLE: &str = "systemPrompt";
const CAPABILITIES: &str = "/result/agentCapabilities/sessionCapabilities";

static STABLE: LazyLock<Protocol> = LazyLock::new(|| Protocol::read(include_str!("schema/schema.json")));
static WHOLE: LazyLock<Protocol> = LazyLock::new(|| Protocol::read(include_str!("schema/schema.unstable.json")));

/// The schema, closed: what it does not name is an error wherever it stands, but for `_meta`.
struct Protocol {
    compiled: Schemas,
    of_agents: SchemaIndex,
    of_either: SchemaIndex,
    definitions: BTreeMap<String, SchemaIndex>,
    /// The definitions by the method that they belong to, and the ends of their names.
    methods: BTreeMap<(String, &'static str), String>,
}

impl Protocol {
    fn read(text: &str) -> Self {
        let mut schema: Value = serde_json::from_str(text).unwrap();
        close(&mut schema);
        let definitions = schema["$defs"].as_object().unwrap().clone();
        let closed = definitions.keys().map(|name| {
            let whole = json!({"$ref": format!("#/$defs/{name}"), "unevaluatedProperties": false});
            (name.clone(), whole)
        });
        schema["closed"] = closed.collect::<Map<_, _>>().into();
        let mut compiler = Compiler::new();
        compiler.add_resource("acp.json", schema).unwrap();
        let mut compiled = Schemas::new();
        let mut at = |place: &str| compiler.compile(&format!("acp.json{place}"), &mut compiled).unwrap();
        let (of_agents, of_either) = (at(OF_AGENTS), at(OF_EITHER));
        let indices = definitions
            .keys()
            .map(|name| (name.clone(), at(&format!("#/closed/{name}"))));
        let indices = indices.collect();
        let mut methods = BTreeMap::new();
        for (name, definition) in &definitions {
            let ends = ["Request", "Response", "Notification"];
            if let (Some(method), Some(end)) = (
                definition["x-method"].as_str(),
                ends.into_iter().find(|end| name.ends_with(end)),
            ) {
                methods.insert((method.to_owned(), end), name.clone());
            }
        }
        Protocol {
            compiled,
            of_agents,
            of_either,
            definitions: indices,
            methods,
        }
    }

    fn fits(&self, name: &str, value: &Value) -> Result<(), String> {
        let index = self
            .definitions
            .get(name)
            .ok_or_else(|| format!("there is no {name}"))?;
        let checked = self.compiled.validate(value, *index);
        checked.map_err(|error| format!("no {name}: {error:#}\n{value}"))
    }

    fn of_method(&self, method: &str, end: &'static str, value: &Value) -> Result<(), String> {
        let name = self.methods.get(&(method.to_owned(), end));
        self.fits(name.ok_or_else(|| format!("{method} has no {end}"))?, value)
    }

    fn check(&self, message: &Value, asked: Option<&str>) -> Result<(), String> {
        let is_of_either = message["method"]
            .as_str()
            .is_some_and(|method| method.starts_with("$/"));
        let envelope = if is_of_either { self.of_either } else { self.of_agents };
        let checked = self.compiled.validate(message, envelope);
        checked.map_err(|error| format!("no message: {error:#}\n{message}"))?;
        let end = match message.get("id") {
            Some(_) => "Request",
            None => "Notification",
        };
        match (message["method"].as_str(), message.get("result"), asked) {
            (Some(method), ..) => self.of_method(method, end, &message["params"]),
            (None, None, _) => self.fits("Error", &message["error"]),
            (None, Some(result), Some(method)) => self.of_method(method, "Response", result),
            (None, Some(_), None) => Err(format!("it answers nothing: {message}")),
        }
    }
}

/// Closes every object of a schema that stands in a property or in a list: what none of its parts names is not taken. What names nothing,
/// such as the data of an error, is free.
fn close(schema: &mut Value) {
    let shut = |value: &mut Value| {
        let names = ["$ref", "properties", "allOf", "anyOf", "oneOf"];
        if let Value::Object(schema) = value
            && names.iter().any(|name| schema.contains_key(*name))
        {
            schema.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
        }
    };
    match schema {
        Value::Object(parts) => {
            if let Some(Value::Object(properties)) = parts.get_mut("properties") {
                properties.values_mut().for_each(shut);
            }
            parts.get_mut("items").into_iter().for_each(shut);
            parts.values_mut().for_each(close);
        }
        Value::Array(parts) => parts.iter_mut().for_each(close),
        _ => {}
    }
}

/// Whether the stable schema takes a message of ours; an answer is one to `asked`.
pub fn check(message: &Value, asked: Option<&str>) -> Result<(), String> {
    if asked != Some("initialize") || message.get("result").is_none() {
        return STABLE.check(message, asked);
    }
    WHOLE.check(message, asked)?;
    let mut stable = message.clone();
    let capabilities = stable.pointer_mut(CAPABILITIES).and_then(Value::as_object_mut);
    let unstable = capabilities.and_then(|all| all.remove(UNSTABLE));
    unstable.ok_or_else(|| format!("{UNSTABLE} is not said any more"))?;
    STABLE.check(&stable, asked)
}

#[test]
fn what_the_schema_does_not_name_is_found() {
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "a", "update": update}});
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t",
        "content": [{"type": "content", "content": {"type": "text", "text": "a"}}]});
    assert_eq!(check(&update(call.clone()), None), Ok(()));
    let mut deep = call.clone();
    deep["content"][0]["content"]["colour"] = json!("red");
    let mut kind = call.clone();
    kind["kind"] = json!(7);
    for wrong in [
        deep,
        kind,
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "colour": "red"}),
        json!({"sessionUpdate": "tool_call", "title": "t"}),
        json!({"sessionUpdate": "subagent_update", "subagentId": "a"}),
        json!({"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "medium"}]}),
    ] {
        assert!(check(&update(wrong.clone()), None).is_err(), "{wrong}");
    }
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
    assert_eq!(
        check(&answer(json!({"stopReason": "end_turn"})), Some("session/prompt")),
        Ok(())
    );
    for (result, method) in [
        (json!({"stopReason": "bored"}), "session/prompt"),
        (json!({"stopReason": "end_turn", "why": "a"}), "session/prompt"),
        (json!({}), "session/new"),
        (json!({}), "session/explode"),
    ] {
        assert!(
            check(&answer(result.clone()), Some(method)).is_err(),
            "{method}: {result}"
        );
    }
    assert!(check(&json!({"jsonrpc": "2.0", "id": 1, "error": {"message": "a"}}), None).is_err());
}
