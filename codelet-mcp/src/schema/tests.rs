#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn of(schema: Value) -> Value {
    let Value::Object(schema) = schema else {
        panic!("no schema")
    };
    Value::Object(flat(schema, 32 * 1024))
}

#[test]
fn every_array_has_items_wherever_it_stands() {
    let schema = of(json!({"properties": {
        "plain": {"type": "array"},
        "nested": {"type": "array", "items": {"type": "array", "items": {"type": "array"}}},
        "maybe": {"type": ["array", "null"]},
        "either": {"anyOf": [{"type": "array"}, {"type": "string"}]},
        "bool": {"type": "array", "items": true},
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}, {"type": "string"}]},
        "tuple": {"type": "array", "prefixItems": [{"type": "array"}]},
        "map": {"type": "object", "additionalProperties": {"type": "array"}},
        "type": {"type": "string", "default": {"type": "array"}},
    }}));
    let expected = json!({"properties": {
        "plain": {"type": "array", "items": {}},
        "nested": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {}}}},
        "maybe": {"type": ["array", "null"], "items": {}},
        "either": {"anyOf": [{"type": "array", "items": {}}, {"type": "string"}]},
        "bool": {"type": "array", "items": {}},
        "pair": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
        "tuple": {"type": "array", "prefixItems": [{"type": "array", "items": {}}], "items": {}},
        "map": {"type": "object", "additionalProperties": {"type": "array", "items": {}}},
        "type": {"type": "string", "default": {"type": "array"}},
    }});
    assert_eq!(schema, expected);
}

#[test]
fn parameters_of_alternatives_are_known_and_none_is_required() {
    let schema = of(json!({
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}},
        "required": ["kind"],
        "oneOf": [
            {"properties": {"kind": {"const": "a"}, "id": {"type": "string"}}, "required": ["kind", "id"]},
            {"properties": {"id": {"type": "number"}, "same": {}}, "required": ["id"]},
            {"anyOf": [{"properties": {"deep": {}, "same": {}}}]},
            {"type": "null"},
        ],
    }));
    let expected = json!({
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "id": {"anyOf": [{"type": "string"}, {"type": "number"}]},
            "same": {},
            "deep": {},
        },
        "required": ["kind"],
    });
    assert_eq!(schema, expected);
}

#[test]
fn what_all_branches_hold_stays_required() {
    let schema = of(json!({
        "allOf": [
            {"$ref": "#/$defs/Page"},
            {"properties": {"query": {"type": "string"}}, "required": ["query"]},
            {"if": {}, "then": {"properties": {"late": {}}, "required": ["late"]}},
        ],
        "properties": {"query": {"description": "What is looked for."}},
        "$defs": {"Page": {"properties": {"page": {"type": "integer"}}, "required": ["page"]}},
    }));
    let expected = json!({
        "properties": {
            "query": {"description": "What is looked for.", "type": "string"},
            "page": {"type": "integer"},
            "late": {},
        },
        "required": ["page", "query"],
    });
    assert_eq!(schema, expected);
}

#[test]
fn branches_within_a_parameter_stay() {
    let schema = json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
    assert_eq!(of(schema.clone()), schema);
}

#[test]
fn references_are_resolved_where_they_stand() {
    let schema = of(json!({
        "$ref": "#/definitions/Arguments",
        "definitions": {
            "Arguments": {"type": "object", "properties": {
                "where": {"$ref": "#/definitions/Place%3Cu8%3E", "description": "Where."},
                "definitions": {"$ref": "#/definitions/a~1b"},
            }},
            "Place<u8>": {"type": "string", "description": "A place."},
            "a/b": {"$ref": "#/definitions/list"},
            "list": {"type": "array"},
        },
    }));
    let expected = json!({"type": "object", "properties": {
        "where": {"description": "Where.", "type": "string"},
        "definitions": {"type": "array", "items": {}},
    }});
    assert_eq!(schema, expected);
}

#[test]
fn a_reference_that_leads_nowhere_or_elsewhere_takes_anything() {
    let schema = of(json!({"properties": {
        "missing": {"$ref": "#/$defs/None"},
        "other": {"$ref": "https://example.com/schema.json#/a", "description": "Kept."},
        "odd": {"$ref": "#%ff"},
        "itself": {"$ref": "#/properties/itself"},
    }}));
    let expected = json!({"properties": {"missing": {}, "other": {"description": "Kept."}, "odd": {}, "itself": {}}});
    assert_eq!(schema, expected);
}

#[test]
fn a_schema_within_itself_keeps_its_type() {
    let node = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    }});
    let schema = of(json!({"properties": {"tree": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}));
    let expected = json!({"properties": {"tree": {"type": "object", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"type": "object"}},
    }}}});
    assert_eq!(schema, expected);
}

#[test]
fn references_that_multiply_are_bounded() {
    let keywords = [
        "items", "not", "if", "contains", "propertyNames", "additionalProperties",
    ];
    let mut defs = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let mut schema: Map<String, Value> = keywords
            .map(|keyword| (keyword.to_owned(), next.clone()))
            .into_iter()
            .collect();
        schema.insert("anyOf".to_owned(), json!([next, next]));
        schema.insert("properties".to_owned(), json!({"a": next, "b": next}));
        defs.insert(format!("d{level}"), Value::Object(schema));
    }
    let schema = of(json!({"properties": {"bomb": {"$ref": "#/$defs/d0"}}, "$defs": defs}));
    let size = schema.to_string().len();
    assert!((1_000..200_000).contains(&size), "{size}");
}

fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "array"})),
        Just(json!({"type": ["array", "null"]})),
        Just(json!({"enum": []})),
        Just(json!({"required": null})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/a"})),
        Just(json!({"$ref": "#/properties/b"})),
        Just(json!(true)),
        Just(json!(7)),
    ];
    let single = prop::sample::select(vec!["items", "not", "if", "then", "additionalProperties", "properties"]);
    let several = prop::sample::select(vec!["anyOf", "oneOf", "allOf", "items", "prefixItems"]);
    leaf.prop_recursive(4, 40, 4, move |inner| {
        let named = prop::collection::vec(
            (prop::sample::select(vec!["a", "b", "items", "$ref"]), inner.clone()),
            0..4,
        );
        let named = named.prop_map(|named| -> Map<String, Value> {
            named
                .into_iter()
                .map(|(name, schema)| (name.to_owned(), schema))
                .collect()
        });
        let holder = prop::sample::select(vec!["properties", "$defs", "patternProperties"]);
        let fields = (
            single.clone(),
            inner.clone(),
            several.clone(),
            prop::collection::vec(inner, 0..3),
            holder,
            named,
        );
        fields.prop_map(|(single, one, several, all, holder, named)| {
            let mut schema = Map::new();
            schema.insert(single.to_owned(), one);
            schema.insert(several.to_owned(), Value::Array(all));
            schema.insert(holder.to_owned(), Value::Object(named));
            Value::Object(schema)
        })
    })
}

/// Returns whether providers refuse this schema below the root.
fn is_refused(schema: &Value) -> bool {
    let Value::Object(fields) = schema else {
        return !schema.is_boolean();
    };
    let has_items = fields.get("items").is_some_and(Value::is_object);
    if fields.get("type").is_some_and(|kind| is_or_has(kind, "array")) && !has_items {
        return true;
    }
    fields.iter().any(|(keyword, value)| match keyword.as_str() {
        "$ref" | "$defs" => true,
        "enum" => value.as_array().is_none_or(Vec::is_empty),
        "required" => !value.is_array(),
        "properties" | "patternProperties" => value.as_object().is_none_or(|all| all.values().any(is_refused)),
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => value.as_array().is_none_or(|all| all.iter().any(is_refused)),
        "items" => !value.is_object() || is_refused(value),
        "not" | "if" | "then" | "additionalProperties" => value.is_object() && is_refused(value),
        _ => false,
    })
}

proptest! {
    #[test]
    fn nothing_that_vendors_refuse_is_left_of_any_schema(schema in schemas()) {
        if let Value::Object(schema) = schema {
            let flat = flat(schema, 4_000);
            prop_assert!(!is_refused(&Value::Object(flat.clone())), "{flat:?}");
            prop_assert!(["anyOf", "oneOf", "allOf"].iter().all(|&keyword| !flat.contains_key(keyword)));
        }
    }
}
