//! Takes fields out of parsed JSON without copying their values.

use crate::source;
use serde_json::{Map, Value};
use std::sync::Arc;

pub(crate) type Fields = Map<String, Value>;

/// Takes a string; any other value stays, as in the functions below.
pub(crate) fn string(fields: &mut Fields, name: &str) -> Option<String> {
    match fields.get_mut(name)? {
        Value::String(text) => Some(std::mem::take(text)),
        _ => None,
    }
}

pub(crate) fn object(fields: &mut Fields, name: &str) -> Option<Fields> {
    match fields.get_mut(name)? {
        Value::Object(inner) => Some(std::mem::take(inner)),
        _ => None,
    }
}

pub(crate) fn list(fields: &mut Fields, name: &str) -> Vec<Value> {
    match fields.get_mut(name) {
        Some(Value::Array(items)) => std::mem::take(items),
        _ => Vec::new(),
    }
}

/// Takes a list of objects, dropping other items.
pub(crate) fn objects(fields: &mut Fields, name: &str) -> impl Iterator<Item = Fields> {
    list(fields, name).into_iter().filter_map(|item| match item {
        Value::Object(inner) => Some(inner),
        _ => None,
    })
}

/// Takes any value, null if there is none.
pub(crate) fn value(fields: &mut Fields, name: &str) -> Value {
    fields.get_mut(name).map(Value::take).unwrap_or_default()
}

/// Returns a string without taking it, empty if there is none.
pub(crate) fn str<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a boolean without taking it, false if there is none.
pub(crate) fn flag(fields: &Fields, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns the value at a path of fields, without taking it.
pub(crate) fn at<'a>(fields: &'a Fields, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(fields.get(*first)?, |here, name| here.get(name))
}

/// Returns the number at a path of fields.
pub(crate) fn number(fields: &Fields, path: &[&str]) -> Option<u64> {
    at(fields, path)?.as_u64()
}

/// Returns the name at a path of fields, such as that of a model.
pub(crate) fn name(fields: &Fields, path: &[&str]) -> Option<Arc<str>> {
    at(fields, path)?.as_str().map(Arc::from)
}

/// Returns whether a call succeeded, from the flag of this name that says whether it failed.
pub(crate) fn success(fields: &Fields, is_error: &str) -> Option<bool> {
    fields.get(is_error)?.as_bool().map(|is_error| !is_error)
}

/// Returns the parameters of a call, written as an object or as JSON text of one. Any other value stays readable under
/// `input`, since every provider requires an object.
pub(crate) fn parameters(value: Value) -> Fields {
    let other = match value {
        Value::Object(fields) => return fields,
        Value::Null => return Fields::new(),
        Value::String(text) if text.trim().is_empty() => return Fields::new(),
        Value::String(text) => match source::parse(&text) {
            Ok((Value::Object(fields), _)) => return fields,
            _ => Value::String(text),
        },
        other => other,
    };
    Fields::from_iter([(String::from("input"), other)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_always_an_object() {
        let text = |value| Value::Object(parameters(value)).to_string();
        assert_eq!(text(json!({"a": 1})), r#"{"a":1}"#);
        assert_eq!(text(json!("{\"a\":1}")), r#"{"a":1}"#);
        assert_eq!(text(json!("")), "{}");
        assert_eq!(text(json!(null)), "{}");
        assert_eq!(text(json!("*** Begin Patch")), r#"{"input":"*** Begin Patch"}"#);
        assert_eq!(text(json!([1])), r#"{"input":[1]}"#);
    }
}
