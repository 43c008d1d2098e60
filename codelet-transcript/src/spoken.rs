//! Calls that stand in the words of a reply, and answers that come in the user's name: how agents speak with tools whose
//! vendor knows of none. `<read_file><path>a.rs</path></read_file>`, a fenced block of a shell, `Action: find`.
//!
//! Where a whole conversation shows that it goes so (see [`crate::told`]), each such pair is read as a call and its answer, so
//! that what was read, changed and run is known. What stands around the parameters is kept, and a writer puts all of it into
//! words again, to the byte: whoever reads such a reply finds nothing elsewhere.

use crate::actions::action;
use crate::extra::marked;
use codelet_context::body::Body;
use codelet_context::harness::is_block;
use codelet_context::message::{Message, Origin, Part, Role, Text, ToolCall, ToolResult};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// On a call in words: others stand before it in the same text.
const BEHIND: &str = "codelet.behind";
/// The parameter of what is not taken apart.
const INPUT: &str = "input";
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
const ACTION_INPUT: &str = "Action Input:";

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

/// The line that opens the element in tags that the reply ends with, if it stands on lines of its own.
fn tagged(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let tag = text.rsplit("</").next().and_then(|tag| tag.strip_suffix('>'))?;
    if tag.len() < 3 || !tag.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
        return None;
    }
    let open = format!("<{tag}");
    let opens = |line: &&str| {
        line.strip_prefix(&open)
            .is_some_and(|rest| rest.starts_with(['>', ' ', '=']))
    };
    text.lines().rfind(opens)
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
    // What the harness says first is the answer; behind it may stand what the user says.
    let is_said = |part: &Part| matches!(part, Part::Text(text) if text.origin == Origin::Injected && !is_block(text.body.as_str()));
    let said = answer.parts.iter().take_while(|part| is_said(part)).count();
    let place = reply.parts.len().checked_sub(1).filter(|_| said > 0)?;
    let Part::Text(text) = &reply.parts[place] else {
        return None;
    };
    let start = start(text.body.as_str())?;
    let (words, raw) = text.body.as_str().split_at(start);
    let Called {
        tool,
        parameters,
        does,
        around,
    } = Called::of(raw);
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

    let own = |part| match part {
        Part::Text(text) => Part::Text(Text {
            origin: Origin::Own,
            ..text
        }),
        part => part,
    };
    let mut result = ToolResult::new(id.clone(), None, "");
    result.output = answer.parts.drain(..said).map(own).collect();
    result.bare = answer.bare;
    answer.parts.insert(0, Part::ToolResult(result));
    Some(())
}

/// A call as it stands in words.
struct Called {
    tool: String,
    parameters: Map<String, Value>,
    /// The parameters that tell what it does, where these are others.
    does: Option<Map<String, Value>>,
    /// What stands before, between and behind the parameters.
    around: Vec<String>,
}

impl Called {
    fn of(raw: &str) -> Called {
        let called = Self::in_a_fence(raw)
            .or_else(|| Self::by_a_label(raw))
            .or_else(|| Self::in_tags(raw));
        // What would not be the same again is not taken apart.
        match called {
            Some(called) if words(&called.parameters, &called.around).as_deref() == Some(raw) => called,
            called => Called {
                does: called
                    .as_ref()
                    .map(|called| called.does.as_ref().unwrap_or(&called.parameters).clone()),
                tool: called.map_or_else(|| String::from("action"), |called| called.tool),
                parameters: one(INPUT, raw),
                around: vec![String::new(); 2],
            },
        }
    }

    fn in_a_fence(raw: &str) -> Option<Called> {
        let (open, inside) = raw.strip_prefix("```").and_then(|_| raw.split_once('\n'))?;
        let end = inside.find("\n```")?;
        let tool = runner(fence_name(open))?;
        Some(Called {
            tool: tool.to_owned(),
            // A program is no command line.
            parameters: one(if tool == SHELL { "command" } else { "code" }, &inside[..end]),
            does: None,
            around: around(raw, &inside[..end]),
        })
    }

    fn by_a_label(raw: &str) -> Option<Called> {
        let (tool, rest) = raw.strip_prefix(ACTION)?.split_once('\n')?;
        let input = rest.split_once(ACTION_INPUT)?.1.trim();
        Some(Called {
            tool: tool.trim().to_owned(),
            parameters: one(INPUT, input),
            does: object(input),
            around: around(raw, input),
        })
    }

    fn in_tags(raw: &str) -> Option<Called> {
        let (name, inside, _) = element(raw)?;
        // `<tool_call>{"name": …, "arguments": {…}}</tool_call>`
        if let Some(mut map) = object(inside) {
            let tool = map.get("name").and_then(Value::as_str).unwrap_or(name).to_owned();
            let arguments = map.get_mut("arguments").map(Value::take);
            let inside = inside.trim();
            return Some(Called {
                tool,
                parameters: one(INPUT, inside),
                does: Some(match arguments {
                    Some(Value::Object(arguments)) => arguments,
                    _ => map,
                }),
                around: around(raw, inside),
            });
        }
        let (mut parameters, mut around) = (Map::new(), Vec::new());
        let (mut rest, mut said) = (inside, 0);
        while let Some((name, value, behind)) = rest.find('<').and_then(|at| element(&rest[at..])) {
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            let start = offset(raw, value);
            around.push(raw[said..start].to_owned());
            said = start + value.len();
            parameters.insert(String::from(name), Value::from(value));
            rest = behind;
        }
        around.push(raw[said..].to_owned());
        Some(Called {
            tool: name.to_owned(),
            parameters,
            does: None,
            around,
        })
    }
}

fn one(name: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(String::from(name), Value::from(value))])
}

fn object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

/// Where a part of a text begins in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// What stands before and behind a part of a text.
fn around(text: &str, part: &str) -> Vec<String> {
    let start = offset(text, part);
    [&text[..start], &text[start + part.len()..]]
        .map(str::to_owned)
        .to_vec()
}

/// What a reply says to make a call of these parameters, if they are what stood between these words.
fn words(parameters: &Map<String, Value>, around: &[String]) -> Option<String> {
    let (first, behind) = around.split_first()?;
    if behind.len() != parameters.len() {
        return None;
    }
    let mut words = first.clone();
    for (value, behind) in parameters.values().zip(behind) {
        words.push_str(value.as_str()?);
        words.push_str(behind);
    }
    Some(words)
}

/// The element that a text begins with: its name (`read_file`, and `run` of `<function=run>` or `<invoke name="run">`), what
/// stands in it, and what stands behind it.
fn element(text: &str) -> Option<(&str, &str, &str)> {
    let (open, inside) = text.strip_prefix('<')?.split_once('>')?;
    let end = open.find([' ', '=']).unwrap_or(open.len());
    let (tag, named) = open.split_at(end);
    if tag.is_empty() || !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
        return None;
    }
    let named = named
        .rsplit('=')
        .next()
        .unwrap_or_default()
        .trim_matches(['"', '\'', ' ']);
    let close = format!("</{tag}>");
    let at = inside.find(&close)?;
    let name = if named.is_empty() { tag } else { named };
    Some((name, &inside[..at], &inside[at + close.len()..]))
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
            Part::ToolResult(result) if spoken.contains(&*result.call_id) => {
                parts.extend(result.output.iter().cloned())
            }
            part => parts.push(part.clone()),
        }
    }
    Message {
        parts,
        ..message.clone()
    }
}

/// What a reply says to make this call. Where nothing is left of its parameters but a marker, that.
fn words_of(call: &ToolCall) -> String {
    let parameters = call.parameters.as_map();
    let spoken = call.spoken.as_deref().and_then(|around| words(parameters, around));
    spoken.unwrap_or_else(|| format!("{} {}", call.tool, call.parameters.json()))
}

#[cfg(test)]
#[path = "spoken/tests.rs"]
mod tests;
