#![allow(clippy::unwrap_used)]

use crate::{Format, read, write};
use codelet_context::message::{Message, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

const FAILED: &str = "1 failed\nExit code 1";

fn results(request: &Value, format: Format) -> Vec<ToolResult> {
    let document = read(request.to_string().as_bytes(), Some(format)).unwrap();
    assert_eq!(write(&document, format).unwrap(), request.to_string());
    let results = document.messages.iter().flat_map(Message::tool_results);
    results.cloned().collect()
}

/// What is known of the answers to calls of these tools, in each form that has them; it is written as it came.
fn known(request: &Value, format: Format) -> Vec<Option<bool>> {
    results(request, format)
        .into_iter()
        .map(|result| result.success)
        .collect()
}

/// A command for each answer; `flag` is the field that says whether it failed.
fn anthropic(answers: &[(Value, Option<Value>)]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Mend it."})];
    for (number, (content, flag)) in answers.iter().enumerate() {
        let call =
            json!({"type": "tool_use", "id": format!("c{number}"), "name": "bash", "input": {"command": "pytest -q"}});
        let mut answer = json!({"type": "tool_result", "tool_use_id": format!("c{number}"), "content": content});
        if let Some(flag) = flag {
            answer["is_error"] = flag.clone();
        }
        messages.push(json!({"role": "assistant", "content": [call]}));
        messages.push(json!({"role": "user", "content": [answer]}));
    }
    json!({ "messages": messages })
}

#[test]
fn a_stated_status_decides_over_a_flag_that_says_no_error() {
    let no = || Some(Value::Bool(false));
    let blocks = json!([{"type": "text", "text": FAILED}, {"type": "text", "text": "more", "cache_control": {"type": "ephemeral"}}]);
    let request = anthropic(&[
        (json!(FAILED), no()),
        (json!(FAILED), None),
        (json!("3 passed\nExit code 0"), Some(Value::Bool(true))),
        (json!([{"type": "text", "text": FAILED}]), no()),
        (blocks, no()),
        (json!("3 passed"), no()),
    ]);
    let failed = Some(false);
    let expected = [failed, failed, failed, failed, failed, Some(true)];
    assert_eq!(known(&request, Format::Anthropic), expected);
}

#[test]
fn a_flag_that_is_left_out_says_no_error_where_others_are_not() {
    let request = anthropic(&[
        (json!("ok"), None),
        (json!("no"), Some(Value::Bool(true))),
        (json!("?"), Some(json!("odd"))),
        (json!("ok"), Some(Value::Null)),
    ]);
    assert_eq!(
        known(&request, Format::Anthropic),
        [Some(true), Some(false), None, Some(true)]
    );
    let request = anthropic(&[(json!("ok"), None), (json!("no"), None)]);
    assert_eq!(known(&request, Format::Anthropic), [None, None]);
}

#[test]
fn only_the_result_of_a_command_states_a_status() {
    let mut request = anthropic(&[(json!(FAILED), Some(Value::Bool(false)))]);
    request["messages"][1]["content"][0]["name"] = json!("Read");
    request["messages"][1]["content"][0]["input"] = json!({"file_path": "log.txt"});
    assert_eq!(known(&request, Format::Anthropic), [Some(true)]);
}

#[test]
fn the_other_forms_are_told_of_by_the_text_alone() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"make\"}"}});
    let chat = json!({"messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b"), call("c")]},
        {"role": "tool", "tool_call_id": "a", "content": FAILED},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "x\n[The command completed with exit code 0.]"}]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]});
    assert_eq!(known(&chat, Format::Openai), [Some(false), Some(true), None]);

    let call = json!({"type": "function_call", "call_id": "a", "name": "shell", "arguments": "{\"command\":\"make\"}"});
    let answer = json!({"type": "function_call_output", "call_id": "a", "output": FAILED});
    let responses = json!({"input": [{"role": "user", "content": "go"}, call, answer]});
    assert_eq!(known(&responses, Format::Responses), [Some(false)]);

    let text = "Output: x\nExit Code: 1\nProcess Group PGID: 7";
    let gemini = json!({"contents": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "run_shell_command", "args": {"command": "make"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "run_shell_command", "response": {"output": text}}}]},
        {"role": "model", "parts": [{"functionCall": {"id": "q", "name": "run_shell_command", "args": {"command": "make"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "q", "name": "run_shell_command", "response": {"error": "x\nExit code 0"}}}]},
    ]});
    assert_eq!(known(&gemini, Format::Gemini), [Some(false), Some(false)]);
    // Elsewhere it is an answer that failed.
    let document = read(gemini.to_string().as_bytes(), None).unwrap();
    assert!(
        write(&document, Format::Anthropic)
            .unwrap()
            .contains("\"is_error\":true")
    );
}

proptest! {
    #[test]
    fn whatever_a_file_says_is_written_as_it_was(
        answers in prop::collection::vec((
            prop::sample::select(vec![FAILED, "ok", "", "Exit code 0\nx", "{\"output\":\"a\\nb\",\"exitCode\":1}"]),
            prop::sample::select(vec![None, Some(json!(true)), Some(json!(false)), Some(json!(null)), Some(json!("no"))]),
            any::<bool>(),
        ), 0..6),
    ) {
        let answers: Vec<(Value, Option<Value>)> = answers.into_iter().map(|(text, flag, is_list)| {
            (if is_list { json!([{"type": "text", "text": text}]) } else { json!(text) }, flag)
        }).collect();
        let request = anthropic(&answers);
        for (result, (_, flag)) in results(&request, Format::Anthropic).iter().zip(&answers) {
            prop_assert!(flag != &Some(json!(true)) || result.success == Some(false));
        }
    }
}
