//! Converts tool definitions and the tool choice between providers.

use crate::format::Format;
use crate::ids::name_for_all;
use serde_json::{Map, Value, json};
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Tools<'a> {
    tools: Vec<Tool<'a>>,
    choice: Option<Choice<'a>>,
    /// The kinds of tools that only their own provider has.
    pub left_out: Vec<String>,
}

struct Tool<'a> {
    name: &'a str,
    description: Option<&'a Value>,
    schema: Option<Value>,
}

enum Choice<'a> {
    Auto,
    None,
    Any,
    Tool(&'a str),
}

/// The name under which a choice that no other provider has is reported.
const CHOICE: &str = "tool_choice";

impl<'a> Tools<'a> {
    /// Reads the tools from the fields around the messages.
    pub(crate) fn read(fields: &'a Map<String, Value>) -> Self {
        let get = |names: [&str; 2]| names.into_iter().find_map(|name| fields.get(name));
        let mut tools = Tools::default();
        for entry in each(fields.get("tools")) {
            tools.entry(entry);
        }
        // The name in Chat Completions before there were tools other than functions.
        for entry in each(fields.get("functions")) {
            tools.own(entry);
        }
        let config = get(["toolConfig", "tool_config"]);
        let config = config.and_then(|config| either(config, ["functionCallingConfig", "function_calling_config"]));
        let choice = get([CHOICE, "function_call"]).filter(|choice| !choice.is_null());
        let choice = match (choice, config) {
            (Some(choice), _) => Some(read_choice(choice)),
            (None, Some(config)) => Some(read_mode(config)),
            (None, None) => None,
        };
        match choice {
            Some(Some(choice)) => tools.choice = Some(choice),
            Some(None) => tools.left_out.push(CHOICE.to_owned()),
            None => {}
        }
        tools
    }

    fn entry(&mut self, entry: &'a Value) {
        let declared = ["functionDeclarations", "function_declarations"];
        let Some(list) = either(entry, declared) else {
            return self.own(entry);
        };
        each(Some(list)).for_each(|tool| self.own(tool));
        let fields = entry.as_object().into_iter().flatten();
        let others = fields.filter(|(name, _)| !declared.contains(&name.as_str()));
        self.left_out.extend(others.map(|(name, _)| format!("tool {name}")));
    }

    /// Adds a tool defined by the caller; built-in tools of a provider have no schema and are dropped.
    fn own(&mut self, entry: &'a Value) {
        let kind = entry.get("type").and_then(Value::as_str);
        let inner = ["function", "custom"]
            .into_iter()
            .find_map(|name| entry.get(name))
            .unwrap_or(entry);
        let schema = schema(inner);
        let is_own = schema.is_some() || matches!(kind, None | Some("function" | "custom"));
        match inner.get("name").and_then(Value::as_str) {
            Some(name) if is_own => self.tools.push(Tool {
                name,
                description: inner.get("description").filter(|text| text.is_string()),
                // Its calls are written with their text as the only parameter.
                schema: schema.or_else(|| (kind == Some("custom")).then(free_text)),
            }),
            _ => {
                let field = || {
                    entry
                        .as_object()
                        .and_then(|fields| fields.keys().next())
                        .map(String::as_str)
                };
                self.left_out
                    .push(format!("tool {}", kind.or_else(field).unwrap_or_default()));
            }
        }
    }

    pub(crate) fn write(&mut self, to: Format) -> Vec<(&'static str, Value)> {
        let choice = self.choice.take().filter(|choice| {
            let is_there = match choice {
                Choice::Auto | Choice::None => return !self.tools.is_empty(),
                Choice::Any => !self.tools.is_empty(),
                Choice::Tool(name) => self.tools.iter().any(|tool| tool.name == *name),
            };
            if !is_there {
                self.left_out.push(CHOICE.to_owned());
            }
            is_there
        });
        let tools: Vec<Value> = self.tools.iter().map(|tool| write_tool(tool, to)).collect();
        let mut out = Vec::new();
        if !tools.is_empty() {
            let tools = match to {
                Format::Gemini => json!([{ "functionDeclarations": tools }]),
                _ => Value::Array(tools),
            };
            out.push(("tools", tools));
        }
        out.extend(choice.map(|choice| write_choice(&choice, to)));
        out
    }
}

/// Returns the items of a list; a single object counts as a list of one.
fn each(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    let (many, one) = match list {
        Some(Value::Array(items)) => (items.as_slice(), None),
        Some(Value::Object(_)) => (Default::default(), list),
        _ => (Default::default(), None),
    };
    many.iter().chain(one)
}

fn either<'a>(value: &'a Value, names: [&str; 2]) -> Option<&'a Value> {
    names.into_iter().find_map(|name| value.get(name))
}

fn schema(tool: &Value) -> Option<Value> {
    let names = [
        "input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema",
    ];
    let schema = names
        .into_iter()
        .find_map(|name| tool.get(name)?.as_object().map(|_| &tool[name]))?;
    Some(json_schema(schema))
}

fn free_text() -> Value {
    json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})
}

fn write_tool(tool: &Tool, to: Format) -> Value {
    let name = name_for_all(&Arc::from(tool.name));
    let mut out = Map::new();
    if to == Format::Responses {
        out.insert("type".to_owned(), Value::from("function"));
    }
    out.insert("name".to_owned(), Value::from(&*name));
    out.extend(tool.description.map(|text| ("description".to_owned(), text.clone())));
    let schema = match &tool.schema {
        Some(schema) => schema.clone(),
        None => json!({"type": "object", "properties": {}}),
    };
    let field = match to {
        Format::Anthropic => "input_schema",
        Format::Gemini => "parametersJsonSchema",
        _ => "parameters",
    };
    out.insert(field.to_owned(), schema);
    match to {
        Format::Openai => json!({"type": "function", "function": out}),
        _ => Value::Object(out),
    }
}

/// Reads a choice; `None` if no other provider has it.
fn read_choice(choice: &Value) -> Option<Choice<'_>> {
    let kind = choice.as_str().or_else(|| choice.get("type")?.as_str());
    let function = either(choice, ["function", "custom"]).unwrap_or(choice);
    match (kind, function.get("name").and_then(Value::as_str)) {
        (Some("auto"), _) => Some(Choice::Auto),
        (Some("none"), _) => Some(Choice::None),
        (Some("required" | "any"), _) => Some(Choice::Any),
        (None | Some("function" | "custom" | "tool"), Some(name)) => Some(Choice::Tool(name)),
        _ => None,
    }
}

/// Reads Gemini's function calling mode.
fn read_mode(config: &Value) -> Option<Choice<'_>> {
    let names = either(config, ["allowedFunctionNames", "allowed_function_names"]);
    let names = names.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    match (config.get("mode")?.as_str()?, names) {
        ("AUTO" | "MODE_UNSPECIFIED", []) => Some(Choice::Auto),
        ("NONE", _) => Some(Choice::None),
        ("ANY", []) => Some(Choice::Any),
        ("ANY", [only]) => only.as_str().map(Choice::Tool),
        _ => None,
    }
}

fn write_choice(choice: &Choice, to: Format) -> (&'static str, Value) {
    let name = |name: &str| name_for_all(&Arc::from(name));
    if to == Format::Gemini {
        let config = match choice {
            Choice::Auto => json!({"mode": "AUTO"}),
            Choice::None => json!({"mode": "NONE"}),
            Choice::Any => json!({"mode": "ANY"}),
            Choice::Tool(tool) => json!({"mode": "ANY", "allowedFunctionNames": [&*name(tool)]}),
        };
        return ("toolConfig", json!({ "functionCallingConfig": config }));
    }
    let value = match (choice, to) {
        (Choice::Auto, Format::Anthropic) => json!({"type": "auto"}),
        (Choice::None, Format::Anthropic) => json!({"type": "none"}),
        (Choice::Any, Format::Anthropic) => json!({"type": "any"}),
        (Choice::Tool(tool), Format::Anthropic) => json!({"type": "tool", "name": &*name(tool)}),
        (Choice::Auto, _) => json!("auto"),
        (Choice::None, _) => json!("none"),
        (Choice::Any, _) => json!("required"),
        (Choice::Tool(tool), Format::Responses) => json!({"type": "function", "name": &*name(tool)}),
        (Choice::Tool(tool), _) => json!({"type": "function", "function": {"name": &*name(tool)}}),
    };
    (CHOICE, value)
}

/// Converts Gemini's schemas to JSON Schema: types in lowercase, `null` as a type, counts as numbers. Other schemas stay
/// as they are.
fn json_schema(schema: &Value) -> Value {
    let fields = match schema {
        Value::Array(schemas) => return schemas.iter().map(json_schema).collect(),
        Value::Object(fields) => fields,
        other => return other.clone(),
    };
    let is_nullable = fields.get("nullable") == Some(&Value::Bool(true));
    let is_gone = |name: &str| is_nullable && name == "nullable";
    let converted = fields.iter().filter(|(name, _)| !is_gone(name)).map(|(name, value)| {
        let value = match (name.as_str(), value) {
            ("type", Value::String(kind)) => {
                let kind = Value::from(kind.to_ascii_lowercase());
                if is_nullable { json!([kind, "null"]) } else { kind }
            }
            ("anyOf" | "enum", Value::Array(values)) if is_nullable => {
                let null = if name == "enum" {
                    Value::Null
                } else {
                    json!({ "type": "null" })
                };
                values.iter().map(json_schema).chain([null]).collect()
            }
            // 64-bit numbers are strings in Gemini's JSON, and wrong in a schema.
            (name, Value::String(number)) if name.starts_with("min") || name.starts_with("max") => {
                number.parse::<i64>().map_or_else(|_| value.clone(), Value::from)
            }
            ("properties" | "$defs" | "defs", Value::Object(named)) => named
                .iter()
                .map(|(name, one)| (name.clone(), json_schema(one)))
                .collect(),
            ("default" | "const" | "enum" | "example" | "examples", value) => value.clone(),
            (_, value) => json_schema(value),
        };
        (name.clone(), value)
    });
    Value::Object(converted.collect())
}
