//! What the user's newest words answer: `yes` or `do 1 and 2` mean nothing without the reply that they were said to.

use super::{Work, room};
use crate::draft::{self, Class, Draft};
use crate::message::{Message, Part, Role};
use crate::select::RECENT_TURNS;
use crate::tokens::Tokens;
use crate::turn::Turn;
use std::sync::Arc;

/// A longer prompt says by itself what is to be done, in bytes of the user's own words.
const SHORT: usize = 400;
/// The share of a budget that these replies may take; of longer ones beginning and end stay.
const SHARE: f64 = 0.1;

/// The messages in which the assistant has said what the short prompts of the last turns answer, ascending.
pub(super) fn offered(messages: &[Arc<Message>], turns: &[Turn]) -> Vec<usize> {
    let recent = &turns[turns.len().saturating_sub(RECENT_TURNS)..];
    let short = recent.iter().filter(|turn| is_short(&messages[turn.0.clone()]));
    let mut offered: Vec<usize> = short.flat_map(|turn| reply_before(messages, turn.0.start)).collect();
    offered.sort_unstable();
    offered
}

/// Whether little is said in the prompts that begin a turn.
fn is_short(turn: &[Arc<Message>]) -> bool {
    let asked = turn.iter().take_while(|message| message.role != Role::Assistant);
    let words = asked
        .flat_map(|message| &message.parts)
        .filter(|part| part.is_own_words());
    let bytes = words.map(|part| match part {
        Part::Text(text) => text.body.len(),
        _ => 0,
    });
    (1..=SHORT).contains(&bytes.sum())
}

/// The messages of a reply that nothing but notes of the user's side part from this prompt: of one with calls nobody has
/// waited for an answer.
fn reply_before(messages: &[Arc<Message>], prompt: usize) -> impl Iterator<Item = usize> {
    let is_note = |message: &Message| message.role != Role::Assistant && message.tool_results().next().is_none();
    let is_said = |message: &Message| message.role == Role::Assistant && message.calls().next().is_none();
    let before = (0..prompt).rev().skip_while(move |&at| is_note(&messages[at]));
    before.take_while(move |&at| is_said(&messages[at]))
}

impl Work<'_> {
    /// Whether a part of this message is said there, and stays.
    pub(super) fn is_offered(&self, message: usize, part: &Part) -> bool {
        matches!(part, Part::Text(text) if !text.body.is_blank()) && self.offered.binary_search(&message).is_ok()
    }

    /// Shortens those of these replies that stand before `start`, where the budget is kept to.
    pub(super) fn shorten_offers(&mut self, drafts: &mut [Draft], start: usize, budget: Tokens) {
        let offers = |draft: &&mut Draft| {
            let is_one = self.offered.binary_search(&draft.source).is_ok();
            is_one && draft.source < start && !draft.pinned && !draft.spared
        };
        let mut offers: Vec<&mut Draft> = drafts.iter_mut().filter(offers).collect();
        let weights = draft::weights(offers.iter().map(|draft| &**draft), Class::Answers);
        let cap = draft::fair_cap(weights, room::share(budget, SHARE));
        draft::shorten(offers.drain(..), Class::Answers, cap, &mut self.archive);
    }
}
