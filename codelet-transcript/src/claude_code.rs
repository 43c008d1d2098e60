//! Session files of Claude Code.
//!
//! Each line is an entry with its own id and its parent's, so a file is a tree: a rewind leaves a branch behind,
//! results of parallel calls are on branches of their own, and one reply is spread over a line for each of its blocks.

use crate::blocks::content;
use crate::branch::{self, Branch, Parent};
use crate::gather::{self, Gather};
use crate::harness::{is_command, is_interruption, is_note};
use crate::lines::Lines;
use crate::recording::{self, Billed, Recorded, Recording};
use crate::refused;
use crate::take::{self, Fields};
use crate::{Format, ReadError, Warning};
use codelet_context::message::{Origin, Part, Role};
use serde_json::Value;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Reads a session file, with each request's usage.
pub(crate) fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut session = ClaudeSession::default();
    while let Some(entry) = lines.next()? {
        if let Some(kind) = unread(&entry.fields) {
            lines.note_unread(entry.line, kind);
        }
        if let Some(kind) = session.entry(entry.fields) {
            lines.note_unknown(entry.line, &kind);
        }
    }
    let branch = session.branch();
    let mut warnings = lines.into_warnings();
    warnings.extend(branch.warnings(|at| session.nodes[at].said.is_anything()));
    Ok(session.finish(branch.on, warnings).finish(Format::ClaudeCode))
}

/// Returns the kind of an entry that should have content but has none to read.
pub(crate) fn unread(fields: &Fields) -> Option<&str> {
    let kind = take::str(fields, "type");
    let content = fields.get("message").and_then(|message| message.get("content"));
    let is_read = content.is_some_and(|content| content.is_string() || content.is_array());
    (matches!(kind, "user" | "assistant") && !is_read).then_some(kind)
}

/// The tree of entries, in the order of the file.
#[derive(Default)]
pub(crate) struct ClaudeSession {
    nodes: Vec<ClaudeEntry>,
    /// The index of each entry, by its id.
    places: HashMap<String, usize>,
    /// Queued prompts, typed while the agent was working, oldest first.
    queue: VecDeque<String>,
    /// Queued prompts that the file also records as shown to the model.
    shown: HashSet<String>,
    /// Whether the file is a subagent's own, from the first entry that says so; in any other file, what a subagent says
    /// belongs to another conversation.
    is_of_subagent: Option<bool>,
}

struct ClaudeEntry {
    parent: Link,
    said: ClaudeContent,
    /// The time of the entry, in milliseconds since 1970-01-01 UTC.
    time: Option<u64>,
}

/// The parent as the entry names it; resolved at the end, when all entries are known.
enum Link {
    Start,
    To(String),
    /// The entry should name one and does not.
    Gone,
    /// Entries of its kind need not name one.
    Unsaid,
    /// Not an entry of the tree: it belongs to the current position in the conversation.
    Beside,
}

enum ClaudeContent {
    /// Not shown to the model; only links other entries.
    Nothing,
    /// Blocks of the reply with this id.
    Reply {
        id: String,
        parts: Vec<Part>,
        /// The model and the usage of the request; `None` for a reply that the harness made up.
        noted: Option<(Option<Arc<str>>, Option<Billed>)>,
    },
    /// Prompts, results, and text that the harness injected.
    User(Vec<Part>),
    /// A queued prompt at the moment at which it was passed to the model.
    Queued(String),
}

impl ClaudeContent {
    fn is_anything(&self) -> bool {
        match self {
            ClaudeContent::Nothing => false,
            ClaudeContent::Reply { parts, .. } | ClaudeContent::User(parts) => !parts.is_empty(),
            ClaudeContent::Queued(_) => true,
        }
    }
}

impl ClaudeSession {
    /// Adds an entry; returns its kind if it is an unknown kind of tree entry. Entries without an id are outside the
    /// tree: the program's notes, such as titles, settings and copies of requests, which differ between versions.
    pub(crate) fn entry(&mut self, mut fields: Fields) -> Option<String> {
        if let Some(is_aside) = fields.get("isSidechain").and_then(Value::as_bool) {
            let is_own = *self.is_of_subagent.get_or_insert(is_aside);
            if is_aside && !is_own {
                return None;
            }
        }
        let kind = take::string(&mut fields, "type").unwrap_or_default();
        let is_strange = fields.contains_key("uuid") && !is_known(&kind);
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
            _ => ClaudeContent::Nothing,
        };
        let parent = parent(&mut fields, &kind);
        if let Some(id) = take::string(&mut fields, "uuid") {
            // A resumed session may repeat the entries that it resumes.
            if let std::collections::hash_map::Entry::Vacant(place) = self.places.entry(id) {
                place.insert(self.nodes.len());
                self.nodes.push(ClaudeEntry { parent, said, time });
            }
        } else if !matches!(said, ClaudeContent::Nothing) {
            self.nodes.push(ClaudeEntry {
                parent: Link::Beside,
                said,
                time,
            });
        }
        is_strange.then_some(kind)
    }

    /// Handles the queue: a prompt that is typed while the agent works is queued, and then passed on between two steps
    /// (`remove`), sent as an entry of its own (`dequeue`), or taken back into the input line (`popAll`).
    fn queue(&mut self, fields: &mut Fields, time: Option<u64>) {
        match take::str(fields, "operation") {
            "enqueue" => self.queue.extend(take::string(fields, "content")),
            "remove" => {
                if let Some(prompt) = self.queue.pop_front() {
                    let said = ClaudeContent::Queued(prompt);
                    self.nodes.push(ClaudeEntry {
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

    /// Reads the text of an attachment that the harness added to the conversation.
    fn attachment(&mut self, fields: &mut Fields) -> ClaudeContent {
        let Some(mut attachment) = take::object(fields, "attachment") else {
            return ClaudeContent::Nothing;
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
            return ClaudeContent::User(parts);
        }
        let text = ["content", "snippet", "stdout"]
            .iter()
            .find_map(|name| text_within(take::value(&mut attachment, name)))
            .and_then(|text| gather::text(Origin::Injected, text));
        text.map_or(ClaudeContent::Nothing, |part| ClaudeContent::User(vec![part]))
    }

    /// Builds the conversation of a branch, and its requests.
    pub(crate) fn finish(self, on: Vec<bool>, warnings: Vec<Warning>) -> Gather {
        let mut gather = Gather::of(warnings);
        let mut requests: Vec<Recorded> = Vec::new();
        let mut reply: Option<(String, usize)> = None;
        let mut latest = None;
        for (node, on) in self.nodes.into_iter().zip(on) {
            let said_something = on && !matches!(node.said, ClaudeContent::Nothing);
            match node.said {
                _ if !on => {}
                ClaudeContent::Nothing => {}
                ClaudeContent::Reply { id, parts, noted } => match reply.as_ref().and_then(|(last, at)| {
                    // The rest of a reply may come after the first of its results.
                    if *last == id && !id.is_empty() {
                        gather.message_mut(*at)
                    } else {
                        None
                    }
                }) {
                    Some(message) => {
                        message.parts.extend(parts);
                        // Each block repeats the usage of its reply; the last one is the newest.
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
                ClaudeContent::User(parts) => {
                    if !user_parts(&mut gather, parts) {
                        reply = None;
                    }
                }
                ClaudeContent::Queued(prompt) if self.shown.contains(&prompt) => {}
                ClaudeContent::Queued(prompt) => {
                    let note = prompt.starts_with("<task-notification>") || prompt.starts_with("{\"task_id\":");
                    let origin = if note { Origin::Injected } else { Origin::Own };
                    gather.message(Role::User, gather::text(origin, prompt));
                    reply = None;
                }
            }
            if said_something {
                latest = node.time.or(latest);
            }
        }
        gather.requests = requests.into();
        gather
    }

    /// Returns the branch that ends at the last entry.
    pub(crate) fn branch(&self) -> Branch {
        let told =
            |node: &ClaudeEntry| !matches!(node.said, ClaudeContent::Nothing) && !matches!(node.parent, Link::Beside);
        let Some(leaf) = self.nodes.iter().rposition(told) else {
            return Branch::of_all(self.nodes.len());
        };
        let parents: Vec<Parent> = self
            .nodes
            .iter()
            .map(|node| match &node.parent {
                Link::Start => Parent::Start,
                Link::To(id) => match self.places.get(id) {
                    Some(place) => Parent::After(*place),
                    None if node.said.is_anything() => Parent::Lost,
                    // The program's notes may follow entries of a subagent, or from before a compaction.
                    None => Parent::Listed,
                },
                Link::Gone => Parent::Lost,
                Link::Unsaid | Link::Beside => Parent::Listed,
            })
            .collect();
        let mut branch = branch::ending_at(leaf, &parents);
        self.add_siblings(&mut branch.on);
        self.add_beside(&mut branch.on);
        branch
    }

    /// Adds sibling entries: the blocks of one reply form a chain, and each result is a child of its own call. The
    /// branch passes through one of the results, but the others belong to the conversation as well.
    fn add_siblings(&self, on: &mut [bool]) {
        let mut replies = HashSet::new();
        let mut answered = HashSet::new();
        for (node, _) in self.nodes.iter().zip(on.iter()).filter(|(_, on)| **on) {
            match &node.said {
                ClaudeContent::Reply { id, .. } if !id.is_empty() => {
                    replies.insert(id.as_str());
                }
                ClaudeContent::User(parts) => answered.extend(answers(parts)),
                _ => {}
            }
        }
        let mut calls = HashSet::new();
        for (node, on) in self.nodes.iter().zip(on.iter_mut()) {
            if let ClaudeContent::Reply { id, parts, .. } = &node.said {
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
            if let (ClaudeContent::User(parts), false) = (&node.said, *on) {
                *on = answers(parts).any(|id| calls.contains(id) && !answered.contains(id));
            }
        }
    }

    /// Adds entries outside the tree to the branch that was current at the time.
    fn add_beside(&self, on: &mut [bool]) {
        let mut current = true;
        for (node, on) in self.nodes.iter().zip(on.iter_mut()) {
            match (&node.parent, &node.said) {
                (Link::Beside, _) => *on = current,
                (_, ClaudeContent::Nothing) => {}
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

/// Adds a user entry; returns whether it held only results.
pub(crate) fn user_parts(gather: &mut Gather, parts: Vec<Part>) -> bool {
    let results = parts.iter().filter(|part| matches!(part, Part::ToolResult(_))).count();
    if results == 0 {
        gather.message(Role::User, parts);
        return false;
    }
    let alone = results == parts.len();
    let behind = |gather: &mut Gather, part| {
        if let Some(message) = gather.len().checked_sub(1).and_then(|last| gather.message_mut(last)) {
            message.parts.push(part);
        }
    };
    // Text before the first result does not belong to the previous message: results come first.
    let mut before = Some(Vec::new());
    for part in parts {
        match (part, &mut before) {
            (Part::ToolResult(result), _) => {
                gather.result(result);
                let waiting = before.take().into_iter().flatten();
                waiting.for_each(|part| behind(gather, part));
            }
            (other, Some(waiting)) => waiting.push(other),
            (other, None) => behind(gather, other),
        }
    }
    if !alone {
        gather.close();
    }
    alone
}

/// Returns whether entries of this kind are read, or known to hold nothing that the model saw.
pub(crate) fn is_known(kind: &str) -> bool {
    matches!(kind, "assistant" | "attachment" | "progress" | "system" | "user")
}

fn parent(fields: &mut Fields, kind: &str) -> Link {
    match take::string(fields, "parentUuid") {
        Some(id) => Link::To(id),
        // A compaction starts a new tree and names the entry that it follows.
        None => match take::string(fields, "logicalParentUuid") {
            Some(id) => Link::To(id),
            None if matches!(kind, "user" | "assistant") && !fields.contains_key("parentUuid") => Link::Gone,
            None if kind == "user" && !take::flag(fields, "isCompactSummary") => Link::Start,
            None => Link::Unsaid,
        },
    }
}

fn reply(fields: &mut Fields) -> ClaudeContent {
    let Some(mut message) = take::object(fields, "message") else {
        return ClaudeContent::Nothing;
    };
    // The harness shows a provider error as a reply, and does not send it.
    if take::flag(fields, "isApiErrorMessage") {
        return ClaudeContent::Nothing;
    }
    let synthetic = take::str(&message, "model") == "<synthetic>";
    let origin = if synthetic { Origin::Injected } else { Origin::Own };
    let id = take::string(&mut message, "id").unwrap_or_default();
    let mut parts = content(take::value(&mut message, "content"), origin);
    // Only tools produce results and only the model makes calls, whatever a damaged file says.
    parts.retain(|part| !matches!(part, Part::ToolResult(_)));
    let noted = (!synthetic).then(|| {
        let model = take::string(&mut message, "model").map(Arc::from);
        let usage = message.get("usage").and_then(Value::as_object);
        (model, usage.and_then(Billed::anthropic))
    });
    ClaudeContent::Reply { id, parts, noted }
}

fn user(fields: &mut Fields) -> ClaudeContent {
    let Some(mut message) = take::object(fields, "message") else {
        return ClaudeContent::Nothing;
    };
    let summary = take::flag(fields, "isCompactSummary");
    if take::flag(fields, "isVisibleInTranscriptOnly") && !summary {
        return ClaudeContent::Nothing;
    }
    let by_harness = take::at(fields, &["origin", "kind"]).is_some_and(|kind| kind != "human");
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
            // The tool's raw return value is stored next to the message. It does not say which result it belongs to, so
            // it is used only if there is exactly one.
            let returned = fields.get("toolUseResult").filter(|_| results == 1);
            result.success = status(result.success, returned);
            // If this field is a string, it is the harness's text, not the tool's return value; output of a failed
            // program begins after its exit status.
            if result.success == Some(false) && returned.is_some_and(Value::is_string) {
                result.refusal = refused::by_user(result);
            }
        }
    }
    ClaudeContent::User(parts)
}

/// Returns whether a tool succeeded, from the error flag or the tool's return value.
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

fn system(fields: &mut Fields) -> ClaudeContent {
    // Commands that the harness runs for the user are shown to the model; other notices are not.
    if take::str(fields, "subtype") != "local_command" {
        return ClaudeContent::Nothing;
    }
    let text = gather::text_in(fields, "content", Origin::Injected);
    text.map_or(ClaudeContent::Nothing, |part| ClaudeContent::User(vec![part]))
}

/// Splits off text that the harness wrote for the user. Without a field for it, it is recognized by its exact wrapper.
/// A command with arguments is split: the arguments are the user's own words.
fn told_apart(part: Part) -> Vec<Part> {
    let Part::Text(text) = &part else { return vec![part] };
    let words = text.body.as_str();
    let injected = |words: &str| Part::text_from(Origin::Injected, words);
    if is_command(words) {
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
    if is_note(words) || is_interruption(words) || words.trim_start().starts_with("Operation stopped by hook: ") {
        vec![injected(words)]
    } else {
        vec![part]
    }
}

/// Returns the text of an attachment, from any of the fields where attachments hold one.
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
mod tests;
