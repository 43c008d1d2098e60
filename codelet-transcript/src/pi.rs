//! Session files of pi: a tree of entries since version 2, a plain list before that.

use crate::branch::{self, Parent};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::recording::{self, Billed, Recording};
use crate::source;
use crate::take::{self, Fields};
use crate::{Format, ReadError};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Reads a session file, with each request's usage.
pub(crate) fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut nodes: Vec<PiEntry> = Vec::new();
    let mut places = HashMap::new();
    while let Some(mut entry) = lines.next()? {
        let kind = take::string(&mut entry.fields, "type").unwrap_or_default();
        if kind == "session" {
            continue;
        }
        let parent = take::string(&mut entry.fields, "parentId");
        let id = take::string(&mut entry.fields, "id");
        let time = recording::time(&entry.fields);
        let noted = noted(&entry.fields);
        let said = match said(&kind, entry.fields) {
            Ok(said) => said,
            Err(unknown) => {
                lines.note_unknown(entry.line, &unknown);
                PiContent::Nothing
            }
        };
        let is_listed = id.is_none();
        if let Some(id) = id {
            places.entry(id).or_insert(nodes.len());
        }
        nodes.push(PiEntry {
            parent,
            is_listed,
            said,
            time,
            noted,
        });
    }
    let parents: Vec<Parent> = nodes
        .iter()
        .map(|node| match &node.parent {
            Some(id) => places.get(id).map_or(Parent::Lost, |place| Parent::After(*place)),
            None if node.is_listed => Parent::Listed,
            None => Parent::Start,
        })
        .collect();
    let branch = branch::ending_at(nodes.len().saturating_sub(1), &parents);
    let mut gather = Gather::of(lines.into_warnings());
    gather
        .warnings
        .extend(branch.warnings(|at| !matches!(nodes[at].said, PiContent::Nothing)));
    for (node, _) in nodes.into_iter().zip(branch.on).filter(|(_, on)| *on) {
        match node.said {
            PiContent::Nothing => continue,
            PiContent::Message(Role::Assistant, parts) => {
                let (model, billed) = node.noted;
                gather.replied(parts, node.time, model, billed);
            }
            PiContent::Message(role, parts) => gather.message(role, parts),
            PiContent::Result(result) => gather.result(result),
        }
        gather.requests.passed(node.time);
    }
    Ok(gather.finish(Format::Pi))
}

/// Returns the model and the usage of a reply. The prompt count excludes both cache counts, for every provider.
fn noted(fields: &Fields) -> (Option<Arc<str>>, Option<Billed>) {
    let count = |name| take::number(fields, &["message", "usage", name]);
    let of = |name| count(name).unwrap_or(0);
    let billed = count("input")
        .and_then(|uncached| Billed::exclusive(uncached, of("cacheWrite"), of("cacheRead"), of("output")));
    (take::name(fields, &["message", "model"]), billed)
}

struct PiEntry {
    parent: Option<String>,
    /// The entry has no id: it follows the entry before it.
    is_listed: bool,
    said: PiContent,
    time: Option<u64>,
    noted: (Option<Arc<str>>, Option<Billed>),
}

enum PiContent {
    /// Not shown to the model.
    Nothing,
    Message(Role, Vec<Part>),
    Result(ToolResult),
}

/// Reads an entry; returns its kind as the error if it is unknown.
fn said(kind: &str, mut fields: Fields) -> Result<PiContent, String> {
    let user = |part: Option<Part>| PiContent::Message(Role::User, part.into_iter().collect());
    Ok(match kind {
        "message" => match take::object(&mut fields, "message") {
            Some(fields) => message(fields)?,
            None => PiContent::Nothing,
        },
        "compaction" | "branch_summary" => user(summary(&mut fields)),
        "custom_message" => PiContent::Message(Role::User, content(&mut fields, Origin::Injected)),
        "custom" | "label" | "model_change" | "session_info" | "thinking_level_change" => PiContent::Nothing,
        unknown => return Err(String::from(unknown)),
    })
}

fn message(mut fields: Fields) -> Result<PiContent, String> {
    let role = take::string(&mut fields, "role").unwrap_or_default();
    Ok(match role.as_str() {
        "user" => PiContent::Message(Role::User, content(&mut fields, Origin::Own)),
        "assistant" => PiContent::Message(Role::Assistant, reply(&mut fields)),
        "toolResult" => {
            let id = take::string(&mut fields, "toolCallId").unwrap_or_default();
            let success = take::success(&fields, "isError");
            PiContent::Result(gather::result(id, success, content(&mut fields, Origin::Own)))
        }
        "bashExecution" if take::flag(&fields, "excludeFromContext") => PiContent::Nothing,
        "bashExecution" => PiContent::Message(
            Role::User,
            vec![Part::text_from(Origin::Injected, execution(&mut fields))],
        ),
        "custom" | "hookMessage" => PiContent::Message(Role::User, content(&mut fields, Origin::Injected)),
        "branchSummary" | "compactionSummary" => {
            PiContent::Message(Role::User, summary(&mut fields).into_iter().collect())
        }
        unknown => return Err(format!("message of {unknown}")),
    })
}

fn summary(fields: &mut Fields) -> Option<Part> {
    gather::text_in(fields, "summary", Origin::Summary)
}

fn content(fields: &mut Fields, origin: Origin) -> Vec<Part> {
    gather::content(take::value(fields, "content"), origin)
}

fn reply(fields: &mut Fields) -> Vec<Part> {
    let api = take::string(fields, "api").unwrap_or_default();
    let block = |mut block: Fields| match take::str(&block, "type") {
        "text" => gather::text_in(&mut block, "text", Origin::Own),
        "thinking" => thinking(&mut block, &api),
        "toolCall" => Some(gather::call_in(&mut block, ["id", "name", "arguments"])),
        _ => None,
    };
    take::objects(fields, "content").filter_map(block).collect()
}

/// Reads thinking; the meaning of its signature depends on the provider's API.
fn thinking(block: &mut Fields, api: &str) -> Option<Part> {
    let words = take::string(block, "thinking").unwrap_or_default();
    let proof = take::string(block, "thinkingSignature");
    match api {
        "anthropic-messages" | "bedrock-converse-stream" if take::flag(block, "redacted") => {
            gather::thinking(String::new(), None, proof, Some("anthropic"))
        }
        "anthropic-messages" | "bedrock-converse-stream" => gather::thinking(words, proof, None, Some("anthropic")),
        // Here the signature is the whole reasoning item as JSON.
        "openai-responses" | "azure-openai-responses" | "openai-codex-responses" => {
            let item = proof.and_then(|proof| source::embedded(&proof));
            let sealed = match item {
                Some(Value::Object(mut item)) => take::string(&mut item, "encrypted_content"),
                _ => None,
            };
            gather::thinking(words, None, sealed, Some("openai"))
        }
        _ => gather::unsigned(words),
    }
}

/// Formats a command that the user ran as pi reports it to the model.
fn execution(fields: &mut Fields) -> String {
    let mut text = format!("Ran `{}`\n", take::str(fields, "command"));
    match take::string(fields, "output").filter(|output| !output.is_empty()) {
        Some(output) => text.push_str(&format!("```\n{output}\n```")),
        None => text.push_str("(no output)"),
    }
    let status = fields.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
    if take::flag(fields, "cancelled") {
        text.push_str("\n\n(command cancelled)");
    } else if status != 0 {
        text.push_str(&format!("\n\nCommand exited with code {status}"));
    }
    let whole = take::str(fields, "fullOutputPath");
    if take::flag(fields, "truncated") && !whole.is_empty() {
        text.push_str(&format!("\n\n[Output truncated. Full output: {whole}]"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;

    fn listed(message: &str) -> String {
        format!("{{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{{{message}}}}}\n")
    }

    fn entry(id: &str, parent: &str, rest: &str) -> String {
        let parent = if parent.is_empty() {
            String::from("null")
        } else {
            format!("\"{parent}\"")
        };
        format!("{{\"id\":\"{id}\",\"parentId\":{parent},{rest}}}\n")
    }

    fn user(text: &str) -> String {
        format!(r#""type":"message","message":{{"role":"user","content":"{text}"}}"#)
    }

    #[test]
    fn replies_and_results_of_a_plain_list() {
        let file = [
            String::from("{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/x\"}\n"),
            listed(r#""role":"user","content":[{"type":"text","text":"go"},{"type":"image","mimeType":"image/png","data":"iV"}]"#),
            String::from("{\"type\":\"model_change\",\"modelId\":\"m\"}\n"),
            listed(
                r#""role":"assistant","api":"anthropic-messages","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},
                {"type":"text","text":"looking"},{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls"}}]"#
                    .replace('\n', "")
                    .as_str(),
            ),
            listed(r#""role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"no"}],"isError":true"#),
            listed(r#""role":"bashExecution","command":"make","output":"x","exitCode":2,"cancelled":false,"truncated":false"#),
            listed(r#""role":"bashExecution","command":"pwd","output":"/x","exitCode":0,"excludeFromContext":true"#),
            String::from("{\"type\":\"compaction\",\"summary\":\"so far\",\"firstKeptEntryIndex\":3}\n"),
            listed(r#""role":"assistant","content":[],"stopReason":"error""#),
        ];
        check(
            record,
            &file.concat(),
            r#"user: go
            user image: image/png iV
            thinking of anthropic signed sig: hm
            assistant: looking
            call c1: bash {"command":"ls"}
            result c1 failed: no
            -
            user (injected): Ran `make`|```|x|```||Command exited with code 2
            -
            user (summary): so far"#,
        );
    }

    #[test]
    fn the_branch_of_the_last_entry_is_the_conversation() {
        let file = [
            String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n"),
            entry("a", "", &user("go")),
            entry("b", "a", &user("left")),
            entry(
                "c",
                "a",
                r#""type":"branch_summary","fromId":"b","summary":"went left""#,
            ),
            entry(
                "d",
                "c",
                r#""type":"custom_message","customType":"x","content":"by an extension","display":true"#,
            ),
            entry("e", "d", &user("right")),
            entry("f", "e", r#""type":"label","targetId":"a","label":"start""#),
        ];
        check(
            record,
            &file.concat(),
            "user: go\n-\nuser (summary): went left\n-\nuser (injected): by an extension\n-\nuser: right",
        );
    }

    #[test]
    fn the_proof_of_thinking_belongs_to_a_vendor() {
        let reply = |api: &str, proof: &str| {
            let block = format!(r#"{{"type":"thinking","thinking":"hm","thinkingSignature":"{proof}"}}"#);
            listed(&format!(r#""role":"assistant","api":"{api}","content":[{block}]"#))
        };
        let sealed = r#"{\"type\":\"reasoning\",\"encrypted_content\":\"xyz\"}"#;
        check(
            record,
            &reply("openai-responses", sealed),
            "thinking of openai sealed xyz: hm",
        );
        check(
            record,
            &reply("openai-completions", "reasoning_content"),
            "thinking: hm",
        );
        check(record, &reply("anthropic-messages", ""), "thinking of anthropic: hm");
    }

    #[test]
    fn a_request_begins_when_the_entry_before_its_reply_was_written() {
        let file = concat!(
            r#"{"type":"message","timestamp":"1970-01-01T00:00:02Z","message":{"role":"user","content":"go"}}"#,
            "\n",
            r#"{"type":"message","timestamp":"1970-01-01T00:00:05Z","message":{"role":"assistant","model":"m","content":"#,
            r#"[{"type":"text","text":"gone"}],"usage":{"input":5,"output":2,"cacheRead":30,"cacheWrite":7}}}"#,
            "\n"
        );
        let requests = record(file.as_bytes()).unwrap().requests;
        let [request] = requests.as_slice() else {
            panic!("{requests:?}")
        };
        assert_eq!((request.reply, request.began), (1, Some(2_000)));
        assert_eq!(
            request.billed.unwrap().usage,
            codelet_context::usage::Usage::from_exclusive(5, 7, 30, 2)
        );
    }
}
