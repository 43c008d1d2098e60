//! Definitions of tools reach another vendor as that takes them, or a warning counts them.
#![allow(clippy::unwrap_used)]

use codelet_transcript::{Format, Warning, read, write_all};
use serde_json::{Value, json};

/// The fields around the messages for another vendor, and what was left out.
fn converted(request: &Value, to: Format) -> (Value, Vec<(String, usize)>) {
    let document = read(request.to_string().as_bytes(), None).unwrap();
    let written = write_all(&document, to).unwrap();
    let kinds = match written.warnings.as_slice() {
        [] => Vec::new(),
        [Warning::LeftOut { kinds, .. }] => kinds.clone(),
        other => panic!("{other:?}"),
    };
    (serde_json::from_str(&written.text).unwrap(), kinds)
}

#[test]
fn schemas_of_gemini_become_json_schema() {
    let parameters = json!({
        "type": "OBJECT", "propertyOrdering": ["path"],
        "properties": {
            "path": {"type": "STRING", "nullable": true, "minLength": "1"},
            "type": {"type": "STRING", "format": "enum", "enum": ["A", "B"], "nullable": true},
            "n": {"type": "INTEGER", "format": "int32", "minimum": 1.5},
            "list": {"type": "ARRAY", "max_items": "3", "items": {"any_of": [{"type": "NUMBER"}], "nullable": true}}
        },
        "required": ["path"]});
    let request = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "read_file", "description": "d", "parameters": parameters}], "googleSearch": {}},
                  {"codeExecution": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read_file"]}}});
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": ["string", "null"], "minLength": 1},
            "type": {"type": ["string", "null"], "enum": ["A", "B", null]},
            "n": {"type": "integer", "format": "int32", "minimum": 1.5},
            "list": {"type": "array", "maxItems": 3, "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}}
        },
        "required": ["path"]});
    let kinds = vec![
        ("tool codeExecution".to_owned(), 1),
        ("tool googleSearch".to_owned(), 1),
    ];
    let (anthropic, left_out) = converted(&request, Format::Anthropic);
    assert_eq!(
        anthropic["tools"],
        json!([{"name": "read_file", "description": "d", "input_schema": schema}])
    );
    assert_eq!(anthropic["tool_choice"], json!({"type": "tool", "name": "read_file"}));
    assert_eq!(left_out, kinds);
    let (chat, left_out) = converted(&request, Format::Openai);
    assert_eq!(chat["tools"][0]["function"]["parameters"], schema);
    assert_eq!(
        chat["tool_choice"],
        json!({"type": "function", "function": {"name": "read_file"}})
    );
    assert_eq!(left_out, kinds);
    let (responses, _) = converted(&request, Format::Responses);
    assert_eq!(responses["tools"][0]["parameters"], schema);
    assert_eq!(
        responses["tool_choice"],
        json!({"type": "function", "name": "read_file"})
    );
    // And back: what Gemini takes is JSON Schema too.
    let (gemini, left_out) = converted(&anthropic, Format::Gemini);
    assert_eq!(
        gemini["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"],
        schema
    );
    assert_eq!(gemini["toolConfig"], request["toolConfig"]);
    assert_eq!(left_out, []);
}

#[test]
fn a_schema_of_others_stays_as_it_is() {
    let schema = json!({"type": "object", "properties": {"nullable": {"type": "boolean"}, "minimum": {"type": "string", "const": "X"}}});
    let request = json!({"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "f", "input_schema": schema}]});
    assert_eq!(
        converted(&request, Format::Openai).0["tools"][0]["function"]["parameters"],
        schema
    );
}

#[test]
fn functions_of_older_chats_are_tools() {
    let parameters = json!({"type": "object", "properties": {}});
    let request = json!({"model": "m",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}, {"role": "user", "content": "hi"}],
        "functions": [{"name": "f", "description": "d", "parameters": parameters}], "function_call": "auto"});
    let document = read(request.to_string().as_bytes(), Some(Format::Openai)).unwrap();
    for (to, path) in [
        (Format::Anthropic, "/tools/0/name"),
        (Format::Responses, "/tools/0/name"),
        (Format::Gemini, "/tools/0/functionDeclarations/0/name"),
    ] {
        let written = write_all(&document, to).unwrap();
        let written_request: Value = serde_json::from_str(&written.text).unwrap();
        assert_eq!(written_request.pointer(path).unwrap(), "f", "{to}");
        assert_eq!(written.warnings, []);
    }
}

#[test]
fn tools_that_a_vendor_has_built_are_counted() {
    let request = json!({"model": "c", "max_tokens": 9, "tool_choice": {"type": "any"},
        "tools": [{"type": "bash_20250124", "name": "bash"}, {"type": "text_editor_20250728", "name": "edit"}],
        "messages": [{"role": "user", "content": "hi"}]});
    for to in [Format::Openai, Format::Responses, Format::Gemini] {
        let (written, left_out) = converted(&request, to);
        let kinds = ["tool bash_20250124", "tool text_editor_20250728", "tool_choice"];
        assert_eq!(left_out, kinds.map(|kind| (kind.to_owned(), 1)), "{to}");
        assert!(
            written.get("tools").is_none() && written.get("tool_choice").is_none(),
            "{written}"
        );
    }
}

#[test]
fn a_tool_that_takes_free_text_takes_it_as_a_parameter_elsewhere() {
    let request = json!({"model": "m", "input": "hi", "tool_choice": "required", "tools": [
        {"type": "custom", "name": "patch", "description": "d", "format": {"type": "grammar"}}, {"type": "web_search"}]});
    let (anthropic, left_out) = converted(&request, Format::Anthropic);
    assert_eq!(
        anthropic["tools"][0]["input_schema"]["properties"]["input"]["type"],
        "string"
    );
    assert_eq!(anthropic["tool_choice"], json!({"type": "any"}));
    assert_eq!(left_out, [("tool web_search".to_owned(), 1)]);
}
