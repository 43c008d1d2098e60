//! Strategy `tool_call_dedup`: if a read-only call was repeated, the older result becomes a pointer to the newer one.

use super::asked_again::{self, NewerAnswers};
use super::{Replacement, StrategyCount, StrategyLimits, ToolAnswer, answers, content, make, named, pointer};
use crate::message::recall::Archive;
use crate::message::view::View;
use crate::message::{Part, Text, files};
use crate::text::body::Body;

/// The name in reports.
pub(crate) const NAME: &str = "tool_call_dedup";

/// Replaces each result of a read-only call with a pointer to the newest result of the same call, if that is an answer, as
/// decided by `asked_again`. Only complete results of successful calls count; each block becomes a separate pointer, so
/// that its handle restores exactly that block.
pub(crate) fn point_to_the_newest_answer(view: &mut View, _: &StrategyLimits) -> StrategyCount {
    let View { messages, archive } = view;
    let mut newer = NewerAnswers::default();
    let answers = answers(messages);
    let mut superseded = Vec::new();
    for answer in answers.iter().rev() {
        let Some(call) = answer.call.filter(|_| answer.result.success != Some(false)) else {
            continue;
        };
        for path in call.action.changed() {
            newer.change(files::file(path));
        }
        if is_complete(answer, archive) {
            let size = asked_again::size(answer.result, |text| original(text, archive).unwrap_or(&text.body));
            if newer.take(call, size) {
                superseded.push(answer);
            }
        }
    }
    let mut edits = Vec::new();
    for answer in superseded.into_iter().rev() {
        point(answer, archive, &mut edits);
    }
    make(view, edits)
}

/// Returns whether nothing but a strategy cut a result.
fn is_complete(answer: &ToolAnswer<'_>, archive: &Archive) -> bool {
    let output = &answer.result.output;
    let is_original = |part: &Part| !matches!(part, Part::Text(text) if original(text, archive).is_none());
    !output.is_empty() && output.iter().all(is_original)
}

/// A text before any strategy cut it. Results that an earlier run replaced still count; without them, the results around
/// them would be judged differently than before.
fn original<'a>(text: &'a Text, archive: &'a Archive) -> Option<&'a Body> {
    match &text.cut {
        None => Some(&text.body),
        Some(handle) => {
            let removed = archive.get(handle.as_str())?;
            named(removed.reason).map(|_| &removed.body)
        }
    }
}

fn point(answer: &ToolAnswer<'_>, archive: &mut Archive, edits: &mut Vec<Replacement>) {
    const WHY: &str = "superseded by a newer answer to the same call";
    for (block, piece) in answer.result.output.iter().enumerate() {
        if let Some((body, length, noun)) = content(piece, archive) {
            let body = body.clone();
            edits.extend(pointer(answer, block, (&body, length, noun), (WHY, NAME), archive));
        }
    }
}
