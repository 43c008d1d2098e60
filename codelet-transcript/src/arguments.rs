//! Arguments as OpenAI and its kin write them: a string that should hold a JSON object.

use crate::extra::{Fields, Kept, was_null, was_taken};
use crate::node::Node;
use crate::source;
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
    match source::parse(raw) {
        Ok((Value::Object(map), _)) => map,
        _ => Map::from_iter([(INPUT.to_owned(), Value::from(raw))]),
    }
}

/// The arguments to write in the field `name`: those that were kept, as long as they still say what the parameters say.
/// `None` where there were none, or nothing that says anything; the writer then passes on what was there.
pub(crate) fn write<'a>(kept: Option<&'a dyn Kept>, name: &str, parameters: &'a Parameters) -> Option<Node<'a>> {
    let map = parameters.as_map();
    let Some(kept) = kept else { return Some(compact(map)) };
    match kept.field(name) {
        Some(Value::String(raw)) if understand(raw) == *map => Some(Node::str(raw)),
        Some(Value::Object(raw)) if raw == map => Some(Node::Map(raw)),
        Some(Value::Null) if !was_null(Some(kept), name) => Some(compact(map)),
        _ if map.is_empty() => None,
        _ => Some(compact(map)),
    }
}

/// Arguments that are an object where they stand; `None` as for [`write`].
pub(crate) fn write_object<'a>(kept: Option<&dyn Kept>, name: &str, parameters: &'a Parameters) -> Option<Node<'a>> {
    let map = parameters.as_map();
    (was_taken(kept, name) || !map.is_empty()).then_some(Node::Map(map))
}

fn compact<'a>(map: &Map<String, Value>) -> Node<'a> {
    serde_json::to_string(map).expect("every key is a string").into()
}

/// Takes the free text of a tool that wants no object.
pub(crate) fn take_text(fields: &mut Fields, name: &str) -> Map<String, Value> {
    fields.string(name).map_or_else(Map::new, |text| {
        Map::from_iter([(INPUT.to_owned(), Value::String(text))])
    })
}

/// The free text of such a tool; `None` as for [`write`].
pub(crate) fn write_text(parameters: &Parameters) -> Option<Node<'_>> {
    match (parameters.str(INPUT), parameters.as_map().len()) {
        (Some(text), 1) => Some(Node::str(text)),
        (_, 0) => None,
        _ => Some(compact(parameters.as_map())),
    }
}
