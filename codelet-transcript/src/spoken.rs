//! Calls that stand in the words of a reply, and answers that come in the user's name: how agents speak with tools whose
//! vendor knows of none. `<read_file><path>a.rs</path></read_file>`, a fenced block of a shell, `Action: find`.
//!
//! Where a whole conversation shows that it goes so (see [`crate::told`]), each such pair is read as a call and its answer, so
//! that what was read, changed and run is known. What stands around the parameters is kept, and a writer puts all of it into
//! words again, to the byte: whoever reads such a reply finds nothing elsewhere.

mod called;

use self::called::{Called, words};
use crate::actions::action;
use crate::extra::marked;
use crate::observed::Opening;
use codelet_context::body::Body;
use codelet_context::harness::is_block;
use codelet_context::message::{Message, Origin, Part, Role, Text, ToolCall, ToolResult};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// On a call in words, or what was said before an answer: others stand before it in the same text.
const BEHIND: &str = "codelet.behind";
/// Fences of what is run, and the tool that runs it.
const RUN: [(&str, &str); 13] = [
    ("", SHELL),
    ("bash", SHELL),
    ("sh", SHELL),
    ("shell", SHELL),
    ("console", SHELL),
    ("zsh", SHELL),
    ("powershell", SHELL),
    ("cmd", SHELL),
    ("python", "python"),
    ("py", "python"),
    ("ipython", "python"),
    ("json", "json"),
    ("xml", "xml"),
];
/// Words in the name of a fence that say the same.
const RUN_WORDS: [&str; 5] = ["bash", "command", "action", "tool", "execute"];
const SHELL: &str = "bash";
const ACTION: &str = "Action: ";

/// Where the action begins that a reply without calls ends with, or that alone would be run of it.
pub(crate) fn start(text: &str) -> Option<usize> {
    let labelled = || text.lines().rfind(|line| line.starts_with(ACTION));
    let line = fenced(text).or_else(|| tagged(text)).or_else(labelled)?;
    Some(offset(text, line))
}

/// The line that opens the one fenced block of what can be run.
fn fenced(text: &str) -> Option<&str> {
    let mut fences = text.lines().filter(|line| line.starts_with("```"));
    let (Some(open), Some(_), None) = (fences.next(), fences.next(), fences.next()) else {
        return None;
    };
    runner(fence_name(open)).map(|_| open)
}

fn fence_name(line: &str) -> &str {
    line.trim_start_matches('`').trim()
}

/// The tool that runs what stands in a fence of this name.
fn runner(name: &str) -> Option<&'static str> {
    let known = RUN.iter().find(|(known, _)| *known == name).map(|(_, tool)| *tool);
    known.or_else(|| RUN_WORDS.iter().any(|word| name.contains(word)).then_some(SHELL))
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
        let opens = line
            .strip_prefix(&open)
            .is_some_and(|rest| rest.starts_with(['>', ' ', '=']));
        if opens {
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
    let known: HashSet<Arc<str>> = messages.iter().flat_map(ids).collect();
    let mut number = 0;
    for &at in places {
        let id = loop {
            number += 1;
            let id: Arc<str> = format!("say_{number}").into();
            if !known.contains(&id) {
                break id;
            }
        };
        let (before, rest) = messages.split_at_mut(at);
        if let (Some(reply), Some(answer)) = (before.last_mut(), rest.first_mut()) {
            take_one(reply, answer, &id);
        }
    }
}

fn ids(message: &Message) -> impl Iterator<Item = Arc<str>> {
    let calls = message.calls().map(|call| call.id.clone());
    calls.chain(message.tool_results().map(|result| result.call_id.clone()))
}

fn take_one(reply: &mut Message, answer: &mut Message, id: &Arc<str>) -> Option<()> {
    let is_said = |part: Option<&Part>| {
        part.is_some_and(
            |part| matches!(part, Part::Text(text) if text.origin == Origin::Injected && !is_block(text.body.as_str())),
        )
    };
    // What the harness says first is the answer; behind it may stand what the user says.
    let Some(Part::Text(first)) = answer.parts.first().filter(|part| is_said(Some(part))) else {
        return None;
    };
    let opening = Opening::of(first.body.as_str());
    let is_bare = opening.as_ref().is_some_and(|opening| opening.is_bare);
    let said = 1 + usize::from(is_bare && is_said(answer.parts.get(1)));
    // Answers to several calls.
    if is_said(answer.parts.get(said)) {
        return None;
    }
    let place = reply.parts.len().checked_sub(1)?;
    let Part::Text(text) = &reply.parts[place] else {
        return None;
    };
    let start = start(text.body.as_str())?;
    let (words, raw) = text.body.as_str().split_at(start);
    let called = Called::of(raw);
    let named = opening.as_ref().and_then(|opening| opening.tool.as_deref());
    // A reply may end with what only looks like a call.
    if has_more(words, raw) || named.is_some_and(|named| named != called.tool) {
        return None;
    }
    let Called {
        tool,
        parameters,
        does,
        around,
    } = called;
    let does = action(&tool, does.as_ref().unwrap_or(&parameters));
    let mut call = ToolCall::new(id.clone(), tool, parameters).doing(does);
    call.spoken = Some(Arc::new(around));
    call.extra = match words.is_empty() {
        true => text.extra.clone(),
        false => marked(text.extra.clone(), BEHIND, true),
    };
    let words = Text {
        body: Body::new(words),
        ..text.clone()
    };
    reply.parts.truncate(place);
    if !words.body.is_empty() {
        reply.parts.push(Part::Text(words));
    }
    reply.parts.push(Part::ToolCall(call));

    let mut result = ToolResult::new(id.clone(), None, "");
    result.bare = answer.bare;
    result.output = answer.parts.drain(..said).map(own).collect();
    if let Some(head) = opening.map(|opening| opening.head).filter(|&head| head > 0) {
        take_head(&mut result, head);
    }
    answer.parts.insert(0, Part::ToolResult(result));
    Some(())
}

fn own(part: Part) -> Part {
    match part {
        Part::Text(text) => Part::Text(Text {
            origin: Origin::Own,
            ..text
        }),
        part => part,
    }
}

/// Parts what the harness says before an answer, so many bytes of its first text, from what the tool says.
fn take_head(result: &mut ToolResult, head: usize) {
    let Some(Part::Text(first)) = result.output.first_mut() else {
        return;
    };
    let (before, rest) = first.body.as_str().split_at(head);
    let (before, rest) = (Body::new(before), Body::new(rest));
    if rest.is_empty() {
        let Part::Text(head) = result.output.remove(0) else {
            return;
        };
        result.head = Some(Arc::new(head));
        return;
    }
    result.head = Some(Arc::new(Text {
        body: before,
        ..first.clone()
    }));
    first.body = rest;
    result.extra = marked(std::mem::take(&mut result.extra), BEHIND, true);
}

/// Where a part of a text begins in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The messages with each such call and its answer as words again.
pub(crate) fn put_back(messages: &[Message]) -> Cow<'_, [Message]> {
    let calls = messages
        .iter()
        .flat_map(Message::calls)
        .filter(|call| call.spoken.is_some());
    let spoken: HashSet<&str> = calls.map(|call| &*call.id).collect();
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
                let raw = words_of(call);
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
            Part::ToolResult(result) if spoken.contains(&*result.call_id) => parts.extend(said_by(result)),
            part => parts.push(part.clone()),
        }
    }
    Message {
        parts,
        ..message.clone()
    }
}

/// What the harness and the tool say.
fn said_by(result: &ToolResult) -> Vec<Part> {
    let mut output = result.output.iter().cloned();
    let Some(head) = &result.head else {
        return output.collect();
    };
    let mut head = Text::clone(head);
    let mut parts = Vec::new();
    if result.extra.get(BEHIND).is_some() {
        match output.next() {
            Some(Part::Text(first)) => head.body = Body::new([head.body.as_str(), first.body.as_str()].concat()),
            other => parts.extend(other),
        }
    }
    parts.insert(0, Part::Text(head));
    parts.extend(output);
    parts
}

/// What a reply says to make this call. Where nothing is left of its parameters but a marker, that.
fn words_of(call: &ToolCall) -> String {
    let parameters = call.parameters.as_map();
    let around = call.spoken.as_deref().map(Vec::as_slice).unwrap_or_default();
    words(parameters, around).unwrap_or_else(|| {
        let values = parameters.values().filter_map(Value::as_str).collect::<Vec<_>>();
        let ends = |word: Option<&String>| word.map_or("", String::as_str).to_owned();
        [ends(around.first()), values.join("\n"), ends(around.last())].concat()
    })
}

#[cfg(test)]
#[path = "spoken/tests.rs"]
mod tests;
