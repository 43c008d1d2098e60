//! Output of Codex in non-interactive mode (`codex exec --json`): the items of a thread. The prompt is given on the
//! command line, and is not printed.

use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::{ReadError, Recording};
use codelet_context::message::{Action, ActionKind, Origin, Part, Role, ToolCall};
use codelet_context::refusal::RefusedBy;
use serde_json::{Map, Value, json};

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    ..Form::new("codex-exec", "what codex exec --json prints (JSON lines)", read)
};

fn shows(first: &Seen) -> bool {
    match first.string("type") {
        Some("thread.started") => first.has("thread_id"),
        Some("item.started" | "item.updated" | "item.completed") => {
            first.get("item").is_some_and(|item| item.get_string("id").is_some())
        }
        _ => false,
    }
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut gather = Gather::default();
    while let Some(mut entry) = lines.next()? {
        let kind = take::string(&mut entry.fields, "type").unwrap_or_default();
        match kind.as_str() {
            "item.completed" => {
                let item = take::object(&mut entry.fields, "item").unwrap_or_default();
                if let Some(unknown) = self::item(&mut gather, item) {
                    lines.note_unknown(entry.line, &unknown);
                }
            }
            "thread.started" | "turn.started" | "turn.completed" | "turn.failed" | "item.started" | "item.updated"
            | "item.plan.delta" | "request_user_input" | "error" => {}
            unknown => lines.note_unknown(entry.line, unknown),
        }
    }
    gather.warnings = lines.into_warnings();
    Ok(gather.finish(Format::CodexExec))
}

/// Adds an item; returns its kind if it is unknown.
fn item(gather: &mut Gather, mut item: Fields) -> Option<String> {
    let kind = take::string(&mut item, "type").unwrap_or_default();
    let id = take::string(&mut item, "id").unwrap_or_default();
    match kind.as_str() {
        "agent_message" | "plan" => gather.message(Role::Assistant, gather::text_in(&mut item, "text", Origin::Own)),
        "reasoning" => gather.reply(gather::unsigned_thinking(&mut item, "text")),
        "command_execution" => {
            let command = take::value(&mut item, "command");
            let call = gather::call(id.as_str(), "shell", Map::from_iter([("command".to_owned(), command)]));
            let output = take::string(&mut item, "aggregated_output").unwrap_or_default();
            let success = match item.get("exit_code").and_then(Value::as_i64) {
                Some(code) => Some(code == 0),
                None => status(&item),
            };
            done(gather, &id, call, success, output, &item);
        }
        "file_change" => {
            let changes = take::list(&mut item, "changes");
            let paths: Vec<&str> = changes
                .iter()
                .filter_map(|change| change.get("path")?.as_str())
                .collect();
            let action = Action::on(ActionKind::Change, paths);
            let parameters = Map::from_iter([("changes".to_owned(), Value::Array(changes))]);
            let call = Part::ToolCall(ToolCall::new(id.as_str(), "apply_patch", parameters).doing(action));
            let success = status(&item);
            done(gather, &id, call, success, String::new(), &item);
        }
        "mcp_tool_call" => {
            let name = format!("mcp__{}__{}", take::str(&item, "server"), take::str(&item, "tool"));
            let call = gather::call(id.as_str(), name, take::parameters(take::value(&mut item, "arguments")));
            let output = told(&mut item);
            let success = status(&item);
            done(gather, &id, call, success, output, &item);
        }
        "web_search" => {
            let query = take::value(&mut item, "query");
            let call = gather::call(id.as_str(), "web_search", Map::from_iter([("query".to_owned(), query)]));
            done(gather, &id, call, None, String::new(), &item);
        }
        "collab_tool_call" => {
            let tool = take::string(&mut item, "tool").unwrap_or_default();
            let prompt = take::value(&mut item, "prompt");
            let call = gather::call(id.as_str(), tool, Map::from_iter([("prompt".to_owned(), prompt)]));
            let states = take::object(&mut item, "agents_states").unwrap_or_default();
            let messages = states.values().filter_map(|state| state.get("message")?.as_str());
            let output = messages.collect::<Vec<_>>().join("\n");
            let success = status(&item);
            done(gather, &id, call, success, output, &item);
        }
        "todo_list" => {
            let step = |item: Fields| {
                let is_done = take::flag(&item, "completed");
                json!({"step": take::str(&item, "text"), "status": if is_done { "completed" } else { "pending" }})
            };
            let plan = take::objects(&mut item, "items").map(step).collect();
            let call = gather::call(id.as_str(), "update_plan", Map::from_iter([("plan".to_owned(), plan)]));
            done(gather, &id, call, Some(true), String::new(), &item);
        }
        // Meant for the caller, not for the model.
        "error" => {}
        _ => return Some(kind),
    }
    None
}

/// Adds a call and its result.
fn done(gather: &mut Gather, id: &str, call: Part, success: Option<bool>, output: String, item: &Fields) {
    gather.reply([call]);
    let mut result = gather::result(id, success, gather::text(Origin::Own, output));
    if take::str(item, "status") == "declined" {
        result.refusal = Some(RefusedBy::User("".into()));
    }
    gather.result(result);
}

fn status(item: &Fields) -> Option<bool> {
    match take::str(item, "status") {
        "completed" => Some(true),
        "failed" | "declined" => Some(false),
        _ => None,
    }
}

/// Returns the output of an MCP tool, or its error message.
fn told(item: &mut Fields) -> String {
    if let Some(mut error) = take::object(item, "error") {
        return take::string(&mut error, "message").unwrap_or_default();
    }
    let mut result = take::object(item, "result").unwrap_or_default();
    let texts: Vec<String> = take::objects(&mut result, "content")
        .filter_map(|mut block| take::string(&mut block, "text"))
        .collect();
    match result.get("structured_content") {
        Some(content) if texts.is_empty() && !content.is_null() => content.to_string(),
        _ => texts.join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch;

    #[test]
    fn items_are_calls_with_what_came_of_them() {
        let lines = [
            r#"{"type":"thread.started","thread_id":"t"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.completed","item":{"id":"i0","type":"reasoning","text":"hm"}}"#,
            r#"{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"bash -lc 'make test'","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#,
            r#"{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"bash -lc 'make test'","aggregated_output":"2 failed","exit_code":2,"status":"failed"}}"#,
            r#"{"type":"item.completed","item":{"id":"i2","type":"file_change","changes":[{"path":"a.rs","kind":"update"}],"status":"completed"}}"#,
            r#"{"type":"item.completed","item":{"id":"i3","type":"mcp_tool_call","server":"wiki","tool":"find","arguments":{"q":1},"result":{"content":[{"type":"text","text":"found"}],"structured_content":null},"status":"completed"}}"#,
            r#"{"type":"item.completed","item":{"id":"i4","type":"command_execution","command":"rm -r x","aggregated_output":"","exit_code":null,"status":"declined"}}"#,
            r#"{"type":"item.completed","item":{"id":"i5","type":"agent_message","text":"Done."}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":3,"output_tokens":2}}"#,
        ]
        .join("\n");
        assert_eq!(crate::detect(lines.as_bytes()), Some(Format::CodexExec));
        let document = read(lines.as_bytes()).expect("it is one").document;
        assert_eq!(
            sketch::sketch(&document),
            "thinking: hm\n\
             call i1: shell {\"command\":\"bash -lc 'make test'\"}\n\
             result i1 failed: 2 failed\n\
             call i2: apply_patch {\"changes\":[{\"path\":\"a.rs\",\"kind\":\"update\"}]}\n\
             result i2 ok: \n\
             call i3: mcp__wiki__find {\"q\":1}\n\
             result i3 ok: found\n\
             call i4: shell {\"command\":\"rm -r x\"}\n\
             result i4 failed: \n\
             assistant: Done.\n"
        );
        assert_eq!(document.warnings, []);
        let calls: Vec<ToolCall> = document
            .messages
            .iter()
            .flat_map(|message| message.calls().cloned())
            .collect();
        assert_eq!(calls[0].action.kind, ActionKind::Command);
        assert_eq!(calls[1].action.paths, ["a.rs".into()]);
        let refused = document
            .messages
            .iter()
            .flat_map(|message| message.tool_results())
            .last();
        assert!(refused.is_some_and(|result| result.refusal.is_some()));
    }
}
