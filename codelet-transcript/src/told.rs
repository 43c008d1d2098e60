//! What a request says in the user's name and no user has typed. Requests have no field for it, so it is known by forms
//! that prompts do not have.
//!
//! *Observations*: what came of an action that stands in words, see [`crate::observed`].
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
use crate::{observed, spoken};
use codelet_context::compact::is_ending;
use codelet_context::harness::{self, is_event, is_fragment, is_frame, is_interruption, is_opening};
use codelet_context::message::{Message, Origin, Part, Role, Text};

/// Bytes of a reply that only acknowledges what was said.
const ACKNOWLEDGEMENT: usize = 200;
/// Marks what a harness has said in the user's name. Says whether the conversation was compacted before.
pub(crate) fn mark(messages: &mut Vec<Message>) -> bool {
    if says_what_is_what(messages) {
        return false;
    }
    let prompt = messages.iter().position(Message::is_prompt);
    mark_complaints(messages);
    mark_blocks(messages);
    // First, as what came of an action is nothing that the user says behind an opening.
    let observed = observed::mark(messages);
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

pub(crate) fn own_texts(message: &mut Message) -> impl Iterator<Item = &mut Text> {
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

pub(crate) fn inject(text: &mut Text) {
    text.origin = Origin::Injected;
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

/// Whether a reply without calls holds one action in text, and nothing else that would be run.
pub(crate) fn is_action(message: &Message) -> bool {
    if message.calls().next().is_some() {
        return false;
    }
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    spoken::start(&texts.collect::<Vec<_>>().join("\n")).is_some()
}
