//! Arguments as OpenAI and its kin write them: a string that should hold a JSON object.

use crate::extra::Fields;
use codelet_context::message::Parameters;
use serde_json::{Map, Value};

/// The parameter that holds what is no JSON object.
const INPUT: &str = "input";

/// Takes the arguments out of the field `name`. A string that is not the same to the byte when written again stays where
/// it is, beside what was understood of it.
pub(crate) fn take(fields: &mut Fields, name: &str) -> Map<String, Value> {
    match fields.0.get(name) {
        Some(Value::String(raw)) => {
            let map = understand(raw);
            if serde_json::to_string(&map).is_ok_and(|json| json == *raw) {
                fields.string(name);
            }
            map
        }
        // Some servers send the object itself.
        Some(Value::Object(map)) => map.clone(),
        _ => Map::new(),
    }
}

fn understand(raw: &str) -> Map<String, Value> {
    if raw.trim().is_empty() {
        return Map::new();
    }
    serde_json::from_str(raw).unwrap_or_else(|_| Map::from_iter([(INPUT.to_owned(), Value::from(raw))]))
}

/// The arguments to write: those that were kept, as long as they still say what the parameters say.
pub(crate) fn write<'a>(kept: Option<&'a Value>, parameters: &'a Parameters) -> crate::node::Node<'a> {
    use crate::node::Node;
    match kept {
        Some(Value::String(raw)) if understand(raw) == *parameters.as_map() => Node::str(raw),
        Some(Value::Object(map)) if map == parameters.as_map() => Node::Map(map),
        _ => serde_json::to_string(parameters.as_map())
            .expect("every key is a string")
            .into(),
    }
}

/// The parameters of a tool that takes free text.
pub(crate) fn of_text(text: String) -> Map<String, Value> {
    Map::from_iter([(INPUT.to_owned(), Value::String(text))])
}

/// The free text of such a tool.
pub(crate) fn as_text(parameters: &Parameters) -> crate::node::Node<'_> {
    use crate::node::Node;
    match (parameters.str(INPUT), parameters.as_map().len()) {
        (Some(text), 1) => Node::str(text),
        _ => serde_json::to_string(parameters.as_map())
            .expect("every key is a string")
            .into(),
    }
}
