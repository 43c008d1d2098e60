//! `codelet replay` of conversations that are given in two forms: each counts once, and both forms are in one half.

use crate::common::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What is said in a conversation with this seed: the model's words, and what its tools have printed.
fn said(seed: usize, steps: usize) -> Vec<[String; 2]> {
    let step = |at: usize| {
        let number = (seed * 1_000 + at).wrapping_mul(0x9E37_79B9);
        let words = format!("Now I look at the place {number:x}, which may be it.");
        [words, format!("fn place_{number:x}() {{ todo!() }}\n").repeat(20)]
    };
    (0..steps).map(step).collect()
}

/// A session file of Claude Code, with bills.
fn session(seed: usize, steps: usize) -> String {
    let entry = |number: usize, kind: &str, message: Value| {
        let parent = number.checked_sub(1).map(|parent| format!("u{parent}"));
        let time = format!("2026-01-01T10:{:02}:{:02}Z", number / 60, number % 60);
        let entry = json!({"uuid": format!("u{number}"), "parentUuid": parent, "type": kind, "timestamp": time, "message": message});
        format!("{entry}\n")
    };
    let prompt = json!({"role": "user", "content": "Find out which of the places is not finished yet."});
    let mut text = entry(0, "user", prompt);
    let mut held = 0;
    for (at, [words, output]) in said(seed, steps).into_iter().enumerate() {
        let size = 21_000 + 400 * at;
        let usage = json!({"input_tokens": 3, "cache_read_input_tokens": held, "cache_creation_input_tokens": size - held, "output_tokens": 40});
        held = size;
        let call =
            json!({"type": "tool_use", "id": format!("c{at}"), "name": "Read", "input": {"file_path": "src/a.rs"}});
        let reply = json!({"id": format!("m{at}"), "model": "claude-opus-4-6", "role": "assistant",
            "content": [{"type": "text", "text": words}, call], "usage": usage});
        let result = json!({"type": "tool_result", "tool_use_id": format!("c{at}"), "content": output});
        text += &entry(2 * at + 1, "assistant", reply);
        text += &entry(2 * at + 2, "user", json!({"role": "user", "content": [result]}));
    }
    text
}

/// The same as a request, as another program may write it down.
fn request(seed: usize, steps: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "Find out which of the places is not finished yet."})];
    for (at, [words, output]) in said(seed, steps).into_iter().enumerate() {
        let call =
            json!({"type": "tool_use", "id": format!("c{at}"), "name": "Read", "input": {"file_path": "src/a.rs"}});
        messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": words}, call]}));
        let result = json!({"type": "tool_result", "tool_use_id": format!("c{at}"), "content": output.trim_end()});
        messages.push(json!({"role": "user", "content": [result]}));
    }
    json!({ "messages": messages }).to_string()
}

/// Three conversations, two of them in both forms, named as two programs do.
fn twins(test: &str) -> PathBuf {
    let folder = folder(test);
    for (folder, name, text) in [
        ("other", "claude-code-07-ab.json", request(7, 12)),
        ("own", "claude-code__07_ab.jsonl", session(7, 12)),
        ("other", "mini.traj.json", request(8, 9)),
        ("own", "mini.json", request(8, 10)),
        ("own", "alone.jsonl", session(9, 6)),
    ]
    .map(|(name, file, text)| (folder.join(name), file, text))
    {
        std::fs::create_dir_all(&folder).unwrap();
        file(&folder, name, text);
    }
    folder
}

fn replayed(folder: &Path, args: &[&str]) -> Value {
    let output = run(&[
        &["replay", "--json", "--policy", "never", folder.to_str().unwrap()],
        args,
    ]
    .concat());
    ended(&output, 0);
    serde_json::from_str(stdout(&output)).unwrap()
}

fn names(found: &Value) -> Vec<&str> {
    let sessions = found["sessions"].as_array().unwrap().iter();
    sessions.map(|session| session["name"].as_str().unwrap()).collect()
}

#[test]
fn a_conversation_in_two_forms_counts_once_by_the_form_that_tells_more() {
    let folder = twins("replay_twice");
    let found = replayed(&folder, &[]);
    assert_eq!(names(&found), ["mini", "alone", "claude-code__07_ab"]);
    assert_eq!(found["totals"][0]["sessions"], 3);
    assert_eq!(found["check"]["sessions"], 2);
    let of = |at: usize, key: &str| found["repeated"][at][key].as_str().unwrap().to_owned();
    assert!(
        of(0, "file").ends_with("other/claude-code-07-ab.json"),
        "{}",
        found["repeated"]
    );
    assert!(of(0, "of").ends_with("own/claude-code__07_ab.jsonl"));
    assert!(of(1, "file").ends_with("own/mini.json") && of(1, "of").ends_with("other/mini.traj.json"));
    let output = run(&["replay", "--policy", "never", folder.to_str().unwrap()]);
    ended(&output, 0);
    assert!(stdout(&output).contains("3 conversations"), "{}", stdout(&output));
    let told = "2 files repeat conversations of others; each counts once (the first is ";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
}

#[test]
fn a_file_that_is_named_twice_counts_once() {
    let folder = folder("replay_named_twice");
    let path = file(&folder, "one.jsonl", session(1, 5));
    let output = run(&["replay", "--policy", "never", &path, &path]);
    ended(&output, 0);
    assert!(stdout(&output).contains("1 conversation "), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("1 file repeats the conversation"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn both_forms_of_a_conversation_are_in_the_same_half() {
    let folder = folder("replay_twice_halves");
    for number in 0..10 {
        file(&folder, &format!("agent__{number}-x.jsonl"), session(number, 3));
        file(&folder, &format!("agent-{number}_X.json"), request(number, 3));
        file(&folder, &format!("Agent.{number}.x.traj.json"), request(number, 3));
    }
    let counts = ["a", "b", "all"].map(|half| {
        let found = replayed(&folder, &["--half", half]);
        assert_eq!(found["repeated"].as_array().unwrap().len(), 2 * names(&found).len());
        names(&found).len()
    });
    assert_eq!(counts[0] + counts[1], 10);
    assert_eq!(counts[2], 10);
    assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
}

#[test]
fn other_conversations_of_the_same_name_are_all_played() {
    let folder = folder("replay_other_twins");
    for seed in 0..4 {
        let deeper = folder.join(format!("run-{seed}"));
        std::fs::create_dir_all(&deeper).unwrap();
        file(&deeper, "events.jsonl", session(seed, 8));
    }
    let found = replayed(&folder, &[]);
    assert_eq!(names(&found).len(), 4);
    assert_eq!(found["repeated"], json!([]));
}

#[test]
fn a_price_file_with_figures_that_make_no_sense_is_refused() {
    let folder = folder("replay_bad_prices");
    let path = file(&folder, "one.jsonl", session(1, 3));
    let digits = "9".repeat(300);
    for (line, told) in [
        (format!("m input={digits} output=1"), "0 to 1,000,000"),
        ("m input=1 output=1 tier=0:0:0".to_owned(), "with times of 1 to 1,000"),
        (
            "m input=1 output=1 tier=1000:0.5".to_owned(),
            "with times of 1 to 1,000",
        ),
        ("m input=1 output=1 marks=0".to_owned(), "a number of marks, 1 or more"),
    ] {
        let cards = file(&folder, "cards.txt", &line);
        refused(
            &run(&["replay", "--prices", &cards, &path]),
            &["cards.txt, line 1, column ", told],
        );
        refused(
            &run(&["report", &path, "--prices", &cards]),
            &["cards.txt, line 1, column ", told],
        );
    }
}
