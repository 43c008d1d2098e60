//! Session files of Claude Code.
//!
//! Each line is an entry with its own id and its parent's, so a file is a tree: a rewind leaves a branch behind, parallel
//! calls are answered on branches of their own, and one reply is spread over a line for each of its blocks.

use crate::attachment;
use crate::branch::{self, Parent};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::recording::{self, Billed, Recorded, Recording};
use crate::take::{self, Fields};
use crate::{Format, ReadError};
use codelet_context::message::{Extra, Origin, Part, Role, Text};
use serde_json::Value;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Reads a session file, with what each request was billed.
pub(crate) fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut session = Session::default();
    while let Some(entry) = lines.next()? {
        if let Some(kind) = unread(&entry.fields) {
            lines.note_unread(entry.line, kind);
        }
        if let Some(kind) = session.entry(entry.fields) {
            lines.note_unknown(entry.line, &kind);
        }
    }
    let (gather, requests) = session.finish();
    Ok(Recording {
        document: gather.finish(Format::ClaudeCode, lines.into_warnings()),
        requests,
    })
}

/// The kind of an entry that should say something and holds nothing to read it from.
fn unread(fields: &Fields) -> Option<&str> {
    let kind = take::str(fields, "type");
    let content = fields.get("message").and_then(|message| message.get("content"));
    let is_read = content.is_some_and(|content| content.is_string() || content.is_array());
    (matches!(kind, "user" | "assistant") && !is_read).then_some(kind)
}

/// The tree of entries, in the order of the file.
#[derive(Default)]
struct Session {
    nodes: Vec<Node>,
    /// The place of each entry, by its id.
    places: HashMap<String, usize>,
    /// Prompts typed while the agent was at work, oldest first.
    queue: VecDeque<String>,
    /// Queued prompts that the file also records as what the model was shown.
    shown: HashSet<String>,
}

struct Node {
    parent: Link,
    said: Said,
    /// When the entry was written, in milliseconds since 1970-01-01 UTC.
    time: Option<u64>,
}

/// The parent as the entry names it; it is looked up at the end, when all entries are known.
enum Link {
    Start,
    To(String),
    Lost,
    /// No entry of the tree: it belongs to wherever the conversation was at that moment.
    Beside,
}

enum Said {
    /// Nothing that the model saw; it only links others.
    Nothing,
    /// Blocks of the reply with this id.
    Reply {
        id: String,
        parts: Vec<Part>,
        /// The model and the bill of the request; none of a reply that the harness made up.
        noted: Option<(Option<Arc<str>>, Option<Billed>)>,
    },
    /// Prompts, results, and what the harness put in.
    User(Vec<Part>),
    /// A queued prompt at the moment at which it was handed to the model.
    Queued(String),
}

impl Session {
    /// Takes in an entry; returns its kind where it is an unknown one.
    fn entry(&mut self, mut fields: Fields) -> Option<String> {
        if take::flag(&fields, "isSidechain") {
            return None;
        }
        let kind = take::string(&mut fields, "type").unwrap_or_default();
        let time = recording::time(&fields);
        let said = match kind.as_str() {
            "assistant" => reply(&mut fields),
            "user" => user(&mut fields),
            "attachment" => self.attachment(&mut fields),
            "system" => system(&mut fields),
            "queue-operation" => {
                self.queue(&mut fields, time);
                return None;
            }
            _ => Said::Nothing,
        };
        let parent = parent(&mut fields, &kind);
        if let Some(id) = take::string(&mut fields, "uuid") {
            // A resumed session may repeat what it resumes.
            if let std::collections::hash_map::Entry::Vacant(place) = self.places.entry(id) {
                place.insert(self.nodes.len());
                self.nodes.push(Node { parent, said, time });
            }
        } else if !matches!(said, Said::Nothing) {
            self.nodes.push(Node {
                parent: Link::Beside,
                said,
                time,
            });
        }
        (!is_known(&kind)).then_some(kind)
    }

    /// A prompt that is typed while the agent works is queued, and handed over between two steps (`remove`), sent as an
    /// entry of its own (`dequeue`), or taken back into the input line (`popAll`).
    fn queue(&mut self, fields: &mut Fields, time: Option<u64>) {
        match take::str(fields, "operation") {
            "enqueue" => self.queue.extend(take::string(fields, "content")),
            "remove" => {
                if let Some(prompt) = self.queue.pop_front() {
                    let said = Said::Queued(prompt);
                    self.nodes.push(Node {
                        parent: Link::Beside,
                        said,
                        time,
                    });
                }
            }
            "dequeue" => drop(self.queue.pop_front()),
            "popAll" => self.queue.clear(),
            _ => {}
        }
    }

    /// What the harness attached to the conversation, as far as it is text.
    fn attachment(&mut self, fields: &mut Fields) -> Said {
        let Some(mut attachment) = take::object(fields, "attachment") else {
            return Said::Nothing;
        };
        let kind = take::string(&mut attachment, "type").unwrap_or_default();
        if kind == "queued_command" {
            let typed = matches!(take::str(&attachment, "commandMode"), "" | "prompt");
            let origin = if typed { Origin::Own } else { Origin::Injected };
            if let Some(prompt) = attachment.get("prompt").and_then(Value::as_str) {
                self.shown.insert(String::from(prompt));
            }
            let mut parts = content(take::value(&mut attachment, "prompt"), origin);
            parts.retain(|part| !matches!(part, Part::ToolCall(_)));
            return Said::User(parts);
        }
        let text = ["content", "snippet", "stdout"]
            .iter()
            .find_map(|name| text_within(take::value(&mut attachment, name)))
            .and_then(|text| gather::text(Origin::Injected, text));
        text.map_or(Said::Nothing, |part| Said::User(vec![part]))
    }

    /// The conversation on the branch that ends at the last entry, and its requests.
    fn finish(self) -> (Gather, Vec<Recorded>) {
        let on = self.on_branch();
        let mut gather = Gather::default();
        let mut requests: Vec<Recorded> = Vec::new();
        let mut reply: Option<(String, usize)> = None;
        let mut latest = None;
        for (node, on) in self.nodes.into_iter().zip(on) {
            let said_something = on && !matches!(node.said, Said::Nothing);
            match node.said {
                _ if !on => {}
                Said::Nothing => {}
                Said::Reply { id, parts, noted } => match reply.as_ref().and_then(|(last, at)| {
                    // The rest of a reply may stand after the first of its results.
                    if *last == id && !id.is_empty() {
                        gather.message_mut(*at)
                    } else {
                        None
                    }
                }) {
                    Some(message) => {
                        message.parts.extend(parts);
                        // Each block repeats the figures of its reply; the last ones are the newest.
                        if let (Some(request), Some((_, Some(billed)))) = (requests.last_mut(), noted) {
                            request.billed = Some(billed);
                        }
                    }
                    None => {
                        let before = gather.len();
                        gather.message(Role::Assistant, parts);
                        reply = (gather.len() > before).then_some((id, before));
                        if let (Some(_), Some((model, billed))) = (&reply, noted) {
                            requests.push(Recorded {
                                reply: before,
                                began: latest.or(node.time),
                                model,
                                billed,
                            });
                        }
                    }
                },
                Said::User(parts) => {
                    if !user_parts(&mut gather, parts) {
                        reply = None;
                    }
                }
                Said::Queued(prompt) if self.shown.contains(&prompt) => {}
                Said::Queued(prompt) => {
                    let note = prompt.starts_with("<task-notification>") || prompt.starts_with("{\"task_id\":");
                    let origin = if note { Origin::Injected } else { Origin::Own };
                    gather.message(Role::User, gather::text(origin, prompt).into_iter().collect());
                    reply = None;
                }
            }
            if said_something {
                latest = node.time.or(latest);
            }
        }
        (gather, requests)
    }

    fn on_branch(&self) -> Vec<bool> {
        let told = |node: &Node| !matches!(node.said, Said::Nothing) && !matches!(node.parent, Link::Beside);
        let Some(leaf) = self.nodes.iter().rposition(told) else {
            return vec![true; self.nodes.len()];
        };
        let parents: Vec<Parent> = self
            .nodes
            .iter()
            .map(|node| match &node.parent {
                Link::Start => Parent::Start,
                Link::To(id) => self.places.get(id).map_or(Parent::Lost, |place| Parent::After(*place)),
                Link::Lost | Link::Beside => Parent::Lost,
            })
            .collect();
        let mut on = branch::ending_at(leaf, &parents);
        self.add_siblings(&mut on);
        self.add_beside(&mut on);
        on
    }

    /// Blocks of one reply are a chain, and each call's result hangs on its own call: the branch passes through one of the
    /// results, and the others belong to the conversation no less.
    fn add_siblings(&self, on: &mut [bool]) {
        let mut replies = HashSet::new();
        let mut answered = HashSet::new();
        for (node, _) in self.nodes.iter().zip(on.iter()).filter(|(_, on)| **on) {
            match &node.said {
                Said::Reply { id, .. } if !id.is_empty() => {
                    replies.insert(id.as_str());
                }
                Said::User(parts) => answered.extend(answers(parts)),
                _ => {}
            }
        }
        let mut calls = HashSet::new();
        for (node, on) in self.nodes.iter().zip(on.iter_mut()) {
            if let Said::Reply { id, parts, .. } = &node.said {
                *on |= replies.contains(id.as_str());
                if *on {
                    calls.extend(parts.iter().filter_map(|part| match part {
                        Part::ToolCall(call) => Some(call.id.as_ref()),
                        _ => None,
                    }));
                }
            }
        }
        for (node, on) in self.nodes.iter().zip(on.iter_mut()) {
            if let (Said::User(parts), false) = (&node.said, *on) {
                *on = answers(parts).any(|id| calls.contains(id) && !answered.contains(id));
            }
        }
    }

    /// What is no entry of the tree belongs to the branch that was under way.
    fn add_beside(&self, on: &mut [bool]) {
        let mut current = true;
        for (node, on) in self.nodes.iter().zip(on.iter_mut()) {
            match (&node.parent, &node.said) {
                (Link::Beside, _) => *on = current,
                (_, Said::Nothing) => {}
                _ => current = *on,
            }
        }
    }
}

fn answers(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.call_id.as_ref()),
        _ => None,
    })
}

/// Adds a user's entry; says whether it held results only.
fn user_parts(gather: &mut Gather, parts: Vec<Part>) -> bool {
    let results = parts.iter().filter(|part| matches!(part, Part::ToolResult(_))).count();
    if results == 0 {
        gather.message(Role::User, parts);
        return false;
    }
    let alone = results == parts.len();
    for part in parts {
        match part {
            Part::ToolResult(result) => gather.result(result),
            other => {
                if let Some(message) = gather.message_mut(gather.len() - 1) {
                    message.parts.push(other);
                }
            }
        }
    }
    if !alone {
        gather.close();
    }
    alone
}

/// Kinds of entry that this version reads, or knows to hold nothing that the model saw.
pub(crate) fn is_known(kind: &str) -> bool {
    const KNOWN: &[&str] = &[
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "assistant",
        "attachment",
        "attribution-snapshot",
        "content-replacement",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "summary",
        "system",
        "tag",
        "task-summary",
        "user",
        "worktree-state",
    ];
    KNOWN.contains(&kind)
}

fn parent(fields: &mut Fields, kind: &str) -> Link {
    match take::string(fields, "parentUuid") {
        Some(id) => Link::To(id),
        // A compaction begins a new tree and names the entry that it follows.
        None => match take::string(fields, "logicalParentUuid") {
            Some(id) => Link::To(id),
            None if kind == "user" && !take::flag(fields, "isCompactSummary") => Link::Start,
            None => Link::Lost,
        },
    }
}

fn reply(fields: &mut Fields) -> Said {
    let Some(mut message) = take::object(fields, "message") else {
        return Said::Nothing;
    };
    // The harness shows an error of the vendor as a reply, and does not send it.
    if take::flag(fields, "isApiErrorMessage") {
        return Said::Nothing;
    }
    let synthetic = take::str(&message, "model") == "<synthetic>";
    let origin = if synthetic { Origin::Injected } else { Origin::Own };
    let id = take::string(&mut message, "id").unwrap_or_default();
    let mut parts = content(take::value(&mut message, "content"), origin);
    // Only tools answer and only the model calls, whatever a damaged file says.
    parts.retain(|part| !matches!(part, Part::ToolResult(_)));
    let noted = (!synthetic).then(|| {
        let model = take::string(&mut message, "model").map(Arc::from);
        let usage = message.get("usage").and_then(Value::as_object);
        (model, usage.and_then(Billed::anthropic))
    });
    Said::Reply { id, parts, noted }
}

fn user(fields: &mut Fields) -> Said {
    let Some(mut message) = take::object(fields, "message") else {
        return Said::Nothing;
    };
    let summary = take::flag(fields, "isCompactSummary");
    if take::flag(fields, "isVisibleInTranscriptOnly") && !summary {
        return Said::Nothing;
    }
    let by_harness = fields
        .get("origin")
        .and_then(|origin| origin.get("kind"))
        .is_some_and(|kind| kind != "human");
    let origin = match () {
        () if summary => Origin::Summary,
        () if take::flag(fields, "isMeta") || by_harness => Origin::Injected,
        () => Origin::Own,
    };
    let mut parts = content(take::value(&mut message, "content"), origin);
    parts.retain(|part| !matches!(part, Part::ToolCall(_)));
    if origin == Origin::Own {
        parts = parts.into_iter().flat_map(told_apart).collect();
    }
    let results = parts.iter().filter(|part| matches!(part, Part::ToolResult(_))).count();
    for part in &mut parts {
        if let Part::ToolResult(result) = part {
            // What the tool itself returned stands beside the message, and says which of several results it is of only
            // by there being one.
            let returned = fields.get("toolUseResult").filter(|_| results == 1);
            result.success = status(result.success, returned);
        }
    }
    Said::User(parts)
}

/// Whether a tool succeeded: the error flag, or what the tool returned.
fn status(flag: Option<bool>, returned: Option<&Value>) -> Option<bool> {
    match (flag, returned) {
        (Some(false), _) => Some(false),
        (_, Some(Value::Object(returned))) => {
            let interrupted = take::flag(returned, "interrupted");
            let success = returned.get("success").and_then(Value::as_bool).unwrap_or(true);
            Some(success && !interrupted)
        }
        (Some(true), _) => Some(true),
        (None, Some(Value::Array(_))) => Some(true),
        (None, Some(Value::String(words))) if words.starts_with("Error:") => Some(false),
        _ => None,
    }
}

fn system(fields: &mut Fields) -> Said {
    // Commands that the harness runs for the user are shown to the model; other notices are not.
    if take::str(fields, "subtype") != "local_command" {
        return Said::Nothing;
    }
    let text = take::string(fields, "content").and_then(|text| gather::text(Origin::Injected, text));
    text.map_or(Said::Nothing, |part| Said::User(vec![part]))
}

/// Where the file has no field for it, what the harness writes for the user is known by its exact wrapper. A command with
/// arguments is split: they are the user's own words.
fn told_apart(part: Part) -> Vec<Part> {
    let Part::Text(text) = &part else { return vec![part] };
    let words = text.body.as_str();
    let injected = |words: &str| Part::text_from(Origin::Injected, words);
    if words.starts_with("<command-name>") || words.starts_with("<command-message>") {
        if let Some((head, rest)) = words.split_once("<command-args>")
            && let Some((own, tail)) = rest.rsplit_once("</command-args>")
            && !own.trim().is_empty()
        {
            let head = format!("{head}<command-args>");
            return vec![
                injected(&head),
                Part::text(own),
                injected(&format!("</command-args>{tail}")),
            ];
        }
        return vec![injected(words)];
    }
    if is_wrapped(words) {
        vec![injected(words)]
    } else {
        vec![part]
    }
}

fn is_wrapped(words: &str) -> bool {
    const WRAPPERS: &[&str] = &[
        "bash-input",
        "bash-stderr",
        "bash-stdout",
        "ide_diagnostics",
        "ide_opened_file",
        "ide_selection",
        "local-command-caveat",
        "local-command-stderr",
        "local-command-stdout",
        "task-notification",
    ];
    const NOTES: &[&str] = &[
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
    ];
    let words = words.trim();
    let name = words
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .map(|(name, _)| name);
    NOTES.contains(&words)
        || words.starts_with("Operation stopped by hook: ")
        || name.is_some_and(|name| WRAPPERS.contains(&name) && words.contains(&format!("</{name}>")))
}

/// The content of a message: a text, or blocks.
fn content(value: Value, origin: Origin) -> Vec<Part> {
    match value {
        Value::String(text) => gather::text(origin, text).into_iter().collect(),
        Value::Array(blocks) => blocks.into_iter().filter_map(|value| block(value, origin)).collect(),
        _ => Vec::new(),
    }
}

fn block(value: Value, origin: Origin) -> Option<Part> {
    let Value::Object(mut fields) = value else {
        return value.as_str().and_then(|text| gather::text(origin, String::from(text)));
    };
    let kind = take::string(&mut fields, "type").unwrap_or_default();
    match kind.as_str() {
        "text" => {
            let body = take::string(&mut fields, "text").filter(|text| !text.is_empty())?;
            let extra = rest(fields, &["type", "text"]);
            Some(Part::Text(Text {
                extra,
                ..Text::new(body, origin)
            }))
        }
        "thinking" => {
            let words = take::string(&mut fields, "thinking").unwrap_or_default();
            let signature = take::string(&mut fields, "signature");
            gather::thinking(words, signature, None, Some("anthropic"))
        }
        "redacted_thinking" => {
            let data = take::string(&mut fields, "data");
            gather::thinking(String::new(), None, data, Some("anthropic"))
        }
        "tool_use" => {
            let id = take::string(&mut fields, "id").unwrap_or_default();
            let tool = take::string(&mut fields, "name").unwrap_or_default();
            let parameters = take::parameters(take::value(&mut fields, "input"));
            let mut part = gather::call(id, tool, parameters);
            if let Part::ToolCall(call) = &mut part {
                call.extra = rest(fields, &["type", "id", "name", "input"]);
            }
            Some(part)
        }
        "tool_result" => {
            let id = take::string(&mut fields, "tool_use_id").unwrap_or_default();
            let output = take::value(&mut fields, "content");
            let bare = output.is_string();
            let success = fields
                .get("is_error")
                .and_then(Value::as_bool)
                .map(|is_error| !is_error);
            let mut output = content(output, Origin::Own);
            output.retain(|part| matches!(part, Part::Text(_) | Part::Image(_) | Part::Opaque(_)));
            let mut result = gather::result(id, success, output);
            result.bare = bare;
            Some(Part::ToolResult(result))
        }
        "image" if is_picture(&fields) => {
            let mut source = take::object(&mut fields, "source").unwrap_or_default();
            Some(match take::string(&mut source, "url") {
                Some(url) => gather::image_at(url),
                None => {
                    let data = take::string(&mut source, "data")?;
                    gather::image(take::str(&source, "media_type"), data)
                }
            })
        }
        _ => {
            fields.insert(String::from("type"), Value::String(kind.clone()));
            Some(attachment::part(&kind, Value::Object(fields)))
        }
    }
}

fn is_picture(fields: &Fields) -> bool {
    let source = fields.get("source").and_then(Value::as_object);
    source.is_some_and(|source| !take::str(source, "data").is_empty() || !take::str(source, "url").is_empty())
}

fn rest(mut fields: Fields, read: &[&str]) -> Extra {
    fields.retain(|name, _| !read.contains(&name.as_str()));
    Extra::new(fields)
}

/// The text that an attachment holds, at any of the places where attachments hold one.
fn text_within(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(items) => {
            let texts: Vec<String> = items.into_iter().filter_map(text_within).collect();
            Some(texts.join("\n"))
        }
        Value::Object(mut fields) => match take::object(&mut fields, "file") {
            Some(mut file) => take::string(&mut file, "content"),
            None => take::string(&mut fields, "content").or_else(|| take::string(&mut fields, "text")),
        },
        _ => None,
    }
    .filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sketch::{check, sketch};
    use crate::{Document, Warning};

    fn read(bytes: &[u8]) -> Result<Document, ReadError> {
        record(bytes).map(|recording| recording.document)
    }

    /// An entry: its number, its parent's, and the rest of its fields.
    fn entry(id: u32, parent: u32, rest: &str) -> String {
        let parent = if parent == 0 {
            String::from("null")
        } else {
            format!("\"u{parent}\"")
        };
        format!("{{\"uuid\":\"u{id}\",\"parentUuid\":{parent},\"isSidechain\":false,{rest}}}\n")
    }

    fn prompt(id: u32, parent: u32, text: &str) -> String {
        entry(
            id,
            parent,
            &format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#),
        )
    }

    fn said(id: u32, parent: u32, message: &str, block: &str) -> String {
        let rest =
            format!(r#""type":"assistant","message":{{"id":"{message}","role":"assistant","content":[{block}]}}"#);
        entry(id, parent, &rest)
    }

    fn text(id: u32, parent: u32, message: &str, text: &str) -> String {
        said(id, parent, message, &format!(r#"{{"type":"text","text":"{text}"}}"#))
    }

    fn call(id: u32, parent: u32, message: &str, call: &str) -> String {
        let block = format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":"ls"}}}}"#);
        said(id, parent, message, &block)
    }

    fn answer(id: u32, parent: u32, call: &str, rest: &str) -> String {
        let block = format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"out"}}"#);
        let rest = format!(r#""type":"user","message":{{"role":"user","content":[{block}]}}{rest}"#);
        entry(id, parent, &rest)
    }

    #[test]
    fn one_reply_over_several_lines_is_one_message() {
        let file = [
            prompt(1, 0, "go"),
            said(2, 1, "m1", r#"{"type":"thinking","thinking":"hm","signature":"sig"}"#),
            said(3, 2, "m1", r#"{"type":"redacted_thinking","data":"xyz"}"#),
            text(4, 3, "m1", "looking"),
            call(5, 4, "m1", "c1"),
            answer(6, 5, "c1", ""),
            text(7, 6, "m2", "done"),
        ];
        check(
            read,
            &file.concat(),
            r#"user: go
            thinking of anthropic signed sig: hm
            thinking of anthropic sealed xyz:
            assistant: looking
            call c1: Bash {"command":"ls"}
            result c1 unknown: out
            assistant: done"#,
        );
    }

    #[test]
    fn answers_of_parallel_calls_stand_together_though_they_branch_off() {
        let file = [
            prompt(1, 0, "go"),
            call(2, 1, "m1", "c1"),
            answer(3, 2, "c1", ""),
            call(4, 2, "m1", "c2"),
            answer(5, 4, "c2", ""),
            text(6, 3, "m2", "done"),
        ];
        check(
            read,
            &file.concat(),
            r#"user: go
            call c1: Bash {"command":"ls"}
            call c2: Bash {"command":"ls"}
            result c1 unknown: out
            result c2 unknown: out
            assistant: done"#,
        );
    }

    #[test]
    fn what_a_rewind_left_behind_is_left_out() {
        let file = [
            prompt(1, 0, "go"),
            text(2, 1, "m1", "going"),
            prompt(3, 2, "left"),
            text(4, 3, "m2", "went left"),
            prompt(5, 2, "right"),
            text(6, 5, "m3", "went right"),
        ];
        check(
            read,
            &file.concat(),
            "user: go\nassistant: going\nuser: right\nassistant: went right",
        );
        let anew = [prompt(1, 0, "go"), text(2, 1, "m1", "going"), prompt(3, 0, "again")];
        check(read, &anew.concat(), "user: again");
    }

    #[test]
    fn a_lost_parent_cuts_nothing_off() {
        let file = [
            prompt(1, 0, "go"),
            text(2, 1, "m1", "going"),
            prompt(4, 3, "on"),
            text(5, 4, "m2", "gone on"),
        ];
        check(
            read,
            &file.concat(),
            "user: go\nassistant: going\nuser: on\nassistant: gone on",
        );
    }

    #[test]
    fn the_history_goes_on_through_a_compaction() {
        let boundary = entry(
            3,
            0,
            r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"u2""#,
        );
        let summary = entry(
            4,
            3,
            r#""type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"content":"so far"}"#,
        );
        let file = [
            prompt(1, 0, "go"),
            text(2, 1, "m1", "going"),
            boundary,
            summary,
            text(5, 4, "m2", "gone"),
        ];
        check(
            read,
            &file.concat(),
            "user: go\nassistant: going\nuser (summary): so far\nassistant: gone",
        );
    }

    #[test]
    fn status_comes_from_the_error_flag_and_from_what_the_tool_returned() {
        let status =
            |flag: Option<bool>, returned: &str| super::status(flag, serde_json::from_str(returned).ok().as_ref());
        assert_eq!(status(None, ""), None);
        assert_eq!(status(Some(false), ""), Some(false));
        assert_eq!(
            status(Some(true), r#"{"stdout":"error","stderr":"Error","interrupted":false}"#),
            Some(true)
        );
        assert_eq!(status(Some(true), r#"{"stdout":"","interrupted":true}"#), Some(false));
        assert_eq!(status(None, r#"{"filePath":"a.rs"}"#), Some(true));
        assert_eq!(status(None, r#"{"success":false}"#), Some(false));
        assert_eq!(status(None, r#""Error: no such file""#), Some(false));
    }

    #[test]
    fn what_the_harness_says_is_no_prompt() {
        let meta = entry(2, 1, r#""type":"user","isMeta":true,"message":{"content":"a skill"}"#);
        let aside = entry(
            3,
            2,
            r#""type":"user","isSidechain":true,"message":{"content":"a task"}"#,
        )
        .replacen("false", "true", 1);
        let event = entry(
            3,
            2,
            r#""type":"user","origin":{"kind":"task-notification"},"message":{"content":"finished"}"#,
        );
        let file = [
            prompt(1, 0, "go <system-reminder>and stay</system-reminder>"),
            meta,
            aside,
            event,
            prompt(4, 3, "<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"),
            prompt(5, 4, "[Request interrupted by user]"),
            prompt(6, 5, "<bash-stdout> is what I see"),
        ];
        check(
            read,
            &file.concat(),
            "user: go <system-reminder>and stay</system-reminder>
            -
            user (injected): a skill
            -
            user (injected): finished
            -
            user (injected): <bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>
            -
            user (injected): [Request interrupted by user]
            -
            user: <bash-stdout> is what I see",
        );
    }

    #[test]
    fn the_arguments_of_a_command_are_the_users_own_words() {
        let file = [
            prompt(1, 0, "<command-name>/clear</command-name><command-args></command-args>"),
            prompt(
                2,
                1,
                "<command-name>/fix</command-name><command-args>the tests</command-args>",
            ),
        ];
        check(
            read,
            &file.concat(),
            "user (injected): <command-name>/clear</command-name><command-args></command-args>
            -
            user (injected): <command-name>/fix</command-name><command-args>
            user: the tests
            user (injected): </command-args>",
        );
    }

    #[test]
    fn a_prompt_typed_during_work_is_kept_where_it_was_handed_over() {
        let queue = |rest: &str| format!("{{\"type\":\"queue-operation\",{rest}}}\n");
        let handed = [
            prompt(1, 0, "go"),
            call(2, 1, "m1", "c1"),
            queue(r#""operation":"enqueue","content":"and hurry""#),
            answer(3, 2, "c1", ""),
            queue(r#""operation":"remove""#),
            text(4, 3, "m2", "hurrying"),
            queue(r#""operation":"enqueue","content":"never mind""#),
            queue(r#""operation":"popAll","content":"never mind""#),
        ];
        let expected = r#"user: go
            call c1: Bash {"command":"ls"}
            result c1 unknown: out
            -
            user: and hurry
            assistant: hurrying"#;
        check(read, &handed.concat(), expected);
        // Later versions record what was handed over.
        let shown =
            r#""type":"attachment","attachment":{"type":"queued_command","prompt":"and hurry","commandMode":"prompt"}"#;
        let mut recorded = handed.to_vec();
        recorded.insert(5, entry(9, 3, shown));
        recorded[6] = text(4, 9, "m2", "hurrying");
        check(read, &recorded.concat(), expected);
    }

    #[test]
    fn attachments_are_put_in_by_the_harness() {
        let nested = entry(
            2,
            1,
            r#""type":"attachment","attachment":{"type":"nested_memory","content":{"content":"be kind"}}"#,
        );
        let file = entry(
            3,
            2,
            r#""type":"attachment","attachment":{"type":"file","content":{"file":{"content":"let x;"}}}"#,
        );
        let other = entry(
            4,
            3,
            r#""type":"attachment","attachment":{"type":"task_status","taskId":"7"}"#,
        );
        check(
            read,
            &[prompt(1, 0, "go"), nested, file, other].concat(),
            "user: go\n-\nuser (injected): be kind\n-\nuser (injected): let x;",
        );
    }

    #[test]
    fn errors_of_the_vendor_and_repeated_entries_are_left_out() {
        let failed = entry(
            2,
            1,
            r#""type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"500"}]}"#,
        );
        let file = [prompt(1, 0, "go"), failed, prompt(1, 0, "go"), text(3, 2, "m1", "gone")];
        check(read, &file.concat(), "user: go\nassistant: gone");
    }

    #[test]
    fn pictures_and_unknown_blocks_are_kept() {
        let picture = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}"#;
        let content = format!(r#"{picture},{{"type":"document","title":"t"}}"#);
        let file = entry(1, 0, &format!(r#""type":"user","message":{{"content":[{content}]}}"#));
        check(
            read,
            &file,
            "user image: image/png iVBO\nuser document: {\"type\":\"document\",\"title\":\"t\"}",
        );
    }

    #[test]
    fn an_unknown_kind_of_entry_is_mentioned_and_still_links_the_others() {
        let file = [
            prompt(1, 0, "go"),
            entry(2, 1, r#""type":"novelty""#),
            text(3, 2, "m1", "gone"),
        ]
        .concat();
        let document = read(file.as_bytes()).unwrap();
        assert_eq!(sketch(&document), "user: go\nassistant: gone\n");
        assert_eq!(
            document.warnings,
            [Warning::UnknownEntry {
                line: 2,
                kind: String::from("novelty")
            }]
        );
    }

    /// A block of a reply with its bill: seconds past the hour, the prompt's three counts, and what of it was for an hour.
    fn billed(id: u32, parent: u32, message: &str, seconds: u32, counts: [u64; 4], block: &str) -> String {
        let [fresh, read, write, hour] = counts;
        let usage = format!(
            r#""usage":{{"input_tokens":{fresh},"cache_read_input_tokens":{read},"cache_creation_input_tokens":{write},"#
        ) + &format!(r#""cache_creation":{{"ephemeral_1h_input_tokens":{hour}}},"output_tokens":9}}"#);
        let rest = format!(
            r#""type":"assistant","timestamp":"1970-01-01T00:00:{seconds:02}.5Z","message":{{"id":"{message}","#
        ) + &format!(r#""model":"claude-x","role":"assistant","content":[{block}],{usage}}}"#);
        entry(id, parent, &rest)
    }

    fn at(id: u32, parent: u32, seconds: u32, content: &str) -> String {
        let time = format!(r#""timestamp":"1970-01-01T00:00:{seconds:02}Z""#);
        let rest = format!(r#""type":"user",{time},"message":{{"role":"user","content":{content}}}"#);
        entry(id, parent, &rest)
    }

    #[test]
    fn a_reply_in_many_entries_is_one_request_with_the_last_bill() {
        let run = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls"}}}}"#);
        let out = |id: &str| format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"out"}}]"#);
        let file = [
            at(1, 0, 1, "\"go\""),
            billed(2, 1, "m1", 3, [10, 0, 90, 90], &run("a")),
            at(3, 2, 4, &out("a")),
            billed(4, 2, "m1", 5, [10, 0, 95, 90], &run("b")),
            at(5, 4, 6, &out("b")),
            billed(6, 5, "m2", 9, [2, 100, 7, 0], r#"{"type":"text","text":"gone"}"#),
        ]
        .concat();
        let recording = record(file.as_bytes()).unwrap();
        let seen: Vec<_> = recording
            .requests
            .iter()
            .map(|request| {
                let billed = request.billed.unwrap();
                (request.reply, request.began, billed.usage.prompt(), billed.hour)
            })
            .collect();
        assert_eq!(seen, [(1, Some(1_000), 105, 90), (3, Some(6_000), 109, 0)]);
        assert_eq!(recording.requests[0].model.as_deref(), Some("claude-x"));
    }

    #[test]
    fn what_the_harness_says_in_the_models_place_is_no_request() {
        let rest = r#""type":"assistant","message":{"id":"m","model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"No response requested."}],"usage":{"input_tokens":5}}"#;
        let file = [prompt(1, 0, "go"), entry(2, 1, rest), text(3, 2, "m2", "gone")].concat();
        let recording = record(file.as_bytes()).unwrap();
        assert_eq!(recording.requests.len(), 1);
        assert_eq!((recording.requests[0].reply, recording.requests[0].billed), (2, None));
    }
}
