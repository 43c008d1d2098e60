//! A server's tool definitions, reduced to what a model can be sent.

use crate::name;
use crate::schema;
use crate::text::{one_line, plain};
use codelet_agent::model::ToolSpec;
use codelet_agent::permission::fits;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Tools of one server at most.
pub(crate) const MOST_TOOLS: usize = 64;
/// Longest description, in bytes.
const DESCRIPTION: usize = 4096;
/// Largest schema, in bytes of JSON.
const SCHEMA: usize = 32 * 1024;
/// Total size of a server's definitions, in bytes: they are part of every request.
const ALL: usize = 256 * 1024;
/// Size of the definitions, in bytes, from which the user is notified.
const HEAVY: usize = 40 * 1024;
/// Longest name of a parameter, in bytes (Anthropic's limit).
const LONGEST_NAME: usize = 64;
/// The tool that reads resources.
const READER: &str = "read_resource";
/// Names in a notice.
const NAMED: usize = 5;
/// Keywords that some providers refuse at the root of a schema. The server validates the parameters in any case.
const REFUSED: [&str; 2] = ["not", "enum"];

/// A tool as its server defines it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Defined {
    /// The server's own name for it.
    pub tool: String,
    /// The definition for the model.
    pub spec: ToolSpec,
    /// Renamed parameters: the model's name and the server's own name.
    pub renamed: Vec<(String, String)>,
    /// True if it is not a tool of the server, but reads its resources.
    pub is_reader: bool,
}

impl Defined {
    /// Translates a call's parameters to the server's own names.
    pub(crate) fn own_names(&self, parameters: &Map<String, Value>) -> Map<String, Value> {
        let own = |name: &String| self.renamed.iter().find(|(shown, _)| shown == name);
        parameters
            .iter()
            .map(|(name, value)| {
                let name = own(name).map_or(name, |(_, own)| own);
                (name.clone(), value.clone())
            })
            .collect()
    }
}

/// Entries that are left out of a list, by reason.
#[derive(Default)]
struct LeftOut {
    unreadable: usize,
    twice: Vec<String>,
    large: Vec<String>,
    over: usize,
}

/// The tools in a server's list, sorted by name, without invalid entries; with notices for the user.
pub(crate) fn all(server: &str, list: Vec<Value>, wanted: Option<&[String]>) -> (Vec<Defined>, Vec<String>) {
    let mut left = LeftOut::default();
    let mut found: Vec<(String, String, Map<String, Value>)> = Vec::new();
    let mut own = HashSet::new();
    for entry in list {
        let Some((tool, description, schema)) = read(entry) else {
            left.unreadable += 1;
            continue;
        };
        if wanted.is_some_and(|patterns| !patterns.iter().any(|pattern| fits(pattern, &tool))) {
            continue;
        }
        if own.insert(tool.clone()) {
            found.push((tool, description, schema));
        } else if left.twice.len() <= NAMED {
            left.twice.push(one_line(&tool, 40));
        }
    }
    // Servers often list their tools in the order of a hash table; the head of every request must be stable.
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let mut taken = HashSet::new();
    let mut defined: Vec<Defined> = Vec::new();
    let mut weight = 0;
    for (tool, description, schema) in found {
        if schema::own_size(&schema) > SCHEMA {
            left.large.push(one_line(&tool, 40));
            continue;
        }
        if defined.len() >= MOST_TOOLS {
            left.over += 1;
            continue;
        }
        let Some(schema) = schema_for_all(schema) else {
            left.unreadable += 1;
            continue;
        };
        let size = schema.value.to_string().len();
        if size > SCHEMA {
            left.large.push(one_line(&tool, 40));
            continue;
        }
        if weight + size + description.len() > ALL {
            left.over += 1;
            continue;
        }
        weight += size + description.len();
        let name = name::of(server, &tool, &taken);
        taken.insert(name.clone());
        let spec = ToolSpec {
            name: Arc::from(name),
            description: Arc::from(description),
            parameters: schema.value,
        };
        let renamed = schema.renamed;
        defined.push(Defined {
            tool,
            spec,
            renamed,
            is_reader: false,
        });
    }
    let notices = left.notices(defined.len(), weight);
    (defined, notices)
}

/// A tool that reads the resources of a server, unless the server has a tool of this name.
pub(crate) fn reader(server: &str, defined: &[Defined], wanted: Option<&[String]>) -> Option<Defined> {
    let is_wanted = wanted.is_none_or(|patterns| patterns.iter().any(|pattern| fits(pattern, READER)));
    let name = name::of(server, READER, &HashSet::new());
    let is_taken = defined.iter().any(|tool| *tool.spec.name == *name);
    if !is_wanted || is_taken || defined.len() >= MOST_TOOLS {
        return None;
    }
    let uri = json!({"type": "string", "description": "The resource; without it, all resources are listed."});
    Some(Defined {
        tool: READER.to_owned(),
        spec: ToolSpec {
            name: Arc::from(name),
            description: Arc::from("Reads a resource of this server by its URI, or lists its resources."),
            parameters: json!({"type": "object", "properties": {"uri": uri}}),
        },
        renamed: Vec::new(),
        is_reader: true,
    })
}

impl LeftOut {
    fn notices(&self, kept: usize, weight: usize) -> Vec<String> {
        let mut notices = Vec::new();
        if self.unreadable > 0 {
            notices.push(format!(
                "{} of its tools cannot be read and are left out",
                self.unreadable
            ));
        }
        if !self.twice.is_empty() {
            notices.push(format!(
                "it lists {} more than once; the first is used",
                names(&self.twice)
            ));
        }
        if !self.large.is_empty() {
            let most = codelet_text::short::grouped(SCHEMA);
            notices.push(format!(
                "{} left out: the descriptions of their parameters are longer than {most} bytes",
                names(&self.large)
            ));
        }
        if self.over > 0 {
            notices.push(format!(
                "{} of its tools are left out, only {kept} fit; choose the ones you want under `tools`",
                self.over
            ));
        }
        if weight > HEAVY {
            let tokens = codelet_text::short::grouped(weight / 4);
            notices.push(format!(
                "its {kept} tools add about {tokens} tokens to every request; choose the ones you want under `tools`"
            ));
        }
        notices
    }
}

/// The first few names, on one line.
fn names(names: &[String]) -> String {
    let mut shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        shown.push_str(" and more");
    }
    shown
}

/// The name, description and schema of an entry.
fn read(entry: Value) -> Option<(String, String, Map<String, Value>)> {
    let Value::Object(mut entry) = entry else { return None };
    let Some(Value::String(tool)) = entry.remove("name") else {
        return None;
    };
    if tool.is_empty() || tool.len() > 512 {
        return None;
    }
    let described = match entry.remove("description") {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let Some(Value::Object(schema)) = entry.remove("inputSchema") else {
        return None;
    };
    Some((tool, description(&described), schema))
}

fn description(text: &str) -> String {
    let text = plain(text);
    let text = text.trim();
    if text.is_empty() {
        // Some providers refuse an empty one.
        return "(its server does not describe it)".to_owned();
    }
    if text.len() <= DESCRIPTION {
        return text.to_owned();
    }
    format!("{} …", &text[..text.floor_char_boundary(DESCRIPTION)])
}

/// A schema that every provider accepts, and the parameters renamed for that, with their original names.
struct Schema {
    value: Value,
    renamed: Vec<(String, String)>,
}

/// Converts a schema to one that every provider accepts: an object with properties. `None` if it describes something
/// else.
fn schema_for_all(schema: Map<String, Value>) -> Option<Schema> {
    let mut schema = schema::flat(schema, SCHEMA);
    if schema
        .get("type")
        .is_some_and(|kind| !schema::is_or_has(kind, "object"))
    {
        return None;
    }
    schema.insert("type".to_owned(), json!("object"));
    for key in REFUSED {
        schema.shift_remove(key);
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    let renamed = rename(&mut schema);
    let mut value = Value::Object(schema);
    clean(&mut value);
    Some(Schema { value, renamed })
}

/// Returns whether providers accept this name of a parameter. Anthropic refuses the whole request for any other.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Renames parameters such as `$filter` to names that every provider accepts.
fn rename(schema: &mut Map<String, Value>) -> Vec<(String, String)> {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return Vec::new();
    };
    if properties.keys().all(|name| is_plain(name)) {
        return Vec::new();
    }
    let mut taken: HashSet<String> = properties.keys().filter(|name| is_plain(name)).cloned().collect();
    let mut renamed = Vec::new();
    let named = std::mem::take(properties).into_iter().map(|(name, value)| {
        if is_plain(&name) {
            return (name, value);
        }
        let shown = plain_name(&name, &taken);
        taken.insert(shown.clone());
        renamed.push((shown.clone(), name));
        (shown, value)
    });
    *properties = named.collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for entry in required {
            if let Some((shown, _)) = renamed.iter().find(|(_, own)| entry.as_str() == Some(own)) {
                *entry = Value::from(shown.as_str());
            }
        }
    }
    renamed
}

/// An unused name as similar to this one as possible.
fn plain_name(name: &str, taken: &HashSet<String>) -> String {
    let spelled: String = name
        .chars()
        .map(|c| if is_plain(c.encode_utf8(&mut [0; 4])) { c } else { '_' })
        .collect();
    let trimmed = spelled.trim_matches('_');
    let stem = if trimmed.is_empty() { "parameter" } else { trimmed };
    // Leaves room for a number; all of it is ASCII.
    let stem = &stem[..stem.len().min(LONGEST_NAME - 6)];
    let numbered = (2..).map(|number| format!("{stem}_{number}"));
    let mut names = std::iter::once(stem.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Removes invisible characters from all texts.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(cleaned) = plain(text) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(map) => map.values_mut().for_each(clean),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn tool(name: &str) -> Value {
        json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object", "properties": {}}})
    }

    fn of(list: Vec<Value>) -> (Vec<Defined>, Vec<String>) {
        all("s", list, None)
    }

    #[test]
    fn the_order_of_a_list_does_not_matter() {
        let (one, _) = of(vec![tool("b"), tool("a"), tool("c")]);
        let (other, _) = of(vec![tool("c"), tool("b"), tool("a")]);
        assert_eq!(one, other);
        assert_eq!(&*one[0].spec.name, "s__a");
    }

    #[test]
    fn what_is_no_tool_is_left_out_and_the_others_stay() {
        let list = vec![
            json!({"name": "no schema"}),
            json!({"name": "", "inputSchema": {}}),
            json!({"name": "array", "inputSchema": {"type": "array"}}),
            json!(7),
            tool("good"),
        ];
        let (defined, notices) = of(list);
        assert_eq!(defined.len(), 1);
        assert_eq!(notices, ["4 of its tools cannot be read and are left out"]);
    }

    #[test]
    fn ten_thousand_tools_and_a_huge_schema_are_cut_with_a_notice() {
        let mut list: Vec<Value> = (0..10_000).map(|n| tool(&format!("tool_{n}"))).collect();
        list.push(json!({"name": "huge", "inputSchema": {"type": "object", "description": "x".repeat(10 << 20)}}));
        let (defined, notices) = of(list);
        assert_eq!(defined.len(), MOST_TOOLS);
        assert!(
            notices.iter().any(|notice| notice.starts_with("huge left out")),
            "{notices:?}"
        );
        assert!(
            notices
                .iter()
                .any(|notice| notice.contains("9936 of its tools are left out, only 64 fit")),
            "{notices:?}"
        );
    }

    #[test]
    fn only_the_tools_that_are_wanted_are_taken() {
        let wanted = ["read_*".to_owned(), "stat".to_owned()];
        let list = ["read_a", "write_a", "stat", "read_b"].map(tool).to_vec();
        let (defined, notices) = all("s", list, Some(&wanted));
        let names: Vec<&str> = defined.iter().map(|tool| &*tool.tool).collect();
        assert_eq!(names, ["read_a", "read_b", "stat"]);
        assert!(notices.is_empty());
    }

    #[test]
    fn a_schema_is_made_fit_for_every_vendor() {
        let list = vec![json!({"name": "a", "inputSchema": {"oneOf": [{}], "$schema": "x", "required": ["p"]}})];
        let (defined, _) = of(list);
        let expected = json!({"required": ["p"], "type": "object", "properties": {}});
        assert_eq!(defined[0].spec.parameters, expected);
    }

    #[test]
    fn a_parameter_whose_name_a_vendor_refuses_has_another_for_the_model_and_its_own_for_the_server() {
        let long = "x".repeat(70);
        let properties = json!({"$filter": {"type": "string"}, "filter": {}, "StartTime<": {}, "größe": {}, "$$": {}, "": {}, long.as_str(): {}});
        let schema =
            json!({"type": "object", "properties": properties, "required": ["$filter", "filter", "StartTime<"]});
        let (defined, _) = of(vec![json!({"name": "a", "inputSchema": schema})]);
        let shown: Vec<&String> = defined[0].spec.parameters["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        let (cut, names) = (
            "x".repeat(58),
            ["filter_2", "filter", "StartTime", "gr__e", "parameter", "parameter_2"],
        );
        assert_eq!(shown, names.into_iter().chain([cut.as_str()]).collect::<Vec<_>>());
        assert_eq!(
            defined[0].spec.parameters["required"],
            json!(["filter_2", "filter", "StartTime"])
        );
        let called = json!({"filter_2": "a eq 1", "filter": 2, "StartTime": 3, "gr__e": 4, "other": 5});
        let sent = defined[0].own_names(called.as_object().unwrap());
        let wanted = json!({"$filter": "a eq 1", "filter": 2, "StartTime<": 3, "größe": 4, "other": 5});
        assert_eq!(Value::Object(sent), wanted);
    }

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from)
        ];
        let keys = prop::sample::select(vec![
            "name", "inputSchema", "type", "description", "properties", "x", "$x", "_x_", "",
        ]);
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((keys.clone(), inner), 0..6)
                    .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_list_gives_definitions_that_can_be_sent(list in prop::collection::vec(anything(), 0..6)) {
            let (defined, _) = of(list);
            let mut names = HashSet::new();
            for tool in defined {
                prop_assert!(names.insert(tool.spec.name.clone()));
                prop_assert!(!tool.spec.description.trim().is_empty());
                prop_assert_eq!(tool.spec.parameters["type"].as_str(), Some("object"));
                let properties = tool.spec.parameters["properties"].as_object().unwrap();
                prop_assert!(properties.keys().all(|name| is_plain(name)));
            }
        }
    }
}
