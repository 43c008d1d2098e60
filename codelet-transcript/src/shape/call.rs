//! Calls as single lines: known tools by their arguments, other tools by their parameters.

use codelet_context::message::{Action, ActionKind, Parameters, ToolCall};
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
    let simple = simple(&call.tool, &call.parameters);
    let same = |words: &String| {
        let parsed = parse(&call.id, words);
        parsed.tool == call.tool && parsed.parameters == call.parameters
    };
    simple.filter(same).unwrap_or_else(|| {
        let name = match is_word(&call.tool) {
            true => call.tool.to_string(),
            false => Value::from(&*call.tool).to_string(),
        };
        format!("{name} {}", call.parameters.json())
    })
}

/// Writes the call for people: by its arguments if the tool is known, else by its action, or by its parameters.
pub(super) fn picture(call: &ToolCall) -> String {
    if let Some(words) = simple(&call.tool, &call.parameters) {
        return words;
    }
    if let Some(command) = &call.action.command {
        return command.to_string();
    }
    match call.action.paths.as_slice() {
        [] => format!("{} {}", call.tool, call.parameters.json()),
        paths => format!("{} {}", call.tool, paths.join(" ")),
    }
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

/// Returns the arguments of a known tool, as [`known`] reads them; other parameters are left out.
fn simple(tool: &str, parameters: &Parameters) -> Option<String> {
    let path = || parameters.str("file_path");
    Some(match tool {
        "Read" => match (number(parameters, "offset"), number(parameters, "limit")) {
            (Some(from), Some(limit)) => {
                let to = from.checked_add(limit)?.checked_sub(1)?;
                format!("Read {}:{from}-{to}", path()?)
            }
            _ => format!("Read {}", path()?),
        },
        "Write" => match parameters.str("content") {
            Some(text) => format!("Write {}: {text}", path()?),
            None => format!("Write {}", path()?),
        },
        "Edit" => match (parameters.str("old_string"), parameters.str("new_string")) {
            (Some(old), Some(new)) => format!("Edit {}: {old} => {new}", path()?),
            _ => format!("Edit {}", path()?),
        },
        "Grep" | "Glob" => match parameters.str("path") {
            Some(path) => format!("{tool} {} in {path}", parameters.str("pattern")?),
            None => format!("{tool} {}", parameters.str("pattern")?),
        },
        "LS" => format!("LS {}", parameters.str("path")?),
        // A command that would be read as another tool's line is written with the tool name.
        "Bash" => match parameters.str("command")? {
            command if generic(command).or_else(|| known(command)).is_some() => format!("Bash {command}"),
            command => command.to_owned(),
        },
        "Recall" => format!("Recall {}", parameters.str("handle")?),
        "TodoWrite" => todo_words(parameters)?,
        _ => return None,
    })
}

fn number(parameters: &Parameters, name: &str) -> Option<u64> {
    parameters.as_map().get(name)?.as_u64()
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

fn todo_words(parameters: &Parameters) -> Option<String> {
    let items = parameters.as_map().get("todos")?.as_array()?.iter().map(|item| {
        let status = item.get("status")?.as_str()?;
        let (mark, _) = TODO_MARKS.iter().find(|(_, name)| *name == status)?;
        Some(format!("{mark}{}", item.get("content")?.as_str()?))
    });
    Some(format!("TodoWrite {}", items.collect::<Option<Vec<_>>>()?.join("; ")))
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
