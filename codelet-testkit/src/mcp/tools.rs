//! The tools of the server.

use super::Manner;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

/// The outcome of a call: a result, or an error with its code.
type Came = Result<Value, (i64, String)>;

fn tool(name: &str, description: &str) -> Value {
    let properties = json!({"text": {"type": "string"}});
    json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}})
}

/// The list of tools after `changes` changes.
pub(super) fn list(manner: Manner, changes: usize) -> Value {
    let mut tools: Vec<Value> = [
        ("wait", "Never answers."),
        ("echo", "Says it again.\u{1b}[31m"),
        ("environment", "Says which variables it has."),
        ("fail", "Fails."),
        ("refuse", "Is refused."),
        ("die", "Ends the server."),
        ("shout", "Says more than anybody can hear."),
        ("half", "Answers with numbers and a picture."),
        ("start", "Starts another program, which goes its own way."),
        ("odd name/with: everything", "Has an odd name."),
    ]
    .map(|(name, description)| tool(name, description))
    .to_vec();
    match manner {
        Manner::Huge => {
            tools.extend((0..10_000).map(|number| tool(&format!("more_{number}"), "One of many.")));
            tools.push(json!({"name": "huge", "inputSchema": {"type": "object", "title": "x".repeat(10 << 20)}}));
        }
        Manner::Twice => {
            tools.push(tool("echo", "The second."));
            tools.push(json!({"name": "bad", "inputSchema": "none"}));
            tools.push(json!({"name": 7}));
        }
        Manner::Changing | Manner::Restless => {
            let echo = tool("echo", &format!("Says it again, for the {changes}th time."));
            let mut tools = vec![
                echo,
                tool("change", "Changes the list."),
                tool("sulk", "Lists nothing any more."),
            ];
            if changes % 2 == 1 {
                tools.push(tool("late", "Is not always there."));
            }
            return json!({ "tools": tools });
        }
        Manner::Author => tools.push(tool("change", "Changes the prompts.")),
        Manner::Pages => return json!({"tools": tools, "nextCursor": "more"}),
        _ => {}
    }
    json!({"tools": tools})
}

/// Calls a tool; `None` if it never responds.
pub(super) fn call(params: &Value) -> Option<Came> {
    let said = |text: &str| Ok(json!({"content": [{"type": "text", "text": text}]}));
    Some(match params["name"].as_str().unwrap_or_default() {
        "echo" | "late" => said(params["arguments"]["text"].as_str().unwrap_or_default()),
        "odd name/with: everything" => said("odd"),
        "environment" => {
            let all: Vec<String> = std::env::vars()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            said(&all.join("\n"))
        }
        "fail" => Ok(json!({"content": [{"type": "text", "text": "it was a success, or not"}], "isError": true})),
        "wait" => return None,
        "die" => {
            let _ = writeln!(std::io::stderr(), "fatal: out of luck");
            std::process::exit(3);
        }
        "shout" => said(&"loud ".repeat(3 << 20)),
        "half" if params["arguments"]["text"] == "many" => {
            // Small as text, but hundreds of megabytes once parsed.
            let many = vec![json!([]); 600_000];
            Ok(json!({"content": [{"type": "text", "text": "many"}], "structuredContent": {"many": many}}))
        }
        "half" if params["arguments"]["text"] == "deep" => {
            // Nested more deeply than JSON parsers accept.
            let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
            Ok(json!({"content": [{"type": "text", "text": "deep"}], "structuredContent": {"deep": deep}}))
        }
        "half" => Ok(json!({
            "content": [
                {"type": "text", "text": "half", "annotations": {"priority": 0.5, "audience": ["user"]}},
                {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP4z8DwHwAFAAH/VscvDQAAAABJRU5ErkJggg=="},
            ],
            "structuredContent": {"half": 0.5, "large": 123_456_789_012_345_678_901_234_567_890.0},
        })),
        "start" => {
            let mut command = Command::new("setsid");
            command
                .args(["sleep", "600"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            match command.spawn() {
                Ok(child) => {
                    super::log(&format!("child {}", child.id()));
                    said("started")
                }
                Err(error) => said(&error.to_string()),
            }
        }
        "refuse" => Err((-32602, "the text is missing".to_owned())),
        other => Err((-32602, format!("there is no tool {other}"))),
    })
}
