//! Observations: some agents use tools through plain text. The model's action is in its reply, and the next message in
//! the user role is the result. One message proves nothing, since people paste outputs too. Messages that open with an
//! agent's known phrase count if there are several, and they make up half of all messages that follow an action.

use crate::opening::{BEGINNINGS, ERROR, MARKER, Opening};
use crate::text_tool_calls::is_action;
use codelet_context::message::{Message, Origin, Part, Role, Text};
use std::collections::HashMap;

/// The minimum number of messages with the same opening, and their minimum share of the messages that follow an action.
const MANY: usize = 3;
const SHARE: f64 = 0.5;
/// Marks the results of actions. Returns the indices of those that follow an action in text.
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
        // Aider also runs commands that are not marked as an action.
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

/// Marks the harness's text at the start of a message with this opening. The rest was not written by the harness.
fn mark_one(message: &mut Message, kind: &str) {
    let mut before: Option<Opening> = None;
    for text in own_texts(message) {
        let own = Opening::of(text.body.as_str()).filter(|opening| opening.kind == kind);
        let opening = match (own, before.take()) {
            (Some(own), _) => own,
            // Some announce the output in a separate text.
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

/// The texts of a message.
pub(crate) fn texts(message: &mut Message) -> impl Iterator<Item = &mut Text> {
    message.parts.iter_mut().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    })
}

/// Those of them that are not known to be anything but the speaker's own.
pub(crate) fn own_texts(message: &mut Message) -> impl Iterator<Item = &mut Text> {
    texts(message).filter(|text| text.origin == Origin::Own)
}

/// Marks a text as a harness's.
pub(crate) fn inject(text: &mut Text) {
    text.origin = Origin::Injected;
}
