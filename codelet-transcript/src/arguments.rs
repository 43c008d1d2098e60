//! Tool call arguments as OpenAI and compatible APIs write them: a string that should hold a JSON object.

use crate::extra::{Fields, Kept, was_null, was_taken};
use crate::node::Node;
use crate::source;
use codelet_context::message::Parameters;
use serde_json::{Map, Value};

/// The parameter that holds arguments that are not a JSON object.
const INPUT: &str = "input";

/// Takes the arguments out of the field `name`. A string that does not serialize back to the same bytes stays in the
/// field, next to the parsed arguments.
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
    match source::parse(raw) {
        Ok((Value::Object(map), _)) => map,
        _ => Map::from_iter([(INPUT.to_owned(), Value::from(raw))]),
    }
}

/// Returns the arguments to write in the field `name`: the original ones, as long as they equal the parameters. `None`
/// if there were none, or they hold nothing; the writer then passes on the original value.
pub(crate) fn write<'a>(kept: Option<&'a Kept>, name: &str, parameters: &'a Parameters) -> Option<Node<'a>> {
    let map = parameters.as_map();
    let Some(kept) = kept else { return Some(compact(map)) };
    match kept.get(name) {
        Some(Value::String(raw)) if understand(raw) == *map => Some(Node::str(raw)),
        Some(Value::Object(raw)) if raw == map => Some(Node::Map(raw)),
        Some(Value::Null) if !was_null(Some(kept), name) => Some(compact(map)),
        _ if map.is_empty() => None,
        _ => Some(compact(map)),
    }
}

/// Returns arguments that are written as an object; `None` as for [`write`].
pub(crate) fn write_object<'a>(kept: Option<&Kept>, name: &str, parameters: &'a Parameters) -> Option<Node<'a>> {
    let map = parameters.as_map();
    (was_taken(kept, name) || !map.is_empty()).then_some(Node::Map(map))
}

fn compact<'a>(map: &Map<String, Value>) -> Node<'a> {
    serde_json::to_string(map).expect("every key is a string").into()
}

/// Takes the plain text input of a tool that does not take an object.
pub(crate) fn take_text(fields: &mut Fields, name: &str) -> Map<String, Value> {
    fields.string(name).map_or_else(Map::new, |text| {
        Map::from_iter([(INPUT.to_owned(), Value::String(text))])
    })
}

/// Returns the plain text input of such a tool; `None` as for [`write`].
pub(crate) fn write_text(parameters: &Parameters) -> Option<Node<'_>> {
    match (parameters.str(INPUT), parameters.as_map().len()) {
        (Some(text), 1) => Some(Node::str(text)),
        (_, 0) => None,
        _ => Some(compact(parameters.as_map())),
    }
}
