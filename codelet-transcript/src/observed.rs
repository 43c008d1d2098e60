//! Observations: some agents speak with their tools in text. The model's action stands in its reply, and the next message in the
//! user's role is what came of it. One message proves nothing, since people paste outputs too. Many of one opening do, where
//! nearly all that follows an action begins so.

use crate::actions::{action, asks_and_prints_nothing};
use crate::told::{inject, is_action};
use codelet_context::message::{ActionKind, Message, Origin, Part, Role};
use serde_json::Map;
use std::collections::HashMap;

/// Messages with an opening that agents are known for, before it counts, and the share of all that follows an action.
const MANY: usize = 3;
const KNOWN_SHARE: f64 = 0.5;
/// The same of any other common opening.
const VERY_MANY: usize = 6;
const SHARE: f64 = 0.8;
/// Openings of outputs that agents are known for: tags, and words before a colon.
const TAGS: [&str; 9] = [
    "returncode",
    "output",
    "observation",
    "tool_response",
    "tool_result",
    "tool_output",
    "function_results",
    "function_response",
    "command_output",
];
const LABELS: [&str; 7] = [
    "observation",
    "tool result",
    "tool output",
    "tool response",
    "command output",
    "execution result",
    "execution output",
];
/// The opening of an action that could not be done: a line of its own.
const ERROR: &str = "error";
/// Parts of openings that name who speaks: a person, not a tool.
const SPEAKERS: [&str; 16] = [
    "comment",
    "feedback",
    "human",
    "input",
    "instruction",
    "instructions",
    "me",
    "message",
    "msg",
    "prompt",
    "query",
    "question",
    "request",
    "task",
    "user",
    "you",
];
/// Within an observation: what the user says to it.
const ANSWERS: [&str; 3] = ["<feedback>", "<answer>", "<user_message>"];
/// How a harness begins to say that the user has said something.
const SAYS: &str = "The user ";

/// Marks what came of actions. Returns where it stands behind an action in words.
pub(crate) fn mark(messages: &mut [Message]) -> Vec<usize> {
    let mut acted = 0;
    let mut found: Vec<(usize, Opening, bool)> = Vec::new();
    let mut prompted: Vec<String> = Vec::new();
    for at in 0..messages.len() {
        let message = &messages[at];
        if message.role != Role::User || message.tool_results().next().is_some() {
            continue;
        }
        let before = at.checked_sub(1).map(|before| &messages[before]);
        let is_behind_action = before.is_some_and(|before| before.role == Role::Assistant && is_action(before));
        acted += usize::from(is_behind_action);
        let own = message.parts.iter().find_map(own_text);
        let Some(opening) = own.and_then(Opening::of) else {
            continue;
        };
        if is_behind_action || opening.is_whole && before.is_some_and(|before| before.role == Role::Assistant) {
            found.push((at, opening, is_behind_action));
        } else {
            prompted.push(opening.words);
        }
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, opening, _) in &found {
        *counts.entry(opening.words.clone()).or_default() += 1;
    }
    let known = found
        .iter()
        .filter(|(_, opening, behind)| opening.is_known && *behind)
        .count();
    let is_agent = known as f64 >= KNOWN_SHARE * acted as f64;
    let is_many =
        |opening: &Opening| opening.is_known && counts[&opening.words] >= MANY && (is_agent || opening.is_whole);
    let are_known = found.iter().any(|(_, opening, behind)| *behind && is_many(opening));
    let mut observed = Vec::new();
    for (at, opening, is_behind_action) in found {
        let count = counts[&opening.words];
        let is_common = count >= VERY_MANY
            && count as f64 >= SHARE * acted as f64
            && !opening.names_a_speaker()
            && !prompted.contains(&opening.words);
        // Whatever else the same harness says in this place.
        let is_other =
            are_known && is_behind_action && (opening.is_known || opening.is_marker || opening.words == ERROR);
        if is_common || is_many(&opening) || is_other {
            mark_one(&mut messages[at], &opening.words);
            observed.extend(is_behind_action.then_some(at));
        }
    }
    observed
}

fn own_text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str()),
        _ => None,
    }
}

/// Marks what the harness says first in a message that begins with these words. What stands behind it is somebody's else.
fn mark_one(message: &mut Message, words: &str) {
    let mut before: Option<Opening> = None;
    for part in &mut message.parts {
        let Part::Text(text) = part else { continue };
        if text.origin != Origin::Own {
            continue;
        }
        let opening = Opening::of(text.body.as_str()).filter(|opening| opening.words == words);
        // Some say in a text of its own what follows.
        let (head, at) = match (opening, before.take()) {
            (Some(opening), _) => {
                let at = opening.head;
                (opening, at)
            }
            (None, Some(before)) if before.is_bare => {
                let head = Opening {
                    is_bare: false,
                    ..before
                };
                (head, 0)
            }
            _ => return,
        };
        let said = text.body.as_str().get(at..).unwrap_or_default();
        if !head.lets_the_user_speak(said) {
            inject(text);
        }
        before = Some(head);
    }
}

/// How a message begins that may be an observation.
pub(crate) struct Opening {
    /// What it has in common with others.
    words: String,
    /// Agents are known to begin so.
    is_known: bool,
    /// The message is put together by an agent whatever stands before it.
    is_whole: bool,
    /// It is nothing but what this engine has left in the place of an observation.
    is_marker: bool,
    /// Nothing stands behind it in its text.
    pub is_bare: bool,
    /// Bytes of the text that say only what follows.
    pub head: usize,
    /// The tool that it names.
    pub tool: Option<String>,
}

impl Opening {
    pub fn of(text: &str) -> Option<Opening> {
        let indent = text.len() - text.trim_start().len();
        let text = text.trim_start();
        let known = |words: &str, is_known| Opening {
            words: words.to_lowercase(),
            is_known,
            is_whole: false,
            is_marker: false,
            is_bare: false,
            head: 0,
            tool: None,
        };
        let behind = |opening: Opening, head: usize| {
            let rest = &text[head..];
            Opening {
                is_bare: rest.trim().is_empty(),
                head: indent + head + rest.len() - rest.trim_start().len(),
                ..opening
            }
        };
        let line = text.lines().next()?.trim_end();
        // Aider.
        if line == "I ran this command:" && text.contains("\nAnd got this output:\n") {
            return Some(Opening {
                is_whole: true,
                ..known(line, true)
            });
        }
        if is_marker(text) {
            return Some(Opening {
                is_marker: true,
                ..known("[recall]", false)
            });
        }
        // Cline and its like: `[read_file for 'src/a.rs'] Result:`; what is named may have several lines.
        if let Some(rest) = text.strip_prefix('[') {
            const END: &str = "] Result:";
            let tool = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'))?;
            let end = rest.find(END)?;
            let is_named = tool > 0 && (end == tool || rest[tool..].starts_with(" for "));
            let opening = Opening {
                tool: Some(rest[..tool].to_owned()),
                ..known("[tool] result:", true)
            };
            return is_named.then(|| behind(opening, 1 + end + END.len()));
        }
        // OpenHands: `EXECUTION RESULT of [run]:`.
        if let Some(rest) = line.strip_prefix("EXECUTION RESULT of [") {
            let opening = Opening {
                tool: rest.split(']').next().map(str::to_owned),
                ..known("execution result of", true)
            };
            return Some(behind(opening, line.len()));
        }
        // AutoGen: `exitcode: 0 (execution succeeded)`.
        if line.starts_with("exitcode: ") && line.ends_with(')') && text.contains("\nCode output:") {
            return Some(known("exitcode", true));
        }
        // mini-swe-agent.
        if text.starts_with("The last command <command>") {
            return Some(known("the last command", true));
        }
        if let Some(rest) = text.strip_prefix('<') {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))?;
            let (tag, after) = rest.split_at(end);
            let is_tag = !tag.is_empty() && after.starts_with(['>', ' ']);
            // All of it stands in tags: people write something beside what they paste.
            let last = text.trim_end().rsplit("</").next()?.strip_suffix('>')?;
            let is_whole = !last.is_empty() && last.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            return (is_tag && is_whole).then(|| known(&format!("<{tag}>"), TAGS.contains(&tag)));
        }
        let (label, after) = line.split_once(':')?;
        let is_label =
            label.len() <= 40 && !label.is_empty() && label.chars().all(|c| c.is_alphabetic() || " _-".contains(c));
        let is_known = LABELS.contains(&label.to_lowercase().as_str());
        let opening = (is_label && (is_known || after.trim().is_empty())).then(|| known(label, is_known))?;
        Some(match opening.words == ERROR {
            // It says more than that something follows.
            true => opening,
            false => behind(opening, label.len() + 1),
        })
    }

    /// Whether who begins so says who speaks, as people do who paste what others have said, and clients that frame prompts; or only
    /// that something has gone wrong.
    fn names_a_speaker(&self) -> bool {
        let mut parts = self.words.split(|c: char| !c.is_alphanumeric());
        self.words == ERROR || parts.any(|part| SPEAKERS.contains(&part))
    }

    /// Whether what is said behind it holds words of the user's: what a tool has answered that asks, or what the harness says at
    /// the very beginning of the answer to a change. The text of a file, a program or a server can say anything.
    fn lets_the_user_speak(&self, said: &str) -> bool {
        let Some(at) = ANSWERS.iter().filter_map(|tag| said.find(tag)).min() else {
            return false;
        };
        let Some(tool) = &self.tool else { return false };
        let is_said = || self.words.starts_with('[') && said[..at].starts_with(SAYS);
        asks_and_prints_nothing(tool) && (action(tool, &Map::new()).kind == ActionKind::Ask || is_said())
    }
}

/// Whether a text is nothing but a marker of this engine's, such as `[bash output, 1,365 bytes, same as a newer one · recall h45yz2]`.
fn is_marker(text: &str) -> bool {
    let text = text.trim_end();
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inside.is_some_and(|inside| !inside.contains(['\n', '[', ']']) && inside.contains(" \u{b7} recall "))
}
