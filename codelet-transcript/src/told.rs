//! What a request says in the user's name and no user has typed. Requests have no field for it, so it is known by forms
//! that prompts do not have.
//!
//! *Observations*: some agents speak with their tools in text. The model's action stands in its reply, and the next
//! message in the user's role is what came of it. One message proves nothing, since people paste outputs too. Many of one
//! opening do, where nearly all that follows an action begins so.
//!
//! *Complaints*: what a harness says to a reply that it could read no action from, see [`crate::complaint`].
//!
//! *Blocks*: harnesses put whole blocks of their own beside a prompt or an answer of a tool, each in one tag.
//!
//! *Events*: some are told of in a message of their own, in a tag that nobody types.
//!
//! *Interruptions*: that the user has stopped a harness, some note in a text of its own, in words that are always the same.
//!
//! *Openings*: some harnesses begin a conversation with a text about the project, as a message of its own in words that are
//! always the same.
//!
//! *Summaries* that this engine has written end a compacted conversation with a notice of fixed words behind them.
//!
//! What is wrongly taken for a prompt costs room; a prompt that is taken for something else is lost. So in doubt a text is
//! a prompt.

use crate::complaint::is_complaint;
use crate::spoken;
use codelet_context::compact::is_ending;
use codelet_context::harness::{self, is_event, is_fragment, is_frame, is_interruption, is_opening};
use codelet_context::message::{Message, Origin, Part, Role, Text};
use std::collections::HashMap;

/// Messages with an opening that agents are known for, before it counts.
const MANY: usize = 3;
/// Messages with any other common opening, before it counts, and the share of all that follows an action.
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
/// Bytes of a reply that only acknowledges what was said.
const ACKNOWLEDGEMENT: usize = 200;
/// Within an observation: what the user says to it.
const ANSWERS: [&str; 3] = ["<feedback>", "<answer>", "<user_message>"];

/// Marks what a harness has said in the user's name. Says whether the conversation was compacted before.
pub(crate) fn mark(messages: &mut Vec<Message>) -> bool {
    if says_what_is_what(messages) {
        return false;
    }
    let prompt = messages.iter().position(Message::is_prompt);
    mark_complaints(messages);
    mark_blocks(messages);
    // First, as what came of an action is nothing that the user says behind an opening.
    let observed = mark_observations(messages);
    mark_openings(messages);
    mark_events(messages);
    mark_interruptions(messages);
    if let Some(first) = prompt.filter(|_| !messages.iter().any(Message::is_prompt)) {
        // Somebody has asked for all this, and nothing else is left that could be it.
        texts(&mut messages[first]).for_each(|text| text.origin = Origin::Own);
    }
    spoken::take(messages, &observed);
    let is_compacted = mark_endings(messages);
    if is_compacted {
        *messages = std::mem::take(messages).into_iter().flat_map(each_prompt).collect();
    }
    is_compacted
}

/// Marks what is known by whole sentences of a harness, in recordings that keep no note of whose words a text is.
pub(crate) fn mark_sentences(messages: &mut [Message]) {
    if !says_what_is_what(messages) {
        mark_complaints(messages);
    }
    // Agents that say so do it in the user's name, in files that know of other texts whose they are.
    mark_interruptions(messages);
}

/// Whether the file itself says of any text what it is.
fn says_what_is_what(messages: &[Message]) -> bool {
    !messages.iter().all(|message| message.parts.iter().all(is_unmarked))
}

/// Prompts between which nothing was left are one message in some forms. Each is one of its own again; a writer makes one
/// of them as before.
fn each_prompt(mut message: Message) -> Vec<Message> {
    let is_own = |part: &Part| matches!(part, Part::Text(text) if text.origin == Origin::Own);
    if message.role != Role::User || message.parts.iter().filter(|part| is_own(part)).count() < 2 {
        return vec![message];
    }
    let parts = std::mem::take(&mut message.parts).into_iter();
    let mut all = vec![message];
    let mut has_own = false;
    for part in parts {
        if is_own(&part) && std::mem::replace(&mut has_own, true) {
            all.push(Message::new(Role::User, Vec::new()));
        }
        all.last_mut().expect("the first is there").parts.push(part);
    }
    all
}

/// Marks the summaries and notices of earlier compactions.
fn mark_endings(messages: &mut [Message]) -> bool {
    let mut texts: Vec<Option<&mut Text>> = Vec::new();
    for message in messages.iter_mut() {
        let is_user = message.role == Role::User;
        texts.extend(message.parts.iter_mut().map(|part| match part {
            Part::Text(text) if is_user && text.origin == Origin::Own => Some(text),
            _ => None,
        }));
    }
    let mut found = false;
    for at in 1..texts.len() {
        if let [Some(summary), Some(notice)] = &mut texts[at - 1..=at]
            && is_ending(summary.body.as_str(), notice.body.as_str())
        {
            summary.origin = Origin::Summary;
            notice.origin = Origin::Notice;
            found = true;
        }
    }
    found
}

fn is_unmarked(part: &Part) -> bool {
    !matches!(part, Part::Text(text) if text.origin != Origin::Own)
}

fn texts(message: &mut Message) -> impl Iterator<Item = &mut Text> {
    message.parts.iter_mut().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    })
}

fn own_texts(message: &mut Message) -> impl Iterator<Item = &mut Text> {
    texts(message).filter(|text| text.origin == Origin::Own)
}

fn mark_blocks(messages: &mut [Message]) {
    let is_known = |text: &Text| harness::is_block(text.body.as_str()) || is_fragment(text.body.as_str());
    let is_block = |part: &Part| matches!(part, Part::Text(text) if is_known(text));
    let mut found = false;
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        // A block alone may be what somebody has typed; who types two makes one text of them.
        let is_list = !message.bare && message.parts.len() > 1;
        if message.parts.iter().any(is_block) && (is_list || !message.parts.iter().all(is_block)) {
            found = true;
            own_texts(message).filter(|text| is_known(text)).for_each(inject);
        }
    }
    // Where it stands beside others too, one alone is the harness's as well, in the list that a harness writes.
    for message in messages
        .iter_mut()
        .filter(|message| found && message.role == Role::User)
    {
        if !message.bare && !message.parts.is_empty() && message.parts.iter().all(is_block) {
            own_texts(message).for_each(inject);
        }
    }
}

/// Marks what tells of events. Behind a prompt only, for what a session begins with somebody has asked for.
fn mark_events(messages: &mut [Message]) {
    let Some(first) = messages.iter().position(Message::is_prompt) else {
        return;
    };
    for message in messages[first + 1..]
        .iter_mut()
        .filter(|message| message.role == Role::User)
    {
        own_texts(message)
            .filter(|text| is_event(text.body.as_str()))
            .for_each(inject);
    }
}

/// Marks what a harness has said before anything was done. Only where the user says something too, so that no
/// conversation is without a prompt; and at the head it stays whatever it is taken for.
fn mark_openings(messages: &mut [Message]) {
    let openings = openings(messages);
    let is_other = |at: usize, place: usize, part: &Part| {
        matches!(part, Part::Text(text) if text.origin == Origin::Own) && !openings.contains(&(at, place))
    };
    let mut users = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.role == Role::User);
    let has_prompt = users.any(|(at, message)| {
        let mut parts = message.parts.iter().enumerate();
        parts.any(|(place, part)| is_other(at, place, part))
    });
    for (at, place) in openings.into_iter().filter(|_| has_prompt) {
        if let Part::Text(text) = &mut messages[at].parts[place] {
            inject(text);
        }
    }
}

/// Where the texts stand that a harness has begun with: message and part. What was answered is what a user has said, if
/// the reply does not only acknowledge the words that a harness is known for.
fn openings(messages: &[Message]) -> Vec<(usize, usize)> {
    let (mut found, mut waiting) = (Vec::new(), Vec::new());
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant && (!waiting.is_empty() || !is_acknowledgement(message)) {
            break;
        }
        for (place, part) in message.parts.iter().enumerate() {
            let Part::Text(text) = part else { continue };
            if message.role != Role::User || text.origin != Origin::Own {
                continue;
            }
            let text = text.body.as_str().trim();
            if is_opening(text) && messages.get(at + 1).is_some_and(is_acknowledgement) {
                found.append(&mut waiting);
                found.push((at, place));
            } else if is_frame(text) {
                waiting.push((at, place));
            } else {
                found.append(&mut waiting);
                return found;
            }
        }
    }
    found
}

/// Whether a reply does nothing and says little.
fn is_acknowledgement(message: &Message) -> bool {
    message.role == Role::Assistant
        && message.calls().next().is_none()
        && words(message) <= ACKNOWLEDGEMENT
        && !is_action(message)
}

/// Bytes of the words in a message.
fn words(message: &Message) -> usize {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str().len()),
        _ => None,
    });
    texts.sum()
}

fn inject(text: &mut Text) {
    text.origin = Origin::Injected;
}

/// Marks what came of actions. Returns where it stands behind an action in words.
fn mark_observations(messages: &mut [Message]) -> Vec<usize> {
    let mut acted = 0;
    let mut found: Vec<(usize, Opening, bool)> = Vec::new();
    for at in 1..messages.len() {
        let message = &messages[at];
        let has_results = message.tool_results().next().is_some();
        if message.role != Role::User || has_results || messages[at - 1].role != Role::Assistant {
            continue;
        }
        let is_behind_action = is_action(&messages[at - 1]);
        acted += usize::from(is_behind_action);
        let opening = message.parts.iter().find_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Own => Some(opening(text.body.as_str())),
            _ => None,
        });
        if let Some(opening) = opening.flatten().filter(|opening| is_behind_action || opening.is_whole) {
            found.push((at, opening, is_behind_action));
        }
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, opening, _) in &found {
        *counts.entry(opening.words.clone()).or_default() += 1;
    }
    let is_many = |opening: &Opening| opening.is_known && counts[&opening.words] >= MANY;
    let are_known = found.iter().any(|(_, opening, _)| is_many(opening));
    let mut observed = Vec::new();
    for (at, opening, is_behind_action) in found {
        let count = counts[&opening.words];
        // How the same harness says that the action could not be done.
        let is_error = are_known && is_behind_action && opening.words == ERROR;
        let is_common = count >= VERY_MANY && count as f64 >= SHARE * acted as f64;
        if is_common || is_many(&opening) || is_error {
            own_texts(&mut messages[at])
                .filter(|text| !is_answer(text.body.as_str()))
                .for_each(inject);
            observed.extend(is_behind_action.then_some(at));
        }
    }
    observed
}

/// Marks what harnesses say to replies that they cannot read.
fn mark_complaints(messages: &mut [Message]) {
    for at in 1..messages.len() {
        let (before, rest) = messages.split_at_mut(at);
        let message = &mut rest[0];
        if message.role == Role::User && message.tool_results().next().is_none() {
            own_texts(message)
                .filter(|text| is_complaint(before.last(), text.body.as_str()))
                .for_each(inject);
        }
    }
}

/// Marks what notes that the user has stopped the harness.
fn mark_interruptions(messages: &mut [Message]) {
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        own_texts(message)
            .filter(|text| is_interruption(text.body.as_str()))
            .for_each(inject);
    }
}

/// Whether a text holds what the user says to an observation.
fn is_answer(text: &str) -> bool {
    text.lines().any(|line| ANSWERS.iter().any(|tag| line.starts_with(tag)))
}

/// How a message begins that may be an observation.
struct Opening {
    /// What it has in common with others.
    words: String,
    /// Agents are known to begin so.
    is_known: bool,
    /// The message is put together by an agent whatever stands before it.
    is_whole: bool,
}

fn opening(text: &str) -> Option<Opening> {
    let text = text.trim();
    let common = |words: &str, is_known| Opening {
        words: words.to_lowercase(),
        is_known,
        is_whole: false,
    };
    let line = text.lines().next()?.trim_end();
    // Aider.
    if line == "I ran this command:" && text.contains("\nAnd got this output:\n") {
        return Some(Opening {
            is_whole: true,
            ..common(line, true)
        });
    }
    // Cline and its like: `[read_file for 'src/a.rs'] Result:`; what is named may have several lines.
    if let Some(rest) = text.strip_prefix('[') {
        let tool = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'))?;
        let end = rest.find("] Result:")?;
        let is_named = tool > 0 && (end == tool || rest[tool..].starts_with(" for "));
        return is_named.then(|| common("[tool] result:", true));
    }
    // OpenHands: `EXECUTION RESULT of [run]:`.
    if line.starts_with("EXECUTION RESULT of [") {
        return Some(common("execution result of", true));
    }
    // AutoGen: `exitcode: 0 (execution succeeded)`.
    if line.starts_with("exitcode: ") && line.ends_with(')') && text.contains("\nCode output: ") {
        return Some(common("exitcode", true));
    }
    if let Some(rest) = text.strip_prefix('<') {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))?;
        let (tag, after) = rest.split_at(end);
        let is_tag = !tag.is_empty() && after.starts_with(['>', ' ']);
        // All of it stands in tags: people write something beside what they paste.
        let last = text.rsplit("</").next()?.strip_suffix('>')?;
        let is_whole = !last.is_empty() && last.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        return (is_tag && is_whole).then(|| common(&format!("<{tag}>"), TAGS.contains(&tag)));
    }
    let (label, after) = line.split_once(':')?;
    let is_label =
        label.len() <= 40 && !label.is_empty() && label.chars().all(|c| c.is_alphabetic() || " _-".contains(c));
    let is_known = LABELS.contains(&label.to_lowercase().as_str());
    (is_label && (is_known || after.trim().is_empty())).then(|| common(label, is_known))
}

/// Whether a reply without calls holds one action in text, and nothing else that would be run.
fn is_action(message: &Message) -> bool {
    if message.calls().next().is_some() {
        return false;
    }
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    spoken::start(&texts.collect::<Vec<_>>().join("\n")).is_some()
}
