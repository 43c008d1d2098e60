//! Strategy `thinking_prune`: drops the thinking of finished turns.
//!
//! Requirements of providers, and their consequences:
//! - During a turn, that is from the newest prompt on, thinking must be sent back complete and unchanged, or the
//!   request is refused. It is never touched there.
//! - Signed thinking of a finished turn may be left out. That is even safer, since models that bind thinking to tools
//!   and system prompt refuse old thinking once either has changed. It is dropped.
//! - Later items may depend on encrypted thinking or thinking with an id: one provider refuses a call whose reasoning
//!   is missing. A message with any such thinking keeps all of its thinking, since half of it would be an alteration.
//! - Plain thinking next to calls that providers want back ([`Thinking::is_wanted_back`]) stays with the calls.

use super::{StrategyCount, StrategyLimits, contents, part_bytes};
use crate::message::turn;
use crate::message::view::View;
use crate::message::{Message, Part, Thinking};
use std::ops::Range;
use std::sync::Arc;

/// The name in reports.
pub(crate) const NAME: &str = "thinking_prune";

/// Drops thinking before the turn in progress. A message without other content keeps it.
pub(crate) fn drop_thinking_of_finished_turns(view: &mut View, _: &StrategyLimits) -> StrategyCount {
    let mut count = StrategyCount::default();
    let mut start = 0;
    // Each turn ends the range before it; the newest one is in progress.
    for turn in turn::turns(&view.messages) {
        drop_thinking(view, start..turn.0.start, &mut count);
        start = turn.0.start;
    }
    count
}

/// Drops thinking in a range of messages that all belong to finished turns.
pub(crate) fn drop_thinking(view: &mut View, range: Range<usize>, count: &mut StrategyCount) {
    for index in range {
        let message = &view.messages[index];
        let has_calls = message.calls().next().is_some();
        let stays = |it: &Thinking| it.is_tied() || it.is_wanted_back && has_calls;
        if thinking(message).next().is_none()
            || thinking(message).any(stays)
            || !message.parts.iter().any(says_something_else)
        {
            continue;
        }
        for part in &message.parts {
            if matches!(part, Part::Thinking(_)) {
                count.hit(part_bytes(part), 0);
                contents(part, None, &mut |what, body, _| {
                    view.archive.keep(body, what, NAME);
                });
            }
        }
        let others = message.parts.iter().filter(|part| !matches!(part, Part::Thinking(_)));
        // Editing a copy would copy the thinking, too.
        view.messages[index] = Arc::new(Message {
            role: message.role,
            parts: others.cloned().collect(),
            bare: message.bare,
            extra: message.extra.clone(),
        });
    }
}

fn thinking(message: &Message) -> impl Iterator<Item = &Thinking> {
    message.parts.iter().filter_map(|part| match part {
        Part::Thinking(thinking) => Some(thinking),
        _ => None,
    })
}

fn says_something_else(part: &Part) -> bool {
    match part {
        Part::Thinking(_) => false,
        Part::Text(text) => !text.body.is_blank(),
        _ => true,
    }
}
