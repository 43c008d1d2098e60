//! The identity of a call for the loop guard: what it asks for, not how it is written.

use crate::model::ToolSpec;
use codelet_context::message::{Parameters, ToolCall};
use serde_json::Value;
use std::sync::Arc;

/// The schema keywords that declare parameters outside `properties`.
const ELSEWHERE: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties", "if"];

/// Identifies what a call asks for, by its tool and a hash of its parameters.
pub(crate) type CallKey = (Arc<str>, u64);

/// Returns the key of a call to this tool, or to a nonexistent one. It ignores parameters that the tool does not
/// read, such as a description, which models vary from one failure to the next without effect.
pub(crate) fn call_key(call: &ToolCall, spec: Option<&ToolSpec>) -> CallKey {
    // A nonexistent tool fails with any parameters.
    let is_read = |name: &str| spec.is_some_and(|spec| is_read(name, &spec.parameters));
    let mut parameters = call.parameters.as_map().clone();
    parameters.retain(|name, _| is_read(name));
    (call.tool.clone(), Parameters::new(parameters).canonical_hash())
}

/// Returns whether a tool with this schema may read a parameter. `path` is accepted for a file's usual name.
fn is_read(name: &str, schema: &Value) -> bool {
    let declared = schema["properties"]
        .as_object()
        .filter(|properties| !properties.is_empty() && is_all(schema));
    declared.is_none_or(|declared| name == "path" || declared.contains_key(name))
}

/// Returns whether `properties` lists everything that a tool with this schema accepts.
fn is_all(schema: &Value) -> bool {
    let takes_more = match &schema["additionalProperties"] {
        Value::Null => false,
        Value::Bool(more) => *more,
        _ => true,
    };
    !takes_more && ELSEWHERE.iter().all(|word| schema.get(word).is_none())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::{Map, json};

    fn of(schema: &Value, parameters: Value) -> CallKey {
        let spec = ToolSpec {
            name: "Tool".into(),
            description: "".into(),
            parameters: schema.clone(),
        };
        let call = ToolCall::new("id", "Tool", parameters.as_object().unwrap().clone());
        call_key(&call, Some(&spec))
    }

    fn declaring(names: &[&str]) -> Value {
        let properties: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        json!({"type": "object", "properties": properties})
    }

    #[test]
    fn what_changes_nothing_makes_no_other_call() {
        let bash = declaring(&["command", "timeout"]);
        let edit = declaring(&["file_path", "old_string", "new_string"]);
        for (schema, one, other) in [
            (
                &bash,
                json!({"command": "false"}),
                json!({"command": "false", "description": "try 2"}),
            ),
            (
                &edit,
                json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
                json!({"note": [3], "new_string": "y", "file_path": "a", "old_string": "x"}),
            ),
        ] {
            assert_eq!(of(schema, one.clone()), of(schema, other.clone()), "{one} {other}");
        }
    }

    #[test]
    fn what_a_tool_reads_makes_another_call() {
        let bash = declaring(&["command", "timeout"]);
        let edit = declaring(&["file_path", "old_string", "new_string"]);
        for (schema, one, other) in [
            (&bash, json!({"command": "false"}), json!({"command": "true"})),
            (
                &bash,
                json!({"command": "make"}),
                json!({"command": "make", "timeout": 1}),
            ),
            (&bash, json!({"command": "a\nb"}), json!({"command": "a b"})),
            (&edit, json!({"old_string": "x"}), json!({"old_string": " x"})),
            (&edit, json!({"file_path": "a"}), json!({"file_path": "../a"})),
            (&edit, json!({"file_path": "../a"}), json!({"file_path": "../../a"})),
            (&edit, json!({"file_path": "a"}), json!({"file_path": "/a"})),
            (&edit, json!({"path": "a"}), json!({"path": "b"})),
        ] {
            assert_ne!(of(schema, one.clone()), of(schema, other.clone()), "{one} {other}");
        }
    }

    #[test]
    fn where_a_schema_leaves_parameters_open_all_of_them_count() {
        let mut open = declaring(&["a"]);
        open["additionalProperties"] = json!({"type": "string"});
        let mut other = declaring(&["a"]);
        other["anyOf"] = json!([]);
        for schema in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}}),
            open,
            other,
        ] {
            let [one, two] = [1, 2].map(|b| of(&schema, json!({"a": 1, "b": b})));
            assert_ne!(one, two, "{schema}");
        }
    }

    #[test]
    fn a_tool_that_there_is_not_is_always_called_the_same_way() {
        let [one, two] = [1, 2].map(|n| {
            let parameters = json!({"a": n}).as_object().unwrap().clone();
            call_key(&ToolCall::new("id", "Fly", parameters), None)
        });
        assert_eq!(one, two);
    }
}
