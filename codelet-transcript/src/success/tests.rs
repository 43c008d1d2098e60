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

/// Returns the success of the results in each format that has them; checks that it is written back unchanged.
fn known(request: &Value, format: Format) -> Vec<Option<bool>> {
    results(request, format)
        .into_iter()
        .map(|result| result.success)
        .collect()
}

/// Returns a request with a command for each result; `flag` is the field that says whether it failed.
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
        {"role": "tool", "tool_call_id": "a", "content": "x\n[The command completed with exit code 0.]"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "x\n[The command completed with exit code 2.]"}]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]});
    assert_eq!(known(&chat, Format::Openai), [Some(true), Some(false), None]);

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
    // In other formats it is a failed result.
    let document = read(gemini.to_string().as_bytes(), None).unwrap();
    assert!(
        write(&document, Format::Anthropic)
            .unwrap()
            .contains("\"is_error\":true")
    );
}

/// Returns a request with a command for each result, in the format without flags.
fn chat(answers: &[&str]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Mend it."})];
    for (number, answer) in answers.iter().enumerate() {
        let id = format!("c{number}");
        let function = json!({"name": "bash", "arguments": "{\"command\":\"cargo test\"}"});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": answer}));
    }
    json!({ "messages": messages })
}

fn check(answers: &[&str], expected: &[Option<bool>]) {
    assert_eq!(known(&chat(answers), Format::Openai), expected, "{answers:?}");
}

#[test]
fn a_command_that_still_runs_has_no_status_whatever_it_has_printed() {
    let frame = |line: &str, output: &str| format!("Chunk ID: a\nWall time: 1 seconds\n{line}\nOutput:\n{output}");
    let runs = frame(
        "Process running with session ID 5",
        "test a ... FAILED\nProcess exited with code 0",
    );
    check(&[&runs], &[None]);
    let failed = frame("Process exited with code 101", "test a ... FAILED\nExit code: 0");
    let passed = frame("Process exited with code 0", "test a ... ok");
    let plain = frame("Process exited with code 0", "a.rs");
    check(
        &[&runs, &failed, &passed, &plain, &plain],
        &[None, Some(false), Some(true), Some(true), Some(true)],
    );
    let item = |payload: Value| json!({"timestamp": "t", "type": "response_item", "payload": payload}).to_string();
    let file = [
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}),
        json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"cargo test\"}", "call_id": "c"}),
        json!({"type": "function_call_output", "call_id": "c", "output": runs}),
    ];
    let document = read(file.map(item).join("\n").as_bytes(), Some(Format::Codex)).unwrap();
    let results = document.messages.iter().flat_map(Message::tool_results);
    assert_eq!(results.map(|result| result.success).collect::<Vec<_>>(), [None]);
}

#[test]
fn an_object_with_what_was_printed_and_a_status_is_the_harness_s() {
    let (failed, passed) = (
        r#"{"stdout":"a\nb","exit_code":1}"#,
        r#"{"stdout":"3 failed\nFAILED","exit_code":0}"#,
    );
    check(&["a.rs", passed, failed], &[None, Some(true), Some(false)]);
    check(&[r#"{"error":"no such page"}"#, r#"{"exit_code":1}"#], &[None, None]);
    let parts: Vec<usize> = results(&chat(&[failed]), Format::Openai)
        .iter()
        .map(|result| result.output.len())
        .collect();
    assert_eq!(parts, [2]);
}

proptest! {
    #[test]
    fn a_failure_that_the_harness_always_states_is_hidden_by_nothing_that_is_printed(
        runs in prop::collection::vec((0..3_i64, prop::sample::select(vec!["ok", "Exit code: 0\nx", "Exit code: 1",
            "<exit_code>0</exit_code>\nFAILED", "x\n[The command completed with exit code 0.]", "Process exited with code 1\nx"])), 5..9),
        form in 0..3_usize,
    ) {
        // If many outputs imitate a status, a success may become a failure, but never the reverse.
        let texts: Vec<String> = runs.iter().map(|(status, printed)| match form {
            0 => format!("{printed}\n[Command finished with exit code {status}]"),
            1 => format!("<returncode>{status}</returncode>\n<output>\n{printed}\n</output>"),
            _ => format!("Chunk ID: a\nWall time: 1 seconds\nProcess exited with code {status}\nOutput:\n{printed}"),
        }).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (found, (status, _)) in known(&chat(&texts), Format::Openai).iter().zip(&runs) {
            prop_assert!(*status == 0 || *found == Some(false));
        }
    }

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

/// Returns the success of calls with flagged results: the tool, its input, and its output.
fn flagged(calls: &[(&str, Value, &str, Option<bool>)]) -> Vec<Option<bool>> {
    let mut messages = vec![json!({"role": "user", "content": "Mend it."})];
    for (number, (tool, input, content, flag)) in calls.iter().enumerate() {
        let id = format!("c{number}");
        let mut answer = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        if let Some(flag) = flag {
            answer["is_error"] = json!(flag);
        }
        messages.push(
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}),
        );
        messages.push(json!({"role": "user", "content": [answer]}));
    }
    known(&json!({ "messages": messages }), Format::Anthropic)
}

#[test]
fn flags_of_other_tools_say_nothing_of_commands_that_have_none() {
    let (yes, no) = (Some(true), Some(false));
    let run = |line: &str, output: &'static str, flag| ("bash", json!({"command": line}), output, flag);
    let tests = || run("npm test", "Tests  2 failed | 40 passed (42)", None);
    let edit = || {
        (
            "Edit",
            json!({"file_path": "/w/a.ts", "old_string": "a", "new_string": "b"}),
            "The user doesn't want to proceed with this tool use.",
            yes,
        )
    };
    let read = || ("Read", json!({"file_path": "/w/a.ts"}), "File does not exist.", yes);
    let refused = || {
        run(
            "kubectl delete pod a",
            "The user doesn't want to proceed with this tool use.",
            yes,
        )
    };
    assert_eq!(flagged(&[edit(), tests()]), [no, None]);
    assert_eq!(flagged(&[read(), tests()]), [no, None]);
    assert_eq!(flagged(&[refused(), tests()]), [no, None]);
    // If other tools omit the flag, it means "no error".
    let seen = ("Read", json!({"file_path": "/w/b.ts"}), "text", None);
    assert_eq!(flagged(&[read(), seen]), [no, yes]);
    // A failed command is flagged.
    let failed = || run("make", "make: *** [all] Error 2", yes);
    assert_eq!(flagged(&[failed(), run("npm test", "40 passed", None)]), [no, yes]);
}

#[test]
fn flags_that_are_all_alike_are_no_statuses_of_commands() {
    let (yes, no) = (Some(true), Some(false));
    let run = |line: &str, output: &'static str, flag| ("bash", json!({"command": line}), output, flag);
    let lint = || run("npm run check", "Found 687 errors.", no);
    let good = || run("cargo test", "test result: ok. 3 passed; 0 failed", no);
    assert_eq!(flagged(&[lint(), good(), run("ls", "a", no)]), [None; 3]);
    // If some commands are flagged as failed, the others count as successful; a stated status takes precedence.
    assert_eq!(flagged(&[good(), run("make", "timed out", yes)]), [yes, no]);
    let stated = run("cargo test", "1 failed\nExit code 1", no);
    assert_eq!(flagged(&[stated, good()]), [no, None]);
    // For other tools the flags count as they are.
    let read = ("Read", json!({"file_path": "/w/a.ts"}), "Found 3 errors.", no);
    assert_eq!(flagged(&[lint(), read]), [None, yes]);
    let edit = json!({"file_path": "/w/a.ts", "old_string": "a", "new_string": "b"});
    let object = "{\"status\":\"denied\",\"message\":\"The user denied this operation.\"}";
    assert_eq!(flagged(&[("Edit", edit, object, no)]), [no]);
}

#[test]
fn what_runs_on_has_no_status_whatever_its_flag_says() {
    let started = "Command running in background with ID: b1. Output is being written to: /tmp/b1";
    let flagged = flagged(&[
        ("bash", json!({"command": "npm test"}), "no", Some(true)),
        ("bash", json!({"command": "npm start"}), started, Some(false)),
    ]);
    assert_eq!(flagged, [Some(false), None]);
}
