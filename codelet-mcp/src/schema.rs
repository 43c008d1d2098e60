//! Converts a tool's schema to a form that every provider accepts: its parameters are at the root, it contains no
//! references, and each array has items.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The deepest nesting of schemas that is kept.
const DEPTH: usize = 48;

/// Resolves references within the schema, moves the parameters of branches to the root, and gives each array items.
/// References may expand the schema to at most `most` bytes of JSON; beyond that, and for recursive schemas, only the
/// type is kept. The server validates the parameters in any case.
pub(crate) fn flat(schema: Map<String, Value>, most: usize) -> Map<String, Value> {
    let room = most.saturating_sub(own_size(&schema));
    let root = Value::Object(schema);
    let mut resolver = Resolver {
        root: &root,
        open: Vec::new(),
        room,
    };
    let mut flat = resolver.schema(&root, 0);
    merge_branches(&mut flat);
    flat
}

/// The size of a schema, in bytes of JSON, without definitions that are only referred to.
pub(crate) fn own_size(schema: &Map<String, Value>) -> usize {
    let own = schema.iter().filter(|(keyword, _)| !is_left_out(keyword));
    own.map(|(keyword, value)| keyword.len() + value.to_string().len())
        .sum()
}

/// Returns whether a keyword only defines something to refer to, or refers to it.
fn is_left_out(keyword: &str) -> bool {
    keyword.starts_with('$') || keyword == "definitions"
}

struct Resolver<'a> {
    root: &'a Value,
    /// The references being followed, outermost first.
    open: Vec<&'a str>,
    /// Bytes that references may still add.
    room: usize,
}

impl<'a> Resolver<'a> {
    /// Flattens a schema. One that is not an object, such as `true`, accepts anything.
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Map<String, Value> {
        let mut flat = Map::new();
        let Value::Object(fields) = schema else { return flat };
        if depth >= DEPTH || !self.spend(0) {
            return flat;
        }
        for (keyword, value) in fields.iter().filter(|(keyword, _)| !is_left_out(keyword)) {
            if let Some(value) = self.field(keyword, value, depth) {
                flat.insert(keyword.clone(), value);
            }
        }
        if let Some(Value::String(reference)) = fields.get("$ref") {
            fill(&mut flat, self.referenced(reference, depth));
        }
        let has_items = flat.get("items").is_some_and(Value::is_object);
        if !has_items && flat.get("type").is_some_and(|kind| is_or_has(kind, "array")) {
            flat.insert("items".to_owned(), json!({}));
        }
        flat
    }

    /// Flattens the value of a keyword; `None` if it is left out.
    fn field(&mut self, keyword: &str, value: &'a Value, depth: usize) -> Option<Value> {
        match (keyword, value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                let mut all = Map::new();
                for (name, schema) in named {
                    if !self.spend(name.len()) {
                        break;
                    }
                    all.insert(name.clone(), Value::Object(self.schema(schema, depth + 1)));
                }
                Some(Value::Object(all))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                let all = self.all(schemas, depth);
                (!all.is_empty()).then_some(Value::Array(all))
            }
            // The items of a tuple in the older notation; providers accept one schema for all items.
            ("items", Value::Array(schemas)) => Some(one_of(self.all(schemas, depth))),
            ("items", schema) => Some(Value::Object(self.schema(schema, depth + 1))),
            (
                "additionalProperties"
                | "unevaluatedProperties"
                | "additionalItems"
                | "unevaluatedItems"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                Value::Object(_),
            ) => Some(Value::Object(self.schema(value, depth + 1))),
            (
                "properties" | "patternProperties" | "dependentSchemas" | "anyOf" | "oneOf" | "allOf" | "prefixItems",
                _,
            ) => None,
            // No provider accepts a list of nothing, or a name in place of a list.
            ("enum", value) if value.as_array().is_none_or(Vec::is_empty) => None,
            ("required", value) if !value.is_array() => None,
            (keyword, value) => {
                let is_paid = self.open.is_empty() || self.spend(keyword.len() + value.to_string().len());
                is_paid.then(|| value.clone())
            }
        }
    }

    fn all(&mut self, schemas: &'a [Value], depth: usize) -> Vec<Value> {
        let mut all = Vec::new();
        for schema in schemas {
            if !self.spend(0) {
                break;
            }
            all.push(Value::Object(self.schema(schema, depth + 1)));
        }
        all
    }

    /// The schema that a reference stands for.
    fn referenced(&mut self, reference: &'a str, depth: usize) -> Map<String, Value> {
        if !self.spend(reference.len()) {
            return Map::new();
        }
        let Some(target) = self.target(reference) else {
            return Map::new();
        };
        if self.room == 0 || self.open.contains(&reference) {
            let kind = target.get("type").filter(|kind| kind.is_string()).cloned();
            return kind.map(|kind| ("type".to_owned(), kind)).into_iter().collect();
        }
        self.open.push(reference);
        let found = self.schema(target, depth + 1);
        self.open.pop();
        found
    }

    /// The part of the schema that a reference names; references to other documents are not followed.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        let pointer = percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()?;
        self.root.pointer(&pointer)
    }

    /// Uses up some of the room while a reference is followed. Once there is too little, none is left.
    fn spend(&mut self, bytes: usize) -> bool {
        if self.open.is_empty() {
            return true;
        }
        let left = self.room.checked_sub(bytes + 4);
        self.room = left.unwrap_or(0);
        left.is_some()
    }
}

/// Returns whether a `type` is, or includes, this one.
pub(crate) fn is_or_has(kind: &Value, name: &str) -> bool {
    match kind {
        Value::String(kind) => kind == name,
        Value::Array(kinds) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}

/// A schema that accepts anything that one of these accepts.
fn one_of(mut schemas: Vec<Value>) -> Value {
    let mut seen = HashSet::new();
    schemas.retain(|schema| seen.insert(schema.to_string()));
    match schemas.len() {
        0 => json!({}),
        1 => schemas.remove(0),
        _ => json!({ "anyOf": schemas }),
    }
}

/// Moves the parameters of branches to the root: several providers refuse every request with a tool whose schema has
/// branches there. Parameters required by `allOf` stay required; those required only by some branches do not.
fn merge_branches(schema: &mut Map<String, Value>) {
    let keywords = ["allOf", "anyOf", "oneOf", "then", "else"];
    if !keywords.iter().any(|&keyword| schema.contains_key(keyword)) {
        return;
    }
    let mut parameters = properties(schema);
    let mut required = strings(schema.shift_remove("required"));
    for mut branch in objects(schema.shift_remove("allOf")) {
        merge_branches(&mut branch);
        for (name, parameter) in properties(&mut branch) {
            match (parameters.get_mut(&name), parameter) {
                (Some(Value::Object(known)), Value::Object(more)) => fill(known, more),
                (Some(_), _) => {}
                (None, parameter) => {
                    parameters.insert(name, parameter);
                }
            }
        }
        required.extend(strings(branch.remove("required")));
    }
    let alternatives = ["anyOf", "oneOf"].map(|keyword| schema.shift_remove(keyword));
    // No provider refuses conditions, so they stay; but some models look for parameters only in the properties.
    let conditional = ["then", "else"].map(|keyword| schema.get(keyword).cloned());
    let conditional = Value::Array(conditional.into_iter().flatten().collect());
    let mut found: Map<String, Value> = Map::new();
    for mut branch in alternatives.into_iter().chain([Some(conditional)]).flat_map(objects) {
        merge_branches(&mut branch);
        for (name, parameter) in properties(&mut branch) {
            // A definition beside the branches applies in each of them.
            if !parameters.contains_key(&name)
                && let Value::Array(known) = found.entry(name).or_insert_with(|| json!([]))
            {
                known.push(parameter);
            }
        }
    }
    for (name, known) in found {
        if let Value::Array(known) = known {
            parameters.insert(name, one_of(known));
        }
    }
    schema.insert("properties".to_owned(), Value::Object(parameters));
    if !required.is_empty() {
        let mut seen = HashSet::new();
        required.retain(|name| seen.insert(name.clone()));
        schema.insert("required".to_owned(), required.into());
    }
}

fn properties(schema: &mut Map<String, Value>) -> Map<String, Value> {
    match schema.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

fn objects(value: Option<Value>) -> Vec<Map<String, Value>> {
    let Some(Value::Array(values)) = value else {
        return Vec::new();
    };
    let objects = values.into_iter().filter_map(|value| match value {
        Value::Object(object) => Some(object),
        _ => None,
    });
    objects.collect()
}

fn strings(value: Option<Value>) -> Vec<String> {
    let Some(Value::Array(values)) = value else {
        return Vec::new();
    };
    let strings = values.into_iter().filter_map(|value| match value {
        Value::String(text) => Some(text),
        _ => None,
    });
    strings.collect()
}

/// Adds the keywords of another schema that this one lacks.
fn fill(schema: &mut Map<String, Value>, more: Map<String, Value>) {
    for (keyword, value) in more {
        match (schema.get_mut(&keyword), value) {
            (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
                for (name, parameter) in more {
                    known.entry(name).or_insert(parameter);
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                schema.insert(keyword, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
