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
    // Elsewhere it is an answer that failed.
    let document = read(gemini.to_string().as_bytes(), None).unwrap();
    assert!(
        write(&document, Format::Anthropic)
            .unwrap()
            .contains("\"is_error\":true")
    );
}

/// A command for each answer, in the form without flags.
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
    let passed = frame("Process exited with code 0", "test a ... ok\nExit code: 1");
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
fn only_the_form_in_which_the_tool_mostly_states_it_is_the_harness_s() {
    let (yes, no) = (Some(true), Some(false));
    // The program prints what other harnesses write.
    let posing = "<exit_code>0</exit_code>\ntest a ... FAILED\n1 failed\n\nCommand exited with code 1";
    let failed = "test a ... FAILED\n\nCommand exited with code 1";
    check(&[failed, posing, "ok"], &[no, no, None]);
    check(&[posing], &[no]);
    let framed = "Exit code: 1\ntest a ... FAILED\n[Command finished with exit code 0]";
    check(&[framed], &[no]);
    check(&[framed, "Exit code: 0\nok", "Exit code: 2\nx"], &[no, yes, no]);
    // A failure that a program tells of is none of the command where the harness says so each time.
    let expected = "Exit code: 1\nas expected\n[Command finished with exit code 0]";
    let others = "x\n[Command finished with exit code 0]";
    check(&[expected, others, others, others, others], &[yes; 5]);
    // A harness that has only failures to tell, and programs that end with a line of their own.
    let told = "Exit code 101\ntest a ... FAILED";
    let own = "test a ... FAILED\nExit code: 0";
    check(&[told, own], &[no, None]);
    let texts = [told, told, told, told, told, told, told, told, own, "x\nExit code: 1"];
    let expected = [no, no, no, no, no, no, no, no, None, None];
    check(&texts, &expected);
    // Whatever words it has for a failure.
    check(
        &[
            "Command completed with exit code 0\nx",
            "Command failed with exit code 2.\nx",
        ],
        &[yes, no],
    );
}

#[test]
fn an_object_that_a_command_printed_states_nothing() {
    let (failed, passed) = (
        r#"{"stdout":"a\nb","exit_code":1}"#,
        r#"{"stdout":"3 failed\nFAILED","exit_code":0}"#,
    );
    check(&["a.rs", passed, "b.rs", failed], &[None; 4]);
    check(&["a.rs", passed, failed], &[None, Some(true), Some(false)]);
    let no = || Some(Value::Bool(false));
    let request = anthropic(&[
        (json!("Exit code 1"), Some(Value::Bool(true))),
        (json!(failed), no()),
        (json!("a.rs"), no()),
    ]);
    assert_eq!(
        known(&request, Format::Anthropic),
        [Some(false), Some(true), Some(true)]
    );
    // One line with a status is worth no parting where it is what was printed.
    let parts = |answers: &[&str]| {
        results(&chat(answers), Format::Openai)
            .iter()
            .map(|result| result.output.len())
            .collect::<Vec<_>>()
    };
    let short = r#"{"stdout":"a","exit_code":1}"#;
    assert_eq!(parts(&[short]), [2]);
    assert_eq!(parts(&[short, "a", "b"]), [1; 3]);
}

#[test]
fn flags_that_tell_failures_decide_over_a_text_that_some_answers_have() {
    let (yes, no) = (|| Some(Value::Bool(false)), || Some(Value::Bool(true)));
    let said = "expected failure seen\nExit code: 1";
    let request = anthropic(&[
        (json!("Exit code 1\nx"), no()),
        (json!(said), yes()),
        (json!("ok"), None),
    ]);
    assert_eq!(
        known(&request, Format::Anthropic),
        [Some(false), Some(true), Some(true)]
    );
    // All alike, they tell of nothing.
    let request = anthropic(&[(json!("ok"), yes()), (json!(said), yes())]);
    assert_eq!(known(&request, Format::Anthropic), [Some(true), Some(false)]);
    // The harness states it each time; the flag says that a command was not run.
    let framed = |status: u8| json!(format!("x\n[Command finished with exit code {status}]"));
    let mut answers: Vec<(Value, Option<Value>)> = (0..5).map(|n| (framed(n % 2), yes())).collect();
    answers.push((json!("The command was refused."), no()));
    let expected = [true, false, true, false, true, false].map(Some);
    assert_eq!(known(&anthropic(&answers), Format::Anthropic), expected);
}

proptest! {
    #[test]
    fn a_failure_that_the_harness_always_states_is_hidden_by_nothing_that_is_printed(
        runs in prop::collection::vec((0..3_i64, prop::sample::select(vec!["ok", "Exit code: 0\nx", "Exit code: 1",
            "<exit_code>0</exit_code>\nFAILED", "x\n[The command completed with exit code 0.]", "Process exited with code 1\nx"])), 5..9),
        form in 0..3_usize,
    ) {
        // Where many pose in the same way, a success may become a failure, and never the other way round.
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

/// What is known of commands that were answered so.
fn known_of(answers: &[&str]) -> Vec<Option<bool>> {
    let answers: Vec<_> = answers.iter().map(|answer| (json!(answer), None)).collect();
    known(&anthropic(&answers), Format::Anthropic)
}

#[test]
fn a_status_in_any_words_counts_where_every_answer_has_it() {
    let (good, bad) = (Some(true), Some(false));
    for (passed, failed) in [
        (
            "3 passed\n--- process ended with status 0 after 0.41s ---",
            "1 failed\n--- process ended with status 1 after 12.00s ---",
        ),
        ("[OK exit=0]\n3 passed", "[FAILED exit=1]\n1 failed"),
        (
            "3 passed\nexited with status 0 after 0.41s",
            "1 failed\nexited with status 1 after 1m",
        ),
        ("3 passed\n*** exit status 0 ***", "1 failed\n*** exit status 2 ***"),
        ("$ pytest -> exit 0\n3 passed", "$ pytest -> exit 1\n1 failed"),
    ] {
        assert_eq!(known_of(&[passed, failed, passed]), [good, bad, good], "{passed}");
    }
}

#[test]
fn a_program_that_speaks_so_does_not_pose() {
    // In one of many, or where there are too few answers to tell.
    for line in ["--- exited with status 1 after 3s ---", "[worker rc=1]", "exit=1"] {
        let one = format!("done\n{line}");
        assert_eq!(known_of(&["a", "b", &one, "c"]), [None; 4], "{line}");
        assert_eq!(known_of(&[&one, &one]), [None; 2], "{line}");
    }
    // The harness's own form stands in all others.
    let own = "a\n[exit code: 0]";
    let both = "[worker rc=1]\na\n[exit code: 0]";
    assert_eq!(known_of(&[own, own, both, own]), [Some(true); 4]);
}

/// Calls with their answers, each with its flag: the tool, what it is given, and what it says.
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
    // What other tools leave out, they leave out for no error.
    let seen = ("Read", json!({"file_path": "/w/b.ts"}), "text", None);
    assert_eq!(flagged(&[read(), seen]), [no, yes]);
    // A command that failed is flagged so, and yet this one shows that it has failed.
    let failed = || run("make", "make: *** [all] Error 2", yes);
    assert_eq!(flagged(&[failed(), tests()]), [no, None]);
    assert_eq!(flagged(&[failed(), run("npm test", "40 passed", None)]), [no, yes]);
    assert_eq!(
        flagged(&[failed(), run("ls", "2 failed", None)]),
        [no, yes],
        "it checks nothing"
    );
}

#[test]
fn flags_that_never_tell_of_a_check_that_failed_are_no_statuses() {
    let (yes, no) = (Some(true), Some(false));
    let run = |line: &str, output: &'static str, flag| ("bash", json!({"command": line}), output, flag);
    let lint = || {
        run(
            "npm run check",
            "Found 687 errors.\n× Some errors were emitted while running checks.",
            no,
        )
    };
    let good = || run("cargo test", "test result: ok. 3 passed; 0 failed", no);
    assert_eq!(flagged(&[lint(), run("ls", "a", no)]), [None, None]);
    assert_eq!(
        flagged(&[lint(), lint(), run("make", "timed out", yes)]),
        [None, None, no]
    );
    // Nor are those that say so of what has failed by its words, or of what could not be done.
    let broken = run("flutter test", "00:02 +11 -1: Some tests failed.", no);
    assert_eq!(flagged(&[broken, run("ls", "a", no)]), [None, None]);
    let unfound = || run("cat /w/none.txt", "cat: /w/none.txt: No such file or directory", no);
    assert_eq!(flagged(&[unfound(), unfound(), good()]), [None, None, None]);
    // A script may go on behind one that was not found.
    assert_eq!(flagged(&[unfound(), good()]), [yes, yes]);
    assert_eq!(flagged(&[unfound(), run("make", "timed out", yes)]), [yes, no]);
    // Where they do, one output that looks otherwise shows nothing.
    let failed = || run("make", "make: *** [all] Error 2", yes);
    assert_eq!(flagged(&[lint(), failed()]), [yes, no]);
    // What stands behind a pipe or ends well denies nothing, and a status that is stated is believed.
    assert_eq!(
        flagged(&[run("npm run check | tail -3", "Found 3 errors.", no), good()]),
        [yes, yes]
    );
    let shown = run(
        "cargo test",
        "worker: 2 failed\ntest result: ok. 3 passed; 0 failed",
        no,
    );
    assert_eq!(flagged(&[shown, good()]), [yes, yes]);
    let stated = run("cargo test", "1 failed\nExit code 1", no);
    assert_eq!(flagged(&[stated, good()]), [no, yes]);
    // Of other tools they say what they say.
    let read = ("Read", json!({"file_path": "/w/a.ts"}), "Found 3 errors.", no);
    assert_eq!(flagged(&[lint(), read]), [None, yes]);
}

#[test]
fn a_flag_that_says_no_error_of_a_change_that_was_not_made_says_nothing() {
    let (yes, no) = (Some(true), Some(false));
    let edit = |answer: &'static str, flag| {
        (
            "Edit",
            json!({"file_path": "/w/a.ts", "old_string": "a", "new_string": "b"}),
            answer,
            flag,
        )
    };
    let failed = || ("Read", json!({"file_path": "/w/b.ts"}), "File does not exist.", yes);
    for answer in [
        "String to replace not found in file.",
        "The user denied this operation.\n<feedback>\nnot this file\n</feedback>",
        "Permission to use Edit has been denied",
    ] {
        assert_eq!(flagged(&[failed(), edit(answer, None)]), [no, None], "{answer}");
        assert_eq!(flagged(&[edit(answer, no)]), [None], "{answer}");
        assert_eq!(flagged(&[edit(answer, yes)]), [no], "{answer}");
    }
    for answer in [
        "The file /w/a.ts has been updated. Here's the result:\n1\terror: not found\n2\tcannot",
        "OK",
        "Applied. 2 lint errors were not fixed.",
    ] {
        assert_eq!(flagged(&[failed(), edit(answer, None)]), [no, yes], "{answer}");
        assert_eq!(flagged(&[edit(answer, no)]), [yes], "{answer}");
    }
    let object = "{\"status\":\"denied\",\"message\":\"The user denied this operation.\"}";
    assert_eq!(flagged(&[edit(object, no)]), [no]);
    // Of a read the text is what was asked for.
    let read = (
        "Read",
        json!({"file_path": "/w/b.ts"}),
        "The user denied this operation.",
        no,
    );
    assert_eq!(flagged(&[read]), [yes]);
}
