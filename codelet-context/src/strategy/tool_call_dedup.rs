//! Strategy `tool_call_dedup`: where a read-only call was made again, the older answer becomes a pointer to the newer.

use super::{Answer, Edit, Limits, StrategyCount, answers, make, shown, whole};
use crate::cut;
use crate::message::{Parameters, Part, Text, ToolCall};
use crate::recall::Archive;
use crate::view::View;
use std::collections::HashMap;

/// The name in reports.
pub const NAME: &str = "tool_call_dedup";

/// Points each answer to a read-only call at the newest answer to the same call: same tool, same parameters in whatever
/// order. Only an answer that is there whole and did not fail counts as newer; each block becomes a pointer of its own,
/// so that its handle restores exactly it.
pub fn point_to_the_newest_answer(view: &mut View, _: &Limits) -> StrategyCount {
    let View { messages, archive } = view;
    let mut newest: HashMap<(&str, u64), &ToolCall> = HashMap::new();
    let mut edits = Vec::new();
    for answer in answers(messages).iter().rev() {
        let Some(call) = answer
            .call
            .filter(|call| call.action.is_read_only() && call.cut.is_none())
        else {
            continue;
        };
        match newest.get(&(&*call.tool, call.parameters.canonical_hash())) {
            Some(newer) if are_equal(&newer.parameters, &call.parameters) => point(answer, archive, &mut edits),
            Some(_) => {}
            None if stands(answer, archive) => {
                newest.insert((&call.tool, call.parameters.canonical_hash()), call);
            }
            None => {}
        }
    }
    make(view, edits)
}

/// Equal hashes only make a candidate. Mostly the keys are in the same order too, and the text, which is known, will do.
fn are_equal(a: &Parameters, b: &Parameters) -> bool {
    a.json().as_str() == b.json().as_str() || a == b
}

/// Whether an answer is there, whole, and no failure.
fn stands(answer: &Answer<'_>, archive: &Archive) -> bool {
    answer.result.success != Some(false)
        && !answer.result.output.is_empty()
        && answer.result.texts().all(|text| whole(text, archive).is_some())
}

fn point(answer: &Answer<'_>, archive: &mut Archive, edits: &mut Vec<Edit>) {
    const WHY: &str = "superseded by a newer answer to the same call";
    for (block, piece) in answer.result.output.iter().enumerate() {
        let with = match piece {
            Part::Text(text) => {
                let Some(body) = whole(text, archive).cloned() else {
                    continue;
                };
                cut::pointer(&body, text.body.len(), &answer.what("output"), WHY, NAME, archive)
                    .map(|it| shown(text, it))
            }
            Part::Image(image) if !image.is_url => {
                let bytes = image.data.len();
                cut::pointer(&image.data, bytes, &answer.what("image"), WHY, NAME, archive)
                    .map(|it| shown(&Text::new("", Default::default()), it))
            }
            _ => None,
        };
        edits.extend(with.map(|with| Edit {
            message: answer.message,
            part: answer.part,
            block,
            with,
        }));
    }
}
