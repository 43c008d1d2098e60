//! The fields around the messages of a request, from one vendor's words to another's.

use crate::convert::{LONGEST_NAME, spell};
use crate::document::Document;
use crate::format::Format;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What several vendors have, in no one's words.
#[derive(Default)]
struct Common<'a> {
    model: Option<&'a Value>,
    limit: Option<&'a Value>,
    temperature: Option<&'a Value>,
    top_p: Option<&'a Value>,
    stream: Option<&'a Value>,
    tools: Vec<Tool<'a>>,
}

/// The definition of a tool.
struct Tool<'a> {
    name: &'a str,
    description: Option<&'a Value>,
    schema: Option<&'a Value>,
}

/// The envelope for another vendor: what has an equivalent there; the rest stays behind.
pub(crate) fn convert(document: &Document, to: Format) -> Map<String, Value> {
    let common = read(document);
    let mut out = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    let tools: Vec<Value> = common.tools.iter().map(|tool| write_tool(tool, to)).collect();
    let tools = (!tools.is_empty()).then_some(tools);
    if to == Format::Gemini {
        let settings = [
            ("temperature", common.temperature),
            ("topP", common.top_p),
            ("maxOutputTokens", common.limit),
        ];
        let settings: Map<String, Value> = settings
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.clone())))
            .collect();
        put("tools", tools.map(|tools| json!([{ "functionDeclarations": tools }])));
        put(
            "generationConfig",
            (!settings.is_empty()).then_some(Value::Object(settings)),
        );
        return out;
    }
    let limit = match to {
        Format::Anthropic => "max_tokens",
        Format::Responses => "max_output_tokens",
        _ => "max_completion_tokens",
    };
    put("model", common.model.cloned());
    put(limit, common.limit.cloned());
    put("temperature", common.temperature.cloned());
    put("top_p", common.top_p.cloned());
    put("stream", common.stream.cloned());
    put("tools", tools.map(Value::Array));
    // The places of the system prompt and the messages come last, where a writer puts them.
    out
}

fn read(document: &Document) -> Common<'_> {
    let fields = &document.envelope;
    let get = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let settings = get("generationConfig").or(get("generation_config"));
    let setting = |name: &str| settings.and_then(|settings| settings.get(name));
    match document.format {
        Format::Anthropic | Format::Openai | Format::Responses => Common {
            model: get("model"),
            limit: get("max_completion_tokens")
                .or(get("max_output_tokens"))
                .or(get("max_tokens")),
            temperature: get("temperature"),
            top_p: get("top_p"),
            stream: get("stream"),
            tools: tools(get("tools")),
        },
        Format::Gemini => Common {
            limit: setting("maxOutputTokens").or(setting("max_output_tokens")),
            temperature: setting("temperature"),
            top_p: setting("topP").or(setting("top_p")),
            tools: tools(get("tools")),
            ..Common::default()
        },
        _ => Common::default(),
    }
}

/// The items of a list; one object may stand for a list of one.
fn each(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    let (many, one) = match list {
        Some(Value::Array(items)) => (items.as_slice(), None),
        Some(Value::Object(_)) => (Default::default(), list),
        _ => (Default::default(), None),
    };
    many.iter().chain(one)
}

fn tools(list: Option<&Value>) -> Vec<Tool<'_>> {
    let mut tools = Vec::new();
    for entry in each(list) {
        let declared = entry.get("functionDeclarations").or(entry.get("function_declarations"));
        match declared {
            Some(declared) => tools.extend(each(Some(declared)).filter_map(tool)),
            None => tools.extend(tool(entry.get("function").unwrap_or(entry))),
        }
    }
    tools
}

/// A tool of the caller's own; those that run at the vendor have no schema and stay behind.
fn tool(entry: &Value) -> Option<Tool<'_>> {
    let schemas = [
        "input_schema",
        "parameters",
        "parametersJsonSchema",
        "parameters_json_schema",
    ];
    let schema = schemas
        .into_iter()
        .find_map(|name| entry.get(name))
        .filter(|schema| schema.is_object());
    let name = entry.get("name")?.as_str()?;
    let is_own = schema.is_some() || entry.get("type").is_none_or(|kind| kind == "function");
    is_own.then_some(Tool {
        name,
        description: entry.get("description").filter(|text| text.is_string()),
        schema,
    })
}

fn write_tool(tool: &Tool, to: Format) -> Value {
    let name: Arc<str> = spell(&Arc::from(tool.name), LONGEST_NAME);
    let mut out = Map::new();
    if to == Format::Responses {
        out.insert("type".to_owned(), Value::from("function"));
    }
    out.insert("name".to_owned(), Value::from(&*name));
    out.extend(tool.description.map(|text| ("description".to_owned(), text.clone())));
    let schema = tool
        .schema
        .cloned()
        .unwrap_or_else(|| json!({"type": "object", "properties": {}}));
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
