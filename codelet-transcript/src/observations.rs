//! Observations: some agents speak with their tools in text. The model's action stands in its reply, and the next message in the
//! user's role is what came of it. One message proves nothing, since people paste outputs too. Several that open as agents are
//! known to do count, where half of all that follows an action is such.

use crate::actions::{action, asks_and_prints_nothing};
use crate::told::{inject, is_action, own_texts};
use codelet_context::message::{ActionKind, Message, Origin, Part, Role};
use serde_json::Map;
use std::collections::HashMap;

/// Messages of one opening before it counts, and the share of all that follows an action.
const MANY: usize = 3;
const SHARE: f64 = 0.5;
/// Openings of outputs: tags around the whole text, …
#[rustfmt::skip]
const TAGS: &[&str] = &[
    "returncode", "output", "observation", "tool_response", "tool_result", "tool_output", "function_results",
    "function_response", "command_output",
];
/// … words before a colon, …
#[rustfmt::skip]
const LABELS: &[&str] = &[
    "observation", "tool result", "tool output", "tool response", "command output", "execution result", "execution output",
];
/// … and whole beginnings, with what else the text has, of Aider, AutoGen and mini-swe-agent.
const BEGINNINGS: &[(&str, &str)] = &[
    ("I ran this command:\n", "\nAnd got this output:\n"),
    ("exitcode: ", "\nCode output:"),
    ("The last command <command>", ""),
];
/// What begins and ends an opening that names its tool: of Cline and its like, `[read_file for 'src/a.rs'] Result:`, and of OpenHands.
const NAMING: &[(&str, &str)] = &[("[", "] Result:"), ("EXECUTION RESULT of [", "]:")];
/// The opening of an action that could not be done: a line of its own.
const ERROR: &str = "error";
/// What a marker has in it that this engine has left in the place of an output.
const MARKER: &str = " \u{b7} recall ";
/// Within an observation: what the user says to it.
const ANSWERS: [&str; 3] = ["<feedback>", "<answer>", "<user_message>"];
/// How a harness begins to say that the user has said something.
const SAYS: &str = "The user ";

/// Marks what came of actions. Returns where it stands behind an action in words.
pub(crate) fn mark(messages: &mut [Message]) -> Vec<usize> {
    let mut acted = 0;
    let mut found: Vec<(usize, Opening, bool)> = Vec::new();
    for at in 1..messages.len() {
        let (before, message) = (&messages[at - 1], &messages[at]);
        let is_reply = before.role == Role::Assistant;
        if message.role != Role::User || message.tool_results().next().is_some() {
            continue;
        }
        let is_behind_action = is_reply && is_action(before);
        acted += usize::from(is_behind_action);
        let own = message.parts.iter().find_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Own => Opening::of(text.body.as_str()),
            _ => None,
        });
        // Aider runs what stands nowhere as an action.
        let opening = own.filter(|opening| is_behind_action || is_reply && opening.kind == BEGINNINGS[0].0);
        found.extend(opening.map(|opening| (at, opening, is_behind_action)));
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, opening, _) in &found {
        *counts.entry(opening.kind).or_default() += 1;
    }
    let is_known = |opening: &Opening| opening.kind != ERROR && opening.kind != MARKER;
    let known = found.iter().filter(|(_, opening, behind)| *behind && is_known(opening));
    let is_agent = known.count() as f64 >= SHARE * acted as f64;
    let is_many = |opening: &Opening| is_known(opening) && counts[opening.kind] >= MANY;
    if !found
        .iter()
        .any(|(_, opening, behind)| is_many(opening) && (is_agent || !behind))
    {
        return Vec::new();
    }
    let mut observed = Vec::new();
    for (at, opening, is_behind_action) in found {
        mark_one(&mut messages[at], opening.kind);
        observed.extend(is_behind_action.then_some(at));
    }
    observed
}

/// Marks what the harness says first in a message that opens so. What stands behind it is somebody's else.
fn mark_one(message: &mut Message, kind: &str) {
    let mut before: Option<Opening> = None;
    for text in own_texts(message) {
        let own = Opening::of(text.body.as_str()).filter(|opening| opening.kind == kind);
        let opening = match (own, before.take()) {
            (Some(own), _) => own,
            // Some say in a text of its own what follows.
            (None, Some(before)) if before.is_bare => Opening {
                is_bare: false,
                head: 0,
                ..before
            },
            _ => return,
        };
        if !opening.lets_the_user_speak(text.body.as_str()) {
            inject(text);
        }
        before = Some(opening);
    }
}

/// How a message begins that may be an observation.
pub(crate) struct Opening {
    /// The row of the tables.
    kind: &'static str,
    /// Nothing stands behind it in its text.
    pub is_bare: bool,
    /// Bytes of the text that say only what follows.
    pub head: usize,
    /// The tool that it names.
    pub tool: Option<String>,
}

impl Opening {
    pub fn of(whole: &str) -> Option<Opening> {
        let text = whole.trim_start();
        let plain = |kind| Opening {
            kind,
            is_bare: false,
            head: 0,
            tool: None,
        };
        let behind = |kind, head: usize, tool| {
            let rest = text[head..].trim_start();
            Opening {
                kind,
                is_bare: rest.is_empty(),
                head: whole.len() - rest.len(),
                tool,
            }
        };
        let begins = |(begin, has): &&(&str, &str)| text.starts_with(begin) && text.contains(has);
        if let Some((begin, _)) = BEGINNINGS.iter().find(begins) {
            return Some(plain(begin));
        }
        if is_marker(text) {
            return Some(plain(MARKER));
        }
        for (begin, end) in NAMING {
            let Some(rest) = text.strip_prefix(begin) else { continue };
            let tool = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'))?;
            // What is named may have several lines.
            let at = rest.find(end)?;
            let is_named = tool > 0 && (at == tool || rest[tool..].starts_with(" for "));
            return is_named.then(|| behind(begin, begin.len() + at + end.len(), Some(rest[..tool].to_owned())));
        }
        if let Some(rest) = text.strip_prefix('<') {
            let name = rest.split(['>', ' ']).next()?;
            let tag = TAGS.iter().find(|tag| **tag == name)?;
            // All of it stands in tags: people write something beside what they paste.
            let last = text.trim_end().rsplit("</").next()?.strip_suffix('>')?;
            let is_tag = !last.is_empty() && last.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            return is_tag.then(|| plain(tag));
        }
        let (label, after) = text.lines().next()?.split_once(':')?;
        let is_it = |known: &&&'static str| known.eq_ignore_ascii_case(label);
        if label.eq_ignore_ascii_case(ERROR) && after.trim().is_empty() {
            return Some(plain(ERROR));
        }
        LABELS
            .iter()
            .find(is_it)
            .map(|known| behind(known, label.len() + 1, None))
    }

    /// Whether what is said behind it holds words of the user's: what a tool has answered that asks, or what the harness says at
    /// the very beginning of the answer to a change. The text of a file, a program or a server can say anything.
    fn lets_the_user_speak(&self, text: &str) -> bool {
        let said = text.get(self.head..).unwrap_or_default();
        let (Some(at), Some(tool)) = (ANSWERS.iter().filter_map(|tag| said.find(tag)).min(), &self.tool) else {
            return false;
        };
        let is_said = || self.kind == NAMING[0].0 && said[..at].starts_with(SAYS);
        asks_and_prints_nothing(tool) && (action(tool, &Map::new()).kind == ActionKind::Ask || is_said())
    }
}

/// Whether a text is nothing but a marker of this engine's, such as `[bash output, 1,365 bytes, same as a newer one · recall h45yz2]`.
fn is_marker(text: &str) -> bool {
    let inside = text
        .trim_end()
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inside.is_some_and(|inside| !inside.contains(['\n', '[', ']']) && inside.contains(MARKER))
}
