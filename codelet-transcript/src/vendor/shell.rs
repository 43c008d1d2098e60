//! The content of OpenAI's `shell_call_output`: for each command its output and outcome. ("Shell",
//! developers.openai.com, November 2026.) The outputs become texts of the result, which are quoted and shortened like
//! any other; the JSON around them is kept and put back.

use crate::extra::marked;
use codelet_context::message::{Origin, Part, Text, ToolResult};
use serde_json::Value;

/// The item type.
pub(crate) const OUTPUT: &str = "shell_call_output";
/// On a text: the index of its command, and its field.
const PLACE: &str = "codelet.printed";
/// On a result: the list without the texts.
const FRAME: &str = "codelet.shell";
const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// Takes the texts out of a list of outputs; returns any other value unchanged.
pub(crate) fn take_apart(output: Value) -> Result<(Vec<Part>, Value, Option<bool>), Value> {
    let is_one = |entry: &Value| {
        STREAMS
            .iter()
            .any(|name| entry.get(*name).is_some_and(Value::is_string))
    };
    let mut frame = match output {
        Value::Array(entries) if !entries.is_empty() && entries.iter().all(is_one) => entries,
        other => return Err(other),
    };
    let success = success(&frame);
    let mut texts = Vec::new();
    for (number, entry) in frame.iter_mut().enumerate() {
        for name in STREAMS {
            if let Some(Value::String(printed)) = entry.get_mut(name)
                && !printed.trim().is_empty()
            {
                let mut text = Text::new(std::mem::take(printed), Origin::Own);
                text.extra = marked(Default::default(), PLACE, format!("{number} {name}"));
                texts.push(Part::Text(text));
            }
        }
    }
    Ok((texts, Value::Array(frame), success))
}

/// Keeps the JSON around the texts.
pub(crate) fn keep_frame(result: &mut ToolResult, frame: Value) {
    result.extra = marked(std::mem::take(&mut result.extra), FRAME, frame);
}

/// Returns whether all commands succeeded; `None` if one has no outcome.
fn success(entries: &[Value]) -> Option<bool> {
    let outcomes = entries.iter().map(|entry| {
        let outcome = entry.get("outcome")?;
        match outcome.get("type")?.as_str()? {
            "exit" => Some(outcome.get("exit_code")?.as_i64()? == 0),
            "timeout" => Some(false),
            _ => None,
        }
    });
    outcomes
        .collect::<Option<Vec<bool>>>()
        .map(|ended| ended.iter().all(|well| *well))
}

/// Returns the list with the current texts; `None` for other results.
pub(crate) fn put_together(result: &ToolResult) -> Option<Value> {
    let mut frame = result.extra.get(FRAME)?.clone();
    for part in &result.output {
        let Part::Text(text) = part else { continue };
        // A text that replaces everything, such as a pointer, has no place.
        let place = text.extra.get(PLACE).and_then(Value::as_str).unwrap_or("0 stdout");
        let (number, name) = place.split_once(' ')?;
        let entry = frame.get_mut(number.parse::<usize>().ok()?)?;
        let held = entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let joined = match held.trim().is_empty() {
            true => text.body.as_str().to_owned(),
            false => format!("{held}\n{}", text.body.as_str()),
        };
        entry[name] = Value::from(joined);
    }
    Some(frame)
}

/// Returns all output, for providers that do not have such a list; `None` for other results.
pub(crate) fn joined(result: &ToolResult) -> Option<String> {
    result.extra.get(FRAME)?;
    let texts: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{Format, read, write};
    use codelet_context::message::{Part, Role};
    use serde_json::{Value, json};

    fn request(outputs: Value) -> String {
        json!({"input": [{"role": "user", "content": "Test."},
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["cargo test"]}},
            {"type": "shell_call_output", "call_id": "c", "output": outputs}]})
        .to_string()
    }

    #[test]
    fn what_commands_printed_is_text_and_their_outcomes_are_the_status() {
        let exit = |code: i64| json!({"type": "exit", "exit_code": code});
        let outputs = json!([{"stdout": "1 passed", "stderr": "", "outcome": exit(0)}, {"stdout": " ", "stderr": "FAILED", "outcome": exit(101)}]);
        let text = request(outputs);
        let mut document = read(text.as_bytes(), Some(Format::Responses)).unwrap();
        assert_eq!(write(&document, Format::Responses).unwrap(), text);
        let Some(Part::ToolResult(result)) = document.messages[2].parts.first_mut() else {
            panic!("an answer");
        };
        let texts: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
        assert_eq!((texts, result.success), (vec!["1 passed", "FAILED"], Some(false)));
        if let Part::Text(first) = &mut result.output[0] {
            first.body = "[cut]".into();
        }
        let shortened = write(&document, Format::Responses).unwrap();
        assert!(
            shortened.contains(r#"{"stdout":"[cut]","stderr":"","outcome""#),
            "{shortened}"
        );
        let elsewhere = write(&document, Format::Anthropic).unwrap();
        assert!(
            elsewhere.contains("FAILED") && !elsewhere.contains("outcome"),
            "{elsewhere}"
        );
        assert_eq!(document.messages[2].role, Role::User);
    }

    #[test]
    fn outputs_of_another_shape_come_back_as_they_were() {
        for outputs in [
            json!([]),
            json!([{"type": "input_text", "text": "x"}]),
            json!("x"),
            json!([{"stdout": 7}]),
        ] {
            let text = request(outputs);
            let document = read(text.as_bytes(), Some(Format::Responses)).unwrap();
            assert_eq!(write(&document, Format::Responses).unwrap(), text);
        }
    }
}
