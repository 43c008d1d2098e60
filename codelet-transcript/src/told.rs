//! Finds texts in the user role that no user typed. Requests have no field for this, so they are recognized by patterns
//! that prompts do not have.
//!
//! *Observations*: results of actions in text, see [`crate::observations`]. *Complaints* of a harness about a reply without
//! a parsable action, directly after a reply without calls. *Blocks* of a harness next to a prompt or a result, each in
//! one tag. *Events*, in a tag that nobody types. *Interruptions* by the user, and *openings*: a text about the project
//! as a separate message, always in the same words. *Summaries* that this engine wrote, where it writes them.
//!
//! A text wrongly taken for a prompt costs space; a prompt taken for something else is lost. So in doubt a text is a
//! prompt.

use crate::harness::{complains, is_block, is_event, is_fragment, is_interruption, is_note, is_opening};
use crate::observations::{self, inject, own_texts, texts};
use crate::text_tool_calls::{self, is_action};
use codelet_context::compact::{Frame, find_summary, frame};
use codelet_context::message::{Message, Origin, Part, Role, Text};

/// Marks texts of a harness in the user role, unless the file itself gives the origins.
pub(crate) fn mark(messages: &mut Vec<Message>) {
    if !says_what_is_what(messages) {
        mark_rest(messages);
    }
}

/// Returns whether the engine wrote one of these texts, in an earlier compaction.
pub(crate) fn is_compacted(messages: &[Message]) -> bool {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| {
        matches!(part, Part::Text(text) if text.origin == Origin::Summary && frame(text.body.as_str()).is_some())
    })
}

/// Like [`mark`], even if the file itself gives the origins of some texts.
pub(crate) fn mark_rest(messages: &mut Vec<Message>) {
    // First, as a summary may precede a harness's text at the start.
    let is_compacted = mark_summaries(messages);
    let observed = mark_behind(messages, false);
    text_tool_calls::take(messages, &observed);
    if is_compacted {
        *messages = std::mem::take(messages).into_iter().flat_map(each_prompt).collect();
    }
}

/// Marks texts of a harness in the user role in a part of a conversation; `is_begun` says that a prompt precedes it.
/// Returns the indices of the messages that are results of actions in text.
pub(crate) fn mark_behind(messages: &mut [Message], is_begun: bool) -> Vec<usize> {
    let prompt = messages.iter().position(Message::is_prompt);
    mark_complaints(messages);
    mark_blocks(messages);
    // First, as the result of an action does not count as user text after an opening.
    let observed = observations::mark(messages);
    if !is_begun {
        mark_openings(messages);
    }
    // Only after a prompt, since a session begins with someone's request.
    let first = messages.iter().position(Message::is_prompt).map(|first| first + 1);
    if let Some(behind) = is_begun.then_some(0).or(first) {
        mark_each(&mut messages[behind..], is_event);
    }
    mark_each(messages, |text| is_interruption(text) || is_note(text));
    if let Some(first) = prompt.filter(|_| !is_begun && !messages.iter().any(Message::is_prompt)) {
        // A session begins with someone's request, and no other text is left that could be it.
        texts(&mut messages[first]).for_each(|text| text.origin = Origin::Own);
    }
    observed
}

/// Marks texts that are recognized by whole sentences of a harness, in recordings that do not store origins.
pub(crate) fn mark_sentences(messages: &mut [Message]) {
    if !says_what_is_what(messages) {
        mark_complaints(messages);
    }
    // Agents write this in the user's name, even in files that store the origins of other texts.
    mark_each(messages, |text| is_interruption(text) || is_note(text));
}

/// Returns whether the file itself gives the origin of any text.
fn says_what_is_what(messages: &[Message]) -> bool {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::Text(text) if text.origin != Origin::Own))
}

fn is_own(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.origin == Origin::Own)
}

/// Splits a message of several prompts: some formats merge prompts with nothing between them, as a writer will again.
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

/// Marks the summaries and notices of an earlier compaction; returns whether there was one.
fn mark_summaries(messages: &mut [Message]) -> bool {
    let found = find_summary(messages, is_action);
    for &(at, number, frame) in &found {
        if let Part::Text(text) = &mut messages[at].parts[number] {
            text.origin = match frame {
                Frame::Notice | Frame::Warning => Origin::Notice,
                Frame::Summary | Frame::Passage | Frame::Stands => Origin::Summary,
            };
        }
    }
    !found.is_empty()
}

fn mark_blocks(messages: &mut [Message]) {
    let is_known = |text: &str| is_block(text) || is_fragment(text);
    let is_it = |part: &Part| matches!(part, Part::Text(text) if is_known(text.body.as_str()));
    let mut found = false;
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        // A lone block may have been typed by a user; a user who types two makes one text of them.
        let is_list = !message.bare && message.parts.len() > 1;
        if message.parts.iter().any(is_it) && (is_list || !message.parts.iter().all(is_it)) {
            found = true;
            mark_each(std::slice::from_mut(message), is_known);
        }
    }
    // If the block also occurs next to other texts, a lone one in a list is the harness's too.
    for message in messages.iter_mut().filter(|message| found && !message.bare) {
        if message.parts.iter().all(is_it) {
            mark_each(std::slice::from_mut(message), is_known);
        }
    }
}

/// Marks the texts of a harness before the first prompt: known blocks, and openings, which may have a reply of their own.
/// Blocks that are answered without another text behind them are the prompt.
fn mark_openings(messages: &mut [Message]) {
    let opens = |message: &Message| {
        let mut texts = message.parts.iter().filter(|part| is_own(part));
        texts.any(|part| matches!(part, Part::Text(text) if is_opening(text.body.as_str())))
    };
    let answers = |at: &usize| {
        let before = at.checked_sub(1).map(|before| &messages[before]);
        messages[*at].role == Role::Assistant && !before.is_some_and(opens)
    };
    let end = (0..messages.len()).find(answers).unwrap_or(messages.len());
    let users = messages[..end].iter_mut().filter(|message| message.role == Role::User);
    let own: Vec<&mut Text> = users.flat_map(own_texts).collect();
    let is_it = |text: &str| is_block(text) || is_fragment(text) || is_opening(text);
    let mut head = own.iter().take_while(|text| is_it(text.body.as_str())).count();
    if head == own.len() {
        let opening = own.iter().rposition(|text| is_opening(text.body.as_str()));
        head = opening.map_or(0, |last| last + 1);
    }
    own.into_iter().take(head).for_each(inject);
}

/// Marks complaints of harnesses about replies that they cannot parse.
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

/// Marks the texts in the user role for which `is_it` is true.
fn mark_each(messages: &mut [Message], is_it: impl Fn(&str) -> bool) {
    let users = messages.iter_mut().filter(|message| message.role == Role::User);
    users
        .flat_map(own_texts)
        .filter(|text| is_it(text.body.as_str()))
        .for_each(inject);
}
