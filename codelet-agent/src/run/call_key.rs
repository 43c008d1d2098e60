//! The identity of a call for the loop guard: what it asks for, not how it is written.

use crate::model::ToolSpec;
use codelet_context::message::{Parameters, ToolCall};
use codelet_text::path::Path;
use serde_json::{Map, Value};

/// The parameter with a call's timeout.
const TIMEOUT: &str = "timeout";
/// The usual parameter for a file's name, and the shorter name accepted in its absence.
const FILE: [&str; 2] = ["file_path", "path"];
/// The schema keywords that declare parameters outside `properties`.
const ELSEWHERE: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties", "if"];

/// Identifies what a call asks for: calls of one tool with equal keys ask for the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CallKey {
    /// Includes the timeout.
    pub(crate) timed: u64,
    /// Excludes the timeout, which makes no difference to a call that ended in time.
    pub(crate) untimed: u64,
}

/// Returns the key of a call to this tool, or to a nonexistent one. It ignores parameters that the tool does not
/// read, which models vary from one failure to the next without effect; likewise trailing blanks and path spelling.
pub(crate) fn call_key(call: &ToolCall, spec: Option<&ToolSpec>) -> CallKey {
    let Some(spec) = spec else {
        // A nonexistent tool fails with any parameters.
        let untimed = Parameters::new(Map::new()).canonical_hash();
        return CallKey {
            timed: untimed,
            untimed,
        };
    };
    let mut read = read(call.parameters.as_map(), &spec.parameters);
    let timed = Parameters::new(read.clone()).canonical_hash();
    let untimed = match read.remove(TIMEOUT) {
        Some(_) => Parameters::new(read).canonical_hash(),
        None => timed,
    };
    CallKey { timed, untimed }
}

/// Returns the parameters that a tool with this schema reads, normalised.
fn read(given: &Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let declared = schema["properties"]
        .as_object()
        .filter(|properties| !properties.is_empty() && is_all(schema));
    let name_of = |name: &str| match declared {
        None => Some(name.to_owned()),
        Some(declared) if declared.contains_key(name) => Some(name.to_owned()),
        Some(declared) => {
            let is_file = name == FILE[1] && declared.contains_key(FILE[0]) && !given.contains_key(FILE[0]);
            is_file.then(|| FILE[0].to_owned())
        }
    };
    given
        .iter()
        .filter(|(_, value)| !value.is_null())
        .filter_map(|(name, value)| Some((name_of(name)?, value)))
        .map(|(name, value)| {
            let value = plain(&name, value);
            (name, value)
        })
        .collect()
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

fn plain(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if name == FILE[1] || name.ends_with("_path") => Value::from(plain_path(text.trim_end())),
        Value::String(text) => Value::from(text.trim_end()),
        value => value.clone(),
    }
}

/// Normalises a path lexically, without following symbolic links.
fn plain_path(path: &str) -> String {
    let path = Path::of(path);
    let root = if path.is_absolute() { "/" } else { "" };
    root.to_owned() + &path.names().collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

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
            (&bash, json!({"command": "false"}), json!({"command": "false  \n"})),
            (
                &bash,
                json!({"command": "false"}),
                json!({"command": "false", "timeout": null}),
            ),
            (
                &edit,
                json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
                json!({"note": [3], "new_string": "y", "file_path": "./a", "old_string": "x"}),
            ),
            (&edit, json!({"file_path": "zz"}), json!({"file_path": "././zz/"})),
            (
                &edit,
                json!({"file_path": "src/zz"}),
                json!({"file_path": "src//deep/../zz "}),
            ),
            (&edit, json!({"file_path": "/zz"}), json!({"file_path": "/../zz"})),
            (&edit, json!({"file_path": "zz"}), json!({"path": "./zz"})),
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
    fn how_long_a_call_may_take_matters_only_with_time() {
        let bash = declaring(&["command", "timeout"]);
        let [short, long] = [60_000, 60_001].map(|ms| of(&bash, json!({"command": "make", "timeout": ms})));
        assert_eq!(short.untimed, long.untimed);
        assert_ne!(short.timed, long.timed);
        assert_eq!(of(&bash, json!({"command": "make"})).timed, short.untimed);
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

    proptest! {
        #[test]
        fn a_plain_path_is_plain(path in "[./a-c ]{0,16}") {
            let once = plain_path(&path);
            prop_assert_eq!(plain_path(&once), once);
        }
    }
}
