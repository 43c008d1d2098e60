//! Strategy `tool_call_dedup`: where a read-only call was made again, the older answer becomes a pointer to the newer.

use super::{Answer, Edit, Limits, StrategyCount, answers, make, shown, whole};
use crate::body::Body;
use crate::cut;
use crate::message::{Parameters, Part, Text, ToolCall};
use crate::recall::Archive;
use crate::showing::{asks_the_same_again, is_shown_again, lines_of};
use crate::view::View;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// The name in reports.
pub const NAME: &str = "tool_call_dedup";

/// Points each answer to a read-only call at the newest answer to the same call: same tool, same parameters in whatever
/// order. Where the call does not say at what it looks (a pager's `next_page {}`), only if newer answers show most of what
/// this one does. Only an answer that is there whole and did not fail counts as newer; each block becomes a pointer of its
/// own, so that its handle restores exactly it.
pub fn point_to_the_newest_answer(view: &mut View, _: &Limits) -> StrategyCount {
    let View { messages, archive } = view;
    let mut newest: HashMap<(&str, u64), Newer<'_>> = HashMap::new();
    let mut edits = Vec::new();
    for answer in answers(messages).iter().rev() {
        let Some(call) = answer
            .call
            .filter(|call| call.action.is_read_only() && call.cut.is_none())
        else {
            continue;
        };
        let is_page = !asks_the_same_again(call);
        match newest.entry((&*call.tool, call.parameters.canonical_hash())) {
            Entry::Occupied(mut newer) if are_equal(&newer.get().call.parameters, &call.parameters) => {
                if !is_page || is_shown_again(originals(answer, archive), &newer.get().lines) {
                    point(answer, archive, &mut edits);
                } else if stands(answer, archive) {
                    newer.get_mut().lines.extend(lines_of(originals(answer, archive)));
                }
            }
            Entry::Vacant(place) if stands(answer, archive) => {
                let mut lines = HashSet::new();
                if is_page {
                    lines.extend(lines_of(originals(answer, archive)));
                }
                place.insert(Newer { call, lines });
            }
            _ => {}
        }
    }
    make(view, edits)
}

/// The newest answer to a call.
struct Newer<'a> {
    call: &'a ToolCall,
    /// What it and other newer ones show, where that matters.
    lines: HashSet<u64>,
}

/// The texts of an answer that are there whole, as they were.
fn originals<'a>(answer: &'a Answer<'_>, archive: &'a Archive) -> impl Iterator<Item = &'a Body> {
    answer.result.texts().filter_map(|text| whole(text, archive))
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
