//! `--schema`: an answer that is JSON, or none.

use crate::common::agent::{Bench, WIRES, name};
use crate::common::{ended, refused, stderr, stdout};
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::{Value, json};
use std::process::Output;

const SCHEMA: &str = r#"{"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}"#;
/// More digits than a number of the machine has.
const HUGE: &str = "12345678901234567890123";

#[test]
fn an_answer_that_does_not_fit_goes_back_with_its_faults_until_one_fits() {
    for (wire, ..) in WIRES {
        let bench = Bench::new();
        bench.file("a.txt", "one\n");
        let replies = [
            Reply::call("Read", json!({"file_path": "a.txt"})),
            Reply::text("There are many."),
            Reply::text(r#"{"count": "two"}"#),
            Reply::text(format!("```json\n{{\"count\": {HUGE}}}\n```")),
        ];
        let server = Server::start(wire, Behaviour::replies(replies));
        let output = bench.ask(&server, wire, &["-p", "How many?", "--schema", SCHEMA]);
        ended(&output, 0);
        assert_eq!(stdout(&output), format!("{{\"count\":{HUGE}}}\n"), "{}", name(wire));
        let record = server.record();
        assert_eq!(record.faults(), "", "{}", name(wire));
        let asked = |request: usize| record.exchanges[request].request.last_user_text().unwrap();
        assert!(asked(0).starts_with("How many?") && asked(0).contains(r#""required":["count"]"#));
        assert!(asked(2).contains("not a single JSON value"), "{}", asked(2));
        assert!(
            asked(3).contains("/count") && asked(3).contains("integer"),
            "{}",
            asked(3)
        );
    }
}

#[test]
fn a_schema_leaves_the_part_of_the_request_that_all_runs_share_as_it_is() {
    let bench = Bench::new();
    let heads = [&["-p", "Hello?"][..], &["-p", "Hello?", "--schema", "{}"]].map(|args| {
        let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("1")]));
        ended(&bench.ask(&server, Wire::Anthropic, args), 0);
        let body = server.record().exchanges[0].request.json().clone();
        (body["system"].clone(), body["tools"].clone())
    });
    assert_eq!(heads[0], heads[1]);
}

#[test]
fn without_an_answer_that_fits_nothing_is_printed_and_the_status_says_so() {
    let bench = Bench::new();
    let server = Server::start(Wire::Chat, Behaviour::answering(|_| Reply::text("I count two.")));
    let output = bench.ask(&server, Wire::Chat, &["-p", "How many?", "--schema", SCHEMA]);
    ended(&output, 5);
    assert_eq!(stdout(&output), "");
    let told = stderr(&output);
    assert!(told.contains("none of 3 answers fits the schema"), "{told}");
    assert!(told.contains("I count two."), "{told}");
    assert_eq!(server.record().exchanges.len(), 3);

    let (result, output) = bench.result(&server, Wire::Chat, &["-p", "How many?", "--schema", SCHEMA]);
    ended(&output, 5);
    assert_eq!((&result["value"], &result["answer"]), (&Value::Null, &Value::Null));
    assert_eq!(result["unfinished"], "I count two.");
    assert_eq!(result["exit"], 5);
}

#[test]
fn a_number_beyond_a_double_passes_no_check() {
    let huge = "1".to_owned() + &"0".repeat(400);
    for (schema, answer, why) in [
        (r#"{"maximum": 5}"#, "1e400", "beyond what can be checked"),
        (r#"{"maximum": 5}"#, &huge, "beyond what can be checked"),
        (r#"{"minimum": 0}"#, "-1e400", "beyond what can be checked"),
        (
            r#"{"properties": {"a/b": {"exclusiveMaximum": 5}}}"#,
            r#"{"a/b": [9e999]}"#,
            "/a~1b/0: the number is beyond",
        ),
        (r#"{"maximum": 5}"#, "6", "must be <=5"),
        (r#"{"multipleOf": 0.01}"#, "19.995", "is not multipleOf 0.01"),
    ] {
        let output = answered(schema, answer);
        ended(&output, 5);
        assert_eq!(stdout(&output), "", "{schema} {answer}");
        let told = stderr(&output);
        assert!(told.contains(why), "{schema} {answer}: {told}");
    }
}

#[test]
fn a_number_that_a_double_holds_well_enough_fits() {
    for (schema, answer) in [
        (r#"{"type": "integer", "minimum": 0}"#, "12345678901234567890"),
        (r#"{"maximum": 9007199254740991}"#, "9007199254740991"),
        (r#"{"maximum": 9007199254740992}"#, "9007199254740992.0"),
        (r#"{"enum": [0.1, 1e2]}"#, "100"),
        (r#"{"multipleOf": 7}"#, "7000000000000000"),
        // Not in doubles.
        (r#"{"type": "number", "multipleOf": 0.01}"#, "19.99"),
        (
            r#"{"properties": {"price": {"allOf": [{"multipleOf": 0.01}, {"minimum": 0}]}}}"#,
            r#"{"price":19.99}"#,
        ),
    ] {
        let output = answered(schema, answer);
        ended(&output, 0);
        assert_eq!(stdout(&output), format!("{answer}\n"), "{schema}");
    }
    let output = answered(r#"{"multipleOf": 0.01, "maximum": 5}"#, "19.99");
    ended(&output, 5);
    assert!(!stderr(&output).contains("0.01"), "{}", stderr(&output));
}

/// The output of a run whose model gives this answer however often it is asked.
fn answered(schema: &str, answer: &str) -> Output {
    let answer = answer.to_owned();
    let server = Server::start(Wire::Anthropic, Behaviour::answering(move |_| Reply::text(&answer)));
    Bench::new().ask(&server, Wire::Anthropic, &["-p", "How many?", "--schema", schema])
}

#[test]
fn a_program_reads_the_value_in_a_field_of_its_own() {
    let bench = Bench::new();
    let schema = bench.work.join("schema.json");
    std::fs::write(&schema, SCHEMA).unwrap();
    let server = Server::start(Wire::Gemini, Behaviour::replies([Reply::text(r#"{"count": 2}"#)]));
    let args = ["-p", "How many?", "--schema", schema.to_str().unwrap()];
    let (result, output) = bench.result(&server, Wire::Gemini, &args);
    ended(&output, 0);
    assert_eq!(result["value"], json!({"count": 2}));
    assert_eq!(result["answer"], r#"{"count":2}"#);
}

#[test]
fn wanted_json_that_looks_like_a_call_is_an_answer() {
    let bench = Bench::new();
    let call = r#"{"name":"Read","arguments":{"file_path":"a.txt"}}"#;
    let server = Server::start(Wire::Chat, Behaviour::replies([Reply::text(call)]));
    let output = bench.ask(
        &server,
        Wire::Chat,
        &["-p", "Which call?", "--schema", r#"{"required": ["name"]}"#],
    );
    ended(&output, 0);
    assert_eq!(stdout(&output), format!("{call}\n"));
}

#[test]
fn a_schema_that_is_none_is_refused_before_anything_is_asked() {
    let bench = Bench::new();
    bench.file("list.json", "[]");
    bench.file("secret.json", "{}");
    let secret = bench.work.join("secret.json");
    let outside = json!({"$ref": format!("file://{}", secret.display())}).to_string();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([]));
    for (schema, words) in [
        (
            r#"{"type": "text"}"#,
            &["--schema", "not a valid JSON Schema", "/type"][..],
        ),
        (r#"{"type": "#, &["--schema", "not JSON", "line 1"]),
        (r#"{"maximum": 1e400}"#, &["/maximum", "beyond what can be checked"]),
        (r#"{"pattern": "("}"#, &["not a valid JSON Schema", "unclosed group\n"]),
        (r##"{"$ref": "#/$defs/none"}"##, &["not a valid JSON Schema", "none"]),
        (&outside, &["secret.json", "only references within the schema"]),
        (
            r#"{"$ref": "https://localhost/other.json"}"#,
            &["only references within the schema"],
        ),
        ("list.json", &["list.json", "expected an object"]),
        ("none.json", &["none.json", "no such file"]),
    ] {
        let output = bench.ask(&server, Wire::Anthropic, &["-p", "Hello?", "--schema", schema]);
        refused(&output, words);
    }
    assert!(server.record().exchanges.is_empty());
}
