//! What a request says in the user's name and no user has typed. Requests have no field for it, so it is known by forms
//! that prompts do not have.
//!
//! *Observations*: what came of an action that stands in words, see [`crate::observed`]. *Complaints* of a reply that a harness
//! could read no action from, directly behind one without calls. *Blocks* of a harness beside a prompt or an answer, each in one
//! tag. *Events*, in a tag that nobody types. *Interruptions* by the user, and *openings*: a text about the project as a message of
//! its own, in words that are always the same. *Summaries* that this engine has written, with a notice of fixed words behind.
//!
//! What is wrongly taken for a prompt costs room; a prompt that is taken for something else is lost. So in doubt a text is
//! a prompt.

use crate::harness::{complains, is_block, is_event, is_fragment, is_frame, is_interruption, is_opening};
use crate::{observations, text_tool_calls};
use codelet_context::compact::{Frame, frame};
use codelet_context::message::{Message, Origin, Part, Role, Text};

/// Bytes of a reply that only acknowledges what was said.
const ACKNOWLEDGEMENT: usize = 200;
/// Marks what a harness has said in the user's name. Says whether the conversation was compacted before.
pub(crate) fn mark(messages: &mut Vec<Message>) -> bool {
    if says_what_is_what(messages) {
        return false;
    }
    mark_rest(messages)
}

/// The same, also where the file itself says of some texts what they are.
pub(crate) fn mark_rest(messages: &mut Vec<Message>) -> bool {
    // First, as a summary may stand before what a harness has said at the head.
    let is_compacted = mark_endings(messages);
    let observed = mark_behind(messages, false);
    text_tool_calls::take(messages, &observed);
    if is_compacted {
        *messages = std::mem::take(messages).into_iter().flat_map(each_prompt).collect();
    }
    is_compacted
}

/// Marks what a harness has said in the user's name in a piece of a conversation; `is_begun` says that a prompt stands before it. Says
/// which messages tell what came of an action in words.
pub(crate) fn mark_behind(messages: &mut [Message], is_begun: bool) -> Vec<usize> {
    let prompt = messages.iter().position(Message::is_prompt);
    mark_complaints(messages);
    mark_blocks(messages);
    // First, as what came of an action is nothing that the user says behind an opening.
    let observed = observations::mark(messages);
    if !is_begun {
        mark_openings(messages);
    }
    // Behind a prompt only, for what a session begins with somebody has asked for.
    let first = messages.iter().position(Message::is_prompt).map(|first| first + 1);
    if let Some(behind) = is_begun.then_some(0).or(first) {
        mark_each(&mut messages[behind..], is_event);
    }
    mark_each(messages, is_interruption);
    if let Some(first) = prompt.filter(|_| !is_begun && !messages.iter().any(Message::is_prompt)) {
        // Somebody has asked for all this, and nothing else is left that could be it.
        texts(&mut messages[first]).for_each(|text| text.origin = Origin::Own);
    }
    observed
}

/// Marks what is known by whole sentences of a harness, in recordings that keep no note of whose words a text is.
pub(crate) fn mark_sentences(messages: &mut [Message]) {
    if !says_what_is_what(messages) {
        mark_complaints(messages);
    }
    // Agents that say so do it in the user's name, in files that know of other texts whose they are.
    mark_each(messages, is_interruption);
}

/// Whether the file itself says of any text what it is.
fn says_what_is_what(messages: &[Message]) -> bool {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::Text(text) if text.origin != Origin::Own))
}

fn is_own(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.origin == Origin::Own)
}

/// Prompts between which nothing was left are one message in some forms. Each is one of its own again; a writer makes one
/// of them as before.
fn each_prompt(mut message: Message) -> Vec<Message> {
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

/// Marks the summaries and notices of earlier compactions: a notice ends what a summary began, or stands behind how things stood.
fn mark_endings(messages: &mut [Message]) -> bool {
    let all = messages.iter_mut().flat_map(|message| {
        let is_user = message.role == Role::User;
        message.parts.iter_mut().map(move |part| (is_user, part))
    });
    let mut texts: Vec<Option<(Frame, &mut Text)>> = all
        .map(|(is_user, part)| match part {
            Part::Text(text) if is_user && text.origin == Origin::Own => Some((frame(text.body.as_str())?, text)),
            _ => None,
        })
        .collect();
    let mut begun = None;
    let mut found = false;
    for at in 0..texts.len() {
        match &texts[at] {
            Some((Frame::Summary, _)) => begun = Some(at),
            Some((Frame::Notice, _)) => {
                let stood = at
                    .checked_sub(1)
                    .filter(|&before| matches!(texts[before], Some((Frame::Stands, _))));
                let begun = begun.take();
                if begun.or(stood).is_none() {
                    continue;
                }
                found = true;
                for place in begun.into_iter().chain(stood).chain([at]) {
                    if let Some((frame, text)) = &mut texts[place] {
                        text.origin = if *frame == Frame::Notice {
                            Origin::Notice
                        } else {
                            Origin::Summary
                        };
                    }
                }
            }
            _ => {}
        }
    }
    found
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
    let is_known = |text: &str| is_block(text) || is_fragment(text);
    let is_it = |part: &Part| matches!(part, Part::Text(text) if is_known(text.body.as_str()));
    let mut found = false;
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        // A block alone may be what somebody has typed; who types two makes one text of them.
        let is_list = !message.bare && message.parts.len() > 1;
        if message.parts.iter().any(is_it) && (is_list || !message.parts.iter().all(is_it)) {
            found = true;
            mark_each(std::slice::from_mut(message), is_known);
        }
    }
    // Where it stands beside others too, one alone is the harness's as well, in the list that a harness writes.
    for message in messages.iter_mut().filter(|message| found && !message.bare) {
        if message.parts.iter().all(is_it) {
            mark_each(std::slice::from_mut(message), is_known);
        }
    }
}

/// Marks what a harness has said before anything was done. What was answered is what a user has said, if the reply does not
/// only acknowledge the words that a harness is known for. Only where the user says something too, so that no conversation is
/// without a prompt; and at the head it stays whatever it is taken for.
fn mark_openings(messages: &mut [Message]) {
    let own = |(at, message): (usize, &'_ Message)| {
        let parts = message.parts.iter().enumerate().filter(|_| message.role == Role::User);
        parts
            .filter(|(_, part)| is_own(part))
            .map(|(place, _)| (at, place))
            .collect::<Vec<_>>()
    };
    let (mut found, mut waiting) = (Vec::new(), Vec::new());
    'head: for (at, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant && (!waiting.is_empty() || !is_acknowledgement(message)) {
            break;
        }
        for (at, place) in own((at, message)) {
            let Part::Text(text) = &message.parts[place] else {
                continue;
            };
            let text = text.body.as_str().trim();
            let is_opening = is_opening(text) && messages.get(at + 1).is_some_and(is_acknowledgement);
            if is_opening || !is_frame(text) {
                found.append(&mut waiting);
            }
            match is_opening {
                true => found.push((at, place)),
                false if is_frame(text) => waiting.push((at, place)),
                false => break 'head,
            }
        }
    }
    if messages.iter().enumerate().flat_map(own).count() > found.len() {
        for (at, place) in found {
            if let Part::Text(text) = &mut messages[at].parts[place] {
                inject(text);
            }
        }
    }
}

/// Whether a reply does nothing and says little.
fn is_acknowledgement(message: &Message) -> bool {
    message.role == Role::Assistant
        && message.calls().next().is_none()
        && words(message).len() <= ACKNOWLEDGEMENT
        && !is_action(message)
}

pub(crate) fn inject(text: &mut Text) {
    text.origin = Origin::Injected;
}

/// Marks what harnesses say to replies that they cannot read.
fn mark_complaints(messages: &mut [Message]) {
    let says = |part: &Part| matches!(part, Part::Text(text) if !text.body.as_str().trim().is_empty());
    for at in 1..messages.len() {
        let before = &messages[at - 1];
        let is_reply = before.role == Role::Assistant && before.calls().next().is_none();
        if is_reply && before.parts.iter().any(says) && messages[at].tool_results().next().is_none() {
            mark_each(&mut messages[at..=at], complains);
        }
    }
}

/// Marks the texts in the user's role that are such.
fn mark_each(messages: &mut [Message], is_it: impl Fn(&str) -> bool) {
    let users = messages.iter_mut().filter(|message| message.role == Role::User);
    users
        .flat_map(own_texts)
        .filter(|text| is_it(text.body.as_str()))
        .for_each(inject);
}

/// Whether a reply without calls holds one action in text, and nothing else that would be run.
pub(crate) fn is_action(message: &Message) -> bool {
    message.calls().next().is_none() && text_tool_calls::start(&words(message)).is_some()
}

/// The words in a message.
fn words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
