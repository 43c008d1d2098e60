//! A request that is read and written again is the same request.

use codelet_context::message::ToolResult;
use codelet_transcript::{Format, read, write};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Reads and writes text, which must come out the same to the byte.
fn check_bytes(format: Format, text: &str) {
    let document = read(text.as_bytes(), Some(format)).unwrap();
    assert_eq!(document.format, format);
    assert_eq!(write(&document, format).unwrap(), text, "{format}");
}

fn check(format: Format, request: &Value) {
    check_bytes(format, &request.to_string());
}

#[test]
fn an_anthropic_request_comes_back_to_the_byte() {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    check(
        Format::Anthropic,
        &json!({
            "model": "m", "max_tokens": 8192, "temperature": 1.0,
            "system": [
                {"type": "text", "text": "You code.", "cache_control": mark},
                {"cache_control": mark, "text": "Be brief.", "type": "text"}
            ],
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                    {"type": "text", "text": "Let me look.", "citations": null},
                    {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "a.rs", "limit": 1.50}},
                    {"name": "Bash", "type": "tool_use", "id": "toolu_2", "input": {}, "caller": {"type": "direct"}},
                    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}},
                    {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "x"}]}
                ]},
                {"role": "user", "content": [
                    {"tool_use_id": "toolu_1", "type": "tool_result", "content": [
                        {"type": "text", "text": "fn main", "cache_control": mark},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
                        {"type": "search_result", "source": "s", "title": "t", "content": []}
                    ], "is_error": false, "cache_control": mark},
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": true},
                    {"type": "tool_result", "tool_use_id": "toolu_3"},
                    {"type": "tool_result", "tool_use_id": "toolu_4", "content": ""},
                    {"type": "tool_result", "tool_use_id": "toolu_5", "content": []},
                    {"type": "tool_result", "tool_use_id": "toolu_6", "content": null, "is_error": null},
                    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}, "title": "T"},
                    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}, "cache_control": mark},
                    {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
                    {"type": "image", "source": {"data": "iVBO", "type": "base64", "media_type": "image/png"}}
                ]},
                {"role": "user", "content": ""},
                {"role": "user", "content": []},
                {"role": "system", "content": "mode: plan"},
                {"content": [{"type": "text", "text": ""}], "role": "assistant", "id": "msg_1", "unknown": [1, null]}
            ],
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}], "metadata": null
        }),
    );
    check(Format::Anthropic, &json!([{"role": "user", "content": "bare list"}]));
    check(Format::Anthropic, &json!({"messages": [], "system": "", "model": "m"}));
    check(Format::Anthropic, &json!({"system": null, "messages": []}));
}

#[test]
fn a_chat_request_comes_back_to_the_byte() {
    check(
        Format::Openai,
        &json!({
            "model": "m",
            "messages": [
                {"role": "developer", "content": "You code."},
                {"role": "system", "content": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]},
                {"role": "user", "content": "hello", "name": "ann"},
                {"role": "user", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO", "detail": "low"}},
                    {"type": "image_url", "image_url": {"url": "data:image/png;name=x;base64,iVBO"}},
                    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                    {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
                    {"type": "file", "file": {"file_id": "file_1"}}
                ]},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}},
                    {"id": "call_2", "type": "function", "function": {"name": "bash", "arguments": "{\"command\": \"l\\u0073\"}"}},
                    {"type": "function", "id": "call_3", "function": {"arguments": "not json", "name": "bash"}, "index": 2},
                    {"id": "call_4", "type": "function", "function": {"name": "bash", "arguments": ""}},
                    {"id": "call_5", "type": "custom", "custom": {"name": "apply_patch", "input": "*** Begin Patch"}},
                    {"id": "call_6", "function": {"name": "bash", "arguments": {"command": "ls"}}}
                ]},
                {"role": "tool", "tool_call_id": "call_1", "content": "a.rs"},
                {"role": "tool", "content": [{"type": "text", "text": "b.rs"}], "tool_call_id": "call_2"},
                {"role": "tool", "tool_call_id": "call_3", "content": "", "name": "bash"},
                {"role": "tool", "tool_call_id": "call_4", "content": null},
                {"role": "user", "content": "go on"},
                {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": []},
                {"role": "assistant", "reasoning": "hm", "reasoning_details": [{"type": "x"}], "content": "ok", "refusal": null},
                {"role": "assistant", "content": [{"type": "text", "text": "ok"}, {"type": "refusal", "refusal": "no"}], "audio": {"id": "a"}},
                {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{ }"}},
                {"role": "function", "name": "f", "content": "done"},
                {"role": "assistant", "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "assistant", "content": "", "reasoning_content": ""},
                {"role": "assistant", "content": []},
                {"role": "assistant", "content": null}
            ],
            "max_completion_tokens": 10, "stream_options": {"include_usage": true}
        }),
    );
    check(
        Format::Openai,
        &json!([{"role": "tool", "tool_call_id": "a", "content": "x"}]),
    );
}

#[test]
fn a_responses_request_comes_back_to_the_byte() {
    check(
        Format::Responses,
        &json!({
            "model": "m", "instructions": "You code.",
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
                {"role": "user", "content": "hello"},
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "look"},
                    {"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "auto"},
                    {"type": "input_image", "file_id": "f", "detail": "auto"},
                    {"type": "input_file", "file_id": "f"}
                ]},
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "enc", "content": null},
                {"type": "reasoning", "summary": [], "encrypted_content": null},
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                    {"type": "output_text", "text": "one", "annotations": [], "logprobs": []},
                    {"type": "output_text", "text": "two"}
                ], "phase": "commentary"},
                {"role": "assistant", "content": "three"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "four"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
                {"role": "assistant", "content": ""},
                {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "shell", "arguments": "{\"command\": [\"ls\"]}", "status": "completed"},
                {"type": "function_call", "call_id": "call_2", "name": "shell", "arguments": "{}"},
                {"type": "custom_tool_call", "call_id": "call_3", "name": "apply_patch", "input": "*** Begin Patch", "status": "completed"},
                {"type": "local_shell_call", "id": "l", "call_id": "call_4", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
                {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}},
                {"type": "function_call_output", "call_id": "call_1", "output": "a.rs"},
                {"type": "function_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "https://e.org/i"}]},
                {"type": "custom_tool_call_output", "call_id": "call_3", "output": ""},
                {"call_id": "call_4", "type": "local_shell_call_output", "output": "{}", "id": null},
                {"type": "mcp_approval_response", "approval_request_id": "x", "approve": true},
                {"type": "item_reference", "id": "msg_9"},
                {"id": "msg_8"},
                {"type": "compaction", "encrypted_content": "enc"}
            ],
            "store": false, "include": ["reasoning.encrypted_content"]
        }),
    );
    check(
        Format::Responses,
        &json!({"input": "hello", "model": "m", "instructions": null}),
    );
    check(Format::Responses, &json!({"input": "", "model": "m"}));
    check(Format::Responses, &json!([{"role": "user", "content": "hello"}]));
}

#[test]
fn a_gemini_request_comes_back_to_the_byte() {
    check(
        Format::Gemini,
        &json!({
            "systemInstruction": {"role": "system", "parts": [{"text": "You code."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "hello"}, {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}]},
                {"parts": [{"text": "no role"}, {"inlineData": {"mimeType": "application/pdf", "data": "JVBE"}}]},
                {"role": "model", "parts": [
                    {"text": "hm", "thought": true, "thoughtSignature": "c2ln"},
                    {"thought": true, "text": "hm"},
                    {"text": "Let me look.", "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "read_file", "args": {"path": "a.rs"}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "read_file", "args": {"path": "b.rs"}}},
                    {"functionCall": {"id": "c3", "name": "glob", "args": {}}},
                    {"functionCall": {"name": "glob"}},
                    {"executableCode": {"language": "PYTHON", "code": "1"}}
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "read_file", "response": {"output": "fn a"}}},
                    {"functionResponse": {"name": "read_file", "response": {"error": "gone"}}},
                    {"functionResponse": {"id": "c3", "name": "glob", "response": {"result": "x", "exitCode": 1}}},
                    {"functionResponse": {"name": "glob", "response": {"files": ["a", 1.0], "n": null}}},
                    {"functionResponse": {"name": "glob", "response": {}}},
                    {"functionResponse": {"name": "glob", "response": {"error": ""}}},
                    {"functionResponse": {"name": "shot", "response": {"output": "x"}, "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBO"}}], "willContinue": false}},
                    {"text": "go on"}
                ]},
                {"role": "user", "parts": [{"text": "and on"}]},
                {"role": "function", "parts": [{"function_response": {"name": "f", "response": {"output": "x"}}}]},
                {"role": "model", "parts": [{"function_call": {"args": {"a": 1}, "name": "f"}, "thought_signature": "x"}]},
                {"role": "model", "parts": []},
                {"role": "user", "parts": [{"fileData": {"mimeType": "image/png", "fileUri": "gs://x"}, "videoMetadata": {}}]}
            ],
            "generationConfig": {"temperature": 0}
        }),
    );
    check(
        Format::Gemini,
        &json!({"contents": [], "system_instruction": {"parts": [{"text": "x"}]}}),
    );
    check(Format::Gemini, &json!([{"role": "user", "parts": [{"text": "x"}]}]));
}

#[test]
fn the_engine_sees_objects_and_the_vendor_its_own_string() {
    let request = json!({"messages": [{"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "plain"}},
        {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}
    ]}]});
    let mut document = read(request.to_string().as_bytes(), None).unwrap();
    let parameters: Vec<_> = document.messages[0]
        .calls()
        .map(|call| call.parameters.json().as_str().to_owned())
        .collect();
    assert_eq!(parameters, [r#"{"input":"plain"}"#, r#"{"x":1}"#]);
    // Parameters that were altered are what is written.
    for part in &mut document.messages[0].parts {
        if let codelet_context::message::Part::ToolCall(call) = part {
            call.parameters = codelet_context::message::Parameters::new(Map::from_iter([("y".to_owned(), json!(2))]));
        }
    }
    let written: Value = serde_json::from_str(&write(&document, Format::Openai).unwrap()).unwrap();
    for call in written["messages"][0]["tool_calls"].as_array().unwrap() {
        assert_eq!(call["function"]["arguments"], r#"{"y":2}"#);
    }
}

#[test]
fn success_is_what_the_error_flag_says() {
    let result = |extra: &str| {
        let text = format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"failed"{extra}}}]}}]}}"#
        );
        let document = read(text.as_bytes(), None).unwrap();
        document.messages[0].tool_results().next().unwrap().success
    };
    assert_eq!(result(""), None);
    assert_eq!(result(r#","is_error":true"#), Some(false));
    assert_eq!(result(r#","is_error":false"#), Some(true));
}

#[test]
fn what_the_engine_puts_beside_a_message_is_written_with_it_and_what_stood_apart_stays_apart() {
    let request = json!({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]});
    let mut document = read(request.to_string().as_bytes(), Some(Format::Anthropic)).unwrap();
    document
        .messages
        .push(codelet_context::message::Message::user("summary"));
    let written: Value = serde_json::from_str(&write(&document, Format::Anthropic).unwrap()).unwrap();
    let texts = json!([{"type": "text", "text": "b"}, {"type": "text", "text": "summary"}]);
    assert_eq!(
        written["messages"],
        json!([{"role": "user", "content": "a"}, {"role": "user", "content": texts}])
    );
}

#[test]
fn an_answer_made_later_bears_the_id_of_its_call_where_calls_have_ids() {
    let request = json!({"contents": [{"role": "model", "parts": [
        {"functionCall": {"id": "x", "name": "f", "args": {}}}, {"functionCall": {"name": "g", "args": {}}}]}]});
    let mut document = read(request.to_string().as_bytes(), None).unwrap();
    let answers = document.messages[0]
        .calls()
        .map(|call| ToolResult::new(call.id.clone(), None, "stopped"))
        .collect();
    document
        .messages
        .push(codelet_context::message::Message::results(answers));
    let written: Value = serde_json::from_str(&write(&document, Format::Gemini).unwrap()).unwrap();
    assert_eq!(
        written["contents"][1]["parts"],
        json!([
            {"functionResponse": {"id": "x", "name": "f", "response": {"output": "stopped"}}},
            {"functionResponse": {"name": "g", "response": {"output": "stopped"}}}])
    );
}

/// Any JSON, a few levels deep.
fn junk() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z {}\"\\\\é]{0,8}".prop_map(Value::from),
        Just(json!("")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[a-z_]{1,6}", inner), 0..4)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

/// Alters a valid request somewhere: shuffles keys, adds fields, drops fields, puts junk in place of values.
#[derive(Clone, Debug)]
struct Change {
    place: usize,
    kind: u8,
    junk: Value,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (any::<usize>(), 0u8..5, junk()).prop_map(|(place, kind, junk)| Change { place, kind, junk });
    prop::collection::vec(change, 0..6)
}

fn objects(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(objects).sum::<usize>(),
        Value::Array(items) => items.iter().map(objects).sum(),
        _ => 0,
    }
}

fn alter(value: &mut Value, countdown: &mut usize, change: &Change) {
    match value {
        Value::Object(fields) => {
            if *countdown == 0 {
                let at = change.place % fields.len().max(1);
                let key = fields.keys().nth(at).cloned();
                match (change.kind, key) {
                    (0, _) => {
                        fields.insert("added".to_owned(), change.junk.clone());
                    }
                    (1, Some(key)) => {
                        fields.insert(key, change.junk.clone());
                    }
                    (2, Some(key)) => {
                        fields.shift_remove(&key);
                    }
                    (3, Some(key)) => {
                        let moved = fields.shift_remove(&key).unwrap();
                        fields.insert(key, moved);
                    }
                    (4, Some(key)) => {
                        fields.insert(key, Value::Null);
                    }
                    _ => {}
                }
            }
            *countdown = countdown.wrapping_sub(1);
            for inner in fields.values_mut() {
                alter(inner, countdown, change);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| alter(item, countdown, change)),
        _ => {}
    }
}

fn seeds() -> Vec<(Format, Value)> {
    vec![
        (
            Format::Anthropic,
            json!({"system": [{"type": "text", "text": "s"}], "messages": [
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "redacted_thinking", "data": "d"},
                    {"type": "text", "text": "x"}, {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "a"}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "y"}], "is_error": true},
                    {"type": "tool_result", "tool_use_id": "b", "content": "z"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "d"}},
                    {"type": "image", "source": {"type": "url", "url": "u"}}]},
                {"role": "user", "content": "bare"}]}),
        ),
        (
            Format::Openai,
            json!({"messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,d"}}]},
                {"role": "assistant", "content": "t", "reasoning_content": "r", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
                    {"id": "b", "type": "custom", "custom": {"name": "f", "input": "i"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "x"}, {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "y"}]},
                {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "x"}]}),
        ),
        (
            Format::Responses,
            json!({"instructions": "s", "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "u"}]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "e"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}, {"type": "output_text", "text": "y"}]},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{\"a\": 1}"},
                {"type": "custom_tool_call", "call_id": "b", "name": "f", "input": "i"},
                {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
                {"type": "function_call_output", "call_id": "a", "output": "x"},
                {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "y"}]}]}),
        ),
        (
            Format::Gemini,
            json!({"systemInstruction": {"parts": [{"text": "s"}]}, "contents": [
                {"role": "user", "parts": [{"text": "x"}, {"inlineData": {"mimeType": "image/png", "data": "d"}}, {"fileData": {"mimeType": "image/png", "fileUri": "u"}}]},
                {"role": "model", "parts": [{"text": "t", "thought": true, "thoughtSignature": "s"}, {"functionCall": {"name": "f", "args": {"a": 1}}}, {"functionCall": {"id": "i", "name": "f", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}, {"functionResponse": {"id": "i", "name": "f", "response": {"result": "x", "n": 1}}}]}]}),
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(10_000), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_accepted_comes_back_to_the_byte(seed in 0usize..4, changes in changes()) {
        let (format, mut request) = seeds().swap_remove(seed);
        for change in &changes {
            let mut countdown = change.place % objects(&request).max(1);
            alter(&mut request, &mut countdown, change);
        }
        let text = request.to_string();
        if let Ok(document) = read(text.as_bytes(), Some(format)) {
            prop_assert_eq!(write(&document, format).unwrap(), text);
        }
    }
}
