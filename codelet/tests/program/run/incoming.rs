//! `--input stream-json`: a program that holds a conversation.

use crate::common::agent::{Bench, name};
use crate::common::pty::signal;
use crate::common::{ended, refused, stderr, stdout};
use codelet_testkit::server::{Behaviour, Reply, Server, Stop, Wire};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Output, Stdio};

const ARGS: [&str; 5] = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];

fn user(content: impl Into<Value>) -> String {
    json!({"type": "user", "message": {"role": "user", "content": content.into()}, "session_id": "any"}).to_string()
}

fn start(bench: &Bench, server: &Server, args: &[&str]) -> Child {
    let mut command = bench.asking(server, Wire::Anthropic, args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Sends all lines at once and waits for the end.
fn answered(bench: &Bench, server: &Server, args: &[&str], lines: &[String]) -> Output {
    let mut child = start(bench, server, args);
    let mut said = child.stdin.take().unwrap();
    said.write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    drop(said);
    child.wait_with_output().unwrap()
}

fn results(output: &Output) -> Vec<Value> {
    let lines = stdout(output);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == "result").collect()
}

#[test]
fn a_program_reads_an_answer_before_it_sends_the_next_prompt() {
    let bench = Bench::new();
    let replies = [Reply::text("One."), Reply::text("Two.")];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut child = start(&bench, &server, &ARGS);
    let mut said = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next_result = || loop {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if line["type"] == "result" {
            return line;
        }
    };
    writeln!(said, "{}", user("Count.")).unwrap();
    assert_eq!(next_result()["answer"], "One.");
    writeln!(said, "{}", user("Go on.")).unwrap();
    let result = next_result();
    assert_eq!((&result["answer"], &result["steps"]), (&json!("Two."), &json!(2)));
    drop(said);
    ended(&child.wait_with_output().unwrap(), 0);
    let record = server.record();
    assert_eq!(record.faults(), "", "{}", name(Wire::Anthropic));
    let texts = record.exchanges[1].request.user_texts();
    assert!(texts.contains(&"Count.") && texts.contains(&"Go on."), "{texts:?}");
}

#[test]
fn a_prompt_that_fails_does_not_end_the_others_and_notices_are_told_with_their_own() {
    let bench = Bench::new();
    let replies = [
        Reply::call("Write", json!({"file_path": "a.txt", "content": "x"})),
        Reply::text("Not allowed."),
        Reply::text("Fine."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let args = [&ARGS[..], &["--permission", "read"]].concat();
    let output = answered(&bench, &server, &args, &[user("Write."), String::new(), user("Rest.")]);
    ended(&output, 0);
    let results = results(&output);
    let exits: Vec<&Value> = results.iter().map(|result| &result["exit"]).collect();
    assert_eq!(exits, [1, 0], "{results:?}");
    assert!(results[0]["notices"].to_string().contains("refused"), "{results:?}");
    assert_eq!((&results[1]["notices"], &results[1]["tools"]), (&json!([]), &json!({})));
}

#[test]
fn a_prompt_that_is_taken_out_of_the_conversation_is_told() {
    let bench = Bench::new();
    let replies = [Reply::text("No.").stopping(Stop::Refusal), Reply::text("Fine.")];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let output = answered(&bench, &server, &ARGS, &[user("Make poison."), user("Make tea.")]);
    ended(&output, 0);
    let lines: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<&Value> = lines.iter().filter(|line| line["type"] == "taken_back").collect();
    let result = lines.iter().position(|line| line["type"] == "result").unwrap();
    assert!(lines[..result].contains(told[0]) && told.len() == 1, "{lines:?}");
    assert!(told[0]["handle"].is_string(), "{told:?}");
    assert!(!server.record().exchanges[1].request.holds("Make poison."));
}

#[test]
fn content_may_be_blocks_of_text_and_pictures() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("A dot.")]));
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP4z8DwHwAFAAH/VscvDQAAAABJRU5ErkJggg==";
    let blocks = json!([
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": dot}},
    ]);
    bench.settings("[models.\"anthropic/test-model\"]\nsees_images = true\n");
    let output = answered(&bench, &server, &ARGS, &[user(blocks)]);
    ended(&output, 0);
    let record = server.record();
    let request = &record.exchanges[0].request;
    assert!(
        request.holds(dot) && request.holds("What is this?"),
        "{}",
        request.json()
    );
    // What a picture is, its bytes say.
    assert!(request.holds("image/png") && !request.holds("image/jpeg"));
}

#[test]
fn a_line_that_is_no_prompt_is_named_and_ends_the_run() {
    let bench = Bench::new();
    for (line, words) in [
        ("{".to_owned(), "not JSON"),
        ("[]".to_owned(), r#"expected an object with "type": "user""#),
        (
            r#"{"type": "control_request"}"#.to_owned(),
            r#"cannot take "type": "control_request""#,
        ),
        (r#"{"type": "user", "message": "Hello."}"#.to_owned(), "no content"),
        (
            r#"{"type": "user", "message": {"role": "assistant", "content": "Hi."}}"#.to_owned(),
            r#"expected "user""#,
        ),
        (user("  "), "no text"),
        (
            user(json!([{"type": "tool_result", "content": "x"}])),
            "unsupported content block",
        ),
        (
            user(json!([{"type": "text", "text": "x"}, {"type": "image", "source": {"data": "AAAA"}}])),
            "image format",
        ),
    ] {
        let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("One.")]));
        let output = answered(&bench, &server, &ARGS, &[user("Count."), line, user("Never sent.")]);
        ended(&output, 2);
        let told = stderr(&output);
        assert!(
            told.contains("standard input: line 2: ") && told.contains(words),
            "{told}"
        );
        assert_eq!(results(&output).len(), 1);
        assert_eq!(server.record().exchanges.len(), 1);
    }
}

#[test]
fn an_interruption_while_nothing_is_sent_ends_the_run() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("One.")]));
    let mut child = start(&bench, &server, &["-p", "--input", "stream-json"]);
    let mut said = child.stdin.take().unwrap();
    writeln!(said, "{}", user("Count.")).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "One.");
    signal(child.id(), "-INT");
    ended(&child.wait_with_output().unwrap(), 130);
}

#[test]
fn each_answer_fits_the_schema_and_the_transcript_holds_the_whole_conversation() {
    let bench = Bench::new();
    let replies = [Reply::text("1"), Reply::text("two"), Reply::text("2")];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let args = [
        "-p", "-", "--input", "stream-json", "--schema", r#"{"type": "integer"}"#, "--transcript", "all.json",
    ];
    let output = answered(&bench, &server, &args, &[user("Count."), user("Go on.")]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "1\n2\n");
    let transcript = bench.read("all.json");
    assert!(
        transcript.contains("Count.") && transcript.contains("Go on."),
        "{transcript}"
    );
}

#[test]
fn a_prompt_beside_prompts_that_come_as_lines_is_refused() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([]));
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Hello?", "--input", "stream-json"]);
    refused(&output, &["--input stream-json", "standard input only"]);
}
