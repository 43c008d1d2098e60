//! Tool calls that a model wrote as text, in its own template, because its server does not parse them.

use crate::model::ToolSpec;
use serde_json::Value;

/// The markers that start a call in templates. They are special tokens of models, not text of an answer.
const MARKS: &[&str] = &[
    "<tool_call>", "<tool_calls>", "<|tool_call|>", "<|tool_call>", "<|tool_calls|>", "<|tool_call_begin|>",
    "<|tool_call_start|>", "<|tool_calls_section_begin|>", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>",
    "<minimax:tool_call>", "<function=", "<function_call>", "<function_calls>", "<functioncall>", "<invoke name=",
    "<|python_tag|>", "<|channel|>commentary to=", "[TOOL_CALLS]", "[TOOL_REQUEST]", "[tool_call]", "✿FUNCTION✿",
];
/// The end-of-message markers that servers without the model's template leave in the text.
const ENDS: &[&str] = &["<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|call|>", "</s>"];
/// The keys of the tool's name; `PARAMETERS`: those of its parameters.
const NAME: &[&str] = &[
    "name", "tool", "tool_name", "function", "function_name", "action", "recipient_name",
];
const PARAMETERS: &[&str] = &[
    "arguments", "parameters", "input", "args", "action_input", "tool_input", "kwargs",
];

/// Returns whether an answer is a tool call, preceded at most by some text. When in doubt it is an answer: one that
/// discusses such a call continues after it, or names none of these tools.
pub(crate) fn is_call(answer: &str, tools: &[ToolSpec]) -> bool {
    let mut text = answer.trim();
    while let Some(rest) = ENDS.iter().find_map(|end| text.strip_suffix(end)) {
        text = rest.trim_end();
    }
    if text.is_empty() {
        return false;
    }
    let is_tool = |name: &str| {
        let name = name.trim().trim_start_matches("functions.");
        tools.iter().any(|tool| *tool.name == *name)
    };
    let whole = unfenced(text).filter(|inside| !inside.contains("```")).unwrap_or(text);
    is_json(whole, &is_tool) || is_pythonic(whole, &is_tool) || is_marked(whole, tools)
}

/// Returns the content of a text that is in a code fence, of any language.
pub fn unfenced(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    inside.split_once('\n').map(|(_, inside)| inside.trim())
}

/// Returns whether a text is JSON that names a tool and its parameters: objects, or lists of them.
fn is_json(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    if !text.starts_with(['{', '[']) {
        return false;
    }
    // There may be several calls in a row.
    let mut calls = serde_json::Deserializer::from_str(text).into_iter::<Value>().peekable();
    calls.peek().is_some() && calls.all(|call| call.is_ok_and(|call| is_call_object(&call, is_tool)))
}

fn is_call_object(value: &Value, is_tool: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::Array(calls) => !calls.is_empty() && calls.iter().all(|call| is_call_object(call, is_tool)),
        Value::Object(fields) => {
            if let Some(inner) = ["tool_calls", "tool_call", "function_call", "function"]
                .iter()
                .find_map(|name| fields.get(*name).filter(|inner| inner.is_object() || inner.is_array()))
            {
                return is_call_object(inner, is_tool);
            }
            let name = NAME.iter().find_map(|name| fields.get(*name)?.as_str());
            name.is_some_and(is_tool) && PARAMETERS.iter().any(|name| fields.contains_key(*name))
        }
        _ => false,
    }
}

/// Returns whether a text has the form `[Read(file_path="a.rs")]`.
fn is_pythonic(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let text = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    let Some((name, rest)) = text.split_once('(') else {
        return false;
    };
    let is_given = rest.starts_with(')') || rest.split('(').next().is_some_and(|first| first.contains('='));
    is_tool(name) && is_given && rest.ends_with(')') && !rest.contains("\n\n")
}

/// Returns whether a template's marker starts a line, with nothing but the call from there to the end.
fn is_marked(text: &str, tools: &[ToolSpec]) -> bool {
    let at = text.lines().find_map(|line| {
        let line = line.trim_start();
        let is_mark = MARKS.iter().any(|mark| line.starts_with(mark));
        is_mark.then(|| line.as_ptr() as usize - text.as_ptr() as usize)
    });
    let Some(at) = at else { return false };
    let call = &text[at..];
    let names = |tool: &ToolSpec| {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
        call.match_indices(&*tool.name)
            .any(|(from, name)| !call[..from].ends_with(is_inside) && !call[from + name.len()..].starts_with(is_inside))
    };
    // A call of an unknown tool also counts if there is no other text.
    let is_alone = at == 0;
    let ends = call.trim_end().ends_with(['>', '}', ']', ')']);
    ends && (tools.iter().any(names) || is_alone && PARAMETERS[..2].iter().any(|name| call.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is(answer: &str) -> bool {
        let tools = ["Read", "Bash"].map(|name| ToolSpec {
            name: name.into(),
            description: "".into(),
            parameters: json!({}),
        });
        is_call(answer, &tools)
    }

    #[test]
    fn a_call_in_the_template_of_a_model_is_one() {
        for answer in [
            "<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"file_path\": \"a\"}}\n</tool_call>",
            "I will look.\n\n<tool_call>{\"name\": \"Read\", \"arguments\": {}}</tool_call><|im_end|>",
            "<|tool_call|>[{\"name\": \"Read\", \"arguments\": {}}]",
            "```json\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n```",
            "```\n<tool_call>{\"name\": \"Read\", \"arguments\": {}}</tool_call>\n```",
            "{\"name\": \"Bash\", \"parameters\": {\"command\": \"ls\"}}",
            "{\"tool_calls\": [{\"function\": {\"name\": \"Bash\", \"arguments\": \"{}\"}}]}",
            "[TOOL_CALLS][{\"name\": \"Read\", \"arguments\": {}}]",
            "[TOOL_CALLS]Read[ARGS]{\"file_path\": \"a\"}",
            "<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>",
            "<function_calls>\n<invoke name=\"Bash\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</function_calls>",
            "<|python_tag|>{\"name\": \"Bash\", \"parameters\": {}}<|eom_id|>",
            "[Read(file_path=\"a.rs\")]",
            "<tool_call>{\"name\": \"nosuch\", \"arguments\": {}}</tool_call>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>Read\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{\"command\":\"ls\"}<|call|>",
        ] {
            assert!(is(answer), "{answer}");
        }
    }

    #[test]
    fn an_answer_that_tells_of_a_call_is_an_answer() {
        for answer in [
            "",
            "All done.",
            "The model writes <tool_call>{\"name\": \"Read\"}</tool_call> where it wants to read.",
            "<tool_call>{\"name\": \"Read\", \"arguments\": {}}</tool_call>\n\nThat is what a call looks like in this template.",
            "```json\n{\"name\": \"larder\", \"version\": \"1.0\"}\n```",
            "{\"name\": \"Read\", \"version\": \"1.0\"}",
            "```json\n{\"name\": \"Ada\", \"arguments\": []}\n```",
            "```sh\nls\n```",
            "Read (the file) first.",
            "[]",
            "{}",
        ] {
            assert!(!is(answer), "{answer}");
        }
    }
}
