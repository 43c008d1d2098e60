//! Where no status of a command is recorded, what it says of itself counts.
#![allow(clippy::unwrap_used)]

use codelet_context::message::Message;
use codelet_transcript::{Format, read, write};
use serde_json::{Value, json};

/// A chat in which these commands were run, each with what it printed.
fn chat(runs: &[(&str, &str)]) -> String {
    let mut messages: Vec<Value> = vec![json!({"role": "user", "content": "Ship it."})];
    for (number, (command, output)) in runs.iter().enumerate() {
        let id = format!("c{number}");
        let arguments = json!({ "command": command }).to_string();
        let function = json!({"name": "Bash", "arguments": arguments});
        let call = json!({"id": id, "type": "function", "function": function});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
    }
    json!({ "messages": messages }).to_string()
}

#[test]
fn a_command_that_says_why_it_could_not_has_failed_and_is_written_as_it_came() {
    let request = chat(&[
        (
            "git commit -am fix",
            "[main 1a2b3c4] fix\n 1 file changed, 1 insertion(+)",
        ),
        (
            "git push",
            "To github.com:a/b.git\n ! [remote rejected] main -> main (protected branch)\nerror: failed to push some refs",
        ),
        ("rm build/x", "rm: cannot remove 'build/x': No such file or directory"),
        ("cat notes.txt", "fatal: what Git said yesterday"),
    ]);
    let document = read(request.as_bytes(), Some(Format::Openai)).unwrap();
    let results = document.messages.iter().flat_map(Message::tool_results);
    let success: Vec<Option<bool>> = results.map(|result| result.success).collect();
    assert_eq!(success, [None, Some(false), Some(false), None]);
    assert_eq!(write(&document, Format::Openai).unwrap(), request);
}
