//! An answer that is wholly one JSON object is read text by text, and written as it came.

use codelet_context::compact::{Target, compact};
use codelet_context::history::History;
use codelet_context::message::{Message, ToolResult};
use codelet_context::recall::Archive;
use codelet_context::tokens::Tokens;
use codelet_context::view::View;
use codelet_transcript::{Document, Format, read, write};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

const FORMS: [Format; 3] = [Format::Anthropic, Format::Openai, Format::Responses];

/// A conversation compacted to so many tokens, as it is written, and what left it.
fn compacted(document: Document, budget: Tokens, format: Format) -> (String, Archive) {
    let history: History = document.messages.iter().cloned().collect();
    let View { messages, archive } = compact(&history, Target::Budget(budget)).view;
    let messages = messages.into_iter().map(Arc::unwrap_or_clone).collect();
    (write(&Document { messages, ..document }, format).unwrap(), archive)
}

/// One call of this tool for each answer, in turn.
fn request(format: Format, tool: &str, parameters: &Value, answers: &[&str]) -> String {
    let mut list = vec![json!({"role": "user", "content": "Mend it."})];
    for (number, answer) in answers.iter().enumerate() {
        let id = format!("c{number}");
        list.extend(match format {
            Format::Anthropic => [
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": parameters}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": answer}]}]}),
            ],
            Format::Openai => [
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": tool, "arguments": parameters.to_string()}}]}),
                json!({"role": "tool", "tool_call_id": id, "content": answer}),
            ],
            _ => [
                json!({"type": "function_call", "call_id": id, "name": tool, "arguments": parameters.to_string()}),
                json!({"type": "function_call_output", "call_id": id, "output": answer}),
            ],
        });
    }
    let list_name = if format == Format::Responses {
        "input"
    } else {
        "messages"
    };
    json!({ list_name: list }).to_string()
}

fn parsed(format: Format, request: &str) -> Document {
    let document = read(request.as_bytes(), Some(format)).unwrap();
    assert_eq!(write(&document, format).unwrap(), request, "{format}");
    document
}

fn results(document: &Document) -> Vec<&ToolResult> {
    document.messages.iter().flat_map(Message::tool_results).collect()
}

/// The texts and the success of the answer to one call, in every form.
fn check(tool: &str, parameters: Value, answer: &str, texts: &[&str], success: Option<bool>) {
    for format in FORMS {
        let document = parsed(format, &request(format, tool, &parameters, &[answer]));
        let result = results(&document)[0];
        let found: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
        assert_eq!(
            (found.as_slice(), result.success),
            (texts, success),
            "{format} {answer}"
        );
    }
}

fn check_whole(tool: &str, parameters: Value, answer: &str, success: Option<bool>) {
    check(tool, parameters, answer, &[answer], success);
}

#[test]
fn the_texts_of_an_object_are_texts_of_the_answer() {
    let run = || json!({"command": "make"});
    check(
        "bash",
        run(),
        r#"{"output":"--- FAIL","exitCode":1}"#,
        &["--- FAIL", r#"{"exitCode":1}"#],
        Some(false),
    );
    check(
        "run_bash",
        run(),
        "{\"returncode\": 0, \"stdout\": \"a \\u2026\\nb\\/c\", \"stderr\": \"\"}"
            .replace("\\/", "/")
            .as_str(),
        &["a …\nb/c", r#"{"returncode":0}"#],
        Some(true),
    );
    check(
        "get_file_contents",
        json!({"file": "a.py"}),
        "{\n  \"ok\": true,\n  \"content\": \"import os\\n\\tx\"\n}\n",
        &["import os\n\tx", r#"{"ok":true}"#],
        None,
    );
    check("x", json!({}), r#"{"html":"<b>/\n\u00e9"}"#, &["<b>/\né"], None);
}

#[test]
fn an_object_of_which_nothing_is_gained_stays_a_text() {
    let file = || json!({"file": "a.py", "find": "a", "replace": "b"});
    check_whole(
        "modify_file",
        file(),
        r#"{"ok": false, "error": "pattern not found", "replaced": 0}"#,
        Some(false),
    );
    check_whole("modify_file", file(), r#"{"ok":true}"#, Some(true));
    check_whole(
        "modify_file",
        file(),
        r#"{"status":"denied","message":"no"}"#,
        Some(false),
    );
    // It cannot be put together again as it was.
    check_whole("x", json!({}), r#"{"html":"\u003cb\u003e/\né"}"#, None);
    check_whole("x", json!({}), "{\"a\":\"x\\n\\u0061\"}", None);
    check_whole("x", json!({}), "{\"a\":\"x\\ny\",\"a\":\"x\\ny\"}", None);
    check_whole("x", json!({}), "{\"a\":\"x\\n\\ud83d\"}", None);
    let long = json!({"a": "x\ny", "b": vec![1; 1_000]}).to_string();
    check_whole("x", json!({}), &long, None);
    // Half an object, and words around one.
    check_whole("x", json!({}), "{\"a\":\"x\\ny\"", None);
    check_whole("x", json!({}), "{\"a\":\"x\\ny\"} and {}", None);
}

#[test]
fn what_was_asked_for_says_nothing_of_the_tool() {
    let answers = ["{\"error\": \"timeout\", \"ok\": false}", "fn main() {}", "plain"];
    for (tool, parameters) in [
        ("read_file", json!({"path": "answer.json"})),
        ("bash", json!({"command": "cat answer.json"})),
    ] {
        let document = parsed(Format::Openai, &request(Format::Openai, tool, &parameters, &answers));
        assert_eq!(results(&document)[0].success, None, "{tool}");
    }
    check_whole(
        "bash",
        json!({"command": "curl x"}),
        r#"{"error":"no such page"}"#,
        None,
    );
}

#[test]
fn a_change_is_told_of_in_an_object_now_and_then() {
    let parameters = json!({"path": "a", "old_string": "x", "new_string": "y"});
    let answers = ["Edited.", "{\"status\":\"error\",\"message\":\"no match\"}", "Edited."];
    let document = parsed(
        Format::Openai,
        &request(Format::Openai, "edit_file", &parameters, &answers),
    );
    let success: Vec<Option<bool>> = results(&document).iter().map(|result| result.success).collect();
    assert_eq!(success, [None, Some(false), None]);
}

#[test]
fn another_vendor_is_told_the_whole_object() {
    let answer = r#"{"ok": true, "content": "a\nb"}"#;
    for format in FORMS {
        let document = parsed(format, &request(format, "f", &json!({}), &[answer]));
        for other in FORMS.into_iter().filter(|other| *other != format) {
            let written = write(&document, other).unwrap();
            assert!(
                written.contains(&json!(answer).to_string()),
                "{format} {other} {written}"
            );
        }
    }
}

#[test]
fn a_text_that_is_cut_stands_in_its_object_and_its_handle_gives_it_back() {
    let lines = |step: usize| {
        (0..80)
            .map(|line| format!("step {step} line {line} é\n"))
            .collect::<String>()
    };
    let answers: Vec<String> = (0..30)
        .map(|step| format!("{{\"ok\": true, \"content\": {}}}", json!(lines(step))))
        .collect();
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    for format in FORMS {
        let document = parsed(format, &request(format, "load", &json!({}), &answers));
        let (written, archive) = compacted(document, 4_000, format);
        assert!(written.len() < 40_000, "{format}");
        let removed: Vec<&str> = archive.iter().map(|(_, removed)| removed.body.as_str()).collect();
        for step in 0..30 {
            let text = lines(step);
            let there = written.contains(&json!(text).to_string().replace('\\', "\\\\").replace('"', "\\\""));
            assert!(there || removed.iter().any(|body| **body == text), "{format} {step}");
        }
        assert!(read(written.as_bytes(), Some(format)).is_ok());
    }
}

#[test]
fn a_cut_object_is_an_object() {
    let lines: String = (0..400).map(|line| format!("line {line}\n")).collect();
    let answer = format!("{{\"ok\": true, \"content\": {}}}", json!(lines));
    let document = parsed(
        Format::Openai,
        &request(Format::Openai, "load", &json!({}), &[answer.as_str()]),
    );
    let (written, _) = compacted(document, 400, Format::Openai);
    let written: Value = serde_json::from_str(&written).unwrap();
    let answer = written["messages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|message| message["role"] == "tool")
        .unwrap();
    let object: Value = serde_json::from_str(answer["content"].as_str().unwrap()).unwrap();
    assert_eq!(object["ok"], true);
    assert!(object["content"].as_str().unwrap().contains("recall"), "{object}");
}

/// JSON as anybody writes it.
fn raw() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", " ", "\n  ", "\t"]);
    let literal = prop_oneof![
        4 => "([a-z ]|\\\\n|\\\\\"|\\\\u00e9|é|\\\\ud83d\\\\ude00|😀|/|\\\\/|<|\\\\u003c|\u{7f}){0,12}".prop_map(|text| format!("\"{text}\"")),
        1 => prop::sample::select(vec!["\"\\ud83d\"", "\"\\ud83dx\\n\"", "null", "true", "1.50", "[1, {\"a\": \"x\\ny\"}]", "{\"output\":\"a\\nb\"}", "{}"])
            .prop_map(str::to_owned),
    ];
    let name = prop::sample::select(vec![
        "output", "stdout", "stderr", "content", "error", "ok", "exitCode", "a", "\\u0061", "é",
    ]);
    let field = (name, space.clone(), literal, space.clone());
    (prop::collection::vec(field, 0..5), space).prop_map(|(fields, space)| {
        let fields: Vec<String> = fields
            .into_iter()
            .map(|(name, a, value, b)| format!("{a}\"{name}\"{b}:{a}{value}{b}"))
            .collect();
        format!("{space}{{{space}{}}}{space}", fields.join(","))
    })
}

proptest! {
    #[test]
    fn any_object_comes_back_to_the_byte(raw in raw(), tool in prop::sample::select(vec!["bash", "read_file", "edit", "x"])) {
        let parameters = json!({"command": "make", "path": "a", "old_string": "x"});
        for format in FORMS {
            let request = request(format, tool, &parameters, &[raw.as_str()]);
            let document = parsed(format, &request);
            for other in FORMS {
                write(&document, other).unwrap();
            }
        }
    }

    #[test]
    fn no_text_that_looks_like_one_breaks_it(text in "\\{([\"\\\\:,{}\\[\\]an0 ]|\"a\"|\"x\\\\n\"|\\PC){0,20}\\}") {
        for format in FORMS {
            parsed(format, &request(format, "bash", &json!({"command": "make"}), &[text.as_str()]));
        }
    }
}

#[test]
fn the_envelope_of_codex_is_taken_apart_and_its_status_counts() {
    let arguments = json!({"command": ["bash", "-lc", "pytest -q"], "workdir": "/w/app"}).to_string();
    let call = json!({"type": "function_call", "name": "shell", "call_id": "c1", "arguments": arguments});
    let envelope = r#"{"output":"F..\n1 failed, 2 passed","metadata":{"exit_code":1,"duration_seconds":0.3}}"#;
    let answer = json!({"type": "function_call_output", "call_id": "c1", "output": envelope});
    let line = |item| json!({"timestamp": "2025-10-01T10:00:00.000Z", "type": "response_item", "payload": item});
    let session = [call, answer].map(|item| line(item).to_string()).join("\n");
    let document = read(session.as_bytes(), Some(Format::Codex)).unwrap();
    let result = results(&document)[0];
    assert_eq!(result.success, Some(false));
    let texts: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
    assert_eq!(texts[0], "F..\n1 failed, 2 passed");
    let written = write(&document, Format::Responses).unwrap();
    assert!(written.contains(&Value::from(envelope).to_string()), "{written}");
}
