//! Selects the messages to keep: the last turns from the newest anchor on, or as many of the last steps as fit.

use crate::evidence::anchor::Anchor;
use crate::message::Message;
use crate::message::tokens::Tokens;
use crate::message::turn::{Step, Turn};
use crate::strategy::RECENT_TURNS;
use std::sync::Arc;

/// The kept part of a history.
#[derive(Clone, PartialEq, Debug)]
pub struct Kept {
    /// The first kept message; its turn's prompt may be before it.
    pub start: usize,
    /// The anchor that begins there.
    pub anchor: Option<Anchor>,
}

/// The kept part regardless of size: from the newest anchor of the turns before the recent ones, or the recent turns.
pub fn by_anchor(turns: &[Turn], anchors: &[Anchor]) -> Kept {
    let older = turns.len().saturating_sub(RECENT_TURNS);
    match anchors
        .iter()
        .filter(|anchor| anchor.turn < older)
        .max_by_key(|anchor| anchor.range.start)
    {
        Some(anchor) => Kept {
            start: anchor.range.start,
            anchor: Some(anchor.clone()),
        },
        None => Kept {
            start: if older == 0 { 0 } else { turns[older].0.start },
            anchor: None,
        },
    }
}

/// The kept part under a limit: from the newest anchor of the older turns if that fits, else from a newer anchor, else
/// the recent turns, else as many of the last steps as fit, and never less than the last complete step.
///
/// `weight` returns the tokens that keeping a message takes.
pub fn within(
    limit: Tokens,
    messages: &[Arc<Message>],
    turns: &[Turn],
    steps: &[Step],
    anchors: &[Anchor],
    weight: impl Fn(usize) -> Tokens,
) -> Kept {
    let older = turns.len().saturating_sub(RECENT_TURNS);
    let newest = by_anchor(turns, anchors).start;
    // Sums weights from the end back, as far as the limit reaches.
    let mut reach = messages.len();
    let mut sum: Tokens = 0;
    while reach > 0 {
        sum = sum.saturating_add(weight(reach - 1));
        if sum > limit {
            break;
        }
        reach -= 1;
    }
    let last = last_complete(messages, steps);
    let candidates = anchors
        .iter()
        .filter(|anchor| anchor.range.start >= newest)
        .map(|anchor| Kept {
            start: anchor.range.start,
            anchor: Some(anchor.clone()),
        })
        .chain(turns.get(older).map(|turn| Kept {
            start: turn.0.start,
            anchor: None,
        }));
    candidates
        .filter(|kept| kept.start >= reach && kept.start <= last)
        .min_by_key(|kept| kept.start)
        .unwrap_or_else(|| {
            let fitting = steps.get(steps.partition_point(|step| step.0.start < reach));
            Kept {
                start: fitting.map_or(last, |step| step.0.start.min(last)),
                anchor: None,
            }
        })
}

/// The start of the last step whose calls all have results; else of the last step, or the end of the messages.
pub fn last_complete(messages: &[Arc<Message>], steps: &[Step]) -> usize {
    let complete = |step: &&Step| {
        let range = step.0.clone();
        let calls = messages[range.clone()]
            .iter()
            .flat_map(|message| message.calls())
            .count();
        let results = messages[range]
            .iter()
            .flat_map(|message| message.tool_results())
            .count();
        calls == results
    };
    steps
        .iter()
        .rev()
        .find(complete)
        .or(steps.last())
        .map_or(messages.len(), |step| step.0.start)
}
