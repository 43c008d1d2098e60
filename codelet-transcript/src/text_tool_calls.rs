//! Calls that stand in the words of a reply, and answers that come in the user's name: how agents speak with tools whose
//! vendor knows of none. `<read_file><path>a.rs</path></read_file>`, a fenced block of a shell, `Action: find`.
//!
//! Where a whole conversation shows that it goes so (see [`crate::told`]), each such pair is read as a call and its answer, so
//! that what was read, changed and run is known. The call's one parameter is its words, and a writer puts them back, to the
//! byte: whoever reads such a reply finds nothing elsewhere.

mod called;

use self::called::called;
use crate::actions::action;
use crate::extra::marked;
use crate::harness::is_block;
use crate::observations::Opening;
use codelet_context::body::Body;
use codelet_context::message::{Message, Origin, Part, Role, Text, ToolCall, ToolResult};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// On a call in words, or what was said before an answer: others stand before it in the same text.
const BEHIND: &str = "codelet.behind";
/// The parameter of a call in words.
const INPUT: &str = "input";
const SHELL: &str = "bash";
const ACTION: &str = "Action: ";
/// Fences of what is run, or words in their names, and the tool that runs it.
#[rustfmt::skip]
const RUN: &[(&str, &str)] = &[
    ("python", "python"), ("ipython", "python"), ("json", "json"), ("xml", "xml"), ("bash", SHELL), ("zsh", SHELL),
    ("shell", SHELL), ("console", SHELL), ("powershell", SHELL), ("command", SHELL), ("action", SHELL), ("tool", SHELL),
];
const SHORT: &[(&str, &str)] = &[("", SHELL), ("sh", SHELL), ("cmd", SHELL), ("py", "python")];

/// Where the action begins that a reply without calls ends with, or that alone would be run of it.
pub(crate) fn start(text: &str) -> Option<usize> {
    let labelled = || text.lines().rfind(|line| line.starts_with(ACTION));
    let line = fenced(text).or_else(|| tagged(text)).or_else(labelled)?;
    Some(line.as_ptr() as usize - text.as_ptr() as usize)
}

/// The line that opens the one fenced block of what can be run.
fn fenced(text: &str) -> Option<&str> {
    let mut fences = text.lines().filter(|line| line.starts_with("```"));
    let (Some(open), Some(_), None) = (fences.next(), fences.next(), fences.next()) else {
        return None;
    };
    runner(open.trim_start_matches('`').trim()).map(|_| open)
}

/// The tool that runs what stands in a fence of this name.
fn runner(name: &str) -> Option<&'static str> {
    let short = SHORT.iter().find(|(known, _)| *known == name);
    let known = short.or_else(|| RUN.iter().find(|(known, _)| name.contains(known)));
    known.map(|(_, tool)| *tool)
}

/// The line that opens the element in tags that the reply ends with, if it stands on lines of its own. Elements of its name that
/// stand within it, as in a file that tells of such calls, are closed there.
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

/// Whether a reply ends one more call before this place: which of several an answer is for is not known.
fn has_more(words: &str, raw: &str) -> bool {
    let tag = raw.strip_prefix('<').and_then(|raw| raw.split(['>', ' ', '=']).next());
    let ends = |line: &str| {
        let name = line.strip_prefix("</").and_then(|rest| rest.strip_suffix('>'));
        name.is_some_and(|name| name.contains('_') || Some(name) == tag)
    };
    tag.is_some() && words.lines().any(|line| ends(line.trim_end()))
}

/// Makes calls of the actions of these replies and answers of the messages behind them, which are the places; none of the
/// replies has another call.
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
    // What the harness says first is the answer; behind it may stand what the user says.
    let opening = Opening::of(said(answer.parts.first())?.body.as_str());
    let is_bare = opening.as_ref().is_some_and(|opening| opening.is_bare);
    let count = 1 + usize::from(is_bare && said(answer.parts.get(1)).is_some());
    // Answers to several calls.
    if said(answer.parts.get(count)).is_some() {
        return None;
    }
    let Some(Part::Text(text)) = reply.parts.last() else {
        return None;
    };
    let (words, raw) = text.body.as_str().split_at(start(text.body.as_str())?);
    let (tool, parameters) = called(raw);
    let named = opening.as_ref().and_then(|opening| opening.tool.as_ref());
    // A reply may end with what only looks like a call.
    if has_more(words, raw) || named.is_some_and(|named| *named != tool) {
        return None;
    }
    let does = action(&tool, &parameters);
    let input = Map::from_iter([(INPUT.to_owned(), Value::from(raw))]);
    let mut call = ToolCall::new(id.clone(), tool, input).doing(does);
    call.spoken = Some(Arc::default());
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

/// The text with other words.
fn with(text: &Text, words: &str) -> Text {
    Text {
        body: Body::new(words),
        ..text.clone()
    }
}

/// Parts what the harness says before an answer, so many bytes of its first text, from what the tool says.
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

/// The messages with each such call and its answer as words again.
pub(crate) fn put_back(messages: &[Message]) -> Cow<'_, [Message]> {
    let calls = messages.iter().flat_map(Message::calls);
    let spoken: HashSet<&str> = calls
        .filter(|call| call.spoken.is_some())
        .map(|call| &*call.id)
        .collect();
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
                // Where they were shortened, a marker.
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
