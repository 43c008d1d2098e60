//! Converts a conversation of any format for one provider.
//!
//! Ids and names are rewritten to what the provider allows, every result directly follows its call, and data that only
//! its own provider can read (signatures, unread fields, unknown blocks) is dropped. Files are written in the other
//! provider's format; a file that it cannot represent becomes a marker, and is reported.

use crate::attachment::{self, Place};
use crate::document::{Document, Warning};
use crate::envelope;
use crate::extra::VENDOR;
use crate::format::Format;
use crate::gemini::answer;
use crate::ids::{LONGEST_IN_CHAT, name_for_all, plain_id};
use crate::pictures;
use crate::vendor;
use codelet_context::message::{
    BlockText, Extra, Image, Message, Opaque, Origin, Part, Role, Text, Thinking, ToolCall, ToolResult,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Field on a call of Codex that holds the tool's namespace. Other providers find it in the tool's name.
pub(crate) const NAMESPACE: &str = "namespace";
/// The result of an unanswered call, since every provider refuses a call without a result.
const NO_RESULT: &str = "[no result was recorded]";
/// The line above a result whose call is not in the conversation.
const APART: &str = "[output of a tool that was called before this conversation:]";
/// The prompt in front of a conversation that begins with the model.
const BEGINNING: &str = "[the conversation begins here]";

/// Returns the document as a request to another provider, and a warning about content that it cannot represent.
pub(crate) fn convert(document: &Document, to: Format) -> (Document, Option<Warning>) {
    let mut converter = Converter {
        from: document.format,
        to,
        ids: Ids::default(),
        results: sort_results(&document.messages),
        server_pairs: vendor::server_pairs(&document.messages),
        left_out: BTreeMap::new(),
    };
    let mut messages = converter.messages(&document.messages);
    if matches!(to, Format::Anthropic | Format::Gemini) {
        let first = messages.iter().position(|message| message.role != Role::System);
        if let Some(first) = first.filter(|first| messages[*first].role == Role::Assistant) {
            let beginning = Part::text_from(Origin::Injected, BEGINNING);
            messages.insert(first, Message::new(Role::User, vec![beginning]));
        }
    }
    let (envelope, of_tools) = envelope::convert(document, to);
    of_tools.iter().for_each(|kind| converter.leave_out(kind));
    let kinds: Vec<(String, usize)> = converter.left_out.into_iter().collect();
    let warning = (!kinds.is_empty()).then_some(Warning::LeftOut { to, kinds });
    let document = Document {
        format: to,
        messages,
        envelope,
        warnings: Vec::new(),
    };
    (document, warning)
}

/// The results for each id, in order: the index of the message, and the result.
type Results<'a> = HashMap<&'a str, VecDeque<(usize, &'a ToolResult)>>;

fn sort_results(messages: &[Message]) -> Results<'_> {
    let mut results: Results = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        for result in message.tool_results() {
            results.entry(&result.call_id).or_default().push_back((index, result));
        }
    }
    results
}

struct Converter<'a> {
    from: Format,
    to: Format,
    ids: Ids,
    results: Results<'a>,
    /// The ids of server tool calls that have their result within the reply.
    server_pairs: HashSet<&'a str>,
    /// The number of blocks that the provider cannot represent, by kind.
    left_out: BTreeMap<String, usize>,
}

impl<'a> Converter<'a> {
    fn messages(&mut self, messages: &'a [Message]) -> Vec<Message> {
        let next_use = next_uses(messages);
        let mut system: Vec<Part> = Vec::new();
        let mut out: Vec<Message> = Vec::new();
        let mut answers: Vec<Part> = Vec::new();
        let mut call_number = 0;
        for (index, message) in messages.iter().enumerate() {
            if message.role == Role::Assistant {
                let mut parts = Vec::new();
                for part in &message.parts {
                    if let Part::ToolCall(call) = part {
                        let (call, answer) = self.call(call, index, next_use[call_number]);
                        call_number += 1;
                        parts.push(Part::ToolCall(call));
                        answers.push(Part::ToolResult(answer));
                    } else {
                        parts.extend(self.part(part, Role::Assistant, Place::Words));
                    }
                }
                // Two consecutive replies are one: a result has to directly follow its call.
                match out.last_mut() {
                    Some(last) if last.role == Role::Assistant => last.parts.extend(parts),
                    _ if parts.is_empty() => {}
                    _ => out.push(fit(Role::Assistant, parts)),
                }
                continue;
            }
            call_number += message.calls().count();
            let is_system = message.role == Role::System;
            let place = if is_system { Place::Words } else { Place::Prompt };
            let parts: Vec<Part> = message
                .parts
                .iter()
                .flat_map(|part| self.part(part, message.role, place))
                .collect();
            if is_system && out.is_empty() && answers.is_empty() {
                system.extend(parts);
                continue;
            }
            // A message of only results ends the reply as well: the model saw them before its next reply.
            flush(&mut answers, &mut out, self.to);
            if parts.is_empty() {
                continue;
            }
            // Only OpenAI has system messages within a conversation.
            let inline = is_system && matches!(self.to, Format::Openai | Format::Responses);
            let mut message = fit(if inline { Role::System } else { Role::User }, parts);
            if inline {
                message.extra = Extra::new(Map::from_iter([("role".to_owned(), Value::from("system"))]));
            }
            out.push(message);
        }
        flush(&mut answers, &mut out, self.to);
        if !system.is_empty() {
            out.insert(0, fit(Role::System, system));
        }
        out
    }

    /// Returns a call with its new id, and its result: the first one after the call and before the id is used again.
    fn call(&mut self, call: &ToolCall, index: usize, next_use: usize) -> (ToolCall, ToolResult) {
        let id = self.ids.of(&call.id);
        let found = self.results.get_mut(&*call.id).and_then(|results| {
            while results.front().is_some_and(|(at, _)| *at <= index) {
                results.pop_front();
            }
            let (at, _) = results.front()?;
            if *at <= next_use { results.pop_front() } else { None }
        });
        let answer = match found {
            Some((_, result)) => self.result(result, id.clone()),
            None => ToolResult::new(id.clone(), Some(false), NO_RESULT),
        };
        let namespace = call.extra.get(NAMESPACE).and_then(Value::as_str);
        let plain = plain_name(call).filter(|_| self.to == Format::Responses);
        let tool = name_for_all(&plain.map_or_else(|| call.tool.clone(), Arc::from));
        let extra = plain
            .and(namespace)
            .map(|space| Map::from_iter([(NAMESPACE.to_owned(), Value::from(space))]));
        (
            ToolCall {
                id,
                tool,
                extra: extra.map_or_else(Extra::default, Extra::new),
                ..call.clone()
            },
            answer,
        )
    }

    fn result(&mut self, result: &ToolResult, call_id: Arc<str>) -> ToolResult {
        let whole = answer::whole(result).or_else(|| vendor::shell::joined(result));
        let shown = result.output.iter();
        let shown = shown.filter(|part| whole.is_none() || !matches!(part, Part::Text(_)));
        let mut output: Vec<Part> = whole.iter().map(|whole| Part::text(whole.as_str())).collect();
        output.extend(shown.flat_map(|part| self.part(part, Role::User, Place::Answer)));
        output.extend(result.extra.get("output").and_then(attachment::screen));
        output.extend(
            result
                .error
                .as_ref()
                .filter(|error| !error.is_blank())
                .map(|error| Part::text(error.clone())),
        );
        let bare = matches!(output.as_slice(), [] | [Part::Text(_)]);
        ToolResult {
            pipe: result.pipe.clone(),
            output,
            bare,
            refusal: result.refusal.clone(),
            ..ToolResult::new(call_id, result.success, "")
        }
    }

    /// Converts a part that is neither a call nor a result.
    fn part(&mut self, part: &Part, role: Role, place: Place) -> Vec<Part> {
        let one = match part {
            Part::Text(text) if text.body.is_blank() => None,
            Part::Text(text) => Some(Part::Text(Text {
                extra: Extra::default(),
                ..text.clone()
            })),
            Part::Thinking(thinking) => self.is_readable(thinking).then(|| {
                // Responses binds the summary to the encrypted text.
                let extra = match self.to {
                    Format::Responses => summary(thinking),
                    _ => Extra::default(),
                };
                Part::Thinking(Thinking {
                    extra,
                    ..thinking.clone()
                })
            }),
            Part::Image(image) if image.is_url && !is_fetched(image) => Some(self.kept_picture(image)),
            Part::Image(image) if role == Role::User => Some(Part::Image(Image {
                extra: Extra::default(),
                ..image.clone()
            })),
            Part::Image(_) => Some(Part::text("[image]")),
            Part::Opaque(opaque) => return self.block(opaque, role, place),
            // Its call stays with the provider that stores it.
            Part::ToolResult(result) if result.is_apart => {
                let output = self.result(result, result.call_id.clone()).output;
                let note = Part::text(APART);
                return std::iter::once(note).chain(output).collect();
            }
            // Results are found by their call; a call in any message but a reply is dropped.
            Part::ToolCall(_) | Part::ToolResult(_) => None,
        };
        one.into_iter().collect()
    }

    /// Converts a block that only its own provider knows.
    fn block(&mut self, opaque: &Opaque, role: Role, place: Place) -> Vec<Part> {
        let is_own = self.from.form().blocks_of == Some(self.to);
        if is_own && (vendor::stays(&opaque.kind, &opaque.value) || self.is_server_tool(opaque)) {
            return vec![Part::Opaque(opaque.clone())];
        }
        // Another provider has no other place for the name of the tool.
        if let Some(BlockText::Output(words)) = &opaque.words {
            return vec![Part::text(format!("[{}]\n{words}", opaque.kind))];
        }
        if let Some(text) = said(&opaque.value) {
            return vec![Part::text(text)];
        }
        if role == Role::Assistant && &*opaque.kind == "audio" {
            // The audio is the reply itself, not an intermediate step.
            self.leave_out(&opaque.kind);
            return vec![attachment::marker(&opaque.kind, String::new(), self.to)];
        }
        if role != Role::User || opaque.kind.is_empty() {
            self.leave_out(&opaque.kind);
            return Vec::new();
        }
        attachment::convert(opaque, self.from, self.to, place).unwrap_or_else(|marker| {
            self.leave_out(&opaque.kind);
            vec![marker]
        })
    }

    /// Returns whether a block belongs to a server tool's call and result within a reply, which go back unchanged.
    fn is_server_tool(&self, opaque: &Opaque) -> bool {
        let id = opaque.value.get("id").or(opaque.value.get("tool_use_id"));
        self.to == Format::Anthropic
            && id
                .and_then(Value::as_str)
                .is_some_and(|id| self.server_pairs.contains(id))
    }

    fn leave_out(&mut self, kind: &str) {
        // A malicious conversation may name each block differently.
        const MOST: usize = 20;
        let kind = if kind.is_empty() { "block" } else { kind };
        let kind: String = kind.chars().take(40).collect();
        let kind = if self.left_out.len() < MOST || self.left_out.contains_key(&kind) {
            kind
        } else {
            "other".to_owned()
        };
        *self.left_out.entry(kind).or_default() += 1;
    }

    fn kept_picture(&mut self, image: &Image) -> Part {
        self.leave_out("image");
        attachment::marker("image", attachment::at(image.data.as_str()), self.to)
    }

    /// Returns whether the target provider produced this thinking and can verify it.
    fn is_readable(&self, thinking: &Thinking) -> bool {
        let maker = match self.from.form().blocks_of.unwrap_or(self.from) {
            Format::Anthropic => Some("anthropic"),
            Format::Responses => Some("openai"),
            Format::Gemini => Some("gemini"),
            _ => thinking.extra.get(VENDOR).and_then(Value::as_str),
        };
        thinking.is_bound()
            && match self.to {
                Format::Anthropic => maker == Some("anthropic"),
                Format::Responses => maker == Some("openai") && thinking.redacted.is_some(),
                Format::Gemini => maker == Some("gemini"),
                _ => false,
            }
    }
}

/// Returns the name of a tool with its namespace, if it has one: two servers may have tools of the same name.
pub(crate) fn in_namespace(namespace: Option<&str>, tool: String) -> String {
    match namespace.map(|space| space.trim_end_matches('_')) {
        None | Some("") => tool,
        Some(space) => format!("{space}__{tool}"),
    }
}

/// Returns the name of a called tool without its namespace; `None` if it has none.
pub(crate) fn plain_name(call: &ToolCall) -> Option<&str> {
    let namespace = call.extra.get(NAMESPACE)?.as_str()?;
    call.tool
        .strip_prefix(namespace.trim_end_matches('_'))?
        .strip_prefix("__")
}

/// Returns the text of a block that only its own provider knows; `None` if it has none.
pub(crate) fn said(block: &Value) -> Option<String> {
    let fields = ["text", "refusal"].into_iter();
    let compacted = block.get("type").is_some_and(|kind| kind == "compaction");
    let fields = fields.chain(compacted.then_some("content"));
    let spoken = block.get("audio").and_then(|audio| audio.get("transcript"));
    let values = fields.filter_map(|name| block.get(name)).chain(spoken);
    let mut words = values.filter_map(Value::as_str);
    printed(block).or_else(|| words.find(|text| !text.trim().is_empty()).map(str::to_owned))
}

/// Returns a command's output, if the block has no other text.
fn printed(block: &Value) -> Option<String> {
    let said = |name: &str| block.get(name).and_then(Value::as_str);
    let both: Vec<&str> = ["stdout", "stderr"].into_iter().filter_map(said).collect();
    let both = both.into_iter().filter(|text| !text.trim().is_empty());
    let text = both.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

/// Returns whether an image URL can be fetched by anyone but the provider that stores the image.
fn is_fetched(image: &Image) -> bool {
    let at = image.data.as_str();
    at.starts_with("data:") || attachment::is_public(at)
}

/// Returns a message whose content is a plain string if possible: compatible servers may support nothing else.
fn fit(role: Role, parts: Vec<Part>) -> Message {
    let bare = matches!(parts.as_slice(), [Part::Text(_)]);
    Message {
        bare,
        ..Message::new(role, parts)
    }
}

/// Adds the results of the last reply's calls after it.
fn flush(answers: &mut Vec<Part>, out: &mut Vec<Message>, to: Format) {
    if answers.is_empty() {
        return;
    }
    let mut message = Message::new(Role::User, std::mem::take(answers));
    if !pictures::stand_in_answers(to) {
        pictures::show_below(&mut message);
    }
    out.push(message);
}

/// Returns, for each call in order, the index of the message in which another call next uses its id.
fn next_uses(messages: &[Message]) -> Vec<usize> {
    let calls: Vec<(usize, &str)> = messages
        .iter()
        .enumerate()
        .flat_map(|(index, message)| message.calls().map(move |call| (index, &*call.id)))
        .collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut next: Vec<usize> = Vec::with_capacity(calls.len());
    for (index, id) in calls.into_iter().rev() {
        next.push(seen.insert(id, index).unwrap_or(usize::MAX));
    }
    next.reverse();
    next
}

fn summary(thinking: &Thinking) -> Extra {
    if thinking.body.is_blank() {
        return Extra::default();
    }
    let text = serde_json::json!({"type": "summary_text", "text": thinking.body.as_str()});
    let fields = [
        ("type".to_owned(), Value::Null),
        ("summary".to_owned(), Value::Array(vec![text])),
        ("encrypted_content".to_owned(), Value::Null),
    ];
    Extra::new(Map::from_iter(fields))
}

/// Assigns ids to calls: unchanged if the provider accepts them, and never the same one twice.
#[derive(Default)]
struct Ids {
    used: HashSet<Arc<str>>,
}

impl Ids {
    fn of(&mut self, id: &Arc<str>) -> Arc<str> {
        let spelled = plain_id(id);
        if self.used.insert(spelled.clone()) {
            return spelled;
        }
        let room = LONGEST_IN_CHAT - 8;
        let stem = &spelled[..spelled.len().min(room)];
        (self.used.len()..)
            .map(|number| Arc::from(format!("{stem}-{number}")))
            .find(|id: &Arc<str>| self.used.insert(id.clone()))
            .expect("numbers do not run out")
    }
}
