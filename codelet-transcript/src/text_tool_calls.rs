//! Calls written in the text of a reply, and results in the user role: the way agents use tools without the provider's
//! tool calling. `<read_file><path>a.rs</path></read_file>`, a fenced block of a shell, `Action: find`.
//!
//! If a whole conversation shows this pattern (see [`crate::told`]), each pair is read as a call and its result, so
//! that the engine knows what was read, changed and run. The call's only parameter is its text, and a writer puts it
//! back, byte for byte: a model that reads such a reply finds the same text.

mod called;

use self::called::called;
use crate::actions::action;
use crate::extra::marked;
use crate::harness::is_block;
use crate::opening::Opening;
use codelet_context::body::Body;
use codelet_context::message::{Message, Origin, Part, Role, Text, ToolCall, ToolResult};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// On a call in text, or the text before a result: another part precedes it in the same text.
const BEHIND: &str = "codelet.behind";
/// The parameter of a call in text.
const INPUT: &str = "input";
const SHELL: &str = "bash";
const ACTION: &str = "Action: ";
/// Names of code fences that are run, or words in such names, and the tool that runs them.
#[rustfmt::skip]
const RUN: &[(&str, &str)] = &[
    ("python", "python"), ("ipython", "python"), ("json", "json"), ("xml", "xml"), ("bash", SHELL), ("zsh", SHELL),
    ("shell", SHELL), ("console", SHELL), ("powershell", SHELL), ("command", SHELL), ("action", SHELL), ("tool", SHELL),
];
const SHORT: &[(&str, &str)] = &[("", SHELL), ("sh", SHELL), ("cmd", SHELL), ("py", "python")];

/// Returns where the action begins that ends a reply without calls, or that is the only one in it that would be run.
pub(crate) fn start(text: &str) -> Option<usize> {
    let labelled = || text.lines().rfind(|line| line.starts_with(ACTION));
    let line = fenced(text).or_else(|| tagged(text)).or_else(labelled)?;
    Some(line.as_ptr() as usize - text.as_ptr() as usize)
}

/// Returns whether a reply without calls holds one action in text, and nothing else that would be run.
pub(crate) fn is_action(message: &Message) -> bool {
    message.calls().next().is_none() && start(&words(message)).is_some()
}

/// The texts of a message, each on lines of its own.
pub(crate) fn words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the line that opens the only fenced block, if it can be run.
fn fenced(text: &str) -> Option<&str> {
    let mut fences = text.lines().filter(|line| line.starts_with("```"));
    let (Some(open), Some(_), None) = (fences.next(), fences.next(), fences.next()) else {
        return None;
    };
    runner(open.trim_start_matches('`').trim()).map(|_| open)
}

/// Returns the tool that runs a fence of this name.
fn runner(name: &str) -> Option<&'static str> {
    let short = SHORT.iter().find(|(known, _)| *known == name);
    let known = short.or_else(|| RUN.iter().find(|(known, _)| name.contains(known)));
    known.map(|(_, tool)| *tool)
}

/// Returns the line that opens the tagged element at the end of the reply, if it begins a line. Nested elements of the
/// same name, as in a file about such calls, are matched with their closing tags.
fn tagged(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let tag = text.rsplit("</").next().and_then(|tag| tag.strip_suffix('>'))?;
    if tag.len() < 3 || !tag.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
        return None;
    }
    let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
    let mut depth = 0_usize;
    for line in text.lines().rev() {
        depth += line.matches(&close).count();
        let rest = line.strip_prefix(&open);
        if rest.is_some_and(|rest| rest.starts_with(['>', ' ', '='])) {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(line);
            }
        }
    }
    None
}

/// Returns whether another call ends before this position: then it is unknown which call a result belongs to.
fn has_more(words: &str, raw: &str) -> bool {
    let tag = raw.strip_prefix('<').and_then(|raw| raw.split(['>', ' ', '=']).next());
    let ends = |line: &str| {
        let name = line.strip_prefix("</").and_then(|rest| rest.strip_suffix('>'));
        name.is_some_and(|name| name.contains('_') || Some(name) == tag)
    };
    tag.is_some() && words.lines().any(|line| ends(line.trim_end()))
}

/// Turns the actions of these replies into calls and the messages after them, at the indices `places`, into results;
/// none of the replies has another call.
pub(crate) fn take(messages: &mut [Message], places: &[usize]) {
    let ids = |message: &Message| {
        let calls = message.calls().map(|call| call.id.clone());
        let results = message.tool_results().map(|result| result.call_id.clone());
        calls.chain(results).collect::<Vec<_>>()
    };
    let known: HashSet<Arc<str>> = messages.iter().flat_map(ids).collect();
    let mut free = (1..)
        .map(|number| Arc::from(format!("say_{number}")))
        .filter(|id| !known.contains(id));
    for &at in places {
        let (before, rest) = messages.split_at_mut(at);
        if let (Some(reply), Some(answer), Some(id)) = (before.last_mut(), rest.first_mut(), free.next()) {
            take_one(reply, answer, &id);
        }
    }
}

fn take_one(reply: &mut Message, answer: &mut Message, id: &Arc<str>) -> Option<()> {
    let said = |part: Option<&Part>| match part {
        Some(Part::Text(text)) if text.origin == Origin::Injected && !is_block(text.body.as_str()) => {
            Some(text.clone())
        }
        _ => None,
    };
    // The harness's text comes first and is the result; the user's may follow it.
    let opening = Opening::of(said(answer.parts.first())?.body.as_str());
    let is_bare = opening.as_ref().is_some_and(|opening| opening.is_bare);
    let count = 1 + usize::from(is_bare && said(answer.parts.get(1)).is_some());
    // Results of several calls.
    if said(answer.parts.get(count)).is_some() {
        return None;
    }
    let Some(Part::Text(text)) = reply.parts.last() else {
        return None;
    };
    let (words, raw) = text.body.as_str().split_at(start(text.body.as_str())?);
    let (tool, parameters) = called(raw);
    let named = opening.as_ref().and_then(|opening| opening.tool.as_ref());
    // The end of a reply may only look like a call.
    if has_more(words, raw) || named.is_some_and(|named| *named != tool) {
        return None;
    }
    let does = action(&tool, &parameters);
    let input = Map::from_iter([(INPUT.to_owned(), Value::from(raw))]);
    let mut call = ToolCall::new(id.clone(), tool, input).doing(does);
    call.is_spoken = true;
    call.extra = match words.is_empty() {
        true => text.extra.clone(),
        false => marked(text.extra.clone(), BEHIND, true),
    };
    let words = with(text, words);
    reply.parts.pop();
    reply
        .parts
        .extend((!words.body.is_empty()).then_some(Part::Text(words)));
    reply.parts.push(Part::ToolCall(call));

    let mut result = ToolResult::new(id.clone(), None, "");
    result.bare = answer.bare;
    result.output = answer.parts.drain(..count).collect();
    for part in &mut result.output {
        if let Part::Text(text) = part {
            text.origin = Origin::Own;
        }
    }
    take_head(&mut result, opening.map_or(0, |opening| opening.head));
    answer.parts.insert(0, Part::ToolResult(result));
    Some(())
}

fn with(text: &Text, words: &str) -> Text {
    Text {
        body: Body::new(words),
        ..text.clone()
    }
}

/// Separates the harness's text before a result, the first `head` bytes, from the tool's output.
fn take_head(result: &mut ToolResult, head: usize) {
    let Some(Part::Text(first)) = result.output.first_mut().filter(|_| head > 0) else {
        return;
    };
    let (before, rest) = first.body.as_str().split_at(head);
    let (before, rest) = (with(first, before), Body::new(rest));
    let is_all = rest.is_empty();
    first.body = rest;
    result.head = Some(Arc::new(before));
    match is_all {
        true => drop(result.output.remove(0)),
        false => result.extra = marked(std::mem::take(&mut result.extra), BEHIND, true),
    }
}

/// Returns the messages with each such call and its result turned back into text.
pub(crate) fn put_back(messages: &[Message]) -> Cow<'_, [Message]> {
    let calls = messages.iter().flat_map(Message::calls);
    let spoken: HashSet<&str> = calls.filter(|call| call.is_spoken).map(|call| &*call.id).collect();
    if spoken.is_empty() {
        return Cow::Borrowed(messages);
    }
    messages.iter().map(|message| in_words(message, &spoken)).collect()
}

fn in_words(message: &Message, spoken: &HashSet<&str>) -> Message {
    let mut parts: Vec<Part> = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            Part::ToolCall(call) if message.role == Role::Assistant && spoken.contains(&*call.id) => {
                // If they were shortened, a marker.
                let values = call.parameters.as_map().values().filter_map(Value::as_str);
                let raw = values.collect::<Vec<_>>().join("\n");
                match parts.last_mut() {
                    Some(Part::Text(text)) if call.extra.get(BEHIND).is_some() => {
                        text.body = Body::new([text.body.as_str(), &raw].concat());
                    }
                    _ => parts.push(Part::Text(Text {
                        extra: call.extra.clone(),
                        ..Text::new(raw, Origin::Own)
                    })),
                }
            }
            Part::ToolResult(result) if spoken.contains(&*result.call_id) => {
                let mut output = result.output.clone();
                let head = result.head.as_deref();
                match (head, output.first_mut()) {
                    (Some(head), Some(Part::Text(first))) if result.extra.get(BEHIND).is_some() => {
                        *first = with(head, &[head.body.as_str(), first.body.as_str()].concat());
                    }
                    (Some(head), _) => output.insert(0, Part::Text(head.clone())),
                    (None, _) => {}
                }
                parts.extend(output);
            }
            part => parts.push(part.clone()),
        }
    }
    Message {
        parts,
        ..message.clone()
    }
}

#[cfg(test)]
#[path = "text_tool_calls/tests.rs"]
mod tests;
