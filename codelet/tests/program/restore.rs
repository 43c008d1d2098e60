//! `codelet restore`: what was removed comes back byte for byte.

use crate::common::*;
use serde_json::{Value, json};

const TEXT: &str = "first line\r\n\ttab, \"quotes\", 日本語, \u{1b}[31mred\u{1b}[0m, \u{0} and no newline at the end";

fn removed(test: &str) -> String {
    let lines = [
        json!({"handle": "k3f9a2", "content": TEXT}),
        json!({"handle": "zzzzzz", "content": ""}),
        json!({"content": "key order does not matter", "handle": "abc123"}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    file(&folder(test), "gone.jsonl", text)
}

#[test]
fn the_bytes_come_back_exactly() {
    let path = removed("restore_exactly");
    for asked in ["k3f9a2", "[Read k3f9a2]", "#k3f9a2", "recall k3f9a2", "K3F9A2"] {
        let output = run(&["restore", &path, asked]);
        ended(&output, 0);
        assert_eq!(stdout(&output), TEXT, "{asked}");
        assert_eq!(stderr(&output), "");
    }
    assert_eq!(stdout(&run(&["restore", &path, "zzzzzz"])), "");
    assert_eq!(stdout(&run(&["restore", &path, "abc123"])), "key order does not matter");
    let piped = run_with(&["restore", "-", "k3f9a2"], &std::fs::read(&path).unwrap());
    assert_eq!(stdout(&piped), TEXT);
}

#[test]
fn a_range_gives_whole_characters() {
    let path = removed("restore_range");
    let at = TEXT.find('日').unwrap();
    let output = run(&[
        "restore",
        &path,
        "k3f9a2",
        "--range",
        &format!("{}..{}", at + 1, at + 4),
    ]);
    assert_eq!(stdout(&output), "日本");
    assert_eq!(stdout(&run(&["restore", &path, "k3f9a2", "--range", "..5"])), "first");
    assert_eq!(stdout(&run(&["restore", &path, "k3f9a2", "--range", "9999.."])), "");
    refused(
        &run(&["restore", &path, "k3f9a2", "--range", "5..1"]),
        &["ends before it begins"],
    );
}

#[test]
fn an_unknown_handle_is_refused_with_the_nearest() {
    let path = removed("restore_unknown");
    refused(
        &run(&["restore", &path, "k3f8a2"]),
        &["gone.jsonl", "no handle k3f8a2", "did you mean k3f9a2?"],
    );
    refused(
        &run(&["restore", &path, "qqqqqq"]),
        &["no handle qqqqqq", "it has 3 handles, such as k3f9a2"],
    );
    refused(&run(&["restore", &path, ""]), &["no handle"]);
    let empty = file(&folder("restore_empty"), "none.jsonl", "");
    refused(&run(&["restore", &empty, "k3f9a2"]), &["nothing was removed"]);
}

#[test]
fn a_broken_line_matters_only_if_the_handle_is_not_elsewhere() {
    let line = json!({"handle": "k3f9a2", "content": "here"});
    let path = file(
        &folder("restore_broken"),
        "gone.jsonl",
        format!("{line}\n{{\"handle\": \"aaa"),
    );
    assert_eq!(stdout(&run(&["restore", &path, "k3f9a2"])), "here");
    refused(
        &run(&["restore", &path, "aaa"]),
        &["gone.jsonl", "line 2", "is incomplete", "expected {\"handle\""],
    );
    let other = file(&folder("restore_other"), "gone.jsonl", "[1]\n");
    refused(&run(&["restore", &other, "aaa"]), &["line 1", "not an object"]);
    let numbers = file(&folder("restore_numbers"), "gone.jsonl", "{\"handle\": 3}\n");
    refused(
        &run(&["restore", &numbers, "aaa"]),
        &["line 1", "`handle` is not a string"],
    );
}

#[test]
fn everything_that_a_compaction_removed_can_be_restored() {
    let folder = folder("restore_all");
    let input = file(&folder, "request.json", request_text(30));
    let gone = folder.join("gone.jsonl").to_str().unwrap().to_owned();
    let report = folder.join("report.json").to_str().unwrap().to_owned();
    let compacted = run(&[
        "compact", &input, "--budget", "3000", "--removed", &gone, "--report", &report,
    ]);
    ended(&compacted, 0);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    let lines = std::fs::read_to_string(&gone).unwrap();
    assert_eq!(lines.lines().count(), report["removed"].as_array().unwrap().len());
    for (line, told) in lines.lines().zip(report["removed"].as_array().unwrap()).take(20) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["handle"], told["handle"]);
        let restored = run(&["restore", &gone, line["handle"].as_str().unwrap()]);
        ended(&restored, 0);
        assert_eq!(stdout(&restored), line["content"].as_str().unwrap());
        assert_eq!(told["bytes"], restored.stdout.len());
    }
}
