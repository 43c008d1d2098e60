//! What a Gemini function answers with is an object of any fields, and none of them is lost.

use codelet_context::compact::{Compaction, Target, compact};
use codelet_context::history::History;
use codelet_context::message::Message;
use codelet_transcript::{Document, Format, read, write};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// One call for each response, in turn.
fn request(responses: impl IntoIterator<Item = Value>) -> Value {
    let mut contents = vec![json!({"role": "user", "parts": [{"text": "Build it."}]})];
    for response in responses {
        let call = json!({"functionCall": {"name": "run", "args": {}}});
        let answer = json!({"functionResponse": {"name": "run", "response": response}});
        contents.push(json!({"role": "model", "parts": [call]}));
        contents.push(json!({"role": "user", "parts": [answer]}));
    }
    json!({ "contents": contents })
}

fn parsed(request: &Value) -> Document {
    read(request.to_string().as_bytes(), Some(Format::Gemini)).unwrap()
}

fn check_comes_back(response: Value) {
    let request = request([response]);
    assert_eq!(write(&parsed(&request), Format::Gemini).unwrap(), request.to_string());
}

#[test]
fn a_response_comes_back_whatever_its_fields() {
    check_comes_back(json!({"output": "build ok", "exit_code": 1, "stderr": "WARNING: disk"}));
    check_comes_back(json!({"error": "boom", "output": "partial out", "code": 7}));
    check_comes_back(json!({"stderr": null, "content": "x", "lines": 3, "more": {"a": [1.50, null]}, "notes": ""}));
    check_comes_back(json!({"output": "", "exit_code": 1}));
    check_comes_back(json!({"code": 1, "log": "two\nlines", "text": "said"}));
    check_comes_back(json!({"temperature": 20, "unit": "C"}));
    let inner =
        json!({"functionResponse": {"name": "run", "response": {"output": "x", "n": 1}, "parts": [{"text": "words"}]}});
    let mut request = request([json!({"output": "x"})]);
    request["contents"][2]["parts"][0] = inner;
    assert_eq!(write(&parsed(&request), Format::Gemini).unwrap(), request.to_string());
}

#[test]
fn a_response_without_an_id_answers_the_call_in_its_place_whatever_its_name() {
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let answer = |name: &str, said: &str| json!({"functionResponse": {"name": name, "response": {"output": said}}});
    let request = json!({"contents": [
        {"role": "user", "parts": [{"text": "Build it."}]},
        {"role": "model", "parts": [call("read"), call("write"), call("list")]},
        {"role": "user", "parts": [answer("other", "first"), answer("list", "third"), answer("", "second")]},
    ]});
    let document = parsed(&request);
    let ids: Vec<_> = document.messages[1].calls().map(|call| call.id.clone()).collect();
    let answered: Vec<_> = document.messages[2]
        .tool_results()
        .map(|result| result.call_id.clone())
        .collect();
    assert_eq!(answered, [ids[0].clone(), ids[2].clone(), ids[1].clone()]);
    assert_eq!(write(&document, Format::Gemini).unwrap(), request.to_string());
    let done = compact(&document.messages.into_iter().collect(), Target::Select);
    assert!(!format!("{:?}", done.view.messages).contains("[interrupted]"));
}

#[test]
fn a_response_says_whether_it_is_one_of_success() {
    let check = |response: Value, success: Option<bool>| {
        let request = request([response]);
        let document = parsed(&request);
        assert_eq!(write(&document, Format::Gemini).unwrap(), request.to_string());
        let result = document.messages[2].tool_results().next().unwrap();
        assert_eq!(result.success, success, "{request}");
    };
    check(json!({"ok": false, "content": "no"}), Some(false));
    check(json!({"success": true, "content": "x"}), Some(true));
    check(json!({"error": false, "result": "x"}), None);
    check(json!({"error": {"code": 5}, "ok": true}), Some(false));
    check(json!({"isError": true, "content": "x"}), Some(false));
    check(json!({"status": "denied", "message": "no"}), Some(false));
    check(json!({"status": "pending", "message": "no"}), None);
    check(json!({"ok": true, "stdout": "x", "returncode": 2}), Some(false));
    check(json!({"output": "x", "status": 404}), None);
}

#[test]
fn other_vendors_are_told_all_fields() {
    let request = request([
        json!({"error": "boom", "output": "partial out", "code": 7}),
        json!({"output": "build ok", "exit_code": 1, "stderr": "WARNING: disk"}),
        json!({"content": "x", "lines": 3}),
        json!({"result": "alone"}),
        json!({"output": "nothing else", "error": null, "files": []}),
    ]);
    let document = parsed(&request);
    let anthropic: Value = serde_json::from_str(&write(&document, Format::Anthropic).unwrap()).unwrap();
    let told: Vec<&str> = anthropic["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"][0]["content"].as_str())
        .collect();
    assert_eq!(
        told,
        [
            r#"{"error":"boom","output":"partial out","code":7}"#,
            r#"{"output":"build ok","exit_code":1,"stderr":"WARNING: disk"}"#,
            r#"{"content":"x","lines":3}"#,
            "alone",
            "nothing else",
        ]
    );
    for format in [Format::Openai, Format::Responses] {
        let text = write(&document, format).unwrap();
        for words in ["boom", "partial out", "WARNING: disk", "alone"] {
            assert!(text.contains(words), "{format}: {words}");
        }
    }
}

fn long_session() -> Value {
    request((0..30).map(|step| {
        let output: String = (0..60)
            .map(|line| format!("step {step} compiled unit {line}\n"))
            .collect();
        json!({"output": output, "stderr": format!("UNIQUE-{step} fatal: disk\n{}", "at frame\n".repeat(40)),
               "exit_code": step, "hosts": [format!("HOST-{step}")]})
    }))
}

/// What came of a compaction of a document, in its own form.
fn written(document: Document, done: &Compaction) -> String {
    let messages = done.view.messages.iter();
    let messages = messages.map(|message| Message::clone(message)).collect();
    write(&Document { messages, ..document }, Format::Gemini).unwrap()
}

#[test]
fn every_field_that_a_compaction_removes_can_be_read_back() {
    let document = parsed(&long_session());
    let history: History = document.messages.clone().into_iter().collect();
    let done = compact(&history, Target::Budget(4_000));
    let written = written(document, &done);
    assert!(serde_json::from_str::<Value>(&written).is_ok() && written.len() < 40_000);
    let removed: String = done
        .view
        .archive
        .iter()
        .map(|(_, removed)| removed.body.as_str())
        .collect();
    for step in 0..30 {
        for words in [format!("UNIQUE-{step} fatal"), format!("HOST-{step}\"")] {
            let escaped = words.replace('"', "\\\"");
            assert!(
                written.contains(&words) || written.contains(&escaped) || removed.contains(&words),
                "{words} is gone"
            );
        }
    }
}

#[test]
fn what_is_cut_stands_in_its_own_field() {
    let mut document = parsed(&long_session());
    document.messages.truncate(3);
    let history: History = document.messages.clone().into_iter().collect();
    let done = compact(&history, Target::Budget(250));
    let written = written(document, &done);
    let written: Value = serde_json::from_str(&written).unwrap();
    let contents = written["contents"].as_array().unwrap();
    let parts = contents.iter().flat_map(|content| content["parts"].as_array().unwrap());
    let response = parts
        .filter_map(|part| part.get("functionResponse"))
        .map(|answer| &answer["response"])
        .next()
        .unwrap();
    let fields: Vec<&String> = response.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["output", "stderr", "exit_code", "hosts"], "{response}");
    assert!(response["output"].as_str().unwrap().contains("recall"), "{response}");
    assert!(response["stderr"].as_str().unwrap().contains("recall"), "{response}");
    assert_eq!(response["hosts"], json!(["HOST-0"]));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z \n]{0,9}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-c]", inner), 0..3).prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

proptest! {
    #[test]
    fn any_object_comes_back(
        names in prop::sample::subsequence(vec!["output", "error", "stderr", "exit_code", "result", "other", "text"], 0..6).prop_shuffle(),
        values in prop::collection::vec(value(), 6),
    ) {
        let fields = names.into_iter().map(str::to_owned).zip(values);
        check_comes_back(Value::Object(Map::from_iter(fields)));
    }
}
