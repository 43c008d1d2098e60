//! Calls as single lines: known tools by their arguments, other tools by their parameters.

use codelet_context::message::{Action, ActionKind, ToolCall};
use codelet_transcript::shape;
use serde_json::{Map, Value, json};

/// Parses the call in a line, after its id.
pub(super) fn parse(id: &str, words: &str) -> ToolCall {
    let (tool, map) = generic(words)
        .or_else(|| known(words))
        .unwrap_or_else(|| ("Bash".to_owned(), object(json!({ "command": words }))));
    let action = action(&tool, &map);
    ToolCall::new(id, tool, map).doing(action)
}

/// Writes the call so that [`parse`] reads it back.
pub(super) fn exact(call: &ToolCall) -> String {
    let words = shape::call_words(call);
    let parsed = parse(&call.id, &words);
    if parsed.tool == call.tool && parsed.parameters == call.parameters {
        return words;
    }
    let name = match is_word(&call.tool) {
        true => call.tool.to_string(),
        false => Value::from(&*call.tool).to_string(),
    };
    format!("{name} {}", call.parameters.json())
}

/// Parses `Name {…}` and `"any name" {…}`.
fn generic(words: &str) -> Option<(String, Map<String, Value>)> {
    let (name, rest) = if words.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(words).into_iter::<Value>();
        let name = values.next()?.ok()?.as_str()?.to_owned();
        (name, words[values.byte_offset()..].trim_start())
    } else {
        let (name, rest) = words.split_once(' ')?;
        (is_word(name).then(|| name.to_owned())?, rest)
    };
    match rest.starts_with('{').then(|| serde_json::from_str(rest))?.ok()? {
        Value::Object(map) => Some((name, map)),
        _ => None,
    }
}

/// Parses a known tool and its arguments.
fn known(words: &str) -> Option<(String, Map<String, Value>)> {
    let (tool, rest) = words.split_once(' ').unwrap_or((words, ""));
    let parameters = match tool {
        "Read" => match lines(rest) {
            Some((path, from, to)) => json!({ "file_path": path, "offset": from, "limit": to - from + 1 }),
            None => json!({ "file_path": rest }),
        },
        "Write" => match rest.split_once(": ") {
            Some((path, text)) => json!({ "file_path": path, "content": text }),
            None => json!({ "file_path": rest }),
        },
        "Edit" => match rest
            .split_once(": ")
            .and_then(|(path, change)| Some((path, change.split_once(" => ")?)))
        {
            Some((path, (old, new))) => json!({ "file_path": path, "old_string": old, "new_string": new }),
            None => json!({ "file_path": rest }),
        },
        "Grep" | "Glob" => match rest.rsplit_once(" in ") {
            Some((pattern, path)) => json!({ "pattern": pattern, "path": path }),
            None => json!({ "pattern": rest }),
        },
        "LS" => json!({ "path": rest }),
        "Bash" => json!({ "command": rest }),
        "Recall" => json!({ "handle": rest }),
        "TodoWrite" => json!({ "todos": todos(rest)? }),
        _ => return None,
    };
    (!rest.is_empty()).then(|| (tool.to_owned(), object(parameters)))
}

/// Parses `src/a.rs:10-20`: a path and its first and last line.
fn lines(words: &str) -> Option<(&str, u64, u64)> {
    let (path, range) = words.rsplit_once(':')?;
    let (from, to) = range.split_once('-')?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to && to < u64::MAX).then_some((path, from, to))
}

const TODO_MARKS: [(&str, &str); 3] = [("[x] ", "completed"), ("[>] ", "in_progress"), ("[ ] ", "pending")];

fn todos(words: &str) -> Option<Value> {
    words
        .split("; ")
        .map(|item| {
            TODO_MARKS.iter().find_map(|(mark, status)| {
                let content = item.strip_prefix(mark)?;
                Some(json!({ "content": content, "status": status }))
            })
        })
        .collect()
}

fn action(tool: &str, parameters: &Map<String, Value>) -> Action {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    match tool {
        "Read" => Action::on(ActionKind::Read, text("file_path")),
        "Write" => Action::on(ActionKind::Change, text("file_path")),
        "Edit" => Action::on(ActionKind::Change, text("file_path")),
        "Grep" | "Glob" | "LS" => Action::on(ActionKind::Search, text("path")),
        "Bash" => text("command").map(Action::command).unwrap_or_default(),
        "TodoWrite" => Action::on(ActionKind::Todo, []),
        _ => Action::default(),
    }
}

fn is_word(name: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    !name.is_empty() && name.chars().all(word)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
