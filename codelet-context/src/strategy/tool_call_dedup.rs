//! Strategy `tool_call_dedup`: if a read-only call was repeated, the older result becomes a pointer to the newer one.

use super::{Replacement, StrategyCount, StrategyLimits, ToolAnswer, answers, content, make, named, pointer};
use crate::message::recall::Archive;
use crate::message::view::View;
use crate::message::{Part, files};
use crate::strategy::showing::{Looked, Question, Showing, asks};
use crate::text::body::Body;
use crate::text::hash::ByHash;

/// The name in reports.
pub(crate) const NAME: &str = "tool_call_dedup";

/// Replaces each result of a read-only call with a pointer to the newest result of the same call, if that shows most of
/// its lines or is another answer to the same question, as decided by `showing`. Only complete results of successful
/// calls count; each block becomes a separate pointer, so that its handle restores exactly that block.
pub(crate) fn point_to_the_newest_answer(view: &mut View, _: &StrategyLimits) -> StrategyCount {
    let View { messages, archive } = view;
    let answers = answers(messages);
    // Only answers to the same question are compared, and most questions are asked once.
    let questions: Vec<Option<u64>> = answers.iter().map(question).collect();
    let mut times: ByHash<u32> = ByHash::default();
    for question in questions.iter().flatten() {
        *times.entry(*question).or_default() += 1;
    }
    let mut showing = Showing::default();
    let mut superseded = Vec::new();
    for (number, (answer, question)) in answers.iter().zip(questions).enumerate() {
        let Some(call) = answer.call.filter(|_| answer.result.success != Some(false)) else {
            continue;
        };
        for path in call.action.changed() {
            showing.change(files::file(path));
        }
        let Some(of) = question.filter(|question| times.get(question).is_some_and(|&times| times > 1)) else {
            continue;
        };
        let Some(bodies) = originals(answer, archive) else {
            continue;
        };
        let looked = Looked {
            of,
            file: match call.action.paths.as_slice() {
                [path] => files::file(path),
                _ => 0,
            },
            question: Question::of(call),
        };
        superseded.extend(showing.show_bodies(number as u32, &looked, answer.result, bodies));
    }
    let mut edits = Vec::new();
    for number in superseded {
        point(&answers[number as usize], archive, &mut edits);
    }
    make(view, edits)
}

/// The question of a result's call, if the call is read-only and complete.
fn question(answer: &ToolAnswer<'_>) -> Option<u64> {
    let call = answer.call.filter(|_| answer.result.success != Some(false))?;
    (call.action.is_read_only() && call.cut.is_none()).then(|| asks(&call.tool, &call.parameters))
}

/// The content of a result before any strategy cut it, if there is any and nothing else cut it. Results that an earlier
/// run replaced still count; without them, the results around them would be judged differently than before.
fn originals(answer: &ToolAnswer<'_>, archive: &Archive) -> Option<Vec<Body>> {
    let mut bodies = Vec::with_capacity(answer.result.output.len());
    for block in &answer.result.output {
        match block {
            Part::Text(text) => bodies.push(match &text.cut {
                None => text.body.clone(),
                Some(handle) => {
                    let removed = archive.get(handle.as_str())?;
                    named(removed.reason)?;
                    removed.body.clone()
                }
            }),
            Part::Image(image) if !image.is_url => bodies.push(image.data.clone()),
            _ => {}
        }
    }
    (!answer.result.output.is_empty()).then_some(bodies)
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
