//! Request fields that a server rejects, and their alternatives: learned from its error, once per session.
//!
//! Gateways and self-hosted servers support a vendor's wire without all of its fields, and one vendor's models differ.
//! The known cases are in tables: a field is renamed, omitted or required.

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A deviation from the usual request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Way {
    /// A field has another name.
    Renamed(&'static str, &'static str),
    /// A field is omitted, from the top level or Gemini's configuration.
    Without(String),
    /// Cache marks on parts and tools are omitted.
    WithoutMarks,
    /// The strict flag for schemas is omitted from tools.
    WithoutStrict,
    /// The thinking field is required on replies with tool calls, possibly empty.
    WithReasoning,
}

impl Way {
    /// Describes the deviation for the user.
    pub(crate) fn how(&self) -> String {
        match self {
            Way::Renamed(from, to) => format!("{from} is sent as {to} from now on"),
            Way::Without(field) => format!("{field} is omitted from now on"),
            Way::WithoutMarks => "cache_control is omitted from now on".to_owned(),
            Way::WithoutStrict => "strict is omitted from now on".to_owned(),
            Way::WithReasoning => "reasoning_content is sent with every tool call from now on".to_owned(),
        }
    }
}

/// Names of the same limit.
const RENAMED: &[(&str, &str)] = &[
    ("max_tokens", "max_completion_tokens"),
    ("max_completion_tokens", "max_tokens"),
    ("max_output_tokens", "max_tokens"),
];
/// Fields that a request cannot do without; any other can be omitted.
const NEEDED: &[&str] = &[
    "model", "messages", "input", "contents", "system", "instructions", "systemInstruction", "tools", "stream",
    "max_tokens", "generationConfig",
];
/// Fields by which a model is asked to think, and how their absence from a model is worded where they are not named.
const THINKING: &[(&str, &[&str])] = &[
    ("thinking", &["thinking", "thinkingConfig"]),
    ("effort", &["output_config", "reasoning_effort", "reasoning"]),
];
/// Words for rejecting a field, rather than its value.
const REFUSES: &[&str] = &[
    "unsupported", "not supported", "not support", "unrecognized", "unknown", "unexpected", "not permitted",
    "not allowed", "extra inputs", "extra_forbidden", "additional propert", "invalid parameter", "unknown_parameter",
];

/// The deviations of one server.
#[derive(Default, Debug)]
pub(crate) struct Ways(Mutex<BTreeSet<Way>>);

impl Ways {
    /// Learns the deviation that an error for this request asks for; `None` if it asks for nothing known, or for one
    /// already in use.
    pub(crate) fn learn(&self, said: &str, sent: &Map<String, Value>) -> Option<Way> {
        let way = asked_for(&said.to_ascii_lowercase(), sent)?;
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Alternating between two names would be a loop.
        let is_back = matches!(way, Way::Renamed(from, to) if ways.contains(&Way::Renamed(to, from)));
        (!is_back && ways.insert(way.clone())).then_some(way)
    }

    pub(crate) fn has(&self, way: Way) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&way)
    }

    /// Rewrites the fields around a conversation accordingly.
    pub(crate) fn apply(&self, fields: &mut Map<String, Value>) {
        for way in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            match way {
                Way::Renamed(from, to) => {
                    if let Some(value) = fields.shift_remove(*from) {
                        fields.insert((*to).to_owned(), value);
                    }
                }
                Way::Without(field) => {
                    fields.shift_remove(field);
                    if let Some(Value::Object(configuration)) = fields.get_mut("generationConfig") {
                        configuration.shift_remove(field);
                    }
                }
                Way::WithoutStrict => {
                    let tools = fields.get_mut("tools").and_then(Value::as_array_mut);
                    for tool in tools.into_iter().flatten().filter_map(Value::as_object_mut) {
                        tool.shift_remove("strict");
                    }
                }
                Way::WithoutMarks | Way::WithReasoning => {}
            }
        }
    }
}

/// Returns the deviation that an error message asks for.
fn asked_for(lower: &str, sent: &Map<String, Value>) -> Option<Way> {
    if names(lower, "reasoning_content")
        && ["must be passed", "missing", "required", "must provide"]
            .iter()
            .any(|word| lower.contains(word))
    {
        return Some(Way::WithReasoning);
    }
    let refuses = REFUSES.iter().any(|word| lower.contains(word));
    for (from, to) in RENAMED {
        if refuses && sent.contains_key(*from) && names(lower, from) && names(lower, to) {
            return Some(Way::Renamed(from, to));
        }
    }
    if !refuses {
        return None;
    }
    // A deployment's name does not reveal whether its model thinks.
    if lower.contains("encrypted content is not supported") && sent.contains_key("include") {
        return Some(Way::Without("include".to_owned()));
    }
    let configuration = sent.get("generationConfig").and_then(Value::as_object);
    let is_sent =
        |field: &str| sent.contains_key(field) || configuration.is_some_and(|fields| fields.contains_key(field));
    let optional = sent.keys().chain(configuration.into_iter().flat_map(Map::keys));
    let mut optional = optional.filter(|field| !NEEDED.contains(&field.as_str()));
    if let Some(field) = optional.find(|field| names_field(lower, &field.to_ascii_lowercase())) {
        return Some(Way::Without(field.clone()));
    }
    let lacks = |word: &str| lower.contains(word) && lower.contains("not support") && lower.contains("model");
    let mut asked = THINKING
        .iter()
        .filter(|(word, _)| lacks(word))
        .flat_map(|(_, fields)| *fields);
    if let Some(field) = asked.find(|field| is_sent(field)) {
        return Some(Way::Without((*field).to_owned()));
    }
    if names(lower, "cache_control") {
        return Some(Way::WithoutMarks);
    }
    (lower.contains("tools") && names_field(lower, "strict")).then_some(Way::WithoutStrict)
}

/// Returns whether a text contains this name, not as a part of another one.
fn names(lower: &str, name: &str) -> bool {
    places(lower, name).next().is_some()
}

/// Returns whether a text contains this name as a field: in quotes, in a path, or after a word for fields.
fn names_field(lower: &str, name: &str) -> bool {
    places(lower, name).any(|at| {
        let before = &lower[..at];
        let behind = &lower[at + name.len()..];
        before.ends_with(['\'', '"', '`', '.', '[', '('])
            || (before.trim_end().is_empty() || before.ends_with('\n')) && behind.starts_with(':')
            || [
                "parameter", "parameter:", "parameters:", "field", "field:", "argument", "argument:", "property",
                "param:", "supplied:",
            ]
            .iter()
            .any(|word| before.trim_end().ends_with(word))
    })
}

fn places<'a>(lower: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    lower
        .match_indices(name)
        .map(|(at, _)| at)
        .filter(move |at| !lower[..*at].ends_with(is_inside) && !lower[at + name.len()..].starts_with(is_inside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent() -> Map<String, Value> {
        let sent = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": null,
            "max_tokens": 9, "reasoning_effort": "low", "thinking": {}, "prompt_cache_key": "s", "store": false,
            "tools": [{"type": "function", "name": "Read", "strict": false}]});
        sent.as_object().unwrap().clone()
    }

    #[test]
    fn a_field_that_is_refused_is_named_otherwise_or_left_out() {
        use Way::*;
        for (said, way) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Renamed("max_tokens", "max_completion_tokens"),
            ),
            (
                "Unrecognized request argument supplied: reasoning_effort",
                Without("reasoning_effort".to_owned()),
            ),
            (
                "thinking: Extra inputs are not permitted",
                Without("thinking".to_owned()),
            ),
            (
                "Unknown parameter: 'stream_options'.",
                Without("stream_options".to_owned()),
            ),
            (
                "property 'prompt_cache_key' is unsupported",
                Without("prompt_cache_key".to_owned()),
            ),
            (
                "adaptive thinking is not supported on this model",
                Without("thinking".to_owned()),
            ),
            (
                "This model does not support the effort parameter.",
                Without("reasoning_effort".to_owned()),
            ),
            ("body.store: extra_forbidden", Without("store".to_owned())),
            (
                "messages.0.content.0.text.cache_control: Extra inputs are not permitted",
                WithoutMarks,
            ),
            ("Unknown parameter: 'tools[0].strict'.", WithoutStrict),
            (
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
                WithReasoning,
            ),
            (
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
                WithReasoning,
            ),
        ] {
            assert_eq!(asked_for(&said.to_ascii_lowercase(), &sent()), Some(way), "{said}");
        }
    }

    #[test]
    fn a_value_that_is_refused_or_a_word_that_looks_like_a_field_asks_for_nothing() {
        for said in [
            "max_tokens is too large: 99999. This model supports at most 4096 completion tokens",
            "Invalid value: 'low'. Supported values of reasoning_effort are 'high'",
            "your plan does not include this; unknown store",
            "tools.0.input_schema: unknown keyword",
            "Unknown parameter: 'model'",
            "this model is not supported",
        ] {
            assert_eq!(asked_for(&said.to_ascii_lowercase(), &sent()), None, "{said}");
        }
    }

    #[test]
    fn what_is_learned_is_learned_once_and_written_so() {
        let ways = Ways::default();
        let said = "Use 'max_completion_tokens' instead of max_tokens, which is not supported";
        assert!(ways.learn(said, &sent()).is_some());
        assert_eq!(ways.learn(said, &sent()), None);
        let mut fields = sent();
        ways.apply(&mut fields);
        assert_eq!(
            (fields.get("max_tokens"), &fields["max_completion_tokens"]),
            (None, &json!(9))
        );
        let back = "max_completion_tokens is not supported, use max_tokens";
        assert_eq!(ways.learn(back, &fields), None, "no server has both");
        assert!(ways.learn("Unknown parameter: 'tools[0].strict'", &fields).is_some());
        ways.apply(&mut fields);
        assert_eq!(fields["tools"][0].get("strict"), None);
    }
}
