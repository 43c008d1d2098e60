//! Programs that call tools: the input of Codex's `exec` in code mode. `tools.exec_command({cmd: "cargo test"})` runs
//! that command, whatever code is around it. Nothing is evaluated: literals are read, and constants that hold one; a
//! call with any other argument is ignored, and a program without a readable call is just text.

use crate::source;
use codelet_context::exchange::Calls;
use codelet_context::message::{Action, Message, Part, ToolResult};
use literal::{Cursor, Scope};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

mod literal;

/// The tool that runs a program, and the one that waits for a program to end.
const RUNS: &str = "exec";
const WAITS: &str = "wait";
/// The prefix with which a program calls tools.
const TOOLS: &str = "tools.";

/// Returns the tool calls in a program, with the parameters that can be read.
pub(crate) fn calls(program: &str) -> Vec<(String, Map<String, Value>)> {
    if !program.contains(TOOLS) {
        return Vec::new();
    }
    let mut scope = Scope::default();
    let mut cursor = Cursor::new(program);
    let mut found = Vec::new();
    while let Some(word) = cursor.word() {
        match word {
            "const" | "let" | "var" => scope.bind(&mut cursor),
            "tools" => {
                let Some(tool) = cursor.called() else { continue };
                match cursor.value(&scope) {
                    Some(Value::Object(parameters)) => found.push((tool, parameters)),
                    Some(text @ Value::String(_)) => {
                        found.push((tool, Map::from_iter([(String::from("input"), text)])));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    found
}

/// Completes the results of programs: their status, and the program that a waiting call refers to.
pub(crate) fn follow(messages: &mut [Message]) {
    let mut calls: Calls<Arc<str>, (bool, Action)> = Calls::default();
    let mut cells: HashMap<String, Action> = HashMap::new();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            Part::ToolCall(call) => {
                if &*call.tool == WAITS
                    && let Some(action) = cell_of(call.parameters.as_map()).and_then(|cell| cells.get(&cell))
                {
                    call.action = action.clone();
                }
                let is_program = matches!(&*call.tool, RUNS | WAITS);
                calls.called(call.id.clone(), (is_program, call.action.clone()));
            }
            Part::ToolResult(result) => {
                let Some((true, action)) = calls.of(result).cloned() else {
                    continue;
                };
                match ended(result) {
                    Some(Ended::Runs(cell)) => {
                        // The files were changed by the first call.
                        let paths = Vec::new();
                        cells.insert(cell, Action { paths, ..action });
                    }
                    Some(Ended::Failed) => result.success = result.success.or(Some(false)),
                    Some(Ended::Completed) if result.success.is_none() => result.success = statuses(result, &action),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

fn cell_of(parameters: &Map<String, Value>) -> Option<String> {
    match parameters.get("cell_id")? {
        Value::String(cell) => Some(cell.clone()),
        Value::Number(cell) => Some(cell.to_string()),
        _ => None,
    }
}

/// The state of a program, from the first line that the harness writes in its output.
enum Ended {
    Completed,
    Failed,
    /// Still running, in this cell.
    Runs(String),
}

fn ended(result: &ToolResult) -> Option<Ended> {
    let first = result.texts().next()?.body.as_str().lines().next()?.trim();
    if let Some(cell) = first.strip_prefix("Script running with cell ID ") {
        return Some(Ended::Runs(cell.trim_end_matches('.').to_owned()));
    }
    match first {
        "Script completed" => Some(Ended::Completed),
        "Script failed" => Some(Ended::Failed),
        _ => None,
    }
}

/// Returns whether all commands succeeded, if a program printed each command's result object.
fn statuses(result: &ToolResult, action: &Action) -> Option<bool> {
    let commands = action.command.as_deref()?.lines().count();
    let status = |text: &str| -> Option<i64> {
        let text = text.trim();
        let object = text.starts_with('{').then(|| source::embedded(text))??;
        object.get("exit_code")?.as_i64()
    };
    let printed = result.texts().skip(1).filter_map(|text| status(text.body.as_str()));
    let statuses: Vec<i64> = printed.collect();
    match statuses.iter().any(|status| *status != 0) {
        true => Some(false),
        false => (statuses.len() == commands).then_some(true),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::actions::action;
    use crate::{Format, read};
    use serde_json::json;

    #[track_caller]
    fn check(program: &str, command: Option<&str>, paths: &[&str]) {
        let input = Map::from_iter([("input".to_owned(), Value::from(program))]);
        let action = action(RUNS, &input);
        let changed: Vec<&str> = action.changed().iter().map(|path| &**path).collect();
        assert_eq!(
            (action.command.as_deref(), changed.as_slice()),
            (command, paths),
            "{program}"
        );
    }

    #[test]
    fn a_program_does_what_its_calls_do() {
        check(
            r#"const found = await tools.exec_command({"cmd":"python3 -m pytest -q"}); text(found.output);"#,
            Some("python3 -m pytest -q"),
            &[],
        );
        check(
            r#"text(await tools.apply_patch("*** Begin Patch\n*** Update File: shop/price.py\n@@\n-a\n+b\n*** End Patch"));"#,
            None,
            &["shop/price.py"],
        );
        check(
            "// tools.exec_command({cmd: 'no'})\nconst patch = String.raw`*** Begin Patch\n*** Add File: a\\n.rs\n+x\n*** End Patch`;\n\
             await tools.apply_patch(patch);\nconst r = await tools.exec_command({ cmd: 'cargo ' + \"test\", workdir: `/w`, yield_time_ms: 5_000 });",
            Some("cd /w && cargo test"),
            &["a\\n.rs"],
        );
        check(
            r#"const all = await Promise.all([tools.exec_command({cmd: ["ls", "pwd"].join(" && ")}), tools.exec_command({cmd: "cat 'a\u0062'"})]);"#,
            Some("ls && pwd\ncat 'ab'"),
            &[],
        );
    }

    #[test]
    fn what_is_worked_out_by_the_program_is_no_call_that_is_known() {
        check(
            "await Promise.all(files.map(f => tools.exec_command({cmd: `cat ${f}`})))",
            None,
            &[],
        );
        check("tools.exec_command({cmd: name})", None, &[]);
        check("text('tools.exec_command({cmd: \"rm\"})')", None, &[]);
        for broken in [
            "tools.exec_command(",
            "tools.exec_command({cmd: \"ls",
            "tools.",
            "const x = `",
            "'",
        ] {
            check(broken, None, &[]);
        }
        let deep = format!("tools.exec_command({}", "[({".repeat(100_000));
        check(&deep, None, &[]);
    }

    fn outputs(outputs: &[&[&str]]) -> Vec<(String, Option<bool>)> {
        let item = |payload: Value| json!({"type": "response_item", "payload": payload}).to_string();
        let program = "text(await tools.exec_command({cmd: 'cargo test'}))";
        let mut lines = vec![json!({"type": "session_meta", "payload": {"id": "x"}}).to_string()];
        for (number, output) in outputs.iter().enumerate() {
            let id = format!("c{number}");
            lines.push(item(match number {
                0 => json!({"type": "custom_tool_call", "call_id": id, "name": "exec", "input": program}),
                _ => {
                    json!({"type": "function_call", "call_id": id, "name": "wait", "arguments": "{\"cell_id\":\"7\"}"})
                }
            }));
            let texts: Vec<Value> = output
                .iter()
                .map(|text| json!({"type": "input_text", "text": text}))
                .collect();
            lines.push(item(
                json!({"type": "custom_tool_call_output", "call_id": id, "output": texts}),
            ));
        }
        let document = read(lines.join("\n").as_bytes(), Some(Format::Codex)).unwrap();
        let calls = document.messages.iter().flat_map(Message::calls);
        let commands: Vec<String> = calls
            .map(|call| call.action.command.as_deref().unwrap_or_default().to_owned())
            .collect();
        let ended = document
            .messages
            .iter()
            .flat_map(Message::tool_results)
            .map(|result| result.success);
        commands.into_iter().zip(ended).collect()
    }

    #[test]
    fn a_program_that_failed_has_failed_and_one_that_completed_says_nothing_of_its_commands() {
        let test = |success| vec![("cargo test".to_owned(), success)];
        assert_eq!(
            outputs(&[&["Script failed\nWall time 1 seconds\nOutput:\n", "Error"]]),
            test(Some(false))
        );
        assert_eq!(
            outputs(&[&["Script completed\nWall time 1 seconds\nOutput:\n", "1 failed"]]),
            test(None)
        );
        let returned = |code| format!("{{\"exit_code\":{code},\"output\":\"x\"}}");
        assert_eq!(
            outputs(&[&["Script completed\nOutput:\n", &returned(101)]]),
            test(Some(false))
        );
        assert_eq!(
            outputs(&[&["Script completed\nOutput:\n", &returned(0)]]),
            test(Some(true))
        );
    }

    #[test]
    fn waiting_for_a_program_is_waiting_for_its_commands() {
        let running = "Script running with cell ID 7\nWall time 10 seconds\nOutput:\n";
        let failed = "Script failed\nWall time 3 seconds\nOutput:\n";
        let both = [("cargo test".to_owned(), None), ("cargo test".to_owned(), Some(false))];
        assert_eq!(outputs(&[&[running], &[failed]]), both);
    }
}
