//! What the calls of an unknown tool are made of: the parameters, freed of what they are wrapped in, and the word that
//! says which of its tools is meant where one is many.

use codelet_context::message::{ToolCall, ToolResult};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Objects in objects are unwrapped this deep.
const DEEPEST: usize = 3;
/// Bytes of a text that is read as an object.
const LONGEST: usize = 64 * 1024;
/// Names of the parameter that says which of its tools is meant, the likeliest first.
const VERBS: [&str; 13] = [
    "verb",
    "action",
    "op",
    "operation",
    "subcommand",
    "sub_command",
    "tool",
    "tool_name",
    "function",
    "method",
    "type",
    "kind",
    "mode",
];
/// Parameters of a call that are looked at for any other, and tools that one may be.
const MOST_NAMES: usize = 16;
const MOST_TOOLS: usize = 60;
/// Calls before a parameter of any other name counts as one.
const MANY: usize = 4;

/// One call of an unknown tool.
pub(super) struct Call<'a> {
    /// Where it stands: message, and part of it.
    pub at: (usize, usize),
    pub call: &'a ToolCall,
    pub answer: Option<&'a ToolResult>,
    /// The parameters, without what they are wrapped in and without the verb.
    pub fields: Vec<(String, Cow<'a, Value>)>,
    /// They were wrapped, or had a verb.
    pub is_inner: bool,
}

impl<'a> Call<'a> {
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        let mut fields = self.fields.iter();
        fields.find_map(|(own, value)| (own == name).then_some(value.as_ref()))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.field(name)?.as_str()
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.fields.iter();
        fields.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// The parameters as an object of their own.
    pub(super) fn map(&self) -> Map<String, Value> {
        let fields = self.fields.iter();
        fields
            .map(|(name, value)| (name.clone(), value.as_ref().clone()))
            .collect()
    }

    /// The first text of the answer.
    pub(super) fn answered(&self) -> Option<&'a str> {
        self.answer?.texts().next().map(|text| text.body.as_str())
    }

    /// Frees the parameters of what they are wrapped in, and of the verb.
    pub(super) fn unwrap(&mut self, verb: Option<&str>) {
        let parameters = self.call.parameters.as_map();
        let outer = parameters.iter().filter(|(name, _)| Some(name.as_str()) != verb);
        self.fields = outer
            .map(|(name, value)| (name.clone(), Cow::Borrowed(value)))
            .collect();
        self.is_inner = verb.is_some_and(|verb| parameters.contains_key(verb));
        for _ in 0..DEEPEST {
            let Some(at) = self.wrapper() else { break };
            let (_, wrapper) = self.fields.remove(at);
            let inner: Vec<(String, Cow<Value>)> = match wrapper {
                Cow::Borrowed(Value::Object(map)) => map
                    .iter()
                    .map(|(name, value)| (name.clone(), Cow::Borrowed(value)))
                    .collect(),
                Cow::Borrowed(Value::String(text)) => owned(serde_json::from_str(text).unwrap_or_default()),
                other => owned(other.into_owned()),
            };
            self.fields.extend(inner);
            self.is_inner = true;
        }
    }

    /// The one parameter that is an object, or that is a text of one where it is the only text.
    fn wrapper(&self) -> Option<usize> {
        let is_object = |(_, value): &(String, Cow<Value>)| value.is_object();
        let mut objects = self.fields.iter().enumerate().filter(|(_, field)| is_object(field));
        match (objects.next(), objects.next()) {
            (Some((at, _)), None) => return Some(at),
            (Some(_), Some(_)) => return None,
            (None, _) => {}
        }
        let mut texts = self
            .fields
            .iter()
            .enumerate()
            .filter(|(_, (_, value))| value.is_string());
        let (at, (_, text)) = texts.next().filter(|_| texts.next().is_none())?;
        let text = text.as_str()?.trim();
        let is_one = text.starts_with('{') && text.ends_with('}') && text.len() <= LONGEST;
        (is_one && serde_json::from_str::<Map<String, Value>>(text).is_ok()).then_some(at)
    }
}

fn owned<'a>(value: Value) -> Vec<(String, Cow<'a, Value>)> {
    match value {
        Value::Object(map) => map.into_iter().map(|(name, value)| (name, Cow::Owned(value))).collect(),
        _ => Vec::new(),
    }
}

/// The parameter that says, in nearly all of these calls of one tool, which of its tools is meant.
pub(super) fn verb(calls: &[Call]) -> Option<String> {
    let nearly_all = |name: &str| {
        let with = calls.iter().filter(|call| word(call, name).is_some()).count();
        with * 10 >= calls.len() * 9
    };
    let first = calls.first()?.call.parameters.as_map();
    let is_known = |name: &&&String| VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(name)) && nearly_all(name);
    let place = |name: &&String| VERBS.iter().position(|verb| verb.eq_ignore_ascii_case(name));
    if let Some(name) = first.keys().filter(|name| is_known(&name)).min_by_key(place) {
        return Some(name.clone());
    }
    // Any other decides which parameters stand beside it.
    let parts = |name: &&String| calls.len() >= MANY && nearly_all(name) && parts(calls, name);
    first.keys().take(MOST_NAMES).find(parts).cloned()
}

/// Whether calls that differ in this word have parameters of other names.
fn parts(calls: &[Call], name: &str) -> bool {
    let mut beside: HashMap<&str, HashSet<&str>> = HashMap::new();
    for call in calls {
        let Some(word) = word(call, name) else { continue };
        let names = beside.entry(word).or_default();
        let parameters = call.call.parameters.as_map();
        let inner = parameters.values().filter_map(Value::as_object).flat_map(Map::keys);
        names.extend(
            parameters
                .keys()
                .chain(inner)
                .map(String::as_str)
                .filter(|other| *other != name),
        );
    }
    let sets: Vec<&HashSet<&str>> = beside.values().collect();
    let differ = |one: &&HashSet<&str>| sets.iter().any(|other| !one.is_subset(other) && !other.is_subset(one));
    (2..=MOST_TOOLS).contains(&sets.len()) && sets.len() * 2 <= calls.len() && sets.iter().all(differ)
}

/// The word that a call says it by.
pub(super) fn word<'a>(call: &Call<'a>, name: &str) -> Option<&'a str> {
    let word = call.call.parameters.as_map().get(name)?.as_str()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_request = matches!(word, "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS");
    let is_word = word.len() <= 40 && word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(is_plain);
    (is_word && !is_request).then_some(word)
}
