//! Whether a prompt has lost something in its midst, by its size alone.
//!
//! A prompt is the one before it, the reply to that, and what was said since. Where it grew by less than the text of the
//! reply weighs, something that stood before the reply is gone: an agent has taken it out, or has written its own notes (its
//! list of tools, say) anew. No entry of a cache holds it that way, and those before the change are out of a mark's reach.

use codelet_context::message::{Message, Origin, Part, Role};
use codelet_context::tokens::Tokens;
use std::sync::Arc;

/// No prose has more letters and digits to a token. Of 1,671 prompts in 19 recordings of Claude Code, all that follow a reply
/// with text grew by a token or more for each 3.1 of its letters, but for seven that grew by one for each eight at most: six
/// of a model that forgets (below), and one that found nothing but the head in the cache.
const LETTERS_PER_TOKEN: usize = 6;

/// Models whose vendor takes the thoughts of earlier turns out at each prompt that somebody typed; it keeps those of Opus
/// from 4.5 and Sonnet from 4.6 on (platform.claude.com/docs, extended thinking, as others quote it). Of such a model a prompt that grew too
/// little tells nothing but that.
const FORGETFUL: [&str; 7] = [
    "claude-haiku-4-5",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-20250514",
    "claude-sonnet-4-0",
    "claude-sonnet-4-20250514",
    "claude-sonnet-4-5",
];

/// Whether a prompt that grew by so much must lack something that the one before held. `since` is what was said since: the
/// reply, then what it was answered.
pub(crate) fn lacks(grown: Tokens, since: &[Arc<Message>]) -> bool {
    let reply = since.iter().take_while(|message| message.role == Role::Assistant);
    let letters: usize = reply.flat_map(|message| &message.parts).map(letters).sum();
    grown < (letters / LETTERS_PER_TOKEN) as Tokens
}

/// Those of text that the model wrote. Calls may be recorded otherwise than they are sent (a plan stands in a call that
/// is sent without), and thoughts need not be sent at all.
fn letters(part: &Part) -> usize {
    match part {
        Part::Text(text) if text.origin == Origin::Own => {
            text.body.as_str().chars().filter(|sign| sign.is_alphanumeric()).count()
        }
        _ => 0,
    }
}

/// Whether the vendor itself makes prompts of this model shorter, by the name of its card.
pub(crate) fn forgets(card: &str) -> bool {
    let model = card.rsplit_once('/').map_or(card, |(_, model)| model);
    FORGETFUL.iter().any(|name| model.starts_with(name))
}
