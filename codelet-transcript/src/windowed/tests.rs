#![allow(clippy::unwrap_used)]

use super::*;
use crate::{Format, read};
use serde_json::{Value, json};

const EDITED: &str = "Text replaced. Please review the changes and make sure they are correct\n(correct indentation).";
/// Returns a result with the state below it.
fn below(output: &str, open: &str) -> String {
    format!("{output}\n(Open file: {open})\n(Current directory: /pantry)\nbash-$")
}

/// Returns the files of a trajectory whose steps are a tool, its parameters, and its result.
fn files(steps: &[(&str, Value, String)]) -> String {
    let mut history = vec![json!({"role": "user", "content": below("Count the jars.", "n/a")})];
    for (number, (tool, parameters, answer)) in steps.iter().enumerate() {
        let function = json!({"name": tool, "arguments": parameters.to_string()});
        let call = json!({"id": format!("c{number}"), "type": "function", "function": function});
        history.push(json!({"role": "assistant", "content": "So.", "action": tool, "tool_calls": [call]}));
        history.push(json!({"role": "tool", "content": answer, "tool_call_ids": [format!("c{number}")]}));
    }
    facts(&json!({"history": history, "trajectory": [], "info": {}}))
}

fn facts(file: &Value) -> String {
    let document = read(file.to_string().as_bytes(), Some(Format::SweAgent)).unwrap();
    let mut told: Vec<String> = Vec::new();
    for call in document.messages.iter().flat_map(Message::calls) {
        let word = match call.action.kind {
            ActionKind::Read => "read",
            ActionKind::Change => "edited",
            _ => continue,
        };
        told.push(format!("{word} {}", call.action.paths.join(" ")).trim().to_owned());
    }
    told.join(", ")
}

#[test]
fn an_edit_without_a_path_changes_the_file_that_is_open() {
    let open = json!({"path": "shelf.py", "line_number": 2});
    let edit = json!({"search": "x = 1", "replace": "x = 2"});
    let opened = below("[File: shelf.py (3 lines total)]\n1:x = 1", "/pantry/shelf.py");
    let steps = [
        ("open", open.clone(), opened.clone()),
        ("goto", json!({"line_number": 3}), opened.clone()),
        ("edit", edit.clone(), below(EDITED, "/pantry/shelf.py")),
    ];
    assert_eq!(
        files(&steps),
        "read /pantry/shelf.py, read /pantry/shelf.py, edited /pantry/shelf.py"
    );
    // A result may omit the state.
    let steps = [
        ("open", open, opened),
        ("bash", json!({"command": "ls"}), below("shelf.py", "/pantry/shelf.py")),
        ("insert", json!({"text": "y = 1"}), String::from(EDITED)),
    ];
    assert_eq!(files(&steps), "read /pantry/shelf.py, edited /pantry/shelf.py");
    let steps = [("edit", edit, below("No file open. Use the open command first.", "n/a"))];
    assert_eq!(files(&steps), "edited");
}

#[test]
fn a_file_that_is_created_or_opened_is_the_one_that_is_edited_next() {
    let steps = [
        (
            "open",
            json!({"path": "shelf.py"}),
            below("[File: shelf.py (1 lines total)]\n1:", "/pantry/shelf.py"),
        ),
        (
            "create",
            json!({"filename": "try.py"}),
            below("[File: try.py (1 lines total)]\n1:", "/pantry/try.py"),
        ),
        ("insert", json!({"text": "print(1)"}), below(EDITED, "/pantry/try.py")),
        ("bash", json!({"command": "rm try.py"}), below("", "/pantry/try.py")),
    ];
    assert_eq!(
        files(&steps),
        "read /pantry/shelf.py, edited /pantry/try.py, edited /pantry/try.py"
    );
}

#[test]
fn the_words_of_the_editor_may_be_command_lines() {
    let line = |command: &str, answer: String| ("bash", json!({"command": command}), answer);
    let open = line(
        "open \"shelf.py\" 2",
        below("[File: shelf.py (3 lines total)]", "/pantry/shelf.py"),
    );
    let edit = "edit 1:1\nx = 2\nend_of_edit";
    let steps = [open, line(edit, below(EDITED, "/pantry/shelf.py"))];
    assert_eq!(files(&steps), "read /pantry/shelf.py, edited /pantry/shelf.py");
    // Elsewhere these are ordinary programs.
    let steps = [line("open shelf.py", String::new()), line(edit, String::from("ok"))];
    let file = json!({"messages": steps.iter().enumerate().flat_map(|(number, (_, parameters, answer))| [
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("c{number}"), "name": "bash", "input": parameters}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{number}"), "content": answer}]}),
    ]).collect::<Vec<_>>()});
    let document = read(file.to_string().as_bytes(), Some(Format::Anthropic)).unwrap();
    let kinds: Vec<ActionKind> = document
        .messages
        .iter()
        .flat_map(Message::calls)
        .map(|call| call.action.kind)
        .collect();
    assert_eq!(kinds, [ActionKind::Command, ActionKind::Command]);
}

#[test]
fn the_state_that_is_recorded_beside_the_history_counts() {
    let step = |action: &str, state: Value| json!({"action": action, "observation": "", "state": state});
    let said = |action: &str| json!({"role": "assistant", "content": "So.", "thought": "So.", "action": action});
    let seen = |output: &str| json!({"role": "user", "content": output});
    let history = json!([
        seen("Count the jars."),
        said("open shelf.py\n"),
        seen("x = 1"),
        said("edit 1:1\nx = 2\nend_of_edit\n"),
        seen("File updated."),
    ]);
    // Older recordings hold the state as text.
    let as_text = json!({"open_file": "/pantry/shelf.py", "working_dir": "/pantry"}).to_string();
    let as_object = json!({"open_file": "/pantry/shelf.py", "working_dir": "/pantry"});
    for state in [Value::from(as_text), as_object] {
        let steps = [
            step("open shelf.py\n", state.clone()),
            step("edit 1:1\nx = 2\nend_of_edit\n", state),
        ];
        let file = json!({"history": history, "trajectory": steps, "info": {}});
        assert_eq!(facts(&file), "read /pantry/shelf.py, edited /pantry/shelf.py");
    }
    // Some record the file open before the step; the state in the result is what is open after it.
    let history = json!([
        seen("Count the jars."),
        said("create lid.py"),
        seen(&below("[File: lid.py (1 lines total)]", "/pantry/lid.py")),
        said("edit 1:1\nx = 2\nend_of_edit"),
        seen("File updated."),
    ]);
    let before = |path: &str| json!({"open_file": path});
    let steps = [
        step("create lid.py", before("/pantry/shelf.py")),
        step("edit 1:1\nx = 2\nend_of_edit", before("/pantry/lid.py")),
    ];
    let file = json!({"history": history, "trajectory": steps, "info": {}});
    assert_eq!(facts(&file), "edited /pantry/lid.py, edited /pantry/lid.py");
}

#[test]
fn a_demonstration_has_changed_nothing() {
    let shown = |role: &str, content: &str, action: Option<&str>| json!({"role": role, "content": content, "thought": content, "action": action, "is_demo": true});
    let history = json!([
        shown("user", &below("An example.", "n/a"), None),
        shown("assistant", "Open it.", Some("open /demo/lid.py")),
        shown("user", &below("[File: /demo/lid.py (1 lines total)]\n1:", "/demo/lid.py"), None),
        shown("assistant", "Change it.", Some("edit 1:1\nlid = 1\nend_of_edit")),
        shown("user", &below(EDITED, "/demo/lid.py"), None),
        {"role": "user", "content": below("Count the jars.", "n/a")},
        {"role": "assistant", "content": "Done.", "action": ""},
    ]);
    assert_eq!(facts(&json!({"history": history, "trajectory": [], "info": {}})), "");
}
