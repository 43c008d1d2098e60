//! Calls as single lines: known tools by their arguments, other tools by their parameters.

use codelet_context::message::{Parameters, ToolCall};

/// Writes a call by its arguments if the tool is known, else by its action, or by its parameters.
pub fn call_words(call: &ToolCall) -> String {
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

/// Returns the arguments of a known tool, in one line; other parameters are left out.
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
        "Bash" => parameters.str("command")?.to_owned(),
        "Recall" => format!("Recall {}", parameters.str("handle")?),
        "TodoWrite" => todo_words(parameters)?,
        _ => return None,
    })
}

fn number(parameters: &Parameters, name: &str) -> Option<u64> {
    parameters.as_map().get(name)?.as_u64()
}

const TODO_MARKS: [(&str, &str); 3] = [("[x] ", "completed"), ("[>] ", "in_progress"), ("[ ] ", "pending")];

fn todo_words(parameters: &Parameters) -> Option<String> {
    let items = parameters.as_map().get("todos")?.as_array()?.iter().map(|item| {
        let status = item.get("status")?.as_str()?;
        let (mark, _) = TODO_MARKS.iter().find(|(_, name)| *name == status)?;
        Some(format!("{mark}{}", item.get("content")?.as_str()?))
    });
    Some(format!("TodoWrite {}", items.collect::<Option<Vec<_>>>()?.join("; ")))
}
