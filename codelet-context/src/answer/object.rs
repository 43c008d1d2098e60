//! What an object says of its own success that a tool has answered with: flags, errors, an exit status, a word.

use super::table::{self, FAILURE};
use crate::exit_status;
use serde_json::{Map, Value};

/// Fields that say yes.
const GOOD: [&str; 4] = ["ok", "success", "succeeded", "successful"];
/// Fields that say no.
const BAD: [&str; 2] = ["isError", "is_error"];
/// Fields that hold the error that a call ended with.
const ERROR: [&str; 2] = ["error", "err"];
/// … and those that may as well tell of what was found in a call that went well.
const ERRORS: [&str; 2] = ["errors", "failed"];
/// Statuses that tell of a failure, beside the words that do so anywhere.
#[rustfmt::skip]
const BAD_STATUS: [&str; 9] = [
    "dismissed", "error", "fail", "forbidden", "interrupted", "invalid", "skipped", "timed_out", "timeout",
];
const GOOD_STATUS: [&str; 4] = ["ok", "succeeded", "success", "successful"];

/// What an object says of the success of the call that it answers; `None` if nothing. Of what it says in sentences nothing
/// is read here.
pub fn tells(object: &Map<String, Value>) -> Option<bool> {
    let flag = flag(object);
    if has_error(object) || flag == Some(false) {
        return Some(false);
    }
    let status = exit_status::of_fields(object)
        .or_else(|| exit_status::of_object(object))
        .map(|status| status == 0);
    let names_errors = || ERRORS.iter().filter_map(|name| object.get(*name)).any(says_something);
    status
        .or_else(|| word(object))
        .or(flag)
        .or_else(|| names_errors().then_some(false))
}

/// Whether an object names an error.
pub fn has_error(object: &Map<String, Value>) -> bool {
    ERROR.iter().filter_map(|name| object.get(*name)).any(says_something)
}

/// The fields that say yes or no.
pub fn flag(object: &Map<String, Value>) -> Option<bool> {
    let find = |names: &[&str]| names.iter().find_map(|name| object.get(*name)?.as_bool());
    let failed = find(&BAD).map(|failed| !failed);
    match (find(&GOOD), failed) {
        (Some(a), Some(b)) => Some(a && b),
        (one, other) => one.or(other),
    }
}

/// Whether a field that tells of errors tells of one.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => {
            let text = text.trim().trim_end_matches('.');
            !["", "none", "no error", "no errors", "null"]
                .iter()
                .any(|none| text.eq_ignore_ascii_case(none))
        }
        Value::Array(all) => !all.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// The field that says it in a word.
fn word(object: &Map<String, Value>) -> Option<bool> {
    let status = object.get("status")?.as_str()?;
    let is_any = |words: &[&str]| words.iter().any(|word| status.eq_ignore_ascii_case(word));
    if is_any(&BAD_STATUS) || table::find(status).1 & FAILURE != 0 {
        Some(false)
    } else {
        is_any(&GOOD_STATUS).then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_says_how_the_call_went_by_whichever_field_it_has() {
        let table = [
            (json!({}), None),
            (json!({"output": "error"}), None),
            (json!({"ok": true}), Some(true)),
            (json!({"success": false, "output": "x"}), Some(false)),
            (json!({"success": true, "isError": true}), Some(false)),
            (json!({"successful": true}), Some(true)),
            (json!({"error": "no such file"}), Some(false)),
            (json!({"ok": true, "error": "No error."}), Some(true)),
            (json!({"error": "null"}), None),
            (json!({"error": null, "err": {"code": 3}}), Some(false)),
            (json!({"error": 0}), None),
            // What a linter says of an edit that was made.
            (json!({"success": true, "errors": ["unused import"]}), Some(true)),
            (json!({"errors": ["no match"]}), Some(false)),
            (json!({"errors": [], "status": "completed"}), None),
            (json!({"failed": 2}), Some(false)),
            (json!({"stdout": "x", "exit_code": 1}), Some(false)),
            (json!({"returncode": 0}), Some(true)),
            (json!({"status": "Timeout"}), Some(false)),
            (json!({"status": "cancelled"}), Some(false)),
            (json!({"status": "skipped"}), Some(false)),
            (json!({"status": "success"}), Some(true)),
            (json!({"status": "running"}), None),
            (json!({"status": 200}), None),
        ];
        for (value, expected) in table {
            let Value::Object(object) = &value else { continue };
            assert_eq!(tells(object), expected, "{value}");
        }
    }
}
