//! Tasks of Cline, Roo Code and Kilo Code (`api_conversation_history.json`): a list of messages in Anthropic's format,
//! with annotations. Messages that were condensed stay in the file, followed by their summary.

use crate::blocks;
use crate::claude_code::user_parts;
use crate::events;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::skim::Seen;
use crate::source;
use crate::take::{self, Fields};
use crate::told;
use crate::{ReadError, Recording};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use codelet_context::refusal::{RefusedBy, words_in};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    is_items: true,
    ..Form::new("cline", "a task of Cline, Roo Code or Kilo Code (JSON)", read)
};

/// Annotations that these agents put on messages, which no provider accepts.
const NOTES: [&str; 7] = [
    "ts", "isSummary", "condenseId", "condenseParent", "truncationParent", "isTruncationMarker", "modelInfo",
];

fn shows(first: &Seen) -> bool {
    first.has("role") && first.has("content") && NOTES.iter().any(|note| first.has(note))
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut gather = Gather::default();
    gather.warnings = events::each(bytes, |entry, notes| {
        let kind = take::str(&entry.fields, "role").to_owned();
        if !message(&mut gather, entry.fields) {
            notes.unread(entry.line, &kind);
        }
    })?;
    let mut recording = gather.finish(Format::Cline);
    // Text that these agents write in the user's name is not marked by a field.
    told::mark_rest(&mut recording.document.messages);
    Ok(recording)
}

/// Adds a message; returns whether it could be read.
fn message(gather: &mut Gather, mut fields: Fields) -> bool {
    let origin = match () {
        () if take::flag(&fields, "isSummary") => Origin::Summary,
        () if take::flag(&fields, "isTruncationMarker") => Origin::Injected,
        () => Origin::Own,
    };
    let content = match take::value(&mut fields, "content") {
        Value::Array(blocks) => Value::Array(blocks.into_iter().map(thought).collect()),
        content @ Value::String(_) => content,
        // Some versions store thinking as an entry of its own.
        _ if fields.contains_key("encrypted_content") || fields.contains_key("summary") => return true,
        _ => return false,
    };
    let mut parts = blocks::content(content, origin);
    match take::str(&fields, "role") {
        "assistant" => {
            parts.retain(|part| !matches!(part, Part::ToolResult(_)));
            gather.message(Role::Assistant, parts);
        }
        "user" => {
            parts.retain(|part| !matches!(part, Part::ToolCall(_)));
            let said: Vec<Part> = parts.iter_mut().filter_map(answered).collect();
            let parts = parts.into_iter().flat_map(told_apart).collect();
            user_parts(gather, parts);
            gather.prompt(said);
        }
        _ => return false,
    }
    true
}

/// Converts a reasoning block to Anthropic's thinking block.
fn thought(block: Value) -> Value {
    let is_it = block.get("type").and_then(Value::as_str) == Some("reasoning");
    match (is_it, block) {
        (true, Value::Object(mut fields)) => {
            let words = take::value(&mut fields, "text");
            serde_json::json!({"type": "thinking", "thinking": words})
        }
        (_, block) => block,
    }
}

/// Takes the user's words that replace an output or are appended to one.
fn answered(part: &mut Part) -> Option<Part> {
    let Part::ToolResult(result) = part else { return None };
    let text = result.texts().next()?.body.as_str().to_owned();
    if let Some(said) = words_in(&text) {
        refuse(result, said);
        return None;
    }
    if let Ok((Value::Object(fields), _)) = source::parse(&text) {
        let feedback = take::str(&fields, "feedback");
        match take::str(&fields, "status") {
            "denied" => refuse(result, feedback),
            "approved" | "guidance" if !feedback.is_empty() => return Some(Part::text(feedback)),
            _ => {}
        }
        return None;
    }
    let (_, said, _) = feedback(&text)?;
    Some(Part::text(said))
}

fn refuse(result: &mut ToolResult, said: &str) {
    result.success = Some(false);
    result.refusal = Some(RefusedBy::User(said.into()));
}

/// Splits the user's words from the agent's text around them.
fn told_apart(part: Part) -> Vec<Part> {
    let Part::Text(text) = &part else { return vec![part] };
    if text.origin != Origin::Own {
        return vec![part];
    }
    match feedback(text.body.as_str()) {
        Some((before, said, behind)) => [
            gather::text(Origin::Injected, before.to_owned()),
            gather::text(Origin::Own, said.to_owned()),
            gather::text(Origin::Injected, behind.to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect(),
        None => vec![part],
    }
}

/// Finds the user's words in an agent's sentence about them, with the text before and after.
fn feedback(text: &str) -> Option<(&str, &str, &str)> {
    const BEGINNINGS: [&str; 3] = ["The user ", "Approved with feedback", "[attempt_completion] Result:"];
    let (head, rest) = text.split_once("<feedback>\n")?;
    let (said, tail) = rest.split_once("\n</feedback>")?;
    let sentence = head.lines().rfind(|line| !line.trim().is_empty())?;
    let is_agents = BEGINNINGS.iter().any(|begin| sentence.trim_start().starts_with(begin));
    let whole = &text[..text.len() - rest.len()];
    is_agents.then_some((whole, said, &rest[rest.len() - tail.len() - "\n</feedback>".len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
    use serde_json::json;

    #[test]
    fn feedback_is_what_the_user_says_and_a_condensed_task_has_a_summary() {
        let call =
            |id: &str| json!({"type": "tool_use", "id": id, "name": "execute_command", "input": {"command": "make"}});
        let result = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
        let file = json!([
            {"role": "user", "ts": 1, "content": [{"type": "text", "text": "<task>\nBuild it.\n</task>"}, {"type": "text", "text": "<environment_details>\n# Time\n</environment_details>"}]},
            {"role": "assistant", "ts": 2, "condenseParent": "k", "content": [{"type": "reasoning", "text": "hm"}, call("a"), call("b"), call("c")]},
            {"role": "user", "ts": 3, "content": [
                result("a", "The user denied this operation and provided the following feedback:\n<feedback>\nNot so.\n</feedback>"),
                result("b", "{\"status\":\"denied\",\"feedback\":\"Nor so.\"}"),
                result("c", "Exit code: 1\nno rule\nThe user approved this operation and provided the following context:\n<feedback>\nUse ninja.\n</feedback>")]},
            {"role": "assistant", "ts": 4, "content": "I stop."},
            {"role": "user", "ts": 5, "isSummary": true, "condenseId": "k", "content": [{"type": "text", "text": "so far"}]},
            {"role": "assistant", "ts": 6, "content": "Done."},
            {"role": "user", "ts": 7, "content": [{"type": "text", "text": "The user has provided feedback on the results.\nThe user said:\n<feedback>\nAlso the docs.\n</feedback>"}]},
        ]);
        let text = file.to_string();
        assert_eq!(crate::detect(text.as_bytes()), Some(Format::Cline));
        let document = crate::read(text.as_bytes(), None).expect("it is one");
        let prompts: Vec<String> = document
            .messages
            .iter()
            .filter(|message| message.is_prompt())
            .flat_map(|message| &message.parts)
            .filter_map(|part| match part {
                Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str().to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(prompts, ["<task>\nBuild it.\n</task>", "Use ninja.", "Also the docs."]);
        let results: Vec<_> = document
            .messages
            .iter()
            .flat_map(|message| message.tool_results())
            .collect();
        let refused = |words: &str| Some(RefusedBy::User(words.into()));
        assert_eq!(results[0].refusal, refused("Not so."));
        assert_eq!(results[1].refusal, refused("Nor so."));
        assert_eq!((results[2].success, &results[2].refusal), (Some(false), &None));
        assert!(
            sketch(&document).contains("user (summary): so far\n"),
            "{}",
            sketch(&document)
        );
        assert_eq!(document.warnings, []);
    }
}
