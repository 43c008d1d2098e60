//! The texts of a request, and their tokens as an exam counts them.

use serde_json::Value;

/// The text of each block of the messages in order, without the system prompt.
pub fn texts(messages: &[Value]) -> Vec<String> {
    let spoken = messages.iter().filter(|message| message["role"] != "system");
    spoken.flat_map(|message| of_content(&message["content"])).collect()
}

fn of_content(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        _ => content.as_array().into_iter().flatten().filter_map(of_block).collect(),
    }
}

fn of_block(block: &Value) -> Option<String> {
    let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str()? {
        "text" => Some(text("text")),
        "thinking" => Some(text("thinking")),
        "tool_use" => {
            let mut lines = vec![text("name")];
            leaves(&block["input"], &mut lines);
            Some(lines.join("\n"))
        }
        "tool_result" => Some(flat(&block["content"])),
        _ => None,
    }
}

/// The text of a content of one or more blocks.
pub fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        _ => {
            let blocks = content
                .as_array()
                .into_iter()
                .flatten()
                .filter(|block| block.is_object());
            let texts: Vec<&str> = blocks.map(|block| block["text"].as_str().unwrap_or_default()).collect();
            texts.join("\n")
        }
    }
}

/// Adds every text and number in a value.
fn leaves(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::String(text) => lines.push(text.clone()),
        Value::Number(number) => lines.push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, lines)),
        Value::Object(fields) => fields.values().for_each(|value| leaves(value, lines)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The tokens of some texts, as an exam counts them.
pub fn tokens<'a>(texts: impl IntoIterator<Item = &'a String>) -> usize {
    texts.into_iter().map(|text| text.len().div_ceil(4) + 5).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_block_has_one_text_and_the_system_prompt_none() {
        let messages = [
            json!({"role": "system", "content": "rules"}),
            json!({"role": "user", "content": "hello"}),
            json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "tool_use", "id": "1", "name": "run", "input": {"args": ["a", 2, true], "at": {"line": "b"}}},
            ]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            ]}),
        ];
        let found = texts(&messages);
        assert_eq!(found, ["hello", "hm", "run\na\n2\nb", "one\ntwo"]);
        assert_eq!(tokens(&found), (2 + 5) + (1 + 5) + (3 + 5) + (2 + 5));
    }
}
