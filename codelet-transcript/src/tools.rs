//! Converts tool definitions and the tool choice between providers.

use crate::format::Format;
use crate::ids::name_for_all;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
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
    schema: Option<Cow<'a, Value>>,
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
                schema: schema.or_else(|| (kind == Some("custom")).then(|| Cow::Owned(free_text()))),
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

fn schema(tool: &Value) -> Option<Cow<'_, Value>> {
    let names = [
        "input_schema",
        "parameters",
        "parametersJsonSchema",
        "parameters_json_schema",
    ];
    let schema = names
        .into_iter()
        .find_map(|name| tool.get(name)?.as_object().map(|_| &tool[name]))?;
    Some(match speaks_gemini(schema) {
        true => Cow::Owned(json_schema(schema)),
        false => Cow::Borrowed(schema),
    })
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
        Some(schema) => schema.as_ref().clone(),
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

/// Fields of a schema that hold schemas by name, one schema, and a list of them.
const BY_NAME: [&str; 3] = ["properties", "$defs", "defs"];
const ONE: [&str; 3] = ["items", "additionalProperties", "additional_properties"];
const MANY: [&str; 5] = ["anyOf", "any_of", "oneOf", "allOf", "prefixItems"];
/// Fields that only Gemini has.
const GEMINI_ONLY: [&str; 3] = ["nullable", "propertyOrdering", "property_ordering"];
/// Gemini's second spelling of fields, and their names in JSON Schema.
const SPELLINGS: [(&str, &str); 8] = [
    ("any_of", "anyOf"),
    ("additional_properties", "additionalProperties"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_properties", "minProperties"),
    ("max_properties", "maxProperties"),
];

/// Returns whether a schema, or one within it, is in a form that only Gemini accepts.
fn speaks_gemini(schema: &Value) -> bool {
    let Value::Object(fields) = schema else { return false };
    let is_loud = |kind: &str| !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    fields.iter().any(|(name, value)| match name.as_str() {
        "type" => value.as_str().is_some_and(is_loud),
        name if GEMINI_ONLY.contains(&name) => true,
        name if BY_NAME.contains(&name) => value.as_object().is_some_and(|all| all.values().any(speaks_gemini)),
        name if ONE.contains(&name) => speaks_gemini(value),
        name if MANY.contains(&name) => value.as_array().is_some_and(|all| all.iter().any(speaks_gemini)),
        _ => false,
    })
}

/// Converts such a schema to JSON Schema: types in lowercase, `null` as a type, counts as numbers.
fn json_schema(schema: &Value) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (name, value) in fields {
        let spelled = SPELLINGS.iter().find(|(other, _)| other == name);
        let spelled = spelled.map_or(name.as_str(), |(_, name)| *name);
        let value = match name.as_str() {
            name if GEMINI_ONLY.contains(&name) => continue,
            "type" => match value.as_str() {
                Some("TYPE_UNSPECIFIED") => continue,
                Some(kind) => Value::from(kind.to_ascii_lowercase()),
                None => value.clone(),
            },
            // Marks a string as an `enum`.
            "format" if value == "enum" => continue,
            name if BY_NAME.contains(&name) => match value {
                Value::Object(all) => all.iter().map(|(name, one)| (name.clone(), json_schema(one))).collect(),
                other => other.clone(),
            },
            name if ONE.contains(&name) => json_schema(value),
            name if MANY.contains(&name) => match value {
                Value::Array(all) => all.iter().map(json_schema).collect(),
                other => other.clone(),
            },
            // 64-bit numbers are strings in the API's JSON.
            _ if spelled.starts_with("min") || spelled.starts_with("max") => {
                match value.as_str().map(str::parse::<i64>) {
                    Some(Ok(number)) => Value::from(number),
                    _ => value.clone(),
                }
            }
            _ => value.clone(),
        };
        out.insert(spelled.to_owned(), value);
    }
    if fields.get("nullable") == Some(&Value::Bool(true)) {
        match (out.get_mut("type"), fields.get("anyOf").or(fields.get("any_of"))) {
            (Some(kind), _) => *kind = json!([kind.take(), "null"]),
            (None, Some(_)) => {
                if let Some(Value::Array(all)) = out.get_mut("anyOf") {
                    all.push(json!({ "type": "null" }));
                }
            }
            (None, None) => {}
        }
        if let Some(Value::Array(values)) = out.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    Value::Object(out)
}
