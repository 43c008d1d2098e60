//! Detects from a prompt's size alone that something was removed from its middle.
//!
//! A prompt is the one before it, the reply to that, and the messages since. If it grew by less than the size of the
//! reply's text, something before the reply is gone: an agent removed it, or rewrote its own notes (such as its list of
//! tools). No cache entry then matches it, and those before the change are out of a mark's reach.

use codelet_context::message::{Message, Origin, Part, Role};
use codelet_context::tokens::Tokens;
use std::sync::Arc;

/// No prose has more letters and digits per token. Of 1,671 prompts in 19 recordings of Claude Code, all that follow a
/// reply with text grew by at least a token per 3.1 of its letters, except seven that grew by at most one per eight:
/// six of a model that drops old thinking (below), and one that found only the head in the cache.
const LETTERS_PER_TOKEN: usize = 6;

/// Models whose provider removes the thinking of earlier turns at each typed prompt; it keeps that of Opus from 4.5 and
/// Sonnet from 4.6 on (platform.claude.com/docs, extended thinking, as quoted by others). For such a model, too little
/// growth means only that.
const FORGETFUL: [&str; 7] = [
    "claude-haiku-4-5", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-20250514", "claude-sonnet-4-0",
    "claude-sonnet-4-20250514", "claude-sonnet-4-5",
];

/// Returns whether a prompt that grew by `grown` tokens must lack something that the one before held. `since` are the
/// messages since: the reply, then the messages after it.
pub(crate) fn lacks(grown: Tokens, since: &[Arc<Message>]) -> bool {
    let reply = since.iter().take_while(|message| message.role == Role::Assistant);
    let letters: usize = reply.flat_map(|message| &message.parts).map(letters).sum();
    grown < (letters / LETTERS_PER_TOKEN) as Tokens
}

/// Counts the letters of text that the model wrote. Calls may be recorded differently from how they are sent (a plan is
/// in a recorded call but not sent), and thinking need not be sent at all.
fn letters(part: &Part) -> usize {
    match part {
        Part::Text(text) if text.origin == Origin::Own => {
            text.body.as_str().chars().filter(|sign| sign.is_alphanumeric()).count()
        }
        _ => 0,
    }
}

/// Returns whether the provider itself shortens prompts of this model, by the name of its card.
pub(crate) fn forgets(card: &str) -> bool {
    let model = card.rsplit_once('/').map_or(card, |(_, model)| model);
    FORGETFUL.iter().any(|name| model.starts_with(name))
}
