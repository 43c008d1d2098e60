//! `codelet inspect`: the view for people and the one for programs.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;
use common::*;
use serde_json::Value;

fn inspected(turns: usize) -> Value {
    let output = run_with(&["inspect", "--json"], request_text(turns).as_bytes());
    ended(&output, 0);
    serde_json::from_str(stdout(&output)).unwrap()
}

#[test]
fn the_figures_add_up() {
    let found = inspected(12);
    let whole = found["tokens"].as_u64().unwrap();
    let kinds = found["kinds"].as_object().unwrap();
    assert_eq!(
        kinds.values().map(|kind| kind["tokens"].as_u64().unwrap()).sum::<u64>(),
        whole
    );
    assert_eq!(kinds["prompts"]["parts"], 13);
    assert_eq!(kinds["calls"]["parts"], 36);
    assert_eq!(found["messages"], 98);
    assert!(found["tool_definitions"].as_u64().unwrap() > 0);

    let tools = found["tools"].as_array().unwrap();
    assert_eq!(tools[0]["tool"], "Read");
    let weights: Vec<_> = tools.iter().map(|tool| tool["tokens"].as_u64().unwrap()).collect();
    assert!(weights.is_sorted_by(|a, b| a >= b));
    let bash = tools.iter().find(|tool| tool["tool"] == "Bash").unwrap();
    assert_eq!((bash["calls"].as_u64(), bash["failed"].as_u64()), (Some(12), Some(3)));
    let calls_and_results = kinds["calls"]["tokens"].as_u64().unwrap() + kinds["results"]["tokens"].as_u64().unwrap();
    assert_eq!(weights.iter().sum::<u64>(), calls_and_results);

    let turns = found["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 13);
    assert_eq!(turns[0]["prompt"], "Please mend part 0.");
    let system = kinds["system"]["tokens"].as_u64().unwrap();
    assert_eq!(
        turns.iter().map(|turn| turn["tokens"].as_u64().unwrap()).sum::<u64>() + system,
        whole
    );
    assert_eq!(found["largest"][0]["tool"], "Read");
}

#[test]
fn the_view_fits_the_columns_that_there_are() {
    let text = request_text(60);
    for columns in [40, 80, 120] {
        let mut command = codelet(&["inspect"]);
        command.env("COLUMNS", columns.to_string());
        let folder = folder(&format!("inspect_{columns}"));
        let output = command.arg(file(&folder, "request.json", &text)).output().unwrap();
        ended(&output, 0);
        for line in stdout(&output).lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        for heading in ["By kind", "By tool", "Largest items", "Turns"] {
            assert!(stdout(&output).contains(heading), "{heading}");
        }
    }
}

#[test]
fn an_empty_conversation_can_be_looked_at() {
    let output = run_with(&["inspect", "--from", "anthropic"], br#"{"messages":[]}"#);
    ended(&output, 0);
    assert!(stdout(&output).contains("0 messages"));
}

/// Reads the recorded conversations where there are any; nothing is asserted about what they say.
#[test]
fn recorded_conversations_can_be_looked_at() {
    let corpus = std::env::var("CODELET_CORPUS").unwrap_or_else(|_| "../../shared/corpus".to_owned());
    let Ok(families) = std::fs::read_dir(format!("{corpus}/neutral")) else {
        println!("there is no corpus at {corpus}");
        return;
    };
    for family in families.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let first = std::fs::read_dir(&family)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .min()
            .unwrap();
        let output = run(&["inspect", "--from", "corpus", first.to_str().unwrap()]);
        ended(&output, 0);
        assert!(
            stdout(&output).lines().all(|line| line.chars().count() <= 80),
            "{}",
            stdout(&output)
        );
    }
}
