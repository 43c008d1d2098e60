//! Gemini `generateContent`.

use super::{Faults, text};
use serde_json::Value;

/// What a part may hold ("Part", ai.google.dev, November 2026), also written with underscores.
const PARTS: &[&str] = &[
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse", "thoughtSignature",
];

pub(super) fn check(_: &Value, contents: &[Value], faults: &mut Faults) {
    let mut calls = 0;
    if text(&contents[0], "role") == "model" {
        faults.add("0", "The conversation must start with a user message.");
    }
    for (at, content) in contents.iter().enumerate() {
        let parts = content
            .get("parts")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        if parts.is_empty() {
            faults.add(format!("{at}.parts"), "The message is empty.");
        }
        let count = |names: [&str; 2]| {
            parts
                .iter()
                .filter(|part| names.iter().any(|it| part.get(it).is_some()))
                .count()
        };
        let answers = count(["functionResponse", "function_response"]);
        for (number, part) in parts.iter().enumerate() {
            let is_blank = part.get("text").is_some_and(|words| words == "") && part.get("thoughtSignature").is_none();
            if is_blank || part.as_object().is_some_and(serde_json::Map::is_empty) {
                faults.add(format!("{at}.parts.{number}"), "A part is empty.");
            } else if !part
                .as_object()
                .is_some_and(|fields| fields.keys().any(|name| is_known(name)))
            {
                let sentence = format!("The provider has no such part; it holds one of {}.", PARTS.join(", "));
                faults.add(format!("{at}.parts.{number}"), sentence);
            }
        }
        if answers != calls {
            faults.add(
                at.to_string(),
                format!("This message answers {answers} calls, but {calls} precede it."),
            );
        }
        let is_model = text(content, "role") == "model";
        calls = if is_model {
            count(["functionCall", "function_call"])
        } else {
            0
        };
    }
    if calls > 0 {
        faults.add(
            (contents.len() - 1).to_string(),
            format!("{calls} calls have no answers."),
        );
    }
}

fn is_known(field: &str) -> bool {
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    PARTS.iter().any(|known| plain(known) == plain(field))
}
