//! Converts the fields around the messages of a request between providers.

use crate::document::Document;
use crate::format::Format;
use crate::tools::Tools;
use serde_json::{Map, Value};

#[derive(Default)]
struct Common<'a> {
    model: Option<&'a Value>,
    limit: Option<&'a Value>,
    temperature: Option<&'a Value>,
    top_p: Option<&'a Value>,
    stream: Option<&'a Value>,
    tools: Tools<'a>,
}

/// Returns the envelope for another provider, with the fields that have an equivalent there, and the kinds of tools
/// that have none. Other fields are dropped.
pub(crate) fn convert(document: &Document, to: Format) -> (Map<String, Value>, Vec<String>) {
    let mut common = read(document);
    let mut out = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    let tools = common.tools.write(to);
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
        for (name, value) in tools {
            put(name, Some(value));
        }
        put(
            "generationConfig",
            (!settings.is_empty()).then_some(Value::Object(settings)),
        );
        return (out, common.tools.left_out);
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
    for (name, value) in tools {
        put(name, Some(value));
    }
    // The system prompt and the messages come last, where a writer puts them.
    (out, common.tools.left_out)
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
            tools: Tools::read(fields),
        },
        Format::Gemini => Common {
            limit: setting("maxOutputTokens").or(setting("max_output_tokens")),
            temperature: setting("temperature"),
            top_p: setting("topP").or(setting("top_p")),
            tools: Tools::read(fields),
            ..Common::default()
        },
        _ => Common::default(),
    }
}
