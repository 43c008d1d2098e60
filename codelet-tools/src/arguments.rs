//! Parses the parameters of a call leniently: models write numbers as strings and flags as words.

use codelet_agent::model::ToolSpec;
use codelet_context::cut::plain_name;
use codelet_context::message::{Action, ActionKind, Parameters};
use serde_json::Value;

/// A required string.
///
/// # Errors
/// Says what is missing.
pub(crate) fn text<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, String> {
    match parameters.as_map().get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{name}` has to be a string")),
        None => Err(format!("`{name}` is missing")),
    }
}

/// An optional string; an empty one counts as missing.
///
/// # Errors
/// If it is not a string.
pub(crate) fn optional_text<'a>(parameters: &'a Parameters, name: &str) -> Result<Option<&'a str>, String> {
    match parameters.as_map().get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok((!text.is_empty()).then_some(text)),
        Some(_) => Err(format!("`{name}` has to be a string")),
    }
}

/// The file that a call is about.
///
/// # Errors
/// If there is none.
pub(crate) fn file(parameters: &Parameters) -> Result<&str, String> {
    // Many models know the shorter name from other tools.
    match (parameters.str("file_path"), parameters.str("path")) {
        (None, Some(path)) => Ok(path),
        _ => text(parameters, "file_path"),
    }
}

/// The folder or file to search; the directory by default.
///
/// # Errors
/// If it is not a string.
pub(crate) fn place(parameters: &Parameters) -> Result<&str, String> {
    Ok(optional_text(parameters, "path")?.unwrap_or("."))
}

/// The engine's [`Action`] for a search.
pub(crate) fn search(parameters: &Parameters) -> Action {
    let path = parameters.str("path").filter(|path| !path.is_empty());
    Action::on(ActionKind::Search, path)
}

/// An optional non-negative integer.
///
/// # Errors
/// If it is anything else.
pub(crate) fn number(parameters: &Parameters, name: &str) -> Result<Option<u64>, String> {
    let wrong = || format!("`{name}` has to be a whole number of at least 0");
    match parameters.as_map().get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
            (Some(number), _) => Ok(Some(number)),
            // `as` saturates, and numbers beyond the range make no practical difference.
            (None, Some(number)) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
            _ => Err(wrong()),
        },
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => text.trim().parse().map(Some).map_err(|_| wrong()),
        Some(_) => Err(wrong()),
    }
}

/// An optional flag; false by default.
///
/// # Errors
/// If it is not a flag.
pub(crate) fn flag(parameters: &Parameters, name: &str) -> Result<bool, String> {
    match parameters.as_map().get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(Value::String(text)) if text.is_empty() || text.eq_ignore_ascii_case("false") => Ok(false),
        Some(_) => Err(format!("`{name}` has to be true or false")),
    }
}

/// Parameters in which models explain a call to a person; they have no effect.
const TALK: [&str; 5] = ["description", "explanation", "justification", "reason", "thought"];

/// The note on parameters that the tool does not have, since the model relies on their effect; empty ones are not
/// mentioned. `is_made` is true if the call was made anyway.
pub(crate) fn unknown(parameters: &Parameters, spec: &ToolSpec, is_made: bool) -> Option<String> {
    /// Names that are reported.
    const NAMED: usize = 5;
    let known = spec.parameters["properties"].as_object()?;
    let given = parameters.as_map();
    // The shorter name of a file, see `file`.
    let is_file = |name: &str| name == "path" && known.contains_key("file_path") && !given.contains_key("file_path");
    let is_unknown = |(name, value): &(&String, &Value)| {
        let is_empty = matches!(value, Value::Null | Value::Bool(false)) || value.as_str().is_some_and(str::is_empty);
        !known.contains_key(*name) && !is_empty && !is_file(name) && !TALK.contains(&name.as_str())
    };
    let quoted = |name: &String| format!("`{}`", plain_name(name));
    let unknown: Vec<String> = given.iter().filter(is_unknown).map(|(name, _)| quoted(name)).collect();
    let (is, was) = match unknown.len() {
        0 => return None,
        1 => ("is not a parameter", " and was ignored"),
        _ => ("are not parameters", " and were ignored"),
    };
    let was = if is_made { was } else { "" };
    let more = if unknown.len() > NAMED { ", …" } else { "" };
    let known: Vec<String> = known.keys().map(quoted).collect();
    Some(format!(
        "{}{more} {is} of {}{was}; it has {}",
        unknown[..unknown.len().min(NAMED)].join(", "),
        spec.name,
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    fn parameters(value: Value) -> Parameters {
        Parameters::new(value.as_object().unwrap().clone())
    }

    #[test]
    fn numbers_and_flags_are_read_however_a_model_writes_them() {
        for (value, expected) in [
            (json!({"n": 3}), Ok(Some(3))),
            (json!({"n": "3"}), Ok(Some(3))),
            (json!({"n": 3.0}), Ok(Some(3))),
            (json!({"n": ""}), Ok(None)),
            (json!({"n": null}), Ok(None)),
            (json!({}), Ok(None)),
        ] {
            assert_eq!(number(&parameters(value), "n"), expected);
        }
        for value in [
            json!({"n": -1}),
            json!({"n": 1.5}),
            json!({"n": "x"}),
            json!({"n": [1]}),
        ] {
            assert!(number(&parameters(value), "n").is_err());
        }
        assert_eq!(flag(&parameters(json!({"n": "True"})), "n"), Ok(true));
        assert_eq!(flag(&parameters(json!({"n": ""})), "n"), Ok(false));
        assert!(flag(&parameters(json!({"n": 1})), "n").is_err());
    }

    #[test]
    fn what_a_tool_does_not_have_is_named_and_what_says_nothing_is_not() {
        let spec = ToolSpec {
            name: "Look".into(),
            description: "".into(),
            parameters: json!({"type": "object", "properties": {"file_path": {}, "limit": {}}}),
        };
        for (given, told) in [
            (json!({"file_path": "a", "limit": 1}), None),
            (
                json!({"path": "a", "description": "Looks", "cwd": "", "start": null, "all": false}),
                None,
            ),
            (
                json!({"file_path": "a", "path": "b"}),
                Some("`path` is not a parameter of Look and was ignored; it has `file_path`, `limit`"),
            ),
            (
                json!({"-A": 3, "a]\nb": true}),
                Some("`-A`, `a__b` are not parameters of Look and were ignored; it has `file_path`, `limit`"),
            ),
        ] {
            assert_eq!(unknown(&parameters(given), &spec, true).as_deref(), told);
        }
        let many: serde_json::Map<String, Value> = (0..9).map(|n| (format!("p{n}"), json!(1))).collect();
        let told = unknown(&Parameters::new(many), &spec, false).unwrap();
        assert!(told.contains("`p4`, … are not parameters of Look; it has"), "{told}");
    }

    #[test]
    fn a_file_is_known_by_either_name() {
        assert_eq!(file(&parameters(json!({"path": "a"}))), Ok("a"));
        assert_eq!(file(&parameters(json!({"file_path": "b", "path": "a"}))), Ok("b"));
        assert_eq!(file(&parameters(json!({}))), Err("`file_path` is missing".to_owned()));
    }
}
